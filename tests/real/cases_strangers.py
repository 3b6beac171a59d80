# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Ports with a peer behind a socket, on a machine with other users: these come
first, come again and again, say all that a peer would say, or serve the socket
themselves. Whom a port is told to trust gets through."""

import os
import socket
import subprocess
import sys

import cases_link
import rooms
from harness import Case, Failure, Skip
from process import wait_until

STRANGER = 54321
OTHER_USER = ["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER),
              "--clear-groups"]
# Connects as fast as it can to what it is told, with a whole page of words.
KNOCK = """
import socket, sys, time
kind, name = int(sys.argv[1]), sys.argv[2]
name = "\\0" + name if name[0] != "/" else name
while True:
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(1)
    try:
        s.connect(name)
        print("in", flush=True)
        s.send(bytes(range(256)) * 16)
        s.recv(4096)
    except OSError:
        time.sleep(0.001)
    s.close()
"""

# Serves the name, and says the same to whoever comes.
SERVE = """
import socket, sys
name = sys.argv[2]
s = socket.socket(socket.AF_UNIX, int(sys.argv[1]))
s.bind("\\0" + name if name[0] != "/" else name)
s.listen(5)
print("serves", flush=True)
while True:
    c, _ = s.accept()
    try:
        c.settimeout(1)
        c.send(bytes(range(256)) * 16)
        print("got", len(c.recv(4096)), flush=True)
    except OSError:
        pass
"""


class Pair:
    """Two ports on one socket: kind, its name and the devargs of both."""

    def __init__(self, room, kind):
        abstract = kind == "memif-abstract"
        name = room.link if abstract else f"/tmp/{room.link}.sock"
        self.room = room
        self.name = name
        if kind.startswith("memif"):
            self.type = socket.SOCK_SEQPACKET
            how = f"socket={name},socket-abstract=" + \
                ("yes" if abstract else "no")
            self.server = f"net_memif0,role=server,{how}"
            self.client = f"net_memif0,role=client,{how}"
        else:
            self.type = socket.SOCK_STREAM
            self.server = f"net_vhost0,iface={name}"
            self.client = f"net_virtio_user0,path={name}"
            if kind == "virtio":
                self.server = f"net_virtio_user0,path={name},server=1"
                self.client = f"net_vhost0,iface={name},client=1"
        if not abstract:
            room.defer(self.forget)

    def forget(self):
        if os.path.exists(self.name):
            os.remove(self.name)

    def end(self, title, devargs, words, more=(), user=(), roost=None):
        ip = "198.18.0.1/24" if devargs == self.server else "198.18.0.2/24"
        return {"title": title, "argv": [
            *user, *(roost or self.room.roost()), "run", "--port", devargs,
            "--ip", ip, *more, "--", *words]}

    def stranger(self, title, program):
        """Another user's process."""
        return self.room.start(title, [
            *OTHER_USER, sys.executable, "-c", program, str(int(self.type)),
            self.name])

    def is_served(self):
        if self.name[0] == "/":
            return os.path.exists(self.name)
        with open("/proc/net/unix") as file:
            return f"@{self.name}\n" in file.read()

    def open_to_all(self):
        """The socket of a program with no umask."""
        if not wait_until(self.is_served, 20):
            raise Failure(f"nobody serves {self.name}")
        if self.name[0] == "/":
            os.chmod(self.name, 0o777)


def other_user():
    if os.geteuid() != 0:
        raise Skip("only root can be another user")


def within_reach(room):
    """The launcher, where the folders above are no longer root's alone."""
    if not rooms.inside():
        raise Skip("the build tree may be out of another user's reach")
    place = f"/tmp/{room.link}.build"
    os.mkdir(place)
    subprocess.run(["mount", "--bind", room.build, place], check=True)
    room.defer(os.rmdir, place)
    # Lazy: a program that was killed may not be gone yet.
    room.defer(subprocess.run, ["umount", "--lazy", place])
    return [os.path.join(place, "apps", "roost")]


