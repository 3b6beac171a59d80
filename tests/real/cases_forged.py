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


CASES = [
    Case("forged-few", few),
]
