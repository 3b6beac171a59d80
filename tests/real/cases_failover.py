# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Path migration: failover.c, an ordinary program, at both ends of two paths,
and the first of them fails in mid-traffic. That path leads through a bridge:
it can go silent without anybody losing carrier."""

import os
import time

import rooms
from harness import RUN, Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import ip

ENDS = ("left", "right")
# Of the kernel, on the second path, for TCP.
TCP_ADDRESSES = {"left": "198.19.0.1", "right": "198.19.0.2"}


class Paths:
    """Two namespaces; first path: END1, a bridge; second: a plain wire."""

    def __init__(self, room):
        if not rooms.inside():
            raise Skip("needs network namespaces of its own; run as root")
        self.room = room
        self.netns = {end: f"real-{RUN}-{end}" for end in ENDS}
        for end in ENDS:
            ip("netns", "add", self.netns[end])
            room.defer(ip, "netns", "del", self.netns[end])
        ip("link", "add", "middle", "type", "bridge")
        room.defer(ip, "link", "del", "middle")
        for end in ENDS:
            ip("link", "add", "name", f"plug-{end}", "type", "veth", "peer",
               "name", f"{end}1", "netns", self.netns[end])
            room.defer(ip, "link", "del", f"plug-{end}")
            ip("link", "set", f"plug-{end}", "master", "middle", "up")
        ip("link", "set", "middle", "up")
        left, right = (("name", f"{end}2", "netns", self.netns[end])
                       for end in ENDS)
        ip("link", "add", *left, "type", "veth", "peer", *right)
        for end in ENDS:
            inside = ("-n", self.netns[end])
            ip(*inside, "addr", "add", f"{TCP_ADDRESSES[end]}/24", "dev",
               f"{end}2")
            for interface in (f"{end}1", f"{end}2", "lo"):
                ip(*inside, "link", "set", interface, "up")

    def start(self, end, port, host):
        number = 1 + ENDS.index(end)
        options = ["--port", f"net_af_packet0,iface={end}1",
                   "--ip", f"198.18.0.{number}/24",
                   "--port", f"net_af_packet1,iface={end}2",
                   "--ip", f"198.18.1.{number}/24", "--second"]
        program = os.path.join(self.room.build, "tests", "real", "failover")
        return self.room.start(
            end, self.room.roost("run", *options, "--", program, "-p",
                                 str(port), *host), netns=self.netns[end])

    def silence(self):
        """All that the ends send on the first path is lost."""
        ip("link", "set", "middle", "down")

    def port_down(self):
        """The left end's first port."""
        ip("-n", self.netns["left"], "link", "set", "left1", "down")


def begin(room, start):
    """Two ends that are armed, and in traffic."""
    port = room.next_port()
    first = start("left", port, [])
    if not wait_for_listener(first, port, 20):
        raise Failure("the left end does not listen")
    ends = [first, start("right", port, [TCP_ADDRESSES["left"]])]
    if not wait_until(lambda: all("armed" in end.out() for end in ends) or
                      any(end.wait(0) is not None for end in ends), 20):
        raise Failure("not armed")
    time.sleep(0.2)
    return ends


def finish(room, ends, failed_at, bound_s):
    """Both migrated in time, and all went well behind it."""
    for end in ends:
        if not wait_until(lambda end=end: "migrated" in end.out() or
                          end.wait(0) is not None, 30):
            raise Failure(f"{end.title}: has not migrated")
    took_s = time.monotonic() - failed_at
    for end in ends:
        room.finish(end, 60)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
        if "1 PATH_MIG, 0 PATH_MIG_ERR, port 2" not in end.out():
            raise Failure(f"{end.title}: wrong events")
        room.note(f"{end.title}: {end.out().splitlines()[-1]}")
    if took_s > bound_s:
        raise Failure(f"the migration took {took_s:.1f} s")
    room.note(f"on the other path after {took_s:.2f} s")


def silent(room):
    """Nobody loses carrier: the retries of the first path are spent."""
    paths = Paths(room)
    ends = begin(room, paths.start)
    paths.silence()
    finish(room, ends, time.monotonic(), 5)


def port_down(room):
    """One end loses its port, and the other follows."""
    paths = Paths(room)
    ends = begin(room, paths.start)
    paths.port_down()
    finish(room, ends, time.monotonic(), 5)


CASES = [Case("failover-silent-path", silent),
         Case("failover-port-down", port_down)]
