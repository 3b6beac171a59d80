# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost doctor in worlds that are as they should be, and in broken ones: it
names the cause of each."""

import json
import os
import subprocess

import cases_hub
from harness import Case, Failure, Skip
from process import wait_until
from wire import TCP_ADDRESSES, Wire, ip, relayed

OWN, PEER = TCP_ADDRESSES["left"], TCP_ADDRESSES["right"]
PORT = ("--port", "net_af_packet0,iface=left")
# What a busy or small machine may be warned of.
NOISY = {"loss", "processors", "clock"}


def doctor(room, title, words, netns=None, prefix=(), status=None):
    """Returns the steps by name, those towards the peer with a ">"."""
    done = room.run(title, [*prefix, *room.roost("doctor", "-j", *words)],
                    netns, limit_s=120)
    if done.err():
        raise Failure(f"{title}: said {done.err().strip()}")
    steps = {}
    for row in json.loads(done.out()):
        name = (">" if " to " in row["place"] else "") + row["step"]
        steps[name] = row
        blamed = row["result"] in ("warning", "failure")
        if blamed and not (row.get("cause") and row.get("fix")):
            raise Failure(f"{title}: {row}: no cause or no fix")
    failed = any(row["result"] == "failure" for row in steps.values())
    if done.status != int(failed) or status not in (None, done.status):
        raise Failure(f"{title}: exit status {done.status}: {summary(steps)}")
    return steps


def summary(steps):
    return {name: row["result"] + ": " + row.get("cause", "")
            for name, row in steps.items()
            if row["result"] in ("warning", "failure")}


def expect(steps, step, result, *texts):
    row = steps[step]
    said = " ".join(row.get(key, "") for key in ("what", "cause", "fix"))
    if row["result"] != result or not all(text in said for text in texts):
        raise Failure(f"{step}: {row}, not {result} with {texts}")


def expect_only(steps, *failed):
    """These steps fail, and no other one says a word."""
    seen = {name for name, row in steps.items() if row["result"] == "failure"}
    if seen != set(failed):
        raise Failure(f"failures {seen}, not {set(failed)}: {summary(steps)}")
    noise = {name for name, row in steps.items()
             if row["result"] == "warning" and name.strip(">") not in NOISY}
    if noise:
        raise Failure(f"warnings: {summary(steps)}")


def listen(wire, end="right"):
    """A program there has rdma_cm open."""
    server = wire.room.start(**wire.start(end, "server", [], ["rping", "-s"]))
    if not wait_until(lambda: has_ctl(server), 60):
        raise Failure("the server does not open its device")
    return server


def has_ctl(process):
    try:
        with open(f"/proc/{process.pid}/net/unix") as file:
            return f"@roost/ctl/{process.pid}\n" in file.read()
    except OSError:
        return False


# ---- worlds that are as they should be ------------------------------------

def hub(room):
    room.defer(cases_hub.gone)
    steps = doctor(room, "doctor", ["--hub", "198.18.0.1"], status=0)
    expect_only(steps)
    expect(steps, "device", "ok")
    expect(steps, "addresses", "ok", "198.18.0.1")
    expect(steps, ">RoCE", "ok", "reason 8")
    expect(steps, "rights", "not applicable")


def link(room):
    """Both ends are Roost: its own host answers pings, and tells the time."""
    alone = doctor(room, "alone", ["--link", room.link], status=0)
    expect(alone, "link", "warning", "nobody has the other end")
    room.start("server", room.roost("run", "--link", room.link, "--", "rping",
                                    "-s"))
    if not wait_until(lambda: has_ctl(room.processes[-1]), 60):
        raise Failure("the server does not open its device")
    steps = doctor(room, "pair", ["--link", room.link, "198.18.0.1"],
                   status=0)
    expect_only(steps)
    expect(steps, ">ping", "ok")
    expect(steps, ">path MTU", "ok", "4200 bytes", "path MTU 4096")
    expect(steps, ">ECN", "ok")
    expect(steps, ">RoCE", "ok", "reason 8")
    expect(steps, ">clock", "ok", "the peer's clock")


def af_packet(room):
    wire = Wire(room)
    listen(wire)
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"],
                   status=0)
    expect_only(steps)
    expect(steps, "interface", "ok", "left: veth, up")
    expect(steps, "MTU", "ok", "9000 bytes", "path MTU 4096")
    expect(steps, "addresses", "ok", OWN)
    expect(steps, ">path MTU", "ok", "path MTU 4096")
    expect(steps, ">RoCE", "ok", "reason 8")


def changes_nothing(room):
    """What roost run would create or raise, a doctor does not."""
    wire = Wire(room, mtu_bytes=1500)
    before = wire.inside("left", "ip", "-o", "link")
    steps = doctor(room, "mtu", [*PORT, "--mtu", "4200"], wire.netns["left"],
                   status=0)
    expect(steps, "MTU", "ok", "--mtu raises it to 4200")
    expect(steps, "link", "ok", "MTU 1500")
    watch = wire.room.start("monitor", ["ip", "monitor", "link"],
                            netns=wire.netns["left"])
    doctor(room, "twin", ["--link", room.link, "--twin", "t0"],
           wire.netns["left"])
    if wire.inside("left", "ip", "-o", "link") != before:
        raise Failure("the interfaces are other ones than before")
    if "t0" in watch.out():
        raise Failure("it has made a twin: " + watch.out())


def text(room):
    room.defer(cases_hub.gone)
    done = room.run("doctor", room.roost("doctor"))
    lines = done.out().splitlines()
    if done.status != 0 or lines[0] != "machine" or \
            "  ok       device        it opens" not in lines:
        raise Failure(done.out() + done.err())
    for number, words in enumerate((["--prot", "x"], ["a.b.c.invalid"],
                                    ["198.18.0.1", "x"], ["--print-env"])):
        done = room.run(f"wrong{number}", room.roost("doctor", *words))
        if done.status != 2 or len(done.err().splitlines()) != 1 or \
                done.out():
            raise Failure(f"{words}: status {done.status}: {done.err()}")


# ---- broken ones ----------------------------------------------------------

def no_right(room):
    wire = Wire(room)
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"],
                   ["setpriv", "--bounding-set", "-net_raw"])
    expect_only(steps, "rights", "device")
    expect(steps, "rights", "failure", "lacks CAP_NET_RAW")
    expect(steps, "device", "failure", "no permission", "CAP_NET_RAW")
    expect(steps, ">route", "not applicable")


def no_socket(room):
    place = room.path("nothing.sock")
    steps = doctor(room, "none", ["--service", place])
    expect_only(steps, "service", "device")
    expect(steps, "service", "failure", "no socket of that name")
    if os.geteuid() != 0:
        raise Skip("not root")
    subprocess.run(["python3", "-c", "import socket, sys;"
                    "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)"
                    ".bind(sys.argv[1])", place], check=True)
    room.defer(os.unlink, place)
    steps = doctor(room, "dead", ["--service", place])
    expect(steps, "service", "failure", "no roostd behind it")
    os.chmod(place, 0o600)
    steps = doctor(room, "closed", ["--service", place],
                   prefix=["setpriv", "--reuid", "65534", "--clear-groups",
                           "--bounding-set", "-all"])
    expect(steps, "service", "failure", "this user may not connect")


def no_interface(room):
    wire = Wire(room)
    steps = doctor(room, "name", ["--port", "net_af_packet0,iface=eth9"],
                   wire.netns["left"])
    expect_only(steps, "interface", "device")
    expect(steps, "interface", "failure", "no interface of that name")
    ip("-n", wire.netns["left"], "link", "set", "left", "down")
    steps = doctor(room, "down", [*PORT], wire.netns["left"])
    expect(steps, "interface", "failure", "ip link set left up")
    ip("-n", wire.netns["left"], "link", "set", "left", "up")
    ip("-n", wire.netns["right"], "link", "set", "right", "down")
    if not wait_until(lambda: "NO-CARRIER" in wire.inside(
            "left", "ip", "link", "show", "left"), 60):
        raise Failure("the interface keeps its carrier")
    steps = doctor(room, "carrier", [*PORT], wire.netns["left"])
    expect(steps, "interface", "failure", "no carrier")


def taken(room):
    wire = Wire(room)
    server = listen(wire, "left")
    steps = doctor(room, "doctor", [*PORT], wire.netns["left"])
    expect_only(steps, "interface", "device")
    expect(steps, "interface", "failure", f"process {server.pid} has it")


def no_address(room):
    wire = Wire(room)
    ip("-n", wire.netns["left"], "address", "flush", "dev", "left")
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"])
    expect_only(steps, "addresses", ">route")
    expect(steps, "addresses", "failure", "ip address add")


def wrong_address(room):
    wire = Wire(room)
    steps = doctor(room, "nobody", [*PORT, "198.19.0.77"], wire.netns["left"])
    expect_only(steps, ">neighbour")
    expect(steps, ">neighbour", "failure", "no ARP answer from 198.19.0.77")
    steps = doctor(room, "subnet", [*PORT, "198.20.0.1"], wire.netns["left"])
    expect_only(steps, ">route")
    expect(steps, ">route", "failure", "none of the port's subnets")


def small_mtu(room):
    wire = Wire(room, mtu_bytes=300)
    steps = doctor(room, "doctor", [*PORT], wire.netns["left"])
    expect_only(steps, "MTU")
    expect(steps, "MTU", "failure", "not even the smallest packets")


def pci(room):
    """No such device, no huge pages, no IOMMU: which of them is wrong."""
    steps = doctor(room, "doctor", ["--port", "0000:7f:1f.7"])
    expect(steps, "driver", "failure", "there is no such PCI device")
    expect(steps, "device", "failure", "there is no such PCI device")
    if steps["huge pages"]["result"] != "ok":
        expect(steps, "huge pages", "warning", "nr_hugepages")
    expect(steps, "locked memory", "ok")


# ---- what happens on the way ----------------------------------------------

def relay(room, *harm):
    """A wire with that switch in it, and a listener behind it."""
    wire = relayed(room, *harm)
    listen(wire)
    return wire


def on_the_way(room, harm, step, result, *texts):
    wire = relay(room, *harm)
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"])
    if step is not None:
        expect(steps, step, result, *texts)
    rest = {name: row for name, row in steps.items() if name != step}
    expect_only(rest)


def silent(room):
    """A peer that runs no RoCE."""
    wire = Wire(room)
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"])
    expect_only(steps, ">RoCE")
    expect(steps, ">RoCE", "failure", "UDP port 4791", "rping -s")


def no_ping(room):
    """A peer that drops pings: no verdict about what they would measure."""
    wire = Wire(room)
    wire.inside("right", "sh", "-c",
                "echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all")
    listen(wire)
    steps = doctor(room, "doctor", [*PORT, PEER], wire.netns["left"],
                   status=0)
    expect(steps, ">ping", "warning", "drops ICMP echo")
    expect(steps, ">loss", "not applicable")
    expect(steps, ">RoCE", "ok")


CASES = [
    Case("doctor-hub", hub),
    Case("doctor-link", link),
    Case("doctor-af-packet", af_packet),
    Case("doctor-changes-nothing", changes_nothing),
    Case("doctor-text", text),
    Case("doctor-no-right", no_right),
    Case("doctor-no-socket", no_socket),
    Case("doctor-no-interface", no_interface),
    Case("doctor-taken", taken),
    Case("doctor-no-address", no_address),
    Case("doctor-wrong-address", wrong_address),
    Case("doctor-small-mtu", small_mtu),
    Case("doctor-pci", pci),
    Case("doctor-relay", on_the_way, (), None, None),
    Case("doctor-drops-big", on_the_way, ("longest=1000",), ">path MTU",
         "failure", "path MTU 512", "lost on the way"),
    Case("doctor-loses", on_the_way, ("lose=4",), ">loss", "failure",
         "of the packets are lost"),
    Case("doctor-swaps", on_the_way, ("swap=10",), ">loss", "warning",
         "overtake each other"),
    Case("doctor-marks", on_the_way, ("mark",), ">ECN", "warning",
         "marks packets"),
    Case("doctor-silent", silent),
    Case("doctor-no-ping", no_ping),
]
