# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's programs over NICs that DPDK drives: both ends Roost's, or one the
kernel's Soft-RoCE on the kernel's own driver of the NIC."""

import time

from nic_entry import (NicEntry, nics, over_roost, perftest, pingpong,
                       rping)
from nic_world import IOMMU, MTU_BYTES

KERNEL_DRIVERS = {"virtio-net": "virtio-pci"}
JUMBO = ("--mtu", str(MTU_BYTES))
VLAN = "100"
TAGGED = ("--vlan", VLAN)
WORKERS = ("--workers", "2")

PINGPONGS = [
    ("ibv_rc_pingpong -s 4097", "rc", ["-n", "20", "-s", "4097"], ()),
    ("ibv_rc_pingpong -e", "rc", ["-n", "20", "-e"], ()),
    ("ibv_uc_pingpong -s 1023", "uc", ["-n", "20", "-s", "1023"], ()),
    ("ibv_ud_pingpong -s 1", "ud", ["-n", "20", "-s", "1"], ()),
    ("ibv_srq_pingpong -s 4097", "srq", ["-n", "20", "-q", "4", "-s", "4097"],
     ()),
    ("ibv_rc_pingpong -m 4096 -s 65537, MTU 9000", "rc",
     ["-n", "10", "-m", "4096", "-s", "65537"], JUMBO),
    ("ibv_rc_pingpong -s 4097, VLAN", "rc", ["-n", "20", "-s", "4097"],
     TAGGED),
]
PERFTESTS = [
    ("ib_send_bw", ["ib_send_bw", "-n", "50"], ()),
    ("ib_write_bw", ["ib_write_bw", "-n", "20"], ()),
    ("ib_write_bw -m 4096, MTU 9000",
     ["ib_write_bw", "-n", "20", "-m", "4096"], JUMBO),
    ("ib_write_bw -q 8, 2 workers",
     ["ib_write_bw", "-q", "8", "-n", "20", "-s", "4096"], WORKERS),
    ("ib_read_bw", ["ib_read_bw", "-n", "20"], ()),
    ("ib_atomic_lat", ["ib_atomic_lat", "-n", "20"], ()),
]
# pingpong and perftest choose the second GID, which is the address.
GIVE_BACK = """
set -e
cd /sys/bus/pci/devices/$1
while :; do
    path=$(ls -d net/* virtio*/net/* 2>/dev/null || true)
    [ -z "$path" ] || break
    sleep 0.1
done
iface=$(basename $path)
echo 0 >/proc/sys/net/ipv6/conf/$iface/accept_dad
ip addr add $2 dev $iface
ip link set $iface up
rdma link del rxe0 2>/dev/null || true
rdma link add rxe0 type rxe netdev $iface
until ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE; do
    sleep 0.5
done
"""
# The kernel's interface on a NIC.
IFACE = """
set -e
path=$(ls -d /sys/bus/pci/devices/$1/net/* \
          /sys/bus/pci/devices/$1/virtio*/net/* 2>/dev/null || true)
iface=$(basename $path)
"""
# Its address goes over to a VLAN on it, and back.
TO_VLAN = IFACE + """
ip link add link $iface name $iface.$3 type vlan id $3
ip addr del $2 dev $iface
ip addr add $2 dev $iface.$3
ip link set $iface.$3 up
"""
FROM_VLAN = IFACE + """
ip link del $iface.$3
ip addr add $2 dev $iface
"""
# What Soft-RoCE offers, Roost takes no more of than this.
FETCHING = ["-o", "16"]


def ends_of(room, world, machine, model, port):
    """The command lines of two ends of Roost's. port: further options of it."""
    return [over_roost(room, world, nic, port)
            for nic in nics(machine, model)]


def kernel_driver(model):
    return KERNEL_DRIVERS.get(model, model)


def over_kernel(nic, world):
    """The NIC is the kernel's, with Soft-RoCE on it."""
    driver = kernel_driver(nic.model)
    if world.bound.get(nic.address) != driver:
        world.bind(nic, driver)
        world.sh(GIVE_BACK, nic.address, nic.ips[0])
    return lambda words: list(words)


def both(room, world, machine, model, serving):
    """Roost on the first NIC, Soft-RoCE on the second; the server first."""
    first, second = nics(machine, model)
    ends = [over_roost(room, world, first), over_kernel(second, world)]
    return ends if serving == "roost" else ends[::-1]


def own_pingpong(room, world, machine, model, program, options, port):
    pingpong(room, world, ends_of(room, world, machine, model, port), program,
             options)


def own_perftest(room, world, machine, model, words, port):
    perftest(room, world, ends_of(room, world, machine, model, port),
             [*words, *fetching(words)])


def fetching(words):
    return FETCHING if words[0].startswith(("ib_read", "ib_atomic")) else []


def roost_serves(world):
    """Its thread is there, and has had a little time since."""
    if "roost-worker" not in world.sh("cat /proc/[0-9]*/task/*/comm",
                                      may_fail=True):
        return False
    time.sleep(5)
    return True


def rxe_serves(world):
    return "LISTEN" in world.sh("rdma resource show cm_id")


def own_rping(room, world, machine, model):
    rping(room, world, ends_of(room, world, machine, model, ()),
          nics(machine, model)[0].ip, lambda: roost_serves(world))


def rxe_pingpong(room, world, machine, model, serving):
    pingpong(room, world, both(room, world, machine, model, serving), "rc",
             ["-n", "20", "-s", "4097"])


def rxe_perftest(room, world, machine, model, serving):
    devices = ["roost0", "rxe0"]
    perftest(room, world, both(room, world, machine, model, serving),
             ["ib_write_bw", "-n", "20"],
             devices if serving == "roost" else devices[::-1])


def rxe_rping(room, world, machine, model, serving):
    ends = both(room, world, machine, model, serving)
    address = nics(machine, model)[serving != "roost"].ip
    rping(room, world, ends, address,
          lambda: (roost_serves if serving == "roost" else rxe_serves)(world))


def leave_vlan(world, where):
    if world.guest.alive():
        world.sh(FROM_VLAN, *where, may_fail=True)


def rxe_rping_tagged(room, world, machine, model):
    """The kernel sees to its own tags, and asks first."""
    roost, kernel = nics(machine, model)
    ends = [over_roost(room, world, roost, TAGGED), over_kernel(kernel, world)]
    where = kernel.address, kernel.ips[0], VLAN
    world.sh(TO_VLAN, *where)
    room.defer(leave_vlan, world, where)
    rping(room, world, ends, roost.ip, lambda: roost_serves(world))


def entries_of():
    for title, program, options, port in PINGPONGS:
        yield title, own_pingpong, program, options, port
    for title, words, port in PERFTESTS:
        yield title, own_perftest, words, port
    yield "rping", own_rping
    for serving in ("roost", "rxe"):
        name = {"roost": "Roost", "rxe": "Soft-RoCE"}[serving]
        yield f"ibv_rc_pingpong, {name} serves", rxe_pingpong, serving
        yield f"ib_write_bw, {name} serves", rxe_perftest, serving
        yield f"rping, {name} serves", rxe_rping, serving
    yield "rping, VLAN, Roost serves", rxe_rping_tagged


# Where the IOMMU is not, the drivers are the same.
FEWER = ("ibv_rc_pingpong -s 4097", "ib_write_bw -m 4096, MTU 9000", "rping",
         "ibv_rc_pingpong, Roost serves", "ib_write_bw, Soft-RoCE serves")


def entries(machine):
    return [NicEntry(machine, model, title, run, *args)
            for model in machine.whole_models()
            for title, run, *args in entries_of()
            if machine is IOMMU or title in FEWER]
