# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Wires between two ports of the kernel's, made for one measurement."""

import os
import shlex
import subprocess
import time

from pairs import Failed, Missing

LINK_S = 20
JUMBO_MTU = 4500
XDP_MTU = 3438
NETFILTER = "/proc/sys/net/bridge/bridge-nf-call-iptables"


class Wire:
    """Network namespaces, for as long as it takes.

    host: where the client finds the server's TCP.
    """

    def __init__(self, names):
        if os.geteuid() != 0:
            raise Missing("root: interfaces of its own")
        self.names = [f"roost-bench-{os.getpid()}-{name}" for name in names]

    def commands(self):
        """That make it."""
        raise NotImplementedError

    def raw_port(self, number):
        """Devargs: 0 the server's, 1 the client's."""
        raise NotImplementedError

    def roost_options(self, number):
        return ["--port", self.raw_port(number)]

    def inside(self, number):
        """What goes in front of a command."""
        return ["ip", "netns", "exec", self.names[number % len(self.names)]]

    def __enter__(self):
        self.remove()
        for words in self.commands():
            self.must(shlex.split(words))
        return self

    def must(self, argv):
        done = subprocess.run(argv, text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            self.remove()
            raise Failed(f"{' '.join(argv)}: {done.stderr.strip()}")

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stderr=subprocess.DEVNULL)


class Veth(Wire):
    """A cable; at both ends net_af_packet. Addresses are as bench_raw's."""

    host, client = "198.18.77.1", "198.18.77.2"

    def __init__(self, mtu=1500, segments=True):
        """segments: the kernel may hand TCP over in pieces of 64 KiB."""
        super().__init__("ab")
        self.mtu = mtu
        self.segments = segments

    def commands(self):
        a, b = self.names
        # Short, as names of interfaces must be, and each in its own place.
        yield f"ip netns add {a}"
        yield f"ip netns add {b}"
        yield (f"ip -n {a} link add veth0 address 02:00:00:00:00:01 type veth "
               f"peer name veth0 address 02:00:00:00:00:02 netns {b}")
        yield f"ip -n {a} address add {self.host}/24 dev veth0"
        yield f"ip -n {b} address add {self.client}/24 dev veth0"
        for name in self.names:
            yield f"ip -n {name} link set veth0 mtu {self.mtu} up"
            if not self.segments:
                yield (f"ip netns exec {name} ethtool -K veth0 tso off gso "
                       "off")

    def raw_port(self, number):
        return ("net_af_packet0,iface=veth0,framesz=4608,blocksz=36864,"
                "framecnt=512")

    def __enter__(self):
        super().__enter__()
        deadline = time.monotonic() + LINK_S
        for name in self.names:
            while "state UP" not in subprocess.run(
                    ["ip", "-n", name, "link", "show", "veth0"], text=True,
                    stdout=subprocess.PIPE, check=False).stdout:
                if time.monotonic() > deadline:
                    self.remove()
                    raise Failed("the veth does not come up")
                time.sleep(0.02)
        return self


class ServiceVeth(Veth):
    """The same; at the server's end the port is roostd's."""

    ends = (0,)

    def __init__(self, build, mtu):
        super().__init__(mtu=mtu)
        self.program = os.path.join(build, "apps", "roostd", "roostd")
        self.daemons = []

    def base(self, number):
        return f"/tmp/{self.names[0]}-{number}"

    def roost_options(self, number):
        return ["--service", self.base(number) + ".sock"] \
            if number in self.ends else super().roost_options(number)

    def __enter__(self):
        super().__enter__()
        for number in self.ends:
            self.serve(number, self.base(number))
        return self

    def serve(self, number, base):
        with open(base + ".conf", "w", encoding="ascii") as file:
            file.write(f"[port0]\ndevargs = {self.raw_port(number)}\n")
        daemon = subprocess.Popen(
            [*self.inside(number), self.program, "-c", base + ".conf",
             "--socket", base + ".sock"], stderr=subprocess.DEVNULL)
        self.daemons.append(daemon)
        deadline = time.monotonic() + LINK_S
        while not os.path.exists(base + ".sock"):
            if daemon.poll() is not None or time.monotonic() > deadline:
                self.remove()
                raise Failed("roostd does not start")
            time.sleep(0.02)

    def remove(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
        self.daemons = []
        for number in self.ends:
            for end in (".conf", ".sock"):
                if os.path.exists(self.base(number) + end):
                    os.remove(self.base(number) + end)
        super().remove()


class ShapedVeth(ServiceVeth):
    """A roostd at both ends; the client's sends 1 Gb/s. Its queue holds all
    that net_af_packet has: nothing is lost.
    """

    ends = (0, 1)

    def raw_port(self, number):
        """Its frames pass by the shaper otherwise."""
        return super().raw_port(number) + ",qdisc_bypass=0"

    def commands(self):
        yield from super().commands()
        yield (f"tc -n {self.names[1]} qdisc add dev veth0 root tbf rate 1gbit "
               "burst 128k limit 8m")


class XdpVeth(Veth):
    """The same with net_af_xdp at both ends."""

    def raw_port(self, number):
        return "net_af_xdp0,iface=veth0"


class Taps(Wire):
    """Two taps on a bridge of the kernel's, which has no address."""

    host = "127.0.0.1"

    def __init__(self):
        super().__init__("t")
        if not os.path.exists("/dev/net/tun"):
            raise Missing("/dev/net/tun")

    def commands(self):
        name = self.names[0]
        yield f"ip netns add {name}"
        yield f"ip -n {name} link set lo up"
        yield f"ip -n {name} link add br0 type bridge mcast_snooping 0"
        yield f"ip -n {name} link set br0 up"
        # Where br_netfilter is loaded, IP would take a detour.
        yield (f"ip netns exec {name} sh -c '[ ! -e {NETFILTER} ] || "
               f"echo 0 >{NETFILTER}'")
        for number in (0, 1):
            tap = f"tap{number}"
            yield f"ip -n {name} tuntap add dev {tap} mode tap multi_queue"
            yield f"ip -n {name} link set {tap} master br0 up"

    def raw_port(self, number):
        return f"net_tap0,iface=tap{number}"

    def roost_options(self, number):
        return [*super().roost_options(number), "--ip",
                f"198.18.77.{number + 1}/24"]


class Hub:
    """No wire: two programs at this user's hub. A pair that talks has a channel
    of its own.
    """

    host = "localhost"

    def roost_options(self, _number):
        return ["--hub"]

    def inside(self, _number):
        return []
