# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Counting tests: what passed, failed and was skipped, read from TAP."""

import re

TEST_LINE = re.compile(r"(ok|not ok)\s+\d+\s*-?\s*(.*)")
# cmocka says "not ok 2 # SKIP name", others "ok 2 - name # SKIP reason".
SKIP = re.compile(r"(.*?)\s*# SKIP\s*(.*)", re.I)
# What tests/real/attempts.py says of a case that passed the second time only.
NOT_STEADY = re.compile(r"# not steady: (.*)")
# Lines that are kept of what is reported behind a failure.
CAUSE_LINES = 30


class Tally:
    """Counts, and the names behind the failures, skips and passes that are not
    steady. causes: what was reported of a failure, {name: lines}.
    """

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []
        self.unsteady = []
        self.causes = {}

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
        self.unsteady += other.unsteady
        self.causes.update(other.causes)

    def line(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped" +
                (f", {len(self.unsteady)} not steady" if self.unsteady
                 else ""))

    def to_dict(self):
        return {"passed": self.passed, "skips": self.skips,
                "unsteady": self.unsteady}

    @classmethod
    def from_dict(cls, data):
        tally = cls()
        tally.passed = data["passed"]
        tally.skips = data["skips"]
        tally.unsteady = data.get("unsteady", [])
        return tally


def count(tally, verdict, name, prefix):
    """Returns where what is reported of it goes; None: nowhere."""
    skip = SKIP.fullmatch(name)
    if skip is not None:
        what = ": ".join(word for word in skip.groups() if word)
        tally.skips.append(prefix + what)
    elif verdict == "ok":
        tally.passed += 1
    else:
        tally.failures.append(prefix + name)
        return tally.causes.setdefault(prefix + name, [])
    return None


def of_tap(text, prefix=""):
    """The tally of a TAP report; None when it holds no test line."""
    tally = Tally()
    seen, causes = False, None
    for line in text.splitlines():
        match = TEST_LINE.fullmatch(line)
        if match is not None:
            seen = True
            causes = count(tally, *match.groups(), prefix)
            continue
        match = NOT_STEADY.fullmatch(line)
        if match is not None:
            tally.unsteady.append(prefix + match[1])
        elif causes is not None and len(causes) < CAUSE_LINES and \
                line.startswith("#"):
            causes.append(line)
    return tally if seen else None
