# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The programs of apps/examples, which have libroost alone, and Debian's own
programs at the other end."""

import glob
import os
import re
import shutil
import socket
import subprocess
import threading

from harness import Case, Failure
from process import wait_until

SERVICE = "7471"


def program(room, name):
    return os.path.join(room.build, "apps", "examples", name)


def start_echo(room, count, argv):
    server = room.start("echo", [program(room, "roost-echo"), "--service",
                                 SERVICE, "--count", str(count), *argv])
    if not wait_until(lambda: "listening" in server.err(), 20):
        raise Failure("roost-echo does not listen")
    return server


def check_ends(room, *ends):
    for end in ends:
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def echo(room, clients):
    """rdma_client sends 16 bytes and waits for as many."""
    server = start_echo(room, clients, ["--link", room.link, "--ip",
                                        "198.18.0.1/24"])
    for number in range(clients):
        client = room.start(f"client{number}", room.roost(
            "run", "--link", room.link, "--ip", "198.18.0.2/24", "--",
            "rdma_client", "-s", "198.18.0.1", "-p", SERVICE))
        check_ends(room, client)
        if "end 0" not in client.out():
            raise Failure(f"{client.title}: {client.out()}")
    check_ends(room, server)


OWN_TYPE = 0x88b5


class OwnPeer:
    """The other end of the appliance's own traffic: sends frames of OWN_TYPE to
    an interface, and counts those that come.
    """

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                    socket.htons(OWN_TYPE))
        self.socket.bind((interface, OWN_TYPE))
        self.socket.settimeout(0.001)
        self.sent = self.received = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        frame = b"\xff" * 6 + bytes.fromhex("020000000001") + \
            OWN_TYPE.to_bytes(2, "big") + bytes(46)
        while not self.stopped.is_set():
            try:
                # What we send ourselves is seen here, too.
                if self.socket.recvfrom(2048)[1][2] != socket.PACKET_OUTGOING:
                    self.received += 1
            except TimeoutError:
                pass
            self.socket.send(frame)
            self.sent += 1

    def stop(self):
        self.stopped.set()
        self.thread.join()
        self.socket.close()


def threads_of(process):
    names = []
    for task in glob.glob(f"/proc/{process.pid}/task/*/comm"):
        with open(task, encoding="utf-8") as file:
            names.append(file.read().strip())
    return names


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def appliance(room, mode, clients):
    """A DPDK program with its own port and loop, and rdma_client at the other
    end of a cable. Its own frames pass meanwhile, and no thread of Roost's
    runs in it.
    """
    ip("link", "add", "own0", "type", "veth", "peer", "own1")
    room.defer(ip, "link", "del", "own0")
    for name in ("own0", "own1"):
        ip("link", "set", name, "up")
    room.defer(shutil.rmtree, "/run/dpdk", True)
    server = room.start("appliance", [
        program(room, "roost-appliance"), "--no-huge", "-m", "256",
        "--no-pci", "--no-shconf", "--no-telemetry", "-l", "0",
        "--vdev", "net_af_packet0,iface=own0", "--",
        "198.18.0.1", "24", mode, SERVICE, str(clients)])
    if not wait_until(lambda: "listening" in server.err(), 20):
        raise Failure("roost-appliance does not listen")
    peer = OwnPeer("own1")
    for number in range(clients):
        client = room.start(f"client{number}", room.roost(
            "run", "--port", "net_af_packet0,iface=own1",
            "--ip", "198.18.0.2/24", "--",
            "rdma_client", "-s", "198.18.0.1", "-p", SERVICE))
        names = threads_of(server)
        check_ends(room, client)
        if "end 0" not in client.out():
            raise Failure(f"{client.title}: {client.out()}")
        # main() has the program's name.
        if sum(name.startswith("roost") for name in names) != 1:
            raise Failure(f"a thread of Roost's: {names}")
    check_ends(room, server)
    peer.stop()
    sent, received = map(int, re.findall(r"\d+", server.out()))
    room.note(f"threads {names}; own frames: sent {sent}, the peer got "
              f"{peer.received}; received {received} of {peer.sent}")
    # Without clients, none is lost; the peer starts late and ends late.
    if min(sent, received, peer.received) < 50:
        raise Failure(f"own frames: {server.out()}")


CASES = [
    Case("example-echo", echo, 1),
    Case("example-echo-again", echo, 3),
    Case("example-appliance-own", appliance, "own", 2),
    Case("example-appliance-lent", appliance, "lent", 2),
]
