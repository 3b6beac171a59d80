#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The process that runs suites beside others: what it says, and that a suite
whose process ended has no result.
"""

import contextlib
import io
import os
import sys
import unittest

sys.dont_write_bytecode = True

from beside import Beside
from programs import failed, passed


def run(name):
    print(f"{name} runs")
    if name == "ends":
        sys.stdout.flush()
        os._exit(1)
    idle = os.sched_getscheduler(0) == os.SCHED_IDLE
    return (passed() if idle else failed(name)), 1.5


class Tests(unittest.TestCase):
    def results(self, names):
        beside = Beside(names, run)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            found = {name: result and (result[0].line(), result[1])
                     for name, result in beside.ended(True)}
        return found, said.getvalue()

    def test_each_suite_has_a_result_and_its_text(self):
        found, said = self.results(["a", "b"])
        self.assertEqual(found, {
            name: ("1 passed, 0 failed, 0 skipped", 1.5) for name in "ab"})
        self.assertEqual(said, "a runs\nb runs\n")

    def test_a_process_that_ended_leaves_no_result(self):
        found, said = self.results(["a", "ends", "b"])
        self.assertEqual([found["ends"], found["b"]], [None, None])
        self.assertEqual(found["a"][0], "1 passed, 0 failed, 0 skipped")
        self.assertEqual(said, "a runs\nends runs\n")


if __name__ == "__main__":
    unittest.main()
