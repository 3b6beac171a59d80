# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Requests with a fault: refused with a NAK, or dropped as if they had not
come."""

from frames import (COMPARE_SWAP, READ_REQUEST, RESERVED_OPCODE, SEND_FIRST,
                    SEND_LAST, SEND_MIDDLE, SEND_ONLY, SEND_ONLY_INV,
                    UD_SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_ONLY, IETH,
                    AtomicETH)
from judge import (ALL, ERR, LOC_LEN_ERR, LOC_PROT_ERR, LOCAL_WRITE, MTU,
                   NAK_ACCESS, NAK_OPERATION, NAK_REQUEST, REMOTE_ATOMIC,
                   REMOTE_READ, REMOTE_WRITE)
from suite import Case, Table

CASES = Table()
TEXT = bytes(range(1, 33))
PAGE = 4096
SEQUENCE = "responder: opcode sequence"
LENGTHS = "responder: lengths"
KEYS = "responder: key, PD, access, range"
FLAGS = "11.2.4.2 access flags of the QP"
SILENT = "receive: silent drops"

# (name, [packets before that are right], the packet with the fault); a packet:
# (opcode, True with a RETH of two path MTUs, bytes).
SEQUENCES = (
    ("middle-first", [], (SEND_MIDDLE, False, MTU)),
    ("last-first", [], (SEND_LAST, False, 8)),
    ("first-then-only", [(SEND_FIRST, False, MTU)], (SEND_ONLY, False, 8)),
    ("first-then-first", [(SEND_FIRST, False, MTU)],
     (SEND_FIRST, False, MTU)),
    ("send-then-write", [(SEND_FIRST, False, MTU)],
     (WRITE_MIDDLE, False, MTU)),
    ("write-then-send", [(WRITE_FIRST, True, MTU)],
     (SEND_MIDDLE, False, MTU)),
)


def sequence(before, last):
    def run(t):
        t.connect()
        memory = t.memory()
        t.receive(memory, 1024)
        for packet in [*before, last]:
            opcode, with_reth, size = packet
            headers = [memory.reth(2 * MTU)] if with_reth else []
            t.send(opcode, *headers, payload=bytes(size),
                   ackreq=int(packet is last))
        t.refused(NAK_REQUEST)
    return run


CASES += [Case(f"sequence-{name}", SEQUENCE, sequence(before, last))
          for name, before, last in SEQUENCES]

# (name, opcode, bytes of payload, length of the RETH or None, level)
WRONG_LENGTHS = (
    ("first-short", SEND_FIRST, MTU - 4, None, "must"),
    ("only-above-mtu", SEND_ONLY, MTU + 4, None, "must"),
    ("write-more-than-said", WRITE_ONLY, 32, 16, "must"),
    ("write-less-than-said", WRITE_ONLY, 16, 32, "must"),
    # It is beyond the region, too.
    ("read-above-2-gib", READ_REQUEST, 0, 2 ** 31 + 1, "should"),
)


def wrong_length(opcode, size, said):
    def run(t):
        t.connect()
        memory = t.memory()
        t.receive(memory, 1024)
        headers = [] if said is None else [memory.reth(said)]
        t.send(opcode, *headers, payload=b"\x55" * size)
        t.refused(NAK_REQUEST)
    return run


CASES += [Case(f"length-{name}", LENGTHS, wrong_length(*row), level)
          for name, *row, level in WRONG_LENGTHS]


@CASES.case("length-above-receive", LENGTHS, "should")
def length_above_receive(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 8)
    t.send(SEND_ONLY, payload=TEXT)
    t.nak(NAK_REQUEST)
    t.completion(LOC_LEN_ERR)
    t.state(ERR)
    memory.has(bytes(24), 8)


# (name, opcode, access flags of the QP)
WITHOUT_FLAG = (
    ("write", WRITE_ONLY, LOCAL_WRITE | REMOTE_READ | REMOTE_ATOMIC),
    ("read", READ_REQUEST, LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC),
    ("atomic", COMPARE_SWAP, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ),
)


def ask_for(t, opcode, memory, offset=0, rkey=None):
    """8 bytes of the memory."""
    rkey = memory.rkey if rkey is None else rkey
    if opcode == COMPARE_SWAP:
        t.send(opcode, AtomicETH(va=memory.addr + offset, rkey=rkey, swap=1))
    else:
        t.send(opcode, memory.reth(8, offset, rkey),
               payload=TEXT[:8] if opcode == WRITE_ONLY else b"")


def refused_by_qp(opcode, access):
    def run(t):
        t.connect(access)
        memory = t.memory()
        ask_for(t, opcode, memory)
        t.refused(NAK_REQUEST)
        memory.has(bytes(8))
    return run


CASES += [Case(f"qp-refuses-{name}", FLAGS, refused_by_qp(*row))
          for name, *row in WITHOUT_FLAG]

# (name, opcode, access flags of the region, offset, what to change of the key)
WRONG_KEYS = (
    ("write-wrong-key", WRITE_ONLY, ALL, 0, 0x5a5a00),
    ("read-wrong-key", READ_REQUEST, ALL, 0, 0x5a5a00),
    ("atomic-wrong-key", COMPARE_SWAP, ALL, 0, 0x5a5a00),
    ("write-not-allowed", WRITE_ONLY, LOCAL_WRITE | REMOTE_READ, 0, 0),
    ("read-not-allowed", READ_REQUEST, LOCAL_WRITE | REMOTE_WRITE, 0, 0),
    ("atomic-not-allowed", COMPARE_SWAP, LOCAL_WRITE | REMOTE_WRITE, 0, 0),
    ("write-one-byte-beyond", WRITE_ONLY, ALL, PAGE - 7, 0),
    ("read-one-byte-beyond", READ_REQUEST, ALL, PAGE - 7, 0),
    ("write-before-it", WRITE_ONLY, ALL, -1, 0),
)


def refused_by_key(opcode, access, offset, change):
    def run(t):
        t.connect()
        memory = t.memory(PAGE, access)
        ask_for(t, opcode, memory, offset, memory.rkey ^ change)
        t.refused(NAK_ACCESS)
        memory.has(bytes(16))
        memory.has(bytes(16), PAGE - 16)
    return run


CASES += [Case(f"key-{name}", KEYS, refused_by_key(*row))
          for name, *row in WRONG_KEYS]


@CASES.case("key-range-wraps", KEYS)
def key_range_wraps(t):
    t.connect()
    memory = t.memory()
    # The last 8 bytes of the address space, and 8 more.
    t.send(WRITE_ONLY, memory.reth(16, -8 - memory.addr), payload=TEXT[:16])
    t.refused(NAK_ACCESS)


@CASES.case("key-of-invalidate", KEYS)
def key_of_invalidate(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 64)
    t.send(SEND_ONLY_INV, IETH(rkey=memory.rkey ^ 0x5a5a00), payload=TEXT)
    t.refused(NAK_ACCESS)


@CASES.case("key-of-receive", "responder: its own receive's key")
def key_of_receive(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 64, lkey=memory.lkey ^ 0x5a5a00)
    t.send(SEND_ONLY, payload=TEXT)
    t.nak(NAK_OPERATION)
    t.completion(LOC_PROT_ERR)
    t.state(ERR)
    memory.has(bytes(len(TEXT)))


@CASES.case("atomic-unaligned", "responder: atomics aligned to 8")
def atomic_unaligned(t):
    t.connect()
    memory = t.memory()
    ask_for(t, COMPARE_SWAP, memory, 4)
    t.refused(NAK_REQUEST)
    memory.has(bytes(16))


def flip(at):
    """Changes a byte of the frame."""
    def mangle(frame):
        frame = bytearray(frame)
        frame[at] ^= 0xff
        return bytes(frame)
    return mangle


# The PSN of the dropped packet is expected afterwards: the marker has it.
# (name, what differs from a WRITE that is right, level)
DROPPED = (
    ("icrc-wrong", {"mangle": flip(-1)}, "must"),
    ("payload-damaged", {"mangle": flip(-8)}, "must"),
    ("tver-not-0", {"version": 1}, "must"),
    ("pkey-unknown", {"pkey": 0x1234}, "must"),
    # A NAK 0x61 is an answer to it, too.
    ("opcode-reserved", {"opcode": RESERVED_OPCODE}, "should"),
    ("opcode-of-ud", {"opcode": UD_SEND_ONLY}, "must"),
    ("source-unknown", {"ends": {"src": "198.18.77.77"}}, "must"),
    ("cut-in-bth", {"mangle": lambda frame: frame[:48]}, "must"),
    ("cut-in-reth", {"mangle": lambda frame: frame[:60]}, "must"),
)


def dropped(change):
    def run(t):
        t.connect()
        memory = t.memory()
        words = {"opcode": WRITE_ONLY, **change}
        t.send(words.pop("opcode"), memory.reth(len(TEXT)), payload=TEXT,
               psn=t.psn, **words)
        t.nothing()
        memory.has(bytes(len(TEXT)))
    return run


CASES += [Case(f"drop-{name}", SILENT, dropped(change), level)
          for name, change, level in DROPPED]
