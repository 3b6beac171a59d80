#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the bench makes of its measurements."""

import os
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pairs  # noqa: E402
import plots  # noqa: E402
import programs  # noqa: E402
import rows  # noqa: E402


class FakeBench:
    def __init__(self, lines):
        self.lines = iter(lines)

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


def measure(found, lines, wanted):
    return pairs.measure(FakeRow(found), FakeBench(lines), wanted,
                         lambda _: None)


class Pairs(unittest.TestCase):
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


class Plots(unittest.TestCase):
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
