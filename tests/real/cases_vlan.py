# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""VLANs: who hears whom over a link and over a wire, what stands in the tags,
and the kernel's own VLAN interfaces as peers and beside us."""

import json
import os
import subprocess
import sys

import cases_link
import dissect
from harness import TOP, Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import TCP_ADDRESSES, Capture, Wire, ip

TCLASS, PCP = 0x68, 3  # DSCP 26
NUMBERS = {"left": 1, "right": 2}
VLAN_TAP = os.path.join(TOP, "tests", "tools", "vlan_tap.py")


def vlan_options(end, vlans):
    """--vlan V --ip 198.18.I.x/24 for the I-th of them."""
    options = []
    for i, vlan in enumerate(vlans):
        options += ["--vlan", str(vlan),
                    "--ip", f"198.18.{i}.{NUMBERS[end]}/24",
                    "--ip", f"fd00:198:18:{i}::{NUMBERS[end]}/64"]
    return options


# ---- links ------------------------------------------------------------------

def on_link(room, options, launcher):
    """Debian's pingpong, with these options behind the link."""
    port = room.next_port()
    ends = [cases_link.pingpong_end(room, "server", options, port),
            cases_link.pingpong_end(room, "client", options, port,
                                    "localhost")]
    for end in ends:
        end["argv"][4:4] = launcher
    cases_link.check_report(*room.pair(*ends, port))


def at_once(room, options, launcher=()):
    """Three devices of one process on one port, all in use."""
    addresses = [f"198.18.{i}.1" for i in range(3)]
    server, client = (
        room.start(title, room.roost(
            "run", "--link", room.link, *vlan_options(end, [0, 100, 4094]),
            *launcher,
            "--", f"{room.build}/tests/real/vlans", *options,
            title, *addresses))
        for title, end in (("server", "left"), ("client", "right")))
    for end in (client, server):
        room.finish(end, 100)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
        for number in range(3):
            if f"198.18.{number}.1 over roost{number}: 2000" not in end.out():
                raise Failure(f"{end.title}: roost{number} is not heard of")


def apart(room, left, right):
    """Ends on VLANs that differ do not even find each other."""
    port = room.next_port()
    words = ["-d", "roost0", "-g", "1"]
    server = cases_link.pingpong_end(room, "server", words, port)
    client = cases_link.pingpong_end(room, "client", words, port, "localhost")
    for end, vlan, number in ((server, left, 1), (client, right, 2)):
        end["argv"][4:4] = ["--ip", f"198.18.0.{number}/24", "--vlan", vlan]
    ends = room.pair_start(server, client, port)
    for end in ends:
        room.finish(end)
        if end.status == 0:
            raise Failure(f"{end.title}: it reached another VLAN")
    if "Failed to modify QP to RTR" not in ends[0].err() + ends[1].err():
        raise Failure("they did not fail for want of each other")


def shown(room):
    """A device says what it is on, to ibv_devinfo and to roost ctl."""
    options = ["--link", room.link, "--vlan", "0", "--vlan", "7",
               "--ip", "198.18.7.1/24"]
    info = room.run("devinfo", room.roost("run", *options, "--",
                                          "ibv_devinfo", "-v"))
    boards = [line.split(":", 1)[1].strip()
              for line in info.out().splitlines() if "board_id" in line]
    link = f'link "{room.link}"'
    if boards != [link, f"{link} VLAN 7"]:
        raise Failure(f"board ids: {boards}")
    holder = room.start("holder", room.roost(
        "run", *options, "--", "ibv_asyncwatch", "-d", "roost1"))
    if not wait_until(lambda: "event FD" in holder.out() or
                      holder.wait(0) is not None, 20):
        raise Failure("the holder does not start")
    done = room.run("show", room.roost("ctl", "--pid", str(holder.pid),
                                       "--json", "show"))
    devices = json.loads(done.out())["devices"]
    ports = [port for device in devices for port in device["ports"]]
    if [(port["vlan"], port["label"]) for port in ports] != \
            [(7, f"{link} VLAN 7")]:
        raise Failure(f"roost ctl shows {ports}")


