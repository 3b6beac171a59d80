# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Both ends in one device: loopback.c, an ordinary program, over one port."""

import os

from harness import Case, Failure


def loopback(room, options, port_options=(), launcher=()):
    program = os.path.join(room.build, "tests", "real", "loopback")
    ports = port_options or ("--link", room.link)
    seen = room.run("loopback", room.roost("run", *ports, *launcher, "--",
                                           program, *options))
    if seen.status != 0:
        raise Failure(f"exit status {seen.status}")
    if seen.err():
        raise Failure("something on stderr")
    room.note(seen.out().splitlines()[-1] + " (the aim is 1000 ms)")


VARIANTS = [
    ("lid", []),
    ("gid-0", ["-g", "0"]),
    ("gid-1", ["-g", "1"]),
    ("lid-events", ["-e"]),
    ("gid-0-events", ["-g", "0", "-e"]),
    ("gid-1-events", ["-g", "1", "-e"]),
]

CASES = [Case(f"loopback-{name}", loopback, options)
         for name, options in VARIANTS]
CASES += [
    # A port that is no link: DPDK's own loopback of an rte_ring.
    Case("loopback-net-ring", loopback, ["-g", "1"],
         ("--port", "net_ring0", "--ip", "198.18.3.1/24")),
    Case("loopback-dedicated", loopback, ["-e"], (),
         ("--progress", "dedicated")),
]
