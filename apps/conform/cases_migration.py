# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Path migration: its bit in the BTH, of a QP without a second path; and to a
second path, which is our IPv6 address."""

from frames import ACK, SEND_ONLY, WRITE_ONLY
from judge import (DEVICE_PSN, PATH_MIG, SUCCESS, WR_SEND, Unsupported,
                   Wrong)
from scapy.contrib.roce import BTH
from scapy.layers.inet6 import IPv6
from suite import Table

CASES = Table()
MIGRATION = "BTH: migration request"
PATHS = "17.2.8 automatic path migration"
# 4.096 us * 2^14
TIMEOUT = 14


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


def rearmed(t, **words):
    """A QP with a second path, which has not heard that we have one, too."""
    if t.agent.gid6 is None:
        raise Unsupported("no link-local GID of RoCE v2")
    t.ready(**words)
    t.ask("rearm", gid=t.wire.ipv6.address.hex())
    return t.memory()


def armed(t, **words):
    memory = rearmed(t, **words)
    t.send(WRITE_ONLY, memory.reth(0), migreq=0)
    t.ack()
    return memory


def over(t, packet, is_second, bit):
    """The packet is on that path, and its bit is this."""
    if (IPv6 in packet.packet) != is_second:
        raise Wrong(f"on the {'first' if is_second else 'second'} path: "
                    f"{packet}")
    if packet.packet[BTH].migreq != bit:
        raise Wrong(f"the bit is not {bit}: {packet}")


@CASES.case("migration-rearmed-bit", PATHS)
def migration_rearmed_bit(t):
    memory = rearmed(t)
    t.post(WR_SEND, memory, 8)
    over(t, t.request(SEND_ONLY), False, 0)


@CASES.case("migration-armed-bit", PATHS)
def migration_armed_bit(t):
    memory = armed(t)
    t.post(WR_SEND, memory, 8)
    over(t, t.request(SEND_ONLY), False, 0)
    t.no_event(PATH_MIG)


@CASES.case("migration-by-the-peer", PATHS)
def migration_by_the_peer(t):
    """A request on the second path, with the bit: the QP follows, and says its
    answer there."""
    memory = armed(t)
    t.is_ipv6 = True
    t.send(WRITE_ONLY, memory.reth(8), payload=bytes([7] * 8), migreq=1)
    answer = t.answer()
    while answer.psn != t.last_psn:
        answer = t.answer()
    over(t, answer, True, 1)
    memory.has(bytes([7] * 8))
    t.event(PATH_MIG)


@CASES.case("migration-by-the-program", PATHS)
def migration_by_the_program(t):
    memory = armed(t)
    t.ask("migrate")
    t.event(PATH_MIG)
    t.post(WR_SEND, memory, 8)
    over(t, request(t), True, 1)
    t.is_ipv6 = True
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("migration-by-timeouts", PATHS)
def migration_by_timeouts(t):
    """Nobody answers on the first path."""
    memory = armed(t, timeout=TIMEOUT, retry=1)
    t.post(WR_SEND, memory, 8)
    packet = request(t)
    while IPv6 not in packet.packet:
        packet = request(t)
    over(t, packet, True, 1)
    t.is_ipv6 = True
    t.say(0)
    t.completion(SUCCESS, id=1)
    t.event(PATH_MIG)


def request(t):
    """The device's SEND; a QP that migrates may say an old ACK before it."""
    packet = t.answer()
    while packet.opcode == ACK:
        packet = t.answer()
    t.want(packet, opcode=SEND_ONLY, psn=DEVICE_PSN)
    return packet