# ---- wires ------------------------------------------------------------------

def send_bw(room, wire, of_end, options, title="", env=None):
    port = room.next_port()
    words = ["ib_send_bw", "-p", str(port), "-n", "200", "-s", "8192",
             *options]
    server = wire.start("left", title + "server", of_end("left"), words)
    client = wire.start("right", title + "client", of_end("right"),
                        [*words, TCP_ADDRESSES["left"]])
    server["env"] = client["env"] = env or {}
    return room.pair_start(server, client, port)


def finish_all(room, ends):
    for end in ends:
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def none_but(path, all_of, wanted):
    """Of the frames that match all_of, all are wanted, and there are some."""
    if not dissect.tshark(path, "-Y", all_of):
        raise Failure(f"no frame in the capture is {all_of}")
    others = dissect.tshark(path, "-Y", f"{all_of} && !({wanted})")
    if others:
        raise Failure(f"a frame that is not {wanted}: "
                      f"{others.splitlines()[0]}")


def tagged(room, gid, *options):
    """Every frame has the tag; RoCEv2's say the priority of their class."""
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [100]),
        ["-x", gid, f"--tclass={TCLASS}", *options]))
    path = capture.stop()
    dissect.check_malformed(path)
    none_but(path, "infiniband",
             f"vlan.id == 100 && vlan.priority == {PCP} && vlan.dei == 0")
    # The kernel's own speak of the addresses of the side channel.
    none_but(path, "(arp && !arp.src.proto_ipv4 == 198.19.0.0/16)"
             if gid == "1" else "icmpv6.type == 135 && vlan",
             "vlan.id == 100 && vlan.priority == 0")
    room.note(f"{dissect.check_icrc(path).split(': ')[-1]}")


def prioritised(room, pcp, env):
    """The tables decide, or the service level of the program: 6."""
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [100]),
        ["-x", "1", f"--tclass={TCLASS}", "--sl=6"], env=env))
    none_but(capture.stop(), "infiniband",
             f"vlan.priority == {pcp} && ip.dsfield == {TCLASS}")


def captured_cm(room, **more):
    """Two programs that rdma_cm connects; more: of their start."""
    wire = Wire(room)
    capture = Capture(wire)
    program = f"{room.build}/tests/real/vlans"
    finish_all(room, [
        room.start(**wire.start(end, title, vlan_options(end, [100]),
                                [program, title, "198.18.0.1"]), **more)
        for end, title in (("left", "server"), ("right", "client"))])
    return capture.stop()


def default_tos(room):
    """The port's type of service is that of what the CM connects."""
    path = captured_cm(room, env={"ROOST_DEFAULT_ROCE_TOS": str(TCLASS)})
    none_but(path, "infiniband",
             f"vlan.priority == {PCP} && ip.dsfield == {TCLASS}")


def connected(room):
    """What rdma_cm says has the tag, too."""
    path = captured_cm(room)
    none_but(path, "infiniband", "vlan.id == 100 && vlan.priority == 0")
    none_but(path, "infiniband.bth.destqp == 1", "vlan.id == 100")


def many(room):
    """Three VLANs of one process; each is another one's at the other end."""
    wire = Wire(room)
    vlans = [0, 100, 200]
    addresses = [f"198.18.{i}.1" for i in range(3)]
    program = f"{room.build}/tests/real/vlans"
    ends = [room.start(**wire.start("left", "server",
                                    vlan_options("left", vlans),
                                    [program, "server", *addresses]))]
    # A process for each; the last one has all others' frames on its port.
    for i, vlan in enumerate(vlans):
        options = ["--vlan", str(vlan), "--ip", f"198.18.{i}.2/24"]
        ends.append(room.start(**wire.start(
            "right", f"client{i}", options,
            [program, "client", addresses[i]])))
    finish_all(room, ends)


