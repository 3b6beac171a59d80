# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The suites: how each is built and run, what it depends on, and what part of
it the first tier runs.
"""

import dataclasses
import fnmatch
import functools
import os
import shutil
import subprocess
import sys
import tempfile

import coverage
from programs import (TOP, failed, meson_tests, passed, run_meson, run_tap,
                      test_programs)
from tally import Tally

sys.path.insert(0, os.path.join(TOP, "tests"))
import ready  # noqa: E402

BUILD = ready.BUILD
BUILD_ASAN = os.path.join(TOP, "build-asan")
BUILD_TSAN = os.path.join(TOP, "build-tsan")
BUILD_COVERAGE = os.path.join(TOP, "build-coverage")

# Whoever builds Roost is told of no warning by an error; the tests are.
WERROR = "-Dwerror=true"
# Of hundreds of test programs; binutils' other linker needs half of the time.
FAST_LINK = "-Dc_link_args=-fuse-ld=gold"
# What a sanitizer finds needs neither -O2 nor more than lines; compiling for
# one costs a third less without.
SANITIZED = (WERROR, "-Db_lundef=false", "-Doptimization=1", "-Dc_args=-g1",
             FAST_LINK)
ASAN_OPTIONS = (*SANITIZED, "-Db_sanitize=address,undefined")
TSAN_OPTIONS = (*SANITIZED, "-Db_sanitize=thread")
# Builds that users make, all but the first of the libraries and programs
# alone: {name: (compiler, options, targets)}.
HARDENING = ("-D_FORTIFY_SOURCE=2 -fstack-protector-strong "
             "-fstack-clash-protection -fcf-protection "
             "-Wformat -Werror=format-security")
# What clang warns of is the same without -O2. Nobody debugs what is only built:
# without -g a build costs a tenth less.
PLAIN = "-Ddebug=false"
FLAVOURS = {
    "clang": ("clang", (PLAIN, "-Doptimization=0", FAST_LINK), ()),
    "release": ("gcc", ("-Dbuildtype=release", f"-Dc_args={HARDENING}",
                        "-Dc_link_args=-Wl,-z,relro,-z,now"), ("product",)),
    "debug": ("gcc", (PLAIN, "-Doptimization=0"), ("product",)),
    "minsize-lto": ("gcc", (PLAIN, "-Doptimization=s", "-Db_lto=true"),
                    ("product",)),
    "clang-release": ("clang", ("-Dbuildtype=release",), ("product",)),
}

# The tests with threads that are there to race, and where each is built. Those
# of a program that polls what a WRITE brings are not among them: its plain
# reads race by intent.
TSAN_TESTS = ("engine-cq", "engine-idmap", "engine-mr", "engine-qp",
              "engine-slots", "engine-worker", "event-channel",
              "event-channel_crowd", "glue-host", "roostd-lanes",
              "roostd-loop", "sim-arm", "sim-churn", "sim-churn-workers")
TSAN_SUPPRESSIONS = os.path.join(TOP, "tests", "runner", "tsan.supp")
# Where both ends live in one process, and a few pairs.
ASAN_REAL = ("loopback-*", "link-chk", "link-events", "link-size-65536",
             "link-new-send-chk", "link-again", "kill-pingpong-*",
             "error-third-on-link", "wire-chk", "wire-gid-2")

# Parts for the first tier. Of sim, all but those that take long; of the other
# lists, these.
SIM_LONG = ("sim-large", "sim-model*", "sim-soak", "sim-fates*", "sim-churn*",
            "sim-cm-loss", "sim-combos*", "sim-mix*", "sim-hostile",
            "sim-loss*")
REAL_PART = ("link-chk", "link-events", "loopback-gid-1", "kill-pingpong-*",
             "error-third-on-link", "wire-chk")
APPS_PART = ("hub-libfabric-*", "ucx-ucp-rc_v", "ucx-io-ud_v",
             "mpi-mpich-rdma-2")
DOC_PART = ("lies", "links", "README")
PACKAGES_PART = ("versions", "*-files", "deb-needs", "rpm-lint", "dockerfile",
                 "completion")
ASAN_PART = ("engine-resp*", "wire-parse")
ASAN_SIM_PART = ("sim-malformed", "sim-forged")
TSAN_PART = ("event-channel",)

# Tests of unit wait for half of their time.
UNIT_BESIDE = 2

# Rows of tests/bench/run.
FIGURES = ("kernel", "kernel-isal", "loss-1e-4", "loss-1e-3", "loss-1e-2",
           "instructions16", "instructions64k")
FIGURES_PART = ("instructions16",)

# Of tests/real and tests/interop: --once, or nothing.
attempt_options = ()


class BuildFailed(Exception):
    """The compiler has said why."""


def say(text):
    print(f"tests: {text}", flush=True)


@functools.cache
def build(folder, options=(), compiler="gcc", targets=()):
    """Once in a run."""
    if not ready.build("tests", folder, options, compiler, targets):
        raise BuildFailed(os.path.basename(folder))


def matching(names, patterns):
    return [name for name in names
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def build_tests(folder, options, choose):
    """What some tests of meson's need, and no more. choose: given the names of
    all, those. Returns them.
    """
    if not ready.set_up("tests", folder, options):
        raise BuildFailed(os.path.basename(folder))
    names = choose(meson_tests(folder, "unit", "sim"))
    build(folder, options, targets=tuple(test_programs(folder, names)))
    return names


def meson_suite(folder, suite, prefix="", scripts=True, beside=1):
    names = meson_tests(folder, suite, scripts=scripts)
    if not names:
        return failed(f"{prefix}{suite}: there are no tests")
    return run_meson(folder, names, suite, prefix, beside=beside)


# ---- the suites: part is true in the first tier --------------------------

def style(_part):
    build(BUILD, targets=("product",))
    return run_tap([os.path.join(TOP, "tests", "style", "check")], "style/")


def abi(_part):
    build(BUILD, targets=("product",))
    return run_tap([os.path.join(TOP, "tests", "abi", "run"), "--build",
                    BUILD], "abi/")


def unit(_part):
    build(BUILD)
    return meson_suite(BUILD, "unit", beside=UNIT_BESIDE)


def sim(part):
    build(BUILD)
    if not part:
        return meson_suite(BUILD, "sim")
    names = meson_tests(BUILD, "sim")
    slow = matching(names, SIM_LONG)
    return run_meson(BUILD, [name for name in names if name not in slow],
                     "sim")


# Suites of cases, each run by tests/NAME/run.
CASE_SUITES = ("real", "apps")


def cases_command(suite, folder, *patterns):
    return [os.path.join(TOP, "tests", suite, "run"), "--build", folder,
            *patterns]


def cases(suite):
    done = subprocess.run([*cases_command(suite, BUILD), "--list"],
                          capture_output=True, text=True, check=True)
    return done.stdout.split()


def cases_tally(suite, patterns):
    return run_tap(cases_command(suite, BUILD, *attempt_options, *patterns),
                   show=True)


def real(part):
    build(BUILD)
    tally = cases_tally("real", REAL_PART if part else ())
    names = ["verbs-tour"] if part else meson_tests(BUILD, "real")
    tally.add(run_meson(BUILD, names, "real"))
    return tally


def apps(part):
    build(BUILD)
    return cases_tally("apps", APPS_PART if part else ())


def long_cases(_part):
    build(BUILD)
    tally = Tally()
    for suite in CASE_SUITES:
        if matching(cases(suite), ["long-*"]):
            tally.add(cases_tally(suite, ("long-*",)))
    return tally


def interop(_part):
    build(BUILD)
    tally = Tally()
    for program, *options in (("rxe",), ("rxe", "--shared"), ("conform",),
                             ("vfio",)):
        path = os.path.join(TOP, "tests", "interop", program)
        tally.add(run_tap([path, *options, "--build", BUILD, *attempt_options],
                          "".join([program, *options]) + "/", show=True))
    return tally


def not_of_the_tree(folder, names):
    """Git's, and what was built."""
    return [name for name in names
            if folder == TOP and (name == ".git" or name.startswith("build"))]


