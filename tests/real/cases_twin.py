# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Twins: interfaces of the kernel that stand for ports that DPDK owns. Between
two namespaces RoCE and the kernels' own traffic share one cable; with a link's
end alone, what is done to an interface is seen by the program."""

import os
import re
import signal
import subprocess

import cases_ctl
import rooms
from dissect import tshark
from harness import RUN, Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import ENDS, ip, wait_for_capture

ADDRESSES = {"left": ("198.18.0.1", "fd00:198:18::1"),
             "right": ("198.18.0.2", "fd00:198:18::2")}
ROCE_PORT = 4791


def need_rooms():
    if not rooms.inside():
        raise Skip("needs network namespaces of its own; run as root")
    if not os.path.exists("/dev/net/tun"):
        raise Skip("the kernel has no /dev/net/tun")


def ip_said(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True,
                          check=True).stdout


def interfaces():
    """Names of what is there, by the kernel's word."""
    return [line.split()[0].split("@")[0]
            for line in ip_said("-br", "link").splitlines()]


# ---- two ends of a cable -----------------------------------------------------

class Cable:
    """A namespace for each end. In it the port, whose other end is the
    interface "plug", is bridged to a veth pair, "cable", so that all frames
    can be seen there; the twin is "tw0".
    """

    def __init__(self, room):
        need_rooms()
        self.room = room
        self.netns = {end: f"real-{RUN}-{end}" for end in ENDS}
        for end in ENDS:
            ip("netns", "add", self.netns[end])
            room.defer(ip, "netns", "del", self.netns[end])
            self.inside(end, "sh", "-c",
                        "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
        ip("link", "add", "cable", "netns", self.netns["left"], "type", "veth",
           "peer", "name", "cable", "netns", self.netns["right"])
        for end in ENDS:
            inside = ("-n", self.netns[end])
            ip(*inside, "link", "add", "br0", "type", "bridge")
            ip(*inside, "tuntap", "add", "mode", "tap", "multi_queue", "name",
               "plug")
            # Nobody but the twin is a host here: at br0, too, the kernel
            # would answer ARP for the twin's address.
            self.inside(end, "sh", "-c",
                        "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore")
            for name in ("br0", "cable", "plug"):
                self.inside(end, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/"
                            f"conf/{name}/disable_ipv6")
            for name in ("cable", "plug"):
                ip(*inside, "link", "set", name, "master", "br0")
            for name in ("br0", "cable", "plug", "lo"):
                ip(*inside, "link", "set", name, "up")

    def inside(self, end, *words):
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.netns[end]}", *words],
            capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: {done.stdout.strip()} "
                          f"{done.stderr.strip()}")
        return done.stdout

    def start(self, end, title, words, port_options=()):
        """Start words over Roost at one end, with both of its addresses."""
        v4, v6 = ADDRESSES[end]
        options = ["--port", "net_tap0,iface=plug", "--twin", "tw0", "--ip",
                   f"{v4}/24", "--ip", f"{v6}/64", *port_options]
        return {"title": title, "netns": self.netns[end],
                "argv": self.room.roost("run", *options, "--", *words)}

    def ping(self, end, *options):
        for address in ADDRESSES[ENDS[end == ENDS[0]]]:
            self.inside(end, "ping", "-q", "-c", "5", "-i", "0.2", "-W", "5",
                        *options, address)

    def tcp(self, server, title):
        """Two plain programs send each other 12 MiB and check every byte."""
        program = os.path.join(self.room.build, "tests", "real", "tcp_plain")
        host, port = ADDRESSES[server][0], self.room.next_port()
        client = ENDS[server == ENDS[0]]
        self.room.pair(
            {"title": f"{title}-server", "netns": self.netns[server],
             "argv": [program, "server", host, str(port)]},
            {"title": f"{title}-client", "netns": self.netns[client],
             "argv": [program, "client", host, str(port)]}, port)


class Ear:
    """A capture of what passes an interface, both ways, and the filter lets
    through.
    """

    def __init__(self, cable, end, iface, name="", words=()):
        self.path = cable.room.path(f"{end}-{iface}{name}.pcapng")
        self.process = cable.room.start(
            f"dumpcap-{end}-{iface}{name}",
            ["dumpcap", "-q", "-B", "64", "-i", iface, "-s", "200", *words,
             "-w", self.path], netns=cable.netns[end])
        wait_for_capture(self.process)

    def stop(self):
        self.process.signal(signal.SIGINT)
        self.process.wait(20)

    def count(self, what):
        return len(tshark(self.path, "-Y", what, "-T", "fields", "-e",
                          "frame.number").split())


