# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""PSNs ahead and behind, and requests that come before there is a receive."""

from frames import (ATOMIC_ACK, FETCH_ADD, READ_ONLY, READ_REQUEST, SEND_ONLY,
                    WRITE_ONLY, AtomicETH, RETH)
from judge import NAK_SEQUENCE, PSN_MASK, RNR, RNR_TIMER, SUCCESS
from suite import Table

CASES = Table()
TEXT, OTHER = b"the first", b"the other"
AHEAD = "responder: PSN ahead"
BEHIND = "responder: duplicates"


@CASES.case("psn-wraps", "BTH: PSNs")
def psn_wraps(t):
    t.connect(psn=PSN_MASK)
    for msn in (1, 2):
        t.send(WRITE_ONLY, RETH())
        t.ack(msn=msn)


@CASES.case("psn-ahead", AHEAD)
def psn_ahead(t):
    t.connect()
    memory = t.memory()
    expected = t.psn
    t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT, psn=expected + 1)
    t.nak(NAK_SEQUENCE, expected)
    memory.has(bytes(len(TEXT)))


@CASES.case("psn-ahead-one-nak", AHEAD)
def psn_ahead_one_nak(t):
    t.connect()
    expected = t.psn
    for more in (1, 2, 3):
        t.send(WRITE_ONLY, RETH(), psn=expected + more)
    t.nak(NAK_SEQUENCE, expected)
    t.nothing()


@CASES.case("psn-ahead-again", AHEAD)
def psn_ahead_again(t):
    """A second gap has a NAK of its own. One more PSN is missing each time: a
    responder may keep what came early.
    """
    t.connect()
    for _ in range(2):
        expected = t.psn
        t.send(WRITE_ONLY, RETH(), psn=expected + 3)
        t.nak(NAK_SEQUENCE, expected)
        t.nothing()


@CASES.case("duplicate-send", BEHIND)
def duplicate_send(t):
    t.connect()
    memory = t.memory()
    t.receive(memory, 64, 1)
    t.receive(memory, 64, 2)
    t.send(SEND_ONLY, payload=TEXT)
    t.ack(msn=1)
    t.completion(SUCCESS, id=1)
    t.send(SEND_ONLY, payload=OTHER, psn=t.last_psn)
    t.ack(msn=1)
    memory.has(TEXT)
    t.no_completion()


@CASES.case("duplicate-write", BEHIND)
def duplicate_write(t):
    t.connect()
    memory = t.memory()
    t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT)
    t.ack(msn=1)
    memory.fill(OTHER)
    t.send(WRITE_ONLY, memory.reth(len(TEXT)), payload=TEXT, psn=t.last_psn)
    t.ack(msn=1)
    memory.has(OTHER)


@CASES.case("duplicate-of-an-older-one", BEHIND)
def duplicate_of_an_older_one(t):
    """It is answered by the last ACK."""
    t.connect()
    first = t.psn
    for msn in (1, 2, 3):
        t.send(WRITE_ONLY, RETH())
        t.ack(msn=msn)
    newest = t.last_psn
    t.send(WRITE_ONLY, RETH(), psn=first)
    t.ack(psn=newest, msn=3)


@CASES.case("duplicate-read", BEHIND)
def duplicate_read(t):
    t.connect()
    memory = t.memory()
    memory.fill(TEXT)
    t.send(READ_REQUEST, memory.reth(len(TEXT)))
    t.response(READ_ONLY, t.last_psn, TEXT)
    memory.fill(OTHER)
    t.send(READ_REQUEST, memory.reth(len(TEXT)), psn=t.last_psn)
    t.response(READ_ONLY, t.last_psn, OTHER)


@CASES.case("duplicate-atomic", BEHIND)
def duplicate_atomic(t):
    t.connect()
    memory = t.memory()
    header = AtomicETH(va=memory.addr, rkey=memory.rkey, swap=1)
    t.send(FETCH_ADD, header)
    t.response(ATOMIC_ACK, t.last_psn, bytes(8))
    t.send(FETCH_ADD, header, psn=t.last_psn)
    t.response(ATOMIC_ACK, t.last_psn, bytes(8))
    memory.has((1).to_bytes(8, "little"))


@CASES.case("duplicate-without-a-record", BEHIND, "should")
def duplicate_without_a_record(t):
    """A READ in place of what was a WRITE: no answer."""
    t.connect()
    memory = t.memory()
    t.send(WRITE_ONLY, RETH())
    t.ack(msn=1)
    t.send(READ_REQUEST, memory.reth(8), psn=t.last_psn)
    t.nothing()


@CASES.case("no-receive", "9.7.5.2.8 RNR NAK")
def no_receive(t):
    t.connect()
    memory = t.memory()
    t.send(SEND_ONLY, payload=TEXT)
    psn = t.last_psn
    t.nak(RNR | RNR_TIMER)
    t.receive(memory, 64)
    t.send(SEND_ONLY, payload=TEXT, psn=psn)
    t.ack(msn=1)
    t.completion(SUCCESS, bytes=len(TEXT))
    memory.has(TEXT)


@CASES.case("no-receive-then-more", "9.7.5.2.8 RNR NAK")
def no_receive_then_more(t):
    """What follows it is dropped in silence until its PSN comes again."""
    t.connect()
    memory = t.memory()
    t.send(SEND_ONLY, payload=TEXT)
    psn = t.last_psn
    t.nak(RNR | RNR_TIMER)
    t.send(WRITE_ONLY, memory.reth(len(OTHER)), payload=OTHER)
    t.receive(memory, 64)
    t.send(SEND_ONLY, payload=TEXT, psn=psn)
    t.ack(msn=1)
    memory.has(TEXT)
