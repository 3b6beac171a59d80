# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Many connections between two processes (cm_churn.c): what they hold, what
they leave behind, and what their ends hear when a device or a peer goes.
"""

import os
import time

from harness import Case, Failure
from process import wait_until

ADDRESS = "198.18.0.1"
# Less than the smallest allocation for each connection.
LEAK_BYTES = 16
OPEN_BYTES_MAX = 8192
EVENT_S = 20


def end(room, title, number, words, port=None):
    """198.18.0.number, on the link or another port."""
    where = ["--port", port] if port else ["--link", room.link]
    return {"title": title,
            "argv": room.roost("run", *where, "--ip",
                               f"198.18.0.{number}/24", "--",
                               os.path.join(room.build, "tests", "real",
                                            "cm_churn"), *words)}


def start_server(room, *options, port=None):
    server = room.start(**end(room, "server", 1, ["-s", ADDRESS, *options],
                              port))
    # It says nothing; a client that comes too early is refused.
    time.sleep(2)
    return server


def held(process):
    """What the process said that it held, each time."""
    return [{words[i]: int(words[i + 1]) for i in range(1, len(words), 2)}
            for words in map(str.split, process.out().splitlines())
            if words and words[0] == "held"]


def runs(process):
    """Milliseconds of each run, by what was done in it."""
    return [(words[1], float(words[4]))
            for words in map(str.split, process.out().splitlines())
            if words and words[0] == "run"]


def both(room, *options):
    """Both ends, to their ends."""
    server = start_server(room, *[o for o in options if o == "-q"])
    client = room.run(**end(room, "client", 2,
                            ["-c", ADDRESS, "-l", *options]))
    room.finish(server)
    for process in (client, server):
        if process.status != 0 or process.err():
            raise Failure(f"{process.title}: exit status {process.status}")
    return client, server


def no_leaks(room, nb, options):
    """Two runs of so many: the second one leaves what the first one left."""
    for process in both(room, "-n", str(nb), "-w", "20", "-r", "2", *options):
        first, second = held(process)[-2:]
        grown = second["heap_bytes"] - first["heap_bytes"]
        room.note(f"{process.title}: {grown} bytes, "
                  f"{second['fds'] - first['fds']} descriptors more")
        if second["fds"] != first["fds"]:
            raise Failure(f"{process.title}: leaves descriptors open")
        if grown > nb * LEAK_BYTES:
            raise Failure(f"{process.title}: leaves {grown} bytes")


# Clients of a hub that talk much have a doorbell of their own.
DOORBELLS = 2


def many_open(room, nb):
    client, server = both(room, "-n", str(nb), "-w", str(nb), "-o")
    for process in (client, server):
        before, meanwhile = held(process)[:2]
        each = (meanwhile["heap_bytes"] - before["heap_bytes"]) / nb
        room.note(f"{process.title}: {each:.0f} bytes each")
        if each > OPEN_BYTES_MAX:
            raise Failure(f"{process.title}: {each:.0f} bytes each")
        if meanwhile["fds"] > before["fds"] + DOORBELLS:
            raise Failure(f"{process.title}: connections cost descriptors")
    for what, took_ms in runs(client):
        room.note(f"{what}: {took_ms} ms")
        # A message that had to be repeated costs 4.3 s.
        if took_ms > 4000:
            raise Failure(f"{what}: {took_ms} ms")


def start_keeper(room, nb, port=None):
    """A client with connections that stand."""
    words = ["-c", ADDRESS, "-n", str(nb), "-w", str(nb), "-o", "-k"]
    client = room.start(**end(room, "client", 2, words, port))
    if not wait_until(lambda: "run open" in client.out(), EVENT_S):
        raise Failure("client: does not connect")
    return client


def expect_events(server, event, nb):
    line = f"RDMA_CM_EVENT_{event}: status 0"
    if not wait_until(lambda: server.err().count(line) >= nb, EVENT_S):
        raise Failure(f"{server.err().count(line)} of {nb} times: {line}")


def device_removal(room):
    """Each id that has the device is told, the listener too, and all can be
    destroyed then.
    """
    server = start_server(room)
    start_keeper(room, 3)
    done = room.run("remove", room.roost("ctl", "--pid", str(server.pid),
                                         "remove"))
    if done.status != 0:
        raise Failure("ctl remove: " + done.err())
    expect_events(server, "DEVICE_REMOVAL", 4)
    room.finish(server)
    if server.status != 0:
        raise Failure(f"server: exit status {server.status}")


def addr_change(room):
    """Another machine has the peer's address now: who asked for it hears."""
    def port(role, last):
        return (f"net_memif_roost,role={role},socket-abstract=yes,"
                f"socket={room.link},mac=02:00:00:00:00:0{last}")

    server = start_server(room, port=port("client", 1))
    client = start_keeper(room, 3, port("server", 2))
    server.kill()
    room.start(**end(room, "another", 1, ["-c", "198.18.0.2", "-n", "1"],
                     port("client", 3)))
    expect_events(client, "ADDR_CHANGE", 3)


CASES = [
    Case("connections-no-leaks", no_leaks, 3000, ()),
    Case("connections-no-leaks-own-cqs", no_leaks, 1000, ("-q",)),
    Case("connections-10000-open", many_open, 10000),
    Case("connections-device-removal", device_removal),
    Case("connections-addr-change", addr_change),
]
