# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The other kinds of port, between two processes: vhost-user in both roles,
taps on the kernel's bridge, bonds of wires."""

import os
import time

import cases_ctl
import cases_link
from cases_fault import check_refusal
from cases_xdp import check_wakes
from harness import Case, Failure
from process import wait_until

ADDRESSES = ("198.18.0.1", "198.18.0.2")


class Cable:
    """vhost-user between two ports, "vhost" and "virtio". serving: who makes
    the socket.
    """

    def __init__(self, room, serving="vhost", more=""):
        self.room = room
        self.path = f"/tmp/{room.link}.sock"
        room.defer(self.forget)
        modes = ("", "") if serving == "vhost" else (",client=1", ",server=1")
        self.ports = {"vhost": f"net_vhost0,iface={self.path}{modes[0]}",
                      "virtio": f"net_virtio_user0,path={self.path}{modes[1]}"
                      + more}
        self.ips = dict(zip(("vhost", "virtio"), ADDRESSES))

    def forget(self):
        if os.path.exists(self.path):
            os.remove(self.path)

    def end(self, end, title, words, options=()):
        """Keyword arguments to start words over one end."""
        return {"title": title, "argv": self.room.roost(
            "run", "--port", self.ports[end], "--ip", f"{self.ips[end]}/24",
            *options, "--", *words)}

    def start(self, end, title, words):
        return self.room.start(**self.end(end, title, words))


def pingpong_on(room, cable, options, launcher=(), title="pp"):
    """The vhost end first: virtio_user is no port without it."""
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-p", str(port), *options]
    ends = room.pair(cable.end("vhost", title + "-vhost", words, launcher),
                     cable.end("virtio", title + "-virtio",
                               [*words, "127.0.0.1"], launcher), port)
    cases_link.check_report(*ends)


def pingpong(room, serving, more, options, launcher=()):
    pingpong_on(room, Cable(room, serving, more), options, launcher)


def again(room, serving):
    """Many short lives, one after the other, on one path: each ends with a
    message that the other end must still hear.
    """
    cable = Cable(room, serving)
    for i in range(8):
        pingpong_on(room, cable, ["-n", "20"], title=f"pp{i}")


def count(process, event):
    return process.out().count(event)


def wait_until_active(room, process):
    """An event says so only to who was there before."""
    if not wait_until(
            lambda: cases_ctl.has_socket(process) and
            cases_ctl.show(room, process, "port")["ports"][0]["state"] ==
            "ACTIVE", 20, 0.2):
        raise Failure(f"{process.title}: its port does not become active")


def wait_for_event(process, event, before):
    if not wait_until(lambda: count(process, event) > before, 10):
        raise Failure(f"{process.title} hears no {event}")


def killed(room, serving, victim):
    """kill -9 of one end: the other one hears that the link is down. A new
    process takes its place, on the same socket: the link is up again, and
    messages pass. virtio_user connects once: it is the other end that stays.
    """
    cable = Cable(room, serving)
    ends = {end: cable.start(end, end, ["ibv_asyncwatch"])
            for end in ("vhost", "virtio")
            if end == "vhost" or serving == "virtio"
            or wait_until(lambda: os.path.exists(cable.path), 20)}
    for end in ends.values():
        wait_until_active(room, end)
    # Until the drivers agree on everything the link flaps.
    time.sleep(2)
    survivor = ends["virtio" if victim == "vhost" else "vhost"]
    before = count(survivor, "PORT_ERR"), count(survivor, "PORT_ACTIVE")
    ends[victim].kill()
    wait_for_event(survivor, "PORT_ERR", before[0])
    if (serving, victim) != ("vhost", "vhost"):
        second = cable.start(victim, "again", ["ibv_asyncwatch"])
        wait_for_event(survivor, "PORT_ACTIVE", before[1])
        second.kill()
    survivor.kill()
    pingpong_on(room, cable, ["-n", "200"])


