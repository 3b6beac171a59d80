# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's programs for librdmacm: the kernel's rdma_cm over Soft-RoCE on one
side, Roost's on the other."""

import re
import select
import time

from cases_rdmacm import GROUPS, UNMAPPED, bad_word, has_opened, is_waiting
from entry import RUN_S, SERVING, both, explain, finish
from guest import GuestProcess
from harness import Failure
from process import wait_until
from world import ADDRESSES, PEERS

# Programs without an option for another service than their own. All others
# get a port of the entry's.
FIXED = ("udaddy", "mckey")
# (title, server, client, families); {a}: the server's address, {b}: the
# client's, {g}: a group, {u}: the same as a GID, {f}: the family's name.
PAIRS = [
    ("rping", "rping -s -a {a} -v -V -C 10", "rping -c -a {a} -v -V -C 10",
     (4, 6)),
    ("rping -S 65000", "rping -s -V -C 20 -S 65000",
     "rping -c -a {a} -V -C 20 -S 65000", (4,)),
    ("rping -q", "rping -s -a {a} -q -V -C 10",
     "rping -c -q -a {a} -V -C 10", (4,)),
    ("ucmatose", "ucmatose -f {f} -b {a} -c 10 -C 10",
     "ucmatose -f {f} -s {a} -c 10 -C 10", (4, 6)),
    ("ucmatose -m", "ucmatose -m -c 10", "ucmatose -m -c 10 -s {a}", (4,)),
    ("ucmatose -P ib", "ucmatose -f {f} -b {a} -P ib -c 4",
     "ucmatose -f {f} -s {a} -P ib -c 4", (4,)),
    ("udaddy", "udaddy -f {f} -b {a} -c 4 -C 20",
     "udaddy -f {f} -s {a} -c 4 -C 20", (4, 6)),
    ("mckey", "mckey -m {g} -b {a}", "mckey -m {g} -b {b} -s", (4, 6)),
    ("mckey -M", "mckey -M {u} -b {a}", "mckey -M {u} -b {b} -s", (4,)),
    ("rdma_server", "rdma_server -s {a}", "rdma_client -s {a}", (4, 6)),
    ("rdma_xserver", "rdma_xserver -c r", "rdma_xclient -s {a} -c r", (4,)),
    ("rdma_xserver -c x", "rdma_xserver -c x", "rdma_xclient -s {a} -c x",
     (4,)),
]
# rsockets, which write with immediate data; -T v verifies what came.
STREAMS = [(f"rstream {title}", f"rstream -f {{f}} -b {{a}} -T v {more}",
           f"rstream -f {{f}} -s {{a}} -T v {more}", families)
          for title, more, families in (
              ("nonblocking", "-I 5 -C 20", (4, 6)),
              ("-T b", "-T b -I 5 -C 20", (4,)),
              ("-T a", "-T a -I 5 -C 20", (4,)),
              ("-S 1000000", "-S 1000000 -I 1 -C 4", (4,)))]
STREAMS += [("riostream", "riostream -b {a} -T v -I 5 -C 20",
             "riostream -s {a} -T v -I 5 -C 20", (4,))]
PAIRS += [(f"{program} -R{title}", f"{program} -R -F -n 50{more}",
           f"{program} -R -F -n 50{more} {{a}}", (4,))
          for program, title, more in (
              ("ib_send_bw", "", ""), ("ib_send_bw", " -q 8", " -q 8"),
              ("ib_send_bw", " -c UD", " -c UD -s 1024 -t 16"),
              ("ib_send_lat", "", ""), ("ib_send_lat", " -c UD", " -c UD"),
              ("ib_write_bw", "", ""), ("ib_write_bw", " -q 8", " -q 8"),
              ("ib_write_lat", "", ""),
              ("ib_read_bw", "", " -o 16"),
              ("ib_read_bw", " -q 8", " -o 16 -q 8"),
              ("ib_read_lat", "", " -o 16"),
              ("ib_atomic_bw", "", " -o 16"),
              ("ib_atomic_bw", " -q 8", " -o 16 -q 8"),
              ("ib_atomic_lat", "", " -o 16"))]
CONNECTIONS = 50
CM_DELAY_S = 0.3
STREAM_TRIES = 5


def address(side, family):
    return ADDRESSES[side][family == 6].split("/")[0]


