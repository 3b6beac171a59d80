# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs behind roostd, which owns the port: with each other, and with a
program that has a port of its own at the other end of the wire."""

import os
import signal
import subprocess
import time

import cases_hub
import cases_link
import cases_mcast
import cases_rdmacm
import cases_wire
from harness import Case, Failure, Skip
from process import wait_until
from service import (ADDRESSES, FAR, GIDS, NEAR, PREFIX_BITS, Service,
                     prefixes)
from wire import TCP_ADDRESSES, ip

CLIENTS = 64
WATCH = ["stdbuf", "-oL", "ibv_asyncwatch"]


def pingpong_words(family, options=()):
    return ["ibv_rc_pingpong", "-g", GIDS[family], "-p", "PORT", "-c",
            *options]


# ---- with the world --------------------------------------------------------

def pingpong(room, family, server_near, options):
    service = Service(room)
    cases_link.check_report(*service.pair(pingpong_words(family, options),
                                          server_near))
    if service.end() != 0 or service.process.err():
        raise Failure("roostd: did not end well: " + service.process.err())
    if os.path.exists(service.path):
        raise Failure("the socket is left")


def perftest(room, words, server_near):
    service = Service(room)
    service.pair([*words, "-F", "-x", GIDS[4], "-p", "PORT"], server_near)


def rdmacm(room, server_line, client_line, family, server_near):
    """The programs of rdma_cm, the server or the client behind the daemon."""
    if not os.path.exists("/usr/bin/rping"):
        raise Skip("rdmacm-utils is not installed")
    service = Service(room)
    if family == 6:
        # getaddrinfo(3) knows no IPv6 on a host that has none.
        for i, end in enumerate((NEAR, FAR)):
            ip("-n", service.wire.netns[end], "addr", "add",
               f"fd00:198:19::{i}/64", "dev", end, "nodad")
    near, far = ((service.client, service.peer) if server_near else
                 (service.peer, service.client))
    ends = (NEAR, FAR) if server_near else (FAR, NEAR)
    index = 0 if family == 4 else 1
    known = {"a": ADDRESSES[ends[0]][index], "b": ADDRESSES[ends[1]][index],
             "f": {4: "ip", 6: "ipv6"}[family],
             "g": cases_rdmacm.GROUPS[family]}
    server = room.start(**near("server", server_line.format(**known).split()))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure("server: does not listen")
    client = room.run(**far("client", client_line.format(**known).split()))
    room.finish(server)
    cases_rdmacm.check(client)
    cases_rdmacm.check(server)


def mcast(room, family, server_near):
    """A group with a member on either side of the daemon."""
    service = Service(room)
    port = room.next_port()
    words = cases_mcast.words(room, family, port, None, [])
    words[words.index("-g") + 1] = GIDS[family]
    near, far = ((service.client, service.peer) if server_near else
                 (service.peer, service.client))
    room.pair(near("server", words),
              far("client", [*words,
                             TCP_ADDRESSES[NEAR if server_near else FAR]]),
              port)


def both(room):
    """Two clients with each other, and each with the world, at one time."""
    service = Service(room)
    ports = [room.next_port() for _ in range(3)]

    def words(i, *host):
        return ["ibv_rc_pingpong", "-g", GIDS[4], "-p", str(ports[i]), "-c",
                "-n", "2000", *host]
    servers = [room.start(**service.client(f"server{i}", words(i)))
               for i in range(3)]
    time.sleep(2)
    clients = [room.start(**service.client("inside", words(0, "localhost"))),
               *(room.start(**service.peer(f"outside{i}", words(
                   i, TCP_ADDRESSES[NEAR]))) if i == 1 else
                 room.start(**service.client(f"outside{i}", words(
                     i, "localhost")))
                 for i in (1, 2))]
    for process in servers + clients:
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")


# ---- as a host -------------------------------------------------------------

def host(room):
    """The daemon's host answers ARP, ND and ping as that of a port does."""
    service = Service(room)
    for address, other, bits in zip(ADDRESSES[NEAR],
                                    ("198.18.0.9", "fd00:198:18::9"),
                                    PREFIX_BITS):
        ip("-n", service.wire.netns[FAR], "addr", "add", f"{other}/{bits}",
           "dev", FAR, *(("nodad",) if ":" in other else ()))
        service.wire.inside(FAR, "ping", "-c", "3", "-i", "0.2", "-W", "5",
                            address)


