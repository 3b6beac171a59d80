# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A program's flow rules in a NIC. QEMU's cards have no rte_flow; net_tap has,
where the kernel has tc's flower."""

import json
import os

from harness import Failure
from nic_entry import NicEntry
from nic_world import BARE
from process import wait_until

TAP = "net_tap"
ADDRESS = "198.19.0.77"  # of raw's own stack
PORT = 7000
READY_S = 120
# Each socket's flow has a hash of its own.
SOCKETS = 128
CLIENT = f"""
import socket, sys
for n in range(int(sys.argv[1])):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.sendto(b"%d" % n, ("{ADDRESS}", {PORT}))
    assert s.recv(9000) == b"%d" % n
"""
# The kernel's own: router solicitations, ND, IGMP.
STRAY_PKTS = 12


def show(room, world, what):
    words = room.roost("ctl", "-j", "show", what)
    return json.loads(world.sh('"$@"', *words))


def port_of(room, world):
    return show(room, world, "port")["devices"][0]["ports"][0]


def send(world, nb):
    world.sh('python3 -c "$@"', CLIENT, str(nb))


def second_queue(room, world):
    workers = show(room, world, "worker")["devices"][0]["workers"]
    return workers[1]["queue_packets"]


def come_to_second(room, world):
    """The frames in the second queue while all sockets send."""
    before = second_queue(room, world)
    send(world, SOCKETS)
    return second_queue(room, world) - before


def rules(room, world, machine, model):
    """Two workers: what the rules want arrives in the first one's queue, and
    no longer when somebody takes the rules out of the kernel."""
    raw = world.start(room, "raw", room.roost(
        "run", "--port", f"{model}0,iface=tap0", "--ip", "198.19.0.2/24",
        "--workers", "2", "--",
        os.path.join(room.build, "tests", "real", "raw"), "stack", ADDRESS,
        str(PORT), str(2 * SOCKETS + 1)))
    if not wait_until(lambda: "raw: ready" in raw.err() or
                      raw.wait(0) is not None, READY_S):
        raise Failure(f"raw does not start: {raw.err()}")
    world.sh("ip addr add 198.19.0.1/24 dev tap0")
    shown = port_of(room, world)
    found = [shown[name] for name in
             ("queues", "steering", "nic_rules", "refused_rules")]
    if found != [2, "driver", 2, 0]:
        raise Failure(f"{shown}; {raw.err()}")
    stray = come_to_second(room, world)
    world.sh("tc filter del dev tap0 parent 1:")
    spread = come_to_second(room, world)
    room.note(f"{stray} frames in the second queue, {spread} without rules")
    if stray > STRAY_PKTS or spread < SOCKETS // 8 + STRAY_PKTS:
        raise Failure("the rules do not bring frames to the first queue")
    send(world, 1)
    room.finish(raw)


def entries(machine):
    if machine is BARE:
        yield NicEntry(machine, TAP, "flow rules of a raw packet QP", rules)
