#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the bench makes of its measurements."""

import argparse
import os
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pairs  # noqa: E402
import peers  # noqa: E402
import plots  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import script  # noqa: E402


run = script.load("run")


class FakeBench:
    def __init__(self, lines, near_ns=None):
        self.lines = iter(lines)
        self.near_ns = near_ns

    def line_ns(self):
        return next(self.lines)


class FakeRow(rows.Row):
    name, cores = "fake", 2

    def __init__(self, found):
        self.found = iter(found)

    def pair(self, _bench):
        found = next(self.found)
        if found is None:
            raise pairs.Failed("broken")
        return found


def measure(found, lines, wanted, near_ns=None):
    return pairs.measure(FakeRow(found), FakeBench(lines, near_ns), wanted,
                         lambda _: None)


class Pairs(unittest.TestCase):
    def test_where_it_does_not_matter_the_cores_may_move(self):
        row = FakeRow([(3, 2)] * 2)
        row.far_matters = False
        # No line is asked for.
        got = pairs.measure(row, FakeBench([], 60), 2, lambda _: None)
        self.assertEqual(len(got["pairs"]), 2)
        self.assertIsNone(got["line_ns"])

    def test_moved_by_more_than_half(self):
        self.assertFalse(pairs.moved(100, 149))
        self.assertTrue(pairs.moved(100, 151))
        self.assertTrue(pairs.moved(151, 100))
        self.assertFalse(pairs.moved(None, None))

    def test_ratio_is_the_median_of_the_pairs(self):
        # Not the ratio of the medians, which is 20 / 20.
        result = measure([(10, 20), (20, 10), (90, 30)], [100] * 6, 3)
        self.assertEqual(result["ratio"]["median"], 2)
        self.assertEqual(result["ours"]["median"], 20)
        self.assertEqual(result["thrown_out"], 0)

    def test_pair_of_moved_cores_is_thrown_out(self):
        result = measure([(1, 1), (50, 1), (1, 1)],
                         [100, 110, 100, 300, 100, 90], 2)
        self.assertEqual(result["thrown_out"], 1)
        self.assertEqual(result["ratio"]["high"], 1)
        self.assertEqual(len(result["pairs"]), 2)

    def test_host_that_moves_the_cores_makes_no_run_longer(self):
        moved = [50, 200]
        result = measure([(1, 1)] * 10, [50, 50] + moved * 9, 5)
        self.assertEqual(len(result["pairs"]), 1)
        self.assertEqual(result["thrown_out"], 3)
        with self.assertRaisesRegex(pairs.Failed, "refused"):
            measure([(1, 1)] * 10, [50, 50] + moved * 9, 5, near_ns=60)

    def test_far_cores_do_not_count(self):
        # Far before the second pair, which is not measured, and behind the
        # third.
        lines = [50, 50, 200, 50, 61, 50, 50]
        result = measure([(1, 1), (50, 1), (3, 1)], lines, 2, near_ns=60)
        self.assertEqual([pair["ours"] for pair in result["pairs"]], [1, 3])
        self.assertEqual(result["thrown_out"], 2)
        self.assertEqual(result["line_ns"], 50)
        self.assertEqual(measure([(1, 1)], [200, 200], 1)["line_ns"], 200)

    def test_row_without_near_cores_is_refused(self):
        near = [50, 50] * 4
        with self.assertRaisesRegex(pairs.Failed, "refused.* 4 pairs of 14"):
            measure([(1, 1)] * 4, near + [200] * 10, 7, near_ns=60)
        result = measure([(1, 1)] * 5, near + [200] * 9 + [50, 50], 7, 60)
        self.assertEqual(len(result["pairs"]), 5)

    def test_failures_are_told(self):
        result = measure([None, (4, 2)], [100] * 4, 1)
        self.assertEqual(result["failures"], ["broken"])
        self.assertEqual(result["ratio"]["median"], 2)
        with self.assertRaisesRegex(pairs.Failed, "broken"):
            measure([None, None], [100] * 4, 1)

    def test_nothing_left_is_no_figure(self):
        with self.assertRaisesRegex(pairs.Failed, "moved"):
            measure([(1, 1)] * 4, [100, 300] * 4, 2)


class Programs(unittest.TestCase):
    def test_pump_that_lost_frames_is_no_limit(self):
        line = "raw paced pps 1000 gbps 8.1 lost {}\n"
        self.assertEqual(programs.raw_figure("paced", line.format(0)), 1000)
        with self.assertRaisesRegex(pairs.Failed, "lost 3 frames"):
            programs.raw_figure("paced", line.format(3))
        # It sends as fast as it can: what is lost is its own affair.
        self.assertEqual(programs.raw_figure(
            "pump", "raw pump pps 500 gbps 4.2 lost 3"), 500)
        self.assertEqual(programs.raw_figure("pong", "raw pong ns 430.5"),
                         430.5)

    def test_pump_that_says_nothing(self):
        with self.assertRaisesRegex(pairs.Failed, "the port cannot be"):
            programs.raw_figure("paced", "raw: the port cannot be set up")

    def test_testpmd_is_its_best_second(self):
        text = "".join(f"  Rx-pps: {pps:10}   Rx-bps: 1\n"
                       for pps in (3, 54000, 61000, 20))
        self.assertEqual(programs.testpmd_pps(text), 61000)

    def test_testpmd_that_nothing_reached(self):
        # But for what the kernel asks its neighbours.
        for text in ("", "EAL: no", "  Rx-pps:     3   Rx-bps: 270\n"):
            with self.assertRaises(pairs.Failed):
                programs.testpmd_pps(text)


