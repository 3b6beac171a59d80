# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Path migration: its bit in the BTH, of a QP without a second path."""

from frames import ACK, SEND_ONLY, WRITE_ONLY
from judge import PATH_MIG, SUCCESS, WR_SEND, Wrong
from scapy.contrib.roce import BTH
from suite import Table

CASES = Table()
MIGRATION = "BTH: migration request"


@CASES.case("migration-request-bit-0", MIGRATION)
def migration_request_bit_0(t):
    """Such requests are executed as ever, and nothing migrates."""
    t.connect()
    memory = t.memory()
    for msn, bit in ((1, 0), (2, 1), (3, 0)):
        t.send(WRITE_ONLY, memory.reth(8), payload=bytes([msn] * 8),
               migreq=bit)
        t.ack(msn=msn)
        memory.has(bytes([msn] * 8))
    t.no_event(PATH_MIG)


@CASES.case("migration-answer-bit-0", MIGRATION)
def migration_answer_bit_0(t):
    t.ready()
    t.post(WR_SEND, t.memory(), 8)
    t.request(SEND_ONLY)
    t.say(0, migreq=0)
    t.completion(SUCCESS, id=1)


def migrated(packet):
    if packet.packet[BTH].migreq != 1:
        raise Wrong(f"the bit is 0: {packet}")


@CASES.case("migration-bit-of-a-request", MIGRATION, "should")
def migration_bit_of_a_request(t):
    """A QP that nobody armed is in the state MIGRATED."""
    t.ready()
    t.post(WR_SEND, t.memory(), 8)
    migrated(t.request(SEND_ONLY))


@CASES.case("migration-bit-of-an-answer", MIGRATION, "should")
def migration_bit_of_an_answer(t):
    t.connect()
    memory = t.memory()
    t.send(WRITE_ONLY, memory.reth(8), payload=bytes([1] * 8))
    answer = t.answer()
    t.want(answer, opcode=ACK, psn=t.last_psn)
    migrated(answer)
    memory.has(bytes([1] * 8))
