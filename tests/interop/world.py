# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The wire between Roost and the guest: two network namespaces. In "roost" is
one end of a veth pair, where Roost runs; in "switch" its other end and the
guest's tap, joined by the kernel's bridge or by a relay that loses frames.

The kernels' own addresses on the wire are for the programs' TCP side channel.
"""

import os
import signal
import subprocess
import sys

import kernel
import rooms
from guest import Guest, GuestProcess
from harness import RUN, Failure, Skip
from ports import FIRST_PORT, MACS, MEMORY_MIB, PORTS
from process import Process, wait_until
from wire import RELAY, ip

MTU_BYTES = 9000
TAP_FRAMES = 8192
# Of RoCE: Roost's own; in the guest the kernel's, as Soft-RoCE has no others.
ADDRESSES = {"roost": ("198.18.0.1/24", "fd00:198:18::1/64"),
             "rxe": ("198.18.0.2/24", "fd00:198:18::2/64")}
TCP_ADDRESSES = {"roost": "198.19.0.1", "rxe": "198.19.0.2"}
# Place of an address in the GID table of either side: link-local first.
GIDS = {"link-local": "0", "IPv4": "1", "IPv6": "2"}
DEVICES = {"roost": "roost0", "rxe": "rxe0"}
PEERS = {"roost": "rxe", "rxe": "roost"}


class World:
    """What all cases share. close() takes it down."""

    def __init__(self, image, build, env):
        if not rooms.inside():
            raise Skip("needs network namespaces of its own; run as root")
        self.image = image
        self.build = build
        self.env = env
        self.logs = os.path.join(build, "interop-logs")
        self.netns = {name: f"interop-{RUN}-{name}"
                      for name in ("roost", "switch")}
        self.guest = None
        self.relay = None
        self.boots = 0
        self.port = PORTS[FIRST_PORT]
        self.make_wire()

    def make_wire(self):
        for name in self.netns.values():
            ip("netns", "add", name)
            # Before an interface comes up: its address is there at once.
            self.write(name, "/proc/sys/net/ipv6/conf/default/accept_dad", 0)
        # The switch has no addresses.
        self.write(self.netns["switch"],
                   "/proc/sys/net/ipv6/conf/default/disable_ipv6", 1)
        mtu = ("mtu", str(MTU_BYTES))
        ip("link", "add", "name", "roost", "netns", self.netns["roost"],
           "address", MACS["roost"], *mtu, "type", "veth", "peer", "name",
           "veth", "netns", self.netns["switch"], *mtu)
        roost = ("-n", self.netns["roost"])
        switch = ("-n", self.netns["switch"])
        ip(*roost, "addr", "add", self.side_address(), "dev", "roost")
        ip(*roost, "link", "set", "lo", "up")
        ip(*roost, "link", "set", "roost", "up")
        ip(*switch, "tuntap", "add", "dev", "tap", "mode", "tap", "vnet_hdr")
        # UC and UD have nothing that slows a sender down: the tap has room for
        # what a guest in software emulation has not taken yet.
        ip(*switch, "link", "set", "tap", *mtu, "txqueuelen",
           str(TAP_FRAMES))
        for name in ("tap", "veth"):
            ip(*switch, "link", "set", name, "up")
        self.join()

    @staticmethod
    def side_address():
        """Of the kernel's on Roost's side."""
        return TCP_ADDRESSES["roost"] + "/24"

    def ip_in(self, name, *words):
        ip("-n", self.netns[name], *words)

    def plug(self, name):
        """Roost's programs run over the port PORTS[name] from now on."""
        port, old = PORTS[name], self.port
        if port is old:
            return
        old.remove(self)
        self.port = port
        port.install(self)
        if (port.machine, port.side) != (old.machine, old.side):
            if self.guest is not None:
                self.guest.close()
        elif self.guest is not None and self.guest.alive():
            self.configure(["ip", "link", "set", "eth0", "mtu",
                            str(port.mtu_bytes)])

    @staticmethod
    def write(netns, path, value):
        subprocess.run(["nsenter", f"--net=/run/netns/{netns}", "sh", "-c",
                        f"echo {value} > {path}"], check=True)

    def join(self):
        """The kernel's bridge between tap and veth."""
        switch = ("-n", self.netns["switch"])
        ip(*switch, "link", "add", "bridge", "mtu", str(MTU_BYTES), "type",
           "bridge", "mcast_snooping", "0")
        for name in ("tap", "veth"):
            ip(*switch, "link", "set", name, "master", "bridge")
        ip(*switch, "link", "set", "bridge", "up")

    def lossy(self, percent, seed, cm_delay_s=0):
        """A relay of ours instead, until whole() is called."""
        ip("-n", self.netns["switch"], "link", "del", "bridge")
        self.relay = Process(
            "relay", [sys.executable, "-B", RELAY, "tap", "veth",
                      f"percent={percent}", f"seed={seed}",
                      f"cm-delay={cm_delay_s}"], self.logs,
            self.netns["switch"], self.env)
        if not wait_until(lambda: "joined" in self.relay.out() or
                          self.relay.wait(0) is not None, 20):
            raise Failure("the lossy relay does not start")

    def whole(self):
        """Returns what the lossy relay has to say."""
        self.relay.signal(signal.SIGTERM)
        self.relay.wait(20)
        self.relay.kill()
        said, self.relay = self.relay.out(), None
        self.join()
        return said

    def boot(self):
        """A guest that is up, with Soft-RoCE on its NIC."""
        if self.guest is not None and self.guest.alive():
            return self.guest
        self.boots += 1
        logs = os.path.join(self.logs, f"guest-{self.boots}")
        os.makedirs(logs)
        port = self.port
        port.before_boot(self)
        try:
            self.guest = Guest(self.image, self.logs, logs, port.nic(),
                               self.netns["switch"], kernel.RXE,
                               machine=port.machine, memory_mib=MEMORY_MIB)
            self.configure(["sh", "-xec", "; ".join(self.guest_setup())])
        finally:
            port.after_boot(self)
        return self.guest

    def guest_setup(self):
        """Commands that put Soft-RoCE on the guest's NIC."""
        port = self.port
        steps = ["echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad",
                 f"ip link set eth0 mtu {port.mtu_bytes} up"]
        steps += [f"ip addr add {address} dev eth0"
                  for address in ADDRESSES["rxe"]]
        # Soft-RoCE enters what is there, IPv4 first; the rest comes behind.
        steps += ["rdma link add rxe0 type rxe netdev eth0"]
        side = "eth1" if port.side else "eth0"
        return steps + [f"ip link set {side} up",
                        f"ip addr add {TCP_ADDRESSES['rxe']}/24 dev {side}",
                        "ibv_devinfo -v -d rxe0"]

    def configure(self, words):
        """Run a command in the guest."""
        setup = GuestProcess(self.guest, "setup", words,
                             os.path.join(self.logs, f"guest-{self.boots}"))
        if setup.wait(120) != 0:
            raise Failure(f"setup of the guest: {setup.err()}")

    def roost(self, *words, options=()):
        """The command to run words over Roost's port."""
        port = ["--port", self.port.devargs, *self.port.options, *options]
        for address in ADDRESSES["roost"]:
            port += ["--ip", address]
        return [os.path.join(self.build, "apps", "roost"), "run", *port, "--",
                *words]

    def start(self, room, side, title, words, options=()):
        """Start a program on one side, "roost" or "rxe". options: further
        ones of roost run.
        """
        if side == "rxe":
            process = GuestProcess(self.boot(), title, words, room.logs)
            room.processes.append(process)
            return process
        return room.start(title, self.roost(*words, options=options),
                          self.netns["roost"])

    def inside(self, side, *words):
        """Run a command of the kernel's on one side of the wire. Returns what
        it writes.
        """
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.netns[side]}", *words],
            capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def moved(self):
        """Packets that came from the guest so far, and that went to it."""
        for line in self.inside("switch", "cat", "/proc/net/dev").split("\n"):
            name, _, counters = line.partition(":")
            if name.strip() == "tap":
                numbers = list(map(int, counters.split()))
                return numbers[1], numbers[9]
        raise Failure("the guest's tap is gone")

    def close(self):
        if self.guest is not None:
            if self.guest is not None:
                self.guest.close()
        if self.relay is not None:
            self.relay.kill()
        for name in self.netns.values():
            ip("netns", "del", name)
