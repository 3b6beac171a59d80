# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Marks of congestion, and fields of a request that must change nothing."""

from frames import (ACK, CNP, READ_ONLY, READ_REQUEST, RETH, SEND_ONLY,
                    WRITE_ONLY)
from judge import SUCCESS, Wrong
from scapy.contrib.roce import BTH
from suite import Case, Table

CASES = Table()
TEXT = bytes(range(1, 33))
CONGESTION = "A17.9.3 congestion notification"
ECT_0, ECT_1, CE = 2, 1, 3
TOS_AT, TTL_AT, CHECKSUM_AT, IP_AT, UDP_AT = 15, 22, 24, 14, 34


def ip_byte(at, value):
    """Changes a byte of the IPv4 header that the ICRC does not cover."""
    def mangle(frame):
        head = bytearray(frame[IP_AT:UDP_AT])
        head[at - IP_AT] = value
        head[CHECKSUM_AT - IP_AT:CHECKSUM_AT - IP_AT + 2] = bytes(2)
        total = sum(int.from_bytes(head[i:i + 2], "big")
                    for i in range(0, len(head), 2))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        head[CHECKSUM_AT - IP_AT:CHECKSUM_AT - IP_AT + 2] = \
            (total ^ 0xffff).to_bytes(2, "big")
        return frame[:IP_AT] + bytes(head) + frame[UDP_AT:]
    return mangle


@CASES.case("ecn-marked", CONGESTION, level="choice")
def ecn_marked(t):
    """The packet counts as ever. A CNP beside its ACK is well formed."""
    t.connect()
    memory = t.memory()
    t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT,
           mangle=ip_byte(TOS_AT, CE))
    t.send(READ_REQUEST, RETH())
    seen = [t.answer()]
    while seen[-1].opcode != READ_ONLY:
        seen.append(t.answer())
    memory.has(TEXT)
    # The response may acknowledge the WRITE as well.
    if [one for one in seen if one.opcode not in (ACK, CNP, READ_ONLY)]:
        raise Wrong("; ".join(map(str, seen)))
    cnps = [one for one in seen if one.opcode == CNP]
    for cnp in cnps:
        t.want(cnp, psn=0, payload=bytes(16))
        if cnp.packet[BTH].becn != 1:
            raise Wrong("a CNP without BECN")
    return None if cnps else "no CNP before the next answer"


# (name, clause, what differs from a WRITE that is right)
HARMLESS = (
    ("ecn-ect-0", CONGESTION, {"mangle": ip_byte(TOS_AT, ECT_0)}),
    ("ecn-ect-1", CONGESTION, {"mangle": ip_byte(TOS_AT, ECT_1)}),
    ("becn-of-a-request", CONGESTION, {"becn": 1}),
    ("ttl-1", "A17 IP headers", {"mangle": ip_byte(TTL_AT, 1)}),
    ("dscp", "A17 IP headers", {"mangle": ip_byte(TOS_AT, 46 << 2)}),
    ("reserved-bits", "BTH: reserved fields",
     {"resv6": 0x3f, "resv7": 0x7f}),
    ("solicited-of-a-write", "BTH: solicited event", {"solicited": 1}),
)


def harmless(words):
    def run(t):
        t.connect()
        memory = t.memory()
        t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT, **words)
        t.ack(msn=1)
        memory.has(TEXT)
        t.nothing()
    return run


CASES += [Case(f"field-{name}", clause, harmless(words))
          for name, clause, words in HARMLESS]


@CASES.case("no-ack-asked", "9.7.5.1.2 coalesced acknowledges")
def no_ack_asked(t):
    """A later ACK covers what did not ask for one."""
    t.connect()
    memory = t.memory()
    for id_ in (1, 2):
        t.receive(memory, 64, id_)
    t.send(SEND_ONLY, payload=TEXT, ackreq=0)
    t.send(SEND_ONLY, payload=TEXT)
    last = t.answer()
    if last.psn != t.last_psn:
        last = t.answer()
    t.want(last, opcode=ACK, psn=t.last_psn, msn=2)
    for id_ in (1, 2):
        t.completion(SUCCESS, id=id_)
