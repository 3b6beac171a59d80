# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""ibv_rc_pingpong and its sisters, with validation of what came."""

import contextlib
import os

from entry import both, pair
from harness import Failure
from world import GIDS

MTUS = (256, 512, 1024, 2048, 4096)
SIZES = (0, 1, 3, 4, 1023, 4096, 4097, 65536, 1048576)
LARGE_BYTES = 65536
XRC_DOMAIN = "/tmp/xrc_domain"
# UD: one datagram, what the path MTU of 4096 holds.
UD_SIZES = (0, 1, 3, 1023, 2048, 4096)


def pingpong(room, world, role, program, options):
    port = room.next_port()
    ends = pair(room, world, role, [f"ibv_{program}_pingpong", "-p",
                                    str(port), *options], port)
    for end in ends:
        check(end)


def check(end):
    if "invalid data" in end.out() or " iters in " not in end.out():
        raise Failure(f"{end.title}: wrong data, or no result")


def rows(program, sizes, mtus):
    few = ["-n", "50", "-c"]
    for name, gid in GIDS.items():
        yield f"{name} GID", [*few, "-g", gid]
    yield "events", [*few, "-g", "1", "-e"]
    if program != "ud":
        for mtu in mtus:
            yield f"-m {mtu}", [*few, "-g", "1", "-m", str(mtu)]
    for size in sizes:
        iters = "5" if size >= LARGE_BYTES else "20"
        options = ["-n", iters, "-c", "-g", "1", "-s", str(size)]
        # Of 16, which it has of itself, each has to wait for more than half a
        # second in the guest, and that is when retries end.
        # Nothing slows UC down: what the port's ring holds, and not more.
        more = {"srq": ["-q", "4"], "uc": ["-m", "4096"]}.get(program, [])
        if size != SIZES[-1]:
            more = []
        yield " ".join([f"-s {size}", *more]), [*options, *more]


def forget_domain():
    with contextlib.suppress(FileNotFoundError):
        os.remove(XRC_DOMAIN)


def xrc(room, world, role):
    # A program that is killed leaves it.
    room.defer(forget_domain)
    port = room.next_port()
    pair(room, world, role, ["ibv_xsrq_pingpong", "-p", str(port), "-g", "1"],
         port)


ENTRIES = []
for _program, _sizes, _mtus in (("rc", SIZES, MTUS),
                                ("uc", SIZES, MTUS), ("ud", UD_SIZES, ()),
                                ("srq", SIZES[1:], MTUS)):
    for _title, _options in rows(_program, _sizes, _mtus):
        ENTRIES += both(f"ibv_{_program}_pingpong", _title, pingpong,
                        _program, _options)
ENTRIES += both("ibv_xsrq_pingpong", "IPv4 GID", xrc)
