# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's programs that sleep on events, in every progress mode: a lost event
is a program that does not end.
"""

import pathlib

from harness import Case, Failure

# Messages of one run, by mode: two dedicated threads may share a core.
ITERS = {"adaptive": 5000, "dedicated": 1000}
LIMIT_S = 60
# ibv_xsrq_pingpong makes it and leaves it.
XRC_DOMAIN = pathlib.Path("/tmp/xrc_domain")

PROGRAMS = [
    ("rc-pingpong", ["ibv_rc_pingpong"]),
    ("rc-pingpong-depth-1", ["ibv_rc_pingpong", "-r", "1"]),
    ("uc-pingpong", ["ibv_uc_pingpong", "-s", "64"]),
    ("ud-pingpong", ["ibv_ud_pingpong", "-s", "64"]),
    ("srq-pingpong", ["ibv_srq_pingpong"]),
    ("xsrq-pingpong", ["ibv_xsrq_pingpong"]),
    ("send-lat", ["ib_send_lat", "-F"]),
    ("send-lat-srq", ["ib_send_lat", "-F", "--use-srq"]),
    ("send-bw", ["ib_send_bw", "-F", "-s", "4096"]),
    ("send-bw-both-srq", ["ib_send_bw", "-F", "-s", "4096", "-b",
                          "--use-srq"]),
    ("read-bw", ["ib_read_bw", "-F", "-s", "4096"]),
    ("read-lat", ["ib_read_lat", "-F"]),
    ("atomic-bw", ["ib_atomic_bw", "-F"]),
]


def sleepers(room, words, mode):
    port = room.next_port()
    room.defer(XRC_DOMAIN.unlink, True)
    argv = room.roost("run", "--link", room.link, "--mtu", "4200",
                      "--progress", mode, "--", *words, "-e", "-p", str(port),
                      "-n", str(ITERS[mode]))
    ends = room.pair({"title": "server", "argv": argv},
                     {"title": "client", "argv": [*argv, "localhost"]}, port,
                     LIMIT_S)
    if not ends[1].out():
        raise Failure("client: no report")


CASES = [Case(f"events-{name}-{mode}", sleepers, words, mode)
         for mode in ITERS for name, words in PROGRAMS]
