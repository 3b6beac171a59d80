# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Forged requests (cm_forge.c) of hosts that are not there: whoever accepts
does not wait for them, and others connect as ever."""

import os
import time

from harness import Case, Failure
from process import wait_until
from wire import MACS, Wire

SERVER = "198.18.0.1"
# Of all the time that a client takes, with the machine busy.
MORE_S_MAX = 1.5
FLOOD_PER_S = 100000
FLOOD_REQUESTS = 400000
FLOOD_CONNECTS = 200
MORE_MIB_MAX = 16


def program(room, name, *words):
    return [os.path.join(room.build, "tests", "real", name), *words]


def start_churn(room, wire, end, number, *words):
    process = room.start(**wire.start(
        end, f"churn-{end}", ["--ip", f"198.18.0.{number}/24"],
        program(room, "cm_churn", *words)))
    return process


def connect_s(room, wire, *options):
    """How long a client lives that connects and disconnects, twice."""
    begun = time.monotonic()
    client = start_churn(room, wire, "right", 2, "-c", SERVER, "-n", "1",
                         *options)
    room.finish(client)
    if client.status != 0:
        raise Failure(f"the client: exit status {client.status}")
    return client.ended_at - begun


def forge(room, wire, first, sources, requests, rate):
    forger = room.start("forger", program(
        room, "cm_forge", "right", MACS["left"], SERVER, first, str(sources),
        str(requests), str(rate)), netns=wire.netns["right"])
    return forger


def few(room):
    """Five requests of hosts on the link that do not exist: before they were
    known to be none, each of them held its acceptor for 2.7 s."""
    wire = Wire(room)
    server = start_churn(room, wire, "left", 1, "-s", SERVER)
    time.sleep(2)
    usual_s = connect_s(room, wire)
    forger = forge(room, wire, "198.18.0.100", 5, 5, 0)
    room.finish(forger)
    took_s = connect_s(room, wire, "-l")
    room.note(f"{usual_s:.1f} s before, {took_s:.1f} s after them")
    if not wait_until(lambda: server.wait(0) is not None, 20):
        raise Failure("the server goes on")
    if took_s > usual_s + MORE_S_MAX:
        raise Failure(f"a client takes {took_s - usual_s:.1f} s more")


def rss_mib(process):
    with open(f"/proc/{process.pid}/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def flood(room, sources):
    """100,000 requests a second of so many hosts, or as many as the machine
    makes: the server accepts those that it can, gives up those that must make
    room, and serves others meanwhile, in the same memory."""
    wire = Wire(room)
    server = start_churn(room, wire, "left", 1, "-s", SERVER)
    time.sleep(2)
    connect_s(room, wire)
    forger = forge(room, wire, "198.18.1.0", sources, FLOOD_REQUESTS,
                   FLOOD_PER_S)
    time.sleep(2)
    before_mib = rss_mib(server)
    client = start_churn(room, wire, "right", 2, "-c", SERVER, "-n",
                         str(FLOOD_CONNECTS), "-w", "8")
    room.finish(forger)
    after_mib = rss_mib(server)
    room.finish(client)
    if client.status != 0:
        raise Failure(f"the client: exit status {client.status}")
    if server.wait(0) is not None:
        raise Failure(f"the server ends: {server.status}")
    runs = [line for line in client.out().splitlines() if "churn" in line]
    room.note(f"{forger.out().strip()}; {runs[-1]}; {before_mib:.0f} MiB, "
              f"then {after_mib:.0f}")
    if after_mib > before_mib + MORE_MIB_MAX:
        raise Failure(f"the server grows by {after_mib - before_mib:.0f} MiB")


CASES = [
    Case("forged-few", few),
    Case("forged-flood-of-one", flood, 1),
    Case("forged-flood-of-many", flood, 60000),
]
