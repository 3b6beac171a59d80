# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Checks of the tree that other people's programs make: clang-format,
shellcheck, codespell.

A program that is missing, crashes or ends with a status that its output does
not explain fails its check. Each program is given a sample that it has to
complain of, as the rules of rules.py are.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile

from rules import is_c, is_shell, is_text


class Tool:
    """argv: the program and its options; the files follow. applies: to which
    files. complaint: pattern of a line of its output that is a complaint.
    package: of Debian. fix: told above the complaints. sample: (path, text)
    that the program has to complain of.
    """

    def __init__(self, argv, applies, complaint, package, fix, sample):
        self.name = argv[0]
        self.argv = argv
        self.applies = applies
        self.complaint = complaint
        self.package = package
        self.fix = fix
        self.sample = sample


TOOLS = [
    Tool(["clang-format", "--dry-run", "-Werror"], is_c,
         re.compile(r"\S+:\d+:\d+: error: code should be"), "clang-format",
         "clang-format -i mends it", ("a.c", "int  a;\n")),
    Tool(["shellcheck", "--external-sources", "--format=gcc"], is_shell,
         re.compile(r"\S+:\d+:\d+: \w+: "), "shellcheck",
         "shellcheck -x FILE says more", ("a.sh", "#!/bin/sh\nrm $1\n")),
    Tool(["codespell"], is_text, re.compile(r"\S+:\d+: .* ==> "),
         "codespell", "words that are right are listed in .codespellrc",
         # In two halves, so that this file does not break its own rule.
         ("a.md", "t" "eh\n")),
]


def status_text(status):
    if status >= 0:
        return f"exit status {status}"
    return f"killed by {signal.Signals(-status).name}"


def judge(tool, status, output):
    """What is wrong, as lines for the report. A tool's complaints and its exit
    status go together; output of another kind is shown as it came.
    """
    lines = output.splitlines()
    found = [line for line in lines if tool.complaint.match(line)]
    if status == 0 and not found:
        return []
    if status > 0 and found:
        return [tool.fix, *found]
    return [f"{tool.name}: {status_text(status)}", *lines]


class Started:
    """A tool at work on some files of a folder."""

    def __init__(self, tool, paths, folder):
        self.tool = tool
        self.output = tempfile.TemporaryFile("w+", errors="replace")
        self.process = None
        if shutil.which(tool.name) is not None:
            self.process = subprocess.Popen(
                [*tool.argv, *paths], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=self.output, stderr=subprocess.STDOUT)

    def wrong(self):
        """Waits for its end."""
        with self.output:
            if self.process is None:
                return [f"{self.tool.name} is not installed; "
                        f"apt-get install {self.tool.package}"]
            status = self.process.wait()
            self.output.seek(0)
            return judge(self.tool, status, self.output.read())


def find_sample(tool, top):
    """A line if the tool does not complain of its sample."""
    with tempfile.TemporaryDirectory(prefix="roost-style-") as folder:
        for name in (".clang-format", ".codespellrc"):
            shutil.copy(os.path.join(top, name), folder)
        path, text = tool.sample
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
        if any(path in line for line in Started(tool, [path], folder).wrong()):
            return []
    return [f"{tool.name} does not find its own sample"]


# What must not pass: (exit status, output).
BROKEN = ((1, ""), (2, "a.c: no such file\n"), (-signal.SIGSEGV, ""))


def accepts_broken(tool):
    return [f"{tool.name}: {status_text(status)} would pass"
            for status, output in BROKEN if not judge(tool, status, output)]


def start(tree, top):
    """Starts all tools on the tree. Returns [(name, function that waits and
    returns what is wrong)].
    """
    def finish(started):
        return accepts_broken(started.tool) + \
            find_sample(started.tool, top) + started.wrong()

    checks = []
    for tool in TOOLS:
        paths = [path for path, text in sorted(tree.items())
                 if tool.applies(path, text)]
        started = Started(tool, paths, top)
        checks.append((tool.name, lambda one=started: finish(one)))
    return checks
