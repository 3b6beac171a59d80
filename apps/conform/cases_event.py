# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Asynchronous events of the QP. The answers on the wire are other cases':
programs live without an event, but not without a NAK."""

from frames import (FETCH_ADD, SEND_LAST, SEND_ONLY_INV, WRITE_ONLY, IETH,
                    AtomicETH)
from judge import ALL, COMM_EST, LOCAL_WRITE, QP_ACCESS_ERR, QP_REQ_ERR
from suite import Case, Table

CASES = Table()
EVENTS = "verbs: affiliated asynchronous events"


def write(size, offset=0, said=8, change=0):
    """said: by the RETH. change: of the key."""
    return lambda t, memory: t.send(
        WRITE_ONLY, memory.reth(said, offset, memory.rkey ^ change),
        payload=bytes(size))


def fetch_add(t, memory):
    t.send(FETCH_ADD, AtomicETH(va=memory.addr + 4, rkey=memory.rkey))


def invalidate(t, memory):
    t.receive(memory, 64)
    t.send(SEND_ONLY_INV, IETH(rkey=memory.rkey ^ 0x5a5a00))


# (name, event, access flags of the QP, what is sent)
ROWS = (
    ("first-packet", COMM_EST, ALL, write(8)),
    ("sequence", QP_REQ_ERR, ALL, lambda t, memory: t.send(SEND_LAST)),
    ("length", QP_REQ_ERR, ALL, write(16)),
    ("qp-refuses", QP_REQ_ERR, LOCAL_WRITE, write(8)),
    ("atomic-unaligned", QP_REQ_ERR, ALL, fetch_add),
    ("wrong-key", QP_ACCESS_ERR, ALL, write(8, change=0x5a5a00)),
    ("beyond-it", QP_ACCESS_ERR, ALL, write(8, offset=4096)),
    ("invalidate", QP_ACCESS_ERR, ALL, invalidate),
)


def event(wanted, access, send):
    def run(t):
        t.connect(access)
        send(t, t.memory())
        t.event(wanted)
    return run


CASES += [Case(f"event-{name}", EVENTS, event(*row), "should")
          for name, *row in ROWS]
