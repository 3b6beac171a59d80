# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The kinds of port that Roost has on the wire to the guest."""

import os
import sys

from harness import Failure
from process import Process, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
MACS = {"roost": "02:00:00:00:00:01", "rxe": "02:00:00:00:00:02",
        "side": "02:00:00:00:00:03", "tap": "02:00:00:00:00:04"}
MEMORY_MIB = 1024
BACKEND_S = 30


def tap_nic(name, mac, more=""):
    return ["-netdev", f"tap,id={name},ifname=tap,script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev={name},mac={mac}{more}"]


class Port:
    """One end of a veth pair, which Roost shares with the kernel; its other
    end and the guest's tap are on one bridge.
    """

    # Of QEMU, besides the NIC; and whether TCP has a NIC of its own.
    machine = "q35,accel=tcg"
    side = False

    def __init__(self, devargs, mtu_bytes, options=()):
        """mtu_bytes: of Roost's and of the guest's end; options: of roost run
        besides.
        """
        self.devargs = devargs
        self.mtu_bytes = mtu_bytes
        self.options = options

    def nic(self):
        """QEMU's words for the guest's NICs; Soft-RoCE's comes first."""
        return tap_nic("wire", MACS["rxe"], ",host_mtu=9000")

    def install(self, world):
        """Before the first program runs over it."""
        world.ip_in("roost", "link", "set", "roost", "mtu",
                    str(self.mtu_bytes))

    def remove(self, world):
        """Before the first one runs over another."""

    def before_boot(self, world):
        """Before a guest boots that is to be its peer."""

    def after_boot(self, world):
        pass


class Tap(Port):
    """A tap of Roost's own, and the kernel's bridge between it and the wire."""

    def __init__(self):
        super().__init__(f"net_tap0,iface=port,mac={MACS['tap']}", 1500)
        self.attendant = None

    def install(self, world):
        super().install(world)
        world.ip_in("roost", "link", "add", "lan", "type", "bridge",
                    "mcast_snooping", "0")
        world.ip_in("roost", "addr", "flush", "dev", "roost")
        world.ip_in("roost", "link", "set", "roost", "master", "lan")
        world.ip_in("roost", "addr", "add", world.side_address(), "dev", "lan")
        world.ip_in("roost", "link", "set", "lan", "up")
        self.attendant = Process(
            "tap", [sys.executable, "-B", os.path.join(HERE, "tap.py"), "port",
                    "lan"], world.logs, world.netns["roost"],
            world.env)

    def remove(self, world):
        self.attendant.kill()
        world.ip_in("roost", "link", "del", "lan")
        world.ip_in("roost", "addr", "add", world.side_address(), "dev",
                    "roost")


class Vhost(Port):
    """Straight into the queues of the guest's NIC. It has another one on the
    tap, for TCP.
    """

    machine = "q35,accel=tcg,memory-backend=memory"
    side = True

    def __init__(self):
        super().__init__(None, 9000, ("--mtu", "9000"))
        self.backend = None

    def nic(self):
        # The guest is not told that the link is down while no Roost is there:
        # programs of its own that come first would not begin. QEMU 7.2 ends
        # with SIGSEGV where a vhost-user NIC has MSI-X in software emulation.
        return ["-object", "memory-backend-memfd,id=memory,share=on,"
                f"size={MEMORY_MIB}M",
                "-chardev", f"socket,id=vhost,path={self.path},reconnect=1",
                "-netdev", "vhost-user,id=wire,chardev=vhost",
                "-device", f"virtio-net-pci,netdev=wire,mac={MACS['rxe']},"
                "vectors=0,status=off",
                *tap_nic("side", MACS["side"])]

    def install(self, world):
        self.path = os.path.join(world.logs, "vhost.sock")
        self.devargs = f"net_vhost0,iface={self.path}"

    def before_boot(self, world):
        """QEMU does not start before somebody answers."""
        self.backend = Process("backend", world.roost("ibv_asyncwatch"),
                               world.logs, world.netns["roost"], world.env)
        if not wait_until(lambda: os.path.exists(self.path) or
                          self.backend.wait(0) is not None, BACKEND_S):
            raise Failure("no socket of net_vhost")
        if self.backend.status is not None:
            raise Failure(f"net_vhost: {self.backend.err().strip()}")

    def after_boot(self, world):
        self.backend.kill()


FIRST_PORT = "net_af_packet"
PORTS = {
    FIRST_PORT: Port("net_af_packet0,iface=roost", 9000),
    # Its buffers are pages, with what goes in front of a frame.
    "net_af_xdp": Port("net_af_xdp0,iface=roost", 3000),
    "net_tap": Tap(),
    "net_vhost": Vhost(),
}
