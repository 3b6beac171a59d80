# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Path migration: failover.c, an ordinary program, at both ends of two paths,
and the first of them fails in mid-traffic. That path leads through a bridge:
it can go silent without anybody losing carrier. And what else two ports of one
device must do on real ports."""

import os
import re
import subprocess
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


def start_on_links(room):
    """A way to start an end on two links."""
    program = os.path.join(room.build, "tests", "real", "failover")

    def start(end, port, host):
        return room.start(end, room.roost(
            "run", "--link", room.link + "a", "--link", room.link + "b",
            "--second", "--", program, "-p", str(port),
            *(["127.0.0.1"] if host else [])))
    return start


def ctl(room, *command):
    """An administrator takes the left end's first port away."""
    ends = begin(room, start_on_links(room))
    failed_at = time.monotonic()
    done = room.run("ctl", room.roost(
        "ctl", "--pid", str(ends[0].pid), "--dev", "roost0", "--port", "1",
        *command))
    if done.status != 0:
        raise Failure(f"roost ctl: {done.err()}")
    finish(room, ends, failed_at, 5)


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


def ping_ms(netns, address):
    """The average of a few pings with long pauses, during which the process
    sleeps.
    """
    done = subprocess.run(
        ["ip", "netns", "exec", netns, "ping", "-q", "-c", "10", "-i", "0.2",
         address], capture_output=True, text=True, timeout=30)
    found = re.search(r"= [\d.]+/([\d.]+)/", done.stdout)
    if done.returncode != 0 or found is None:
        raise Failure(f"no answer from {address}: {done.stdout}")
    return float(found[1])


def both_ports_wake(room):
    """A process that sleeps is woken by the RX interrupt of either port."""
    if not rooms.inside():
        raise Skip("needs network namespaces of its own; run as root")
    netns = f"real-{RUN}-taps"
    ip("netns", "add", netns)
    room.defer(ip, "netns", "del", netns)
    watch = room.start("watch", room.roost(
        "run", "--port", "net_tap0,iface=tap1", "--ip", "198.18.0.1/24",
        "--port", "net_tap1,iface=tap2", "--ip", "198.18.1.1/24", "--second",
        "--", "ibv_asyncwatch"), netns=netns)
    if not wait_until(lambda: "event FD" in watch.out() or
                      watch.wait(0) is not None, 20):
        raise Failure("the device does not open")
    if watch.status is not None:
        raise Skip("no tap devices here: " + watch.err().strip())
    for number in (1, 2):
        ip("-n", netns, "addr", "add", f"198.18.{number - 1}.2/24", "dev",
           f"tap{number}")
        ip("-n", netns, "link", "set", f"tap{number}", "up")
    for number in (1, 2):
        took_ms = ping_ms(netns, f"198.18.{number - 1}.1")
        room.note(f"port {number}: {took_ms} ms")
        # A port that does not wake anybody is looked at after 100 ms.
        if took_ms > 20:
            raise Failure(f"port {number} is not heard at once")


CASES = [Case("two-ports-wake", both_ports_wake),
         Case("failover-silent-path", silent),
         Case("failover-port-down", port_down),
         Case("failover-link-down", ctl, "link", "down"),
         Case("failover-port-removed", ctl, "remove")]
