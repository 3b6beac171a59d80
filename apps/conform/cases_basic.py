# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Requests without a fault, each opcode: executed and answered."""

from frames import (ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD, READ_FIRST, READ_LAST,
                    READ_MIDDLE, READ_ONLY, READ_REQUEST, SEND_FIRST,
                    SEND_LAST, SEND_MIDDLE, SEND_ONLY, SEND_ONLY_IMM,
                    WRITE_FIRST, WRITE_LAST, WRITE_MIDDLE, WRITE_ONLY,
                    WRITE_ONLY_IMM, AtomicETH, ImmDt, RETH)
from judge import MTU, RECV, RECV_WITH_IMM, SUCCESS
from suite import Table

CASES = Table()
TEXT = bytes(range(1, 33))
LONG = bytes(i & 0xff for i in range(2 * MTU + 88))
OPCODES = "BTH: opcodes"


@CASES.case("send-only", OPCODES)
def send_only(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 64)
    t.send(SEND_ONLY, payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, opcode=RECV, bytes=len(TEXT))
    memory.has(TEXT)


@CASES.case("send-only-imm", OPCODES)
def send_only_imm(t):
    t.connect()
    t.receive(t.memory(), 64)
    t.send(SEND_ONLY_IMM, ImmDt(value=0x12345678), payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(TEXT), imm=0x12345678)


@CASES.case("send-of-three", OPCODES)
def send_of_three(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 1024)
    t.send(SEND_FIRST, payload=LONG[:MTU], ackreq=0)
    t.send(SEND_MIDDLE, payload=LONG[MTU:2 * MTU], ackreq=0)
    t.send(SEND_LAST, payload=LONG[2 * MTU:])
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(LONG))
    memory.has(LONG)


@CASES.case("send-of-no-bytes", OPCODES)
def send_of_no_bytes(t):
    t.connect()
    t.receive(t.memory(), 64)
    t.send(SEND_ONLY)
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=0)


@CASES.case("send-padded", OPCODES)
def send_padded(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 64)
    t.send(SEND_ONLY, payload=TEXT[:5])
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=5)
    memory.has(TEXT[:5] + bytes(3))


@CASES.case("write-only", OPCODES)
def write_only(t):
    t.connect()
    memory = t.memory()
    t.send(WRITE_ONLY, memory.reth(len(TEXT), 8), payload=TEXT)
    t.ack(msn=1)
    memory.has(bytes(8) + TEXT + bytes(8))
    t.no_completion()


@CASES.case("write-only-imm", OPCODES)
def write_only_imm(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 0)
    t.send(WRITE_ONLY_IMM, memory.reth(len(TEXT), 64), ImmDt(value=7),
           payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, opcode=RECV_WITH_IMM, imm=7, bytes=len(TEXT))
    memory.has(TEXT, 64)


@CASES.case("write-of-three", OPCODES)
def write_of_three(t):
    t.connect()
    memory = t.memory()
    t.send(WRITE_FIRST, memory.reth(len(LONG)), payload=LONG[:MTU], ackreq=0)
    t.send(WRITE_MIDDLE, payload=LONG[MTU:2 * MTU], ackreq=0)
    t.send(WRITE_LAST, payload=LONG[2 * MTU:])
    t.ack(msn=1)
    memory.has(LONG)


@CASES.case("write-of-no-bytes", "keys: not checked for a length of 0")
def write_of_no_bytes(t):
    t.connect()
    t.send(WRITE_ONLY, RETH(va=0x1000, rkey=0xdeadbeef))
    t.ack(msn=1)


@CASES.case("read-only", OPCODES)
def read_only(t):
    t.connect()
    memory = t.memory()
    memory.fill(TEXT)
    t.send(READ_REQUEST, memory.reth(len(TEXT)))
    t.response(READ_ONLY, t.last_psn, TEXT)


@CASES.case("read-of-three", OPCODES)
def read_of_three(t):
    t.connect()
    memory = t.memory()
    memory.fill(LONG)
    t.send(READ_REQUEST, memory.reth(len(LONG)), psns=3)
    first = t.last_psn
    t.response(READ_FIRST, first, LONG[:MTU])
    t.response(READ_MIDDLE, first + 1, LONG[MTU:2 * MTU])
    t.response(READ_LAST, first + 2, LONG[2 * MTU:])
    t.nothing()


@CASES.case("read-padded", OPCODES)
def read_padded(t):
    t.connect()
    memory = t.memory()
    memory.fill(TEXT)
    t.send(READ_REQUEST, memory.reth(3))
    t.response(READ_ONLY, t.last_psn, TEXT[:3])


@CASES.case("read-of-no-bytes", "keys: not checked for a length of 0")
def read_of_no_bytes(t):
    t.connect()
    t.send(READ_REQUEST, RETH(va=0x1000, rkey=0xdeadbeef))
    t.response(READ_ONLY, t.last_psn, b"")


def atomic(t, opcode, swap, compare, before, after):
    t.connect()
    memory = t.memory()
    memory.fill(before.to_bytes(8, "little"))
    t.send(opcode, AtomicETH(va=memory.addr, rkey=memory.rkey, swap=swap,
                             compare=compare))
    t.response(ATOMIC_ACK, t.last_psn, before.to_bytes(8, "big"))
    memory.has(after.to_bytes(8, "little"))


@CASES.case("compare-swap-equal", OPCODES)
def compare_swap_equal(t):
    atomic(t, COMPARE_SWAP, 9, 5, 5, 9)


@CASES.case("compare-swap-unequal", OPCODES)
def compare_swap_unequal(t):
    atomic(t, COMPARE_SWAP, 9, 6, 5, 5)


@CASES.case("fetch-add", OPCODES)
def fetch_add(t):
    atomic(t, FETCH_ADD, 1 << 32, 0, 0xffffffff, 0x1ffffffff)


@CASES.case("fetch-add-wraps", OPCODES)
def fetch_add_wraps(t):
    atomic(t, FETCH_ADD, 2, 0, (1 << 64) - 1, 1)


@CASES.case("msn-counts-messages", "AETH: MSN")
def msn_counts_messages(t):
    t.connect()
    for msn in (1, 2, 3):
        t.send(WRITE_ONLY, RETH())
        t.ack(msn=msn)
