# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""net_af_xdp on a veth pair: RoCEv2 is Roost's, everything else the kernel's,
on the same interface; and what becomes of the XDP program on it."""

import json
import os
import re
import shutil
import signal
import time

import cases_link
import cases_mcast
import cases_wire
from cases_fault import check_refusal
from harness import Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import TCP_ADDRESSES, Wire, ip

DRIVER = "net_af_xdp0"
# What one page holds of a frame, see pmd_glue/port/driver.c.
MTU_BYTES = 3438
# A sleeper that nobody wakes looks by itself after 100 ms.
WAKE_US = 20000
IDLE_PERCENT = 10


def xdp_wire(room, mtu_bytes=MTU_BYTES, queues=1):
    program = os.path.join(room.build, "pmd_glue", "quirks", "xdp",
                           "rocev2.bpf.o")
    if not os.path.exists(program):
        raise Skip("built without clang or libbpf-dev: no XDP program")
    wire = Wire(room, mtu_bytes=mtu_bytes, driver=DRIVER, queues=queues)
    wire.program = program
    # The kernel's own word on whether it can.
    try:
        ip("-n", wire.netns["left"], "link", "set", "left", "xdpgeneric",
           "obj", program, "sec", "xdp")
    except Failure as failure:
        raise Skip(f"no XDP here: {failure}")
    ip("-n", wire.netns["left"], "link", "set", "left", "xdpgeneric", "off")
    return wire


def program_mode(wire, end):
    """How an XDP program is there: "xdp", "xdpgeneric", or None."""
    row = json.loads(wire.inside(end, "ip", "-j", "-d", "link", "show",
                                 end))[0]
    if "xdp" not in row:
        return None
    return {1: "xdp", 2: "xdpgeneric"}.get(row["xdp"]["mode"], "other")


def check_mode(wire, end, wanted):
    if program_mode(wire, end) != wanted:
        raise Failure(f"the program on {end} is {program_mode(wire, end)}, "
                      f"not {wanted}")


def pingpong(room, options, of_end, mtu_bytes=MTU_BYTES):
    wire = xdp_wire(room, mtu_bytes)
    cases_wire.pair_on(room, wire, options, of_end)
    for end in TCP_ADDRESSES:
        check_mode(wire, end, None)


def holder(room, wire, of_end, title="holder"):
    """A server that waits, at the left end."""
    port = room.next_port()
    process = room.start(**wire.start(
        "left", title, of_end("left"),
        ["ibv_rc_pingpong", "-g", "1", "-n", "200", "-c", "-p", str(port)]))
    if not wait_for_listener(process, port, 20):
        raise Failure(f"the {title} does not start")
    return process, port


def shared(room, mtu_bytes, mode):
    """While the port is open the kernel has the rest of the interface: ping
    both ways, and a stream of TCP. mode: how the program is there.
    """
    wire = xdp_wire(room, mtu_bytes)
    process, port = holder(room, wire, cases_wire.kernel_addresses)
    check_mode(wire, "left", mode)
    for end, host in (("left", "right"), ("right", "left")):
        wire.inside(end, "ping", "-c", "3", "-i", "0.2", "-W", "2", "-s",
                    "1400", TCP_ADDRESSES[host])
    wire.inside("right", "bash", "-c",
                "head -c 3000000 /dev/zero > "
                f"/dev/tcp/{TCP_ADDRESSES['left']}/{port} || true")
    process.kill()


def own_address(room):
    """An address that Roost has for itself, and not the kernel, is answered
    for by Roost: ARP, ND and ping reach it, although XDP passes them.
    """
    wire = xdp_wire(room)
    cases_wire.ping_on(room, wire)


def killed(room):
    """Killed: the kernel takes the program off the interface at once, and the
    next process has the port.
    """
    wire = xdp_wire(room)
    process, _ = holder(room, wire, cases_wire.kernel_addresses)
    check_mode(wire, "left", "xdp")
    process.kill()
    if not wait_until(lambda: program_mode(wire, "left") is None, 5):
        raise Failure("the program is still there")
    cases_wire.pair_on(room, wire, ["-g", "1", "-n", "100", "-c"],
                       cases_wire.kernel_addresses)


def taken(room):
    """Somebody else's program is there: refused, and it stays."""
    wire = xdp_wire(room)
    ip("-n", wire.netns["left"], "link", "set", "left", "xdp", "obj",
       wire.program, "sec", "xdp")
    refused = room.start(**wire.start("left", "refused", [],
                                      ["ibv_devinfo"]))
    room.finish(refused)
    check_refusal(refused, ".*XDP program.*ip link set dev left xdp off.*")
    check_mode(wire, "left", "xdp")