def events_of(watch):
    return [line for line in watch.out().splitlines() if "event_type" in line]


def watcher(room, service, title="watch"):
    watch = room.start(**service.client(title, WATCH))
    if not wait_until(lambda: "async event FD" in watch.out(), 20):
        raise Failure(f"{title}: does not open: {watch.err()}")
    return watch


def await_event(watch, word, limit_s=10):
    if not wait_until(lambda: word in watch.out(), limit_s):
        raise Failure(f"{watch.title}: no event '{word}': {watch.out()}")


def link_down(room):
    """Clients hear that the link goes and comes; connections live."""
    service = Service(room)
    watch = watcher(room, service)
    ip("-n", service.wire.netns[FAR], "link", "set", FAR, "down")
    await_event(watch, "PORT_ERR")
    ip("-n", service.wire.netns[FAR], "link", "set", FAR, "up")
    await_event(watch, "PORT_ACTIVE")
    cases_link.check_report(*service.pair(pingpong_words(4)))


def gids_of(room, service, title):
    seen = room.run(**service.client(title, ["ibv_devinfo", "-v"]))
    return [line.split()[2].rstrip(",") for line in seen.out().splitlines()
            if "GID[" in line]


def address_added(room):
    """The addresses of the kernel's interface, as they come and go."""
    service = Service(room, ips=False)
    left = ("-n", service.wire.netns[NEAR], "addr")
    watch = watcher(room, service)
    ip(*left, "add", "198.18.0.1/24", "dev", NEAR)
    await_event(watch, "GID_CHANGE")
    if "::ffff:198.18.0.1" not in gids_of(room, service, "devinfo1"):
        raise Failure("the new address is no GID")
    index = str(gids_of(room, service, "devinfo2").index("::ffff:198.18.0.1"))
    ip("-n", service.wire.netns[FAR], "addr", "add", "198.18.0.2/24", "dev",
       FAR)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-p", str(port), "-c", "-g"]
    server = service.client("server", [*words, index])
    client = service.peer("client", [*words, index, TCP_ADDRESSES[NEAR]])
    room.pair(server, client, port)
    nb = len(events_of(watch))
    ip(*left, "del", "198.18.0.1/24", "dev", NEAR)
    if not wait_until(lambda: len(events_of(watch)) > nb, 10):
        raise Failure("no event when the address goes")
    if "::ffff:198.18.0.1" in gids_of(room, service, "devinfo3"):
        raise Failure("the old address is still a GID")


def mtu(room):
    """The MTU of the interface is that of the clients' port."""
    service = Service(room, ips=False)
    for mtu_bytes, path in (("1500", "1024"), ("9000", "4096")):
        ip("-n", service.wire.netns[NEAR], "link", "set", NEAR, "mtu",
           mtu_bytes)
        if not wait_until(lambda: f"active_mtu:\t\t{path} " in room.run(
                **service.client("devinfo", ["ibv_devinfo"])).out(), 10, 0.5):
            raise Failure(f"no active_mtu {path} with MTU {mtu_bytes}")


def removed(room):
    """The interface goes: clients have their last event, and the daemon,
    whose only port it was, ends for a service manager to start it again.
    """
    service = Service(room)
    watch = watcher(room, service)
    ip("-n", service.wire.netns[NEAR], "link", "del", NEAR)
    room.finish(service.process, 20)
    if service.process.status == 0 or \
            "all ports are gone" not in service.process.err():
        raise Failure(f"roostd: {service.process.status}: "
                      f"{service.process.err()}")
    await_event(watch, "DEVICE_FATAL")
    if "removed" not in watch.err():
        raise Failure(f"the client has no line: {watch.err()}")


