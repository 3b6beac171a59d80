# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""UC: no answers; what is lost takes its message with it, and no other."""

from frames import (READ_REQUEST, SEND_FIRST, SEND_LAST, SEND_MIDDLE,
                    SEND_ONLY, SEND_ONLY_IMM, UC as UC_OP, WRITE_FIRST,
                    WRITE_LAST, WRITE_MIDDLE, WRITE_ONLY, WRITE_ONLY_IMM,
                    ImmDt)
from judge import (FLUSHED, LOC_LEN_ERR, MTU, RECV_WITH_IMM, SUCCESS, UC,
                   STATUSES, WR_SEND, WR_WRITE, Wrong, name_of)
from suite import Case, Table

CASES = Table()
TEXT, MARKER = bytes(range(1, 33)), b"the next one"
LONG = bytes(i & 0xff for i in range(2 * MTU + 88))
THREE = (LONG[:MTU], LONG[MTU:2 * MTU], LONG[2 * MTU:])
OPCODES = "BTH: opcodes"
LOSSES = "UC responder: lost packets"
FAULTS = "UC responder: faults"


def send(t, opcode, *headers, **words):
    t.send(UC_OP | opcode, *headers, **words)


def receiving(t):
    """Memory with a receive."""
    t.ready(type_=UC)
    memory = t.memory()
    t.receive(memory, 1024)
    return memory


def silent(t, memory):
    """The device has said nothing: its own request comes first."""
    t.post(WR_SEND, memory, 8)
    t.request(UC_OP | SEND_ONLY)


def goes_on(t, memory):
    """The next message takes the receive that is still there."""
    send(t, SEND_ONLY, payload=MARKER)
    t.completion(SUCCESS, id=1, bytes=len(MARKER))
    memory.has(MARKER)
    silent(t, memory)


@CASES.case("uc-send-only", OPCODES)
def uc_send_only(t):
    memory = receiving(t)
    send(t, SEND_ONLY, payload=TEXT)
    t.completion(SUCCESS, bytes=len(TEXT))
    memory.has(TEXT)
    silent(t, memory)


@CASES.case("uc-send-of-three", OPCODES)
def uc_send_of_three(t):
    memory = receiving(t)
    for opcode, part in zip((SEND_FIRST, SEND_MIDDLE, SEND_LAST), THREE):
        send(t, opcode, payload=part)
    t.completion(SUCCESS, bytes=len(LONG))
    memory.has(LONG)
    silent(t, memory)


@CASES.case("uc-write-of-three", OPCODES)
def uc_write_of_three(t):
    memory = receiving(t)
    send(t, WRITE_FIRST, memory.reth(len(LONG), 1024), payload=THREE[0])
    send(t, WRITE_MIDDLE, payload=THREE[1])
    send(t, WRITE_LAST, payload=THREE[2])
    goes_on(t, memory)
    memory.has(LONG, 1024)


@CASES.case("uc-write-imm", OPCODES)
def uc_write_imm(t):
    memory = receiving(t)
    send(t, WRITE_ONLY_IMM, memory.reth(len(TEXT), 64), ImmDt(value=7),
         payload=TEXT)
    t.completion(SUCCESS, opcode=RECV_WITH_IMM, imm=7, bytes=len(TEXT))
    memory.has(TEXT, 64)
    silent(t, memory)


@CASES.case("uc-first-lost", LOSSES)
def uc_first_lost(t):
    memory = receiving(t)
    t.psn += 1
    send(t, SEND_MIDDLE, payload=THREE[1])
    send(t, SEND_LAST, payload=THREE[2])
    goes_on(t, memory)


@CASES.case("uc-middle-lost", LOSSES)
def uc_middle_lost(t):
    memory = receiving(t)
    send(t, SEND_FIRST, payload=THREE[0])
    t.psn += 1
    send(t, SEND_LAST, payload=THREE[2])
    goes_on(t, memory)


@CASES.case("uc-last-lost", LOSSES)
def uc_last_lost(t):
    memory = receiving(t)
    send(t, SEND_FIRST, payload=THREE[0])
    send(t, SEND_MIDDLE, payload=THREE[1])
    t.psn += 1
    goes_on(t, memory)


