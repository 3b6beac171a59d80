# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What else people do over a hub: perftest with all its options, events, forks,
many connections, and all of it as a user who may do nothing else.
"""

import glob
import os
import re
import sys

import cases_connections
import cases_fork
import cases_hub
from harness import TOP, Case, Failure

# ---- programs with all their options ---------------------------------------

XRC_FILES = "/tmp/xrc_domain*"
QUICK = ("ibv_* -e", "ib_*_bw * -x 1", "ib_*_lat -c U[CD] -x 1",
         "* --use-srq", "* -b -q 16")


def matrix(room, over, options, patterns, limit_s):
    """tests/real/perftest_matrix; over: options of the launcher."""
    room.defer(cases_hub.gone)
    # Debian's XRC programs leave theirs.
    room.defer(lambda: [os.remove(path) for path in glob.glob(XRC_FILES)])
    runs = room.run("matrix", [
        sys.executable, "-B", os.path.join(TOP, "tests", "real",
                                           "perftest_matrix"),
        "--build", room.build, f"--over={over}", *options, *patterns],
        limit_s=limit_s)
    lines = runs.out().splitlines()
    if runs.status != 0 or not lines:
        raise Failure("matrix: " + " ".join(
            line for line in lines if line.startswith("not ok")))
    room.note(lines[-1][2:])


def cmocka(room, name):
    """A program of tests/real with tests of its own."""
    room.defer(cases_hub.gone)
    program = room.run(name, cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", name)), limit_s=120)
    passed = re.search(r"\[  PASSED  \] (\d+) test", program.out() +
                       program.err())
    if program.status != 0 or not passed:
        raise Failure(f"{name}: exit status {program.status}")
    room.note(f"{passed[1]} tests")


# ---- as a user of no rights ------------------------------------------------

PAIRS = 16
# In a user, mount and network namespace of the user's own, where even its root
# has no capability and its programs no /dev/hugepages.
CROWD = """
ip link set lo up || exit 9
exec setpriv --bounding-set -all --inh-caps -all --ambient-caps -all \\
  sh -c '
    grep -q "^CapEff:.*[1-9a-f]" /proc/self/status && exit 8
    pids=
    for port in $(seq 9000 "$1"); do
      "$0" run --hub -- ib_write_bw -F -x 1 -n 200 -p $port &
      pids="$pids $!"
    done
    sleep 2
    for port in $(seq 9000 "$1"); do
      "$0" run --hub -- ib_write_bw -F -x 1 -n 200 -p $port localhost &
      pids="$pids $!"
    done
    "$0" run --hub -- ibv_rc_pingpong -g 1 -c -n 200 &
    sleep 1
    "$0" run --hub -- ibv_rc_pingpong -g 1 -c -n 200 localhost || exit 7
    for pid in $pids; do
      wait "$pid" || exit 1
    done
    grep -c . /proc/net/unix >&2' "$1" "$2"
"""


def user_pairs(room):
    argv = cases_hub.as_user(room, [room.roost()[0]])
    argv[-1:] = ["unshare", "-rmn", "sh", "-c", CROWD, "crowd", argv[-1],
                 str(9000 + PAIRS - 1)]
    crowd = room.run("crowd", argv, limit_s=90)
    nb = len(re.findall(r"^ 65536 +200 ", crowd.out(), re.M))
    if crowd.status != 0 or nb != 2 * PAIRS:
        raise Failure(f"crowd: exit status {crowd.status}, {nb} ends have "
                      "figures")


CASES = [
    Case("hub-connections-10000", cases_hub.over_hub,
         *next((case.run, *case.args) for case in cases_connections.CASES
               if case.name == "connections-10000-open")),
    Case("hub-matrix", matrix, "--hub", ["--quick"], QUICK, 170),
    Case("long-hub-matrix", matrix, "--hub", [], [], 3500, limit_s=3600),
    Case("hub-all-events", cmocka, "events"),
    Case("hub-tour", cmocka, "verbs_tour"),
    Case("hub-fork-server", cases_hub.over_hub, cases_fork.pair, "server",
         (), "-F"),
    Case("hub-user-16-pairs", user_pairs),
]
