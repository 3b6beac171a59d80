# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: tests/run [--force] [--once] [all | long | SUITE|TEST...]

Three tiers, by how long one may wait:

  tests/run        a part of every suite; about six minutes on two cores,
                   packages and build included
  tests/run all    every suite; what continuous integration runs, 40 minutes
  tests/run long   what takes hours: fuzzing, soaking, other kernels in QEMU.
                   Its result is written to doc/long.md, to be committed

Or suites by name, each as in its own tier; or single tests: of unit and sim by
the name that meson has for them, of real and apps by the name of the case; *
stands for any letters. A suite that passed, and of which nothing has changed
since, is not run again without --force. Single tests always run.

A case of real, apps or interop that fails runs once more when all others are
done: the machines that run the tests are shared, and a neighbour may take the
processors for seconds. One that passes then has passed, and is named as "not
steady" at the end, with what it said the first time. Look at these names: a
race of Roost's own looks the same. More than three of them fail the suite.

--force  run also what has not changed
--once   no second attempt
--list   print the names of suites and tests
"""

import argparse
import os
import resource
import sys
import time

import record
import suites
from beside import Beside
from programs import TOP, failed, meson_tests, run_meson
from stamps import Stamps
from suites import BUILD, SUITES, BuildFailed, matching, say
from tally import Tally

# Single tests are looked for in these of meson's suites.
MESON_SUITES = ("unit", "sim", "real")
# Of so many failures the end of the report shows why.
CAUSES_MAX = 5


def parse_args():
    parser = argparse.ArgumentParser(
        prog="tests/run", usage=__doc__.split("\n\n")[0][7:],
        description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="SUITE|TEST")
    return parser.parse_args()


def cpu_seconds():
    """Of the processes that this one has waited for, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Chosen:
    """What the command line asks for."""

    def __init__(self, words):
        self.part = not words
        self.long = "long" in words
        self.suites = []
        self.tests = []
        self.cases = {suite: [] for suite in suites.CASE_SUITES}
        self.unknown = []
        if self.part or "all" in words:
            self.add_suites(False)
        if self.long:
            self.add_suites(True)
        for word in words:
            if word in SUITES:
                self.suites.append(word)
            elif word not in ("all", "long"):
                self.choose_tests(word)

    def add_suites(self, is_long):
        self.suites += [name for name, suite in SUITES.items()
                        if suite.long == is_long]

    def choose_tests(self, word):
        suites.build(BUILD)
        tests = matching(meson_tests(BUILD, *MESON_SUITES), [word])
        self.tests += tests
        found = bool(tests)
        for suite, chosen in self.cases.items():
            cases = matching(suites.cases(suite), [word])
            chosen += cases
            found = found or bool(cases)
        if not found:
            self.unknown.append(word)


class Runner:
    """Suites, one after the other."""

    def __init__(self, part, force):
        self.part = part
        self.stamps = Stamps(TOP, os.path.join(BUILD, "roost-stamps.json"))
        self.force = force
        self.rows = []  # (suite, tally, seconds)

    def kept(self, name):
        """A result that still holds; the whole suite's does for a part."""
        if self.force:
            return None
        needs = SUITES[name].needs
        found = self.stamps.get(name, needs)
        if found is None and self.part:
            found = self.stamps.get(f"{name} (part)", needs)
        return found

    def run(self, name, place):
        """Returns the tally and the seconds; None: the result is a kept one.
        """
        suite = SUITES[name]
        kept = self.kept(name)
        if kept is not None:
            tally, when = kept
            say(f"{place} {name}: nothing that it depends on has changed since "
                f"{when}, when it passed ({tally.line()}); --force runs it "
                "again")
            return tally, None
        start, cpu_start = time.monotonic(), cpu_seconds()
        say(f"{place} {name}: {suite.what}")
        try:
            tally = suite.run(self.part)
        except BuildFailed as e:
            tally = failed(f"{name}: the build in {e}")
        seconds = time.monotonic() - start
        say(f"{place} {name}: {tally.line()} ({seconds:.0f} s, "
            f"{cpu_seconds() - cpu_start:.0f} s of CPU)")
        return tally, seconds

    def note(self, name, tally, seconds):
        if seconds is not None:
            self.rows.append((name, tally, seconds))
            self.stamps.put(f"{name} (part)" if self.part else name,
                            SUITES[name].needs, tally)
        return tally

    def take(self, beside, wait=False):
        """The results that the process beside has by now."""
        total = Tally()
        for name, result in beside.ended(wait):
            total.add(self.note(name, *(result or (
                failed(f"{name}: the process that ran it ended"), None))))
        return total

    def run_all(self, names):
        """Those that wait in the order of names; beside them those that only
        compute; at last those that are better alone.
        """
        places = {name: f"[{number}/{len(names)}]"
                  for number, name in enumerate(names, 1)}
        order = {when: [name for name in names if SUITES[name].when == when]
                 for when in ("waits", "computes", "last")}
        if self.part or not order["waits"]:
            order = {"waits": names, "computes": [], "last": []}
        total = Tally()
        beside = None
        if order["computes"]:
            try:
                suites.build(BUILD)
            except BuildFailed as e:
                return failed(f"the build in {e}")
            beside = Beside(order["computes"],
                            lambda name: self.run(name, places[name]))
        for name in order["waits"]:
            total.add(self.note(name, *self.run(name, places[name])))
            if beside:
                total.add(self.take(beside))
        if beside:
            total.add(self.take(beside, wait=True))
        for name in order["last"]:
            total.add(self.note(name, *self.run(name, places[name])))
        return total


def run_chosen(chosen, force):
    runner = Runner(chosen.part, force)
    total = runner.run_all(chosen.suites)
    if chosen.long:
        record.write(runner.rows)
    if chosen.tests:
        total.add(run_meson(BUILD, chosen.tests, "tests"))
    for suite, cases in chosen.cases.items():
        if cases:
            total.add(suites.cases_tally(suite, cases))
    return total


def list_names():
    suites.build(BUILD)
    for name, suite in SUITES.items():
        print(f"{name:8} {suite.what}{' (long)' if suite.long else ''}")
    names = meson_tests(BUILD, *MESON_SUITES)
    for suite in suites.CASE_SUITES:
        names += suites.cases(suite)
    for name in names:
        print(f"  {name}")


def main():
    args = parse_args()
    start = time.monotonic()
    try:
        if args.list:
            list_names()
            return 0
        chosen = Chosen(args.names)
        suites.attempt_options = ("--once",) if args.once else ()
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
    for name in total.unsteady:
        say(f"not steady: {name}")
    for number, name in enumerate(total.failures):
        say(f"FAILED: {name}")
        # Again, as the report above may be long, or cut.
        if number < CAUSES_MAX:
            print("".join(f"  {line}\n" for line in total.causes.get(name, [])),
                  end="")
    say(f"{time.monotonic() - start:.0f} s" +
        ("; this was a part of every suite, tests/run all is everything"
         if chosen.part else ""))
    print(total.line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
