# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Clients of a hub that talk to each other without it."""

import json
import os
import signal
import time

import cases_hub
import cases_rdmacm
from harness import Case, Failure
from process import wait_until

WEB_MS = 4000
MANY = 20  # more than the sixteen peers that a client has
# Each pair passes so many: through the hub or directly, in any order.
MANY_MESSAGES = 40
TOLD_S = 5


def clients(room):
    """What the hub's daemon says of its clients."""
    seen = room.run("clients", room.roost("ctl", "--pid",
                                          str(cases_hub.hub_pid(room)), "-j",
                                          "show", "clients"))
    if seen.status != 0:
        raise Failure("roost ctl: " + seen.err().strip())
    return json.loads(seen.out())["clients"]


def nb_peers(room):
    return [client["peers"] for client in clients(room)]


def frames(room):
    return sum(client["counters"]["tx_frames"] for client in clients(room))


def rping(room):
    """A server, and a client that sends without end, checked."""
    server = room.start("server", cases_hub.hub(
        room, "rping", "-s", "-a", cases_hub.ADDRESS, "-V", "-S", "4000"))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure("server: does not listen")
    client = room.start("client", cases_hub.hub(
        room, "rping", "-c", "-a", cases_hub.ADDRESS, "-V", "-S", "4000"))
    return server, client


def becomes_direct(room):
    """Both have one peer, and the hub passes no frame any more."""
    room.defer(cases_hub.gone)
    server, client = rping(room)
    if not wait_until(lambda: nb_peers(room) == [1, 1], 10):
        raise Failure(f"peers: {nb_peers(room)}")
    time.sleep(0.5)
    before = frames(room)
    time.sleep(2)
    passed = frames(room) - before
    if passed > 2:
        raise Failure(f"{passed} frames passed the hub")
    if server.status is not None or client.status is not None:
        raise Failure("rping has ended")
    client.kill()
    server.kill()


def killed(room):
    """Who dies is known at once, also to a direct peer."""
    room.defer(cases_hub.gone)
    server, client = rping(room)
    if not wait_until(lambda: nb_peers(room) == [1, 1], 10):
        raise Failure(f"peers: {nb_peers(room)}")
    began = time.monotonic()
    os.kill(client.pid, signal.SIGKILL)
    if server.wait(TOLD_S) is None:
        raise Failure(f"the server was not told in {TOLD_S} s")
    room.note(f"told after {1000 * (time.monotonic() - began):.0f} ms")


def stopped(room):
    """A peer that stands still for a while goes on where it was."""
    room.defer(cases_hub.gone)
    server, client = rping(room)
    if not wait_until(lambda: nb_peers(room) == [1, 1], 10):
        raise Failure(f"peers: {nb_peers(room)}")
    os.kill(client.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(client.pid, signal.SIGCONT)
    before = frames(room)
    time.sleep(1)
    if server.status is not None or client.status is not None:
        raise Failure("rping has ended")
    room.note(f"{frames(room) - before} frames passed the hub")
    client.kill()
    server.kill()


def web(room, nb, *words):
    """Each with each other one, every byte checked."""
    room.defer(cases_hub.gone)
    process = room.start("web", cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "web"), str(nb),
        *words))
    peers = 0
    while process.wait(0.5) is None:
        try:
            peers = max([peers, *nb_peers(room)])
        except (Failure, KeyError, ValueError):
            pass  # the hub has just ended
    if process.status != 0:
        raise Failure(f"web: exit status {process.status}")
    passed = int(process.out().split("web: ")[1].split()[0])
    room.note(f"{passed} messages of each pair, up to {peers} peers")
    return passed, peers


def three(room):
    passed, peers = web(room, 3, str(WEB_MS))
    if peers != 2:
        raise Failure(f"{peers} peers, not 2")
    if passed < 100:
        raise Failure(f"{passed} messages of a pair")


def many(room):
    passed, peers = web(room, MANY, "50000", str(MANY_MESSAGES))
    if passed < MANY_MESSAGES:
        raise Failure(f"{passed} messages of a pair")
    if peers > 16:
        raise Failure(f"{peers} peers")


CASES = [
    Case("hub-direct", becomes_direct),
    Case("hub-direct-killed", killed),
    Case("hub-direct-stopped", stopped),
    Case("hub-direct-three", three),
    Case("hub-direct-many", many, limit_s=120),
]
