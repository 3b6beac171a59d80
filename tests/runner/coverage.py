# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What of the product the suites unit and sim run, by room, as a page to be
committed. By gcc's gcov alone: lcov 1.16 (Debian 12) loses what tests compile
once more, for meson's names of those objects.
"""

import collections
import glob
import json
import os
import subprocess
import time

from programs import TOP
from record import commit

PATH = os.path.join(TOP, "doc", "coverage.md")
PRODUCT = ("lib", "cm", "pmd_glue", "apps")
# Every source is measured as it is written; threads count, too.
OPTIONS = ("-Db_coverage=true", "-Dbuildtype=debug",
           "-Dc_args=-fprofile-update=prefer-atomic")
HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- Copyright (c) 2026 The Roost authors -->

# Coverage

Written by `tests/run coverage`; not to be edited. Lines and branches of the
product that the suites unit and sim run. What only real programs, real ports
and other kernels reach is not counted: those suites start processes that are
killed, and run where no counts can be written.

"""


def counted(folder):
    """Files of counts: those of the product's sources, which some tests compile
    once more ("../x.c" is ".._x.c" then).
    """
    return [path for path in glob.glob(os.path.join(folder, "**", "*.gcda"),
                                       recursive=True)
            if not os.path.relpath(path, folder).startswith("tests") or
            ".._" in path]


def clear(folder):
    """What earlier runs counted."""
    for path in counted(folder):
        os.remove(path)


def rooms(folder):
    """{room: counts}; counts: {"lines": how many, "run": how many of them ran,
    "branches": how many, "taken": how many of them were taken}.
    """
    lines, branches = collections.Counter(), collections.Counter()
    with subprocess.Popen(["gcov", "--json-format", "--stdout",
                           "--branch-probabilities", *counted(folder)],
                          cwd=folder, stdout=subprocess.PIPE) as gcov:
        for text in gcov.stdout:
            unit = json.loads(text)
            for file in unit["files"]:
                path = os.path.relpath(os.path.join(
                    unit["current_working_directory"], file["file"]), TOP)
                if path.split(os.sep)[0] not in PRODUCT:
                    continue
                for line in file["lines"]:
                    place = (path, line["line_number"])
                    lines[place] += line["count"]
                    for number, branch in enumerate(line["branches"]):
                        branches[place, number] += branch["count"]
    if gcov.returncode != 0:
        raise RuntimeError(f"gcov: exit status {gcov.returncode}")
    found = collections.defaultdict(collections.Counter)
    for (path, _line), count in lines.items():
        found[os.path.dirname(path)]["lines"] += 1
        found[os.path.dirname(path)]["run"] += count > 0
    for ((path, _line), _number), count in branches.items():
        found[os.path.dirname(path)]["branches"] += 1
        found[os.path.dirname(path)]["taken"] += count > 0
    return found


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "none"


def table(found):
    total = sum(found.values(), collections.Counter())
    rows = [*sorted(found.items()), ("all", total)]
    return ["| room | lines | run | branches | taken |",
            "|---|---:|---:|---:|---:|",
            *(f"| {name} | {counts['lines']} | "
              f"{percent(counts['run'], counts['lines'])} | "
              f"{counts['branches']} | "
              f"{percent(counts['taken'], counts['branches'])} |"
              for name, counts in rows)]


def write(folder, tally):
    """Collects what was counted in a folder, and writes the page."""
    lines = table(rooms(folder))
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(HEAD + f"{time.strftime('%Y-%m-%d')}, commit {commit()}: "
                   f"{tally.line()}.\n\n" + "\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)
