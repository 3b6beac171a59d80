# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: tests/run [--force] [SUITE|TEST...]

Runs all suites but interop, or those named, or single tests: of unit and sim by
the name that meson has for them, of real by the name of the case; * stands for
any letters. A suite that passed, and of which nothing has changed since, is not
run again without --force. Single tests always run.

--force  run also what has not changed
--list   print the names of suites and tests
"""

import argparse
import fnmatch
import os
import sys
import time

import suites
from stamps import Stamps
from suites import BUILD, ON_REQUEST, SUITES, TOP, BuildFailed, say
from tally import Tally


def parse_args():
    parser = argparse.ArgumentParser(
        prog="tests/run", usage=__doc__.split("\n\n")[0][7:],
        description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="SUITE|TEST")
    return parser.parse_args()


def matching(names, pattern):
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


class Chosen:
    """What the command line asks for."""

    def __init__(self, words):
        self.suites = []
        self.tests = []
        self.cases = []
        self.unknown = []
        for word in words:
            if word in SUITES:
                self.suites.append(word)
            else:
                self.choose_tests(word)
        if not words:
            self.suites = [name for name in SUITES if name not in ON_REQUEST]

    def choose_tests(self, word):
        suites.build(BUILD)
        tests = matching(suites.meson_tests(BUILD, *suites.MESON_SUITES), word)
        cases = matching(suites.real_cases(), word)
        self.tests += tests
        self.cases += cases
        if not tests and not cases:
            self.unknown.append(word)


def run_suite(name, stamps, force):
    kept = None if force else stamps.get(name)
    if kept is not None:
        tally, when = kept
        say(f"{name}: nothing has changed since {when}, when it passed "
            f"({tally.line()}); --force runs it again")
        return tally
    start = time.monotonic()
    say(f"{name}: {SUITES[name][1]}")
    try:
        tally = SUITES[name][0]()
    except BuildFailed as e:
        return suites.failed(f"{name}: the build in {e}")
    say(f"{name}: {tally.line()} ({time.monotonic() - start:.0f} s)")
    stamps.put(name, tally)
    return tally


def run_chosen(chosen, force):
    total = Tally()
    stamps = Stamps(TOP, os.path.join(BUILD, "roost-stamps.json"))
    for name in chosen.suites:
        total.add(run_suite(name, stamps, force))
    if chosen.tests:
        total.add(suites.run_meson(BUILD, chosen.tests))
    if chosen.cases:
        total.add(suites.real(*chosen.cases))
    return total


def list_names():
    suites.build(BUILD)
    for name, (_run, what) in SUITES.items():
        print(f"{name:8} {what}")
    tests = suites.meson_tests(BUILD, *suites.MESON_SUITES)
    for name in tests + suites.real_cases():
        print(f"  {name}")


def main():
    args = parse_args()
    try:
        if args.list:
            list_names()
            return 0
        chosen = Chosen(args.names)
    except BuildFailed:
        print("0 passed, 1 failed, 0 skipped")
        return 1
    if chosen.unknown:
        print(f"tests: no suite or test is called {' '.join(chosen.unknown)};"
              " --list names them", file=sys.stderr)
        return 2
    total = run_chosen(chosen, args.force)
    for name in total.skips:
        say(f"skipped: {name}")
    for name in total.failures:
        say(f"FAILED: {name}")
    print(total.line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
