# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A link without DPDK's environment: ends that die, stop or lie, and what a
process with links alone has.
"""

import array
import os
import re
import signal
import socket
import struct
import time

import cases_ctl
import cases_link
import cases_rdmacm
import cases_rights
from harness import Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import Wire

# What EAL, huge pages and drivers leave in a process.
EAL_MARKS = ("rtemap", "hugepage", "fbarray", "/dpdk", "librte_net_",
             "librte_common_", "librte_bus_")
PACKET = struct.Struct("<QIIIH6sI")
MAGIC = 0x74656d2d74736f52
STOP_S = 3


def watch(room, title, *options):
    """A program that has an end and waits."""
    end = room.start(title, room.roost("run", "--link", room.link, *options,
                                       "--", *cases_ctl.WATCH))
    cases_ctl.wait_for_watch(end)
    return end


def carrier(room, process):
    return cases_ctl.show(room, process)["ports"][0]["carrier"]


def wait_for_carrier(room, process, wanted):
    if not wait_until(lambda: carrier(room, process) == wanted, 10, 0.05):
        raise Failure(f"{process.title}: carrier is not {wanted}")


def address(room, number):
    return f"\0roost/{os.getuid()}/{room.link}/{number}"


# ---- no EAL ----------------------------------------------------------------

def things(process):
    """What it has mapped and open."""
    with open(f"/proc/{process.pid}/maps") as file:
        names = {line.split(None, 5)[5].strip() for line in file
                 if len(line.split(None, 5)) == 6}
    fds = f"/proc/{process.pid}/fd"
    for fd in os.listdir(fds):
        try:
            names.add(os.readlink(os.path.join(fds, fd)))
        except FileNotFoundError:
            pass
    return names


def no_eal(room):
    end = watch(room, "end")
    found = [name for name in things(end)
             for mark in EAL_MARKS if mark in name]
    threads = []
    for task in os.listdir(f"/proc/{end.pid}/task"):
        with open(f"/proc/{end.pid}/task/{task}/comm") as file:
            threads.append(file.read().strip())
    strange = [name for name in threads
               if name.startswith(("eal-", "rte_", "dpdk", "telemetry"))]
    if found or strange:
        raise Failure(f"it has {found}, and threads {strange}")


def user(room):
    """An ordinary user, with no capability and no memory to lock."""
    port = room.next_port()
    ends = [
        {"title": title,
         "argv": cases_rights.as_nobody(room, (), [
             "sh", "-c", "ulimit -l 0; exec \"$@\"", "sh",
             *room.roost("run", "--link", room.link, "--", "ibv_rc_pingpong",
                         "-c", "-p", str(port), *host)])}
        for title, host in (("server", []), ("client", ["localhost"]))]
    cases_link.check_report(*room.pair(*ends, port))


# ---- ends that go ----------------------------------------------------------

def killed(room):
    """Either end, again and again: the other one hears of each death at once,
    and of each successor.
    """
    ends = [watch(room, "end0"), watch(room, "end1")]
    for i in range(6):
        for end in ends:
            wait_for_carrier(room, end, True)
        gone, left = i % 2, 1 - i % 2
        began = time.monotonic()
        ends[gone].signal(signal.SIGKILL)
        wait_for_carrier(room, ends[left], False)
        if time.monotonic() - began > 1:
            raise Failure(f"{ends[left].title}: heard of it late")
        ends[gone] = watch(room, f"end{gone}-{i}")
    for end in ends:
        wait_for_carrier(room, end, True)
        if end.complaints():
            raise Failure(f"{end.title}: {end.complaints()}")


def last_ack(room):
    """A client whose server ends, and comes again, faster than a request to
    connect is repeated.
    """
    def end(title, words):
        number = 1 if title == "server" else 2
        return {"title": title, "argv": room.roost(
            "run", "--link", room.link, "--ip", f"10.9.0.{number}/24", "--",
            *words)}

    cases_rdmacm.last_ack(room, end, end, "10.9.0.1", 10)


def stopped(room):
    """An end that has no processor for a while: the connection goes on."""
    port = room.next_port()
    words = ["ib_write_bw", "-F", "-D", "8", "-p", str(port)]
    argv = room.roost("run", "--link", room.link, "--", *words)
    server = room.start("server", argv)
    if not wait_for_listener(server, port, 20):
        raise Failure("server: does not listen")
    client = room.start("client", [*argv, "localhost"])
    if not wait_until(lambda: "#bytes" in client.out(), 20):
        time.sleep(1)
    server.signal(signal.SIGSTOP)
    time.sleep(STOP_S)
    server.signal(signal.SIGCONT)
    for process in (server, client):
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")


# ---- ends that lie ---------------------------------------------------------

def connection(room):
    """As a process of this user that has no end."""
    fd = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fd.settimeout(10)
    fd.connect(address(room, 1))
    return fd


def hello(seat=0, version=1, kind=1, zero=0):
    return PACKET.pack(MAGIC, version, kind, seat, 1500, b"\2abcde", zero)


def send(fd, packet, *files):
    fd.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                           array.array("i", files))] if files else [])


def is_cut_off(fd):
    """After at most a HELLO and a BYE."""
    for _ in range(3):
        try:
            packet, control, _, _ = fd.recvmsg(64, 256)
        except ConnectionResetError:
            return True
        for _, _, data in control:
            for number in array.array("i", data):
                os.close(number)
        if not packet:
            return True
    return False


def hostile(room):
    """Each lie ends its session, the first one with a line; an honest end is
    served after all of them.
    """
    end = watch(room, "end")
    unsealed = os.memfd_create("lie")
    os.ftruncate(unsealed, 1 << 20)
    pipes = os.pipe()
    null = os.open("/dev/zero", os.O_RDWR)
    lies = [
        (b"nonsense",), (b"\0" * 32,), (hello(version=2), unsealed),
        (hello(), unsealed), (hello(), pipes[0]), (hello(), null),
        (hello(zero=1), unsealed), (hello(kind=7),),
        (hello(), unsealed, null), (hello(seat=2 ** 32 - 1), unsealed),
        (hello() + b"more", unsealed), (b"x" * 100000,),
    ]
    for number, lie in enumerate(lies):
        with connection(room) as fd:
            try:
                send(fd, *lie)
            except BrokenPipeError:
                pass
            if not is_cut_off(fd):
                raise Failure(f"lie {number} is believed")
    for fd in (unsealed, null, *pipes):
        os.close(fd)
    lines = [line for line in end.complaints() if "was cut off" in line]
    if len(lines) != 1 or str(os.getpid()) not in lines[0]:
        raise Failure(f"not one line that names us: {end.complaints()}")
    other = watch(room, "other")
    wait_for_carrier(room, end, True)
    wait_for_carrier(room, other, True)


# ---- frames of all lengths -------------------------------------------------

def mtus(room, ours, theirs):
    """Ends of different MTUs, with the path MTU that both have."""
    port = room.next_port()
    ends = [cases_link.pingpong_end(room, title, ["-c", "-m", "1024", "-s",
                                                  "100000", "-n", "100"],
                                    port, host)
            for title, host in (("server", None), ("client", "localhost"))]
    for end, mtu in zip(ends, (ours, theirs)):
        at = end["argv"].index("--")
        end["argv"][at:at] = ["--mtu", mtu]
    cases_link.check_report(*room.pair(*ends, port))


def twin(room):
    """The kernel's ping by a twin of one end, to the other end's own host."""
    if not os.path.exists("/dev/net/tun"):
        raise Skip("the kernel has no /dev/net/tun")
    wire = Wire(room)
    netns = wire.netns["left"]
    ends = [room.start(title, room.roost(
        "run", "--link", room.link, "--mtu", "9978", "--ip", addr, *options,
        "--", *cases_ctl.WATCH), netns=netns)
        for title, addr, options in (
            ("twin", "198.18.9.1/24", ("--twin", "cabletw")),
            ("host", "198.18.9.2/24", ()))]
    for end in ends:
        cases_ctl.wait_for_watch(end)
    time.sleep(1)
    for size in ("56", "1472", "9950"):
        seen = room.run(f"ping-{size}", [
            "ping", "-c", "20", "-i", "0.01", "-M", "do", "-s", size,
            "198.18.9.2"], netns=netns)
        if seen.status != 0 or not re.search(" 20 received", seen.out()):
            raise Failure(f"ping -s {size}: {seen.out()[-200:]}")


# ---- a daemon at an end -----------------------------------------------------

def behind_roostd(room, options, server_near):
    """A program behind a daemon that has an end of a link, and one that has the
    other end.
    """
    path = f"/run/{room.name}.sock"
    file = room.path("roostd.conf")
    room.defer(lambda: os.path.exists(path) and os.remove(path))
    with open(file, "w", encoding="ascii") as conf:
        conf.write(f"[port0]\nlink = {room.link}\n")
    daemon = room.start("roostd", [
        os.path.join(room.build, "apps", "roostd", "roostd"), "-c", file,
        "--socket", path])
    if not wait_until(lambda: os.path.exists(path), 20):
        raise Failure("roostd does not listen")
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-p", str(port), *options]
    ends = [room.roost("run", "--service", path, "--", *words),
            room.roost("run", "--link", room.link, "--", *words)]
    server, client = ends if server_near else reversed(ends)
    cases_link.check_report(*room.pair(
        {"title": "server", "argv": server},
        {"title": "client", "argv": [*client, "localhost"]}, port))
    daemon.signal(signal.SIGTERM)
    room.finish(daemon, 10)
    if daemon.status != 0 or daemon.err():
        raise Failure("roostd: did not end well: " + daemon.err())


CASES = [
    Case("cable-no-eal", no_eal),
    Case("cable-user", user),
    Case("cable-killed", killed),
    Case("cable-last-ack", last_ack),
    Case("cable-stopped", stopped),
    Case("cable-hostile", hostile),
    Case("cable-mtu-both-most", mtus, "9978", "9978"),
    Case("cable-mtu-differs", mtus, "1500", "9978"),
    Case("cable-twin", twin),
    Case("cable-roostd-server", behind_roostd, ["-c", "-s", "100000"], True),
    Case("cable-roostd-client", behind_roostd, ["-c", "-s", "100000", "-m",
                                                "4096"], False),
]
