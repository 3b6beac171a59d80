# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Lanes: processes that run cases side by side, each in rooms of its own.

Most cases wait most of the time: a program starts, a timer ends. Two lanes keep
two processors busy. A lane is the runner itself, started again inside rooms
(rooms.py); it reads lines of JSON, (number, name, again), from its standard
input, and answers each with one, (outcome, text, notes). What a case or a
program of it prints by mistake goes to standard error.
"""

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys

import rooms

PR_SET_PDEATHSIG = 1


def end_with_parent():
    """In a child: it gets SIGKILL when the runner is gone, in whatever way."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Lane:
    """The runner's end of one."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            rooms.command(), env=rooms.environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=end_with_parent)

    def ask(self, number, name, again):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps((number, name, again)) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            return "not ok", f"its lane ended, status {self.close()}", []
        return tuple(json.loads(answer))

    def close(self):
        """Returns its exit status."""
        if self.process is None:
            return None
        with self.process as process:
            self.process = None
            process.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        return process.returncode


class Lanes:
    """Several, each asked by one thread at a time."""

    def __init__(self, width):
        self.lanes = [Lane() for _ in range(width)]
        self.free = queue.LifoQueue()
        for lane in self.lanes:
            # By the main thread: a lane ends with the thread that started it.
            lane.start()
            self.free.put(lane)

    def run_one(self, number, case, again):
        lane = self.free.get()
        try:
            return lane.ask(number, case.name, again)
        finally:
            self.free.put(lane)

    def close(self):
        for lane in self.lanes:
            lane.close()


def serve(run_one):
    """Inside: answer until the runner is done. run_one: a function of (number,
    name, again) that returns (outcome, text, notes).
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(json.dumps(run_one(*json.loads(line))), file=answers,
              flush=True)
