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


# ---- no room in /dev/shm ----------------------------------------------------

FULL = 'mount -t tmpfs -o size=16k full /dev/shm && exec "$@"'


def full(room, *options):
    """The devices are shown from the next place that has room."""
    look = ["cat", "/sys/class/infiniband/roost0/node_type"]
    done = room.run("look", [
        "unshare", "--mount", "--net", "sh", "-c", FULL, "sh",
        *room.roost("run", *options, "--", *look)])
    if done.status != 0 or done.out() != "1: CA\n" or done.err():
        raise Failure("look: " + done.err().strip())


# ---- as a user of no rights ------------------------------------------------

# Pairs of perftest, and a crowd beside them of which each byte is looked at,
# in a user, mount and network namespace of the user's own, where even its root
# has no capability, and nobody huge pages.
PAIRS = [f"{program} {options} -F -x 1 -n 200"
         for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw",
                         "ib_atomic_bw -A FETCH_AND_ADD")
         for options in ("", "-q 4", "-b")]
PAIRS += [f"{program} -F -x 1 -n 200"
          for program in ("ib_write_lat", "ib_read_lat", "ib_send_lat -c UD",
                          "ib_send_bw -e")]
CHECKED = 16
CROWD = """
ip link set lo up || exit 9
! mount | grep -q hugetlbfs || umount -a -t hugetlbfs || exit 6
exec setpriv --bounding-set -all --inh-caps -all --ambient-caps -all \
  sh -c '
    grep -q "^CapEff:.*[1-9a-f]" /proc/self/status && exit 8
    roost=$0 crowd=$1 clients=$2
    shift 2
    pids=
    for host in "" localhost; do
      port=9000
      for words in "$@"; do
        "$roost" run --hub -- $words -p $port $host &
        pids="$pids $!"
        port=$((port + 1))
      done
      sleep 2
    done
    "$roost" run --hub -- "$crowd" -n 200 -s 20000 "$clients" || exit 7
    for pid in $pids; do
      wait "$pid" || exit 1
    done' "$@"
"""


def user_pairs(room):
    argv = cases_hub.as_user(room, [room.roost()[0]])
    argv[-1:] = ["unshare", "-rmn", "sh", "-c", CROWD, "crowd", argv[-1],
                 os.path.join(room.build, "tests", "real", "crowd"),
                 str(CHECKED), *PAIRS]
    crowd = room.run("crowd", argv, limit_s=120)
    nb = len(re.findall(r"^ \d+ +[1-9]\d+ +\d+\.\d", crowd.out(), re.M))
    if crowd.status != 0 or nb < len(PAIRS) or \
            "exchanged " not in crowd.out():
        raise Failure(f"crowd: exit status {crowd.status}, {nb} ends have "
                      "figures")
    room.note(f"{nb} ends of {2 * len(PAIRS)} have figures")


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
    Case("hub-shm-full", full, "--hub"),
    Case("link-shm-full", full, "--link", "full"),
    Case("hub-user-16-pairs", user_pairs),
]