def check_frames(roce_on_cable, others_on_cable, on_twins):
    """RoCE is on the cable and not at the twins, where the kernels are; and no
    kernel complains of it.
    """
    roce = f"udp.dstport == {ROCE_PORT}"
    seen = roce_on_cable.count(f"{roce} && !icmp && !icmpv6")
    if seen < 100:
        raise Failure(f"{seen} RoCE packets on the cable")
    unreachable = others_on_cable.count("icmp.type == 3 || icmpv6.type == 1")
    if unreachable:
        raise Failure(f"{unreachable} times destination unreachable")
    for ear in on_twins:
        if ear.count(roce):
            raise Failure(f"RoCE packets at a twin: {ear.path}")
        if not ear.count("tcp"):
            raise Failure(f"no TCP at a twin: {ear.path}")


def perftest(room):
    """ib_write_bw with the twins' addresses, and nothing else, to meet at;
    while it runs, ping and TCP both ways.
    """
    cable = Cable(room)
    # tshark needs minutes for all of millions of packets.
    roce = f"udp dst port {ROCE_PORT}"
    on_cable = [Ear(cable, "left", "cable", "-roce", ("-f", roce, "-c", "999")),
                Ear(cable, "left", "cable", "-others", ("-f", f"not {roce}"))]
    port = room.next_port()
    words = ["stdbuf", "-oL", "ib_write_bw", "-F", "-D", "20", "-p", str(port)]
    server = room.start(**cable.start("left", "server", words))
    if not wait_for_listener(server, port, 20):
        raise Failure("ib_write_bw does not listen")
    client = room.start(**cable.start("right", "client",
                                      [*words, ADDRESSES["left"][0]]))
    if not wait_until(lambda: "local address" in client.out(), 20):
        raise Failure("ib_write_bw's ends do not meet")
    on_twins = [Ear(cable, end, "tw0") for end in ENDS]
    for end in ENDS:
        cable.ping(end)
        cable.ping(end, "-s", "9000")
        cable.tcp(end, f"tcp-{end}")
    if client.wait(0) is not None or server.wait(0) is not None:
        raise Failure("ib_write_bw has ended before TCP has")
    for process in (server, client):
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")
    for ear in (*on_cable, *on_twins):
        ear.stop()
    check_frames(*on_cable, on_twins)
    rate = re.findall(r"^ 65536 +\d+ +\S+ +(\S+)", client.out(), re.M)
    if not rate or float(rate[0]) <= 0:
        raise Failure("ib_write_bw moved nothing")
    room.note(f"ib_write_bw beside ping and TCP: {rate[0]} MB/s")


def mac(room):
    """The twin gets another MAC address, and with it the port: who comes then
    finds both, the kernel and RoCE.
    """
    cable = Cable(room)
    on_cable = Ear(cable, "left", "cable")
    port = room.next_port()
    words = ["ib_write_bw", "-F", "-n", "1000", "-p", str(port)]
    server = room.start(**cable.start("left", "server", words))
    if not wait_for_listener(server, port, 20):
        raise Failure("ib_write_bw does not listen")
    ip("-n", cable.netns["left"], "link", "set", "tw0", "address",
       "02:00:00:00:77:01")
    gid = "fe80::ff:fe00:7701"
    if not wait_until(lambda: gid in gids_of(
            room, server, cable.netns["left"]), 10, 0.2):
        raise Failure(f"{gid} is not in the GID table")
    client = room.start(**cable.start("right", "client",
                                      [*words, ADDRESSES["left"][0]]))
    for process in (client, server):
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")
    on_cable.stop()
    theirs = on_cable.count(f"udp.dstport == {ROCE_PORT} && ip.src == "
                            f"{ADDRESSES['left'][0]} && "
                            "eth.src != 02:00:00:00:77:01")
    ours = on_cable.count(f"udp.dstport == {ROCE_PORT} && "
                          "eth.src == 02:00:00:00:77:01")
    if theirs or not ours:
        raise Failure(f"{theirs} RoCE packets from the old MAC address, "
                      f"{ours} from the new one")


