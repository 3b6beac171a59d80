# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A wire: two network namespaces with a veth pair between them, and eyes on
it. The kernel's own addresses on it carry the programs' TCP side channel."""

import os
import re
import signal
import subprocess

import rooms
from harness import RUN, Failure, Skip
from process import wait_until

RELAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
MTU_BYTES = 9000
ENDS = ("left", "right")
# Of the kernel, for TCP; Roost's own are in 198.18/16.
TCP_ADDRESSES = {"left": "198.19.0.1", "right": "198.19.0.2"}
MACS = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:00:02"}


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(words)}: {done.stderr.strip()}")


def wait_for_capture(process):
    """Until dumpcap sees what passes."""
    if not wait_until(lambda: "File: " in process.err() or
                      process.wait(0) is not None, 20):
        raise Failure("dumpcap does not start")
    if process.status is not None:
        raise Skip("dumpcap cannot capture here: " + process.err().strip())


class Wire:
    """Namespaces and interfaces have the names of the ends, with the pid."""

    def __init__(self, room, mtu_bytes=MTU_BYTES, driver="net_af_packet0",
                 queues=1):
        if not rooms.inside():
            raise Skip("needs network namespaces of its own; run as root")
        self.room = room
        self.driver = driver
        self.netns = {end: f"real-{RUN}-{end}" for end in ENDS}
        for end in ENDS:
            ip("netns", "add", self.netns[end])
            room.defer(ip, "netns", "del", self.netns[end])
            # Before an interface comes up, so that its own IPv6 address is
            # there at once.
            self.inside(end, "sh", "-c", "echo 0 > "
                        "/proc/sys/net/ipv6/conf/default/accept_dad")
        left, right = (("name", end, "netns", self.netns[end], "address",
                        MACS[end], "mtu", str(mtu_bytes), "numrxqueues",
                        str(queues), "numtxqueues", str(queues))
                       for end in ENDS)
        ip("link", "add", *left, "type", "veth", "peer", *right)
        for end in ENDS:
            inside = ("-n", self.netns[end])
            ip(*inside, "addr", "add", f"{TCP_ADDRESSES[end]}/24", "dev", end)
            ip(*inside, "link", "set", end, "up")
            ip(*inside, "link", "set", "lo", "up")

    def inside(self, end, *words):
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.netns[end]}", *words],
            capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, end, title, options, words):
        """Keyword arguments to start words over Roost at one end."""
        port = ["--port", f"{self.driver},iface={end}", *options]
        return {"title": title, "netns": self.netns[end],
                "argv": self.room.roost("run", *port, "--", *words)}


def relayed(room, *harm):
    """A wire with relay.py in the middle of it, which is wire.relay."""
    wire = Wire(room, mtu_bytes=1500)
    middle = f"real-{RUN}-middle"
    ip("netns", "add", middle)
    room.defer(ip, "netns", "del", middle)
    for end in ENDS:
        ip("-n", wire.netns[end], "link", "set", end, "down")
    # The pair becomes two, with the ends of both in the middle.
    ip("-n", wire.netns["left"], "link", "del", "left")
    for end in ENDS:
        ip("link", "add", "name", end, "netns", wire.netns[end], "address",
           MACS[end], "type", "veth", "peer", "name", f"to-{end}", "netns",
           middle)
        ip("-n", wire.netns[end], "addr", "add",
           f"{TCP_ADDRESSES[end]}/24", "dev", end)
        ip("-n", wire.netns[end], "link", "set", end, "up")
        ip("-n", middle, "link", "set", f"to-{end}", "up")
    process = room.start("relay", ["python3", RELAY, "to-left", "to-right",
                                   *harm], netns=middle)
    if not wait_until(process.out, 60):
        raise Failure("the relay does not start: " + process.err())
    wire.relay = process
    return wire


class Tap:
    """What one end receives, in a file. (What it sends need not pass there:
    net_af_packet goes around the queue where taps sit.)
    """

    def __init__(self, wire, end):
        self.wire = wire
        self.end = end
        self.peer = ENDS[end == ENDS[0]]
        self.path = wire.room.path(f"{end}.pcapng")
        self.process = wire.room.start(
            f"dumpcap-{end}", ["dumpcap", "-q", "-B", "64", "-i", end,
                               "-f", f"ether src {MACS[self.peer]}",
                               "-w", self.path], netns=wire.netns[end])

    def wait(self):
        wait_for_capture(self.process)

    def has(self, text):
        with open(self.path, "rb") as file:
            return text in file.read()

    def stop(self):
        """Every frame is in the file then."""
        # dumpcap forgets what it has not read yet when it is told to stop: so
        # it is told when it has written a last frame that we know.
        last = f"the last frame of {self.wire.room.name}"
        self.wire.inside(self.peer, "bash", "-c", f"echo '{last}' >"
                         f"/dev/udp/{TCP_ADDRESSES[self.end]}/9")
        if not wait_until(lambda: self.has(last.encode()), 20, 0.05):
            raise Failure("the capture does not see the last frame")
        self.process.signal(signal.SIGINT)
        self.process.wait(20)
        said = self.process.err()
        counts = re.search(r"received/dropped on interface \S+ (\d+)/(\d+)",
                           said)
        if counts is None or int(counts[2]) != 0:
            raise Failure(f"the capture has gaps: {said.strip()}")


class Capture:
    """All frames of the wire, from start to stop: what either end receives."""

    def __init__(self, wire):
        self.path = wire.room.path("wire.pcapng")
        self.taps = [Tap(wire, end) for end in ENDS]
        for tap in self.taps:
            tap.wait()

    def stop(self):
        """Returns the file with every frame in it, in the order of time."""
        for tap in self.taps:
            tap.stop()
        done = subprocess.run(["mergecap", "-w", self.path,
                               *(tap.path for tap in self.taps)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"mergecap: {done.stderr.strip()}")
        return self.path
