# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""rsockets: Debian's rstream, riostream, rcopy and udpong at both ends of a
link, and programs that know nothing of RDMA carried by librspreload.so.

The addresses are the link's alone: the kernel of the room has none of them,
unless a case says so, and what arrives came by RDMA.
"""

import filecmp
import glob
import os
import signal
import time

from harness import Case, Failure, Skip
from process import wait_until

V4 = ("198.18.9.1", "198.18.9.2")
V6 = ("fd77:9::1", "fd77:9::2")
TRIES = 20


def end(room, place, words, launcher=()):
    """The command of one end; place: 0 for the server."""
    return room.roost("run", *launcher, "--link", room.link,
                      "--ip", V4[place] + "/24", "--ip", V6[place] + "/64",
                      "--", *words)


def preload():
    found = glob.glob("/usr/lib/*/rsocket/librspreload.so")
    if not found:
        raise Skip("no librspreload.so")
    return {"LD_PRELOAD": found[0]}


def client(room, server, words, env=None, launcher=()):
    """Debian's servers do not say when they listen: a client that comes too
    early is refused, and comes again.
    """
    for attempt in range(TRIES):
        time.sleep(0.2)
        process = room.run(f"client-{attempt}", end(room, 1, words, launcher),
                           env=env)
        if process.status == 0:
            return process
        if server.wait(0) is not None:
            break
    raise Failure(f"the client: exit status {process.status}")


def pair(room, server_words, client_words, env=None):
    """Both ends; returns them after both ended with status 0."""
    server = room.start("server", end(room, 0, server_words), env=env)
    ends = (client(room, server, client_words, env), server)
    room.finish(server)
    if server.status != 0:
        raise Failure(f"the server: exit status {server.status}")
    return ends


def stream(room, program, family, options):
    """rstream or riostream, which check the data with -T v."""
    address = V6[0] if family == 6 else V4[0]
    bind = ["-b", address]
    if family == 6:
        bind += ["-f", "ipv6"]
    first, second = pair(room, [program, *bind, *options],
                         [program, "-s", address, *options])
    for process in (first, second):
        if "custom" not in process.out():
            raise Failure(f"{process.title}: no result")


def copy(room):
    source, target = room.path("source"), room.path("target")
    with open(source, "wb") as file:
        file.write(os.urandom(5_000_000))
    server = room.start("server", end(room, 0, ["rcopy"]))
    client(room, server, ["rcopy", source, f"{V4[0]}:{target}"])
    if not filecmp.cmp(source, target, shallow=False):
        raise Failure("the copy differs")
    server.signal(signal.SIGINT)


def datagrams(room, address, options):
    """Every request of udpong -T e is answered, or is sent again."""
    server = room.start("server", end(room, 0, ["udpong", "-b", address]))
    process = client(room, server, ["udpong", "-s", address, "-C", "500",
                                    "-T", "e", *options])
    if "1k" not in process.out():
        raise Failure("not all requests were answered")
    server.signal(signal.SIGINT)


def give_kernel_addresses(room):
    """Until the case is over, the kernel has the addresses too."""
    for address in V4:
        change = ["ip", "addr", "add", f"{address}/32", "dev", "lo"]
        room.run(f"ip-{address}", change)
        room.defer(room.run, f"ip-del-{address}",
                   ["ip", "addr", "del", f"{address}/32", "dev", "lo"])


def datagrams_side(room):
    """The side channel carries the first, and tells the QP."""
    give_kernel_addresses(room)
    datagrams(room, V4[0], ["-S", "1000"])


def carried(room, address, server_words, client_words, env=None):
    full = preload()
    full.update(env or {})
    server = room.start("server", end(room, 0, server_words), env=full)
    if not wait_until(lambda: "listening" in server.out(), 20):
        raise Failure("the server does not listen")
    process = room.run("client", end(room, 1, client_words), env=full)
    room.finish(server)
    for one in (process, server):
        if one.status != 0:
            raise Failure(f"{one.title}: exit status {one.status}")


def plain(room, address):
    program = os.path.join(room.build, "tests", "real", "tcp_plain")
    port = str(room.next_port())
    carried(room, address, [program, "server", address, port],
            [program, "client", address, port])


def plain_debian(room):
    """rstream's own plain socket calls."""
    pair(room, ["rstream", "-T", "s", "-T", "v", "-C", "200"],
         ["rstream", "-s", V4[0], "-T", "s", "-T", "v", "-C", "200"],
         env=preload())


def drop_semaphore():
    """What librspreload.so leaves behind."""
    path = "/dev/shm/sem.rsocket_fork"
    if os.path.exists(path):
        os.unlink(path)


def forking(room):
    """A server that forks for a connection. It begins as TCP in the kernel and
    goes on over RDMA, opened by the child: EAL says so on stderr.
    """
    give_kernel_addresses(room)
    env = dict(preload(), RDMAV_FORK_SAFE="1")
    room.defer(drop_semaphore)
    words = ["rstream", "-T", "f", "-T", "v", "-C", "200"]
    port = ["-p", str(room.next_port())]
    server = room.start("server", end(room, 0, words + port, ("-v",)), env=env)
    process = client(room, server, words + port + ["-s", V4[0]], env, ("-v",))
    if not wait_until(lambda: "custom" in server.out(), 20):
        raise Failure("the server's child has no result")
    for one in (process, server):
        if "roost0 port 1" not in one.err():
            raise Failure(f"{one.title}: not carried by RDMA")
    server.signal(signal.SIGINT)


# (name, options)
STREAMS = [
    ("nonblocking", ["-T", "v", "-C", "500"]),
    ("blocking", ["-T", "b", "-T", "v", "-C", "500"]),
    ("async", ["-T", "a", "-T", "v", "-C", "500"]),
    ("large", ["-T", "v", "-S", "1000000", "-C", "20"]),
    ("large-async", ["-T", "a", "-T", "v", "-S", "1000000", "-C", "20"]),
    ("small-buffer", ["-T", "v", "-S", "65536", "-B", "4096", "-C", "20"]),
    ("not-inline", ["-T", "v", "-i", "0", "-C", "500"]),
]
ONLY_RSTREAM = [
    ("resolve", ["-T", "r", "-T", "v", "-C", "100"]),
    ("keepalive", ["-k", "1", "-T", "v", "-C", "100"]),
    ("iterations", ["-T", "v", "-S", "5000", "-I", "20", "-C", "10"]),
]

CASES = [Case(f"rsocket-rstream-{name}", stream, "rstream", 4, options)
         for name, options in STREAMS + ONLY_RSTREAM]
CASES += [Case(f"rsocket-riostream-{name}", stream, "riostream", 4, options)
          for name, options in STREAMS]
CASES += [
    Case("rsocket-rstream-v6", stream, "rstream", 6, STREAMS[0][1]),
    Case("rsocket-riostream-v6", stream, "riostream", 6, STREAMS[0][1]),
    Case("rsocket-rcopy", copy),
    Case("rsocket-udpong", datagrams, V4[0], ["-S", "1000"]),
    Case("rsocket-udpong-blocking", datagrams, V4[0],
         ["-S", "64", "-T", "b"]),
    Case("rsocket-udpong-v6", datagrams, V6[0], ["-S", "1000"]),
    Case("rsocket-udpong-side", datagrams_side),
    Case("rsocket-preload-tcp", plain, V4[0]),
    Case("rsocket-preload-tcp-v6", plain, V6[0]),
    Case("rsocket-preload-rstream", plain_debian),
    Case("rsocket-preload-fork", forking),
]
