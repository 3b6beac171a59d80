# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What a case of tests/real is, and how one is run.

A case is a function that gets a Room: names and ports of its own, a folder
for its logs, ways to start programs over Roost. It returns when all is well,
raises Failure when not, and Skip when it cannot run here.

Nothing outlives a case: its processes are killed, its network namespaces
deleted, and what it left in /dev/shm, /run, /tmp or as an abstract socket is
itself a failure.
"""

import os
import shutil
import signal
import time

import leftovers
from process import Process, wait_for_listener, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# One run of the runner among others on the machine.
RUN = os.urandom(3).hex()

# Programs are given this long for one run, unless a case knows better.
RUN_S = 60
# What is left after a case must be gone by then.
GONE_S = 20


def program_env(build):
    """The environment of all programs: nothing of the caller's configuration,
    and the sanitizers' runtime where the build has them.
    """
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("ROOST_") and name != "LD_LIBRARY_PATH"}
    env["LC_ALL"] = "C"
    runtime = os.path.join(build, "real-preload")
    if os.path.exists(runtime):
        with open(runtime) as file:
            env["LD_PRELOAD"] = file.read().strip()
        # DPDK and the programs under test free nothing at their end.
        env["ASAN_OPTIONS"] = "detect_leaks=0"
    return env


class Failure(Exception):
    """The case did not see what it should; the text says what it saw."""


class Skip(Exception):
    """The case cannot run here; the text says why."""


class CaseTimeout(Exception):
    """The case as a whole took too long."""


class Case:
    """A row of the table. Arguments behind `run` are passed to it. alone: no
    other case runs meanwhile, because it measures time or needs both
    processors.
    """

    def __init__(self, name, run, *args, limit_s=180, alone=False):
        self.name = name
        self.run = run
        self.args = args
        self.limit_s = limit_s
        self.alone = alone


class Room:
    """One case's own names, files and processes."""

    def __init__(self, build, name, number, env, logs="real-logs"):
        """logs: the folder in the build tree with all cases' logs."""
        self.build = build
        self.name = name
        self.link = f"real-{RUN}-{number}"
        self.port = 21000 + 20 * number
        self.logs = os.path.join(build, logs, name)
        self.env = env
        self.notes = []
        self.undo = []
        self.processes = []
        # Where its programs attach by default; the daemon, where it is known.
        self.service = "hub"
        self.daemon_pid = None
        shutil.rmtree(self.logs, ignore_errors=True)
        os.makedirs(self.logs)

    def marks(self):
        """What the names of this case's leftovers would have in them."""
        return [self.link] + [f"-{process.pid}-" for process in self.processes]

    def note(self, text):
        """Something worth telling about a case, passed or failed."""
        self.notes.append(text)

    def next_port(self):
        """A TCP port for a side channel, used by nobody else."""
        self.port += 1
        return self.port

    def path(self, name):
        return os.path.join(self.logs, name)

    def roost(self, *words):
        """The launcher with some words behind it."""
        return [os.path.join(self.build, "apps", "roost"), *words]

    def start(self, title, argv, netns=None, env=None):
        """Start a program; its output goes to the case's logs."""
        full = dict(self.env)
        full.update(env or {})
        process = Process(title, argv, self.logs, netns, full)
        self.processes.append(process)
        return process

    def run(self, title, argv, netns=None, env=None, limit_s=RUN_S):
        """Start a program and wait for its end."""
        process = self.start(title, argv, netns, env)
        self.finish(process, limit_s)
        return process

    def finish(self, process, limit_s=RUN_S):
        if process.wait(limit_s) is None:
            raise Failure(f"{process.title}: still running after {limit_s} s")

    def pair(self, server, client, port, limit_s=RUN_S):
        """Two ends: start the client when the server listens, see both end
        with status 0. server, client: keyword arguments of start().
        """
        ends = self.pair_start(server, client, port)
        deadline = time.monotonic() + limit_s
        for end in ends:
            self.finish(end, max(0.1, deadline - time.monotonic()))
        for end in ends:
            if end.status != 0:
                raise Failure(f"{end.title}: exit status {end.status}")
        return ends

    def pair_start(self, server, client, port):
        first = self.start(**server)
        if not wait_for_listener(first, port, 20):
            raise Failure(f"{first.title}: does not listen on port {port}; "
                          f"exit status {first.wait(0)}")
        return first, self.start(**client)

    def defer(self, undo, *args):
        """Call undo(*args) when the case is over, last one first."""
        self.undo.append((undo, args))

    def close(self):
        for process in self.processes:
            process.kill()
        while self.undo:
            undo, args = self.undo.pop()
            undo(*args)


def on_alarm(_signal, _frame):
    raise CaseTimeout


def run_case(case, build, number, env, logs="real-logs"):
    """Returns (outcome, text, notes); outcome: ok, not ok or skip. The logs
    stay where a case failed.
    """
    before = leftovers.snapshot()
    room = Room(build, case.name, number, env, logs)
    outcome, text = "ok", ""
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(case.limit_s)
    try:
        case.run(room, *case.args)
    except Skip as skip:
        outcome, text = "skip", str(skip)
    except Failure as failure:
        outcome, text = "not ok", str(failure)
    except CaseTimeout:
        outcome, text = "not ok", f"not done after {case.limit_s} s"
    finally:
        signal.alarm(0)
        room.close()
    # What shows devices in /sys goes a moment after its program.
    wait_until(lambda: not leftovers.since(before, room.marks()), GONE_S)
    left = leftovers.since(before, room.marks())
    if outcome == "ok" and left:
        outcome, text = "not ok", "left behind: " + " ".join(left)
    if outcome == "not ok":
        room.notes += logs_of(room, text)
    else:
        shutil.rmtree(room.logs, ignore_errors=True)
    return outcome, text, room.notes


# How much of the logs a report shows: of the program that the failure names,
# of each other one, and of all. A report of 50 programs hides its cause.
NAMED_LINES = 40
OTHERS_LINES = 10
REPORT_LINES = 150


def ranked(processes, text):
    """First those that text, a failure's, begins with, then those that did
    not end well, then all others, each as they were started.
    """
    def rank(process):
        if text.startswith(process.title + ":"):
            return 0
        return 1 if process.status != 0 else 2

    return sorted(processes, key=rank)


def log_of(process, last_lines):
    lines = [f"{process.title}: {' '.join(process.argv)}"
             f" (exit status {process.status})"]
    for stream in (process.err_path, process.out_path):
        with open(stream, errors="replace") as file:
            kept = file.read().splitlines()[-last_lines:]
        lines += [f"  {os.path.basename(stream)}| {line}" for line in kept]
    return lines


def logs_of(room, text=""):
    """The ends of the logs, for a reader of the report. text: what the case
    failed with.
    """
    lines = []
    left = ranked(room.processes, text)
    while left and len(lines) < REPORT_LINES:
        named = text.startswith(left[0].title + ":")
        lines += log_of(left.pop(0), NAMED_LINES if named else OTHERS_LINES)
    if left:
        lines.append(f"and {len(left)} more programs")
    lines.append(f"logs: {room.logs}")
    return lines
