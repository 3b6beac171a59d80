# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Taps on the kernel's bridge, and bonds of them: the kernel is a host on the
same network, a neighbour of Roost's."""

import os
import re
import subprocess
import time

import cases_link
import rooms
from cases_fault import check_refusal
from cases_vlan import kernel_vlan
from cases_xdp import check_wakes
from harness import RUN, Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import ip

KERNEL = ("198.18.0.100/24", "fd00:198:18::100/64")
VLAN = 100
TAGGED = ("--vlan", str(VLAN))
ADDRESSES = (("198.18.0.1", "fd00:198:18::1"), ("198.18.0.2", "fd00:198:18::2"))


class Bridge:
    """A namespace with a bridge, which the kernel has addresses on. Taps are
    plugged in as they come.
    """

    def __init__(self, room):
        if not rooms.inside():
            raise Skip("needs network namespaces of its own; run as root")
        if not os.path.exists("/dev/net/tun"):
            raise Skip("no /dev/net/tun")
        self.room = room
        self.netns = f"real-{RUN}-bridge"
        ip("netns", "add", self.netns)
        room.defer(ip, "netns", "del", self.netns)
        self.ip("link", "set", "lo", "up")
        self.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        for address in KERNEL:
            nodad = ["nodad"] if ":" in address else []
            self.ip("addr", "add", address, "dev", "br0", *nodad)
        self.ip("link", "set", "br0", "up")

    def ip(self, *words):
        ip("-n", self.netns, *words)

    def plug_in(self, process, name):
        """The tap is there when the device is open."""
        folder = f"/proc/{process.pid}/net/dev"

        def is_there():
            with open(folder) as file:
                return f"{name}:" in file.read()

        if not wait_until(lambda: process.wait(0) is not None or is_there(),
                          20) or process.status is not None:
            raise Skip("no tap here: " + process.err().strip())
        self.ip("link", "set", name, "master", "br0", "up")

    def start(self, index, title, port, taps, words, more=()):
        """more: further options of the port."""
        options = []
        for address in ADDRESSES[index]:
            options += ["--ip", address + ("/64" if ":" in address else "/24")]
        process = self.room.start(title, self.room.roost(
            "run", "--port", port, *options, *more, "--", *words),
            netns=self.netns)
        for tap in taps:
            self.plug_in(process, tap)
        return process

    def ping(self, address):
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.netns}", "ping", "-c", "3",
             "-i", "0.2", "-W", "2", "-s", "1400", address],
            capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise Failure(f"no answer from {address}: {done.stdout}")


TAPS = (("net_tap0,iface=tap1", ["tap1"]), ("net_tap0,iface=tap2", ["tap2"]))


def bond(mode):
    return (f"net_bonding0,mode={mode},slave=(net_tap0,iface=bond1),"
            "slave=(net_tap1,iface=bond2)", ["bond1", "bond2"])


def pair(room, bridge, ends, words, client=("127.0.0.1",), more=()):
    """Start both ends of a program; the second one's port is in the bridge
    before it looks for its peer.
    """
    port = str(room.next_port())
    words = [*words, "-p", port]
    server = bridge.start(0, "server", *ends[0], words, more)
    if not wait_for_listener(server, int(port), 20):
        raise Failure("the server does not listen")
    return server, bridge.start(1, "client", *ends[1], [*words, *client],
                                more)


def finish(room, ends):
    for end in ends:
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def pingpong(room, first, options, more=()):
    """Over the bridge, from a port to a tap."""
    bridge = Bridge(room)
    ends = pair(room, bridge, (first, TAPS[1]),
                ["ibv_rc_pingpong", "-c", *options], more=more)
    finish(room, ends)
    cases_link.check_report(*ends)


def kernel_pings(room, port):
    """Roost is a host on the kernel's network."""
    bridge = Bridge(room)
    watch = bridge.start(0, "watch", *port, ["ibv_asyncwatch"])
    for address in ADDRESSES[0]:
        bridge.ping(address)
    watch.kill()


def kernel_pings_tagged(room, port):
    """The same in a VLAN of the bridge's; without its tag there is nobody."""
    bridge = Bridge(room)
    watch = bridge.start(0, "watch", *port, ["ibv_asyncwatch"], TAGGED)
    try:
        bridge.ping(ADDRESSES[0][0])
    except Failure:
        pass
    else:
        raise Failure("a ping without a tag is answered")
    bridge.ip("addr", "del", KERNEL[0], "dev", "br0")
    kernel_vlan(room, bridge.netns, "br0", VLAN, KERNEL[0])
    bridge.ping(ADDRESSES[0][0])
    watch.kill()


