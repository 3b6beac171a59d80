# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The suites: how each is built and run, and what it counts."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

from tally import Tally, of_tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))
import ready  # noqa: E402

BUILD = ready.BUILD
BUILD_CLANG = os.path.join(TOP, "build-clang")
BUILD_ASAN = os.path.join(TOP, "build-asan")
BUILD_TSAN = os.path.join(TOP, "build-tsan")

ASAN_OPTIONS = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
TSAN_OPTIONS = ("-Db_sanitize=thread", "-Db_lundef=false")
# The tests with threads that are there to race, and where each is built. Those
# of a program that polls what a WRITE brings are not among them: its plain
# reads race by intent.
TSAN_TESTS = {
    "engine-cq": "tests/unit/engine/test_engine_cq",
    "engine-idmap": "tests/unit/engine/test_engine_idmap",
    "engine-mr": "tests/unit/engine/test_engine_mr",
    "engine-qp": "tests/unit/engine/test_engine_qp",
    "engine-worker": "tests/unit/engine/test_engine_worker",
    "event-channel": "tests/unit/event/test_event_channel",
    "event-channel_crowd": "tests/unit/event/test_event_channel_crowd",
    "glue-host": "tests/unit/pmd_glue/test_glue_host",
    "sim-arm": "tests/sim/test_sim_arm",
    "sim-churn": "tests/sim/test_sim_churn",
    "sim-churn-workers": "tests/sim/test_sim_churn",
}
TSAN_SUPPRESSIONS = os.path.join(TOP, "tests", "runner", "tsan.supp")
# Where both ends live in one process, and a few pairs.
ASAN_REAL = ["loopback-*", "link-chk", "link-events", "link-size-65536",
             "link-new-send-chk", "link-again", "kill-pingpong-*",
             "error-third-on-link", "wire-chk", "wire-gid-2"]


# Rows of tests/bench/run.
FIGURES = ("kernel", "kernel-isal", "loss-1e-4", "loss-1e-3", "loss-1e-2",
           "instructions16", "instructions64k")


class BuildFailed(Exception):
    """The compiler has said why."""


def say(text):
    print(f"tests: {text}", flush=True)


@functools.cache
def build(folder, options=(), compiler="gcc"):
    """Once in a run."""
    if not ready.build("tests", folder, options, compiler):
        raise BuildFailed(os.path.basename(folder))


def failed(name):
    tally = Tally()
    tally.failures.append(name)
    return tally


def run_tap(argv, prefix="", show=False):
    """Run a program that reports in TAP; its report is shown as it comes, or
    at the end where something failed.
    """
    kept = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True,
                          errors="replace", cwd=TOP) as process:
        for line in process.stdout:
            kept.append(line)
            if show and not line.startswith("1.."):
                print("  " + line, end="", flush=True)
    text = "".join(kept)
    tally = of_tap(text, prefix) or Tally()
    if process.returncode != 0 and not tally.failed:
        tally.add(failed(f"{prefix}{os.path.basename(argv[0])} "
                         f"(exit status {process.returncode})"))
    if tally.failed and not show:
        print(text, end="", flush=True)
    return tally


# ---- unit and sim: meson's tests -----------------------------------------

MESON_SUITES = ("unit", "sim", "real")


def meson_tests(folder, *wanted):
    """Names of the tests of these suites that meson knows. tests/real/run is
    one of them, too; here it is a suite of its own.
    """
    done = subprocess.run(["meson", "introspect", "--tests", folder],
                          capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(done.stdout)
            if test["name"] != "real" and
            any(name.split(":")[-1] in wanted for name in test["suite"])]


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


def run_meson(folder, names, prefix="", env=None, slower=1):
    """env: more of the environment. slower: how much more time they get."""
    log = os.path.join(folder, "meson-logs", "roost.json")
    if os.path.exists(log):
        os.remove(log)
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", **(env or {}))
    done = subprocess.run(
        ["meson", "test", "-C", folder, "--no-rebuild", "--logbase", "roost",
         "-q", "-t", str(slower), *names],
        env=env, capture_output=True, text=True)
    tally = Tally()
    if not os.path.exists(log):
        print(done.stdout + done.stderr, end="")
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


def meson_suite(folder, suite, prefix=""):
    names = meson_tests(folder, suite)
    if not names:
        return failed(f"{prefix}{suite}: there are no tests")
    return run_meson(folder, names, prefix)


# ---- the suites ----------------------------------------------------------

def style():
    return run_tap([os.path.join(TOP, "tests", "style", "check")], "style/")


