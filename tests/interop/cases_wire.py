# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""One run of each program under tshark's eyes; a wire that loses one packet in
a hundred; either side killed in mid-flight."""

import signal
import time

import cases_perftest
import cases_pingpong
from capture import Capture
from entry import AFTERMATH_S, SERVING, both, pair_start
from harness import Failure, Skip
from world import PEERS

LOSS_PERCENT = 1
LOSS_SEED = 4791
# perftest's local ACK timeout is 67 ms, with seven retries.
GIVE_UP_S = 20


def watched(room, world, role, icrc, run, *args):
    capture = Capture(room, world)
    run(room, world, role, *args)
    room.note(f"{capture.judge(icrc)} packets from Roost")


def lossy(room, world, role, run, *args):
    world.lossy(LOSS_PERCENT, LOSS_SEED)
    try:
        watched(room, world, role, False, run, *args)
    finally:
        room.note(world.whole().splitlines()[-1])


def killed(room, world, role, victim):
    """victim: "roost" or "rxe"; the other side has to find out. Both send
    without rest: who only waits for messages is told nothing by RC.
    """
    port = room.next_port()
    words = ["ib_send_bw", "-F", "-b", "-p", str(port), "-n", "1000000", "-x",
             "1", "-s", "4096"]
    server, client = pair_start(room, world, role, words, port)
    ends = {SERVING[role]: server, PEERS[SERVING[role]]: client}
    time.sleep(AFTERMATH_S)
    for end in ends.values():
        if end.wait(0) is not None:
            raise Failure(f"{end.title}: ended before anything was killed")
    ends[victim].signal(signal.SIGKILL)
    left = ends[PEERS[victim]]
    if left.wait(GIVE_UP_S) is None and victim == "roost":
        raise Skip(f"Soft-RoCE tells its program nothing within {GIVE_UP_S} s")
    room.finish(left, 0)
    # The retry counter, or receives flushed because of it.
    said = left.err() + left.out()
    if left.status == 0 or ("status 12" not in said and
                            "status 5" not in said):
        raise Failure(f"{left.title}: exit status {left.status}, and not "
                      "because of its retry counter")


def perf(program, *words):
    return (cases_perftest.perftest,
            [program, *cases_perftest.COMMON, "-x", "1", *words])


def ping(program, *words):
    return (cases_pingpong.pingpong, program, ["-g", "1", "-c", *words])


WATCHED = [(f"ibv_{_program}_pingpong", ping(_program, "-n", "50"))
           for _program in ("rc", "uc", "ud", "srq")]
WATCHED += [(_program, perf(_program, "-n", "40"))
            for _program in ("ib_send_bw", "ib_send_lat", "ib_write_bw",
                             "ib_write_lat", "ib_read_bw", "ib_read_lat",
                             "ib_atomic_bw", "ib_atomic_lat")]
LOSSY = [
    ("ibv_rc_pingpong", ping("rc", "-n", "500")),
    ("ibv_rc_pingpong -s 65536", ping("rc", "-n", "50", "-s", "65536")),
    ("ibv_srq_pingpong", ping("srq", "-n", "20")),
    ("ib_send_bw", perf("ib_send_bw", "-n", "100", "-u", "14")),
    ("ib_write_bw", perf("ib_write_bw", "-n", "100", "-u", "14")),
    ("ib_write_bw -q 8", perf("ib_write_bw", "-n", "50", "-q", "8", "-u",
                              "16")),
    ("ib_read_bw", perf("ib_read_bw", "-n", "100", "-u", "14")),
    ("ib_atomic_bw", perf("ib_atomic_bw", "-n", "500", "-u", "14")),
]

ENTRIES = []
for _title, _run in WATCHED:
    ENTRIES += both("every frame seen by tshark", _title, watched,
                    True, *_run)
for _title, _run in LOSSY:
    ENTRIES += both("1 percent random loss", _title, lossy, *_run)
for _victim, _title in (("roost", "of Roost"),
                        ("rxe", "of Soft-RoCE")):
    ENTRIES += both("program killed in mid-flight", _title, killed, _victim)
