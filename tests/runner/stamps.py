# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What passed before and need not run again.

The result of a suite is kept under a key made of everything that it could
depend on: its files, those of the runner, the packages of the machine, the
kernel, the rights we have. A suite with a failure is never kept.
"""

import hashlib
import json
import os
import platform
import time

from tally import Tally

VERSION = "2"
# What every suite depends on.
ALWAYS = ("apps/setup.sh", "tests/ready.py", "tests/run", "tests/runner")


def tree_files(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders
                            if name not in (".git", "__pycache__") and
                            not name.startswith("build"))
        for name in sorted(names):
            yield os.path.join(folder, name)


def digest_of(path):
    """Of a file and its rights."""
    with open(path, "rb") as file:
        text = hashlib.sha256(file.read()).hexdigest()
    return f"{os.stat(path).st_mode:o} {text}"


def rights():
    with open("/proc/self/status") as file:
        return [line for line in file.read().splitlines()
                if line.startswith(("CapEff", "CapBnd", "Seccomp"))]


def within(path, places):
    return any(place == "." or path == place or path.startswith(place + "/")
               for place in places)


class Stamps:
    """The kept results, in a file under build/."""

    def __init__(self, top, path):
        self.path = path
        self.digests = {os.path.relpath(path, top): digest_of(path)
                        for path in tree_files(top)}
        self.machine = [digest_of("/var/lib/dpkg/status"), VERSION,
                        platform.release(), str(os.geteuid()), *rights()]
        try:
            with open(path) as file:
                self.kept = json.load(file)
        except (OSError, ValueError):
            self.kept = {}

    def key(self, suite, places):
        """One string for what the suite, or a part of it, depends on."""
        digest = hashlib.sha256(suite.encode())
        for path, one in sorted(self.digests.items()):
            if within(path, (*ALWAYS, *places)):
                digest.update(f"{path} {one}\n".encode())
        for word in self.machine:
            digest.update(word.encode() + b"\n")
        return digest.hexdigest()

    def get(self, suite, places):
        """(tally, when it ran), or None."""
        kept = self.kept.get(suite)
        if kept is None or kept["key"] != self.key(suite, places):
            return None
        return Tally.from_dict(kept["tally"]), kept["when"]

    def put(self, suite, places, tally):
        if tally.failed or not tally.passed:
            return
        self.kept[suite] = {"key": self.key(suite, places),
                            "tally": tally.to_dict(),
                            "when": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w") as file:
            json.dump(self.kept, file)
        os.replace(self.path + ".new", self.path)
