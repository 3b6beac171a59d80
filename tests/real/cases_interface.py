# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A port that the kernel shares, and the kernel's interface changed by ip(8)
under programs that run: addresses, MTU, link, hardware address, routes, and the
end of the interface."""

import json
import os
import signal
import subprocess
import time

from cases_ctl import WATCH, events, show, wait_for_events, wait_for_watch
from cases_cm_news import expect, said, wait_for
from harness import RUN, Case, Failure
from process import wait_until
from wire import MACS, TCP_ADDRESSES, Wire, ip

# Netlink tells at once; this is for a machine with other things to do. Looking
# once a second would be late nine times in ten.
LATE_S = 0.1
ROUNDS = 20
NEW_MAC = "02:00:00:00:00:77"


def start_watch(room, mtu_bytes=9000):
    wire = Wire(room, mtu_bytes)
    watch = room.start(**wire.start("left", "watch", [], WATCH))
    wait_for_watch(watch)
    return wire, watch


def on_left(wire, *words):
    ip("-n", wire.netns["left"], *words)


def port_of(room, wire, process, end="left"):
    return show(room, process, "port", netns=wire.netns[end])["ports"][0]


def gids(room, wire, process):
    return {row["gid"]: row["index"]
            for row in port_of(room, wire, process)["gids"]}


def expect_delay(room, watch, what, count, change):
    """change() brings count more events; notes how long they took."""
    before = len(events(watch))
    change()
    began = time.monotonic()
    if not wait_until(lambda: len(events(watch)) >= before + count, 10, 0.001):
        raise Failure(f"{what}: no event")
    return time.monotonic() - began


def tell_delays(room, what, delays):
    delays.sort()
    middle = delays[len(delays) // 2]
    room.note(f"{what}: {1000 * middle:.1f} ms, {1000 * delays[-1]:.1f} at "
              f"most of {len(delays)}")
    if middle > LATE_S:
        raise Failure(f"{what}: late")


# ---- addresses --------------------------------------------------------------

def addresses(room):
    wire, watch = start_watch(room)
    delays = []
    wanted = []
    for number in range(ROUNDS):
        family = "198.19.7.%d/24" if number % 2 else "fd00:7::%d/64"
        words = [family % (number + 1), "dev", "left"]
        for verb in ("add", "del"):
            delays.append(expect_delay(
                room, watch, f"addr {verb}", 1,
                lambda: on_left(wire, "addr", verb, *words)))
            wanted.append("GID_CHANGE")
    wait_for_events(watch, wanted)
    tell_delays(room, "GID_CHANGE", delays)
    # New ones stand in the first free place, as Linux has it.
    for words in (["add", "198.19.8.1/32"], ["add", "198.19.8.2/32"],
                  ["del", "198.19.8.1/32"], ["add", "fd00:8::1/64"]):
        on_left(wire, "addr", *words, "dev", "left")
        wanted.append("GID_CHANGE")
        wait_for_events(watch, wanted)
    table = gids(room, wire, watch)
    if table != {"fe80::ff:fe00:1": 0, TCP_ADDRESSES["left"]: 1,
                 "fd00:8::1": 2, "198.19.8.2": 3}:
        raise Failure(f"the GID table: {table}")
    # A second subnet of an address is no second address.
    on_left(wire, "addr", "add", "198.19.8.2/24", "dev", "left")
    on_left(wire, "addr", "del", "198.19.8.2/32", "dev", "left")
    on_left(wire, "addr", "add", "198.19.8.9/32", "dev", "left")
    wait_for_events(watch, wanted + ["GID_CHANGE"])


def tentative(room):
    """Not before the kernel has made sure of it, and never if another has it;
    deprecated ones are there.
    """
    wire, watch = start_watch(room)
    wire.inside("left", "sh", "-c",
                "cd /proc/sys/net/ipv6/conf/left && echo 1 > accept_dad && "
                "echo 4 > dad_transmits")
    ip("-n", wire.netns["right"], "addr", "add", "fd00:9::2/64", "dev",
       "right", "nodad")
    on_left(wire, "addr", "add", "fd00:9::9/64", "dev", "left",
            "preferred_lft", "0", "nodad")
    wait_for_events(watch, ["GID_CHANGE"])
    for last in ("1", "2"):
        on_left(wire, "addr", "add", f"fd00:9::{last}/64", "dev", "left")

    def state(last):
        said_of = json.loads(subprocess.run(
            ["ip", "-n", wire.netns["left"], "-j", "addr", "show", "dev",
             "left", "to", f"fd00:9::{last}"], capture_output=True,
            text=True).stdout)
        return {key for row in said_of for info in row.get("addr_info", [])
                for key in ("tentative", "dadfailed") if info.get(key)}

    table, told = gids(room, wire, watch), len(events(watch))
    if state("1") != {"tentative"}:
        raise Failure("the address was not tentative for long enough")
    if "fd00:9::1" in table or told != 1:
        raise Failure(f"a tentative address: {told} events, table {table}")
    if not wait_until(lambda: not state("1") and "dadfailed" in state("2"),
                      20):
        raise Failure("detection of duplicates does not end")
    wait_for_events(watch, ["GID_CHANGE"] * 2)
    table = gids(room, wire, watch)
    if "fd00:9::1" not in table or "fd00:9::9" not in table or \
            "fd00:9::2" in table:
        raise Failure(f"the GID table: {table}")


def overrun(room):
    """More news than a stopped program's socket holds."""
    wire, watch = start_watch(room)
    batch = room.path("batch")
    watch.signal(signal.SIGSTOP)
    with open(batch, "w") as file:
        for number in range(3000):
            words = f"198.19.{10 + number // 250}.{1 + number % 250}/32"
            file.write(f"addr add {words} dev left\n"
                       f"addr del {words} dev left\n")
        file.write("addr add 198.19.9.1/24 dev left\n"
                   f"addr del {TCP_ADDRESSES['left']}/24 dev left\n"
                   "link set left mtu 3000\n")
    on_left(wire, "-batch", batch)
    watch.signal(signal.SIGCONT)
    if not wait_until(lambda: "198.19.9.1" in gids(room, wire, watch), 20):
        raise Failure("the new address does not come")
    port = port_of(room, wire, watch)
    if [row["gid"] for row in port["gids"]] != ["fe80::ff:fe00:1",
                                                "198.19.9.1"]:
        raise Failure(f"the GID table: {port['gids']}")
    if port["mtu"] != 3000 or port["state"] != "ACTIVE":
        raise Failure(f"the port: {port}")
    if not set(events(watch)) <= {"GID_CHANGE", "LID_CHANGE"}:
        raise Failure(f"events {events(watch)}")


