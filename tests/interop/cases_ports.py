# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Some of the matrix over the other kinds of port. These are the last entries:
another guest boots where the port is net_vhost."""

import cases_cm
import cases_perftest
import cases_pingpong
from entry import both
from ports import PORTS

RUNS = [(title, (cases_pingpong.pingpong, program, ["-c", *words]))
        for title, program, words in (
            ("ibv_rc_pingpong", "rc", ["-g", "1", "-n", "200"]),
            ("ibv_rc_pingpong IPv6 -e", "rc", ["-g", "2", "-n", "50", "-e"]),
            ("ibv_rc_pingpong -s 65536", "rc", ["-g", "1", "-n", "20", "-s",
                                                "65536"]),
            ("ibv_uc_pingpong", "uc", ["-g", "1", "-n", "50"]),
            ("ibv_ud_pingpong", "ud", ["-g", "2", "-n", "50", "-s", "1000"]))]
RUNS += [(" ".join([program, *words]),
          (cases_perftest.perftest,
           [program, *cases_perftest.COMMON, "-x", "1", "-n", "100", *words]))
         for program, *words in (
             ("ib_send_bw", "-q", "8"), ("ib_write_bw", "-b"),
             ("ib_read_bw",), ("ib_atomic_lat",))]
RUNS += [(title, run) for title, run in cases_cm.ALONE
         if title in ("rping", "ucmatose", "udaddy", "mckey",
                      "rstream nonblocking")]


ENTRIES = []
for _port in list(PORTS)[1:]:
    for _title, _run in RUNS:
        ENTRIES += both(f"over {_port}", _title, *_run, port=_port)
