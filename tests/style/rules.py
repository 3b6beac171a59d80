# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The rules of the house that a program can check, one function each.

A rule is given a path (relative to the top folder) and the file's text, and
yields (line number, what is wrong). Each rule has a sample that breaks it:
before the rules are applied to the tree, each has to find its own sample.
"""

import ast
import re

from house import ARROWS, PUBLIC, room_of

WIDTH = 80
TAB = 8
FILE_LINES = 600
FUNCTION_LINES = 75  # "up to about 60"

# (pattern of a system header, rooms and folders of rooms that may include it)
SYSTEM_HEADERS = (
    (r"infiniband/|rdma/", ("lib/verbs", "cm/rdmacm", "cm/rsocket",
                             "apps")),
    (r"rte_(eal|ethdev|flow|telemetry|bus|dev|interrupts)",
     ("pmd_glue", "apps/examples")),
    (r"rte_cfgfile", ("lib/config",)),
    (r"rte_", ("lib/engine", "lib/event", "lib/config", "pmd_glue",
               "apps/examples")),
)


def is_c(path, _text):
    return path.endswith((".c", ".h"))


def is_header(path, _text):
    return path.endswith(".h")


def is_library(path, _text):
    """Code that runs inside an application."""
    return (path.endswith(".c") and
            path.startswith(("lib/", "pmd_glue/", "cm/")))


def is_python(path, text):
    return path.endswith(".py") or "python3" in text.split("\n", 1)[0]


def is_shell(path, text):
    return (path.endswith(".sh") or
            re.match(r"#!.*\b(ba)?sh$", text.split("\n", 1)[0]) is not None)


def is_source(path, text):
    return (is_c(path, text) or is_python(path, text) or
            is_shell(path, text) or path.endswith("meson.build"))


def is_text(_path, _text):
    return True


def lines(text):
    return enumerate(text.splitlines(), 1)


def spdx(_path, text):
    head = text.splitlines()[:3]
    if head and head[0].startswith("#!"):
        head = head[1:]
    if not head or "SPDX-License-Identifier: BSD-3-Clause" not in head[0]:
        yield 1, "no SPDX-License-Identifier: BSD-3-Clause in the first line"
    elif "Copyright (c) 2026 The Roost authors" not in head[1]:
        yield 2, "no 'Copyright (c) 2026 The Roost authors' behind it"


def width(_path, text):
    for number, line in lines(text):
        if len(line.expandtabs(TAB)) > WIDTH:
            yield number, f"longer than {WIDTH} columns"


def blanks(_path, text):
    for number, line in lines(text):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"
    if text.endswith("\n\n"):
        yield text.count("\n"), "empty lines at the end of the file"


# In two halves, so that this file does not break its own rule.
LATER = re.compile("|".join((r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bXX" r"X\b",
                             r"\bfor " r"now\b", r"\bnot " r"implemented\b")))


def later(_path, text):
    for number, line in lines(text):
        if LATER.search(line):
            yield number, "says that something is left for later"


def arrows(path, text):
    room = room_of(path)
    if room == "tests":
        return
    for number, line in lines(text):
        include = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if include is None or "<" in line and \
                not include[1].startswith("roost/"):
            continue
        # Examples are built as outside of this tree.
        if room == "apps/examples" and "/" not in include[1]:
            continue
        target = room_of(re.sub(r"^roost/", PUBLIC, include[1]))
        if target != room and target not in ARROWS.get(room, ()):
            yield number, f"{room} may not include {include[1]}"


def system_headers(path, text):
    room = room_of(path)
    if room == "tests":
        return
    for number, line in lines(text):
        include = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        if include is None:
            continue
        for pattern, rooms in SYSTEM_HEADERS:
            if re.match(pattern, include[1]):
                if not any(f"{room}/".startswith(f"{of}/") for of in rooms):
                    yield number, f"{room} may not include <{include[1]}>"
                break


def typedef(_path, text):
    for number, line in lines(text):
        if re.match(r"\s*typedef\s+(struct|union|enum)\b", line):
            yield number, "typedef of a struct, union or enum"


STDOUT = re.compile(r"(?<![a-z_])(printf|puts|putchar|vprintf)\s*\(|"
                    r"\bstdout\b")


def stdout(_path, text):
    for number, line in lines(text):
        if STDOUT.search(line):
            yield number, "stdout is the application's"


def guard(path, text):
    """ROOST_<room>_<name>_H, the room without lib/."""
    name = re.sub(r"^lib/(include/)?", "", path)
    words = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    wanted = words if words.startswith("ROOST_") else "ROOST_" + words
    found = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.M)
    if found is None:
        yield 1, "no include guard"
    elif not path.startswith("tests/") and found[1] != wanted:
        yield 1, f"the include guard is {found[1]}, should be {wanted}"


def contract(_path, text):
    behind = text.split("\n#define ", 1)[-1]
    if not re.match(r"\w+\n\n?/\*", behind):
        yield 1, "no comment behind the include guard says what this owns"


def length(_path, text):
    count = text.count("\n")
    if count > FILE_LINES:
        yield count, f"{count} lines; a second topic gets a second file"


def functions(_path, text):
    start = None
    for number, line in lines(text):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start - 1 > FUNCTION_LINES:
                yield start, f"a function of {number - start - 1} lines"
            start = None


def python_functions(_path, text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            count = node.end_lineno - node.lineno
            if count > FUNCTION_LINES:
                yield node.lineno, f"a function of {count} lines"


class Rule:
    """name, where it applies, how it is checked, and a sample that breaks it:
    (path, text).
    """

    def __init__(self, name, applies, check, sample_path, sample):
        self.name = name
        self.applies = applies
        self.check = check
        self.sample_path = sample_path
        self.sample = sample


RULES = [
    Rule("spdx", is_source, spdx, "lib/a.c", "/* Copyright */\n\n"),
    Rule("width", is_source, width, "lib/a.c", "\t" * 9 + "123456789\n"),
    Rule("blanks", is_text, blanks, "lib/a.c", "a \n"),
    Rule("later", is_source, later, "lib/a.c", "/* TO" "DO */\n"),
    Rule("arrows", is_c, arrows, "lib/wire/a.c",
         "#include <roost/qp.h>\n"),
    Rule("system-headers", is_c, system_headers, "lib/engine/a.c",
         "#include <infiniband/verbs.h>\n"),
    Rule("typedef", is_c, typedef, "lib/a.h", "typedef struct a a;\n"),
    Rule("stdout", is_library, stdout, "lib/wire/a.c", '\tprintf("a");\n'),
    Rule("guard", is_header, guard, "lib/wire/a.h",
         "#ifndef A_H\n#define A_H\n"),
    Rule("contract", is_header, contract, "lib/wire/a.h",
         "#ifndef ROOST_WIRE_A_H\n#define ROOST_WIRE_A_H\nint a;\n"),
    Rule("file-length", is_source, length, "lib/a.c",
         "\n" * (FILE_LINES + 1)),
    Rule("function-length", is_c, functions, "lib/a.c",
         "{\n" + "\n" * (FUNCTION_LINES + 1) + "}\n"),
    Rule("python-function-length", is_python, python_functions, "a.py",
         "def a():\n" + "    a\n" * (FUNCTION_LINES + 1)),
]