def link(room):
    """The daemon has an end of a link; a plain program has the other one."""
    service = Service(room, driver=None, port=(f"link = {room.link}",))
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-c", "-p", str(port), "-g", GIDS[4]]
    cases_link.check_report(*room.pair(
        service.client("server", words),
        {"title": "client", "netns": service.wire.netns[NEAR],
         "argv": room.roost("run", "--link", room.link, "--ip",
                            "198.18.0.2/24", "--", *words, "localhost")},
        port))


def xdp(room):
    service = Service(room, driver="net_af_xdp0")
    cases_link.check_report(*service.pair(pingpong_words(4)))


def vlan(room):
    """All that clients send and get has the tag of the port."""
    service = Service(room, port=("vlan = 100",))
    port = room.next_port()
    words = [word.replace("PORT", str(port)) for word in pingpong_words(4)]
    cases_link.check_report(*room.pair(
        service.client("server", words),
        service.peer("client", [*words, TCP_ADDRESSES[NEAR]],
                     ("--vlan", "100")), port))


# Two ports of one daemon that are each other's peer: devargs by kind. FILE and
# NAME are the case's.
KINDS = {
    "memif": ("net_memif0,role=server,socket-abstract=yes,socket=NAME",
              "net_memif1,role=client,socket-abstract=yes,socket=NAME"),
    "vhost": ("net_vhost0,iface=FILE", "net_virtio_user0,path=FILE"),
    "tap": ("net_tap0,iface=tap0", "net_tap1,iface=tap1"),
    "bond": ("net_bonding0,mode=1,slave=(net_tap0,iface=tap0)",
             "net_tap1,iface=tap1"),
}


def bridge(service, *names):
    """As soon as they are there."""
    inside = ("-n", service.wire.netns[NEAR], "link")
    ip(*inside, "add", "br0", "type", "bridge")
    ip(*inside, "set", "br0", "up")
    for name in names:
        ip(*inside, "set", name, "master", "br0")


def kind(room, name):
    """A client at each port."""
    path = f"/tmp/{room.link}.sock"
    near, far = (devargs.replace("FILE", path).replace("NAME", room.link)
                 for devargs in KINDS[name])
    service = Service(room, driver=None, port=(
        f"devargs = {near}", "[port1]", f"devargs = {far}",
        "ip = " + " ".join(prefixes(FAR))))
    if "tap1" in far:
        bridge(service, "tap0", "tap1")
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-c", "-p", str(port), "-g", GIDS[4]]
    cases_link.check_report(*room.pair(
        service.client("server", words),
        service.client("client", [*words, "localhost"], ",1"), port))
    # With it the file of a vhost port.
    if service.end() != 0:
        raise Failure("roostd: did not end well")


def twin(room):
    """What is not RoCE goes to the kernel, beside the daemon's clients."""
    service = Service(room, driver=None, port=(
        f"link = {room.link}", "twin = rtw"))
    ip("-n", service.wire.netns[NEAR], "link", "show", "rtw")
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-c", "-p", str(port), "-g", GIDS[4]]
    cases_link.check_report(*room.pair(
        service.client("server", words),
        {"title": "client", "netns": service.wire.netns[NEAR],
         "argv": room.roost("run", "--link", room.link, "--ip",
                            "198.18.0.2/24", "--", *words, "localhost")},
        port))


def unreached(room):
    """Who is not there is told by the client, in a line and an error."""
    service = Service(room)
    client = room.run(**service.client("rping", [
        "rping", "-c", "-a", "198.18.0.77", "-C", "1"]))
    if client.status == 0 or "198.18.0.77" not in client.err():
        raise Failure(f"no line names the peer: {client.err()}")
    far = room.run(**service.client("far", [
        "rping", "-c", "-a", "203.0.113.1", "-C", "1"]))
    if far.status == 0 or "203.0.113.1" not in far.err():
        raise Failure(f"no line names the far peer: {far.err()}")