def too_many(room):
    """16 of 40 addresses, and one line; those that wait move up."""
    wire, watch = start_watch(room)
    for number in range(40):
        on_left(wire, "addr", "add", f"198.19.7.{number + 1}/32", "dev",
                "left")
    if not wait_until(lambda: len(gids(room, wire, watch)) == 17, 10, 0.5):
        raise Failure("not 16 addresses")
    lines = watch.err().splitlines()
    if len(lines) != 1 or "name those" not in lines[0]:
        raise Failure(f"said: {lines}")
    for number in range(30):
        on_left(wire, "addr", "del", f"198.19.7.{number + 1}/32", "dev",
                "left")
    wanted = {"fe80::ff:fe00:1", TCP_ADDRESSES["left"]} | \
        {f"198.19.7.{number + 1}" for number in range(30, 40)}
    if not wait_until(lambda: set(gids(room, wire, watch)) == wanted, 10,
                      0.5):
        raise Failure(f"the GID table: {gids(room, wire, watch)}")


# ---- MTU, link, hardware address ---------------------------------------------

def mtu(room):
    """active_mtu follows, and as with Soft-RoCE nobody is told."""
    wire, watch = start_watch(room)
    for mtu_bytes, path_mtu in ((1500, 1024), (4200, 4096), (600, 512),
                                (9000, 4096)):
        on_left(wire, "link", "set", "left", "mtu", str(mtu_bytes))
        # The driver's own buffers are the other limit.
        if not wait_until(lambda: port_of(room, wire, watch)["path_mtu"] ==
                          path_mtu, 5):
            raise Failure(f"MTU {mtu_bytes}: path MTU "
                          f"{port_of(room, wire, watch)['path_mtu']}")
    wait_for_events(watch, [])
    if watch.err():
        raise Failure(f"said: {watch.err()}")


