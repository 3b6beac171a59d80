#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What tests/tools/mutate makes of lines of C."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutations  # noqa: E402

# The line, what stands above it, and what it is to become, in any order.
ROWS = (
    ("\tif (a < b)", "{", {"\tif (a <= b)", "\tif (a >= b)",
                           "\tif (!(a < b))"}),
    ("\twhile (!done) {", "{", {"\twhile (!(!done)) {", "\twhile (done) {"}),
    ("\tif (f(a) && ", "{", {"\tif (f(a) || "}),
    ("\t    a - 0x1f)", "&&", {"\t    a + 0x1f)", "\t    a - 0x20)",
                               "\t    a - 0x1e)"}),
    ("\treturn -EINVAL;", ")", {"\treturn -EPERM;"}),
    ("\treturn true;", ")", {"\treturn false;"}),
    ("\tqp->count++;", ";", {"\tqp->count--;", "\t;"}),
    ("\tqp->flags |= FLAG;", ";", {"\tqp->flags &= FLAG;", "\t;"}),
    ("\tstruct a *b = c;", "{", set()),
    ("\tuint32_t n;", "{", set()),
    ("\tfirst(a,", "{", set()),
    ("\t\tsecond);", ",", set()),
    ("\ttell(\"a < 1\"); /* b > 2 */", ";", {"\t;"}),
    ("#define A (B + 1)", "", set()),
    ("\t[A] = { 0 },", "{", {"\t[A] = { 1 },", "\t"}),
    ("\t.valid = B,", "},", {"\t"}),
    ("\tuint8_t byte10 = x1;", "{", set()),
    ("\ta = 010;", ";", {"\ta = 9;", "\ta = 7;", "\t;"}),
)


class Mutations(unittest.TestCase):
    def test_rows(self):
        for line, above, wanted in ROWS:
            lines = [above, line]
            codes = mutations.masked("\n".join(lines)).split("\n")
            made = mutations.of_line(lines, codes, 1)
            with self.subTest(line=line):
                self.assertEqual({new for _, new in made}, wanted)

    def test_a_comment_over_lines_is_no_code(self):
        text = "/* a\n * if (a < 1)\n */\n\tb = 1;\n"
        codes = mutations.masked(text).split("\n")
        self.assertEqual([bool(mutations.of_line(text.split("\n"), codes, at))
                          for at in range(4)], [False, False, False, True])


if __name__ == "__main__":
    unittest.main()
