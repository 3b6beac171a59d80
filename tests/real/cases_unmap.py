# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Memory that a program unmaps while a peer uses it."""

import os

from cases_ctl import counters
from cases_sysfs import need
from harness import Case, Failure
from process import wait_until


def play(room, *words, options=(), inside=()):
    """Whatever is mapped in the place of registered memory stays as it is,
    and roost ctl counts what was discarded."""
    process = room.start("remap", room.roost(
        "run", "--link", room.link, *options, "--", *inside,
        os.path.join(room.build, "tests", "real", "remap"), *words))
    wait_until(lambda: "done" in process.out() or process.err(), 60)
    if "done" not in process.out() or process.err():
        raise Failure(f"no end: {process.out()}{process.err()}")
    shown = counters(room, process)
    if not shown["unmapped_reads"] or not shown["unmapped_writes"]:
        raise Failure(f"show counters says {shown}")


def other_memory(room):
    play(room)


def with_handler(room):
    play(room, "handler", options=("--workers", "2"))


def with_blocked_signal(room):
    play(room, "blocked")


def unseen(room):
    """In each of its threads, the peer's too, which executes its packets."""
    play(room, "unseen")


def shrunk(room):
    play(room, "shrunk")


def in_valgrind(room):
    """It does not tell a handler which instruction has faulted, and runs one
    thread at a time: without --fair-sched the peer, which polls in a loop, may
    keep its turn for minutes."""
    need("valgrind")
    play(room, "shrunk", "5", inside=(
        "valgrind", "-q", "--tool=none", "--vgdb=no", "--fair-sched=yes"))


CASES = [
    Case("unmap-other-memory", other_memory),
    Case("unmap-with-handler", with_handler),
    Case("unmap-with-blocked-signal", with_blocked_signal),
    Case("unmap-unseen", unseen),
    Case("unmap-file", shrunk),
    Case("unmap-file-valgrind", in_valgrind),
]
