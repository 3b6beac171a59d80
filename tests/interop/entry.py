# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""An entry of the matrix: one program with its options, Roost in one role and
Soft-RoCE in the other."""

import re

from cases_rdmacm import reads_too_late
from guest import GuestProcess
from harness import Case, Failure, Skip
from ports import FIRST_PORT
from process import wait_for_listener, wait_until
from world import PEERS, TCP_ADDRESSES

# Which side serves, by what Roost is.
SERVING = {"client": "rxe", "server": "roost"}
# A guest in software emulation on a machine with other work.
RUN_S = 60
AFTERMATH_S = 3
NO_XRC = "Soft-RoCE has no XRC"
# What a program on Soft-RoCE says where that does not do what it asks for.
CANNOT = {
    "Couldn't register MR": "Soft-RoCE registers no memory of length 0",
    "failure joining: Unknown error 524":
        "Linux joins groups of RoCEv2 by their IPv4 address only",
    "Couldn't Open the XRC Domain 95": NO_XRC,
    "rdma_create_ep: Operation not supported": NO_XRC,
    "rdma_get_request: Operation not supported": NO_XRC,
}


class Entry(Case):
    """group, title: table and row in doc/interop.md; the column is Roost's
    role. run: a function of (room, world, role, *args).
    """

    def __init__(self, group, title, role, run, *args, limit_s=240):
        words = re.findall(r"[\w.]+", f"{group} {title}")
        name = "-".join(words)
        super().__init__(f"{name}-{role}", run, role, *args, limit_s=limit_s)
        self.group = group
        self.title = title
        self.role = role


def over(room, world, role, port, run, *args):
    """In its second attempt an entry comes behind those of other ports."""
    world.plug(port)
    run(room, world, role, *args)


def both(group, title, run, *args, port=FIRST_PORT):
    """The entries of one row. port: Roost's, a name in PORTS."""
    return [Entry(group, title, role, over, port, run, *args)
            for role in SERVING]


def serve(room, world, role, words, port):
    """Start the server; see it listen."""
    server = world.start(room, SERVING[role], "server", words)
    if not wait_for_listener(server, port, RUN_S):
        explain(server)
        raise Failure(f"server: does not listen on port {port}; "
                      f"exit status {server.wait(0)}")
    return server


def failed(end):
    return bool(end.wait(0)) and not reads_too_late(end)


def finish(room, *ends, limit_s=RUN_S):
    """See all end with status 0. Where one does not, the others get no more
    than a little time for it.
    """
    def settled():
        statuses = [end.wait(0) for end in ends]
        return None not in statuses or any(map(failed, ends))

    if not wait_until(settled, limit_s, 0.02):
        raise Failure(f"not done after {limit_s} s")
    wait_until(lambda: all(end.wait(0) is not None for end in ends),
               AFTERMATH_S, 0.02)
    for end in ends:
        if failed(end):
            explain(end)
    for end in ends:
        if failed(end):
            raise Failure(f"{end.title}: exit status {end.status}")
    for end in ends:
        room.finish(end, 0)


def explain(end):
    """Skip what Soft-RoCE says that it cannot do."""
    if isinstance(end, GuestProcess):
        for said, why in CANNOT.items():
            if said in end.err() + end.out():
                raise Skip(why)


def pair_start(room, world, role, words, port, more=None):
    """more: further words by side, "roost" or "rxe"."""
    serving = SERVING[role]
    asking = PEERS[serving]
    more = more or {}
    server = serve(room, world, role, [*words, *more.get(serving, ())], port)
    client = world.start(room, asking, "client",
                         [*words, *more.get(asking, ()),
                          TCP_ADDRESSES[serving]])
    return server, client


def pair(room, world, role, words, port, more=None):
    ends = pair_start(room, world, role, words, port, more)
    finish(room, *ends)
    return ends
