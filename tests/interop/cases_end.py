# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Either side ends in mid-flight: its program is killed, or the whole guest
is. The other side finds out, and nothing hangs."""

import signal
import time

import cases_cm
from entry import AFTERMATH_S, RUN_S, SERVING, both, pair_start
from guest import GuestProcess
from harness import Failure, Skip
from process import wait_until
from world import PEERS

# perftest's local ACK timeout of 67 ms, with seven retries, is over while a
# guest that shares its processor has not run at all. With 0.5 s it is not. That
# of the connection manager is 2.1 s; perftest is told to retry three times.
TIMEOUT = ["-u", "17"]
GIVE_UP_S = 15
CM_GIVE_UP_S = 40
ENDLESS = "Soft-RoCE repeats without end where seven retries are asked for"
RETRIES = ["sh", "-c",
           "cat /sys/class/infiniband/rxe0/*/1/hw_counters/completer_retry_err"]

# More than it takes to meet.
MOVING_PKTS = 200
# Both ends send without rest: who only waits is told nothing by RC.
BULK = ["ib_send_bw", "-F", "-b", "-n", "1000000", "-s", "4096"]


def bulk(room, world, role):
    port = room.next_port()
    return pair_start(room, world, role,
                      [*BULK, *TIMEOUT, "-x", "1", "-p", str(port)], port)


def connected(room, world, role, *lines):
    server = cases_cm.serve(room, world, role,
                            cases_cm.words_of(room, lines[0], role, 4))
    return server, world.start(room, PEERS[SERVING[role]], "client",
                               cases_cm.words_of(room, lines[1], role, 4))


def bulk_connected(room, world, role):
    world.lossy(0, 0, cases_cm.CM_DELAY_S)
    room.defer(world.whole)
    line = " ".join([*BULK, "-R", "--retry_count=3"])
    ends = connected(room, world, role, line, line + " {a}")
    # The second connection, too, comes through the relay that takes its time.
    time.sleep(4 * cases_cm.CM_DELAY_S)
    return ends


def rping(room, world, role):
    return connected(room, world, role, "rping -s -a {a} -C 1000000",
                     "rping -c -a {a} -C 1000000")


def spent(end):
    """Failed because of its retry counter, or flushed behind that."""
    said = end.err() + end.out()
    if end.status == 0 or ("status 12" not in said and
                           "status 5" not in said):
        raise Failure(f"{end.title}: exit status {end.status}, and not "
                      "because of its retry counter")


def disconnected(end):
    """The guest's kernel says goodbye for a program that is killed."""
    if "DISCONNECT EVENT" not in end.err() + end.out():
        raise Failure(f"{end.title}: is not told of the end")


def retries(room, world):
    """How often Soft-RoCE has repeated something, since it is there."""
    seen = GuestProcess(world.guest, "retries", RETRIES, room.logs)
    if seen.wait(RUN_S) != 0:
        raise Failure(f"no counters in the guest: {seen.err()}")
    return int(seen.out())


def repeats(room, world):
    before = retries(room, world)
    time.sleep(1)
    return retries(room, world) > before


def in_flight(world, ends):
    """Both send, and do so still after a little time."""
    before = world.moved()

    def all_move():
        moved = [after - then for after, then in zip(world.moved(), before)]
        return min(moved) > MOVING_PKTS

    wait_until(lambda: all_move() or any(end.wait(0) is not None
                                         for end in ends), RUN_S, 0.2)
    time.sleep(AFTERMATH_S)
    for end in ends:
        if end.wait(0) is not None:
            raise Failure(f"{end.title}: ended before anything was killed")


def program(room, world, role, victim, start, check, give_up_s):
    """victim: "roost" or "rxe"; the other side has to find out."""
    server, client = start(room, world, role)
    in_flight(world, (server, client))
    ends = {SERVING[role]: server, PEERS[SERVING[role]]: client}
    ends[victim].signal(signal.SIGKILL)
    left = ends[PEERS[victim]]
    begin = time.monotonic()
    if left.wait(give_up_s) is None:
        if isinstance(left, GuestProcess) and repeats(room, world):
            raise Skip(ENDLESS)
        raise Failure(f"{left.title}: notices nothing within {give_up_s} s")
    room.note(f"noticed after {time.monotonic() - begin:.1f} s")
    check(left)


def guest(room, world, role, start, check, give_up_s):
    """The machine of the peer is gone, with all that it could say."""
    server, client = start(room, world, role)
    in_flight(world, (server, client))
    left = server if SERVING[role] == "roost" else client
    world.guest.close()
    begin = time.monotonic()
    if left.wait(give_up_s) is None:
        raise Failure(f"{left.title}: notices nothing within {give_up_s} s")
    room.note(f"noticed after {time.monotonic() - begin:.1f} s")
    check(left)


GROUP = "killed in mid-flight"
BULKS = [
    ("ib_send_bw -b", bulk, spent, GIVE_UP_S),
    ("ib_send_bw -b -R --retry_count=3", bulk_connected, spent, CM_GIVE_UP_S),
]

ENTRIES = []
for _title, *_run in BULKS:
    ENTRIES += both(GROUP, f"program of Roost: {_title}", program, "roost",
                    *_run)
for _title, *_run in [*BULKS, ("rping", rping, disconnected, GIVE_UP_S)]:
    ENTRIES += both(GROUP, f"program of Soft-RoCE: {_title}", program, "rxe",
                    *_run)
for _title, *_run in BULKS:
    ENTRIES += both(GROUP, f"the guest: {_title}", guest, *_run)
