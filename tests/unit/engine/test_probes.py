#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The static probes of libroost: each that doc/probes.md has is there with as
many arguments, no other one is, and each costs a nop.

usage: test_probes.py LIBROOST DOC
"""

import re
import shutil
import struct
import subprocess
import sys

SKIPPED = 77
# x86-64; on aarch64 a nop has four bytes.
NOPS = {62: b"\x90", 183: struct.pack("<I", 0xd503201f)}


def notes(path):
    """(probe, address, number of arguments) of each note."""
    done = subprocess.run(["readelf", "-n", "-W", path], check=True,
                          capture_output=True, text=True)
    found = re.findall(r"Provider: roost\s+Name: (\w+)\s+Location: (0x\w+),"
                       r".*?\n\s+Arguments: ?([^\n]*)", done.stdout)
    return [(name, int(at, 16), len(arguments.split()))
            for name, at, arguments in found]


def documented(path):
    """probe -> number of arguments."""
    with open(path) as file:
        rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|$", file.read(),
                          re.MULTILINE)
    return {name: len(re.sub(r"\([^)]*\)", "", arguments).split(","))
            for name, arguments in rows}


def code_at(data, address):
    """The bytes at an address, by the program headers."""
    offset, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    for i in range(number):
        kind, _, at, vaddr, _, length = struct.unpack_from(
            "<IIQQQQ", data, offset + i * size)
        if kind == 1 and vaddr <= address < vaddr + length:
            return data[at + address - vaddr:][:4]
    return b""


def main(library, doc):
    if not shutil.which("readelf"):
        print("skipped: no readelf")
        return SKIPPED
    with open(library, "rb") as file:
        data = file.read()
    nop = NOPS.get(struct.unpack_from("<H", data, 18)[0])
    found, wanted = notes(library), documented(doc)
    errors = [f"{name}: {count} arguments, not {wanted.get(name)}"
              for name, _, count in found if wanted.get(name) != count]
    errors += [f"{name}: no such probe"
               for name in wanted.keys() - {name for name, _, _ in found}]
    errors += [f"{name}: no nop at {at:#x}" for name, at, _ in found
               if nop and not code_at(data, at).startswith(nop)]
    print("\n".join(errors) or f"{len(found)} places of {len(wanted)} probes")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
