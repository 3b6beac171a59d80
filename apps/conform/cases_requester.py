# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The device's own requests: what it sends, and what it makes of answers."""

from frames import (ATOMIC_ACK, FETCH_ADD, READ_FIRST, READ_LAST, READ_ONLY,
                    READ_REQUEST, SEND_ONLY, WRITE_FIRST,
                    WRITE_LAST, WRITE_MIDDLE, WRITE_ONLY)
from judge import (BAD_RESPONSE, ERR, FLUSHED, LOC_LEN_ERR, LOC_PROT_ERR, MTU,
                   NAK_ACCESS, NAK_OPERATION, NAK_REQUEST, NAK_SEQUENCE,
                   REM_ACCESS, REM_INV_REQ, REM_OP, REMOTE_ADDR, REMOTE_RKEY,
                   RETRY_SPENT, RNR, RNR_RETRY_SPENT, RNR_TIMER, SUCCESS,
                   WR_FETCH_ADD, WR_READ, WR_SEND, WR_WRITE, Wrong)
from suite import Case, Table

CASES = Table()
TEXT = bytes(range(1, 33))
LONG = bytes(i & 0xff for i in range(2 * MTU + 88))
OPCODES = "BTH: opcodes"
ANSWERS = "requester: answers"
NAKS = "requester: NAKs"
RETRIES = "9.7.6.1.3 lost acknowledgements, timeouts"
# 4.096 us * 2^10
SHORT_TIMEOUT = 10


def starts(packet, header):
    if packet.payload[:len(header)] != header:
        raise Wrong(f"header {packet.payload[:len(header)].hex()}, "
                    f"not {header.hex()}")


def reth(size):
    return REMOTE_ADDR.to_bytes(8, "big") + REMOTE_RKEY.to_bytes(4, "big") + \
        size.to_bytes(4, "big")


def asked(t, opcode, wr_opcode, size=32):
    """A device whose one request has come. Returns its memory."""
    t.ready()
    memory = t.memory()
    t.post(wr_opcode, memory, size)
    t.request(opcode)
    return memory


@CASES.case("requester-send", OPCODES)
def requester_send(t):
    t.ready()
    memory = t.memory()
    memory.fill(TEXT)
    t.post(WR_SEND, memory, len(TEXT))
    starts(t.request(SEND_ONLY), TEXT)
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("requester-write", OPCODES)
def requester_write(t):
    t.ready()
    memory = t.memory()
    memory.fill(TEXT)
    t.post(WR_WRITE, memory, len(TEXT))
    starts(t.request(WRITE_ONLY), reth(len(TEXT)) + TEXT)
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("requester-write-of-three", OPCODES)
def requester_write_of_three(t):
    t.ready()
    memory = t.memory()
    memory.fill(LONG)
    t.post(WR_WRITE, memory, len(LONG))
    starts(t.request(WRITE_FIRST, 0), reth(len(LONG)) + LONG[:MTU])
    starts(t.request(WRITE_MIDDLE, 1), LONG[MTU:2 * MTU])
    starts(t.request(WRITE_LAST, 2), LONG[2 * MTU:])
    t.say(2)
    t.completion(SUCCESS, id=1)


@CASES.case("requester-read", OPCODES)
def requester_read(t):
    t.ready()
    memory = t.memory()
    t.post(WR_READ, memory, len(TEXT))
    starts(t.request(READ_REQUEST), reth(len(TEXT)))
    t.say(0, opcode=READ_ONLY, payload=TEXT)
    t.completion(SUCCESS, id=1)
    memory.has(TEXT + bytes(8))


@CASES.case("requester-fetch-add", OPCODES)
def requester_fetch_add(t):
    t.ready()
    memory = t.memory()
    t.post(WR_FETCH_ADD, memory, 8, add=5)
    starts(t.request(FETCH_ADD), reth(0)[:12] + (5).to_bytes(8, "big"))
    t.say(0, opcode=ATOMIC_ACK, payload=(7).to_bytes(8, "big"))
    t.completion(SUCCESS, id=1)
    memory.has((7).to_bytes(8, "little"))


@CASES.case("requester-one-ack-for-three", ANSWERS)
def requester_one_ack_for_three(t):
    t.ready()
    memory = t.memory()
    for number in range(3):
        t.post(WR_WRITE, memory, 8, id_=number)
        t.request(WRITE_ONLY, number)
    t.say(2, msn=3)
    for number in range(3):
        t.completion(SUCCESS, id=number)


# What a responder may say, and what the request then completes with.
REFUSALS = (
    ("invalid", NAK_REQUEST, REM_INV_REQ),
    ("access", NAK_ACCESS, REM_ACCESS),
    ("operation", NAK_OPERATION, REM_OP),
)


def refusal(syndrome, status):
    def run(t):
        memory = asked(t, WRITE_ONLY, WR_WRITE)
        t.post(WR_WRITE, memory, 32, id_=2)
        t.request(WRITE_ONLY, 1)
        t.say(0, syndrome, msn=0)
        t.completion(status, id=1)
        t.completion(FLUSHED, id=2)
        t.state(ERR)
    return run