def rate(room):
    """What one TCP connection gets through two twins; memif has no other
    kernel in its way.
    """
    need_rooms()
    sock = f"/tmp/{room.link}.sock"
    room.defer(lambda: os.path.exists(sock) and os.unlink(sock))
    netns = {end: f"real-{RUN}-{end}" for end in ENDS}
    for end, role in zip(ENDS, ("server", "client")):
        ip("netns", "add", netns[end])
        room.defer(ip, "netns", "del", netns[end])
        watch = room.start(f"watch-{end}", room.roost(
            "run", "--port", f"net_memif0,role={role},socket={sock},"
            "socket-abstract=no", "--twin", "tw0", "--ip",
            f"{ADDRESSES[end][0]}/24", "--", *cases_ctl.WATCH),
            netns=netns[end])
        cases_ctl.wait_for_watch(watch)
    # The other one may be active before it watches.
    if not wait_until(lambda: "PORT_ACTIVE" in room.processes[0].out(), 20):
        raise Failure("the ports do not find each other")
    port = room.next_port()
    server, client = room.pair(
        {"title": "server", "netns": netns["left"],
         "argv": ["python3", "-c", TCP_SINK, str(port)]},
        {"title": "client", "netns": netns["right"],
         "argv": ["python3", "-c", TCP_SOURCE, ADDRESSES["left"][0],
                  str(port)]}, port)
    if server.out().split()[0] != client.out().split()[0]:
        raise Failure("what came is not what was sent")
    room.note(f"TCP through two twins: {server.out().split()[1]} Mb/s")


TCP_BYTES = 256 << 20
TCP_SINK = """
import hashlib, socket, sys, time
listener = socket.create_server(("", int(sys.argv[1])))
peer, digest, total = listener.accept()[0], hashlib.blake2b(), 0
began = time.monotonic()
while data := peer.recv(1 << 20):
    digest.update(data)
    total += len(data)
print(digest.hexdigest(), int(total * 8e-6 / (time.monotonic() - began)))
"""
TCP_SOURCE = f"""
import hashlib, os, socket, sys
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))
digest, piece = hashlib.blake2b(), os.urandom(1 << 20)
for n in range({TCP_BYTES} >> 20):
    data = bytes([n & 255]) + piece
    digest.update(data)
    peer.sendall(data)
print(digest.hexdigest())
"""


# ---- one end, and what is done to its twin -----------------------------------

def watch_twin(room, title="watch", options=()):
    need_rooms()
    watch = room.start(title, room.roost(
        "run", "--link", room.link, "--twin", "tw0", *options, "--",
        *cases_ctl.WATCH))
    cases_ctl.wait_for_watch(watch)
    return watch


def port_of(room, watch, netns=None):
    return cases_ctl.show(room, watch, "port", netns=netns)["ports"][0]


def gids_of(room, watch, netns=None):
    return [row["gid"] for row in port_of(room, watch, netns)["gids"]]


def administrator(room):
    """What ip does to the twin is done to the port."""
    watch = watch_twin(room, options=["--mtu", "4200"])
    if port_of(room, watch)["interface"] != "tw0":
        raise Failure("roost ctl show does not name the twin")
    if "198.18.0.1/24" not in ip_said("addr", "show", "tw0"):
        raise Failure("the twin has not the address of the link's end")
    wanted = []
    for words, told in (
            (("addr", "add", "198.18.5.1/24", "dev", "tw0"), "GID_CHANGE"),
            (("addr", "add", "fd00:5::1/64", "dev", "tw0", "nodad"),
             "GID_CHANGE"),
            (("link", "set", "tw0", "down"), "PORT_ERR"),
            (("link", "set", "tw0", "up"), "PORT_ACTIVE"),
            (("link", "set", "tw0", "name", "tw1"), None),
            (("addr", "del", "198.18.5.1/24", "dev", "tw1"), "GID_CHANGE")):
        ip(*words)
        if told:
            wanted.append(told)
        # With the interface, the kernel takes its IPv6 addresses down.
        if not wait_until(lambda: told is None or
                          told in cases_ctl.events(watch)[-2:], 10):
            raise Failure(f"ip {' '.join(words)}: no {told}, but "
                          f"{cases_ctl.events(watch)}")
    gids = gids_of(room, watch)
    if "198.18.0.1" not in gids or "198.18.5.1" in gids:
        raise Failure(f"the GID table has {gids}")
    if port_of(room, watch)["path_mtu"] != 4096:
        raise Failure("the path MTU is not 4096 at first")
    ip("link", "set", "tw1", "mtu", "1500")
    if not wait_until(lambda: port_of(room, watch)["path_mtu"] == 1024,
                      10, 0.2):
        raise Failure("the path MTU does not follow the twin's")
    ip("link", "set", "tw1", "mtu", "9000")
    if not wait_until(lambda: port_of(room, watch)["path_mtu"] == 4096,
                      10, 0.2):
        raise Failure("the MTU does not come back")
    if " mtu 4200 " not in ip_said("link", "show", "tw1"):
        raise Failure("the twin has more than the port can")
    if "MTU of 9000" not in watch.err():
        raise Failure("nobody says why the MTU is not 9000")


