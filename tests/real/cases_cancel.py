# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A program whose threads are cancelled, over ports whose drivers call the
kernel with each burst, or to wake the other end: cancel/. And one whose threads
are preempted: priority.c.

ROOST_TEST_CANCELS=N: how many threads die in each case, of 300.
"""

import os
import subprocess

import rooms
from harness import Case, Failure, Skip
from process import wait_until

CANCELS = "300"
LIMIT_S = 120
TAPS = ("cancel-a", "cancel-b")


def ports(*devargs):
    """Options for them, an address each."""
    return [word for i, port in enumerate(devargs, 1)
            for word in ("--port", port, "--ip", f"198.18.0.{i}/24")]


def start(room, options, words=()):
    program = os.path.join(room.build, "tests", "real", "cancel")
    env = {"ROOST_TEST_CANCELS": os.environ.get("ROOST_TEST_CANCELS", CANCELS)}
    return room.start("cancel", room.roost("run", *options, "--", program,
                                           *words), env=env)


def finish(room, process):
    room.finish(process, LIMIT_S)
    if process.status != 0:
        raise Failure(f"exit status {process.status}")
    room.note(process.out().strip())


def on_link(room, mode):
    finish(room, start(room, ["--link", room.link, "--progress", mode,
                              "--ip", "198.18.0.1/24"], ["198.18.0.1"]))


def between(room, *devargs):
    """Two ports of the process, joined by what they are."""
    path = f"/tmp/{room.link}.sock"
    room.defer(subprocess.run, ["rm", "-f", path])
    finish(room, start(room, ports(*(port.format(path) for port in devargs))))


def on_taps(room):
    if not rooms.inside() or not os.path.exists("/dev/net/tun"):
        raise Skip("needs a network namespace of its own and /dev/net/tun")
    subprocess.run(["ip", "link", "add", "cancel-br", "type", "bridge",
                    "mcast_snooping", "0"], check=True)
    room.defer(subprocess.run, ["ip", "link", "del", "cancel-br"])
    subprocess.run(["ip", "link", "set", "cancel-br", "up"], check=True)
    process = start(room, ports(*(f"net_tap{i},iface={tap}"
                                  for i, tap in enumerate(TAPS))))

    def plugged():
        """It opens its devices more than once, and each time anew."""
        for tap in TAPS:
            subprocess.run(["ip", "link", "set", tap, "master", "cancel-br",
                            "up"], capture_output=True)
        return process.wait(0) is not None

    wait_until(plugged, LIMIT_S, 0.1)
    finish(room, process)


def on_interfaces(room):
    if not rooms.inside():
        raise Skip("needs a network namespace of its own")
    subprocess.run(["ip", "link", "add", TAPS[0], "type", "veth", "peer",
                    "name", TAPS[1]], check=True)
    room.defer(subprocess.run, ["ip", "link", "del", TAPS[0]])
    for tap in TAPS:
        subprocess.run(["ip", "link", "set", tap, "up"], check=True)
    subprocess.run(["ip", "addr", "add", "198.18.0.1/24", "dev", TAPS[0]],
                   check=True)
    finish(room, start(room, ["--port", f"net_af_packet0,iface={TAPS[0]}",
                              "--port", f"net_af_packet1,iface={TAPS[1]}",
                              "--ip", "198.18.0.2/24"]))


def on_one_processor(room, workers):
    """Ordinary threads and one of real-time priority."""
    program = os.path.join(room.build, "tests", "real", "priority")
    process = room.run("priority", room.roost("run", "--link", room.link,
                                              "--workers", workers, "--",
                                              program), limit_s=LIMIT_S)
    if process.status == 77:
        raise Skip("no real-time priorities here")
    if process.status != 0:
        raise Failure(f"exit status {process.status}: {process.out()}")
    room.note(process.out().strip())


CASES = [
    Case("priority", on_one_processor, "1"),
    Case("priority-workers", on_one_processor, "2"),
    Case("cancel-link", on_link, "adaptive"),
    Case("cancel-link-dedicated", on_link, "dedicated"),
    Case("cancel-memif", between,
         "net_memif0,role=server,id=1,socket={},socket-abstract=no",
         "net_memif1,role=client,id=1,socket={},socket-abstract=no"),
    Case("cancel-vhost", between, "net_vhost0,iface={}",
         "net_virtio_user0,path={}"),
    Case("cancel-tap", on_taps),
    Case("cancel-af-packet", on_interfaces),
]
