# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Forks: children that try everything with what they inherited, and a parent
that does not notice (fork/).
"""

import os
import subprocess

from harness import Case, Failure, Skip
from leftovers import sockets
from process import LONELY, wait_until

PYTHON = "/usr/bin/python3"
HERE = os.path.dirname(os.path.abspath(__file__))
# Kinds of children in fork/pair_child.c; of each, some.
CHILDREN_MIN = 30


def argv(room, number, program, *words, launcher=()):
    return room.roost("run", "--link", room.link, "--ip",
                      f"198.18.0.{number}/24", *launcher, "--",
                      os.path.join(room.build, "tests", "real", program),
                      *words)


def good(*processes):
    """They ended well and said nothing, but that a link waits."""
    for process in processes:
        lines = [line for line in process.err().splitlines()
                 if LONELY not in line]
        if process.status != 0 or lines:
            raise Failure(f"{process.title}: exit status {process.status}")


def pair(room, who, launcher=(), flag="-f"):
    """Traffic with every byte looked at; who forks?"""
    server = room.start("server", argv(
        room, 1, "fork_pair", "server", "198.18.0.1",
        *[flag][:who == "server"], launcher=launcher))
    if not wait_until(lambda: "ready" in server.out(), 20):
        raise Failure("server: not ready")
    client = room.run("client", argv(
        room, 2, "fork_pair", "client", "198.18.0.1",
        *[flag][:who == "client"], launcher=launcher))
    room.finish(server)
    good(server, client)
    told = {"server": server, "client": client}[who].out().split()
    if int(told[-2]) < CHILDREN_MIN:
        raise Failure(f"{told[-2]} children only")
    room.note(" ".join(told[-5:]))


def both(room):
    """Parent and grandchild, forked before a device was opened: each has an
    end of the link.
    """
    seen = room.run("both", room.roost(
        "run", "--link", room.link, "--",
        os.path.join(room.build, "tests", "real", "fork_pair"), "both"))
    good(seen)
    room.note(" ".join(seen.out().split()))


def hub(room):
    """Child and grandchild, forked after the device was opened, at a hub: each
    is a client of its own, and has traffic with its parent.
    """
    room.start("roostd", [os.path.join(room.build, "apps", "roostd", "roostd"),
                          "--hub"])
    if not wait_until(lambda: f"@roost/{os.getuid()}/hub" in sockets(), 20):
        raise Failure("roostd: does not listen")
    seen = room.run("hub", room.roost(
        "run", "--hub", "--",
        os.path.join(room.build, "tests", "real", "fork_hub")))
    good(seen)


def link(room):
    """A child, forked after the device was opened, opens the other end of the
    link, and has traffic with its parent.
    """
    seen = room.run("link", room.roost(
        "run", "--link", room.link, "--",
        os.path.join(room.build, "tests", "real", "fork_hub"), "link"))
    good(seen)


def stress(room, mode):
    """Forks while threads are inside calls; children take the other ends, with
    other addresses.
    """
    seen = room.run("stress", room.roost(
        "run", "--link", room.link, "--link", room.link + "-2", "--",
        os.path.join(room.build, "tests", "real", "fork_stress"), mode))
    good(seen)
    room.note(seen.out().strip())


def python(room):
    if subprocess.run([PYTHON, "-c", "import pyverbs"], check=False,
                      capture_output=True).returncode:
        raise Skip("no pyverbs here; install python3-pyverbs")
    seen = room.run("python", room.roost(
        "run", "--link", room.link, "--", PYTHON,
        os.path.join(HERE, "fork", "children.py")))
    if seen.status != 0 or seen.out() != "done\n":
        raise Failure(f"exit status {seen.status}")


CASES = [
    Case("fork-server", pair, "server"),
    Case("fork-client", pair, "client"),
    Case("fork-dedicated", pair, "server", ("--progress", "dedicated")),
    Case("fork-workers", pair, "client", ("--workers", "2")),
    Case("fork-both", both),
    Case("fork-hub", hub),
    Case("fork-link", link),
    Case("fork-stress-open", stress, "open"),
    Case("fork-stress-cm", stress, "cm"),
    Case("fork-stress-start", stress, "start"),
    Case("fork-python", python),
]