def second(room):
    """Two processes on one interface: the second one is refused, the first
    one goes on.
    """
    wire = xdp_wire(room)
    process, port = holder(room, wire, cases_wire.kernel_addresses)
    refused = room.start(**wire.start("left", "refused", [],
                                      ["ibv_devinfo"]))
    room.finish(refused)
    check_refusal(refused, ".*XDP program.*; stop .*")
    client = room.run(**wire.start(
        "right", "client", [], ["ibv_rc_pingpong", "-g", "1", "-n", "200",
                                "-c", "-p", str(port),
                                TCP_ADDRESSES["left"]]))
    room.finish(process)
    cases_link.check_report(process, client)


def refused(room, devargs, pattern, options=()):
    wire = xdp_wire(room)
    wire.driver = f"{DRIVER},{devargs}"
    process = room.start(**wire.start("left", "refused", list(options),
                                      ["ibv_devinfo"]))
    room.finish(process)
    check_refusal(process, pattern)
    check_mode(wire, "left", None)


def no_permission(room):
    """May open packet sockets and lock memory, but not load a program."""
    if shutil.which("setpriv") is None:
        raise Skip("no setpriv")
    wire = xdp_wire(room)
    words = wire.start("left", "user", [], ["ibv_devinfo"])
    rights = "-all,+net_raw,+net_admin,+ipc_lock"
    words["argv"] = ["setpriv", "--bounding-set", rights,
                     f"--inh-caps={rights}", *words["argv"]]
    user = room.run(**words)
    check_refusal(user, ".*CAP_BPF.*")


def check_wakes(room, process):
    found = re.search(r"average (\d+) us, longest (\d+) us, ([\d.]+) %",
                      process.out())
    if found is None:
        raise Failure(f"{process.title} says nothing of its sleep")
    room.note(process.out().strip().splitlines()[-1])
    # One that nobody heard would raise the average by 8 ms; a core that is
    # not ours may do that, too.
    if int(found[1]) > WAKE_US:
        raise Failure("messages are not heard at once")
    if float(found[3]) > IDLE_PERCENT:
        raise Failure("who sleeps takes a CPU")


def wakes(room):
    """A sleeper is woken by a packet, and costs next to nothing."""
    wire = xdp_wire(room)
    wake_on(room, wire, cases_wire.kernel_addresses)


def wake_on(room, wire, of_end):
    program = os.path.join(room.build, "tests", "real", "wake")
    port = str(room.next_port())
    server = room.start(**wire.start("left", "server", of_end("left"),
                                     [program, port]))
    if not wait_until(lambda: "ready" in server.out() or
                      server.wait(0) is not None, 20):
        raise Failure("the server does not start")
    client = room.run(**wire.start("right", "client", of_end("right"),
                                   [program, port, TCP_ADDRESSES["left"]]))
    room.finish(server)
    if (server.status, client.status) != (0, 0):
        raise Failure(f"exit status {server.status}, {client.status}")
    check_wakes(room, client)


def watched_sockets(process):
    """Of all that it has in an epoll set."""
    found = []
    try:
        for fd in os.listdir(f"/proc/{process.pid}/fdinfo"):
            with open(f"/proc/{process.pid}/fdinfo/{fd}") as info:
                for line in info:
                    if line.startswith("tfd:"):
                        target = line.split()[1]
                        found.append(os.readlink(
                            f"/proc/{process.pid}/fd/{target}"))
    except FileNotFoundError:
        return None  # it was being changed
    return [name for name in found if name.startswith("socket:")]


