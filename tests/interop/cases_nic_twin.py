# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A twin beside a NIC that DPDK drives: through the NIC the guest's kernel is
heard by a far one, and in a VLAN, too."""

from cases_nic import IFACE, kernel_driver
from cases_nic_life import watch
from nic_entry import NicEntry, nics
from nic_world import IOMMU

VLAN = "100"
TWIN = ("--twin", "tw0")
# The other NIC is that of another host.
FAR = IFACE + """
rdma link del rxe0 2>/dev/null || true
ip netns add far
ip link set $iface netns far
ip -n far addr add $2 dev $iface
ip -n far link add link $iface name far.$3 type vlan id $3
ip -n far addr add $4 dev far.$3
ip -n far link set $iface up
ip -n far link set far.$3 up
"""
NEAR = """
set -e
ip link add link tw0 name tw0.$1 type vlan id $1
ip addr add $2 dev tw0.$1
ip link set tw0.$1 up
"""
PING = "ping -q -c 3 -i 0.5 -W 5 $1"


def no_longer_far(world, nic):
    """Its namespace goes, and the NIC is as it was when it came."""
    if world.guest.alive():
        world.sh("ip netns del far", may_fail=True)
    world.bound.pop(nic.address, None)


def twin(room, world, machine, model):
    ours, far = nics(machine, model)
    tagged = {nic: f"198.18.{100 + nic.number // 2}.{nic.number + 1}"
              for nic in (ours, far)}
    world.bind(far, kernel_driver(model))
    room.defer(no_longer_far, world, far)
    world.sh(FAR, far.address, far.ips[0], VLAN, f"{tagged[far]}/24")
    watcher = watch(room, world, ours, TWIN)
    world.sh(PING, far.ip)
    world.sh(NEAR, VLAN, f"{tagged[ours]}/24")
    world.sh(PING, tagged[far])
    watcher.kill()


def entries(machine):
    if machine is IOMMU:
        for model in machine.whole_models():
            yield NicEntry(machine, model, "twin, and a VLAN on it", twin)
