# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the cases have in common: the tree, the build, a temporary folder, and
programs that are run.
"""

import os
import shutil
import subprocess
import tempfile

# Lines of a program's output that a failure shows.
SHOWN = 30


class Failure(Exception):
    """The text says what is wrong."""


class Skip(Exception):
    """The text says what is missing here."""


class Place:
    """top: the tree. build: a build. folder: for the cases' files; gone at the
    end. packages: where the Debian packages are; None: not built.
    """

    def __init__(self, top, build, packages):
        self.top = top
        self.build = build
        self.folder = None
        self.packages = packages

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="roost-packages-")
        # The user of apt's downloads has to reach it.
        os.chmod(self.folder, 0o755)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def packaging(self, *names):
        return os.path.join(self.top, "apps", "packaging", *names)

    def read(self, *names):
        with open(os.path.join(self.top, *names), encoding="utf-8") as file:
            return file.read()

    def run(self, argv, env=None, limit_s=600):
        """Returns what it wrote. Failure: it did not end with 0."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("ROOST_")}
        environment.update(LC_ALL="C.UTF-8", **(env or {}))
        try:
            done = subprocess.run(argv, env=environment, cwd=self.top,
                                  stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, errors="replace",
                                  stderr=subprocess.STDOUT, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Failure(f"{argv[0]}: still running after {limit_s} s") \
                from None
        if done.returncode != 0:
            last = "\n".join(done.stdout.splitlines()[-SHOWN:])
            raise Failure(f"{' '.join(argv)[:200]}: exit status "
                          f"{done.returncode}\n{last}")
        return done.stdout


def need(*programs):
    """Skip, unless all of them are installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed")