@CASES.case("uc-imm-after-a-gap", LOSSES)
def uc_imm_after_a_gap(t):
    """A message of one packet is taken, however many were lost."""
    memory = receiving(t)
    t.psn += 1000
    send(t, WRITE_ONLY_IMM, memory.reth(len(TEXT), 64), ImmDt(value=7),
         payload=TEXT)
    t.completion(SUCCESS, opcode=RECV_WITH_IMM, imm=7)
    memory.has(TEXT, 64)
    silent(t, memory)


@CASES.case("uc-write-middle-lost", LOSSES)
def uc_write_middle_lost(t):
    """Its last packet writes nothing."""
    memory = receiving(t)
    send(t, WRITE_FIRST, memory.reth(len(LONG), 1024), payload=THREE[0])
    t.psn += 1
    send(t, WRITE_LAST, payload=THREE[2])
    goes_on(t, memory)
    memory.has(bytes(len(LONG) - MTU), 1024 + MTU)


@CASES.case("uc-no-receive", LOSSES)
def uc_no_receive(t):
    t.ready(type_=UC)
    memory = t.memory()
    send(t, SEND_ONLY, payload=TEXT)
    t.wire.settle(t.limit_s)
    silent(t, memory)
    t.completion(SUCCESS, id=1)
    t.receive(memory, 64, 2)
    send(t, SEND_ONLY, payload=MARKER)
    t.completion(SUCCESS, id=2, bytes=len(MARKER))


# (name, opcode, bytes): after it the next message is taken.
LOST = (
    ("first-short", UC_OP | SEND_FIRST, MTU - 4),
    ("only-above-mtu", UC_OP | SEND_ONLY, MTU + 4),
    ("read", UC_OP | READ_REQUEST, 0),
    ("opcode-of-rc", SEND_ONLY, 32),
)


def lost(opcode, size):
    def run(t):
        memory = receiving(t)
        headers = [memory.reth(8)] if opcode == UC_OP | READ_REQUEST else []
        t.send(opcode, *headers, payload=bytes(size))
        goes_on(t, memory)
    return run


CASES += [Case(f"uc-{name}", FAULTS, lost(*row)) for name, *row in LOST]


def ends_or_goes_on(t, ends, text):
    """ends: the statuses of a receive whose QP goes to ERR."""
    send(t, SEND_ONLY, payload=MARKER)
    status = int(t.next_completion()["status"])
    if status in ends:
        return text
    if status != SUCCESS:
        raise Wrong(f"completion {name_of(STATUSES, status)}")
    return None


@CASES.case("uc-wrong-key", FAULTS, "choice")
def uc_wrong_key(t):
    """It writes nothing. The QP goes on, or to ERR."""
    memory = receiving(t)
    send(t, WRITE_ONLY, memory.reth(8, 64, memory.rkey ^ 0x5a5a00),
         payload=TEXT[:8])
    text = ends_or_goes_on(t, (FLUSHED,), "the QP goes to ERR")
    memory.has(bytes(8), 64)
    return text


@CASES.case("uc-above-receive", FAULTS, "choice")
def uc_above_receive(t):
    t.ready(type_=UC)
    memory = t.memory()
    t.receive(memory, len(MARKER))
    send(t, SEND_ONLY, payload=TEXT)
    text = ends_or_goes_on(t, (LOC_LEN_ERR,), "the QP goes to ERR")
    memory.has(bytes(20), len(MARKER))
    return text


@CASES.case("uc-requester-write", OPCODES)
def uc_requester_write(t):
    """Three packets, and a completion without an answer."""
    t.ready(type_=UC)
    memory = t.memory()
    memory.fill(LONG)
    t.post(WR_WRITE, memory, len(LONG))
    for number, opcode in enumerate((WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST)):
        packet = t.request(UC_OP | opcode, number)
        if not packet.payload.endswith(THREE[number]):
            raise Wrong(f"other bytes: {packet}")
    t.completion(SUCCESS, id=1)


@CASES.case("uc-requester-answered", FAULTS)
def uc_requester_answered(t):
    """A NAK, which UC does not know, ends nothing."""
    t.ready(type_=UC)
    memory = t.memory()
    t.post(WR_SEND, memory, 8)
    t.request(UC_OP | SEND_ONLY)
    t.say(0, 0x62, msn=0)
    t.completion(SUCCESS, id=1)
    t.receive(memory, 64)
    send(t, SEND_ONLY, payload=MARKER)
    t.completion(SUCCESS, bytes=len(MARKER))
