# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""XRC: a target whose packets name an SRQ, and an initiator that names one."""

from frames import (ACK, READ_ONLY, READ_REQUEST, SEND_FIRST, SEND_LAST,
                    SEND_ONLY, SEND_ONLY_IMM, WRITE_ONLY, XRC, XRCETH, ImmDt,
                    RETH)
from judge import (MTU, NAK_ACCESS, NAK_REQUEST, RECV, RNR, RNR_TIMER, SUCCESS,
                   WR_READ, WR_SEND, WR_WRITE, XRC_RECV, XRC_SEND, Wrong)
from suite import Table

CASES = Table()
TEXT = bytes(range(1, 33))
LONG = bytes(i & 0xff for i in range(MTU + 88))
OPCODES = "A14 XRC: opcodes"
TARGET, INITIATOR = "A14 XRC: target", "A14 XRC: initiator"
SRQN = 0x123456


def send(t, opcode, *headers, srqn=None, **words):
    t.send(XRC | opcode, XRCETH(srqn=t.srqn if srqn is None else srqn),
           *headers, **words)


def receiving(t, size=64):
    t.connect(type_=XRC_RECV)
    memory = t.memory()
    t.receive(memory, size)
    return memory


@CASES.case("xrc-send-only", OPCODES)
def xrc_send_only(t):
    memory = receiving(t)
    send(t, SEND_ONLY, payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, opcode=RECV, bytes=len(TEXT), id=1)
    memory.has(TEXT)


@CASES.case("xrc-send-of-two", OPCODES)
def xrc_send_of_two(t):
    memory = receiving(t, 1024)
    send(t, SEND_FIRST, payload=LONG[:MTU], ackreq=0)
    send(t, SEND_LAST, payload=LONG[MTU:])
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(LONG))
    memory.has(LONG)


@CASES.case("xrc-send-only-imm", OPCODES)
def xrc_send_only_imm(t):
    receiving(t)
    send(t, SEND_ONLY_IMM, ImmDt(value=0x12345678), payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(TEXT), imm=0x12345678)


@CASES.case("xrc-write-only", OPCODES)
def xrc_write_only(t):
    t.connect(type_=XRC_RECV)
    memory = t.memory()
    send(t, WRITE_ONLY, memory.reth(len(TEXT), 8), payload=TEXT)
    t.ack(msn=1)
    memory.has(bytes(8) + TEXT + bytes(8))


@CASES.case("xrc-read-only", OPCODES)
def xrc_read_only(t):
    t.connect(type_=XRC_RECV)
    memory = t.memory()
    memory.fill(TEXT, 8)
    send(t, READ_REQUEST, memory.reth(len(TEXT), 8))
    t.response(XRC | READ_ONLY, t.last_psn, TEXT)


@CASES.case("xrc-no-receive", TARGET)
def xrc_no_receive(t):
    t.connect(type_=XRC_RECV)
    send(t, SEND_ONLY, payload=TEXT)
    t.nak(RNR | RNR_TIMER)


@CASES.case("xrc-no-such-srq", TARGET)
def xrc_no_such_srq(t):
    receiving(t)
    send(t, SEND_ONLY, srqn=t.srqn ^ 0x800000, payload=TEXT)
    t.refused(NAK_REQUEST)


@CASES.case("xrc-wrong-key", TARGET)
def xrc_wrong_key(t):
    t.connect(type_=XRC_RECV)
    memory = t.memory()
    send(t, WRITE_ONLY, memory.reth(len(TEXT), 0, memory.rkey ^ 0x100),
         payload=TEXT)
    t.refused(NAK_ACCESS)


@CASES.case("xrc-opcode-of-rc", TARGET)
def xrc_opcode_of_rc(t):
    """Dropped: what comes next is executed and answered alone."""
    memory = receiving(t)
    t.send(SEND_ONLY, payload=bytes(32), psn=t.psn)
    send(t, SEND_ONLY, payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(TEXT))
    memory.has(TEXT)


def named(t, number, opcode, header=0):
    """The device's packet names the SRQ, and has TEXT behind its headers."""
    packet = t.request(XRC | opcode, number)
    if packet.payload[:4] != SRQN.to_bytes(4, "big") or \
            packet.payload[4 + header:] != TEXT:
        raise Wrong(f"{packet.payload.hex()} is not of this SRQ")


def posted(t, opcode):
    t.ready(type_=XRC_SEND)
    memory = t.memory()
    memory.fill(TEXT)
    t.post(opcode, memory, len(TEXT), srqn=SRQN)
    return memory


@CASES.case("xrc-requester-send", INITIATOR)
def xrc_requester_send(t):
    posted(t, WR_SEND)
    named(t, 0, SEND_ONLY)
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("xrc-requester-write", INITIATOR)
def xrc_requester_write(t):
    posted(t, WR_WRITE)
    named(t, 0, WRITE_ONLY, len(RETH()))
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("xrc-requester-read", INITIATOR)
def xrc_requester_read(t):
    memory = posted(t, WR_READ)
    t.request(XRC | READ_REQUEST)
    t.say(0, opcode=READ_ONLY, payload=TEXT[::-1])
    t.completion(SUCCESS, id=1)
    memory.has(TEXT[::-1])


@CASES.case("xrc-requester-answered-by-rc", INITIATOR)
def xrc_requester_answered_by_rc(t):
    """An ACK of RC acknowledges nothing."""
    posted(t, WR_SEND)
    named(t, 0, SEND_ONLY)
    t.service = 0
    t.say(0, opcode=ACK)
    t.wire.settle(t.limit_s)
    t.no_completion()
