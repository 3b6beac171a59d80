# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Packets with the mark of a switch, and the CNPs that answer them, as tshark
sees both. No switch is at hand: the sender of the packets marks them itself, by
their traffic class."""

import dissect
from cases_vlan import finish_all, none_but, send_bw, vlan_options
from harness import Case, Failure
from wire import Capture, Wire

MARKED = 106 | 3  # DSCP 26, ECN = CE
CNP = "infiniband.bth.opcode == 0x81"
BECN_ALONE = "udp.payload[4:1] == 40"
NEVER_MARKED = "ip.dsfield.dscp == 48 && ip.dsfield.ecn == 0"


def answered(room, *options):
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [0]),
        ["-x", "1", f"--tclass={MARKED}", *options]))
    path = capture.stop()
    dissect.check_malformed(path)
    dissect.check_icrc(path)
    none_but(path, CNP, f"{BECN_ALONE} && {NEVER_MARKED} && "
             "infiniband.bth.psn == 0 && udp.length == 40")
    marked = len(dissect.tshark(
        path, "-Y", f"ip.dsfield.ecn == 3 && !({CNP})").splitlines())
    cnps = len(dissect.tshark(path, "-Y", CNP).splitlines())
    if not 0 < cnps <= marked:
        raise Failure(f"{cnps} CNPs answer {marked} marked packets")
    room.note(f"{cnps} CNPs for {marked} marked packets")


def unmarked(room):
    """ECT(0) alone is no mark."""
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [0]),
        ["-x", "1", f"--tclass={106}"]))
    path = capture.stop()
    if not dissect.tshark(path, "-Y", "ip.dsfield.ecn == 2 && infiniband"):
        raise Failure("the traffic class is not the program's")
    if dissect.tshark(path, "-Y", CNP):
        raise Failure("a CNP answers a packet without a mark")


CASES = [
    Case("ecn-rc", answered),
    Case("ecn-uc", answered, "-c", "UC"),
    Case("ecn-ud", answered, "-c", "UD", "-s", "2048"),
    Case("ecn-unmarked", unmarked),
]