CASES += [Case(f"requester-nak-{name}", NAKS, refusal(*row))
          for name, *row in REFUSALS]

# Answers that nobody may believe; the NAK that follows them is right.
FORGED = (
    ("ack-never-sent", {"number": 10}),
    ("ack-before-all", {"number": -1}),
    ("ack-wrong-icrc", {"number": 0, "mangle": lambda frame:
                        frame[:-1] + bytes([frame[-1] ^ 1])}),
    ("ack-of-a-stranger", {"number": 0, "ends": {"src": "198.18.77.77"}}),
    ("ack-wrong-pkey", {"number": 0, "pkey": 0x1234}),
)


def forged(words):
    def run(t):
        asked(t, WRITE_ONLY, WR_WRITE)
        t.say(**words)
        t.say(0, NAK_ACCESS, msn=0)
        t.completion(REM_ACCESS, id=1)
    return run


CASES += [Case(f"requester-{name}", ANSWERS, forged(words))
          for name, words in FORGED]


@CASES.case("requester-nak-sequence", NAKS)
def requester_nak_sequence(t):
    """What came before it is done; it and the rest come again."""
    t.ready()
    memory = t.memory()
    for number in range(3):
        t.post(WR_WRITE, memory, 8, id_=number)
        t.request(WRITE_ONLY, number)
    t.say(1, NAK_SEQUENCE)
    t.completion(SUCCESS, id=0)
    t.request(WRITE_ONLY, 1)
    t.request(WRITE_ONLY, 2)
    t.say(2, msn=3)
    for number in (1, 2):
        t.completion(SUCCESS, id=number)


@CASES.case("requester-rnr", NAKS)
def requester_rnr(t):
    asked(t, SEND_ONLY, WR_SEND)
    t.say(0, RNR | RNR_TIMER, msn=0)
    t.request(SEND_ONLY)
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("requester-rnr-spent", NAKS)
def requester_rnr_spent(t):
    t.ready(rnr_retry=1)
    t.post(WR_SEND, t.memory(), 8)
    for _ in range(2):
        t.request(SEND_ONLY)
        t.say(0, RNR | RNR_TIMER, msn=0)
    t.completion(RNR_RETRY_SPENT, id=1)
    t.state(ERR)


@CASES.case("requester-timeout-spent", RETRIES)
def requester_timeout_spent(t):
    """The first try and at least one more. Devices may send further probes."""
    t.ready(timeout=SHORT_TIMEOUT, retry=1)
    t.post(WR_SEND, t.memory(), 8)
    for _ in range(2):
        t.request(SEND_ONLY)
    t.completion(RETRY_SPENT, id=1)
    t.state(ERR)


@CASES.case("requester-read-of-three", ANSWERS)
def requester_read_of_three(t):
    memory = asked(t, READ_REQUEST, WR_READ, len(LONG))
    t.say(0, opcode=READ_FIRST, payload=LONG[:MTU])
    t.say_middle(1, LONG[MTU:2 * MTU])
    t.say(2, opcode=READ_LAST, payload=LONG[2 * MTU:])
    t.completion(SUCCESS, id=1)
    memory.has(LONG)


@CASES.case("requester-read-middle-first", ANSWERS, "should")
def requester_read_middle_first(t):
    asked(t, READ_REQUEST, WR_READ, len(LONG))
    t.say_middle(0, LONG[:MTU])
    t.completion(BAD_RESPONSE, id=1)
    t.state(ERR)


@CASES.case("requester-read-too-short", ANSWERS, "should")
def requester_read_too_short(t):
    memory = asked(t, READ_REQUEST, WR_READ)
    t.say(0, opcode=READ_ONLY, payload=TEXT[:16])
    t.completion(LOC_LEN_ERR, id=1)
    t.state(ERR)
    memory.has(bytes(16), 16)


@CASES.case("requester-read-too-long", ANSWERS, "should")
def requester_read_too_long(t):
    memory = asked(t, READ_REQUEST, WR_READ, 16)
    t.say(0, opcode=READ_ONLY, payload=TEXT)
    t.completion(LOC_LEN_ERR, id=1)
    memory.has(bytes(16), 16)


@CASES.case("requester-local-key", "requester: local SGE fault")
def requester_local_key(t):
    t.ready()
    memory = t.memory()
    t.post(WR_WRITE, memory, 8, lkey=memory.lkey ^ 0x5a5a00)
    t.completion(LOC_PROT_ERR, id=1)
    t.state(ERR)


@CASES.case("requester-duplicate-ack", ANSWERS)
def requester_duplicate_ack(t):
    """It completes nothing for the second time."""
    memory = asked(t, WRITE_ONLY, WR_WRITE)
    t.say(0)
    t.completion(SUCCESS, id=1)
    t.post(WR_WRITE, memory, 8, id_=2)
    t.request(WRITE_ONLY, 1)
    t.say(0)
    t.say(1, NAK_ACCESS)
    t.completion(REM_ACCESS, id=2)
