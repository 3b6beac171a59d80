# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What libibverbs.so.1 and librdmacm.so.1 export, against lists of what
rdma-core's versions do (libibverbs.symbols, librdmacm.symbols); and programs
that were linked, with BIND_NOW, against libraries with these lists."""

import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian 12; Ubuntu 24.04; Debian 13, RHEL 10; Fedora 43; Ubuntu 26.04; the
# newest; Amazon's EFA installer
VERSIONS = ("44", "50", "56", "58", "61", "62", "64", "64amzn0")
LIBRARIES = {"libibverbs": "verbs", "librdmacm": "rdmacm"}


def order(version):
    """A key: "64amzn0" is after "64"."""
    number, suffix = re.match(r"(\d+)(.*)", version).groups()
    return int(number), suffix


def read(name):
    """Returns (rows, nodes) of a list: [(symbol, node, first)], [(node,
    first)]."""
    with open(os.path.join(HERE, name + ".symbols"), encoding="utf-8") as file:
        words = [line.split() for line in file if not line.startswith("#")]
    nodes = [tuple(row[1:]) for row in words if row[0] == "node"]
    return [tuple(row) for row in words if row[0] != "node"], nodes


def symbols(name, version):
    """{symbol@node} of that rdma-core."""
    rows, nodes = read(name)
    nodes = [node for node, first in nodes if order(first) <= order(version)]
    found = {f"{symbol}@{nodes[-1] if node == 'private' else node}"
             for symbol, node, first in rows if order(first) <= order(version)}
    if nodes:
        number = nodes[-1].rpartition("_")[2]
        found.add(f"verbs_register_driver_{number}@{nodes[-1]}")
    return found


def exported(path):
    """{symbol@node} of a library."""
    lines = subprocess.run(["nm", "--dynamic", "--defined-only",
                            "--with-symbol-versions", path], text=True,
                           stdout=subprocess.PIPE, check=True).stdout
    names = (line.split()[-1].replace("@@", "@")
             for line in lines.splitlines() if line.split()[-2] != "A")
    return {name for name in names if "@" in name}


def wrong_list(name, path):
    """The union of all versions' lists is what the library exports."""
    listed = set().union(*(symbols(name, version) for version in VERSIONS))
    found = exported(path)
    return [*(f"{symbol}: not exported" for symbol in sorted(listed - found)),
            *(f"{symbol}: in no list" for symbol in sorted(found - listed))]


def installed():
    """{soname: path} of the system's libraries, and rdma-core's version."""
    lines = subprocess.run(["ldconfig", "-p"], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    paths = {}
    for line in lines:
        if " => " in line:
            paths.setdefault(line.split()[0], line.split()[-1])
    done = subprocess.run(["pkg-config", "--modversion", "libibverbs"],
                          text=True, stdout=subprocess.PIPE)
    words = done.stdout.strip().split(".")
    return paths, words[2] if len(words) > 2 else None


def wrong_installed(name):
    """The list of the installed version is what the installed library has."""
    paths, version = installed()
    path = paths.get(name + ".so.1")
    if version not in VERSIONS or not path:
        return []
    return [f"{symbol}: in one of {path} and the list of {version}"
            for symbol in sorted(symbols(name, version) ^ exported(path))]


# ---- programs ---------------------------------------------------------------

def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def make_stub(folder, name, version):
    """A library with the soname, the nodes and the symbols of that version."""
    listed = sorted(symbols(name, version))
    nodes = sorted({symbol.partition("@")[2] for symbol in listed})
    code = "".join(f'void f{i}(void) {{}}\n__asm__(".symver f{i}, {symbol}");\n'
                   for i, symbol in enumerate(listed))
    source = write(folder, name + ".c", code)
    script = write(folder, name + ".map",
                   "".join(f"{node} {{ }};\n" for node in nodes))
    path = os.path.join(folder, name + ".so.1")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source,
                    f"-Wl,-soname,{name}.so.1",
                    f"-Wl,--version-script={script}"], check=True)
    return listed, path


def make_program(folder, stubs):
    """A program that takes the address of each symbol, bound at its start."""
    listed = [symbol for symbols_of, _path in stubs for symbol in symbols_of]
    code = ["#include <stdio.h>\n"]
    for i, symbol in enumerate(listed):
        code.append(f"extern char s{i}[];\n"
                    f'__asm__(".symver s{i}, {symbol}");\n')
    code.append("int main(void) {\n\tvoid *all[] = {")
    code.append(", ".join(f"s{i}" for i in range(len(listed))))
    code.append("};\n\tunsigned long i, n = 0;\n"
                "\tfor (i = 0; i < sizeof(all) / sizeof(all[0]); i++)\n"
                "\t\tn += !!all[i];\n\tprintf(\"%lu\\n\", n);\n"
                "\treturn 0;\n}\n")
    source = write(folder, "program.c", "".join(code))
    path = os.path.join(folder, "program")
    subprocess.run(["gcc", "-fPIE", "-pie", "-o", path, source, "-Wl,-z,now",
                    *(stub for _listed, stub in stubs)], check=True)
    return len(listed), path


def started(program, folders):
    return subprocess.run([program], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={
                              **os.environ, "LD_LIBRARY_PATH":
                              os.pathsep.join(folders)})


def wrong_program(build, version):
    """A program that was linked against that rdma-core starts with ours."""
    with tempfile.TemporaryDirectory(prefix="roost-abi-") as folder:
        count, program = make_program(folder, [
            make_stub(folder, name, version) for name in LIBRARIES])
        ours = [os.path.join(build, *where)
                for where in (("lib", "verbs"), ("cm", "rdmacm"), ("lib",))]
        done = started(program, ours)
        if done.returncode == 0 and done.stdout == f"{count}\n":
            return []
        return done.stdout.splitlines() or [f"status {done.returncode}"]


def unnoticed():
    """A program of the newest version does not start with an older library."""
    with tempfile.TemporaryDirectory(prefix="roost-abi-") as folder:
        newer, older = (os.path.join(folder, name) for name in ("new", "old"))
        os.mkdir(newer)
        os.mkdir(older)
        _count, program = make_program(newer, [
            make_stub(newer, name, VERSIONS[-1]) for name in LIBRARIES])
        for name in LIBRARIES:
            make_stub(older, name, VERSIONS[0])
        done = started(program, [older])
        return [] if done.returncode else ["it starts with the lists of 44"]


def checks(build):
    paths = {name: os.path.join(build, "lib" if name == "libibverbs" else "cm",
                                folder, name + ".so.1")
             for name, folder in LIBRARIES.items()}
    return [*((f"{name}: lists", wrong_list(name, path))
              for name, path in paths.items()),
            *((f"{name}: the installed one", wrong_installed(name))
              for name in LIBRARIES),
            ("sample: a program of the newest version", unnoticed()),
            *((f"a program of rdma-core {version}",
               wrong_program(build, version)) for version in VERSIONS)]