def demo(part):
    """What a newcomer sees: apps/demo in a copy of the tree in which nothing
    was built. Part: here, where everything was.
    """
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as folder:
        top = TOP
        if not part:
            top = shutil.copytree(TOP, os.path.join(folder, "roost"),
                                  symlinks=True, ignore=not_of_the_tree)
        done = subprocess.run([os.path.join(top, "apps", "demo")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout, end="", flush=True)
        return failed("demo")
    return passed()


def doc(part):
    """Part: what README and the first page behind it tell."""
    build(BUILD)
    return run_tap([os.path.join(TOP, "tests", "doc", "run"),
                    *(DOC_PART if part else ())], "doc/", show=True)


def builds(part):
    """Every flavour compiles and links without a warning. Part: the libraries,
    with the other compiler.
    """
    tally = Tally()
    for name, (compiler, options, targets) in FLAVOURS.items():
        try:
            build(os.path.join(TOP, f"build-{name}"), (WERROR, *options),
                  compiler, ("product",) if part else targets)
            tally.add(passed())
        except BuildFailed:
            tally.add(failed(f"builds/{name}"))
        if part:
            break
    return tally


def packages(part):
    """Part: what can be said without building them."""
    build(BUILD)
    return run_tap([os.path.join(TOP, "tests", "packages", "run"),
                    *(PACKAGES_PART if part else ())], "packages/", show=True)


def write_preload():
    """Programs that are not instrumented need the runtime of our libraries."""
    done = subprocess.run(["gcc", "-print-file-name=libasan.so"],
                          capture_output=True, text=True, check=True)
    with open(os.path.join(BUILD_ASAN, "real-preload"), "w") as file:
        file.write(os.path.realpath(done.stdout.strip()) + "\n")


def asan_part(patterns):
    names = build_tests(BUILD_ASAN, ASAN_OPTIONS,
                        lambda all_tests: matching(all_tests, patterns))
    return run_meson(BUILD_ASAN, names, "part", "asan/")


def asan_sim(part):
    if part:
        return asan_part(ASAN_SIM_PART)
    build(BUILD_ASAN, ASAN_OPTIONS)
    return meson_suite(BUILD_ASAN, "sim", "asan/")


def asan(part):
    if part:
        return asan_part(ASAN_PART)
    build(BUILD_ASAN, ASAN_OPTIONS)
    write_preload()
    tally = meson_suite(BUILD_ASAN, "unit", "asan/", scripts=False,
                        beside=UNIT_BESIDE)
    tally.add(run_tap(cases_command("real", BUILD_ASAN, *attempt_options,
                                    *ASAN_REAL), "asan/"))
    tally.add(run_meson(BUILD_ASAN, ["verbs-tour"], "real", "asan/"))
    return tally


def tsan(part):
    names = build_tests(BUILD_TSAN, TSAN_OPTIONS, lambda _all_tests:
                        TSAN_PART if part else TSAN_TESTS)
    # Of an access whose stack is not restored, no suppression holds.
    options = (f"suppressions={TSAN_SUPPRESSIONS} exitcode=66 "
               "history_size=7")
    return run_meson(BUILD_TSAN, list(names), "threads", "tsan/",
                     {"TSAN_OPTIONS": options}, slower=10)


def coverage_page(_part):
    """Counts; what a test checks is checked by unit and sim."""
    build(BUILD_COVERAGE, (WERROR, *coverage.OPTIONS))
    names = meson_tests(BUILD_COVERAGE, "unit", "sim")
    coverage.clear(BUILD_COVERAGE)
    tally = run_meson(BUILD_COVERAGE, names, "unit and sim", "coverage/",
                      slower=10)
    coverage.write(BUILD_COVERAGE, tally)
    return tally


def fuzz_command(*options):
    return run_tap([os.path.join(TOP, "tests", "fuzz", "run"), *options],
                   "fuzz/", show=True)


def fuzz(part):
    """Ten seconds of each target; part: a moment of one. (The corpora are
    replayed by the suite unit.) From one seed, so that a change is not judged
    by chance; the last tier looks elsewhere each time.
    """
    return fuzz_command("--seed", "1", "--seconds",
                        *(("5", "packet") if part else ("10",)))


def fuzz_long(_part):
    return fuzz_command("--long")


def soak_command(folder, seconds, prefix=""):
    return run_tap([os.path.join(TOP, "tests", "soak", "run"), "--build",
                    folder, "--seconds", str(seconds)], prefix + "soak/",
                   show=True)


def soak(_part):
    build(BUILD)
    return soak_command(BUILD, 30)


def soak_long(_part):
    """An hour with ASan and UBSan, ten minutes with TSan."""
    tally = Tally()
    for folder, options, seconds, prefix in (
            (BUILD_ASAN, ASAN_OPTIONS, 3600, "asan/"),
            (BUILD_TSAN, TSAN_OPTIONS, 600, "tsan/")):
        build(folder, options, targets=("product", "tests/soak/soak"))
        tally.add(soak_command(folder, seconds, prefix))
    return tally


def figures(part):
    """Shown, and never failed for what they are. Those of one core, and counts
    of instructions, which are the same on a machine that others use.
    """
    build(BUILD)
    rows = FIGURES_PART if part else FIGURES
    done = subprocess.run([os.path.join(TOP, "tests", "bench", "run"),
                           "--build", BUILD, "--no-plots", *rows])
    return passed() if done.returncode == 0 else \
        failed("figures: a row gave none")


@dataclasses.dataclass
class Suite:
    run: object     # function of part; returns a Tally
    what: str       # for people
    needs: tuple    # files and folders that its result depends on
    long: bool = False  # in the last tier only
    # "computes": no clock changes its result, it runs beside those that wait;
    # "last": on a machine that does nothing else.
    when: str = "waits"


PRODUCT = ("lib", "cm", "pmd_glue", "apps", "meson.build",
           "meson_options.txt")
PLACES = (*PRODUCT, "tests/meson.build")
SUITES = {
    "style": Suite(style, "rules of the house, clang-format", (".",)),
    "abi": Suite(abi, "libroost's public ABI is the baseline's",
                 (*PRODUCT, "tests/abi")),
    "unit": Suite(unit, "each file by itself",
                  (*PLACES, "doc", "tests/unit", "tests/fuzz",
                   "tests/real")),
    "sim": Suite(sim, "two engines, a bad link, virtual time",
                 ("lib", "cm", "meson.build", "tests/meson.build",
                  "tests/sim"), when="computes"),
    "real": Suite(real, "two processes, Debian's own programs",
                  (*PLACES, "tests/real")),
    "apps": Suite(apps, "MPI, UCX, libfabric, and what people run on them",
                  (*PLACES, "tests/real", "tests/apps")),
    "demo": Suite(demo, "two programs talk, in a fresh copy of the tree",
                  PRODUCT),
    "doc": Suite(doc, "the documentation does what it says",
                 (*PRODUCT, "README.md", "CONTRIBUTING.md", "SECURITY.md",
                  "CHANGELOG.md", "doc", "tests")),
    "builds": Suite(builds, "a build of each kind, no warning",
                    (*PRODUCT, "tests"), when="computes"),
    "packages": Suite(packages, "Debian packages: built, used and removed",
                      (*PRODUCT, "doc", "README.md", "CHANGELOG.md",
                       "tests/packages")),
    "asan-sim": Suite(asan_sim, "sim with ASan and UBSan",
                      ("lib", "cm", "meson.build", "tests/meson.build",
                       "tests/sim"), when="computes"),
    "asan": Suite(asan, "unit and some of real with ASan and UBSan",
                  (*PLACES, "tests/unit", "tests/sim", "tests/real",
                   "tests/fuzz"), when="last"),
    "tsan": Suite(tsan, "the tests with many threads with TSan",
                  (*PLACES, "tests/unit", "tests/sim"), when="last"),
    "fuzz": Suite(fuzz, "libFuzzer, ten seconds of each target",
                  (*PLACES, "tests/fuzz"), when="last"),
    "figures": Suite(figures, "the kernels, and instructions a message",
                     (*PLACES, "tests/bench", "tests/sim"), when="last"),
    "real-long": Suite(long_cases, "cases of real and apps that take minutes",
                       (*PLACES, "tests/real", "tests/apps"), long=True),
    "soak": Suite(soak, "everything at once, and people die",
                  (*PLACES, "tests/soak", "tests/real"), long=True),
    "soak-long": Suite(soak_long, "the same for an hour, with the sanitizers",
                       (*PLACES, "tests/soak", "tests/real",
                        "tests/runner/tsan.supp"), long=True),
    "fuzz-long": Suite(fuzz_long, "libFuzzer, until nothing new is covered",
                       (*PLACES, "tests/fuzz"), long=True),
    "coverage": Suite(coverage_page, "what unit and sim run of the product",
                      (*PLACES, "tests/unit", "tests/sim", "tests/fuzz"),
                      long=True),
    "interop": Suite(interop, "with Linux Soft-RoCE, and NICs, in QEMU",
                     (*PLACES, "tests/interop"), long=True),
}


if __name__ == "__main__":
    sys.exit("tests/run is the program; this is a part of it")