# ---- the daemon ------------------------------------------------------------

def killed(room):
    """A killed client's peer, at the other end of the wire, is told."""
    service = Service(room)
    server = room.start(**service.peer("server", [
        "rping", "-s", "-a", ADDRESSES[FAR][0], "-v"]))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure("server: does not listen")
    client = room.start(**service.client("client", [
        "rping", "-c", "-a", ADDRESSES[FAR][0], "-v"]))
    if not wait_until(lambda: "ping data" in server.out(), 20):
        raise Failure("no ping data")
    began = time.monotonic()
    os.kill(client.pid, signal.SIGKILL)
    if server.wait(5) is None:
        raise Failure("the server was not told in 5 s")
    room.note("the server has ended "
              f"{1000 * (time.monotonic() - began):.0f} ms later")


def socket_file(room):
    """A living daemon's socket stays; a killed one's is replaced."""
    service = Service(room)
    inode = os.stat(service.path).st_ino
    second = room.run("second", service.argv(), service.wire.netns[NEAR], None,
                      20)
    if second.status == 0 or "a daemon serves there" not in second.err() or \
            len(second.err().splitlines()) != 1:
        raise Failure(f"the second one: {second.status}: {second.err()}")
    if os.stat(service.path).st_ino != inode:
        raise Failure("the socket is another one")
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait(5)
    again = room.start("again", service.argv(), service.wire.netns[NEAR])
    if not wait_until(lambda: os.stat(service.path).st_ino != inode, 20):
        raise Failure(f"the socket is not replaced: {again.err()}")
    seen = room.run(**service.client("devinfo", ["ibv_devinfo"]))
    if "PORT_ACTIVE" not in seen.out():
        raise Failure("the next daemon does not serve")
    if [name for name in os.listdir("/run") if room.name + ".sock." in name and
            not name.endswith((".state", ".sysfs"))]:
        raise Failure("a file is left in /run")


def user(room):
    """A user without any right, beside the daemon of root."""
    service = Service(room)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", GIDS[4], "-c", "-p", str(port)]
    server = service.client("server", words)
    server["argv"] = cases_hub.as_user(room, server["argv"])
    client = service.peer("client", [*words, TCP_ADDRESSES[NEAR]])
    cases_link.check_report(*room.pair(server, client, port))


def two_ports(room):
    """A daemon with two ports: a VLAN is the second one."""
    service = Service(room, port=("vlan = 7",), sections=(
        "[port1]", f"devargs = net_af_packet0,iface={NEAR}",
        "ip = 198.18.1.1/24"))
    for number, address in (("", "198.18.0.1"), (",1", "198.18.1.1")):
        seen = room.run(**service.client(
            f"devinfo{number}", ["ibv_devinfo", "-v"], number))
        if f"::ffff:{address}" not in seen.out():
            raise Failure(f"port '{number}' has not {address}")
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-c", "-p", str(port), "-g", GIDS[4]]
    cases_link.check_report(*room.pair(
        service.client("server", words),
        service.peer("client", [*words, TCP_ADDRESSES[NEAR]],
                     ("--vlan", "7")), port))
    outside = room.run(**service.client("third", ["ibv_devinfo"], ",2"))
    if outside.status == 0:
        raise Failure("there is a third port")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(room):
    """Many idle clients cost the daemon next to nothing."""
    service = Service(room)
    for i in range(CLIENTS):
        watcher(room, service, f"watch{i}")
    time.sleep(2)
    before = cpu_s(service.process.pid)
    time.sleep(5)
    share = (cpu_s(service.process.pid) - before) / 5
    room.note(f"{100 * share:.2f} % of a core")
    if share > 0.01:
        raise Failure(f"idle clients cost {100 * share:.1f} % of a core")