UCX_TEXT = """\
[1.2] [vm:1:0]   ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag({lanes})
+--------------+--------------+----------+---------+---------+----------+
|     Test     | # iterations | 50.0%ile | average | overall |  average |
      1000      0.904     0.707     0.707       86.29      86.29     14 14
     20000      5.076     4.939     4.950    12653.63   12000.50  202458 2024
+--------------+--------------+----------+---------+---------+----------+
"""
FABRIC_TEXT = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64k     3k      =3k      375m        0.77s    509.61     128.60       0.01
"""


class Peers(unittest.TestCase):
    def test_ucx_is_its_last_row(self):
        found = peers.ucx_figures(
            UCX_TEXT.format(lanes="posix/memory cma/memory"), "cma")
        self.assertEqual(found[peers.UCX_MEDIAN_US], 5.076)
        self.assertEqual(found[peers.UCX_MB_S], 12000.5)

    def test_ucx_that_takes_another_way_is_no_peer(self):
        with self.assertRaisesRegex(pairs.Failed, "not use cma, but 'posix/"):
            peers.ucx_figures(UCX_TEXT.format(lanes="posix/memory"), "cma")
        with self.assertRaisesRegex(pairs.Failed, "no such device"):
            peers.ucx_figures("UCX ERROR no such device\n", "posix")

    def test_libfabric_is_the_mean_of_one_way(self):
        self.assertEqual(peers.fabric_mean_us(FABRIC_TEXT), 128.6)
        for text in ("fi_getinfo: -61", FABRIC_TEXT.replace("128.60", "0.00")):
            with self.assertRaisesRegex(pairs.Failed, "fi_pingpong: "):
                peers.fabric_mean_us(text)

    def test_missing_program_is_named_before_anything_runs(self):
        bench = programs.Bench("/nowhere", [0, 1], 0.1)
        with unittest.mock.patch("shutil.which", lambda _name: None):
            for row in peers.ROWS:
                with self.assertRaisesRegex(
                        pairs.Missing, "ucx-utils|libfabric-bin|liburing-dev"):
                    row.pair(bench)


MACHINE = {"cpu": "Abacus", "cpus": 2, "virtual": True, "kernel": "6.1",
           "load": 0.25, "huge_pages": 0, "kernels": ["pclmul", "isa-l"],
           "build": "-O2", "pairs": 7, "seconds": 0.5, "minutes": 9.6,
           "line_ns": 51.4}


class Report(unittest.TestCase):
    def test_figures_have_three_digits(self):
        self.assertEqual([report.figure(value) for value in
                          (0.06789, 1.5, 43.21, 999.6, 12345.6)],
                         ["0.0679", "1.5", "43.2", "1,000", "12,346"])

    def test_row_of_a_measurement(self):
        result = measure([(10, 20), (20, 10), (90, 30)], [100] * 6, 3)
        row = FakeRow([])
        row.unit, row.least, row.aim = "Gb/s", 0.5, 1.0
        self.assertEqual(
            report.table_row(row, result),
            "| `fake` + | 20 Gb/s | 20 Gb/s | 2 | 1.25-2.5 | 100 |  | 0.5 | 1 |"
            "\n")

    def test_row_without_a_figure_says_why(self):
        text = report.table({"tap": {"why": "skipped: needs root"},
                             "instructions16": {"why": "no valgrind"},
                             "instructions64k": 1796.2})
        self.assertIn("| `tap` + | skipped: needs root |", text)
        self.assertIn("| `instructions16` | no valgrind |", text)
        self.assertIn("| `instructions64k` | 1,796 |", text)
        self.assertNotIn("write64k", text)
        self.assertEqual({line.count("|") for line in text.splitlines()}, {10})

    def test_machine_is_described_without_a_date(self):
        text = report.machine_text(MACHINE, ["the roof leaks"])
        for words in ("Abacus (a virtual machine)", "no huge pages", "7 pairs",
                      "10 minutes", "load was 0.2", "Note: the roof leaks."):
            self.assertIn(words, text.replace("\n", " "))
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_what_is_between_the_markers_is_replaced(self):
        old = f"before\n{report.BEGIN}old{report.END}after\n"
        once = report.replaced(old, "new\n")
        self.assertEqual(once, f"before\n{report.BEGIN}\nnew\n\n{report.END}"
                         "after\n")
        self.assertEqual(report.replaced(once, "new\n"), once)

    def test_document_without_markers_is_left_alone(self):
        for text in ("none", report.BEGIN, report.END + report.BEGIN,
                     2 * (report.BEGIN + report.END)):
            with self.assertRaises(pairs.Failed):
                report.replaced(text, "new")
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                with self.assertRaises(pairs.Failed):
                    report.check(file.name)

    def test_plots_lie_beside_the_document(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "doc.md")
            with open(path, "w") as file:
                file.write(report.BEGIN + report.END)
            body = report.section(MACHINE, [], {}, {"rate": "Rate by size"})
            report.write(path, body, {"rate": "<svg/>"})
            with open(path) as file:
                self.assertIn("![Rate by size](plots/rate.svg)", file.read())
            with open(os.path.join(folder, "plots", "rate.svg")) as file:
                self.assertEqual(file.read(), "<svg/>")

    def test_the_document_has_its_markers(self):
        top = os.path.dirname(os.path.dirname(os.path.dirname(
            os.path.abspath(__file__))))
        with open(os.path.join(top, "doc", "performance.md")) as file:
            text = file.read()
        self.assertIn("new", report.replaced(text, "new"))
        # And explains every row.
        for row in rows.ROWS:
            name = row.name.replace("loss-1e-3", "-1e-3")
            name = name.replace("loss-1e-2", "-1e-2")
            self.assertIn(f"`{name}`", text.split("## One run")[0])


class Run(unittest.TestCase):
    def test_pairs_are_the_rows_own_unless_asked_for(self):
        slow, exact = rows.Row(), rows.Row()
        slow.pairs, exact.exact = 3, True
        for pairs_asked, near, wanted in (
                (None, None, [5, 3, 1]), (7, None, [7, 7, 1]),
                (None, 60, [5, 5, 1]), (2, 60, [2, 2, 1])):
            args = argparse.Namespace(pairs=pairs_asked, near=near)
            self.assertEqual([run.wanted_pairs(row, args)
                              for row in (rows.Row(), slow, exact)], wanted)

    def test_rows_are_named_by_how_they_begin(self):
        self.assertEqual(run.named(["qps1k", "workers1", "conns"]),
                         ["qps1k", "workers16", "conns"])
        self.assertIn("workers2-spread", run.named(["workers"]))
        with self.assertRaisesRegex(KeyError, "no row nothing"):
            run.named(["nothing"])

    def test_rows_of_many_cores_say_how_many_there_are(self):
        bench = programs.Bench("/nowhere", [0, 1, 2], 0.1)
        bench.need_cores(3)
        with self.assertRaisesRegex(pairs.Missing, "4 cores; there are 3"):
            bench.need_cores(4)


class Machine(unittest.TestCase):
    def notes(self, **changes):
        found = dict(MACHINE, load=0, huge_pages=8, kernels=["vpclmul"])
        found.update(changes)
        return list(run.warnings(found))

    def test_a_good_machine_lacks_nothing(self):
        self.assertEqual(self.notes(), [])

    def test_what_it_lacks_is_said(self):
        for changes, words in (({"cpus": 1}, "one core"),
                               ({"huge_pages": 0}, "no huge pages"),
                               ({"load": 2.0}, "load 2.0"),
                               ({"kernels": ["pclmul", "isa-l"]}, "AVX2"),
                               ({"kernels": ["isa-l"]}, "carry-less")):
            notes = self.notes(**changes)
            self.assertEqual(len(notes), 1)
            self.assertIn(words, notes[0])


class Plots(unittest.TestCase):
    def test_axis_ends_at_a_round_number(self):
        self.assertEqual([plots.round_top(value)
                          for value in (0, 1, 1.1, 44, 61, 99, 101)],
                         [1, 1, 2, 60, 80, 100, 200])

    def test_curves_do_not_share_a_colour(self):
        text = plots.draw("t", "x", "y", {name: [(1, 1), (2, 2)]
                                          for name in "abcd"})
        root = xml.etree.ElementTree.fromstring(text)
        lines = root.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len({line.get("stroke") for line in lines}), 4)

    def test_curve_is_drawn_to_scale(self):
        text = plots.draw("a < b", "x", "y", {"c": [(1, 0), (4, 10)]})
        root = xml.etree.ElementTree.fromstring(text)
        line = root.find("{http://www.w3.org/2000/svg}polyline")
        first, last = [tuple(map(float, point.split(",")))
                       for point in line.get("points").split()]
        self.assertEqual(first, (plots.MARGIN, plots.HEIGHT - plots.MARGIN))
        self.assertEqual(last[0], plots.WIDTH - plots.MARGIN)
        self.assertLess(last[1], 2 * plots.MARGIN)


if __name__ == "__main__":
    unittest.main()
