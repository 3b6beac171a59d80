# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The programs of apps/examples, which have libroost alone, and Debian's own
programs at the other end. Beside those of the build, the same programs as users
build them: on an installed tree, by pkg-config, with libroost.so or
libroost.a."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

from harness import TOP, Case, Failure, Skip
from process import wait_until

SERVICE = "7471"


def output_of(argv, env=None):
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=env)
    if done.returncode != 0:
        raise Failure(f"{' '.join(argv)[:200]}: {done.stdout[-2000:]}")
    return done.stdout


def install(room):
    """Install the build below the case's folder. Returns the folder of the
    pkg-config files, which name the tree as it stands there.
    """
    tree = room.path("tree")
    output_of(["meson", "install", "-C", room.build, "--no-rebuild", "--quiet",
               "--tags", "devel,runtime", "--destdir", tree])
    found = glob.glob(os.path.join(tree, "**", "pkgconfig", "*.pc"),
                      recursive=True)
    for path in found:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("prefix=", f"prefix={tree}", 1))
    return os.path.dirname(found[0])


# How a program is linked: what pkg-config is asked, and which libraries it then
# loads when it starts.
SHARED = ("--libs roost", {"libroost"})
STATIC = ("--static --libs roost", {"librte_"})
ALL_STATIC = ("--static --libs libdpdk roost", set())


def compiled(room, name, how):
    """The program as its user builds it. Returns (argv, env)."""
    words, loaded = how
    if os.path.exists(os.path.join(room.build, "real-preload")):
        raise Skip("a program without sanitizer cannot link this build")
    libdir = output_of(["pkg-config", "--variable=libdir", "libdpdk"]).strip()
    if how == ALL_STATIC and not glob.glob(f"{libdir}/librte_eal.a"):
        raise Skip(f"no archives of DPDK in {libdir}")
    folder = install(room)
    env = {**room.env, "PKG_CONFIG_PATH": folder}
    flags = output_of(["pkg-config", "--cflags", *words.split()], env).split()
    if name == "appliance":
        flags += output_of(["pkg-config", "--cflags", "libdpdk"]).split()
    # Debian's libpcap.pc names it; no symbol of it is needed.
    flags = [flag for flag in flags if flag != "-lsystemd"]
    examples = os.path.join(TOP, "apps", "examples")
    path = room.path(f"roost-{name}")
    output_of(["cc", "-o", path, os.path.join(examples, f"{name}.c"),
               os.path.join(examples, "echo_server.c"), *flags])
    found = set(re.findall(r"NEEDED.*\[(libroost|librte_)",
                           output_of(["readelf", "--dynamic", path])))
    if found != loaded:
        raise Failure(f"{name} needs {found}, not {loaded}")
    return [path], {"LD_LIBRARY_PATH": os.path.dirname(folder)}


def program(room, name, how):
    """Returns (argv, env); how None: that of the build."""
    if how is None:
        return [os.path.join(room.build, "apps", "examples",
                             f"roost-{name}")], {}
    return compiled(room, name, how)


def start_echo(room, how, count, argv):
    path, env = program(room, "echo", how)
    server = room.start("echo", [*path, "--service", SERVICE, "--count",
                                 str(count), *argv], env=env)
    if not wait_until(lambda: "listening" in server.err(), 20):
        raise Failure("roost-echo does not listen")
    return server


def check_ends(room, *ends):
    for end in ends:
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def echo(room, clients, how=None):
    """rdma_client sends 16 bytes and waits for as many."""
    server = start_echo(room, how, clients, ["--link", room.link, "--ip",
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


def start_appliance(room, path, env, mode, clients, *ports,
                    title="appliance"):
    room.defer(shutil.rmtree, "/run/dpdk", True)
    server = room.start(title, [
        *path, "--no-huge", "-m", "256",
        "--no-pci", "--no-shconf", "--no-telemetry", "-l", "0",
        "--file-prefix", f"{room.link}-{title}",
        *(f"--vdev={port}" for port in ports), "--",
        "198.18.0.1", "24", mode, SERVICE, str(clients)], env=env)
    if not wait_until(lambda: "listening" in server.err(), 20):
        raise Failure("roost-appliance does not listen")
    return server


def forwards(room):
    """Two ports, whose other ends are each other: the own frames go round, with
    nobody at the device, until the program is interrupted. Several at a time:
    how one ends depends on which of its threads waits for a processor.
    """
    servers = []
    for nth in range(6):
        ports = [f"net_memif{number},role={role},socket-abstract=yes,"
                 f"socket={room.link}-{nth}"
                 for number, role in enumerate(("server", "client"))]
        servers.append(start_appliance(
            room, *program(room, "appliance", None), "own", 1, *ports,
            title=f"appliance{nth}"))
    for server in servers:
        if not wait_until(lambda it=server: re.search(
                r"forwarded [1-9]\d{3,}", it.out()), 20):
            raise Failure(f"nothing goes round: {server.out()}")
    for server in servers:
        server.signal(signal.SIGINT)
    check_ends(room, *servers)
    for server in servers:
        sent, received = map(int, re.findall(r"\d+",
                                             server.out().splitlines()[-1]))
        room.note(f"own frames: {sent} sent once, received {received} times")
        if received <= sent:
            raise Failure(server.out())


def appliance(room, mode, clients, how=None):
    """A DPDK program with its own port and loop, and rdma_client at the other
    end of a cable. Its own frames pass meanwhile, and no thread of Roost's
    runs in it.
    """
    path, env = program(room, "appliance", how)
    ip("link", "add", "own0", "type", "veth", "peer", "own1")
    room.defer(ip, "link", "del", "own0")
    for name in ("own0", "own1"):
        ip("link", "set", name, "up")
    server = start_appliance(room, path, env, mode, clients,
                             "net_af_packet0,iface=own0")
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
    Case("example-echo-installed", echo, 1, SHARED),
    Case("example-echo-static", echo, 1, STATIC),
    Case("example-appliance-own", appliance, "own", 2),
    Case("example-appliance-lent", appliance, "lent", 2),
    Case("example-appliance-forwards", forwards),
    Case("example-appliance-static", appliance, "own", 2, STATIC),
    Case("example-appliance-all-static", appliance, "lent", 2, ALL_STATIC),
]