def descriptors(room):
    """The kernel's table of them is large from the start on (FDSize)."""
    service = Service(room)
    with open(f"/proc/{service.process.pid}/status", encoding="ascii") as file:
        size = int(dict(line.split(":", 1) for line in file)["FDSize"])
    room.note(f"{size} descriptors")
    if size < 5 * CLIENTS:
        raise Failure(f"the table has room for {size} descriptors")


def refused_files(room):
    """A file that names no port, or one that cannot be shared."""
    for name, text, words in (
            ("none", "", "no port;"),
            ("service", "[port0]\nservice = /run/x\n", "ports of its own"),
            ("second", "[port0]\ndevargs = net_null0\n[port1]\n"
             "devargs = net_null1\nsecond = yes\n", "second"),
            ("unknown", "[port0]\ndevargs = net_null0\ncolour = red\n",
             "colour")):
        path = room.path(f"{name}.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        done = room.run(name, [
            os.path.join(room.build, "apps", "roostd", "roostd"), "-c", path,
            "--socket", "/run/refused.sock"], limit_s=20)
        lines = done.err().splitlines()
        if done.status == 0 or len(lines) != 1 or words not in lines[0]:
            raise Failure(f"{name}: {done.status}: {done.err()}")


def last_ack(room, server_near):
    service = Service(room)
    ends = (service.client, service.peer)
    cases_rdmacm.last_ack(room, *(ends if server_near else reversed(ends)),
                          ADDRESSES[NEAR if server_near else FAR][0],
                          20 if server_near else 3)


def gone(room):
    """A client leaves a peer that has ended, as the peer's kernel says."""
    service = Service(room, ips=False)
    cases_wire.gone_at(room, service.peer, service.client, TCP_ADDRESSES[FAR])


PERFTEST = (
    ("write", ["ib_write_bw", "-s", "65536", "-n", "500"]),
    ("read", ["ib_read_bw", "-s", "65536", "-n", "200"]),
    ("send-lat", ["ib_send_lat", "-s", "16", "-n", "500"]),
)
RDMACM = (
    ("rping", "rping -s -a {a} -V -C 100", "rping -c -a {a} -I {b} -V -C 100"),
    ("ucmatose", "ucmatose -f {f} -b {a} -c 20 -C 10",
     "ucmatose -f {f} -s {a} -c 20 -C 10"),
    ("udaddy", "udaddy -f {f} -b {a} -c 4 -C 50",
     "udaddy -f {f} -s {a} -c 4 -C 50"),
)
SIDES = (("in", True), ("out", False))

CASES = [Case(f"service-{name}-v{family}-{side}", pingpong, family, near,
              options)
         for family in (4, 6) for side, near in SIDES
         for name, options in (("pingpong", ()), ("events", ("-e",)))]
CASES += [Case(f"service-{name}-{side}", perftest, words, near)
          for name, words in PERFTEST for side, near in SIDES]
CASES += [Case(f"service-{name}-v{family}-{side}", rdmacm, server, client,
               family, near)
          for name, server, client in RDMACM for family in (4, 6)
          for side, near in SIDES]
CASES += [Case("service-gone", gone)]
CASES += [Case(f"service-last-ack-{side}", last_ack, near)
          for side, near in SIDES]
CASES += [Case(f"service-mcast-v{family}-{side}", mcast, family, near)
          for family in (4, 6) for side, near in SIDES]
CASES += [
    Case("service-both", both),
    Case("service-host", host),
    Case("service-link-down", link_down),
    Case("service-address-added", address_added),
    Case("service-mtu", mtu),
    Case("service-removed", removed),
    Case("service-link", link),
    Case("service-xdp", xdp),
    *(Case(f"service-{name}", kind, name) for name in KINDS),
    Case("service-twin", twin),
    Case("service-vlan", vlan),
    Case("service-unreached", unreached),
    Case("service-killed", killed),
    Case("service-socket", socket_file),
    Case("service-user", user),
    Case("service-two-ports", two_ports),
    Case("service-idle", idle),
    Case("service-descriptors", descriptors),
    Case("service-refused-files", refused_files),
]
