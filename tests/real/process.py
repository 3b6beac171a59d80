# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs under test: started with their output in files, never waited for
without a limit, gone when told."""

import os
import signal
import subprocess
import time

TCP_LISTEN = "0A"
LONELY = "nobody has its other end"


class Process:
    """One program. status is None while it runs; negative: minus the signal
    that ended it.
    """

    def __init__(self, title, argv, logs, netns, env):
        self.title = title
        self.argv = argv
        self.status = None
        self.ended_at = None
        self.out_path = os.path.join(logs, title + ".out")
        self.err_path = os.path.join(logs, title + ".err")
        words = argv
        if netns is not None:
            words = ["nsenter", f"--net=/run/netns/{netns}", *argv]
        with open(self.out_path, "wb") as out, \
                open(self.err_path, "wb") as err:
            # In a process group, but not in a session of its own. A session
            # is a group of the scheduler (autogroup, sched(7)), and Linux 6.18
            # lets one whose threads wake and sleep often keep a processor for
            # seconds, in which the threads of other groups wait.
            self.popen = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=env, process_group=0)
        self.started_at = time.monotonic()

    @property
    def pid(self):
        return self.popen.pid

    def wait(self, limit_s):
        """Returns the exit status, or None when it still runs."""
        if self.status is not None:
            return self.status
        try:
            self.status = self.popen.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        self.ended_at = time.monotonic()
        return self.status

    def signal(self, number):
        if self.status is None:
            self.popen.send_signal(number)

    def kill(self):
        """SIGKILL, and gone when this returns."""
        if self.status is None:
            self.signal(signal.SIGKILL)
            self.wait(None)

    def listens(self, port):
        """Does somebody listen on the TCP port in the program's network?"""
        wanted = f"{port:04X}"
        for table in ("tcp", "tcp6"):
            try:
                with open(f"/proc/{self.pid}/net/{table}") as file:
                    rows = file.read().splitlines()[1:]
            except OSError:
                continue
            for row in rows:
                words = row.split()
                if words[1].endswith(":" + wanted) and words[3] == TCP_LISTEN:
                    return True
        return False

    def out(self):
        with open(self.out_path, errors="replace") as file:
            return file.read()

    def err(self):
        with open(self.err_path, errors="replace") as file:
            return file.read()

    def complaints(self):
        """The lines that Roost said on stderr. Without those of a link whose
        other end nobody has yet: a busy machine takes more than five seconds
        to start a peer.
        """
        return [line for line in self.err().splitlines()
                if "roost:" in line and LONELY not in line]


def child_of(pid):
    """The oldest one; 0: it has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children",
                  encoding="ascii") as file:
            return int((file.read().split() or [0])[0])
    except FileNotFoundError:
        return 0


def wait_for_listener(process, port, limit_s):
    """Returns False when the process ended, or the limit passed, before."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if process.wait(0) is not None:
            return False
        if process.listens(port):
            return True
        time.sleep(0.01)
    return False


def wait_until(condition, limit_s, step_s=0.01):
    """Returns whether condition() became true in time."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step_s)
    return True
