# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Each installed header compiles alone, as C and as C++, with no other headers
than those of its folder and the system's; and C++ sees functions of C."""

import shutil
import subprocess

COMPILERS = (
    ("gcc", "c", "c99"),
    ("clang", "c", "c11"),
    ("g++", "c++", "c++11"),
    ("clang++", "c++", "c++17"),
)
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
          "-fsyntax-only")
# A second declaration with another linkage is refused.
AS_C = 'extern "C" decltype(a_function) a_function;\n'
# (language or None: any, text, is it right)
SAMPLES = (
    (None, "void a_function(int x);\n", True),
    (None, "void a_function(uint32_t x);\n", False),
    ("c++", "void a_function(int x);\n" + AS_C, False),
)


def errors(compiler, language, standard, folder, text):
    done = subprocess.run(
        [compiler, *STRICT, "-x", language, f"-std={standard}", f"-I{folder}",
         "-"], input=text, capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line]


def program(language, header, functions):
    """What includes a header and, as C++, declares its functions as C's."""
    text = f"#include <{header}>\n"
    if language == "c++":
        text += "".join(f'extern "C" decltype({name}) {name};\n'
                        for name in sorted(functions))
    return text


def checks(folder, headers):
    """headers: {name, below the folder: the functions and variables that it
    declares}. Yields (name, what is wrong) for each compiler that is installed.
    """
    for row in COMPILERS:
        compiler, language, standard = row
        if not shutil.which(compiler):
            continue
        found = [f"sample: {text!r}" for wanted, text, right in SAMPLES
                 if wanted in (None, language) and
                 right != (not errors(*row, folder, text))]
        for header, functions in sorted(headers.items()):
            found += errors(*row, folder,
                            program(language, header, functions))
        yield (f"headers alone: {compiler} {standard}",
               list(dict.fromkeys(found)))
