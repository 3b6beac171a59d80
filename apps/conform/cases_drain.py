# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The state SQD: the send queue rests, the receive queue does not."""

from frames import SEND_ONLY, WRITE_ONLY
from judge import (ALL, NAK_REQUEST, REMOTE_WRITE, RTS, SQ_DRAINED, SQD,
                   SUCCESS, WR_SEND)
from suite import Table

CASES = Table()
DRAIN = "10.3.1 SQD"
EVENTS = "verbs: affiliated asynchronous events"


@CASES.case("drain-event", EVENTS, "should")
def drain_event(t):
    """What was sent is answered: then the queue is drained."""
    t.ready()
    t.post(WR_SEND, t.memory(), 8)
    t.request(SEND_ONLY)
    t.ask("modify", state=SQD, notify=1)
    t.no_event(SQ_DRAINED)
    t.say(0)
    t.completion(SUCCESS, id=1)
    t.event(SQ_DRAINED)
    t.state(SQD)


@CASES.case("drain-event-of-an-idle-queue", EVENTS, "should")
def drain_event_of_an_idle_queue(t):
    t.ready()
    t.ask("modify", state=SQD, notify=1)
    t.event(SQ_DRAINED)


@CASES.case("drain-event-not-asked", EVENTS, "should")
def drain_event_not_asked(t):
    t.ready()
    memory = t.memory()
    t.post(WR_SEND, memory, 8)
    t.request(SEND_ONLY)
    t.ask("modify", state=SQD, notify=0)
    t.say(0)
    t.completion(SUCCESS, id=1)
    t.nothing()
    t.no_event(SQ_DRAINED)


@CASES.case("drain-holds-requests", DRAIN)
def drain_holds_requests(t):
    """What is posted in SQD is sent in RTS."""
    t.ready()
    memory = t.memory()
    t.ask("modify", state=SQD)
    t.post(WR_SEND, memory, 8)
    t.nothing()
    t.no_completion()
    t.ask("modify", state=RTS)
    t.request(SEND_ONLY)
    t.say(0)
    t.completion(SUCCESS, id=1)


@CASES.case("drain-answers", DRAIN)
def drain_answers(t):
    """A QP in SQD is a responder as ever."""
    t.ready()
    memory = t.memory()
    t.ask("modify", state=SQD)
    t.send(WRITE_ONLY, memory.reth(8), payload=bytes([1] * 8))
    t.ack(msn=1)
    memory.has(bytes([1] * 8))
    t.receive(memory, 64)
    t.send(SEND_ONLY, payload=bytes([2] * 8))
    t.ack(msn=2)
    t.completion(SUCCESS, id=1, bytes=8)


@CASES.case("drain-takes-access-away", "11.2.4.2 access flags of the QP")
def drain_takes_access_away(t):
    """Access flags are an attribute that may change in SQD."""
    t.ready()
    memory = t.memory()
    t.ask("modify", state=SQD)
    t.ask("modify", state=SQD, access=ALL & ~REMOTE_WRITE)
    t.send(WRITE_ONLY, memory.reth(8), payload=bytes([1] * 8))
    t.refused(NAK_REQUEST)
    memory.has(bytes(8))
