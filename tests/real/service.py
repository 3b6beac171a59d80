# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A daemon that owns ports: roostd at one end of a wire, its clients, and a
plain program with a port of its own at the other end."""

import glob
import os
import shutil

from harness import Failure
from process import wait_until
from wire import TCP_ADDRESSES, Wire

ADDRESSES = {"left": ("198.18.0.1", "fd00:198:18::1"),
             "right": ("198.18.0.2", "fd00:198:18::2")}
PREFIX_BITS = (24, 64)
# In this order, behind the link-local one.
GIDS = {4: "1", 6: "2"}
NEAR, FAR = "left", "right"


def prefixes(end):
    return [f"{address}/{bits}"
            for address, bits in zip(ADDRESSES[end], PREFIX_BITS)]


class Service:
    """Its clients are at the left end of the wire."""

    def __init__(self, room, ips=True, sections=(), wire=None, port=(),
                 driver="net_af_packet0", path=None, env=None, end=NEAR):
        """ips: addresses of Roost's own, else those of the kernel. port:
        further lines of [port0]; sections: further lines of the file. path:
        where it listens; env: more variables for it. driver None: port says
        what the port is. end: of the wire.
        """
        self.room = room
        self.wire = wire or Wire(room)
        self.ips = ips
        self.path = path or f"/run/{room.name}.sock"
        self.env = env
        self.near = end
        self.file = room.path(f"roostd-{end}.conf")
        room.defer(self.forget)
        lines = ["[port0]"]
        if driver:
            lines.append(f"devargs = {driver},iface={end}")
        if ips:
            lines.append("ip = " + " ".join(prefixes(end)))
        with open(self.file, "w", encoding="ascii") as file:
            file.write("\n".join([*lines, *port, *sections]) + "\n")
        self.process = self.start("roostd" if end == NEAR else "roostd-far")

    def argv(self):
        return [os.path.join(self.room.build, "apps", "roostd", "roostd"),
                "-c", self.file, "--socket", self.path]

    def start(self, title="roostd"):
        process = self.room.start(title, self.argv(),
                                  self.wire.netns[self.near], self.env)
        if not wait_until(lambda: os.path.exists(self.path) or
                          process.wait(0) is not None, 20):
            raise Failure("roostd does not listen")
        if process.status is not None:
            raise Failure(f"roostd ended: {process.err().strip()}")
        return process

    def forget(self):
        """A daemon that is killed leaves its socket, its state, its picture.
        """
        for path in glob.glob(self.path + "*"):
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.remove(path)

    def end(self):
        """As an administrator ends it. Returns its exit status."""
        self.process.signal(15)
        self.room.finish(self.process, 10)
        return self.process.status

    def words(self, words, port=""):
        return self.room.roost("run", "--service", self.path + port, "--",
                               *words)

    def client(self, title, words, port=""):
        """Keyword arguments to start words behind the daemon."""
        return {"title": title, "netns": self.wire.netns[self.near],
                "argv": self.words(words, port)}

    def peer(self, title, words, options=()):
        """The same at the other end, with a port of its own."""
        if self.ips:
            options = [*options, *(word for prefix in prefixes(FAR)
                                   for word in ("--ip", prefix))]
        return self.wire.start(FAR, title, options, words)

    def take(self):
        """What the case's programs would do at a hub, they do here."""
        plain = self.room.roost
        enter = ["nsenter", f"--net=/run/netns/{self.wire.netns[NEAR]}"]

        def roost(*words):
            if "--hub" not in words:
                return plain(*words)
            others = (word for word in words[1:] if word != "--hub")
            return [*enter, *plain(words[0], "--service", self.path, *others)]

        self.room.roost = roost
        self.room.service = self.path
        self.room.daemon_pid = self.process.pid

    def pair(self, words, server_near=True, names=("server", "client")):
        """A pair of a client and the peer. Returns both, ended well."""
        port = self.room.next_port()
        words = [word.replace("PORT", str(port)) for word in words]
        near, far = ((self.client, self.peer) if server_near else
                     (self.peer, self.client))
        host = TCP_ADDRESSES[NEAR if server_near else FAR]
        return self.room.pair(near(names[0], words),
                              far(names[1], [*words, host]), port)
