# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""fio's SENDs, for which it uses no RNR retries: a receiver with too few
receives ends the sender's QP, and fio waits for ever behind that. It does on
Soft-RoCE, too.
"""

from entry import SERVING, both, finish
from harness import Failure
from process import wait_until
from world import ADDRESSES, PEERS

BLOCKS = 128
START_S = 60
TOLD_S = 60
# It waits for what does not come.
WAITS_S = 2
LATER_US = 500_000
RNR = "cq completion status 13(RNR retry counter exceeded)"


def fio(room, title, port, *options):
    # One process: no child is left behind one that is killed.
    return ["env", "-C", room.logs, "fio", f"--name={title}", "--thread",
            "--ioengine=rdma", f"--port={port}", "--bs=32k",
            f"--size={BLOCKS * 32}k", *options]


def ends(room, world, serving, asking, *options):
    """A server with these options, and a client with 16 SENDs at a time."""
    port = room.next_port()
    server = world.start(room, serving, f"server-{serving}", fio(
        room, "server", port, "--rw=read", *options))
    if not wait_until(lambda: "waiting for connection" in
                      server.out() + server.err() or
                      server.wait(0) is not None, START_S):
        raise Failure("server: does not wait for a connection")
    address = ADDRESSES[serving][0].split("/")[0]
    return world.start(room, asking, f"client-{asking}", fio(
        room, "client", port, "--rw=write", "--verb=send", "--iodepth=16",
        f"--hostname={address}")), server


def send(room, world, role):
    """A receive for each block."""
    serving = SERVING[role]
    client, server = ends(room, world, serving, PEERS[serving],
                          f"--iodepth={BLOCKS}")
    finish(room, client, server)
    for end in (client, server):
        if f"total={BLOCKS},0,0" not in end.out() and \
                f"total=0,{BLOCKS},0" not in end.out():
            raise Failure(f"{end.title}: not {BLOCKS} blocks")


def behind_rnr(room, world, serving, asking):
    """A server that posts one receive, and the next one later."""
    client, server = ends(room, world, serving, asking, "--iodepth=1",
                          f"--thinktime={LATER_US}")
    if not wait_until(lambda: RNR in client.out() + client.err() or
                      client.wait(0) is not None, TOLD_S):
        raise Failure(f"{client.title}: is not told")
    if wait_until(lambda: client.wait(0) is not None, WAITS_S):
        raise Failure(f"{client.title}: ends")
    for end in (client, server):
        end.kill()


def rnr(room, world, role):
    """Soft-RoCE alone first."""
    behind_rnr(room, world, "rxe", "rxe")
    serving = SERVING[role]
    behind_rnr(room, world, serving, PEERS[serving])


ENTRIES = both("fio", "--verb=send", send)
ENTRIES += both("fio", "--verb=send, one receive: both wait for ever", rnr)