def hold(room, wire, options):
    """A process that has its device open at the left end."""
    port = room.next_port()
    holder = room.start(**wire.start(
        "left", "holder", options, ["ibv_rc_pingpong", "-p", str(port)]))
    if not wait_for_listener(holder, port, 20):
        raise Failure("the holder of the addresses does not start")
    return holder


def kernel_vlan(room, netns, parent, vlan, address, forward=True):
    """An interface of the kernel on a VLAN. One without 802.1Q gets a tap
    whose frames a program gives their tags, unless it must be a real one.
    """
    inside = ("-n", netns)
    name = f"{parent}.{vlan}"
    try:
        ip(*inside, "link", "add", "link", parent, "name", name, "type",
           "vlan", "id", str(vlan))
    except Failure as failure:
        if "Unknown device type" not in str(failure):
            raise
        if not forward:
            raise Skip("the kernel has no 802.1Q") from failure
        tap = room.start(name, [sys.executable, VLAN_TAP, parent,
                                str(vlan)], netns=netns)
        if not wait_until(lambda: "forwarding" in tap.out() or
                          tap.wait(0) is not None, 20):
            raise Failure(f"{name}: the tap does not start") from failure
        if tap.status is not None:
            raise Skip(f"no tap devices here: {tap.err()}") from failure
    ip(*inside, "link", "set", name, "up")
    if address:
        ip(*inside, "addr", "add", address, "dev", name)
    return name


def answers(wire, address):
    done = subprocess.run(
        ["nsenter", f"--net=/run/netns/{wire.netns['right']}", "ping", "-c",
         "2", "-i", "0.2", "-W", "1", "-s", "1400", address],
        capture_output=True, text=True, timeout=30)
    return done.returncode == 0


def kernel_untagged(room):
    """A device without a VLAN takes frames without a tag, and no others."""
    wire = Wire(room)
    hold(room, wire, ["--ip", "198.18.1.1/24"])
    wire.inside("right", "ip", "addr", "add", "198.18.1.2/24", "dev", "right")
    if not answers(wire, "198.18.1.1"):
        raise Failure("an untagged ping is not answered")
    wire.inside("right", "ip", "addr", "del", "198.18.1.2/24", "dev", "right")
    kernel_vlan(room, wire.netns["right"], "right", 100, "198.18.1.2/24")
    if answers(wire, "198.18.1.1"):
        raise Failure("a ping of VLAN 100 is answered")


def kernel_peer_tagged(room):
    wire = Wire(room)
    hold(room, wire, ["--vlan", "100", "--ip", "198.18.1.1/24",
                      "--ip", "fd00:198:18:1::1/64"])
    kernel_vlan(room, wire.netns["right"], "right", 100, "198.18.1.2/24")
    wire.inside("right", "ip", "addr", "add", "fd00:198:18:1::2/64", "dev",
                "right.100", "nodad")
    for address in ("198.18.1.1", "fd00:198:18:1::1"):
        if not answers(wire, address):
            raise Failure(f"{address}: no answer through right.100")
    # The same address without a tag, and in another VLAN.
    wire.inside("right", "ip", "addr", "del", "198.18.1.2/24", "dev",
                "right.100")
    wire.inside("right", "ip", "addr", "add", "198.18.1.2/24", "dev", "right")
    if answers(wire, "198.18.1.1"):
        raise Failure("an untagged ping is answered")
    wire.inside("right", "ip", "addr", "del", "198.18.1.2/24", "dev", "right")
    kernel_vlan(room, wire.netns["right"], "right", 101, "198.18.1.2/24")
    if answers(wire, "198.18.1.1"):
        raise Failure("a ping of VLAN 101 is answered")


