# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""One run of each program under tshark's eyes, and a wire that loses one
packet in a hundred."""

import math
import re

import cases_cm
import cases_perftest
import cases_pingpong
from capture import ACK, Capture
from entry import RUN_S, both, pair_start
from guest import GuestProcess
from harness import Failure
from process import wait_until

LOSS_PERCENT = 1
LOSS_SEED = 4791
PSN_MASK = 0xffffff
# Of ibv_rc_pingpong, without an option for it.
PATH_MTU_BYTES = 1024
SPENT = "transport retry counter exceeded"
# A message of a pingpong has seven retries, 67 ms each.
GIVE_UP_S = 5


def watched(room, world, role, run, *args):
    capture = Capture(room, world)
    run(room, world, role, *args)
    room.note(f"{capture.judge(True)} packets from Roost")


def lossy(room, world, role, run, *args):
    world.lossy(LOSS_PERCENT, LOSS_SEED)
    capture = Capture(room, world)
    try:
        run(room, world, role, *args)
    finally:
        room.note(world.whole().splitlines()[-1])
    # The ICRC of all frames would take Scapy a while.
    room.note(f"{capture.judge(False)} packets from Roost")


def last_answer_lost(world, ended, iters, size):
    """Did the relay lose the ACK of an end that is gone, to its peer's last
    message?
    """
    peer = re.search(r"remote address: .* QPN (0x\w+), PSN (0x\w+)",
                     ended.out())
    qpn, psn = (int(word, 16) for word in peer.groups())
    last = (psn + iters * math.ceil(size / PATH_MTU_BYTES) - 1) & PSN_MASK
    return (f"lost opcode {ACK:#x} to QP {qpn:#x} PSN {last:#x}\n" in
            world.relay.out())


def lossy_pingpong(room, world, role, iters, size):
    """ibv_rc_pingpong ends, and its QP with it, as soon as it has all. Where
    the answer to its peer's last message was lost, nobody answers that again:
    the peer has all its data, and spends its retries, on any adapter. (On
    Soft-RoCE, to which seven retries are without end, it does not end.)
    """
    port = room.next_port()
    ends = pair_start(room, world, role, [
        "ibv_rc_pingpong", "-g", "1", "-c", "-p", str(port), "-n", str(iters),
        "-s", str(size)], port)
    if not wait_until(lambda: any(end.wait(0) is not None for end in ends),
                      RUN_S):
        raise Failure(f"not done after {RUN_S} s")
    for end in ends:
        end.wait(GIVE_UP_S)
    ended, other = sorted(ends, key=lambda end: end.status != 0)
    if ended.status != 0:
        raise Failure(f"{ended.title}: exit status {ended.status}")
    cases_pingpong.check(ended)
    if other.status == 0:
        cases_pingpong.check(other)
        return
    if not last_answer_lost(world, ended, iters, size):
        raise Failure(f"{other.title}: exit status {other.status}")
    if not isinstance(other, GuestProcess) and SPENT not in other.err():
        raise Failure(f"{other.title}: does not spend its retries")
    room.note(f"{other.title}: the answer to its last message was lost")


def perf(program, *words):
    return (cases_perftest.perftest,
            [program, *cases_perftest.COMMON, "-x", "1", *words])


def ping(program, *words):
    return (cases_pingpong.pingpong, program, ["-g", "1", "-c", *words])


WATCHED = [(f"ibv_{_program}_pingpong", ping(_program, "-n", "50"))
           for _program in ("rc", "uc", "ud", "srq")]
# Of odd sizes, for the pad.
WATCHED += [(_program, perf(_program, "-n", "40", *_size))
            for _program, _size in (
                ("ib_send_bw", ("-s", "4095")), ("ib_send_lat", ()),
                ("ib_write_bw", ("-s", "1001")), ("ib_write_lat", ()),
                ("ib_read_bw", ("-s", "4095")), ("ib_read_lat", ()),
                ("ib_atomic_bw", ()), ("ib_atomic_lat", ()))]
WATCHED += [(_title, _run) for _title, _run in cases_cm.ALONE]
LOSSY = [
    ("ibv_rc_pingpong", (lossy_pingpong, 500, 4096)),
    ("ibv_rc_pingpong -s 65536", (lossy_pingpong, 50, 65536)),
    ("ib_send_bw", perf("ib_send_bw", "-n", "100", "-u", "14")),
    ("ib_send_bw --use-srq -q 4", perf("ib_send_bw", "-n", "50", "-q", "4",
                                       "--use-srq", "-u", "16")),
    ("ib_write_bw", perf("ib_write_bw", "-n", "100", "-u", "14")),
    ("ib_write_bw -q 8", perf("ib_write_bw", "-n", "50", "-q", "8", "-u",
                              "16")),
    ("ib_read_bw", perf("ib_read_bw", "-n", "100", "-u", "14")),
    ("ib_atomic_bw", perf("ib_atomic_bw", "-n", "500", "-u", "14")),
    # Each byte that a READ brings and that a WRITE takes back is looked at.
    ("rping -V -S 16384", (cases_cm.pair, "rping -s -a {a} -V -C 100 -S 16384",
                           "rping -c -a {a} -V -C 100 -S 16384", 4)),
]

ENTRIES = []
for _title, _run in WATCHED:
    # Who only receives multicast sends nothing.
    ENTRIES += [_entry for _entry in both("every frame seen by tshark", _title,
                                          watched, *_run)
                if _title != "mckey" or _entry.role == "client"]
for _title, _run in LOSSY:
    ENTRIES += both("1 percent random loss", _title, lossy, *_run)