def deleted(room):
    """Somebody deletes the twin: the port is down and has no addresses."""
    watch = watch_twin(room)
    ip("link", "del", "tw0")
    if not wait_until(lambda: "PORT_ERR" in cases_ctl.events(watch) and
                      "GID_CHANGE" in cases_ctl.events(watch), 10):
        raise Failure(f"events {cases_ctl.events(watch)}")
    if "198.18.0.1" in gids_of(room, watch):
        raise Failure("the address is still in the GID table")
    lines = watch.err().splitlines()
    if len(lines) != 1 or "twin was deleted" not in lines[0]:
        raise Failure(f"not one line on stderr: {lines}")


def killed(room):
    """kill -9 takes the interface along; another process can have it then."""
    for title in ("first", "second"):
        watch = watch_twin(room, title)
        if "tw0" not in interfaces():
            raise Failure("there is no twin")
        os.kill(watch.pid, signal.SIGKILL)
        room.finish(watch, 10)
        if not wait_until(lambda: "tw0" not in interfaces(), 5):
            raise Failure("the twin outlives its process")


def refused(room, title, words, expected, before=()):
    done = room.run(title, [*before, *room.roost(
        "run", *words, "--", "ibv_devinfo")])
    lines = done.err().splitlines()
    # ibv_devinfo has a line of its own.
    ours = [line for line in lines if line.startswith("roost: ")]
    if done.status == 0 or len(ours) != 1 or expected not in ours[0]:
        raise Failure(f"{title}: exit status {done.status}, "
                      f"{' | '.join(lines)}")


def bad_input(room):
    need_rooms()
    mine = ["--link", f"{room.link}-b"]
    twin = [*mine, "--twin", "tw0"]
    refused(room, "long", [*mine, "--twin", "sixteen-letters-"],
            "use 1 to 15 letters")
    refused(room, "first", ["--twin", "tw0", *mine], "no --port or --link")
    refused(room, "twice", [*twin, "--link", "other", "--twin", "tw0"],
            "twin 'tw0' is port0's already")
    refused(room, "there", [*mine, "--twin", "lo"],
            "there is an interface of this name")
    ip("link", "add", "veth0", "type", "veth", "peer", "veth1")
    room.defer(ip, "link", "del", "veth0")
    refused(room, "shared", ["--port", "net_af_packet0,iface=veth0", "--twin",
                             "tw0"], "the kernel has this port already")
    refused(room, "vlan", [*twin, "--vlan", "5"],
            "a twin stands for a port that has no VLANs")
    watch_twin(room)
    refused(room, "process", twin, "maybe the twin of another process")
    refused(room, "rights", [*mine, "--twin", "tw1"], "run as root or with",
            ["setpriv", "--bounding-set=-net_admin",
             "--inh-caps=-net_admin"])
    refused(room, "no-tun", [*mine, "--twin", "tw1"], "no /dev/net/tun",
            ["unshare", "--mount", "sh", "-c",
             'mount -t tmpfs none /dev/net && exec "$@"', "sh"])
    refused(room, "no-ipv6", [*mine, "--twin", "tw1", "--ip", "fd00::1/64"],
            "cannot have the address fd00::1/64",
            ["unshare", "--net", "sh", "-c",
             "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 && "
             'exec "$@"', "sh"])
    if "tw1" in interfaces():
        raise Failure("what was refused left an interface")


CASES = [
    Case("twin-perftest", perftest),
    Case("twin-mac", mac),
    Case("twin-rate", rate),
    Case("twin-administrator", administrator),
    Case("twin-deleted", deleted),
    Case("twin-killed", killed),
    Case("twin-bad-input", bad_input),
]
