# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Peers that are not reached, and the one line that says why."""

import os
import time

import rooms
from cases_ctl import WATCH, wait_for_watch
from cases_link import pingpong_end
from cases_rights import as_nobody
from harness import Case, Failure, Skip
from process import wait_until
from wire import TCP_ADDRESSES, Wire, ip

OWN, PEER = TCP_ADDRESSES["left"], TCP_ADDRESSES["right"]
NOBODY = "198.19.0.99"


def lines_of(process):
    return [line for line in process.err().splitlines()
            if line.startswith("roost: ")]


def expect_line(process, *texts, limit_s=30):
    """One line of Roost's, with all of these in it."""
    if not wait_until(lambda: lines_of(process), limit_s):
        raise Failure(f"{process.title}: no line: {process.err().strip()}")
    time.sleep(0.2)
    lines = lines_of(process)
    if len(lines) != 1 or not all(text in lines[0] for text in texts):
        raise Failure(f"{process.title}: said {lines}, not {texts}")


def rping(wire, title, to, options=(), end="left", more=()):
    return wire.room.start(**wire.start(
        end, title, list(options),
        ["rping", "-c", "-a", to, "-C", "1", *more]))


# A server of ibv_rc_pingpong's side channel, and of nothing else.
FAKE = """
import socket, sys
at = socket.create_server(("", int(sys.argv[1])))
peer = at.accept()[0]
peer.recv(64)
gid = "0" * 20 + "ffff" + socket.inet_aton(sys.argv[2]).hex()
peer.send(f"0000:000111:000222:{gid}".encode() + bytes(1))
peer.recv(64)
peer.send(b"done" + bytes(1))
peer.recv(64)
"""


def pingpong(room, wire, to, options=(), words=("-g", "1")):
    """The client, told that its peer is QP 0x111 at the address `to`."""
    port = room.next_port()
    server = room.start("fake", ["python3", "-c", FAKE, str(port), to],
                        netns=wire.netns["right"])
    if not wait_until(lambda: server.listens(port), 20):
        raise Failure("no side channel")
    return room.start(**wire.start(
        "left", "client", list(options),
        ["ibv_rc_pingpong", "-p", str(port), *words, PEER]))


# ---- ARP, ND --------------------------------------------------------------

def no_arp_verbs(room):
    client = pingpong(room, Wire(room), NOBODY)
    expect_line(client, f"no ARP answer from {NOBODY} on port0 "
                f"({OWN}/24) after 2.7 s; ", "VLAN and subnet")


def no_arp_cm(room):
    client = rping(Wire(room), "client", NOBODY)
    expect_line(client, f"no ARP answer from {NOBODY} on port0 "
                f"({OWN}/24) after 2.0 s; ", "VLAN and subnet")


def no_nd(room):
    wire = Wire(room)
    ip("-n", wire.netns["left"], "addr", "add", "fd00:7::1/64", "dev", "left")
    client = rping(wire, "client", "fd00:7::99")
    expect_line(client, "no ND answer from fd00:7::99 on port0 "
                "(fd00:7::1/64) after 2.0 s; ")


def no_gateway(room):
    client = rping(Wire(room), "client", "198.18.9.9",
                   ["--ip", "198.18.0.1/24", "--gw", "198.18.0.77"])
    expect_line(client, "no ARP answer from 198.18.0.77, the gateway to "
                "198.18.9.9, on port0 (198.18.0.1/24)")


def many_calls(room):
    """One line for all tries, however many there are."""
    wire = Wire(room)
    client = room.start(**wire.start(
        "left", "client", [], ["python3", "-c", MANY, NOBODY]))
    expect_line(client, f"no ARP answer from {NOBODY}", limit_s=40)
    room.finish(client)
    expect_line(client, f"no ARP answer from {NOBODY}")


MANY = """
import ctypes, socket, struct, sys
cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
for name in ("rdma_create_event_channel",):
    getattr(cm, name).restype = ctypes.c_void_p
channel = ctypes.c_void_p(cm.rdma_create_event_channel())
to = struct.pack("=HH4s8x", socket.AF_INET, 0x1234,
                 socket.inet_aton(sys.argv[1]))
for _ in range(4):
    cm_id = ctypes.c_void_p()
    assert cm.rdma_create_id(channel, ctypes.byref(cm_id), None, 0x106) == 0
    assert cm.rdma_resolve_addr(cm_id, None, to, 300) == 0
    event = ctypes.c_void_p()
    assert cm.rdma_get_cm_event(channel, ctypes.byref(event)) == 0
    assert cm.rdma_ack_cm_event(event) == 0
    assert cm.rdma_destroy_id(cm_id) == 0
"""


