# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Memory windows of type 2, and what invalidates them."""

from frames import (READ_ONLY, READ_REQUEST, SEND_ONLY_INV, WRITE_ONLY, IETH,
                    RETH)
from judge import (ALL, MW_BIND, NAK_ACCESS, REMOTE_READ, REMOTE_WRITE, SUCCESS,
                   WITH_INV, Wrong)
from suite import Case, Table

CASES = Table()
TEXT = bytes(range(1, 33))
WINDOWS = "memory windows"
# Of the memory's 4096 bytes.
START, SIZE = 64, 256
BOTH = REMOTE_WRITE | REMOTE_READ


def bound(t, access=BOTH):
    """Memory with a window, and the window's key."""
    t.ready()
    memory = t.memory(access=ALL | MW_BIND)
    t.ask("window")
    return memory, bind(t, memory, access)


def bind(t, memory, access=BOTH):
    rkey = int(t.ask("bind", mr=memory.index, offset=START, bytes=SIZE,
                     access=access)["rkey"], 0)
    t.completion(SUCCESS)
    return rkey


def write(t, memory, rkey, offset=START):
    t.send(WRITE_ONLY, memory.reth(len(TEXT), offset, rkey), payload=TEXT)


@CASES.case("window-write", WINDOWS)
def window_write(t):
    memory, rkey = bound(t)
    for offset in (START, START + SIZE - len(TEXT)):
        write(t, memory, rkey, offset)
        t.ack()
        memory.has(TEXT, offset)


@CASES.case("window-read", WINDOWS)
def window_read(t):
    memory, rkey = bound(t)
    memory.fill(TEXT, START)
    t.send(READ_REQUEST, memory.reth(len(TEXT), START, rkey))
    t.response(READ_ONLY, t.last_psn, TEXT)


# (name, access flags of the window, opcode, first byte)
REFUSED = (
    ("beyond-it", BOTH, WRITE_ONLY, START + SIZE - len(TEXT) + 1),
    ("read-beyond-it", BOTH, READ_REQUEST, START + SIZE - len(TEXT) + 1),
    ("before-it", BOTH, WRITE_ONLY, START - 1),
    ("write-not-allowed", REMOTE_READ, WRITE_ONLY, START),
    ("read-not-allowed", REMOTE_WRITE, READ_REQUEST, START),
)


def refused(access, opcode, offset):
    def run(t):
        memory, rkey = bound(t, access)
        t.send(opcode, memory.reth(len(TEXT), offset, rkey),
               payload=TEXT if opcode == WRITE_ONLY else b"")
        t.refused(NAK_ACCESS)
        memory.has(bytes(START + SIZE + len(TEXT)))
    return run


CASES += [Case(f"window-{name}", WINDOWS, refused(*row))
          for name, *row in REFUSED]


@CASES.case("window-not-bound", WINDOWS)
def window_not_bound(t):
    t.ready()
    memory = t.memory(access=ALL | MW_BIND)
    write(t, memory, int(t.ask("window")["rkey"], 0))
    t.refused(NAK_ACCESS)
    memory.has(bytes(START + SIZE))


@CASES.case("window-invalidated", WINDOWS)
def window_invalidated(t):
    """By the device's own program."""
    memory, rkey = bound(t)
    t.ask("invalidate", rkey=rkey)
    t.completion(SUCCESS)
    write(t, memory, rkey)
    t.refused(NAK_ACCESS)
    memory.has(bytes(START + SIZE))


@CASES.case("window-stale-key", WINDOWS)
def window_stale_key(t):
    """After it was bound again, the key of the first time is nobody's."""
    memory, stale = bound(t)
    t.ask("invalidate", rkey=stale)
    t.completion(SUCCESS)
    rkey = bind(t, memory)
    if rkey == stale:
        raise Wrong("the key is the same")
    write(t, memory, rkey)
    t.ack()
    t.send(WRITE_ONLY, memory.reth(len(TEXT), START, stale), payload=bytes(32))
    t.refused(NAK_ACCESS)
    memory.has(TEXT, START)


@CASES.case("window-remote-invalidate", WINDOWS)
def window_remote_invalidate(t):
    """SEND with invalidate; its completion says so."""
    memory, rkey = bound(t)
    t.receive(memory, 32)
    t.send(SEND_ONLY_INV, IETH(rkey=rkey))
    t.ack()
    t.completion(SUCCESS, flags=WITH_INV, imm=rkey)
    write(t, memory, rkey)
    t.refused(NAK_ACCESS)
    memory.has(bytes(START + SIZE))


@CASES.case("window-of-no-bytes", WINDOWS)
def window_of_no_bytes(t):
    """The key of a request of no bytes is not looked at."""
    memory, rkey = bound(t, REMOTE_READ)
    t.send(WRITE_ONLY, RETH(va=memory.addr, rkey=rkey))
    t.ack()