def watched(room, progress, expected):
    """Whoever sends to a socket that is watched pays for a wake with every
    frame: it is watched while its worker sleeps, and never while it polls.
    """
    wire = xdp_wire(room)
    process, _ = holder(room, wire, lambda end: [
        *cases_wire.kernel_addresses(end), "--progress", progress])
    if not wait_until(lambda: watched_sockets(process) not in ([], None)
                      if expected else watched_sockets(process) == [], 5):
        raise Failure(f"watched: {watched_sockets(process)}")
    process.kill()


def link_down(room):
    """The other end of the wire goes down and comes back: events."""
    wire = xdp_wire(room)
    watch = room.start(**wire.start("left", "watch", [],
                                    ["ibv_asyncwatch"]))
    if not wait_until(lambda: "event FD" in watch.out(), 20):
        raise Failure("the device does not open")
    for state, event in (("down", "PORT_ERR"), ("up", "PORT_ACTIVE")):
        time.sleep(0.5)
        before = watch.out().count(event)
        ip("-n", wire.netns["right"], "link", "set", "right", state)
        if not wait_until(lambda event=event, before=before:
                          watch.out().count(event) > before, 5):
            raise Failure(f"no {event}")
    watch.signal(signal.SIGKILL)


def mtu(room):
    """A path MTU that a page holds is offered on jumbo frames, no larger."""
    wire = xdp_wire(room, 9000)
    info = room.run(**wire.start("left", "info", [], ["ibv_devinfo"]))
    if not re.search(r"active_mtu:\s+2048", info.out()):
        raise Failure("the active MTU is not 2048")


OWN = cases_wire.address_options
KERNELS = cases_wire.kernel_addresses

CASES = [
    Case("xdp-pingpong", pingpong, ["-g", "1", "-n", "500", "-c"], KERNELS),
    Case("xdp-pingpong-events", pingpong,
         ["-g", "1", "-n", "500", "-c", "-e"], KERNELS),
    Case("xdp-pingpong-ipv6", pingpong,
         ["-g", "0", "-n", "500", "-c", "-m", "2048"], OWN),
    Case("xdp-pingpong-own-address", pingpong,
         ["-g", "2", "-n", "500", "-c", "-m", "2048"], OWN),
    Case("xdp-pingpong-1MiB", pingpong,
         ["-g", "1", "-n", "20", "-c", "-m", "2048", "-s", "1048576"],
         KERNELS),
    Case("xdp-pingpong-jumbo-frames", pingpong,
         ["-g", "1", "-n", "200", "-c", "-m", "2048"], KERNELS, 9000),
    Case("xdp-dedicated", pingpong, ["-g", "1", "-n", "200", "-c"],
         lambda end: ["--progress", "dedicated"]),
    Case("xdp-shared", shared, MTU_BYTES, "xdp"),
    Case("xdp-shared-generic", shared, 9000, "xdpgeneric"),
    Case("xdp-own-address-ping", own_address),
    Case("xdp-killed", killed),
    Case("xdp-second-process", second),
    Case("xdp-wakes", wakes),
    Case("xdp-watched-asleep", watched, "adaptive", True),
    Case("xdp-watched-polling", watched, "dedicated", False),
    Case("xdp-link-down", link_down),
    Case("xdp-mtu", mtu),
    Case("xdp-mcast-igmpv3", cases_mcast.bridged, 4, cases_mcast.V3, False,
         DRIVER),
    Case("xdp-mcast-igmpv2", cases_mcast.bridged, 4, cases_mcast.V2, False,
         DRIVER),
    Case("xdp-mcast-mldv2", cases_mcast.bridged, 6, cases_mcast.V3, False,
         DRIVER),
    Case("error-xdp-taken", taken),
    Case("error-xdp-no-such-queue", refused, "start_queue=3",
         ".*no such queue.*ethtool -l left.*"),
    Case("error-xdp-no-program-file", refused, "xdp_prog=/nowhere.o",
         ".*/nowhere.o.*; .*"),
    Case("error-xdp-no-program", refused, "xdp_prog=/etc/hostname",
         ".*/etc/hostname.*; .*"),
    Case("error-xdp-devarg", refused, "quee_count=1",
         ".*quee_count.*queue_count.*"),
    Case("error-xdp-vlan", refused, "queue_count=1",
         ".*cannot be on VLAN 5: .*; use net_af_packet", ["--vlan", "5"]),
    Case("error-xdp-permission", no_permission),
]
