# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the programs of this folder share: their command line, and how their
entries are run and reported."""

import argparse
import fnmatch
import os
import shutil
import sys
import time

import attempts
import harness
import kernel
import leftovers
import ready
import rooms
import table
from guest import Guest

AGAIN = "again"
# Of a guest in second attempts. Many programs repeat seven times after 67 ms:
# one in software emulation that shares its processors with all that a machine
# does stands still for longer.
AGAIN_NICE = -10


class Suite:
    """A program of this folder."""

    def __init__(self, name, usage, entries, programs, world, lines,
                 logs="interop-logs", cases=list):
        """name: of the program, as "rxe", with the option that chooses this
        suite of it, if any; entries: of entry.Entry or the like; programs: that
        have to be installed; world: a function of (image, build, env) that
        gives what cases get as their first argument, with boot() and close();
        lines: a function of (results, release) that gives the text of
        doc/interop.md; logs: their folder in the build tree; cases: a function
        of entries that gives what is run.
        """
        self.name = f"tests/interop/{name}"
        self.short = name
        self.usage = usage
        self.entries = entries
        self.programs = programs
        self.world = world
        self.lines = lines
        self.logs = logs
        self.cases = cases

    def parse_args(self):
        parser = argparse.ArgumentParser(
            usage=self.usage.split("\n\n")[1][7:])
        parser.add_argument("--build")
        parser.add_argument("--write")
        parser.add_argument("--once", action="store_true")
        parser.add_argument("--list", action="store_true")
        for option in self.short.split()[1:]:
            parser.add_argument(option, action="store_true")
        parser.add_argument("patterns", nargs="*")
        return parser.parse_args()

    def choose(self, patterns):
        return [entry for entry in self.entries
                if not patterns or any(fnmatch.fnmatchcase(entry.name, pattern)
                                       for pattern in patterns)]

    def prepare(self, build):
        """Returns the kernel to boot. Raises kernel.Missing."""
        for program in self.programs:
            if shutil.which(program) is None:
                raise kernel.Missing(f"{program} is not installed")
        return kernel.fetch(os.path.join(build, "interop-kernel"))

    def main(self):
        """Returns the exit status."""
        args = self.parse_args()
        entries = self.choose(args.patterns)
        if args.list:
            print("\n".join(entry.name for entry in entries))
            return 0
        if not entries:
            print(f"{self.name}: no entry has such a name; see --list",
                  file=sys.stderr)
            return 2
        build = os.path.realpath(args.build or ready.BUILD)
        if args.build is None and not rooms.inside():
            # What stays missing is named below.
            ready.install(self.name, "test", "interop")
            if not ready.build(self.name):
                return 2
        try:
            image = self.prepare(build)
        except kernel.Missing as e:
            return skip_all(str(e))
        if not rooms.inside():
            why = rooms.possible()
            if why is not None:
                return skip_all(f"no namespaces of our own: {why}")
            rooms.enter()
        rooms.furnish((harness.TOP, build))
        leftovers.shared = False
        leftovers.ours = (harness.TOP, build)
        if not os.access(os.path.join(build, "apps", "roost"), os.X_OK):
            print(f"{self.name}: {build}: no launcher there; build it first",
                  file=sys.stderr)
            return 2
        if args.write:
            try:
                table.parts(args.write, self.short)
            except (OSError, ValueError) as e:
                print(f"{self.name}: --write: {e}; give a document with the "
                      "marks, not in /tmp, which is the run's own",
                      file=sys.stderr)
                return 2
        return self.report(args, self.cases(entries), image, build)

    def report(self, args, cases, image, build):
        shutil.rmtree(os.path.join(build, self.logs), ignore_errors=True)
        os.makedirs(os.path.join(build, self.logs))
        env = program_env()
        world = self.world(image, build, env)
        try:
            world.boot()
            results = run(cases, world, build, env, self.logs, args.once)
            if args.write and not args.patterns:
                table.write(args.write, self.short,
                            self.lines(results, image.release))
        except harness.Failure as e:
            print(f"Bail out! {e}")
            return 1
        finally:
            world.close()
        return attempts.status(results)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    return 0


def run(cases, world, build, env, logs, once):
    """logs: the world's, which its guests may write; those of second attempts
    are in its folder AGAIN. Returns case: (outcome, text).
    """
    for case in cases:
        case.args = (world, *case.args)

    def run_one(number, case, again):
        begin = time.monotonic()
        if again:
            Guest.nice = AGAIN_NICE
        outcome, text, notes = harness.run_case(
            case, build, number, env,
            os.path.join(logs, AGAIN) if again else logs)
        return outcome, text, [*notes, f"{time.monotonic() - begin:.1f} s"]

    return attempts.run_all(cases, run_one, once)


def program_env():
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("ROOST_") and name != "LD_LIBRARY_PATH"}
    env["LC_ALL"] = "C"
    return env
