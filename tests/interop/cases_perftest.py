# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""perftest's programs, for the traffic that they make: the figures of a guest
in software emulation say nothing."""

import re

from entry import RUN_S, both, finish, pair_start
from harness import Failure
from world import DEVICES, GIDS

PROGRAMS = {
    "ib_send": ("RC", "UC", "UD"),
    "ib_write": ("RC", "UC"),
    "ib_read": ("RC",),
    "ib_atomic": ("RC",),
}
ATOMICS = ("FETCH_AND_ADD", "CMP_AND_SWAP")
# 4.096 us * 2^18 is a second: the guest may stand still that long.
# Nothing slows UC and UD down: no more in flight than the ring of a NIC holds.
UNRELIABLE = ["-s", "2048", "-t", "16"]
COMMON = ["-F", "-u", "18"]
# Each end sets up what the other one offers. Soft-RoCE offers 128, which Roost
# and most adapters refuse.
FETCHING = ["-o", "16"]
# All sizes are 80 MB, for which a guest on a busy machine takes a minute.
ALL_S = 180


def perftest(room, world, role, words):
    port = room.next_port()
    fetching = FETCHING if words[0][:7] in ("ib_read", "ib_atom") else ()
    more = {side: ["-d", device] for side, device in DEVICES.items()}
    server, client = pair_start(room, world, role, [
        *words, *fetching, "-p", str(port)], port, more)
    finish(room, server, client, limit_s=ALL_S if "-a" in words else RUN_S)
    # A guest that had to wait for a processor cannot tell how fast its clock
    # is: its times are infinite then.
    if not re.search(r"^ *\d+ +\d+ +([\d.]+|inf|-?nan) ", client.out(),
                     re.MULTILINE):
        raise Failure("the client shows no result")


def rows(program, transport):
    """(title, words) of all runs of one program."""
    kinds = [[]]
    if program == "ib_atomic":
        kinds = [["-A", kind] for kind in ATOMICS]
    base = ["-c", transport] if program != "ib_atomic" else []
    reliable = transport == "RC"
    bulk = ["-t", "20"] if reliable else UNRELIABLE
    for kind in kinds:
        words = [*base, *kind]
        title = " ".join([transport, *kind[1:]])
        yield "lat", title, [*words, "-n", "50", "-x", GIDS["IPv4"]]
        for qps, gid in (("1", "IPv4"), ("8", "IPv6")):
            yield "bw", f"{title} {gid} -q {qps}", [
                *words, *bulk, "-n", "40", "-x", GIDS[gid], "-q", qps]
        some = [*words, *bulk, "-n", "40", "-x", "1"]
        yield "bw", f"{title} -b", [*some, "-b"]
        if program == "ib_send":
            yield "bw", f"{title} -e", [*some, "-e"]
        if transport != "UD" and program != "ib_atomic":
            yield "bw", f"{title} -m 256", [*some, "-m", "256"]
        if reliable and program != "ib_atomic":
            yield "bw", f"{title} -a", [*words, "-n", "5", "-x", "1", "-a"]


ENTRIES = []
for _program, _transports in PROGRAMS.items():
    for _transport in _transports:
        for _kind, _title, _words in rows(_program, _transport):
            ENTRIES += both(f"{_program}_{_kind}", _title, perftest,
                            [f"{_program}_{_kind}", *COMMON, *_words])
