# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The same over IPv6, whose ICRC covers other fields."""

import cases_basic
import cases_requester
import cases_uc
import cases_ud
from frames import WRITE_ONLY, mld_says
from judge import GRH_SIZE, SUCCESS, Wrong
from suite import Case, Table

CASES = Table()
TEXT = bytes(range(1, 33))
ICRC = "A17 ICRC"

# Cases of IPv4 that are run again.
AGAIN = ("send-only", "send-padded", "write-of-three", "read-of-three",
         "fetch-add", "requester-send", "requester-write-of-three",
         "requester-read", "uc-send-of-three", "ud-send-only", "ud-imm",
         "ud-drop-qkey-wrong", "ud-requester-send")


def again(case):
    def run(t):
        t.use_ipv6()
        return case.run(t)
    return Case(f"ipv6-{case.name}", case.clause, run, case.level)


CASES += [again(case) for module in (cases_basic, cases_requester, cases_uc,
                                     cases_ud)
          for case in module.CASES if case.name in AGAIN]


def changed(at, value):
    def mangle(frame):
        return frame[:at] + bytes([value]) + frame[at + 1:]
    return mangle


# (name, what differs from a WRITE that is right, is it executed): bytes of the
# IPv6 header from 14 on.
CHANGES = (
    ("traffic-class", changed(15, 0x20), True),
    ("flow-label", changed(17, 0x77), True),
    ("hop-limit", changed(21, 1), True),
    ("icrc-wrong", lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]), False),
    ("source-changed", changed(37, 0x77), False),
)


def change(mangle, executed):
    def run(t):
        t.use_ipv6()
        t.connect()
        memory = t.memory()
        t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT,
               psn=None if executed else t.psn, mangle=mangle)
        if executed:
            t.ack(msn=1)
        else:
            t.nothing()
        memory.has(TEXT if executed else bytes(len(TEXT)))
    return run


CASES += [Case(f"ipv6-{name}", ICRC, change(*row)) for name, *row in CHANGES]


@CASES.case("ipv6-ud-header", "A17.4.5.2 L3 header in UD")
def ipv6_ud_header(t):
    """All 40 bytes before the datagram."""
    t.use_ipv6()
    memory = cases_ud.receiving(t)
    cases_ud.datagram(t, TEXT)
    t.completion(SUCCESS)
    header = memory.read(GRH_SIZE)
    if header[0] >> 4 != 6 or \
            header[8:] != t.wire.ipv6.address + t.agent.gid6:
        raise Wrong(f"the header is {header.hex()}")


GROUP = bytes.fromhex("ff0e0000000000000000000047910001")
GROUPS = "UD: multicast"


def member(t):
    t.use_ipv6()
    memory = cases_ud.receiving(t)
    t.ask("attach", gid=GROUP.hex())
    return memory


def reported(t, joins):
    def found(frame):
        return (joins, GROUP) in mld_says(frame) or None
    if not t.wire.seek(found, t.limit_s):
        raise Wrong("no MLD report")


@CASES.case("ipv6-multicast-attached", GROUPS)
def ipv6_multicast_attached(t):
    memory = member(t)
    cases_ud.datagram(t, TEXT, dqpn=cases_ud.GROUP_QPN,
                      to6=(b"\x33\x33" + GROUP[12:], GROUP))
    cases_ud.arrives(t, memory, TEXT)


@CASES.case("ipv6-multicast-mld-join", GROUPS, "should")
def ipv6_multicast_mld_join(t):
    member(t)
    reported(t, True)


@CASES.case("ipv6-multicast-mld-leave", GROUPS, "should")
def ipv6_multicast_mld_leave(t):
    member(t)
    reported(t, True)
    t.ask("detach")
    reported(t, False)