def removed(room):
    """What an administrator does to one device of a port is not done to the
    others.
    """
    wire = Wire(room)
    program = ("import ctypes, time; cm = ctypes.CDLL('librdmacm.so.1'); "
               "cm.rdma_get_devices(None); print('open', flush=True); "
               "time.sleep(100)")
    holder = room.start(**wire.start(
        "left", "holder", ["--vlan", "0", "--ip", "198.18.0.1/24",
                           "--vlan", "100", "--ip", "198.18.1.1/24"],
        [sys.executable, "-c", program]))
    if not wait_until(lambda: "open" in holder.out() or
                      holder.wait(0) is not None, 20):
        raise Failure("the holder of the devices does not start")
    wire.inside("right", "ip", "addr", "add", "198.18.0.2/24", "dev", "right")
    kernel_vlan(room, wire.netns["right"], "right", 100, "198.18.1.2/24")

    def ctl(device, *words):
        done = room.run("ctl", room.roost("ctl", "--pid", str(holder.pid),
                                          "--dev", device, *words),
                        netns=wire.netns["left"])
        if done.status != 0:
            raise Failure(f"roost ctl: {done.err()}")

    def check(when, *want):
        for address, one in zip(("198.18.0.1", "198.18.1.1"), want):
            if answers(wire, address) != one:
                raise Failure(f"{when}, {address}: "
                              f"{'no' if one else 'an'} answer")

    check("at first", True, True)
    ctl("roost1", "link", "down")
    check("roost1 down", True, False)
    ctl("roost1", "link", "up")
    check("roost1 up", True, True)
    ctl("roost0", "remove")
    check("roost0 removed", False, True)
    ctl("roost1", "remove")
    check("both removed", False, False)


def kernel_addresses(room):
    """None given: those of the kernel's interface of the VLAN."""
    wire = Wire(room)
    for end in ("left", "right"):
        kernel_vlan(room, wire.netns[end], end, 100,
                    f"198.18.1.{NUMBERS[end]}/24", forward=False)
    capture = Capture(wire)
    finish_all(room, send_bw(room, wire, lambda _end: ["--vlan", "100"],
                             ["-x", "1", f"--tclass={TCLASS}"]))
    path = capture.stop()
    none_but(path, "infiniband && ip",
             "ip.addr == 198.18.1.1 && ip.addr == 198.18.1.2 && "
             "vlan.id == 100")


CASES = [
    Case("vlan-link", on_link, ["-g", "0", "-c"], ["--vlan", "5"]),
    Case("vlan-link-shared", on_link,
         ["-d", "roost1", "-g", "1", "-c", "-e"], ["--vlan", "5,6"]),
    Case("vlan-link-dedicated", on_link,
         ["-d", "roost1", "-g", "1", "-c"],
         ["--vlan", "5,6", "--progress", "dedicated"]),
    Case("vlan-at-once", at_once, []),
    Case("vlan-at-once-events", at_once, ["-e"]),
    Case("vlan-at-once-workers", at_once, [], ["--workers", "2"]),
    Case("vlan-at-once-workers-events", at_once, ["-e"], ["--workers", "2"]),
    Case("vlan-apart", apart, "5", "6"),
    Case("vlan-apart-untagged", apart, "5", "0"),
    Case("vlan-shown", shown),
    Case("vlan-wire", tagged, "1"),
    Case("vlan-wire-ipv6", tagged, "2"),
    Case("vlan-wire-ud", tagged, "1", "-c", "UD", "-s", "1024"),
    Case("vlan-wire-dscp2prio", prioritised, 2,
         {"ROOST_DSCP2PRIO": "24-31:5", "ROOST_PRIO2PCP": "5:2"}),
    Case("vlan-wire-trust-pcp", prioritised, 6,
         {"ROOST_TRUST": "pcp"}),
    Case("vlan-wire-default-tos", default_tos),
    Case("vlan-wire-rdmacm", connected),
    Case("vlan-wire-many", many),
    Case("vlan-kernel-untagged", kernel_untagged),
    Case("vlan-kernel-peer", kernel_peer_tagged),
    Case("vlan-kernel-addresses", kernel_addresses),
    Case("vlan-removed", removed),
]
