# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost ctl and a file that is read again, while clients of a roostd send as
fast as they can: who is limited is slower, who is evicted is gone, and nobody
else loses a byte.
"""

import json
import os
import time

import cases_rdmacm
import cases_service_people
from harness import Case, Failure, Skip
from process import wait_until
from service import ADDRESSES, FAR, NEAR, Service
from wire import Wire

STREAMS = 3
RATE_BYTES_S = 250000  # "2M"
WINDOW_S = 0.3
# What leaves beyond a rate: a bucket, and a queue of a client.
MORE_BYTES = 18432 + 64 * 1200
MOVED_BYTES = 100000
RELOADS = 10
EVICTED = "evicted by the administrator: be gone"


class World:
    """Streams between clients of two roostds, which look at each byte. What is
    done is done to the near one, whose clients are the servers.
    """

    def __init__(self, room, workers):
        if len(os.sched_getaffinity(0)) < workers:
            raise Skip("there is one processor")
        self.room = room
        wire = Wire(room)
        self.service, self.far = (Service(
            room, wire=wire, end=end, path=f"/run/{room.name}-{end}.sock",
            sections=("[roost]", f"workers = {workers}", "[policy all]",
                      "weight = 1")) for end in (NEAR, FAR))
        with open(self.service.file, encoding="ascii") as file:
            self.text = file.read()
        self.pairs = {}
        self.stream(*range(STREAMS))

    def stream(self, *numbers):
        words = {i: ["rping", "-V", "-S", "16000", "-a", ADDRESSES[NEAR][0],
                     "-p", str(7200 + i)] for i in numbers}
        servers = {i: self.room.start(**self.service.client(
            f"server{i}", [*words[i], "-s"])) for i in numbers}
        for i, server in servers.items():
            if not wait_until(lambda server=server:
                              cases_rdmacm.has_opened(server) and
                              cases_rdmacm.is_waiting(server), 20):
                raise Failure(f"{server.title}: does not listen: "
                              f"{server.err()}")
            self.pairs[i] = server, self.room.start(**self.far.client(
                f"client{i}", [*words[i], "-c"]))

    def ctl(self, title, *words):
        seen = cases_service_people.ctl(self.room, self.service, title, *words)
        if seen.status != 0:
            raise Failure(f"roost ctl {' '.join(words)}: {seen.err()}")
        return seen.out()

    def rows(self):
        """By number of the stream; only those that are there."""
        by_pid = {row["pid"]: row for row in json.loads(self.ctl(
            "clients", "-j", "show", "clients"))["clients"]}
        return {i: by_pid[server.pid] for i, (server, _) in
                self.pairs.items() if server.pid in by_pid}

    def sent(self):
        return {i: row["counters"]["tx_bytes"]
                for i, row in self.rows().items()}

    def go_on(self, title):
        before = self.sent()

        def moved():
            now = self.sent()
            return now.keys() == self.pairs.keys() and all(
                now[i] > before.get(i, 0) + MOVED_BYTES for i in now)
        if not wait_until(moved, 20):
            raise Failure(f"{title}: from {before} to {self.sent()}")
        self.expect_unharmed()

    def expect_unharmed(self):
        for process in (process for pair in self.pairs.values()
                        for process in pair):
            if process.wait(0) is not None or process.err():
                raise Failure(f"{process.title}: status {process.status}: "
                              f"{process.err()}")
        for daemon in (self.service.process, self.far.process):
            if daemon.err().count("\n") != daemon.err().count(EVICTED):
                raise Failure(f"{daemon.title}: {daemon.err()}")

    def window(self):
        """What each sends meanwhile, and what the limit lets pass."""
        began, before = time.monotonic(), self.sent()
        time.sleep(WINDOW_S)
        now = self.sent()
        most = RATE_BYTES_S * (time.monotonic() - began) + MORE_BYTES
        return {i: now[i] - before[i] for i in now}, most

    def expect_slow(self, *numbers):
        sent, most = self.window()
        if not all(0 < sent[i] < most for i in numbers):
            raise Failure(f"the limit lets {most:.0f} bytes pass: {sent}")

    def expect_quick(self, *numbers):
        """Again; it may take until there is a processor."""
        def is_quick():
            sent, most = self.window()
            return all(sent[i] > most for i in numbers)
        if not wait_until(is_quick, 20):
            raise Failure(f"without a limit: {self.window()}")

    def reload(self, text):
        """The file is read when the policy of clients is shown as it says."""
        with open(self.service.file, "w", encoding="ascii") as file:
            file.write(text)
        self.service.process.signal(1)
        wanted = text.split("[policy ")[1].split("]")[0]
        if not wait_until(lambda: all(row["policy"] == wanted for row in
                                      self.rows().values()), 10):
            raise Failure(f"the file is not read: {self.rows()}")


def limits(room, workers):
    world = World(room, workers)
    world.go_on("at first")
    number = {i: str(row["client"]) for i, row in world.rows().items()}
    world.ctl("slow", "limit", number[0], "rate", "2M")
    world.expect_slow(0)
    world.go_on("beside one that is slow")
    world.ctl("quick", "limit", number[0], "rate", "0")
    world.expect_quick(0)
    # Of all, by the file.
    slow = world.text.replace("all]", "slow]") + "rate = 2M\n"
    world.reload(slow)
    world.expect_slow(*world.pairs)
    world.reload(world.text)
    world.expect_quick(*world.pairs)
    for i in range(RELOADS):
        world.service.process.signal(1)
        world.ctl("weight", "limit", number[i % STREAMS], "weight",
                  str(1 + i))
    world.go_on("after reloads")
    # In the middle of what it sends.
    server, client = world.pairs.pop(1)
    world.ctl("evict", "evict", number[1], "be", "gone")
    for process in (server, client):
        room.finish(process, 20)
    if EVICTED not in server.err():
        raise Failure(f"server1: {server.status}: {server.err()}")
    world.go_on("after one was evicted")
    # Its port number is free.
    world.stream(1)
    world.go_on("with one more")


CASES = [
    Case("service-limits", cases_rdmacm.need(limits), 1),
    Case("service-limits-lanes", cases_rdmacm.need(limits), 2),
]
