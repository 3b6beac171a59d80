# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A roostd with several ports, each of which has a thread, and one with several
threads for a port."""

import json
import os
import signal
import time
import types

import cases_rdmacm
import cases_service
import cases_service_people
import cases_taps
import cases_xdp
from harness import Case, Failure, Skip
from process import wait_until
from service import ADDRESSES, FAR, NEAR, Service
from wire import ENDS, Wire

VLAN = "7"
# By port: the address behind the daemon, that of the peer, and more options.
PORTS = (("198.18.0.1", "198.18.0.2", ("--vlan", VLAN)),
         ("198.18.1.1", "198.18.1.2", ()))
KILLS = 12
KILL_S = 0.1


def two(room, *sections):
    """Two ports on one interface: the first one is a VLAN of it."""
    near = [near for near, _far, _options in PORTS]
    return Service(room, ips=False, port=(
        f"vlan = {VLAN}", f"ip = {near[0]}/24"), sections=(
        "[port1]", f"devargs = net_af_packet0,iface={NEAR}",
        f"ip = {near[1]}/24", *sections))


def threads_of(process):
    """Those that serve ports: the processor time of each, by number."""
    seen = {}
    for task in os.listdir(f"/proc/{process.pid}/task"):
        try:
            with open(f"/proc/{process.pid}/task/{task}/comm",
                      encoding="ascii") as file:
                name = file.read().strip()
            if name.startswith("roostd-"):
                seen[int(name.split("-")[1])] = \
                    cases_service.cpu_s(f"{process.pid}/task/{task}")
        except OSError:
            continue
    return seen


def stream(room, service, number):
    """A pair that looks at each byte: a client behind a port, and the peer.
    Returns both.
    """
    near, far, options = PORTS[number]
    words = ["rping", "-v", "-V", "-a", near]
    server = room.start(**service.client(f"server{number}", [*words, "-s"],
                                         f",{number}"))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure(f"{server.title}: does not listen: {server.err()}")
    client = room.start(**service.wire.start(
        FAR, f"client{number}", (*options, "--ip", f"{far}/24"),
        [*words, "-c"]))
    if not wait_until(lambda: "ping data" in server.out(), 20):
        raise Failure(f"{client.title}: no ping data: {client.err()}")
    return server, client


def said(pairs):
    return [os.path.getsize(server.out_path) for server, _client in pairs]


def moved(pairs, title):
    """All streams go on."""
    before = said(pairs)
    if not wait_until(lambda: all(then > was + 1000 for then, was in
                                  zip(said(pairs), before)), 10):
        raise Failure(f"{title}: streams do not go on: {before}, "
                      f"{said(pairs)}")


def kills(room):
    """Clients of both ports are killed, evicted and limited, and the file is
    read again, while a stream of each port goes on.
    """
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("there is one processor")
    service = two(room)
    # It listens before they are there.
    if not wait_until(lambda: list(threads_of(service.process)) == [1], 5):
        raise Failure(f"threads: {threads_of(service.process)}")
    pairs = [stream(room, service, number) for number in (0, 1)]
    for i in range(KILLS):
        watch = room.start(**service.client(
            f"victim{i}", cases_service.WATCH, f",{i % 2}"))
        if not wait_until(lambda: "async event FD" in watch.out(), 20):
            raise Failure(f"{watch.title}: does not open: {watch.err()}")
        if i % 4 == 3:
            row = cases_service_people.clients(room, service)
            slot = row["ibv_asyncwatch"]["client"]
            seen = cases_service_people.ctl(
                room, service, f"evict{i}", "--port", str(i % 2), "evict",
                str(slot))
            if seen.status != 0:
                raise Failure(f"evict: {seen.err()}")
            cases_service.await_event(watch, "DEVICE_FATAL")
            watch.kill()
        else:
            os.kill(watch.pid, signal.SIGKILL)
        service.process.signal(signal.SIGHUP)
        time.sleep(KILL_S)
    moved(pairs, "after the kills")
    if not wait_until(lambda: list(cases_service_people.clients(
            room, service)) == ["rping"], 5):
        raise Failure("the dead are shown")
    for process in (process for pair in pairs for process in pair):
        if process.wait(0) is not None:
            raise Failure(f"{process.title} ended: {process.err()}")
    room.note(f"processor time by thread: {threads_of(service.process)} s; "
              f"of all: {cases_service.cpu_s(service.process.pid):.2f} s")
    if threads_of(service.process)[1] == 0:
        raise Failure("the second thread did nothing")


def one(room):
    """As many as the file says."""
    service = two(room, "[service]", "threads = 1")
    pairs = [stream(room, service, number) for number in (0, 1)]
    moved(pairs, "with one thread")
    if threads_of(service.process):
        raise Failure(f"threads: {threads_of(service.process)}")


# ---- lanes -----------------------------------------------------------------

LANES = 2
STREAMS = 4
STILL_S = 2
STILL_PART = 0.02


class Lanes:
    """A roostd with several lanes at either end of a wire with as many queues,
    and streams between their clients.
    """

    def __init__(self, room, wire):
        if len(os.sched_getaffinity(0)) < LANES:
            raise Skip("there is one processor")
        self.room = room
        self.ends = [Service(
            room, wire=wire, driver=wire.driver, end=end,
            path=f"/run/{room.name}-{end}.sock",
            sections=("[roost]", f"workers = {LANES}"))
            for end in (NEAR, FAR)]
        for end in self.ends:
            self.check_lanes(end)
        self.pairs = [self.stream(i) for i in range(STREAMS)]

    @staticmethod
    def check_lanes(end):
        if not wait_until(lambda: len(threads_of(end.process)) == LANES - 1,
                          5):
            raise Failure(f"{end.process.title}: threads "
                          f"{threads_of(end.process)}: {end.process.err()}")

    def stream(self, number):
        """They go both ways: two have their server at the near end."""
        to, of = self.ends if number % 2 == 0 else self.ends[::-1]
        words = ["rping", "-v", "-V", "-a", ADDRESSES[to.near][0], "-p",
                 str(7200 + number)]
        server = self.room.start(**to.client(f"server{number}",
                                             [*words, "-s"]))
        if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                          cases_rdmacm.is_waiting(server), 20):
            raise Failure(f"{server.title}: does not listen: {server.err()}")
        client = self.room.start(**of.client(f"client{number}",
                                             [*words, "-c"]))
        if not wait_until(lambda: "ping data" in server.out(), 20):
            raise Failure(f"{client.title}: no ping data: {client.err()}")
        return server, client

    def go_on(self, title):
        moved(self.pairs, title)
        for process in (process for pair in self.pairs for process in pair):
            if process.wait(0) is not None:
                raise Failure(f"{process.title} ended: {process.err()}")

    def queues(self, end, way):
        """Frames by each. way: rx, tx."""
        seen = cases_service_people.ctl(self.room, end, "lanes", "-j", "show",
                                        "shared")
        return [lane[f"{way}_frames"]
                for lane in json.loads(seen.out())["lanes"]]


def lanes(room, wire_of):
    """Streams of clients of both lanes, whose bytes are looked at, and each of
    which sends by a queue of its own; a client of each lane is killed, and one
    evicted; the daemon is killed and started again; all are still.
    """
    world = Lanes(room, wire_of(room))
    near = world.ends[0]
    world.go_on("at first")
    for i in range(4):
        watch = room.start(**near.client(f"victim{i}", cases_service.WATCH))
        if not wait_until(lambda watch=watch: "async event FD" in watch.out(),
                          20):
            raise Failure(f"{watch.title}: does not open: {watch.err()}")
        if i % 2:
            row = cases_service_people.clients(room, near)
            cases_service_people.ctl(room, near, f"evict{i}", "evict",
                                     str(row["ibv_asyncwatch"]["client"]))
            cases_service.await_event(watch, "DEVICE_FATAL")
        watch.kill()
        near.process.signal(signal.SIGHUP)
        world.go_on(f"after victim {i}")
    sent = [world.queues(end, "tx") for end in world.ends]
    room.note(f"frames by queue: received "
              f"{[world.queues(end, 'rx') for end in world.ends]}, sent {sent};"
              f" processor time: {threads_of(near.process)} s of "
              f"{cases_service.cpu_s(near.process.pid):.2f} s")
    if min(min(sent)) == 0:
        raise Failure(f"sent by queue: {sent}")
    for end in world.ends:
        if min(threads_of(end.process).values()) == 0:
            raise Failure(f"{end.process.title}: a lane did nothing")
    near.process.kill()
    near.process = near.start("roostd-again")
    world.check_lanes(near)
    world.go_on("after the restart")
    for pair in world.pairs:
        for process in pair:
            process.signal(signal.SIGSTOP)
    time.sleep(STILL_S)
    before = cases_service.cpu_s(near.process.pid)
    time.sleep(STILL_S)
    used = (cases_service.cpu_s(near.process.pid) - before) / STILL_S
    room.note(f"still: {100 * used:.1f} % of a processor")
    for pair in world.pairs:
        for process in pair:
            process.signal(signal.SIGCONT)
    if used > STILL_PART:
        raise Failure(f"the daemon does not sleep: {used}")
    world.go_on("after a rest")


def tap_wire(room):
    """Taps with several queues on a bridge, both ends in one namespace."""
    bridge = cases_taps.Bridge(room)
    for end in ENDS:
        bridge.ip("tuntap", "add", "dev", end, "mode", "tap", "multi_queue")
        bridge.ip("link", "set", end, "master", "br0", "up")
    return types.SimpleNamespace(netns=dict.fromkeys(ENDS, bridge.netns),
                                 driver="net_tap0")


def fewer(room):
    """A port that has one queue says so, and works."""
    service = Service(room, wire=cases_xdp.xdp_wire(room),
                      driver=cases_xdp.DRIVER,
                      sections=("[roost]", f"workers = {LANES}"))
    if threads_of(service.process):
        raise Failure(f"threads: {threads_of(service.process)}")
    if "the port has no more queues" not in service.process.err():
        raise Failure(f"says: {service.process.err()}")
    service.pair(cases_service.pingpong_words(4), True)


CASES = [
    Case("service-lanes", lanes, Wire),
    Case("service-lanes-tap", lanes, tap_wire),
    Case("service-lanes-xdp", lanes,
         lambda room: cases_xdp.xdp_wire(room, queues=LANES)),
    Case("service-lanes-fewer", fewer),
    Case("service-threads", kills),
    Case("service-threads-one", one),
]