def unit():
    build(BUILD)
    return meson_suite(BUILD, "unit")


def sim():
    build(BUILD)
    return meson_suite(BUILD, "sim")


def real_command(folder, *patterns):
    return [os.path.join(TOP, "tests", "real", "run"), "--build", folder,
            *patterns]


def real(*patterns):
    build(BUILD)
    tally = run_tap(real_command(BUILD, *patterns), show=True)
    if not patterns:
        tally.add(meson_suite(BUILD, "real"))
    return tally


def interop():
    build(BUILD)
    tally = Tally()
    for program in ("rxe", "vfio"):
        path = os.path.join(TOP, "tests", "interop", program)
        tally.add(run_tap([path, "--build", BUILD], f"{program}/", show=True))
    return tally


def not_of_the_tree(folder, names):
    """Git's, and what was built."""
    return [name for name in names
            if folder == TOP and (name == ".git" or name.startswith("build"))]


def demo():
    """What a newcomer sees: apps/demo in a copy of the tree in which nothing
    was built.
    """
    folder = tempfile.mkdtemp(prefix="roost-demo-")
    try:
        top = shutil.copytree(TOP, os.path.join(folder, "roost"), symlinks=True,
                              ignore=not_of_the_tree)
        done = subprocess.run([os.path.join(top, "apps", "demo")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    finally:
        shutil.rmtree(folder)
    if done.returncode != 0:
        print(done.stdout, end="", flush=True)
        return failed("demo")
    tally = Tally()
    tally.passed = 1
    return tally


def clang():
    """Everything compiles without a warning."""
    build(BUILD_CLANG, compiler="clang")
    tally = Tally()
    tally.passed = 1
    return tally


def write_preload():
    """Programs that are not instrumented need the runtime of our libraries."""
    done = subprocess.run(["gcc", "-print-file-name=libasan.so"],
                          capture_output=True, text=True, check=True)
    with open(os.path.join(BUILD_ASAN, "real-preload"), "w") as file:
        file.write(os.path.realpath(done.stdout.strip()) + "\n")


def asan():
    build(BUILD_ASAN, ASAN_OPTIONS)
    write_preload()
    tally = meson_suite(BUILD_ASAN, "unit", "asan/")
    tally.add(meson_suite(BUILD_ASAN, "sim", "asan/"))
    tally.add(run_tap(real_command(BUILD_ASAN, *ASAN_REAL), "asan/"))
    tally.add(run_meson(BUILD_ASAN, ["verbs-tour"], "asan/"))
    return tally


def tsan():
    build(BUILD_TSAN, (*TSAN_OPTIONS, "--", *TSAN_TESTS.values()))
    options = f"suppressions={TSAN_SUPPRESSIONS} exitcode=66"
    return run_meson(BUILD_TSAN, list(TSAN_TESTS), "tsan/",
                     {"TSAN_OPTIONS": options}, slower=10)


def fuzz(*options):
    """Half a minute of each target, if no options say otherwise."""
    return run_tap([os.path.join(TOP, "tests", "fuzz", "run"), *options],
                   "fuzz/", show=True)


def figures():
    """Shown, and never failed for what they are. Those of one core, and counts
    of instructions, which are the same on a machine that others use.
    """
    build(BUILD)
    tally = Tally()
    done = subprocess.run([os.path.join(TOP, "tests", "bench", "run"),
                           "--build", BUILD, "--no-plots", *FIGURES])
    if done.returncode == 0:
        tally.passed = 1
    else:
        tally.add(failed("figures: a row gave none"))
    return tally


# name: (function, what it is)
SUITES = {
    "style": (style, "rules of the house, clang-format"),
    "unit": (unit, "each file by itself"),
    "sim": (sim, "two engines, a bad link, virtual time"),
    "real": (real, "two processes, Debian's own programs"),
    "demo": (demo, "two programs talk, in a fresh copy of the tree"),
    "clang": (clang, "a build with clang, no warning"),
    "asan": (asan, "unit, sim and some of real with ASan and UBSan"),
    "tsan": (tsan, "the tests with many threads with TSan"),
    "fuzz": (fuzz, "half a minute of each fuzz target"),
    "figures": (figures, "the kernels, and instructions a message"),
    "interop": (interop, "with Linux Soft-RoCE in QEMU; on request only"),
}
# A run without names leaves these out.
ON_REQUEST = ("interop",)


def real_cases():
    done = subprocess.run([*real_command(BUILD), "--list"],
                          capture_output=True, text=True, check=True)
    return done.stdout.split()


if __name__ == "__main__":
    sys.exit("tests/run is the program; this is a part of it")