def words_of(room, line, role, family):
    """The same port for all of the room's."""
    serving = SERVING[role]
    words = line.format(a=address(serving, family),
                        b=address(PEERS[serving], family),
                        g=GROUPS[family], u=UNMAPPED[family],
                        f={4: "ip", 6: "ipv6"}[family]).split()
    return words if words[0] in FIXED else [*words, "-p", str(room.port)]


def listening(row, words):
    """A row of rdma-resource(8): a listening id of the program, or one that
    is a member of a group.
    """
    if f" comm {words[0]} " not in f"{row} ":
        return False
    if words[0] in FIXED:
        return " state LISTEN " in row or " ps UDP " in row
    return " state LISTEN " in row and \
        re.search(rf" src-addr \S+:{words[-1]}\b", row) is not None


def guest_listens(room, world, words):
    seen = GuestProcess(world.guest, "listening",
                        ["rdma", "resource", "show", "cm_id"], room.logs)
    seen.wait(RUN_S)
    return any(listening(row, words) for row in seen.out().splitlines())


def serve(room, world, role, words, polls=False):
    """words: of words_of(). polls: the server does not sleep while it waits.
    """
    server = world.start(room, SERVING[role], "server", words)
    if SERVING[role] == "rxe":
        ready = wait_until(lambda: guest_listens(room, world, words) or
                           server.wait(0) is not None, RUN_S, 0.2)
        # Members of a group are there a little before they have joined it.
        time.sleep(1)
    else:
        ready = wait_until(lambda: has_opened(server) and
                           (polls or is_waiting(server)), RUN_S)
    if not ready or server.wait(0) is not None:
        explain(server)
        raise Failure(f"server: does not listen; exit status {server.status}")
    return server


def check(process):
    if bad_word(process):
        raise Failure(f"{process.title}: says '{bad_word(process)}'")


def pair(room, world, role, server_line, client_line, family):
    server = serve(room, world, role,
                   words_of(room, server_line, role, family))
    client = world.start(room, PEERS[SERVING[role]], "client",
                         words_of(room, client_line, role, family))
    finish(room, client, server)
    check(client)
    check(server)


def stream(room, world, role, server_line, client_line, family):
    """Nothing shows when a server over rsockets listens: a client that is too
    early comes again. One whose poll finds the last data and the server's end
    at once takes the POLLHUP for an error, and makes it its exit status.
    """
    server = serve(room, world, role,
                   words_of(room, server_line, role, family), polls=True)
    for attempt in range(STREAM_TRIES):
        client = world.start(room, PEERS[SERVING[role]], f"client-{attempt}",
                             words_of(room, client_line, role, family))
        room.finish(client)
        if client.status in (0, select.POLLHUP) or server.wait(0) is not None:
            break
    ends = [client, server]
    if client.status == select.POLLHUP:
        room.note("the client saw the end together with the last data")
        ends.remove(client)
    finish(room, *ends)
    for end in ends:
        if "custom" not in end.out():
            raise Failure(f"{end.title}: no result")


def unhurried(room, world, role, *lines):
    """perftest connects twice, the second time without asking whether its
    server listens again. One in the guest needs some time for that.
    """
    world.lossy(0, 0, CM_DELAY_S)
    try:
        pair(room, world, role, *lines)
    finally:
        world.whole()


def times(room, world, role):
    """Many connections at once; the server stays."""
    line = f"cmtime -c {CONNECTIONS}"
    serve(room, world, role, words_of(room, line, role, 4))
    client = world.start(room, PEERS[SERVING[role]], "client",
                         words_of(room, line + " -s {a}", role, 4))
    finish(room, client)
    check(client)


def runner(title):
    if "stream" in title:
        return stream
    return unhurried if " -R" in title else pair


ENTRIES = []
# One of each program: (title, (run, arguments)).
ALONE = []
for _title, _server, _client, _families in PAIRS + STREAMS:
    for _family in _families:
        _run = (runner(_title), _server, _client, _family)
        ENTRIES += both("rdma_cm", f"{_title} IPv{_family}", *_run)
        if _title in ("rping", "ucmatose", "udaddy", "mckey", "rdma_server",
                      "rdma_xserver", "rstream nonblocking",
                      "ib_write_bw -R") and _family == 4:
            ALONE.append((_title, _run))
ENTRIES += both("rdma_cm", f"cmtime -c {CONNECTIONS}", times)
ALONE.append(("cmtime", (times,)))