def alone(room):
    """A vhost port whose peer is not there opens all the same, and waits no
    longer than a peer that was there takes to come back. Beside a port that
    waits for nobody, as the machine may be busy.
    """
    took_s = []
    for title, port in (("link", ["--link", room.link]),
                        ("vhost", ["--port", Cable(room).ports["vhost"]])):
        info = room.run(title, room.roost("run", *port, "--", "ibv_devinfo"))
        took_s.append(info.ended_at - info.started_at)
        if info.status != 0:
            raise Failure(f"{title}: exit status {info.status}")
    if "PORT_DOWN" not in info.out():
        raise Failure("vhost: the port is not down")
    if took_s[1] - took_s[0] > 4:
        raise Failure(f"vhost: it took {took_s[1]:.1f} s")


def wakes(room, sleeper):
    """A sleeper is woken by a packet, and costs next to nothing. sleeper: the
    end that answers.
    """
    cable = Cable(room)
    program = os.path.join(room.build, "tests", "real", "wake")
    port = str(room.next_port())
    answers = [program, port]
    asks = ["sh", "-c", "sleep 1; exec \"$@\"", "sh", *answers,
            cable.ips[sleeper]]
    vhost = cable.start("vhost", "vhost",
                        answers if sleeper == "vhost" else asks)
    if not wait_until(lambda: os.path.exists(cable.path), 20):
        raise Failure("no socket")
    virtio = cable.start("virtio", "virtio",
                         answers if sleeper == "virtio" else asks)
    for end in (vhost, virtio):
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
    check_wakes(room, virtio if sleeper == "vhost" else vhost)


def second_server(room):
    """A path that another process serves."""
    cable = Cable(room)
    watch = cable.start("vhost", "watch", ["ibv_asyncwatch"])
    if not wait_until(lambda: os.path.exists(cable.path), 20):
        raise Failure("no socket")
    refused_by(room, cable.ports["vhost"], ".*another process serves.*; .*")
    watch.kill()


def refused_by(room, port, pattern):
    process = room.run("refused", room.roost("run", "--port", port, "--",
                                             "ibv_devinfo"))
    check_refusal(process, pattern)


NO_FOLDER = ".*no directory \"/nowhere/\".*; make it.*"

CASES = [
    Case("vhost-pingpong", pingpong, "vhost", "", ["-n", "500"]),
    Case("vhost-pingpong-events", pingpong, "vhost", "",
         ["-n", "500", "-e"]),
    Case("vhost-pingpong-mtu-4096", pingpong, "vhost", "",
         ["-n", "500", "-m", "4096", "-s", "65536"], ["--mtu", "4200"]),
    Case("vhost-pingpong-packed", pingpong, "vhost", ",packed_vq=1",
         ["-n", "500"]),
    Case("vhost-pingpong-no-merge", pingpong, "vhost", ",mrg_rxbuf=0",
         ["-n", "500"]),
    Case("vhost-dedicated", pingpong, "vhost", "", ["-n", "100"],
         ["--progress", "dedicated"]),
    Case("vhost-vlan", pingpong, "vhost", "", ["-n", "100"],
         ["--vlan", "5"]),
    Case("vhost-client-pingpong", pingpong, "virtio", "",
         ["-n", "500"]),
    Case("vhost-again", again, "vhost"),
    Case("vhost-client-again", again, "virtio"),
    Case("vhost-killed", killed, "vhost", "vhost"),
    Case("vhost-virtio-killed", killed, "vhost", "virtio"),
    Case("vhost-client-killed", killed, "virtio", "vhost"),
    Case("vhost-client-virtio-killed", killed, "virtio", "virtio"),
    Case("vhost-alone", alone),
    Case("vhost-wakes", wakes, "vhost"),
    Case("vhost-virtio-wakes", wakes, "virtio"),
    Case("error-vhost-second-server", second_server),
    Case("error-vhost-no-folder", refused_by,
         "net_vhost0,iface=/nowhere/x.sock", NO_FOLDER),
    Case("error-vhost-devarg", refused_by, "net_vhost0,iafce=/tmp/x.sock",
         ".*iafce.*iface.*"),
    Case("error-virtio-no-folder", refused_by,
         "net_virtio_user0,path=/nowhere/x.sock,server=1", NO_FOLDER),
    Case("error-virtio-nobody-serves", refused_by,
         "net_virtio_user0,path=/tmp/nobody.sock",
         ".*nobody serves.*; start the other end first"),
    Case("error-virtio-no-path", refused_by, "net_virtio_user0",
         ".*needs an argument \"path\".*"),
]
