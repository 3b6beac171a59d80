# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What users call a port: an interface's name is opened by the driver that
fits, what is none is told what it is or may have been, and `roost ports` lists
what there is."""

import json
import re

import cases_claims
import cases_xdp
from cases_fault import check_refusal, complaints
from harness import Case, Failure
from wire import MTU_BYTES, TCP_ADDRESSES, Wire, ip

XDP = r"opened as net_af_xdp0,iface={end}, which takes RoCEv2 alone .*"
PACKET = r"opened as net_af_packet0,iface={end}, not by net_af_xdp: {why}"


def check_choice(process, word, pattern):
    """One line of Roost's, which says what was opened."""
    ours, _ = complaints(process)
    wanted = rf"roost: port0 \({re.escape(word)}\): {pattern}"
    if len(ours) != 1 or not re.fullmatch(wanted, ours[0]):
        raise Failure(f"not one line like '{wanted}': {ours}")


def pair(room, wire, pattern, options=()):
    """Both ends by the names of their interfaces."""
    port = room.next_port()
    ends = []
    for end in ("left", "right"):
        words = ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "100", "-p",
                 str(port)]
        if end == "right":
            words.append(TCP_ADDRESSES["left"])
        ends.append({"title": end, "netns": wire.netns[end],
                     "argv": room.roost("run", "--port", end, *options, "--",
                                        *words)})
    ends = room.pair(*ends, port)
    for end in ends:
        if end.status != 0 or "819200 bytes in" not in end.out():
            raise Failure(f"{end.title}: {end.out()}{end.err()}")
        check_choice(end, end.title, pattern.format(end=end.title, why=".*"))


def by_xdp(room):
    pair(room, cases_xdp.xdp_wire(room), XDP)


def by_packet(room):
    """Its MTU is more than net_af_xdp's buffers take."""
    pair(room, Wire(room), PACKET)


def chosen(room, options, why):
    """What the user asks for besides is what net_af_xdp cannot."""
    wire = cases_xdp.xdp_wire(room)
    word, *options = options
    seen = room.run("devinfo", room.roost("run", "--port", word, *options, "--",
                                          "ibv_devinfo"), wire.netns["left"])
    if seen.status != 0:
        raise Failure(f"exit status {seen.status}: {seen.err()}")
    check_choice(seen, word, PACKET.format(end=re.escape(word), why=why))


def taken(room):
    """Another program's XDP program stays, and is the reason."""
    wire = cases_xdp.xdp_wire(room)
    ip("-n", wire.netns["left"], "link", "set", "left", "xdp", "obj",
       wire.program, "sec", "xdp")
    seen = room.run("devinfo", room.roost("run", "--port", "left", "--",
                                          "ibv_devinfo"), wire.netns["left"])
    check_choice(seen, "left", PACKET.format(end="left",
                                             why=".*XDP program.*"))
    cases_xdp.check_mode(wire, "left", "xdp")


def refused(room, word, pattern):
    wire = Wire(room)
    seen = room.run("devinfo", room.roost("run", "--port", word, "--",
                                          "ibv_devinfo"), wire.netns["left"])
    check_refusal(seen, rf"port0 \({re.escape(word)}\): {pattern}")


def owner(room):
    """An interface that another process has is not tried in two ways."""
    place = cases_claims.Place(room)
    first = place.holder("--port", "left")
    place.refused(first, "--port", "left")
    place.refused(first, "--port", "net_af_packet0,iface=left")


def ports_of(room, netns):
    seen = room.run("ports", room.roost("ports", "--json"), netns)
    if seen.status != 0 or seen.err():
        raise Failure(f"exit status {seen.status}: {seen.err()}")
    return {row["name"]: row for row in json.loads(seen.out())}


def listed(room):
    """`roost ports`: the interface, its state, and who has it."""
    place = cases_claims.Place(room)
    rows = ports_of(room, place.netns)
    if "lo" in rows or "right" in rows:
        raise Failure(f"no port can be made of some: {list(rows)}")
    left = rows["left"]
    if (left["kind"], left["port"], left["up"], left["mtu_bytes"],
            left["taken"]) != ("interface", "left", True, MTU_BYTES, []):
        raise Failure(f"not what left is: {left}")
    holder = place.holder("--port", left["port"])
    fifth = place.holder("--port", left["port"], "--vlan", "5")
    ip("-n", place.netns, "link", "set", "left", "mtu", "1500")
    taken_by = ports_of(room, place.netns)["left"]["taken"]
    if sorted((one["pid"], one["vlan"]) for one in taken_by) != \
            sorted([(holder.pid, 0), (fifth.pid, 5)]):
        raise Failure(f"not who has it: {taken_by}")
    seen = room.run("text", room.roost("ports"), place.netns)
    for line in ("    --port left", f"    taken by process {holder.pid}",
                 f"    taken by process {fifth.pid} on VLAN 5"):
        if line not in seen.out().splitlines():
            raise Failure(f"no line '{line}': {seen.out()}")


LISTS = r".*\"roost ports\" lists what can be a port"

CASES = [
    Case("port-spec-xdp", by_xdp),
    Case("port-spec-packet", by_packet),
    Case("port-spec-vlan", chosen, ["left", "--vlan", "5"], "it takes no VLAN"),
    Case("port-spec-mtu", chosen, ["left", "--mtu", "4200"],
         ".*4200 is wanted"),
    Case("port-spec-argument", chosen, ["left,qpairs=1"],
         'it has no argument "qpairs"'),
    Case("port-spec-xdp-taken", taken),
    Case("port-spec-typo", refused, "net_afpacket0,iface=left",
         '.*did you mean "net_af_packet0"[?]' + LISTS),
    Case("port-spec-near", refused, "lfet", '.*did you mean "left"[?]' + LISTS),
    Case("port-spec-nobody", refused, "connectx",
         "there is no such interface," + LISTS),
    Case("port-spec-rdma", refused, "mlx5_0",
         "there is no such RDMA device" + LISTS),
    Case("port-spec-loopback", refused, "lo", ".*loopback.*use --link NAME"),
    Case("port-spec-key-given", refused, "net_af_packet0,iface=left,ifac=x",
         '.*no argument "ifac"; it takes .*'),
    Case("port-spec-owner", owner),
    Case("port-spec-list", listed),
]
