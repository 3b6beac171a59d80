# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Selective repeat through a switch that loses packets, both ways."""

import dissect
from cases_vlan import finish_all
from harness import Case, Failure
from wire import TCP_ADDRESSES, Capture, relayed

OFFER = "infiniband.bth && udp.payload[8:1] & 40"
REPORT = "udp.dstport == 4791 && udp.payload[0:1] == d1"
BOTH = ("left", "right")


def through(room, ends, words, lose="lose-roce=50"):
    """The same program at both ends; at those in ends, selective repeat."""
    wire = relayed(room, lose)
    capture = Capture(wire)
    port = room.next_port()
    words = [*words, "-p", str(port)]
    started = []
    for end, title, rest in (("left", "server", []),
                             ("right", "client", [TCP_ADDRESSES["left"]])):
        options = ["--ip", f"198.18.0.{1 + (end == 'right')}/24"]
        if end not in ends:
            options += ["--selective-repeat", "no"]
        started.append(wire.start(end, title, options, [*words, *rest]))
    finish_all(room, room.pair_start(*started, port))
    path = capture.stop()
    offers = len(dissect.tshark(path, "-Y", OFFER).splitlines())
    reports = len(dissect.tshark(path, "-Y", REPORT).splitlines())
    if (offers > 0) != bool(ends):
        raise Failure(f"{offers} packets offer selective repeat")
    if (reports > 0) != (ends == BOTH):
        raise Failure(f"{reports} reports of what has come")
    room.note(f"{reports} reports")


# -c: each byte is looked at.
CHECKED = ["ibv_rc_pingpong", "-g", "1", "-m", "1024", "-s", "65536", "-n",
           "100", "-c"]
CASES = [
    Case("repeat-both", through, BOTH, CHECKED),
    Case("repeat-one", through, ("right",), CHECKED),
    Case("repeat-none", through, (), CHECKED),
    Case("repeat-write", through, BOTH,
         ["ib_write_bw", "-x", "1", "-n", "1000", "-s", "16384"]),
]