def check_told(end, stranger):
    """One line for all that a stranger tries."""
    lines = [line for line in end.err().splitlines() if "hung up" in line]
    if not lines or f"process {stranger.pid} of user {STRANGER}" not in \
            lines[0] or not lines[0].startswith("roost: port0 ("):
        raise Failure(f"{end.title} says {lines}")
    if len(lines) > 6:
        raise Failure(f"{end.title} says {len(lines)} lines")


def knocked(room, kind):
    """A stranger is at the door before the peer, and stays there."""
    other_user()
    pair = Pair(room, kind)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "20000", "-p",
             str(port)]
    server = room.start(**pair.end("server", pair.server, words))
    pair.open_to_all()
    stranger = pair.stranger("stranger", KNOCK)
    if not wait_until(lambda: "in" in stranger.out(), 10):
        raise Failure("the stranger does not get to the door")
    client = room.start(**pair.end("client", pair.client,
                                   ["sh", "-c", "sleep 1; exec \"$@\"", "sh",
                                    *words, "127.0.0.1"]))
    for end in (client, server):
        room.finish(end, 60)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
    check_told(server, stranger)


def served(room, kind):
    """A stranger has taken the name: whoever connects tells who it is, and
    gives it nothing. When it has gone, the peer's place is free.
    """
    other_user()
    pair = Pair(room, kind)
    stranger = pair.stranger("stranger", SERVE)
    if not wait_until(lambda: "serves" in stranger.out(), 10):
        raise Failure("the stranger does not serve")
    pair.open_to_all()
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-p", str(port)]
    client = room.start(**pair.end("client", pair.client, words))
    if not wait_until(lambda: "hung up" in client.err(), 20):
        raise Failure("the client does not say who serves the socket")
    check_told(client, stranger)
    if kind == "vhost":  # net_virtio_user does not look again
        room.finish(client, 20)
        if client.status == 0 or len(client.err().splitlines()) > 2:
            raise Failure(f"the client says {client.err()}")
        return
    if "got" in stranger.out() and "got 0" not in stranger.out():
        raise Failure(f"it was told something: {stranger.out()}")
    stranger.kill()
    pair.forget()
    server = room.start(**pair.end("server", pair.server,
                                   [*words, "127.0.0.1"]))
    for end in (server, client):
        room.finish(end, 60)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def trusted(room, kind, user):
    """The same user as a peer, because the port was told so. Root it trusts
    anyway.
    """
    other_user()
    pair = Pair(room, kind)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "200", "-p", str(port)]
    server = room.start(**pair.end("server", pair.server, words,
                                   ("--peer-users", user)))
    pair.open_to_all()
    client = room.start(**pair.end(
        "client", pair.client, ["sh", "-c", "sleep 1; exec \"$@\"", "sh",
                                *words, "127.0.0.1"], (), OTHER_USER,
        roost=within_reach(room)))
    for end in (client, server):
        room.finish(end, 60)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
    cases_link.check_report(server, client)


def refused(room):
    """What has no socket to a peer takes no users, and says so."""
    done = room.run("tap", room.roost(
        "run", "--port", "net_tap0", "--peer-users", "root", "--",
        "ibv_rc_pingpong"))
    if done.status == 0 or "leave out --peer-users" not in done.err():
        raise Failure(f"net_tap takes users: {done.err()}")


CASES = [Case(f"strangers-knock-{kind}", knocked, kind)
         for kind in ("memif-abstract", "memif", "vhost")]
CASES += [Case(f"strangers-serve-{kind}", served, kind)
          for kind in ("memif-abstract", "memif", "vhost", "virtio")]
CASES += [
    Case("strangers-trusted-memif", trusted, "memif-abstract", str(STRANGER)),
    Case("strangers-trusted-vhost", trusted, "vhost", f"0,{STRANGER}"),
    Case("strangers-peer-users-refused", refused),
]