def link(room):
    wire, watch = start_watch(room)
    downs, ups = [], []
    wanted = []
    for _ in range(ROUNDS // 2):
        for state, delays, event in (("down", downs, "PORT_ERR"),
                                     ("up", ups, "PORT_ACTIVE")):
            delays.append(expect_delay(
                room, watch, f"link {state}", 1,
                lambda: on_left(wire, "link", "set", "left", state)))
            wanted.append(event)
            # IPv6 forgets its addresses with the link; the one by the MAC is
            # in the table for ever.
            wait_for_events(watch, wanted)
    tell_delays(room, "PORT_ERR", downs)
    tell_delays(room, "PORT_ACTIVE", ups)


def cm_news(wire, room, title, end, role, *words):
    program = os.path.join(room.build, "tests", "real", "cm_news")
    return room.start(**wire.start(end, title, [], [program, role, *words]))


def mac_cm(room):
    """The id that listens, the one that is bound and both ends of the
    connection: the own ones by the port, the peer's by its neighbour.
    """
    wire = Wire(room)
    own, peer = TCP_ADDRESSES["left"], TCP_ADDRESSES["right"]
    server = cm_news(wire, room, "server", "left", "server", own)
    wait_for(server, "listening")
    client = cm_news(wire, room, "client", "right", "client", peer, own)
    for process in (client, server):
        wait_for(process, "RDMA_CM_EVENT_ESTABLISHED connection")
    before = said(server), said(client)
    on_left(wire, "link", "set", "left", "address", NEW_MAC)
    expect(server, before[0], ["RDMA_CM_EVENT_ADDR_CHANGE connection",
                               "RDMA_CM_EVENT_ADDR_CHANGE at"])
    expect(client, before[1], ["RDMA_CM_EVENT_ADDR_CHANGE connection"])
    table = gids(room, wire, server)
    if table.get("fe80::ff:fe00:77") != 0 or "198.19.0.1" not in table:
        raise Failure(f"the GID table: {table}")


def start_pingpong(room, wire, options):
    """Both ends by the kernel's addresses, in the middle of it."""
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-p", str(port), "-g", "1", *options]
    server, client = room.pair_start(
        wire.start("left", "server", [], words),
        wire.start("right", "client", [], [*words, TCP_ADDRESSES["left"]]),
        port)
    if not wait_until(lambda: received(room, wire, client, "right") > 500, 30,
                      0.05):
        raise Failure("no traffic")
    return server, client


def received(room, wire, process, end):
    """0: it has no device yet."""
    try:
        return show(room, process, "counters",
                    netns=wire.netns[end])["counters"]["rx_packets"]
    except Failure:
        return 0


def finish_well(room, *processes):
    for process in processes:
        room.finish(process)
        if process.status != 0 or "invalid data" in process.out():
            raise Failure(f"{process.title}: exit status {process.status}: "
                          f"{process.err().strip()}")


def mac_traffic(room):
    """Frames come from the new MAC, and nothing is lost for good."""
    wire = Wire(room)
    server, client = start_pingpong(room, wire, ["-n", "30000", "-c"])
    on_left(wire, "link", "set", "left", "address", NEW_MAC)
    count = wire.inside(
        "right", "sh", "-c", "timeout 20 dumpcap -q -i right -c 20 -w - -f "
        f"'udp port 4791 and ether src {NEW_MAC}' 2>/dev/null | wc -c")
    if int(count) < 20 * 60:
        raise Failure("no frames from the new MAC")
    on_left(wire, "link", "set", "left", "address", MACS["left"])
    finish_well(room, server, client)


# ---- under traffic -----------------------------------------------------------

def expect_spent(room, *processes):
    """What was sent was never answered: at least one end finds that out, and
    says so; nobody can tell one that waits.
    """
    if not wait_until(lambda: any(process.wait(0) is not None
                                  for process in processes), 30):
        raise Failure("both ends hang")
    ended = [process for process in processes if process.wait(2) is not None]
    for process in ended:
        if process.status < 1 or \
                "transport retry counter exceeded" not in process.err():
            raise Failure(f"{process.title}: exit status {process.status}: "
                          f"{process.err().strip()}")


def address_in_use(room):
    wire = Wire(room)
    server, client = start_pingpong(room, wire, ["-n", "1000000000"])
    on_left(wire, "addr", "del", f"{TCP_ADDRESSES['left']}/24", "dev", "left")
    expect_spent(room, server, client)


def lower_mtu(wire, process, mtu_bytes, nb_qps=1):
    on_left(wire, "link", "set", "left", "mtu", str(mtu_bytes))
    if not wait_until(lambda: f"became {mtu_bytes}" in process.err(), 5):
        raise Failure(f"said: {process.err()}")
    line = process.err().splitlines()[0]
    if not all(text in line for text in (
            f"too small for {nb_qps} QPs", "up to 4096", "raise it to 4184")):
        raise Failure(f"said: {line}")


def mtu_in_use(room):
    wire = Wire(room)
    options = ["-n", "1000000000", "-m", "4096", "-s", "16384"]
    server, client = start_pingpong(room, wire, options)
    lower_mtu(wire, server, 1500)
    expect_spent(room, server, client)


def start_stream(room, wire):
    """For seven seconds, with timeouts of one and seven retries."""
    port = room.next_port()
    words = ["ib_send_bw", "-F", "-u", "18", "-m", "4096", "-s", "16384",
             "-x", "1", "-D", "7", "-q", "8", "-p", str(port)]
    server, client = room.pair_start(
        wire.start("left", "server", [], words),
        wire.start("right", "client", [], [*words, TCP_ADDRESSES["left"]]),
        port)
    expect_traffic(room, wire, server)
    return server, client


def expect_traffic(room, wire, server):
    """More than what may have been on the way."""
    before = received(room, wire, server, "left")
    if not wait_until(lambda: received(room, wire, server, "left") >
                      before + 2000, 30, 0.05):
        raise Failure("no traffic")


def mtu_grows_again(room):
    """Within what the retries bear, nothing is lost."""
    wire = Wire(room)
    server, client = start_stream(room, wire)
    lower_mtu(wire, server, 1500, 8)
    time.sleep(0.3)
    on_left(wire, "link", "set", "left", "mtu", "9000")
    expect_traffic(room, wire, server)
    finish_well(room, server, client)


def link_in_use(room):
    """Down at the end that sends, for longer than its queues last."""
    wire = Wire(room)
    server, client = start_stream(room, wire)
    right = ("-n", wire.netns["right"], "link", "set", "right")
    ip(*right, "down")
    time.sleep(2)
    ip(*right, "up")
    expect_traffic(room, wire, server)
    finish_well(room, server, client)


def deleted_in_use(room):
    """Both interfaces of the pair go: what was posted completes flushed."""
    wire = Wire(room)
    server, client = start_pingpong(room, wire, ["-n", "1000000000"])
    on_left(wire, "link", "del", "left")
    for process in (server, client):
        room.finish(process, 30)
        said_of = process.err()
        if process.status < 1 or "its interface was deleted" not in said_of:
            raise Failure(f"{process.title}: exit status {process.status}: "
                          f"{said_of.strip()}")
        if not ("Work Request Flushed Error" in said_of or
                "transport retry counter exceeded" in said_of or
                "ost send" in said_of):
            raise Failure(f"{process.title}: {said_of.strip()}")


# ---- routes ------------------------------------------------------------------

class Routed:
    """Two subnets, and a router of the kernel's between them. The right end has
    an address before the others that does not lead anywhere.
    """

    def __init__(self, room):
        self.wire = Wire(room)
        self.room = room
        self.router = f"real-{RUN}-router"
        ip("netns", "add", self.router)
        room.defer(ip, "netns", "del", self.router)
        inside = ("-n", self.router)
        ip(*inside, "link", "set", "lo", "up")
        self.run_router("sysctl", "-qw", "net.ipv4.ip_forward=1",
                        "net.ipv6.conf.all.forwarding=1",
                        "net.ipv6.conf.default.accept_dad=0")
        for number, end in enumerate(("left", "right"), 1):
            self.attach(end, number)

    def run_router(self, *words):
        subprocess.run(["nsenter", f"--net=/run/netns/{self.router}", *words],
                       check=True, timeout=20)

    def attach(self, end, number):
        """The end's interface of the wire goes; it gets one to the router."""
        netns = self.wire.netns[end]
        if number == 1:
            ip("-n", netns, "link", "del", end)
        ip("link", "add", "name", end, "netns", netns, "mtu", "9000", "type",
           "veth", "peer", "name", f"to-{end}", "netns", self.router, "mtu",
           "9000")
        if end == "right":
            ip("-n", netns, "addr", "add", "198.19.77.1/32", "dev", end)
        for inside, dev, host in ((netns, end, 1),
                                  (self.router, f"to-{end}", 254)):
            ip("-n", inside, "addr", "add", f"198.19.{number}.{host}/24",
               "dev", dev)
            ip("-n", inside, "addr", "add", f"fd00:{number}::{host}/64",
               "dev", dev, "nodad")
            ip("-n", inside, "link", "set", dev, "up")
        ip("-n", netns, "route", "add", "default", "via",
           f"198.19.{number}.254", "src", f"198.19.{number}.1")
        ip("-n", netns, "-6", "route", "add", "default", "via",
           f"fd00:{number}::254")


def gateway(room):
    """Nobody told Roost of the router, nor which of two addresses to use."""
    routed = Routed(room)
    wire = routed.wire
    for family, address in (("v4", "198.19.1.1"), ("v6", "fd00:1::1")):
        server = room.start(**wire.start(
            "left", f"server-{family}", [],
            ["rping", "-s", "-a", address, "-C", "20", "-V"]))
        time.sleep(1)
        client = room.start(**wire.start(
            "right", f"client-{family}", [],
            ["rping", "-c", "-a", address, "-C", "20", "-V"]))
        finish_well(room, client, server)


def no_route(room):
    """At once, as the kernel says, and not after a time of waiting."""
    routed = Routed(room)
    wire = routed.wire
    ip("-n", wire.netns["right"], "route", "del", "default")
    began = time.monotonic()
    client = room.run("client", **{
        key: value for key, value in wire.start(
            "right", "client", [], ["rping", "-c", "-a", "198.19.1.1", "-C",
                                    "1"]).items() if key != "title"})
    if client.status == 0 or time.monotonic() - began > 10:
        raise Failure(f"exit status {client.status}")


# ---- what others say ---------------------------------------------------------

def start_holder(room, wire):
    """198.18.0.1 is Roost's alone there; the kernel has others."""
    watch = room.start(**wire.start("left", "watch", ["--ip", "198.18.0.1/24"],
                                    WATCH))
    wait_for_watch(watch)
    return watch


def duplicate(room):
    """Defended once and told once, however often it is claimed."""
    wire = Wire(room)
    watch = start_holder(room, wire)
    ip("-n", wire.netns["right"], "addr", "add", "198.18.0.1/24", "dev",
       "right")
    for target in ("198.18.0.50", "198.18.0.51", "198.18.0.52"):
        subprocess.run(["nsenter", f"--net=/run/netns/{wire.netns['right']}",
                        "ping", "-c", "1", "-W", "1", target],
                       capture_output=True, timeout=20)
    lines = watch.err().splitlines()
    if len(lines) != 1 or "198.18.0.1 is in use by another station: " \
            f"{MACS['right']}" not in lines[0]:
        raise Failure(f"said: {lines}")


V1_FRAMES = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("right", 0))
for mac in ("020000000099", "020000000001"):
    for _ in range(64):
        s.send(bytes.fromhex(mac + "020000000002" + "8915") + bytes(80))
"""


def roce_v1(room):
    wire = Wire(room)
    watch = start_holder(room, wire)
    wire.inside("right", "python3", "-c", V1_FRAMES)

    def dropped():
        done = show(room, watch, "counters", netns=wire.netns["left"])
        return done["counters"]["drops"]["roce_v1"]

    if not wait_until(lambda: dropped() == 128, 5):
        raise Failure(f"{dropped()} frames were counted, not 128")
    lines = watch.err().splitlines()
    if len(lines) != 1 or MACS["right"] not in lines[0] or \
            "RoCEv1" not in lines[0]:
        raise Failure(f"said: {lines}")


CASES = [Case(f"interface-{run.__name__.replace('_', '-')}", run)
         for run in (addresses, tentative, overrun, too_many, mtu, link,
                     mac_cm, mac_traffic, address_in_use, mtu_in_use,
                     mtu_grows_again, link_in_use, deleted_in_use, gateway,
                     no_route, duplicate, roce_v1)]
