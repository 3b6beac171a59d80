# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A thousand clients at a hub, and what one costs: time, memory, and how soon
its peers know that it died. The figures are in the report; a case fails where
one is far over its budget, as machines that run tests are shared.
"""

import os
import re
import signal
import time

import cases_hub
from harness import Case, Failure
from process import wait_until

CLIENTS = 1000
CLIENT_KIB = 8192  # of the machine's memory, both ends of its channel included
# Budgets: of an idle client in the daemon, beside its ring; in the client,
# beyond the program's own; to the first QP; to DISCONNECTED at a peer.
DAEMON_KIB = 256
RSS_KIB = 8192
ATTACH_US = 20000
TOLD_US = 10000
FAR = 5  # times the budget


def crowd(room, title, *words):
    return room.start(title, cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "crowd"), *words))


def figures(process, start):
    """The numbers of the line that begins with this word."""
    for line in process.out().splitlines():
        if line.startswith(start + " "):
            return [int(word) for word in re.findall(r"\d+", line)]
    return None


def said(process, start, limit_s):
    if not wait_until(lambda: figures(process, start) is not None or
                      process.wait(0) is not None, limit_s) or \
            figures(process, start) is None:
        raise Failure(f"{process.title}: not '{start}' in {limit_s} s; exit "
                      f"status {process.wait(0)}")
    return figures(process, start)


def in_budget(room, what, figure, budget, unit):
    room.note(f"{what}: {figure:.0f} {unit}, budget {budget}")
    if figure > FAR * budget:
        raise Failure(f"{what}: {figure:.0f} {unit}, of {budget}")


# ---- many ------------------------------------------------------------------

def available_kib():
    with open("/proc/meminfo") as file:
        rows = dict(row.split(":", 1) for row in file)
    return int(rows["MemAvailable"].split()[0])


def own_kib(pid):
    """Memory of a process that nobody shares, and what the kernel has for its
    mappings.
    """
    with open(f"/proc/{pid}/status") as file:
        rows = dict(row.split(":", 1) for row in file)
    return sum(int(rows[name].split()[0]) for name in ("RssAnon", "VmPTE"))


def thousand(room):
    """All attach at once, then all pairs exchange messages, each looked at."""
    room.defer(cases_hub.gone)
    nb = min(CLIENTS, available_kib() // CLIENT_KIB // 2 * 2)
    stays = cases_hub.server_of(room, "stays")
    if not wait_until(lambda: cases_hub.has_qp(stays), 20):
        raise Failure("stays: no QP")
    pid = cases_hub.hub_pid(room)
    before_kib = own_kib(pid)
    process = crowd(room, "crowd", "-w", str(nb))
    _, _, middle_us, most_us, _ = said(process, "attached", 100)
    room.note(f"{nb} at once: {middle_us // 1000} ms to the QP, at the most "
              f"{most_us // 1000}")
    each_kib = (own_kib(pid) - before_kib) / nb
    process.signal(signal.SIGUSR1)
    rss_kib, = said(process, "rss", 100)
    process.signal(signal.SIGUSR1)
    room.finish(process)
    if process.status != 0:
        raise Failure(f"crowd: exit status {process.status}")
    in_budget(room, "the daemon has of each", each_kib, DAEMON_KIB, "KiB")
    in_budget(room, "a client is larger by", rss_kib, RSS_KIB, "KiB")


# ---- one -------------------------------------------------------------------

ATTACH_CLIENTS = 20


def attach(room):
    """One after another, and from the start of a program on."""
    room.defer(cases_hub.gone)
    stays = cases_hub.server_of(room, "stays")
    if not wait_until(lambda: cases_hub.has_qp(stays), 20):
        raise Failure("stays: no QP")
    started_ns = []
    for i in range(5):
        start_ns = time.monotonic_ns()
        process = crowd(room, f"start{i}", "2")
        room.finish(process)
        started_ns.append(said(process, "attached", 1)[4] - start_ns)
    process = crowd(room, "crowd", "-o", str(ATTACH_CLIENTS))
    room.finish(process)
    _, least_us, middle_us, *_ = said(process, "attached", 1)
    room.note(f"to the QP: median {middle_us} us")
    # Others use the machine as well: the best that it can.
    in_budget(room, "to the QP", least_us, ATTACH_US, "us")
    in_budget(room, "to the QPs of two, from the start of a program",
              min(started_ns) / 1000, ATTACH_US, "us")


def rss(room):
    """Of a client that has used all of its ring."""
    room.defer(cases_hub.gone)
    process = crowd(room, "crowd", "-s", "65536", "-n", "60", "2")
    room.finish(process)
    rss_kib, = said(process, "rss", 1)
    in_budget(room, "a client is larger by", rss_kib, RSS_KIB, "KiB")


def told(room, *words):
    """orphan: a child of the killed process has its session still."""
    room.defer(cases_hub.gone)
    process = room.run("told", cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "told"),
        cases_hub.ADDRESS, *words))
    if process.status != 0:
        raise Failure(f"told: exit status {process.status}")
    middle_us, most_us = said(process, "told", 1)
    room.note(f"at the most {most_us} us")
    in_budget(room, "told after", middle_us, TOLD_US, "us")


CASES = [
    Case("hub-1000", thousand),
    Case("hub-attach", attach),
    Case("hub-rss", rss),
    Case("hub-told", told, "20"),
    Case("hub-told-orphan", told, "5", "orphan"),
]
