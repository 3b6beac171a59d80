# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A roostd with several ports, each of which has a thread."""

import os
import signal
import time

import cases_rdmacm
import cases_service
import cases_service_people
from harness import Case, Failure, Skip
from process import wait_until
from service import FAR, NEAR, Service

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
        with open(f"/proc/{process.pid}/task/{task}/comm",
                  encoding="ascii") as file:
            name = file.read().strip()
        if name.startswith("roostd-"):
            seen[int(name.split("-")[1])] = \
                cases_service.cpu_s(f"{process.pid}/task/{task}")
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


CASES = [
    Case("service-threads", kills),
    Case("service-threads-one", one),
]
