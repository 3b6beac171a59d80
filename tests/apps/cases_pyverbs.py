# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""pyverbs: a pair of our own, and rdma-core's tests, which are in Debian's
package. At a hub all but those of rdma_cm, which ask for an interface of the
kernel's; behind roostd these, too; on a link those of raw packets.
"""

import gzip
import os
import re
import shutil
import subprocess

import cases_hub
from cases_hub import ADDRESS, hub
from cases_tools import ended_well, says
from harness import Case, Failure, Skip
from service import Service

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's, whose packages pyverbs is among.
PYTHON = "/usr/bin/python3"
TESTS = "/usr/share/doc/rdma-core/tests"
# Children of a fork use their parent's device (doc/compat.md, Forks).
REFUSED = {"test_multi_process_alloc_dm"}
# The others are for cards (mlx5, efa), or for what is not here (huge pages,
# raw packets behind a daemon).
LEAST = {"hub": 128, "service": 138, "link": 140}
RUN_S = 150


def need_pyverbs():
    if subprocess.run([PYTHON, "-c", "import pyverbs"], check=False,
                      capture_output=True).returncode:
        raise Skip("python3-pyverbs is not installed")


def pair(room):
    need_pyverbs()
    room.defer(cases_hub.gone)
    port = str(room.next_port())
    ends = []
    for title in ("server", "client"):
        ends.append(room.start(title, hub(
            room, PYTHON, os.path.join(HERE, "pyverbs_pair.py"), title,
            ADDRESS, port)))
        if title == "server":
            says(ends[0], "listening")
    ended_well(*ends)


def unpacked(room):
    """The tests, some of which are packed. Returns the words that run them."""
    need_pyverbs()
    if not os.path.exists(TESTS):
        raise Skip("rdma-core is not installed")
    folder = room.path("tests")
    shutil.copytree(TESTS, folder)
    for name in os.listdir(folder):
        if name.endswith(".gz"):
            path = os.path.join(folder, name)
            with gzip.open(path) as packed, open(path[:-3], "wb") as file:
                shutil.copyfileobj(packed, file)
    return [PYTHON, "-B", os.path.join(folder, "run_tests.py"), "-v", "--dev",
            "roost0"]


def check(room, done, least):
    text = done.err()
    failed = set(re.findall(r"^(?:FAIL|ERROR): (\w+)", text, re.MULTILINE))
    ran = re.search(r"^Ran (\d+) tests", text, re.MULTILINE)
    skipped = re.search(r"\bskipped=(\d+)\)$", text, re.MULTILINE)
    if not ran or not skipped:
        raise Failure(f"tests: exit status {done.status}, no account")
    passed = int(ran[1]) - int(skipped[1]) - len(failed)
    room.note(f"{passed} passed, {skipped[1]} are for others")
    if failed - REFUSED:
        raise Failure(f"tests: {' '.join(sorted(failed - REFUSED))}")
    if passed < least:
        raise Failure(f"tests: {passed} passed, {least} should")


def at_hub(room):
    words = unpacked(room)
    room.defer(cases_hub.gone)
    check(room, room.run("tests", hub(room, *words), limit_s=RUN_S),
          LEAST["hub"])


def behind_service(room):
    """The port has the addresses of its interface."""
    words = unpacked(room)
    service = Service(room, ips=False)
    check(room, room.run(**service.client("tests", words), limit_s=RUN_S),
          LEAST["service"])


def on_link(room):
    words = unpacked(room)
    check(room, room.run("tests", room.roost("run", "--link", room.link, "--",
                                             *words), limit_s=RUN_S),
          LEAST["link"])


CASES = [
    Case("pyverbs-pair", pair),
    Case("pyverbs-tests-hub", at_hub),
    Case("pyverbs-tests-link", on_link, limit_s=RUN_S + 30),
    Case("pyverbs-tests-service", behind_service, limit_s=RUN_S + 30),
]
