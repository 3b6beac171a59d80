#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the programs of this folder make of an entry that fails, without a
guest: its second attempt, and what a report says of it."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(HERE), "real"),
                 os.path.dirname(HERE)]
import suite  # noqa: E402
from harness import Case, Failure  # noqa: E402

LOGS = "interop-logs"


class World:
    """One whose guest writes nowhere but in its folder for logs."""

    def __init__(self, build):
        self.logs = os.path.join(build, LOGS)
        self.guest = None

    def check(self, folder):
        if os.path.commonpath((self.logs, folder)) != self.logs:
            raise Failure("the guest cannot write its logs")


class SecondAttempt(unittest.TestCase):
    def setUp(self):
        build = tempfile.TemporaryDirectory()
        self.addCleanup(build.cleanup)
        self.world = World(build.name)
        self.tries = []

    def attempt(self, room, world):
        self.tries.append(room.logs)
        world.check(room.logs)
        if len(self.tries) == 1:
            raise Failure("the first one")

    def run_it(self):
        entry = Case("entry", self.attempt)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            results = suite.run([entry], self.world,
                                os.path.dirname(self.world.logs), {}, LOGS,
                                False)
        return results[entry], out.getvalue()

    def test_the_guest_can_write_its_logs(self):
        result, out = self.run_it()
        self.assertEqual(result, ("ok", ""))
        self.assertIn("not steady: entry (the first one)", out)

    def test_the_logs_of_the_first_one_stay(self):
        self.run_it()
        self.assertNotEqual(*self.tries)
        self.assertTrue(os.path.isdir(self.tries[0]))


if __name__ == "__main__":
    unittest.main()
