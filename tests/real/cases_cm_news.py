# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""ADDR_CHANGE and DEVICE_REMOVAL, each from its real cause, as a program that
is linked with -lrdmacm hears them (cm_news.c)."""

import os

from cases_ctl import ctl
from harness import Case, Failure
from process import wait_until

SERVER, CLIENT = "198.18.0.1", "198.18.0.2"
CHANGED = ["RDMA_CM_EVENT_ADDR_CHANGE connection"]
CHANGED_BOTH = CHANGED + ["RDMA_CM_EVENT_ADDR_CHANGE at"]
REMOVED_BOTH = ["RDMA_CM_EVENT_DEVICE_REMOVAL connection",
                "RDMA_CM_EVENT_DEVICE_REMOVAL at"]


def start(room, title, role, own, *words):
    """Its end of a memif with a MAC that follows from the title: two that come
    one after the other to the same end of a --link have the same.
    """
    program = os.path.join(room.build, "tests", "real", "cm_news")
    mac = ":".join(f"{byte:02x}" for byte in b"\2" + title.encode()[:5])
    port = (f"net_memif0,role={role},socket-abstract=yes,"
            f"socket=roost-{room.link},mac={mac}")
    return room.start(title, room.roost("run", "--port", port, "--ip",
                                        f"{own}/24", "--", program, role,
                                        *words))


def wait_for(process, line, times=1):
    if not wait_until(lambda: process.out().splitlines().count(line) == times,
                      20):
        raise Failure(f"{process.title}: {line} did not come")


def expect(process, before, lines):
    """These events and no others have come since, in any order."""
    if not wait_until(lambda: len(process.out().splitlines()) >=
                      before + len(lines), 20):
        raise Failure(f"{process.title}: {lines} did not come")
    came = process.out().splitlines()[before:]
    if sorted(came) != sorted(lines):
        raise Failure(f"{process.title}: {came}, not {lines}")


def said(process):
    return len(process.out().splitlines())


def expect_removal(room, process):
    """Destroying waits for nothing then, such as for the peer."""
    before = said(process)
    ctl(room, process, "remove")
    room.finish(process)
    came = process.out().splitlines()[before:]
    if process.status or sorted(came[:2]) != sorted(REMOVED_BOTH) or \
            len(came) != 3 or not came[2].startswith("destroyed in "):
        raise Failure(f"{process.title}: status {process.status}, {came}")
    room.note(f"{process.title}: {came[2]}")
    if float(came[2].split()[2]) > 1:
        raise Failure(f"{process.title}: {came[2]}")


def start_server(room, title):
    server = start(room, title, "server", SERVER, SERVER)
    wait_for(server, "listening")
    return server


def news(room):
    server = start_server(room, "server")
    client = start(room, "client", "client", CLIENT, CLIENT, SERVER)
    for process in (client, server):
        wait_for(process, "RDMA_CM_EVENT_ESTABLISHED connection")

    # An address that nobody uses, and then the one that both ids are at.
    before = said(client)
    ctl(room, client, "address", "add", "198.18.0.9/24")
    ctl(room, client, "address", "del", "198.18.0.9")
    ctl(room, client, "address", "del", CLIENT)
    expect(client, before, CHANGED_BOTH)
    ctl(room, client, "address", "add", f"{CLIENT}/24")

    expect_removal(room, server)
    # Whoever comes instead has another MAC, and says so.
    before = said(client)
    another = start_server(room, "another")
    expect(client, before, CHANGED)
    another.kill()
    expect_removal(room, client)


CASES = [Case("cm-news", news)]
