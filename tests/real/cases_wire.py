# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Both ends of ibv_rc_pingpong over net_af_packet on a veth pair between two
network namespaces, every frame captured and looked at by tshark and Scapy."""

import cases_link
import cases_rdmacm
import dissect
from harness import Case, Failure
from process import wait_for_listener
from wire import TCP_ADDRESSES, Capture, Wire

ROOST_ADDRESSES = {"left": ("198.18.0.1/24", "fd00:198:18::1/64"),
                   "right": ("198.18.0.2/24", "fd00:198:18::2/64")}

# Servers that end without a word, and how long it takes to leave one: 16 tries,
# the first of which may be lost on a busy machine. Without the kernel's word, a
# minute and a half.
GONE, GONE_MS = 3, 15000

BIG = ["-m", "4096"]


def few(options, iters=100):
    return [*options, "-n", str(iters)]


# (name, options of both ends); the captures stay small.
VARIANTS = [
    ("plain", few(BIG)),
    ("chk", few([*BIG, "-c"])),
    ("events", few([*BIG, "-e", "-c"])),
    ("rx-depth-1", few([*BIG, "-r", "1", "-c"])),
    ("iters-2000", few([*BIG, "-s", "64"], 2000)),
    ("gid-0", few([*BIG, "-g", "0", "-c"])),
    ("gid-1", few([*BIG, "-g", "1", "-c"])),
    ("gid-2", few([*BIG, "-g", "2", "-c"])),
    ("new-send", few([*BIG, "-N", "-c"])),
    ("new-send-events", few([*BIG, "-N", "-e", "-c"])),
    ("new-send-gid-2", few([*BIG, "-N", "-g", "2", "-c"])),
]
VARIANTS += [(f"size-{size}", few([*BIG, "-s", str(size), "-c"],
                                  2 if size > 65536 else 20))
             for size in cases_link.SIZES if size <= 1048576]
VARIANTS += [(f"mtu-{mtu}", few(["-m", str(mtu), "-c"], 20))
             for mtu in cases_link.MTUS]


def address_options(end):
    options = []
    for address in ROOST_ADDRESSES[end]:
        options += ["--ip", address]
    return options


def pair_on(room, wire, options, of_end=address_options):
    """Both ends on a wire, the server on its left."""
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-p", str(port), *options]
    server = wire.start("left", "server", of_end("left"), words)
    client = wire.start("right", "client", of_end("right"),
                        [*words, TCP_ADDRESSES["left"]])
    server, client = room.pair(server, client, port)
    cases_link.check_report(server, client)


def captured(room, options, of_end=address_options):
    wire = Wire(room)
    capture = Capture(wire)
    pair_on(room, wire, options, of_end)
    path = capture.stop()
    dissect.check_malformed(path)
    packets, again = dissect.check_fields(path)
    room.note(f"{dissect.check_icrc(path).split(': ')[-1]}")
    if again:
        room.note(f"{again} of {packets} packets began a retransmission")


def kernel_addresses(_end):
    """None given: the port has what the kernel's interface has."""
    return []


def ping(room):
    """The address that Roost has for itself answers the kernel's ping."""
    ping_on(room, Wire(room))


def ping_on(room, wire):
    port = room.next_port()
    holder = room.start(**wire.start(
        "left", "holder", address_options("left"),
        ["ibv_rc_pingpong", "-p", str(port)]))
    if not wait_for_listener(holder, port, 20):
        raise Failure("the holder of the address does not start")
    wire.inside("right", "ip", "addr", "add", "198.18.0.2/24", "dev", "right")
    wire.inside("right", "ip", "addr", "add", "fd00:198:18::2/64", "dev",
                "right", "nodad")
    for address in ("198.18.0.1", "fd00:198:18::1"):
        wire.inside("right", "ping", "-c", "3", "-i", "0.2", "-W", "2", "-s",
                    "1400", address)


def unanswered(wire, end):
    """UDP packets that the kernel there found nobody for."""
    names, values = [line.split() for line in wire.inside(
        end, "grep", "^Udp:", "/proc/net/snmp").splitlines()]
    return int(values[names.index("NoPorts")])


def silent(room):
    """The kernel, which sees every frame, looks for nobody to give it to."""
    wire = Wire(room)
    iters = 500
    pair_on(room, wire, few([*BIG, "-g", "1", "-c"], iters), kernel_addresses)
    for end in TCP_ADDRESSES:
        # What comes when the process has ended is nobody's.
        if unanswered(wire, end) > iters / 10:
            raise Failure(f"{unanswered(wire, end)} packets at {end}")


def gone(room):
    """The kernel says of a process that has ended that it has ended."""
    wire = Wire(room)

    def at(end):
        return lambda title, words: wire.start(end, title, [], words)

    gone_at(room, at("left"), at("right"), TCP_ADDRESSES["left"])


def gone_at(room, server_end, client_end, address):
    client = cases_rdmacm.last_ack(room, server_end, client_end, address, GONE,
                                   "leaver")
    took_ms = [int(line.split()[2]) for line in client.out().splitlines()
               if line.startswith("left after ")]
    room.note(f"left after {took_ms} ms")
    if len(took_ms) != GONE or max(took_ms) > GONE_MS:
        raise Failure("rdma_disconnect() waits long for who is gone")


CASES = [Case(f"wire-{name}", captured, options)
         for name, options in VARIANTS]
CASES += [
    Case("wire-kernel-addresses", captured, few([*BIG, "-g", "1", "-c"]),
         kernel_addresses),
    Case("wire-dedicated", captured, few([*BIG, "-c"]),
         lambda end: [*address_options(end), "--progress", "dedicated"]),
    Case("wire-ping", ping),
    Case("wire-kernel-silent", silent),
    Case("wire-gone", gone),
]
