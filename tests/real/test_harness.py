#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What tests/real makes of a failure: its second attempt, its report, and what
tests/run counts of it."""

import contextlib
import io
import os
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "runner")]
import attempts  # noqa: E402
import cases_rdmacm  # noqa: E402
import harness  # noqa: E402
import lanes  # noqa: E402
import process  # noqa: E402
import tally  # noqa: E402


class Attempts(unittest.TestCase):
    """Cases by what comes of their attempts, one letter each: + passes, -
    fails, s skips.
    """

    def run_all(self, *fates, once=False):
        self.ran = []
        cases = [harness.Case(f"case{i}", fate)
                 for i, fate in enumerate(fates)]

        def run_one(_number, case, again):
            self.ran.append(case.name)
            return {"+": ("ok", "", []), "s": ("skip", "no way", []),
                    "-": ("not ok", f"said {int(again)}", ["its log"])}[
                        case.run[again]]

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            results = attempts.run_all(cases, run_one, once)
        return attempts.status(results), tally.of_tap(out.getvalue()), \
            out.getvalue()

    def test_all_pass(self):
        status, found, out = self.run_all("+", "+", "s")
        self.assertEqual((status, found.line()),
                         (0, "2 passed, 0 failed, 1 skipped"))
        self.assertNotIn("steady", out)

    def test_passes_the_second_time(self):
        status, found, _ = self.run_all("+", "-+", "+")
        self.assertEqual((status, found.line()),
                         (0, "3 passed, 0 failed, 0 skipped, 1 not steady"))
        self.assertEqual(found.unsteady, ["case1 (said 0)"])

    def test_second_attempts_come_last(self):
        self.run_all("-+", "+", "--", "+")
        self.assertEqual(self.ran, ["case0", "case1", "case2", "case3",
                                    "case0", "case2"])

    def test_fails_twice(self):
        status, found, _ = self.run_all("--", "+")
        self.assertEqual((status, found.failures), (1, ["case0"]))
        self.assertEqual(found.causes["case0"][:2],
                         ["# case0: said 1", "#   its log"])

    def test_more_than_three_not_steady(self):
        status, found, _ = self.run_all(*["-+"] * 3)
        self.assertEqual((status, found.failed), (0, 0))
        status, found, _ = self.run_all(*["-+"] * 4)
        self.assertEqual((status, found.failures), (1, ["case3"]))
        self.assertEqual(len(found.unsteady), 4)

    def test_of_a_hundred_one_more(self):
        status, found, _ = self.run_all(*["-+"] * 4, *["+"] * 96)
        self.assertEqual((status, len(found.unsteady)), (0, 4))
        status, found, _ = self.run_all(*["-+"] * 5, *["+"] * 96)
        self.assertEqual((status, found.failures), (1, ["case4"]))

    def test_side_by_side(self):
        """Two at a time, but those that want to be alone, and second attempts.
        """
        lock, running, most = threading.Lock(), set(), {}

        def run_one(_number, case, again):
            with lock:
                running.add(case.name)
                for name in running:
                    most[name, again] = max(most.get((name, again), 0),
                                            len(running))
            time.sleep(0.02)
            with lock:
                running.remove(case.name)
            return "ok" if again or case.name != "c2" else "not ok", "", []

        cases = [harness.Case(f"c{i}", None, alone=i in (0, 3))
                 for i in range(8)]
        with contextlib.redirect_stdout(io.StringIO()):
            results = attempts.run_all(cases, run_one, width=2)
        self.assertEqual(len(results), 8)
        self.assertEqual(attempts.status(results), 0)
        self.assertEqual({name for (name, again), nb in most.items()
                          if nb == 1}, {"c0", "c2", "c3"})
        self.assertEqual(max(most.values()), 2)

    def test_once(self):
        status, found, _ = self.run_all("-+", "+", once=True)
        self.assertEqual((status, found.failures, self.ran),
                         (1, ["case0"], ["case0", "case1"]))

    def test_a_great_many_run_once(self):
        status, found, _ = self.run_all(*["-+"] * (attempts.AGAIN_MAX + 1))
        self.assertEqual((status, found.failed), (1, attempts.AGAIN_MAX + 1))
        self.assertEqual(len(self.ran), attempts.AGAIN_MAX + 1)
        self.assertEqual(found.causes["case0"], ["# case0: said 0"])

    def test_the_longest_are_told(self):
        _, _, out = self.run_all("+", "s", "-+")
        told = out.splitlines()[-1]
        self.assertRegex(told, "^# 0 s; the longest: case[012] 0 s, ")
        self.assertEqual(told.count("case"), 3)

    def test_lines_are_numbered_in_order(self):
        _, _, out = self.run_all("-+", "+", "--", "+")
        numbers = [line.split(" - ")[0].split()[-1]
                   for line in out.splitlines() if " - " in line]
        self.assertEqual(numbers, ["1", "2", "3", "4"])


class Lane(unittest.TestCase):
    """What answers is a program of three lines here."""

    def lane(self, body):
        text = ("import json, os, sys\n"
                f"for line in sys.stdin:\n    {body}\n")
        lane = lanes.Lane()
        for name, value in (("command", [sys.executable, "-c", text]),
                            ("environment", None)):
            patch = unittest.mock.patch.object(lanes.rooms, name,
                                               lambda value=value: value)
            patch.start()
            self.addCleanup(patch.stop)
        lane.start()
        self.addCleanup(lane.close)
        return lane

    def test_asks(self):
        lane = self.lane("print(json.dumps(['ok', line[:-1], []]), flush=1)")
        self.assertEqual(lane.ask(7, "a", True),
                         ("ok", '[7, "a", true]', []))

    def test_one_that_ends_is_started_again(self):
        lane = self.lane("os._exit(3)")
        for _ in range(2):
            self.assertEqual(lane.ask(1, "a", False),
                             ("not ok", "its lane ended, status 3", []))


class Counting(unittest.TestCase):
    def test_kept_results_name_the_unsteady(self):
        kept = tally.of_tap("ok 1 - a\n# not steady: a (why)\n", "real/")
        again = tally.Tally.from_dict(kept.to_dict())
        self.assertEqual(again.unsteady, ["real/a (why)"])
        total = tally.Tally()
        total.add(again)
        self.assertIn("1 not steady", total.line())

    def test_causes_end_with_the_next_test(self):
        found = tally.of_tap("not ok 1 - a\n# why\nok 2 - b\n# chatter\n")
        self.assertEqual(found.causes, {"a": ["# why"]})


class FakeProcess(process.Process):
    """One that has ended."""

    def __init__(self, folder, title, status, err="", argv=("rping", "-c")):
        self.title, self.status, self.argv = title, status, list(argv)
        self.err_path = os.path.join(folder, title + ".err")
        self.out_path = os.path.join(folder, title + ".out")
        for path, text in ((self.err_path, err), (self.out_path, "")):
            with open(path, "w") as file:
                file.write(text)


class Logs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def report(self, processes, text):
        return harness.logs_of(types.SimpleNamespace(
            processes=processes, logs="/logs"), text)

    def test_the_one_that_failed_comes_first(self):
        processes = [FakeProcess(self.folder.name, f"client{i}", 0,
                                 "server DISCONNECT EVENT...\n" * 99)
                     for i in range(50)]
        processes[19].err_path = FakeProcess(
            self.folder.name, "told", 0, "an error\n").err_path
        lines = self.report(processes, "client19: says 'error'")
        self.assertTrue(lines[0].startswith("client19:"))
        self.assertIn("an error", lines[1])
        self.assertLess(len(lines), harness.REPORT_LINES +
                        harness.NAMED_LINES)
        self.assertRegex(lines[-2], "and [0-9]+ more programs")
        self.assertEqual(lines[-1], "logs: /logs")

    def test_then_those_that_did_not_end_well(self):
        processes = [FakeProcess(self.folder.name, title, status)
                     for title, status in (("a", 0), ("b", 1), ("c", None))]
        lines = self.report(processes, "too slow")
        self.assertEqual([line[0] for line in lines[:3]], ["b", "c", "a"])


LATE = "rdma_get_cm_event: Input/output error\n"


class Rping(unittest.TestCase):
    """One whose thread asks for an event of a channel that is gone."""

    def check(self, status, err):
        with tempfile.TemporaryDirectory() as folder:
            cases_rdmacm.check(FakeProcess(folder, "client19", status, err))

    def test_all_had_come(self):
        for status in (0, 255):
            self.check(status, LATE)
            self.check(status, "client DISCONNECT EVENT...\n" + LATE)
            self.check(status, "rdma_get_cm_event: Bad file descriptor\n")

    def test_the_client_came_late(self):
        self.check(0, 'roost: link "a": nobody has its other end: it waits\n')
        with self.assertRaises(harness.Failure):
            self.check(0, "roost: link \"a\": cannot do that\n")

    def test_not_all_had_come(self):
        for status, err in ((255, "cma event RDMA_CM_EVENT_REJECTED, "
                             "error 8\n" + LATE),
                            (255, "wait for RDMA_WRITE_ADV state 11\n" + LATE),
                            (255, LATE + "post send error 22\n"),
                            (1, LATE), (0, "post send error 22\n")):
            with self.assertRaises(harness.Failure, msg=err):
                self.check(status, err)


if __name__ == "__main__":
    unittest.main()