def wakes(room):
    """A sleeper is woken by a packet, and costs next to nothing."""
    bridge = Bridge(room)
    program = os.path.join(room.build, "tests", "real", "wake")
    port = str(room.next_port())
    server = bridge.start(0, "server", *TAPS[0], [program, port])
    if not wait_until(lambda: "ready" in server.out() or
                      server.wait(0) is not None, 20):
        raise Failure("the server does not start")
    client = bridge.start(1, "client", *TAPS[1],
                          [program, port, ADDRESSES[0][0]])
    finish(room, (client, server))
    check_wakes(room, client)


def failover(room):
    """A member of the bond loses its link in mid-traffic: the other one takes
    over, no request fails, and the kernel still reaches Roost.
    """
    bridge = Bridge(room)
    # Retries for eight seconds.
    ends = pair(room, bridge, (bond(1), TAPS[1]),
                ["ib_send_bw", "-d", "roost0", "-x", "1", "-F", "-D", "8",
                 "-s", "4096", "-u", "18"])
    time.sleep(3)
    bridge.ip("link", "set", "bond1", "down")
    time.sleep(1)
    bridge.ping(ADDRESSES[0][0])
    finish(room, ends)
    if re.search(r"Completion with error|Failed status", ends[0].err() +
                 ends[1].err()):
        raise Failure("a request failed")


def bond_link(room):
    """All members down is a port that is down, one up is a port that is up."""
    bridge = Bridge(room)
    watch = bridge.start(0, "watch", *bond(1), ["ibv_asyncwatch"])
    # Members are brought up when the port starts.
    if not wait_until(lambda: "event FD" in watch.out(), 20):
        raise Failure("the device does not open")
    bridge.ip("link", "set", "bond1", "down")
    time.sleep(1)
    if "PORT_ERR" in watch.out():
        raise Failure("the port is down with one member up")
    bridge.ip("link", "set", "bond2", "down")
    if not wait_until(lambda: "PORT_ERR" in watch.out(), 5):
        raise Failure("no PORT_ERR")
    bridge.ip("link", "set", "bond2", "up")
    if not wait_until(lambda: "PORT_ACTIVE" in watch.out(), 5):
        raise Failure("no PORT_ACTIVE")
    watch.kill()


def refused(room, port, pattern):
    process = room.run("refused", room.roost("run", "--port", port, "--",
                                             "ibv_devinfo"))
    check_refusal(process, pattern)


CASES = [
    Case("tap-pingpong", pingpong, TAPS[0], ["-g", "1", "-n", "500"]),
    Case("tap-pingpong-ipv6", pingpong, TAPS[0], ["-g", "0", "-n", "500"]),
    Case("tap-pingpong-events", pingpong, TAPS[0],
         ["-g", "1", "-n", "500", "-e"]),
    Case("tap-ping", kernel_pings, TAPS[0]),
    Case("tap-wakes", wakes),
    Case("bond-round-robin", pingpong, bond(0), ["-g", "1", "-n", "200"]),
    Case("bond-active-backup", pingpong, bond(1), ["-g", "1", "-n", "200"]),
    Case("bond-balance", pingpong, bond(2), ["-g", "1", "-n", "200"]),
    Case("bond-ping", kernel_pings, bond(1)),
    Case("bond-vlan", pingpong, bond(1), ["-g", "1", "-n", "200"], TAGGED),
    Case("bond-vlan-balance", pingpong, bond(2), ["-g", "1", "-n", "200"],
         TAGGED),
    Case("bond-vlan-ping", kernel_pings_tagged, bond(1)),
    Case("bond-failover", failover),
    Case("bond-link", bond_link),
    Case("error-tap-devarg", refused, "net_tap0,ifcae=x",
         ".*ifcae.*iface.*"),
    Case("error-bond-gated-member", refused,
         "net_bonding0,mode=1,slave=(net_memif0,id=1)",
         ".*net_memif port cannot be a member; use .*"),
    Case("error-bond-no-member", refused, "net_bonding0,mode=1",
         ".*needs an argument \"slave\".*"),
    Case("error-bond-parenthesis", refused,
         "net_bonding0,slave=(net_tap0", ".*no closing parenthesis; .*"),
    Case("error-bond-member", refused,
         "net_bonding0,slave=(net_bogus0)", ".*member net_bogus0.*; .*"),
]
