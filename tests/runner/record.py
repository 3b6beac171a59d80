# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The last result of the suites that take hours, as a page to be committed."""

import os
import platform
import subprocess
import time

from programs import TOP

PATH = os.path.join(TOP, "doc", "long.md")
HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- Copyright (c) 2026 The Roost authors -->

# The last run of `tests/run long`

Written by `tests/run long`; not to be edited.

"""


def commit():
    """The commit that was tested, and whether the tree differed from it."""
    done = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write(rows):
    """rows: (suite, tally, seconds)."""
    lines = [f"- date: {time.strftime('%Y-%m-%d %H:%M')}",
             f"- commit: {commit()}",
             f"- machine: {platform.machine()}, {os.cpu_count()} CPUs, Linux "
             f"{platform.release()}", "",
             "| suite | result | minutes |", "|---|---|---|"]
    for name, tally, seconds in rows:
        lines.append(f"| {name} | {tally.line()} | {seconds / 60:.0f} |")
        lines += [f"| | FAILED: {what} | |" for what in tally.failures]
        lines += [f"| | not steady: {what} | |" for what in tally.unsteady]
        lines += [f"| | skipped: {what} | |" for what in tally.skips]
    with open(PATH, "w") as file:
        file.write(HEAD + "\n".join(lines) + "\n")
