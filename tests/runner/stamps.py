# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What passed before and need not run again.

The result of a suite is kept under a key made of everything that it could
depend on: every file of the tree, the packages of the machine, the kernel, the
rights we have. A suite with a failure is never kept.
"""

import hashlib
import json
import os
import platform
import time

from tally import Tally

VERSION = "1"


def tree_files(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders
                            if name not in (".git", "__pycache__") and
                            not name.startswith("build"))
        for name in sorted(names):
            yield os.path.join(folder, name)


def rights():
    with open("/proc/self/status") as file:
        return [line for line in file.read().splitlines()
                if line.startswith(("CapEff", "CapBnd", "Seccomp"))]


def key(top):
    """One string for the state of tree and machine."""
    digest = hashlib.sha256()
    for path in (*tree_files(top), "/var/lib/dpkg/status"):
        digest.update(f"{path} {os.stat(path).st_mode:o}\n".encode())
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    for word in (VERSION, platform.release(), str(os.geteuid()), *rights()):
        digest.update(word.encode() + b"\n")
    return digest.hexdigest()


class Stamps:
    """The kept results, in a file under build/."""

    def __init__(self, top, path):
        self.path = path
        self.key = key(top)
        try:
            with open(path) as file:
                self.kept = json.load(file)
        except (OSError, ValueError):
            self.kept = {}

    def get(self, suite):
        """(tally, when it ran), or None."""
        kept = self.kept.get(suite)
        if kept is None or kept["key"] != self.key:
            return None
        return Tally.from_dict(kept["tally"]), kept["when"]

    def put(self, suite, tally):
        if tally.failed or not tally.passed:
            return
        self.kept[suite] = {"key": self.key, "tally": tally.to_dict(),
                            "when": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w") as file:
            json.dump(self.kept, file)
        os.replace(self.path + ".new", self.path)
