# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""How often a port wakes when nothing happens (doc/compat.md, "Ports")."""

import os
import time

from cases_ctl import WATCH, wait_for_watch
from cases_ports import Cable
from harness import Case, Failure, Skip
from wire import Wire, ip

PER_S = 10
# A ring is looked at: DPDK's driver has no interrupt.
NAPS_PER_S = 1100
COUNT_S = 2


def switches(process):
    """How often threads of Roost's have slept, by name."""
    tasks = f"/proc/{process.pid}/task"
    counts = {}
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/status") as file:
            rows = dict(row.split(":\t", 1) for row in file if ":\t" in row)
        counts[f"{rows['Name'].strip()}-{task}"] = \
            int(rows["voluntary_ctxt_switches"])
    return counts


def check_idle(room, process, per_s=PER_S):
    """In one of three windows: IPv6 and ARP of the kernel may say something
    in the others.
    """
    wait_for_watch(process)
    time.sleep(2)
    for _ in range(3):
        before = switches(process)
        time.sleep(COUNT_S)
        now = switches(process)
        woke = {name: (now[name] - before.get(name, 0)) / COUNT_S
                for name in now}
        total = sum(woke.values())
        room.note(f"{process.title}: {total:.0f} a second: " + ", ".join(
            f"{name} {rate:.1f}" for name, rate in woke.items() if rate))
        if total <= per_s:
            return
    raise Failure(f"{process.title}: wakes {total:.0f} times a second")


def quiet_wire(room, driver="net_af_packet0"):
    """Nothing of the kernels' passes there."""
    wire = Wire(room, mtu_bytes=3000, driver=driver)
    for end in ("left", "right"):
        ip("-n", wire.netns[end], "addr", "flush", "dev", end)
    return wire


def on_wire(room, driver, options=(), per_s=PER_S):
    wire = quiet_wire(room, driver)
    check_idle(room, room.start(**wire.start(
        "left", "watch", ["--ip", "198.18.0.1/24", *options], WATCH)), per_s)


def tap(room):
    if not os.path.exists("/dev/net/tun"):
        raise Skip("the kernel has no /dev/net/tun")
    wire = quiet_wire(room)
    check_idle(room, room.start("watch", room.roost(
        "run", "--port", "net_tap0,iface=idletap", "--ip", "198.18.0.1/24",
        "--", *WATCH), netns=wire.netns["left"]))


def link_end(room, title):
    return room.start(title, room.roost("run", "--link", room.link, "--",
                                        *WATCH))


def link_alone(room):
    check_idle(room, link_end(room, "watch"))


def link_both(room):
    ends = [link_end(room, title) for title in ("one", "other")]
    for end in ends:
        check_idle(room, end)


def vhost(room):
    cable = Cable(room)
    ends = []
    for end in ("vhost", "virtio"):
        ends.append(cable.start(end, end, WATCH))
        wait_for_watch(ends[-1])
    for end in ends:
        check_idle(room, end)


def ring(room):
    check_idle(room, room.start("watch", room.roost(
        "run", "--port", "net_ring0", "--ip", "198.18.0.1/24", "--", *WATCH)),
        NAPS_PER_S)


def twin(room):
    if not os.path.exists("/dev/net/tun"):
        raise Skip("the kernel has no /dev/net/tun")
    wire = quiet_wire(room)
    check_idle(room, room.start("watch", room.roost(
        "run", "--link", room.link, "--twin", "idletw", "--ip",
        "198.18.0.1/24", "--", *WATCH), netns=wire.netns["left"]))


CASES = [Case(f"idle-{name}", run, *args) for name, run, *args in (
    ("af-packet", on_wire, "net_af_packet0"),
    ("af-packet-workers", on_wire, "net_af_packet0", ("--workers", "2"),
     2 * PER_S),
    ("af-packet-vlans", on_wire, "net_af_packet0",
     ("--vlan", "0", "--vlan", "7", "--ip", "198.18.7.1/24"), 2 * PER_S),
    ("af-xdp", on_wire, "net_af_xdp0"),
    ("tap", tap),
    ("link-alone", link_alone),
    ("link", link_both),
    ("vhost", vhost),
    ("ring", ring),
    ("twin", twin),
)]
