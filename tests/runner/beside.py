# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Suites that run beside others, in a process of their own.

Most cases of real and apps wait most of the time. What only computes, such as
compilers and tests in virtual time, takes the processors meanwhile, but only
when nobody else wants them (SCHED_IDLE): no clock of another suite notices.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile

PR_SET_PDEATHSIG = 1


class Beside:
    """One such process. run: a function of a suite's name that returns its
    tally; what it prints is shown when the suite has ended.
    """

    def __init__(self, names, run):
        self.left = list(names)
        self.file = tempfile.TemporaryFile("w+", errors="replace")
        self.shown = 0
        fork = multiprocessing.get_context("fork")
        self.results, child_end = fork.Pipe(duplex=False)
        sys.stdout.flush()
        self.process = fork.Process(target=self.work, args=(child_end, run),
                                    daemon=True)
        self.process.start()
        child_end.close()

    def work(self, results, run):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        for fd in (1, 2):
            os.dup2(self.file.fileno(), fd)
        for name in self.left:
            tally = run(name)
            sys.stdout.flush()
            results.send((tally, os.lseek(1, 0, os.SEEK_CUR)))

    def ended(self, wait):
        """Yields (name, tally) of those that have ended since the last call;
        wait: of all. The tally is None where the process ended instead.
        """
        while self.left and (wait or self.results.poll()):
            try:
                tally, end = self.results.recv()
            except EOFError:
                tally, end = None, os.fstat(self.file.fileno()).st_size
            self.show(end)
            yield self.left.pop(0), tally
        if not self.left:
            self.process.join()
            self.file.close()

    def show(self, end):
        text = os.pread(self.file.fileno(), end - self.shown, self.shown)
        self.shown = end
        print(text.decode(errors="replace"), end="", flush=True)