def link_down(room):
    wire = Wire(room)
    # Its own route is gone with it; the port has its own address.
    ip("-n", wire.netns["right"], "link", "set", "right", "down")
    client = rping(wire, "client", "198.18.0.2", ["--ip", "198.18.0.1/24"])
    expect_line(client, "no ARP answer from 198.18.0.2 on port0",
                'interface "left" has no carrier')


def same_namespace(room):
    """Both ends of a veth pair are interfaces of one kernel."""
    wire = Wire(room)
    ip("-n", wire.netns["left"], "link", "add", "one", "type", "veth", "peer",
       "other")
    for name, number in (("one", 1), ("other", 2)):
        ip("-n", wire.netns["left"], "addr", "add", f"198.18.5.{number}/24",
           "dev", name)
        ip("-n", wire.netns["left"], "link", "set", name, "up")
    client = room.start("client", room.roost(
        "run", "--port", "net_af_packet0,iface=one", "--", "rping", "-c", "-a",
        "198.18.5.2", "-C", "1"), netns=wire.netns["left"])
    expect_line(client, "198.18.5.2", "of this very host",
                'interface "other"', "another network namespace")


def twins(room):
    """Two ports with twins in one namespace, which is one host."""
    Wire(room)  # for namespaces of our own
    holder = room.start("holder", room.roost(
        "run", "--link", room.link, "--twin", "tb", "--ip", "198.18.6.2/24",
        "--", *WATCH))
    wait_for_watch(holder)
    client = room.start("client", room.roost(
        "run", "--link", room.link, "--twin", "ta", "--ip", "198.18.6.1/24",
        "--", "rping", "-c", "-a", "198.18.6.2", "-C", "1"))
    expect_line(client, "198.18.6.2", "of this very host", 'interface "tb"',
                "another network namespace")


# ---- links -------------------------------------------------------------

def start_end(room, title, netns=None):
    return room.start(title, room.roost("run", "--link", room.link, "--",
                                        *WATCH), netns=netns)


def lonely(room):
    """The first end says after some seconds what it waits for; nobody who has
    a peer says a word.
    """
    first = start_end(room, "first")
    expect_line(first, f'link "{room.link}": nobody has its other end',
                f"another process of user {os.getuid()} in this network "
                "namespace", limit_s=12)
    second = start_end(room, "second")
    wait_for_watch(second)
    time.sleep(6)
    if lines_of(second) or len(lines_of(first)) != 1:
        raise Failure(f"said: {lines_of(first)} {lines_of(second)}")


def lonely_call(room):
    """Who wants to speak to the other end is told sooner."""
    client = room.start("client", room.roost(
        "run", "--link", room.link, "--ip", "198.18.0.1/24", "--", "rping",
        "-c", "-a", "198.18.0.2", "-C", "1"))
    expect_line(client, "no ARP answer from 198.18.0.2", room.link,
                "nobody has its other end")


def lonely_users(room):
    """A link of another user with the same name is another link."""
    if not rooms.inside():
        raise Skip("not root")
    other = room.start("other", as_nobody(room, (), room.roost(
        "run", "--link", room.link, "--", *WATCH)))
    wait_for_watch(other)
    mine = start_end(room, "mine")
    expect_line(mine, "nobody has its other end",
                f"process {other.pid} of user 65534 has one of that name: ")
    expect_line(other, "nobody has its other end", "user 0 has one of that "
                "name: ")


def lonely_namespaces(room):
    wire = Wire(room)
    other = start_end(room, "other", wire.netns["left"])
    wait_for_watch(other)
    mine = start_end(room, "mine")
    for end, peer in ((mine, other), (other, mine)):
        expect_line(end, "nobody has its other end", f"process {peer.pid} of "
                    "user 0 has one of that name in another network namespace")


# ---- VLANs ----------------------------------------------------------------

