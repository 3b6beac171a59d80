# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Multicast: mcast.c, an ordinary program, at both ends of a link, and of a
Linux bridge that is a querier and listens to what hosts report, so that it
passes a group on only to those who said that they are in it."""

import json
import os
import signal
import subprocess
import time

import rooms
from harness import Case, Failure, Skip
from process import wait_until
from wire import ip, wait_for_capture

GROUPS = {4: "239.1.1.1", 6: "ff0e::1:1"}
# The index of an address of the same kind to send from.
GIDS = {4: "1", 6: "0"}

ENDS = ("left", "right")
# The third station is in no group.
PLUGS = (*ENDS, "watcher")
TCP_ADDRESSES = {"left": "198.19.0.1", "right": "198.19.0.2"}
MACS = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:00:02",
        "watcher": "02:00:00:00:00:03"}

# Seconds: between queries, and to answer one.
QUERY_S, RESPONSE_S = 2, 1
# In the group for so long: at least one query falls into it.
MEMBER_S = 4

# What each version's join, answer and leave look like to tshark.
V2, V3 = "2", "3"
WORDS = {
    (4, V3): {"join": ("0x22", "4"), "answer": ("0x22", "2"),
              "leave": ("0x22", "3")},
    (4, V2): {"join": ("0x16", ""), "answer": ("0x16", ""),
              "leave": ("0x17", "")},
    (6, V3): {"join": ("143", "4"), "answer": ("143", "2"),
              "leave": ("143", "3")},
    (6, V2): {"join": ("131", ""), "answer": ("131", ""),
              "leave": ("132", "")},
}
FIELDS = {
    4: ("igmp.type", "igmp.record_type", "igmp.maddr",
        "igmp.checksum.status", "ip.ttl", "ip.opt.ra"),
    6: ("icmpv6.type", "icmpv6.mldr.mar.record_type",
        "icmpv6.mldr.mar.multicast_address", "icmpv6.checksum.status",
        "ipv6.hlim", "ipv6.opt.router_alert", "icmpv6.mld.multicast_address"),
}
CHECKSUM_GOOD = "1"


def words(room, family, port, host, options):
    program = os.path.join(room.build, "tests", "real", "mcast")
    line = [program, "-g", GIDS[family], "-p", str(port), *options,
            GROUPS[family]]
    return line + [host] if host else line


def link(room, family, launcher=()):
    # A cable is not there at once, and datagrams are not sent again.
    options = ["-w", "1"]
    port = room.next_port()
    ends = [{"title": title,
             "argv": room.roost("run", *launcher, "--link", room.link, "--",
                                *words(room, family, port, host,
                                       options))}
            for title, host in (("server", None), ("client", "localhost"))]
    room.pair(*ends, port)


class Bridge:
    """Namespaces left, right and watcher, plugged into a bridge in a fourth.
    version: of IGMP that it speaks, and MLD's that goes with it.
    """

    def __init__(self, room, version):
        if not rooms.inside():
            raise Skip("needs network namespaces of its own; run as root")
        self.room = room
        self.netns = {name: f"real-{os.getpid()}-{name}"
                      for name in (*PLUGS, "bridge")}
        for name in self.netns.values():
            ip("netns", "add", name)
            room.defer(ip, "netns", "del", name)
        self.inside("bridge", "sh", "-c", "echo 0 > "
                    "/proc/sys/net/ipv6/conf/default/accept_dad")
        self.make_bridge(version)
        for name in PLUGS:
            self.plug_in(name)

    def make_bridge(self, version):
        inside = ("-n", self.netns["bridge"])
        query, response = str(100 * QUERY_S), str(100 * RESPONSE_S)
        try:
            ip(*inside, "link", "add", "br0", "type", "bridge",
               "mcast_snooping", "1", "mcast_query_interval", query,
               "mcast_startup_query_interval", query,
               "mcast_query_response_interval", response,
               "mcast_igmp_version", version,
               "mcast_mld_version", str(int(version) - 1))
        except Failure as failure:
            raise Skip(f"the kernel has no such bridge: {failure}")
        # Now that it knows how long answers take: until then it floods.
        ip(*inside, "link", "set", "br0", "type", "bridge", "mcast_querier",
           "1")
        ip(*inside, "link", "set", "br0", "up")

    def plug_in(self, name):
        inner, outer = self.netns[name], self.netns["bridge"]
        ip("link", "add", "name", name, "netns", inner, "address", MACS[name],
           "type", "veth", "peer", "name", name, "netns", outer)
        ip("-n", outer, "link", "set", name, "master", "br0", "up")
        if name in TCP_ADDRESSES:
            ip("-n", inner, "addr", "add", f"{TCP_ADDRESSES[name]}/24", "dev",
               name)
        ip("-n", inner, "link", "set", name, "up")

    def inside(self, name, *line):
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.netns[name]}", *line],
            capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise Failure(f"{' '.join(line)}: {done.stderr.strip()}")
        return done.stdout

    def members(self, group):
        """The plugs that the bridge passes the group on to."""
        table = json.loads(self.inside("bridge", "bridge", "-j", "mdb",
                                       "show"))
        return {row["port"] for part in table for row in part.get("mdb", ())
                if row["grp"] == group and row["port"] in PLUGS}

    def capture(self, name, where, *line):
        """dumpcap on the cable of a plug; where: at which side of it."""
        path = self.room.path(f"{where}-{name}.pcapng")
        process = self.room.start(
            f"dumpcap-{where}-{name}",
            ["dumpcap", "-q", "-i", name, "-w", path, *line],
            netns=self.netns["bridge" if where == "bridge" else name])
        wait_for_capture(process)
        return path, process


def stop(process):
    # What it has not read by then, it forgets.
    time.sleep(0.5)
    process.signal(signal.SIGINT)
    process.wait(20)


def tshark(path, *line):
    done = subprocess.run(
        ["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", *line],
        capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Failure(f"tshark: {done.stderr.strip()}")
    return done.stdout.splitlines()


def roost_address(name):
    return f"198.18.0.{1 + ENDS.index(name)}"


def check_reports(path, name, family, version):
    """What an end said of the group: undamaged, and in this order."""
    damaged = tshark(path, "-Y", "_ws.malformed || ip.checksum.status == 0")
    if damaged:
        raise Failure(f"{path}: {damaged[0]}")
    ours = FIELDS[family][0]
    if family == 4:
        ours += f" && ip.src == {roost_address(name)}"
    fields = [word for field in FIELDS[family] for word in ("-e", field)]
    said = []
    for line in tshark(path, "-Y", ours, "-T", "fields", *fields):
        kind, records, groups, checksum, hops, alert, *one = line.split("\t")
        if GROUPS[family] not in groups.split(",") + one:
            continue
        if (checksum, hops, alert) != (CHECKSUM_GOOD, "1", "0"):
            raise Failure(f"{path}: checksum, hops or router alert: {line}")
        said.append((kind, records))
    wanted = WORDS[family, version]
    # Who joins before he hears a querier takes it for a new one.
    joins = (wanted["join"], WORDS[family, V3]["join"])
    if len(said) < 3 or said[0] not in joins or \
            said[-1] != wanted["leave"] or wanted["answer"] not in said[1:-1]:
        raise Failure(f"{path}: reports are {said}")
    return len(said)


def port_options(name, driver):
    return ["--port", f"{driver},iface={name}", "--ip",
            f"{roost_address(name)}/24"]


def check_members_after(bridge, group, wanted):
    """Long before a membership would end by itself."""
    if not wait_until(lambda: bridge.members(group) == wanted, 10, 0.1):
        raise Failure(f"members: {bridge.members(group)}")
    if wanted:
        # The bridge asks, and the kernel answers.
        time.sleep(4 * RESPONSE_S)
        if bridge.members(group) != wanted:
            raise Failure("the kernel's own membership is lost")


def bridged(room, family, version, with_kernel=False,
            driver="net_af_packet0"):
    """with_kernel: the kernel of the left end is in the group, too."""
    bridge = Bridge(room, version)
    if with_kernel:
        ip("-n", bridge.netns["left"], "addr", "add", GROUPS[family], "dev",
           "left", "autojoin")
    taps = {name: bridge.capture(name, "bridge", "-f",
                                 f"ether src {MACS[name]}") for name in ENDS}
    watcher, watching = bridge.capture("watcher", "watcher", "-f",
                                       "udp port 4791")
    # A querier counts when its hosts have had time to answer.
    time.sleep(2 * RESPONSE_S)
    port = room.next_port()
    ends = []
    for name, host in (("left", None), ("right", TCP_ADDRESSES["left"])):
        line = words(room, family, port, host, ["-w", str(MEMBER_S)])
        ends.append({"title": name, "netns": bridge.netns[name],
                     "argv": room.roost("run", *port_options(name, driver),
                                        "--",
                                        *line)})
    running = room.pair_start(*ends, port)
    if not wait_until(lambda: bridge.members(GROUPS[family]) == set(ENDS),
                      MEMBER_S, 0.05):
        raise Failure(f"members: {bridge.members(GROUPS[family])}")
    for process in running:
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")
    check_members_after(bridge, GROUPS[family],
                        {"left"} if with_kernel else set())
    for name, (path, process) in taps.items():
        stop(process)
        reports = check_reports(path, name, family, version)
        room.note(f"{reports} reports of {GROUPS[family]}, all undamaged")
    stop(watching)
    seen = tshark(watcher)
    if seen:
        raise Failure(f"who is in no group sees {len(seen)} packets of it")


CASES = [
    Case("mcast-link-ipv4", link, 4),
    Case("mcast-link-ipv6", link, 6),
    Case("mcast-link-dedicated", link, 4, ["--progress", "dedicated"]),
    Case("mcast-bridge-igmpv3", bridged, 4, V3),
    Case("mcast-bridge-igmpv2", bridged, 4, V2),
    Case("mcast-bridge-igmpv3-kernel", bridged, 4, V3, True),
    Case("mcast-bridge-mldv2", bridged, 6, V3),
    Case("mcast-bridge-mldv1", bridged, 6, V2),
]
