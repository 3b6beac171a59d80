# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The command line of a program that runs cases: tests/real/run and those
like it.

usage: RUN [--build DIR] [--once] [--list] [PATTERN...]

Runs the cases whose names match one of the patterns (shell wildcards), without
any all but those named long-*, and reports in TAP. What the programs of a case
wrote stays under DIR/NAME-logs/CASE where it failed, and is shown. A case that
fails runs again when all others are done (attempts.py tells why); the logs of
that are under DIR/NAME-logs-again.

--build DIR  the build tree (default: build in the top folder)
--once       no second attempt
--lanes N    how many run side by side (default: the processors, 2 at most);
             those that need the machine for themselves come last
--list       print the names of the cases and do nothing
"""

import argparse
import fnmatch
import os
import shutil
import sys

import attempts
import harness
import lanes
import leftovers
import rooms

# Names of cases of the last tier begin so.
LONG = "long-"

def parse_args(program):
    parser = argparse.ArgumentParser(
        usage=__doc__.split("\n\n")[1][7:].replace("RUN", program))
    parser.add_argument("--build", default=os.path.join(harness.TOP, "build"))
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--lanes", type=int,
                        default=min(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("patterns", nargs="*")
    return parser.parse_args()


def is_chosen(name, patterns):
    if not patterns:
        return not name.startswith(LONG)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


FOLDERS = {False: "logs", True: "logs-again"}


def runner(build, name, cases):
    """A function of (number, case's name, again) that runs the case here."""
    env = harness.program_env(build)
    known = {case.name: case for case in cases}

    def run_one(number, case, again):
        return harness.run_case(known[case], build, number, env,
                                f"{name}-{FOLDERS[again]}")

    return run_one


def run_cases(cases, args, build, name):
    """In lanes where there can be some, else here. Returns the results."""
    for folder in FOLDERS.values():
        shutil.rmtree(os.path.join(build, f"{name}-{folder}"),
                      ignore_errors=True)
    why = rooms.possible()
    if why is None:
        width = max(1, min(args.lanes, len(cases)))
        several = lanes.Lanes(width)
        results = attempts.run_all(cases, several.run_one, args.once, width)
        several.close()
        return results
    print(f"# no namespaces of our own: {why}")
    here = runner(build, name, cases)
    return attempts.run_all(
        cases, lambda number, case, again: here(number, case.name, again),
        args.once)


def serve_lane(cases, build, name):
    rooms.furnish((harness.TOP, build))
    leftovers.shared = False
    leftovers.ours = (harness.TOP, build)
    lanes.serve(runner(build, name, cases))


def main(program, name, known):
    """program: its path, for messages. name: of the folders with the logs.
    known: all cases. Returns the exit status.
    """
    args = parse_args(program)
    cases = [case for case in known if is_chosen(case.name, args.patterns)]
    if args.list:
        print("\n".join(case.name for case in
                        (cases if args.patterns else known)))
        return 0
    if not cases:
        print(f"{program}: no case has such a name; see --list",
              file=sys.stderr)
        return 2
    build = os.path.realpath(args.build)
    if not os.access(os.path.join(build, "apps", "roost"), os.X_OK):
        print(f"{program}: {build}: no launcher there; build it first",
              file=sys.stderr)
        return 2
    if rooms.inside():
        serve_lane(cases, build, name)
        return 0
    return attempts.status(run_cases(cases, args, build, name))
