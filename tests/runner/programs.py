# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""How tests are run and counted: programs that report in TAP, and the tests
that meson knows.
"""

import json
import os
import re
import subprocess

from progress import Progress
from tally import TEST_LINE, Tally, of_tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
# What meson test writes when a test has ended: " 3/74 roost:sim / sim-mix ..."
MESON_LINE = re.compile(r"\s*(\d+)/(\d+)\s+(\S+ / )?(\S+)\s")


def failed(name):
    tally = Tally()
    tally.failures.append(name)
    return tally


def passed():
    tally = Tally()
    tally.passed = 1
    return tally


def of_total(line, total):
    """A line of a TAP report with the number of tests behind that of this."""
    match = TEST_LINE.match(line)
    if match is None or not total:
        return line
    return re.sub(r"^((?:not )?ok)\s+(\d+)", rf"\1 \2/{total}", line)


def run_tap(argv, prefix="", show=False):
    """Run a program that reports in TAP; its report is shown as it comes, or
    at the end where something failed.
    """
    kept = []
    total = 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True,
                          errors="replace", cwd=TOP) as process:
        for line in process.stdout:
            kept.append(line)
            plan = re.fullmatch(r"1\.\.(\d+)\s*", line)
            if plan:
                total = int(plan[1])
            elif show:
                print("  " + of_total(line, total), end="", flush=True)
    text = "".join(kept)
    tally = of_tap(text, prefix) or Tally()
    if process.returncode != 0 and not tally.failed:
        tally.add(failed(f"{prefix}{os.path.basename(argv[0])} "
                         f"(exit status {process.returncode})"))
    if tally.failed and not show:
        print(text, end="", flush=True)
    return tally


def meson_tests(folder, *wanted, scripts=True):
    """Names of the tests of these suites that meson knows. tests/real/run is
    one of them, too; for the runner it is a suite of its own. scripts: also
    those of which nothing was built.
    """
    done = subprocess.run(["meson", "introspect", "--tests", folder],
                          capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(done.stdout)
            if test["name"] != "real" and (test["depends"] or scripts) and
            any(name.split(":")[-1] in wanted for name in test["suite"])]


def test_programs(folder, names):
    """What ninja has to build for these tests, relative to the folder. Meson
    tells of the programs; what else a test depends on is built with all.
    """
    done = subprocess.run(["meson", "introspect", "--tests", folder],
                          capture_output=True, text=True, check=True)
    top = os.path.realpath(folder)
    found = set()
    for test in json.loads(done.stdout):
        path = os.path.realpath(test["cmd"][0])
        if test["name"] in names and path.startswith(top + os.sep):
            found.add(os.path.relpath(path, top))
    return sorted(found)


def result_tally(record, prefix):
    """The tally of one of meson's tests: of its cases, where it reports them
    in TAP, else of itself.
    """
    # "project:suite / name"
    name = prefix + record["name"].split(" / ")[-1]
    tally = of_tap(record.get("stdout", ""), name + "/")
    good = record["result"] in ("OK", "EXPECTEDFAIL")
    if tally is None:
        tally = Tally()
        if good:
            tally.passed = 1
        elif record["result"] == "SKIP":
            tally.skips.append(name)
    if not good and record["result"] != "SKIP" and not tally.failed:
        tally.failures.append(f"{name} ({record['result'].lower()})")
    return tally


def follow(argv, env, progress):
    """Run meson test, and tell how far it is. Returns what it wrote."""
    kept = []
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT,
                          errors="replace") as process:
        for line in process.stdout:
            kept.append(line)
            match = MESON_LINE.match(line)
            if match:
                progress.count(int(match[1]), int(match[2]), match[4])
    progress.close()
    return "".join(kept)


def run_meson(folder, names, what, prefix="", env=None, slower=1, beside=1):
    """what: for the reports of progress. env: more of the environment.
    slower: how much more time they get. beside: how many a processor takes.
    """
    # Of its own: two suites may run from one folder at a time.
    base = "roost-" + what.replace(" ", "-")
    log = os.path.join(folder, "meson-logs", base + ".json")
    if os.path.exists(log):
        os.remove(log)
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", **(env or {}))
    said = follow(["meson", "test", "-C", folder, "--no-rebuild",
                   "--logbase", base, "-t", str(slower), "--num-processes",
                   str(beside * len(os.sched_getaffinity(0))), *names], env,
                  Progress(prefix + what))
    tally = Tally()
    if not os.path.exists(log):
        print(said, end="")
        return failed(f"{prefix}meson test")
    with open(log) as file:
        records = [json.loads(line) for line in file]
    for record in records:
        one = result_tally(record, prefix)
        if one.failed:
            print(f"---- {record['name']}: {record['result']}")
            print(record.get("stdout", "") + record.get("stderr", ""))
        tally.add(one)
    if len(records) < len(names):
        tally.add(failed(f"{prefix}{len(names) - len(records)} tests that "
                         "did not report"))
    return tally
