#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What tests/bench/where makes of what callgrind and perf write."""

import os
import re
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report  # noqa: E402
import script  # noqa: E402

where = script.load("where")
TOP = where.ready.TOP
RX, ICRC = "lib/engine/transport/rx.c", "lib/wire/icrc.h"

# deliver() of rx.c has inlined a line of icrc.h, and calls outer(), whose name
# is told here. A line may be relative to the one before it.
CALLGRIND = """\
version: 1
positions: line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
summary: 1000 9

fl=(1) /elsewhere/build/../lib/engine/transport/rx.c
fn=(7) deliver.constprop.0
100 {first} 2 1 0 1 1
+3 5
fi=(2) /elsewhere/build/../lib/wire/icrc.h
36 4 1
fe=(1)
* 1 0 0 0 0 0 0 0 0 1 1 1 1
cfi=(3) /usr/include/rte_mbuf.h
cfn=(8) outer
calls=2 50
+4 500 100
41 3

fl=(3)
fn=(8)
50 250 50
"""
PERF = """\
 16/16  55aa deliver
  /elsewhere/build/../lib/engine/transport/rx.c:100
 16/16  55ab deliver
  /elsewhere/build/../lib/engine/transport/rx.c:100
 16/16  55ac icrc
  /usr/lib/gcc/emmintrin.h:1329
 16/16  55ad [unknown]
  libc.so.6[39f4]
 16/17  55aa deliver
  /elsewhere/build/../lib/engine/transport/rx.c:100
 16/16  ffffffff8225fd19 irq_enable
  [kernel.kallsyms][ffffffff8225fd19]
"""


def counts(first=10):
    return where.Callgrind(CALLGRIND.format(first=first).splitlines())


def place(line, file=RX, function="deliver", home=RX):
    return where.Place(function, home, file, line)


class Counts(unittest.TestCase):
    def test_costs_are_those_of_the_innermost_line(self):
        found = counts()
        outer = place(50, "/usr/include/rte_mbuf.h", "outer",
                      "/usr/include/rte_mbuf.h")
        self.assertEqual(
            {key: costs[0] for key, costs in found.costs.items()},
            {place(100): 10, place(103): 5, place(36, ICRC): 4, place(36): 1,
             place(41): 3, outer: 250})

    def test_reads_and_writes_that_miss_are_one_figure(self):
        found = counts()
        self.assertEqual(found.figures(place(100)), {
            "instructions": 10, "reads": 2, "writes": 1, "D1 misses": 2,
            "L2 misses": 0, "mispredicted": 0})
        self.assertEqual(found.figures(place(36))["mispredicted"], 2)

    def test_what_both_runs_have_is_left_out(self):
        found = where.difference(counts(10), counts(90), 16)
        self.assertEqual(found[place(100)]["instructions"], 5)
        self.assertEqual(found[place(103)]["instructions"], 0)

    def test_line_that_the_short_run_has_not(self):
        found = where.difference(where.Callgrind([]), counts(), 2)
        self.assertEqual(found[place(103)]["instructions"], 2.5)


class Times(unittest.TestCase):
    def test_samples_are_those_of_the_program_itself(self):
        self.assertEqual(where.samples(PERF.splitlines()), {
            ("deliver", RX, 100): 2, ("icrc", "/usr/lib/gcc/emmintrin.h",
                                      1329): 1, ("[unknown]", "", 0): 1})

    def test_ns_are_shared_out(self):
        profile = where.difference(where.Callgrind([]), counts(), 1)
        where.add_ns(profile, where.samples(PERF.splitlines()), 80)
        self.assertEqual(profile[place(100)]["ns"], 40)
        self.assertEqual(profile[place(103)]["ns"], 0)
        self.assertEqual(sum(figures["ns"] for figures in profile.values()),
                         80)


class Tables(unittest.TestCase):
    def test_step_of_a_file_a_function_or_its_home(self):
        for found, words in (
                (place(36, ICRC), "the ICRC"),
                (place(1329, "/x/emmintrin.h", "icrc", "/x/emmintrin.h"),
                 "the ICRC"),
                (place(99, "lib/wire/psn.h"), "the QP's state"),
                (place(1, "/x/y.h", "strange", "/x/y.h"), where.OTHER)):
            self.assertIn(words, where.step_of(found))

    def test_steps_name_what_there_is(self):
        """A file of the tree, or a function of it or of libc."""
        tree, texts = [], []
        for folder in where.OURS:
            for root, _, names in os.walk(os.path.join(TOP, folder)):
                tree += [os.path.relpath(os.path.join(root, name), TOP)
                         for name in names]
        for path in tree:
            if path.endswith((".c", ".h")):
                with open(os.path.join(TOP, path)) as file:
                    texts.append(file.read())
        text = "".join(texts)
        for _, patterns in where.STEPS:
            for pattern in patterns.split():
                if pattern.startswith(where.OURS):
                    self.assertTrue(where.fnmatch.filter(tree, pattern),
                                    pattern)
                elif pattern.startswith(("roost", "icrc", "fold")):
                    name = pattern.replace("*", r"\w*")
                    self.assertTrue(re.search(rf"\b{name}\(", text), pattern)

    def test_tables_of_a_case(self):
        profile = where.difference(where.Callgrind([]), counts(), 1)
        where.add_ns(profile, where.samples(PERF.splitlines()), 80)
        text = where.text_of("write16", {"write16": profile,
                                         "many": profile}, 2)
        self.assertIn("80 ns and 80 ns", text)
        self.assertIn("| the ICRC: computed and checked | 4 |  |  | 20.0 |",
                      text)
        self.assertIn("| all | 273 | 2.00 | 2.00 | 80.0 | 2.00 |  | 80.0 |",
                      text)
        self.assertIn("| `transport/rx.c:100` |", text)
        self.assertNotIn("rx.c:103", text)

    def test_the_document_has_its_markers(self):
        with open(os.path.join(TOP, "doc", "performance.md")) as file:
            self.assertIn("new", report.replaced(file.read(), "new",
                                                 where.MARKERS))


class Skipped(unittest.TestCase):
    def test_without_its_programs_it_says_so(self):
        with unittest.mock.patch("shutil.which", lambda _name: None), \
                unittest.mock.patch("sys.argv", ["where"]), \
                unittest.mock.patch("builtins.print") as said:
            self.assertEqual(where.main(), 0)
        said.assert_called_once_with("tests/bench/where: skipped: needs "
                                     "valgrind (package valgrind)")


if __name__ == "__main__":
    unittest.main()
