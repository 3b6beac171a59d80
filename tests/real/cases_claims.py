# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""One owner for each VLAN of an interface: a second program is refused and told
who it is, the first one notices nothing, and an owner that was killed leaves
nothing behind."""

import signal
import sys

import cases_ctl
from cases_strangers import OTHER_USER, other_user
from harness import Case, Failure, Skip
from process import wait_until
from wire import Wire, ip

IDLE = ["stdbuf", "-oL", "ibv_asyncwatch"]

SQUAT = """
import socket, sys, time
kept = []
for i in range(200):
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"\\0roost/port/{sys.argv[1]}/0/{i:016x}")
    s.listen(i % 3)
    kept.append(s)
print("squats", flush=True)
time.sleep(600)
"""


class Place:
    """One end of a wire, where programs are started by their devargs."""

    def __init__(self, room):
        self.room = room
        self.wire = Wire(room)
        self.netns = self.wire.netns["left"]
        self.count = 0

    def start(self, *options):
        self.count += 1
        return self.room.start(
            f"watch{self.count}",
            self.room.roost("run", *options, "--", *IDLE), self.netns)

    def holder(self, *options):
        watch = self.start(*options)
        if not wait_until(lambda: "async event FD" in watch.out() or
                          watch.wait(0) is not None, 20) or \
                watch.status is not None:
            raise Failure(f"{' '.join(options)}: does not open: "
                          f"{watch.err()}")
        return watch

    def refused(self, by, *options):
        """One line names the process that has it."""
        watch = self.start(*options)
        self.room.finish(watch, 20)
        lines = watch.err().splitlines()
        told = [line for line in lines if line.startswith("roost: ")]
        if watch.status == 0 or len(told) != 1 or \
                f"is taken by process {by.pid};" not in told[0]:
            raise Failure(f"{' '.join(options)}: {lines}")

    def unmoved(self, watch):
        """It has heard of nothing, and answers."""
        if cases_ctl.events(watch) or cases_ctl.show(
                self.room, watch, "port",
                netns=self.netns)["ports"][0]["state"] != "ACTIVE":
            raise Failure(f"{watch.title}: {watch.out()}")


PACKET = ("--port", "net_af_packet0,iface=left")


def second(room):
    place = Place(room)
    first = place.holder(*PACKET)
    place.refused(first, *PACKET)
    place.refused(first, "--port", "net_af_packet7,iface=left,qpairs=2")
    place.refused(first, *PACKET, "--ip", "198.18.5.5/24")
    place.unmoved(first)
    first.signal(signal.SIGKILL)
    room.finish(first, 10)
    place.unmoved(place.holder(*PACKET))


def stopped(room):
    """It cannot be asked, but the kernel can."""
    place = Place(room)
    first = place.holder(*PACKET)
    first.signal(signal.SIGSTOP)
    place.refused(first, *PACKET)
    first.signal(signal.SIGCONT)
    place.unmoved(first)


def vlans(room):
    """Each has an owner of its own."""
    place = Place(room)
    first = place.holder(*PACKET)
    five = place.holder(*PACKET, "--vlan", "5")
    place.refused(five, *PACKET, "--vlan", "5")
    place.refused(first, *PACKET)
    for watch in (first, five, place.holder(*PACKET, "--vlan", "6")):
        place.unmoved(watch)


def vlan_interfaces(room):
    """The kernel's interface of a VLAN is that VLAN."""
    place = Place(room)
    left = ("-n", place.netns)
    try:
        ip(*left, "link", "add", "link", "left", "name", "five", "type",
           "vlan", "id", "5")
    except Failure as e:
        raise Skip(str(e)) from e
    ip(*left, "link", "set", "five", "up")
    five = place.holder(*PACKET, "--vlan", "5")
    place.refused(five, "--port", "net_af_packet0,iface=five")
    five.kill()
    five = place.holder("--port", "net_af_packet0,iface=five")
    place.refused(five, *PACKET, "--vlan", "5")
    place.holder(*PACKET)


def renamed(room):
    place = Place(room)
    first = place.holder(*PACKET)
    for words in (("down",), ("name", "other"), ("up",)):
        ip("-n", place.netns, "link", "set",
           "other" if words == ("up",) else "left", *words)
    place.refused(first, "--port", "net_af_packet0,iface=other")


def other_driver(room):
    place = Place(room)
    first = place.holder(*PACKET)
    place.refused(first, "--port", "net_af_xdp0,iface=left")
    place.refused(first, "--port", "net_pcap0,iface=left")
    place.refused(first, "--port", "net_pcap0,rx_iface=left,tx_iface=lo")
    for member in ("net_af_packet1,iface=left", "net_pcap1,iface=left"):
        place.refused(first, "--port", f"net_bonding0,mode=1,slave=({member})")
    place.unmoved(first)


def taps(room):
    """The kernel would give the second one a queue of the first one's tap."""
    place = Place(room)
    tap = ("--port", "net_tap0,iface=plug", "--ip", "198.18.0.2/24")
    bond = ("--port", "net_bonding0,mode=1,slave=(net_tap0,iface=a),"
            "slave=(net_tap1,iface=b)", "--ip", "198.18.1.2/24")
    first = place.holder(*tap)
    both = place.holder(*bond)
    place.refused(first, *tap)
    place.refused(both, "--port", "net_tap0,iface=b", "--ip",
                  "198.18.0.3/24")
    place.refused(both, *bond)
    ip("-n", place.netns, "addr", "add", "198.18.0.1/24", "dev", "plug")
    place.wire.inside("left", "ping", "-c", "1", "-W", "5", "198.18.0.2")
    first.kill()
    place.holder(*tap)


def twice_in_one(room):
    place = Place(room)
    watch = place.start(*PACKET, "--port", "net_af_packet1,iface=left",
                        "--ip", "198.18.0.9/24", "--second")
    room.finish(watch, 20)
    if watch.status == 0 or \
            "another port of this process" not in watch.err():
        raise Failure(f"two ports on one interface: {watch.err()}")


def squatters(room):
    """Any user may listen under such names; nobody believes him."""
    other_user()
    place = Place(room)
    index = place.wire.inside("left", "ip", "-o", "link", "show",
                              "left").split(":")[0]
    squatter = room.start("squatter", [*OTHER_USER, sys.executable, "-c",
                                       SQUAT, index], place.netns)
    if not wait_until(lambda: "squats" in squatter.out(), 10):
        raise Failure(squatter.err())
    first = place.holder(*PACKET)
    place.refused(first, *PACKET)


CASES = [
    Case("claims-second", second),
    Case("claims-stopped", stopped),
    Case("claims-vlans", vlans),
    Case("claims-vlan-interfaces", vlan_interfaces),
    Case("claims-renamed", renamed),
    Case("claims-other-driver", other_driver),
    Case("claims-taps", taps),
    Case("claims-twice-in-one", twice_in_one),
    Case("claims-squatters", squatters),
]
