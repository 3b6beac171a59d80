# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Libraries that have no programs in Debian, in programs of ours: librpma, for
remote persistent memory, and Gloo, for distributed training. At one hub.
"""

import os

import cases_hub
from cases_hub import ADDRESS, hub
from cases_tools import ended_well, says
from harness import Case, Failure, Skip
from process import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = 4
BUILD_S = 100


def compiled(room, header, *words):
    if not os.path.exists(f"/usr/include/{header}"):
        raise Skip(f"{header} is not installed")
    program = room.path("program")
    done = room.run("compiler", [*words, "-O1", "-w", "-o", program],
                    limit_s=BUILD_S)
    if done.status != 0:
        raise Failure(f"compiler: exit status {done.status}")
    room.defer(cases_hub.gone)
    return program


def all_right(*processes):
    ended_well(*processes)
    for process in processes:
        if process.out() != "all right\n":
            raise Failure(f"{process.title}: does not say 'all right'")


def rpma(room):
    program = compiled(room, "librpma.h", "cc", os.path.join(HERE, "rpma.c"),
                       "-lrpma", "-libverbs")
    port = str(room.next_port())
    server = room.start("server", hub(room, program, "server", ADDRESS, port))
    says(server, "listening")
    client = room.start("client", hub(room, program, "client", ADDRESS, port))
    all_right(client, server)


def gloo(room):
    program = compiled(room, "gloo/transport/ibverbs/device.h", "c++",
                       os.path.join(HERE, "gloo_ranks.cc"), "-lgloo")
    meet = room.path("meet")
    os.mkdir(meet)
    ranks = [room.start(f"rank-{rank}", hub(room, program, str(rank),
                                            str(RANKS), meet))
             for rank in range(RANKS)]
    wait_until(lambda: all(rank.wait(0) is not None for rank in ranks), 60)
    all_right(*ranks)


CASES = [
    Case("library-rpma", rpma),
    Case("library-gloo", gloo, limit_s=BUILD_S + 90),
]
