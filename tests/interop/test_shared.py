#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Two entries at a time, without a guest and without a daemon: which two, and
what is made of what they did."""

import contextlib
import io
import os
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(HERE), "real"),
                 os.path.dirname(HERE)]
import cases_cm  # noqa: E402
import cases_perftest  # noqa: E402
import cases_pingpong  # noqa: E402
import shared  # noqa: E402
import suite  # noqa: E402
from entry import Entry  # noqa: E402
from harness import Failure, Skip  # noqa: E402

LOGS = "interop-logs"
ENTRIES = [entry for module in (cases_pingpong, cases_perftest, cases_cm)
           for entry in module.ENTRIES]
# A client that does not come is waited for so long.
LONG_S = 60


def named(word):
    return [entry for entry in ENTRIES if word in entry.name]


class WhichTwo(unittest.TestCase):
    def test_each_entry_has_its_turn(self):
        ran = [entry for pair in shared.pairs(ENTRIES)
               for entry in pair.entries]
        self.assertEqual(len(ran), len(ENTRIES))
        self.assertEqual(set(ran), set(ENTRIES))

    def test_they_are_the_same_each_time(self):
        self.assertEqual(*([pair.name for pair in shared.pairs(ENTRIES)]
                           for _ in range(2)))

    def test_roles_are_mixed(self):
        roles = {tuple(sorted(entry.role for entry in pair.entries))
                 for pair in shared.pairs(ENTRIES)}
        self.assertEqual(len(roles), 3)

    def test_a_service_of_one_program_is_not_asked_for_twice(self):
        for entries in (ENTRIES, named("udaddy"), named("mckey")):
            for pair in shared.pairs(entries):
                fixed = [shared.fixed(entry) for entry in pair.entries
                         if shared.fixed(entry)]
                self.assertEqual(len(fixed), len(set(fixed)), pair.name)

    def test_the_wire_is_that_of_both(self):
        for pair in shared.pairs(ENTRIES):
            self.assertEqual(len(set(map(shared.delayed, pair.entries))), 1)
        self.assertTrue(any(map(shared.delayed, ENTRIES)))

    def test_a_full_ring_loses_what_can_be_sent_again(self):
        for pair in shared.pairs(ENTRIES):
            if len(pair.entries) > 1 and any(map(shared.crowds, pair.entries)):
                self.assertFalse(any(
                    shared.loses(entry) and other is not entry and
                    shared.crowds(other)
                    for entry in pair.entries for other in pair.entries))

    def test_one_alone_runs_twice(self):
        entry = ENTRIES[0]
        self.assertEqual(shared.pairs([entry])[0].entries, [entry, entry])

    def test_one_alone_whose_service_is_fixed_runs_alone(self):
        entry = named("mckey")[0]
        self.assertEqual(shared.pairs([entry])[0].entries, [entry])

    def test_ports_of_their_own(self):
        build = tempfile.TemporaryDirectory()
        self.addCleanup(build.cleanup)
        ports = []

        def port(room, _world, _role):
            ports.append((room.port, room.next_port()))

        run_pair(build.name, Daemon(), port, port)
        self.assertEqual(len({port for two in ports for port in two}), 4)


class Services(unittest.TestCase):
    """How a server in the guest is seen to listen, beside another one."""

    ROW = ("link rxe0/1 cm-idn 3 state LISTEN ps TCP pid 107 comm rping "
           "src-addr 198.18.0.2:21031 ")
    GROUP = ("link rxe0/1 cm-idn 0 state ADDR_BOUND ps UDP pid 99 comm mckey "
             "src-addr 198.18.0.2:47010 ")

    def test_its_own(self):
        self.assertTrue(cases_cm.listening(
            self.ROW, ["rping", "-s", "-p", "21031"]))

    def test_the_other_ones_port(self):
        self.assertFalse(cases_cm.listening(
            self.ROW, ["rping", "-s", "-p", "21021"]))

    def test_the_other_program(self):
        self.assertFalse(cases_cm.listening(
            self.ROW, ["rstream", "-p", "21031"]))
        self.assertFalse(cases_cm.listening(self.ROW, ["mckey", "-m", "x"]))

    def test_a_group(self):
        self.assertTrue(cases_cm.listening(self.GROUP, ["mckey", "-m", "x"]))
        self.assertFalse(cases_cm.listening(self.GROUP, ["udaddy"]))


class Daemon:
    """A world with nothing behind it. says: what is wrong with its daemon."""

    def __init__(self, says=None):
        self.says = says

    def begin(self):
        pass

    def wrong(self):
        return self.says


def run_pair(build, world, *runs):
    """Returns the pair, its result, and what was reported."""
    entries = [Entry("group", f"title {place}", "client", run)
               for place, run in enumerate(runs)]
    pair = shared.Pair(entries)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        results = suite.run([pair], world, build, {}, LOGS, True)
    return pair, results[pair], out.getvalue()


class SideBySide(unittest.TestCase):
    def setUp(self):
        build = tempfile.TemporaryDirectory()
        self.addCleanup(build.cleanup)
        self.build = build.name
        self.meeting = threading.Barrier(2)

    def run_pair(self, *runs, world=None):
        return run_pair(self.build, world or Daemon(), *runs)

    def outcomes(self, pair):
        return [pair.results[entry] for entry in pair.entries]

    def well(self, _room, _world, _role):
        pass

    def badly(self, _room, _world, _role):
        raise Failure("client: as it should")

    def together(self, _room, _world, _role):
        self.meeting.wait(LONG_S)

    def test_they_run_at_the_same_time(self):
        _pair, result, _out = self.run_pair(self.together, self.together)
        self.assertEqual(result, ("ok", ""))

    def test_one_that_fails_does_not_stop_the_other(self):
        ended = []

        def later(_room, _world, _role):
            time.sleep(0.2)
            ended.append(True)

        pair, (outcome, text), _out = self.run_pair(self.badly, later)
        self.assertTrue(ended)
        self.assertEqual(outcome, "not ok")
        self.assertEqual(text, "group-title-0-client: client: as it should")
        self.assertEqual(self.outcomes(pair), [
            ("not ok", "client: as it should"), ("ok", "")])

    def test_what_cannot_be_run_beside_what_can(self):
        def cannot(_room, _world, _role):
            raise Skip("no XRC")

        pair, result, _out = self.run_pair(cannot, self.well)
        self.assertEqual(result, ("ok", ""))
        self.assertEqual(self.outcomes(pair), [("skip", "no XRC"), ("ok", "")])
        _pair, result, _out = self.run_pair(cannot, cannot)
        self.assertEqual(result, ("skip", "no XRC; no XRC"))

    def test_the_programs_of_both_are_shown(self):
        def start(room, _world, _role):
            room.start("client", ["sh", "-c", f"echo port $((100 + {room.port}"
                                  " * 0))"])
            room.finish(room.processes[0])
            raise Failure("client: as it should")

        _pair, _result, out = self.run_pair(start, start)
        for place in (0, 1):
            self.assertIn(f"group-title-{place}-client: client: sh", out)
        self.assertEqual(out.count("client.out| port 100"), 2)

    def test_the_daemon_that_ended_failed_both(self):
        pair, (outcome, text), _out = self.run_pair(
            self.well, self.well, world=Daemon("roostd: exit status -11"))
        self.assertEqual(outcome, "not ok")
        self.assertIn("roostd: exit status -11", text)
        self.assertEqual([outcome for outcome, _text in self.outcomes(pair)],
                         ["not ok", "not ok"])

    def test_a_mistake_in_an_entry_is_not_swallowed(self):
        def mistaken(_room, _world, _role):
            raise KeyError("mistaken")

        with self.assertRaises(KeyError):
            self.run_pair(mistaken, self.well)

    def test_all_ends_when_time_is_over(self):
        started = []

        def endless(room, _world, _role):
            while len(started) < 4:
                started.append(room.start("client", ["sleep", "1000"]))
                room.finish(started[-1], LONG_S)

        with mock.patch.object(shared, "LIMIT_S", 1), \
                mock.patch.object(shared, "STOP_STEP_S", 0.1):
            _pair, (outcome, text), _out = self.run_pair(endless, endless)
        self.assertEqual((outcome, text), ("not ok", "not done after 1 s"))
        self.assertNotIn(None, [process.status for process in started])


class Meeting(unittest.TestCase):
    def setUp(self):
        build = tempfile.TemporaryDirectory()
        self.addCleanup(build.cleanup)
        self.build = build.name

    def test_clients_start_together(self):
        met = []

        def soon(room, _world, _role):
            met.append("soon")
            shared.meet(room)
            met.append("met")

        def late(room, world, role):
            time.sleep(0.2)
            soon(room, world, role)

        run_pair(self.build, Daemon(), soon, late)
        self.assertEqual(met, ["soon", "soon", "met", "met"])

    def test_who_ends_keeps_nobody_waiting(self):
        def waits(room, _world, _role):
            shared.meet(room)
            shared.meet(room)

        def ends(_room, _world, _role):
            time.sleep(0.2)

        begin = time.monotonic()
        run_pair(self.build, Daemon(), waits, ends)
        self.assertLess(time.monotonic() - begin, shared.MEET_S / 2)


class Bridge(unittest.TestCase):
    """Our own on the wire, which two members want at a time."""

    def setUp(self):
        self.made = []
        self.world = shared.SharedWorld.__new__(shared.SharedWorld)
        self.world.lock = threading.Lock()
        self.world.delayed = 0
        for name in ("lossy", "whole"):
            patch = mock.patch.object(
                shared.World, name,
                lambda _self, *_how, name=name: self.made.append(name))
            patch.start()
            self.addCleanup(patch.stop)

    def test_one_for_both(self):
        for _ in range(2):
            self.world.lossy(0, 0, 0.3)
        self.world.whole()
        self.assertEqual(self.made, ["lossy"])
        self.world.whole()
        self.assertEqual(self.made, ["lossy", "whole"])


class Lines(unittest.TestCase):
    def test_a_row_for_each_group(self):
        outcomes = [("ok", ""), ("ok", ""), ("skip", "no XRC"), ("not ok", "")]
        entries = [Entry("group", str(place), role, None)
                   for place in range(2) for role in ("client", "server")]
        pair = shared.Pair(entries)
        pair.results = dict(zip(entries, outcomes))
        first, second, *_head, row = shared.lines({pair: ("not ok", "")},
                                                  "6.1")
        self.assertIn("1 of 3 runs failed; 1 more cannot be run", first)
        self.assertIn("1 pairs", second)
        self.assertEqual(row, "| group | 1 ok, 1 cannot | 1 ok, 1 **fail** |")


if __name__ == "__main__":
    unittest.main()
