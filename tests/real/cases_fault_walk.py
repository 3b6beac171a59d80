# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The n-th call that Roost makes fails, of those that can (fault/inject.c): an
error or success, and never a crash, a leak or a hang. And the same where the
process may have next to no descriptors.

ROOST_TEST_FAULTS=0 lets each call fail in turn, and tries every limit; N, so
many calls in each case, instead of 16.
"""

import os
import re

from harness import Case, Failure

ADDRESS = "198.18.0.1"
LIMIT_S = 160
# What a process makes until ibv_devinfo has ended, and some.
START_CALLS = 120


def inject(room):
    return os.path.join(room.build, "tests", "real", "libfault_inject.so")


def walk(room, scene):
    program = os.path.join(room.build, "tests", "real", "fault_walk")
    process = room.run("walk", room.roost(
        "run", "--link", room.link, "--ip", f"{ADDRESS}/24", "--", "env",
        f"LD_PRELOAD={inject(room)}", program, scene, ADDRESS),
        limit_s=LIMIT_S if "ROOST_TEST_FAULTS" not in os.environ else 3600)
    if process.status != 0:
        raise Failure(f"exit status {process.status}")
    room.note(process.err().splitlines()[-1])


def start(room):
    """What is done once in a process: DPDK is started, too."""
    wanted = int(os.environ.get("ROOST_TEST_FAULTS", "10"))
    step = START_CALLS // wanted if wanted else 1
    for n in range(1, START_CALLS, max(step, 1)):
        process = room.run(f"start-{n}", room.roost(
            "run", "--link", room.link, "--", "env", f"FAULT_AT={n}",
            f"LD_PRELOAD={inject(room)}", "ibv_devinfo"), limit_s=30)
        if process.status < 0:
            raise Failure(f"call {n}: signal {-process.status}")


def short_of_descriptors(room, limits, words, waits):
    """At every limit: one line of ours where a device does not open, an exit
    status, no line of DPDK's; another line where a control socket does not.
    waits: it has a peer to wait for, if it works.
    """
    worked = 0
    for limit in limits:
        if worked > 1 and limit != limits[-1] and \
                os.environ.get("ROOST_TEST_FAULTS") != "0":
            continue
        process = room.start(f"limit-{limit}", [
            "sh", "-c", f"ulimit -n {limit}; exec \"$@\"", "sh",
            *room.roost("run", "--link", f"{room.link}-{limit}", "--ip",
                        f"{ADDRESS}/24", "--", *words)])
        status = process.wait(3 if waits else 40)
        if status is None and not waits:
            raise Failure(f"limit {limit}: hangs")
        process.kill()
        said = process.err()
        ours = [line for line in process.complaints()
                if "no control socket" not in line]
        if status is not None and (status < 0 or status >= 256):
            raise Failure(f"limit {limit}: signal: {said}")
        if re.search("PANIC|EAL|Usage", said) or len(ours) > 1:
            raise Failure(f"limit {limit}: {said}")
        if status is None or status == 0:
            worked += 1
        elif not ours and not worked and "Too many open files" not in said \
                and "accept" not in said and "listen" not in said:
            raise Failure(f"limit {limit}: does not say why: {said}")
    if not worked:
        raise Failure("never works")


CASES = [Case(f"fault-walk-{scene}", walk, scene)
         for scene in ("verbs", "cm", "rsocket")]
CASES += [
    Case("fault-start", start),
    Case("fault-descriptors-devinfo", short_of_descriptors, range(4, 65),
         ["ibv_devinfo"], False),
]
CASES += [
    Case(f"fault-descriptors-{words[0]}", short_of_descriptors,
         (*range(4, 21), 40), words, True)
    for words in (["ibv_rc_pingpong", "-g", "1", "-e", "-p", "20999"],
                  ["rping", "-s", "-a", ADDRESS], ["udaddy", "-b", ADDRESS],
                  ["rstream", "-b", ADDRESS])
]
