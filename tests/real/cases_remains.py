# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What a program leaves of what it changed at the kernel's interfaces: nothing
when it ends, and nothing after the next start where it was killed."""

import json
import subprocess

from cases_ctl import WATCH, wait_for_watch
from harness import Case, Failure
from process import wait_until
from wire import Wire, ip

SMALL, LARGE = 1500, 4200


def link_of(wire, end="left"):
    said = subprocess.run(["ip", "-n", wire.netns[end], "-d", "-j", "link",
                           "show", "dev", end], capture_output=True,
                          text=True, check=True).stdout
    return json.loads(said)[0]


def expect_mtu(wire, mtu_bytes, is_lent):
    def is_so():
        link = link_of(wire)
        return link["mtu"] == mtu_bytes and is_lent == any(
            "roost-mtu" in name for name in link.get("altnames", []))

    if not wait_until(is_so, 5, 0.1):
        link = link_of(wire)
        raise Failure(f"MTU {link['mtu']}, {link.get('altnames')}; wanted "
                      f"{mtu_bytes}")


def devinfo(room, wire, title, options=(), end="left"):
    """A program that opens the device, closes it and ends."""
    process = room.run(**wire.start(end, title, list(options),
                                    ["ibv_devinfo"]))
    if process.status != 0 or process.err():
        raise Failure(f"{title}: {process.err().strip()}")


def watch(room, wire, title, options=()):
    process = room.start(**wire.start("left", title, list(options), WATCH))
    wait_for_watch(process)
    return process


def mtu(room):
    wire = Wire(room, SMALL)
    devinfo(room, wire, "ends", ["--mtu", str(LARGE)])
    expect_mtu(wire, SMALL, False)
    # It exits without closing anything.
    room.run(**wire.start("left", "exits", ["--mtu", str(LARGE)],
                          ["python3", "-c", EXIT]))
    expect_mtu(wire, SMALL, False)


EXIT = """
import ctypes
v = ctypes.CDLL("libibverbs.so.1")
v.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
v.ibv_open_device.restype = ctypes.c_void_p
assert v.ibv_open_device(ctypes.c_void_p(v.ibv_get_device_list(None)[0]))
"""


def mtu_killed(room):
    """The next start puts it back, and one that wants it has it."""
    wire = Wire(room, SMALL)
    for after in ([], ["--mtu", str(LARGE)], ["--mtu", str(LARGE + 100)]):
        process = watch(room, wire, f"killed{len(after)}-{after[-1:]}",
                        ["--mtu", str(LARGE)])
        expect_mtu(wire, LARGE, True)
        process.kill()
        expect_mtu(wire, LARGE, True)
        devinfo(room, wire, f"next-{after[-1:]}", after)
        expect_mtu(wire, SMALL, False)


def mtu_of_two(room):
    """Of two VLANs, the last one puts it back."""
    wire = Wire(room, SMALL)
    one = watch(room, wire, "one", ["--mtu", str(LARGE)])
    devinfo(room, wire, "short", ["--vlan", "7", "--ip", "198.18.7.1/24"])
    expect_mtu(wire, LARGE, True)
    other = watch(room, wire, "other", ["--vlan", "8", "--ip",
                                        "198.18.8.1/24", "--mtu", str(LARGE)])
    one.kill()
    devinfo(room, wire, "again")
    expect_mtu(wire, LARGE, True)
    other.kill()
    devinfo(room, wire, "last")
    expect_mtu(wire, SMALL, False)


def mtu_of_others(room):
    """What an administrator has set since stays."""
    wire = Wire(room, SMALL)
    process = watch(room, wire, "killed", ["--mtu", str(LARGE)])
    process.kill()
    ip("-n", wire.netns["left"], "link", "set", "left", "mtu", "9000")
    devinfo(room, wire, "next")
    expect_mtu(wire, 9000, False)


def promiscuous(room, driver):
    """An administrator's mode stays while a program runs, and after it."""
    wire = Wire(room, 3000, driver=driver)
    ip("-n", wire.netns["left"], "link", "set", "left", "promisc", "on")
    process = watch(room, wire, "watch")
    for when in ("beside", "after"):
        if "PROMISC" not in link_of(wire)["flags"]:
            raise Failure(f"{when} a program the mode is off")
        process.kill()
    devinfo(room, wire, "ends")
    ip("-n", wire.netns["left"], "link", "set", "left", "promisc", "off")
    link = link_of(wire)
    if link["promiscuity"] or link.get("allmulti") or "xdp" in link:
        raise Failure(f"left: {link}")


CASES = [Case(f"remains-{name}", run, *args) for name, run, *args in (
    ("mtu", mtu),
    ("mtu-killed", mtu_killed),
    ("mtu-of-two", mtu_of_two),
    ("mtu-of-others", mtu_of_others),
    ("promiscuous-af-packet", promiscuous, "net_af_packet0"),
    ("promiscuous-af-xdp", promiscuous, "net_af_xdp0"),
)]
