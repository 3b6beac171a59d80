#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the programs of this folder make of an entry that fails, without a
guest: its second attempt, and what a report says of it."""

import concurrent.futures
import contextlib
import copy
import io
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(HERE), "real"),
                 os.path.dirname(HERE)]
import cases_pingpong  # noqa: E402
import cases_ports  # noqa: E402
import suite  # noqa: E402
from agent import Agent  # noqa: E402
from guest import Guest, GuestProcess  # noqa: E402
from harness import Case, Failure  # noqa: E402

LOGS = "interop-logs"
SLOW_PORT = 21001


class World:
    """One whose guest writes nowhere but in its folder for logs."""

    def __init__(self, build):
        self.logs = os.path.join(build, LOGS)
        self.port = "net_af_packet"
        self.started = []

    def plug(self, name):
        self.port = name

    def start(self, *_words):
        self.started.append(self.port)
        raise Failure("as it should")

    def check(self, folder):
        if os.path.commonpath((self.logs, folder)) != self.logs:
            raise Failure("the guest cannot write its logs")


class SecondAttempt(unittest.TestCase):
    def setUp(self):
        build = tempfile.TemporaryDirectory()
        self.addCleanup(build.cleanup)
        self.world = World(build.name)
        self.tries = []
        self.nices = []
        self.addCleanup(setattr, Guest, "nice", Guest.nice)

    def attempt(self, room, world):
        self.tries.append(room.logs)
        self.nices.append(Guest.nice)
        world.check(room.logs)
        if len(self.tries) == 1:
            raise Failure("the first one")

    def run_all(self, entries):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            results = suite.run(entries, self.world,
                                os.path.dirname(self.world.logs), {}, LOGS,
                                False)
        return results, out.getvalue()

    def run_it(self):
        entry = Case("entry", self.attempt)
        results, out = self.run_all([entry])
        return results[entry], out

    def test_the_guest_can_write_its_logs(self):
        result, out = self.run_it()
        self.assertEqual(result, ("ok", ""))
        self.assertIn("not steady: entry (the first one)", out)

    def test_the_logs_of_the_first_one_stay(self):
        self.run_it()
        self.assertNotEqual(*self.tries)
        self.assertTrue(os.path.isdir(self.tries[0]))

    def test_each_entry_has_its_port(self):
        # suite.run() adds to their arguments.
        self.run_all(list(map(copy.copy, (cases_pingpong.ENTRIES[0],
                                          cases_ports.ENTRIES[-1]))))
        self.assertEqual(self.world.started,
                         ["net_af_packet", "net_vhost"] * 2)

    def test_the_guest_has_the_processor_first(self):
        self.run_it()
        self.assertEqual(self.nices, [0, suite.AGAIN_NICE])


class Unbooted(Guest):
    """A guest that answers when it is told to, and whose agent runs here."""

    def __init__(self):
        self.processes = {}
        self.lines = []

    def alive(self):
        return True

    def tell(self, **request):
        self.lines.append(json.dumps(request))

    def answer(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            agent = Agent(theirs.fileno())
            while self.lines:
                agent.serve(self.lines.pop(0))
                self.hear(json.loads(ours.recv(4096)))


class Start(unittest.TestCase):
    def test_why_a_program_cannot_be_started(self):
        guest = Unbooted()
        with tempfile.TemporaryDirectory() as folder:
            server = GuestProcess(guest, "server", ["/no/such/program"],
                                  folder)
            guest.answer()
            self.assertEqual(server.wait(0), 127)
            self.assertIn("No such file or directory: '/no/such/program'",
                          server.err())

    def test_each_thread_gets_its_own_answer(self):
        guest = Unbooted()
        guest.answers = queue.Queue()
        guest.asking = threading.Lock()

        def tell(do, port):
            guest.answers.put({do: port == SLOW_PORT})
            if port == SLOW_PORT:
                time.sleep(0.3)

        guest.tell = tell
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            slow = pool.submit(guest.listens, SLOW_PORT)
            time.sleep(0.1)
            quick = pool.submit(guest.listens, SLOW_PORT + 1)
        self.assertEqual((slow.result(), quick.result()), (True, False))

    def test_a_guest_is_reniced_before_its_next_program(self):
        guest = Unbooted()
        guest.nice = suite.AGAIN_NICE
        guest.qemu = subprocess.Popen(["sleep", "60"], start_new_session=True)
        self.addCleanup(guest.qemu.wait)
        self.addCleanup(guest.qemu.kill)
        group = f"/proc/{guest.qemu.pid}/autogroup"
        try:
            with open(group, "w") as file:
                file.write("-1")
        except OSError as e:
            self.skipTest(f"no nice value of a session: {e}")
        with tempfile.TemporaryDirectory() as folder:
            GuestProcess(guest, "server", ["true"], folder)
        with open(group) as file:
            self.assertEqual(int(file.read().split()[-1]), suite.AGAIN_NICE)


if __name__ == "__main__":
    unittest.main()
