# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The calls between the files of libraries and programs, read with nm from the
object files of a build.
"""

import collections
import json
import os
import subprocess

FOLDERS = ("lib/", "cm/", "pmd_glue/", "apps/")
# What stands outside of the house and sees what is installed, as its users do.
OUTSIDE = ("apps/examples/",)
# What has names of the C library's functions, for programs that it is preloaded
# to: others mean the C library's.
STAND_INS = ("lib/preload/",)


def objects(top, build):
    """{object file: source, relative to top} of libraries and programs."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        source = os.path.relpath(
            os.path.join(command["directory"], command["file"]), top)
        if source.startswith(FOLDERS) and \
                not source.startswith(OUTSIDE) and \
                not command["output"].startswith("tests/"):
            path = os.path.join(command["directory"], command["output"])
            found[path] = source
    return found


def parse(text):
    """What `nm --print-file-name --portability` prints: {object: (symbols that
    it defines for others, symbols that it wants)}.
    """
    found = collections.defaultdict(lambda: (set(), set()))
    for line in text.splitlines():
        path, words = line.split(": ", 1)
        name, kind = words.split()[:2]
        if kind in "Uvw":
            found[path][1].add(name)
        elif kind.isupper() or kind == "u":
            found[path][0].add(name)
    return found


def pairs(tables, sources):
    """{(file, file that it calls): set of symbols}. A symbol that several
    files define is that of a file of the same program or library, if there is
    one there.
    """
    owners = collections.defaultdict(set)
    for path, (defined, _wanted) in tables.items():
        for name in defined:
            owners[name].add(path)
    found = collections.defaultdict(set)
    for path, (_defined, wanted) in tables.items():
        for name in wanted:
            near = {owner for owner in owners.get(name, ())
                    if os.path.dirname(owner) == os.path.dirname(path)}
            for owner in near or owners.get(name, ()):
                if sources[owner].startswith(STAND_INS) and \
                        not sources[path].startswith(STAND_INS):
                    continue
                if sources[owner] != sources[path]:
                    found[sources[path], sources[owner]].add(name)
    return dict(found)


def calls(top, build):
    """Returns the pairs, and lines where there are no objects to read."""
    sources = objects(top, build)
    missing, there = [], []
    for path, source in sorted(sources.items()):
        if not os.path.exists(path):
            missing.append(f"{source}: no {os.path.relpath(path, build)}; "
                           f"ninja -C {os.path.relpath(build)} product")
        else:
            there.append(path)
    if not there:
        return {}, missing or [f"{build} is no build of this tree"]
    done = subprocess.run(["nm", "--print-file-name", "--portability", *there],
                          capture_output=True, text=True, check=True)
    found = pairs(parse(done.stdout), sources)
    if not found:
        missing.append("nm shows no call")
    return found, missing
