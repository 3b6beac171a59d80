# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Which of how many: a line that is overwritten on a terminal, and elsewhere a
line after each tenth of the way.
"""

import sys


class Progress:
    """count() for each test that ended, close() behind the last one."""

    def __init__(self, what):
        self.what = what
        self.tenth = 0
        self.width = 0
        self.live = sys.stdout.isatty()

    def count(self, done, total, name):
        if self.live:
            line = f"tests: {self.what}: {done} of {total}: {name}"[:79]
            print("\r" + line.ljust(self.width), end="", flush=True)
            self.width = len(line)
        elif total and done * 10 // total > self.tenth:
            self.tenth = done * 10 // total
            print(f"tests: {self.what}: {done} of {total}", flush=True)

    def close(self):
        if self.live and self.width:
            print("\r" + " " * self.width + "\r", end="", flush=True)
