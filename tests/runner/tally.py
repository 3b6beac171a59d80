# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Counting tests: what passed, failed and was skipped, read from TAP."""

import re

TEST_LINE = re.compile(r"(ok|not ok)\s+\d+\s*-?\s*(.*)")
# cmocka says "not ok 2 # SKIP name", others "ok 2 - name # SKIP reason".
SKIP = re.compile(r"(.*?)\s*# SKIP\s*(.*)", re.I)


class Tally:
    """Counts, and the names behind the failures and skips."""

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []

    @property
    def failed(self):
        return len(self.failures)

    @property
    def skipped(self):
        return len(self.skips)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def line(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped")

    def to_dict(self):
        return {"passed": self.passed, "skips": self.skips}

    @classmethod
    def from_dict(cls, data):
        tally = cls()
        tally.passed = data["passed"]
        tally.skips = data["skips"]
        return tally


def of_tap(text, prefix=""):
    """The tally of a TAP report; None when it holds no test line."""
    tally = Tally()
    seen = False
    for line in text.splitlines():
        match = TEST_LINE.fullmatch(line)
        if match is None:
            continue
        seen = True
        verdict, name = match.groups()
        skip = SKIP.fullmatch(name)
        if skip is not None:
            what = ": ".join(word for word in skip.groups() if word)
            tally.skips.append(prefix + what)
        elif verdict == "ok":
            tally.passed += 1
        else:
            tally.failures.append(prefix + name)
    return tally if seen else None