def vlan(room, left, right, *texts):
    """The right end is asked, in a VLAN that it is not in, and says so."""
    wire = Wire(room)
    holder = room.start(**wire.start(
        "right", "holder", [*right, "--ip", "198.18.0.2/24"], WATCH))
    wait_for_watch(holder)
    client = rping(wire, "client", "198.18.0.2",
                   [*left, "--ip", "198.18.0.1/24"])
    expect_line(client, "no ARP answer from 198.18.0.2 on port0",
                "VLAN and subnet")
    expect_line(holder, "198.18.0.1 asks for 198.18.0.2", *texts)


# ---- routes ---------------------------------------------------------------

def no_route_verbs(room):
    client = pingpong(room, Wire(room), "198.18.7.7",
                      ["--ip", "198.18.0.1/24"])
    expect_line(client, "no route to 198.18.7.7 from port0 (198.18.0.1/24): ",
                "--gw", "--ip")


def no_route_cm(room):
    client = rping(Wire(room), "client", "198.18.7.7",
                   ["--ip", "198.18.0.1/24", "--ip", "198.18.1.1/24"])
    expect_line(client, "no route to 198.18.7.7 from port0 (198.18.0.1/24, "
                "198.18.1.1/24): ", "--gw", "--ip")


def no_address(room):
    wire = Wire(room)
    ip("-n", wire.netns["left"], "addr", "flush", "dev", "left")
    client = rping(wire, "client", PEER)
    expect_line(client, f"no route to {PEER}: port0 has no IPv4 address but "
                "a link-local one; ", "--ip")
    server = room.start(**wire.start("left", "server", [], ["rping", "-s"]))
    expect_line(server, "a program listens, and port0 has no address but a "
                "link-local one; ", "--ip")


def no_gid(room):
    client = pingpong(room, Wire(room), PEER, words=("-g", "9"))
    expect_line(client, "port0: its GID table has no entry 9; ")


def other_family(room):
    client = pingpong(room, Wire(room), PEER, words=("-g", "0"))
    expect_line(client, "port0: from GID 0 (fe80::ff:fe00:1) there is no way "
                f"to {PEER}: ")


# ---- RoCE -----------------------------------------------------------------

def no_ack(room):
    """A host that has the address, and no RoCE."""
    client = pingpong(room, Wire(room), PEER)
    room.finish(client)
    expect_line(client, f"no answer from {PEER} (QP 0x000111) on port0: "
                "8 tries in 0.5 s; ", "Soft-RoCE", "4791")


def no_cm(room):
    client = rping(Wire(room), "client", PEER)
    expect_line(client, f"no answer from {PEER} on port0 to a connection "
                "request: 2 tries in ", "Soft-RoCE", "4791")


def silent_when_well(room):
    """A peer that answered, and is killed, is the program's own affair."""
    port = room.next_port()
    server, client = room.pair_start(
        pingpong_end(room, "server", ["-n", "100000000"], port),
        pingpong_end(room, "client", ["-n", "100000000"], port, "localhost"),
        port)
    time.sleep(1)
    server.kill()
    client.wait(5)
    if lines_of(client):
        raise Failure(f"said: {lines_of(client)}")


CASES = [Case(f"unreached-{name}", run, *args) for name, run, *args in (
    ("no-arp-verbs", no_arp_verbs),
    ("no-arp-cm", no_arp_cm),
    ("no-nd", no_nd),
    ("no-gateway", no_gateway),
    ("many-calls", many_calls),
    ("link-down", link_down),
    ("same-namespace", same_namespace),
    ("twins", twins),
    ("lonely", lonely),
    ("lonely-call", lonely_call),
    ("lonely-users", lonely_users),
    ("lonely-namespaces", lonely_namespaces),
    ("vlan-untagged", vlan, [], ["--vlan", "7"], "without a VLAN tag"),
    ("vlan-tagged", vlan, ["--vlan", "7"], [], "that of VLAN 7"),
    ("vlan-other", vlan, ["--vlan", "7"], ["--vlan", "8"],
     "that of VLAN 7"),
    ("no-route-verbs", no_route_verbs),
    ("no-route-cm", no_route_cm),
    ("no-address", no_address),
    ("no-gid", no_gid),
    ("other-family", other_family),
    ("no-ack", no_ack),
    ("no-cm", no_cm),
    ("silent-when-well", silent_when_well),
)]
