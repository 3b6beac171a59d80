# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Crowds behind roostd with a port on a wire: users with limits, clients that
are killed, stop, or write what they like, a container, and perftest with all
its options.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import types

import cases_hub
import cases_hub_churn
import cases_hub_crowd
import cases_hub_show
import cases_rdmacm
from harness import TOP, Case, Failure
from process import child_of, wait_until
from service import ADDRESSES, FAR, GIDS, NEAR, Service
from wire import TCP_ADDRESSES

# ---- what they do at a hub -------------------------------------------------


def at_service(room, run, *args):
    Service(room).take()
    run(room, *args)


def fork_hub(room):
    """Children and grandchildren, each a client with traffic of its own."""
    program = room.run("fork", cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "fork_hub")))
    if program.status != 0 or program.out() != "done\n":
        raise Failure(f"fork: exit status {program.status}")


# ---- three users with limits -----------------------------------------------

# Of each: clients, and what the policy allows.
USERS = {"65531": (8, ("clients = 8", "qps = 64", "services = 4")),
         "65532": (24, ("clients = 30", "memory = 1M", "rate = 200M")),
         "65533": (32, ("weight = 4",))}


def as_user(room, uid, argv):
    return [uid if word == cases_hub.USER else word
            for word in cases_hub.as_user(room, argv)]


def users(room):
    """64 clients of three users at one time, each byte looked at."""
    service = Service(room, sections=[
        line for uid, (_, limits) in USERS.items()
        for line in (f"[policy of-{uid}]", f"users = {uid}", *limits)])
    service.take()
    crowds = {}
    for uid, (nb, _) in USERS.items():
        crowds[uid] = room.start(f"crowd-{uid}", as_user(
            room, uid, cases_hub.hub(
                room, os.path.join(room.build, "tests", "real", "crowd"),
                "-w", "-s", "4000", "-n", "50", str(nb))))
    for uid, (nb, _) in USERS.items():
        cases_hub_crowd.said(crowds[uid], "attached", 60)
    beyond = room.run("beyond", as_user(room, "65531", cases_hub.hub(
        room, "ibv_devinfo")))
    if "of-65531" not in beyond.err():
        raise Failure("beyond: not refused by its policy: " + beyond.err())
    stranger = room.run("stranger", as_user(room, "65530", cases_hub.hub(
        room, "ibv_devinfo")))
    if "PORT_ACTIVE" in stranger.out() or not stranger.err():
        raise Failure("stranger: not refused")
    for _ in range(2):
        for crowd in crowds.values():
            crowd.signal(signal.SIGUSR1)
        for uid in USERS:
            cases_hub_crowd.said(crowds[uid], "exchanged", 60)
    for crowd in crowds.values():
        room.finish(crowd)
        if crowd.status != 0:
            raise Failure(f"{crowd.title}: exit status {crowd.status}")


# ---- who dies, who stops ---------------------------------------------------

STOPPED_S = 1  # less than a peer's patience


def fork_pair(service, start, who, run_s):
    program = os.path.join(service.room.build, "tests", "real", "fork_pair")
    return service.room.start(**start(who, [
        program, who, ADDRESSES[NEAR][0], str(run_s)]))


def kills(room, run_s):
    """A client is killed every 50 ms, while a pair of a client and the world
    looks at each byte. A client of another pair is stopped for a while, and
    then the peer at the other end of the wire.
    """
    service = Service(room)
    service.take()
    stays = room.start(**service.client("stays", ["ibv_asyncwatch"]))
    if not wait_until(lambda: cases_rdmacm.has_opened(stays), 20):
        raise Failure("stays: no device")
    time.sleep(1)
    before = cases_hub_churn.held(service.process.pid)
    server = fork_pair(service, service.client, "server", run_s)
    sleeper = cases_hub_churn.rping(room, "sleeper", "-s")
    if not wait_until(lambda: "ready" in server.out(), 20):
        raise Failure("server: not ready")
    cases_hub_churn.listens(sleeper)
    pinger = cases_hub_churn.rping(room, "pinger", "-c")
    client = fork_pair(service, service.peer, "client", run_s)
    if not wait_until(lambda: cases_hub_churn.said(pinger), 20):
        raise Failure("pinger: no ping data")
    crowd = cases_hub_churn.Crowd(room, run_s)
    began = time.monotonic()
    while client.wait(cases_hub_churn.EVERY_MS / 1000) is None:
        at_s = time.monotonic() - began
        for process, stop_s in ((sleeper, run_s / 4), (client, run_s / 2)):
            stops = stop_s < at_s < stop_s + STOPPED_S
            process.signal(signal.SIGSTOP if stops else signal.SIGCONT)
    crowd.end(room)
    room.finish(server)
    for process in (server, client):
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")
    count = cases_hub_churn.said(pinger)
    if not wait_until(lambda: cases_hub_churn.said(pinger) > count + 1000, 10):
        raise Failure("pinger: does not go on")
    for process in (sleeper, pinger):
        process.kill()
    room.note(client.out().strip())
    cases_hub_churn.expect_held(room, service.process.pid, before)


# ---- a container -----------------------------------------------------------

def needed(program, env):
    """The libraries of a program, and the linker."""
    told = subprocess.run(["ldd", program], env=env, capture_output=True,
                          text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", told)


def environment(room, service):
    """What the launcher would set."""
    shown = room.run("print-env", room.roost(
        "run", "--service", service.path, "--print-env", "--", "true"))
    return dict(line.split("=", 1) for line in shown.out().splitlines()
                if "=" in line)


def container(room):
    """A root file system with a program, its libraries, and the socket, that an
    unprivileged user is in.
    """
    service = Service(room)
    env = environment(room, service)
    env = {name: value.strip("'\"") for name, value in env.items()}
    root = f"/tmp/{room.link}-root"
    os.mkdir(root)
    room.defer(shutil.rmtree, root)
    program = shutil.which("ibv_rc_pingpong")
    for path in {program, *needed(program, dict(os.environ, **env))}:
        copy = root + path
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(os.path.realpath(path), copy)
    os.makedirs(root + os.path.dirname(service.path))
    with open(root + service.path, "w", encoding="ascii"):
        pass
    subprocess.run(["mount", "--bind", service.path, root + service.path],
                   check=True)
    room.defer(subprocess.run, ["umount", root + service.path])
    port = room.next_port()
    words = [program, "-g", GIDS[4], "-c", "-p", str(port)]
    server = {"title": "server", "netns": service.wire.netns[NEAR],
              "argv": ["env", "-i", *(f"{name}={value}"
                                      for name, value in env.items()),
                       shutil.which("chroot"), f"--userspec={cases_hub.USER}:"
                       f"{cases_hub.USER}", root, *words]}
    client = service.peer("client", [*words, TCP_ADDRESSES[NEAR]])
    room.pair(server, client, port)
    if " bytes in " not in room.processes[-2].out():
        raise Failure("server: no figures")


# A process that is the first one of a PID namespace.
ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Contained(Service):
    """The daemon is in a PID namespace of its own."""

    def argv(self):
        return [*ALONE, *super().argv()]


def contained(room, service, port):
    """A listener in a namespace, and a client outside, with data between them.
    Returns the listener's pid as we see it, and both.
    """
    words = ["rping", "-v", "-V", "-a", ADDRESSES[NEAR][0], "-p", port]
    server = service.client(f"server{port}", [*words, "-s"])
    server["argv"] = [*ALONE, *server["argv"]]
    server = room.start(**server)
    # The program is a child of process 1.
    if not wait_until(lambda: child_of(child_of(server.pid)), 5):
        raise Failure(f"{server.title}: no namespace: {server.err()}")
    inside = types.SimpleNamespace(pid=child_of(child_of(server.pid)))
    if not wait_until(lambda: cases_rdmacm.has_opened(inside) and
                      cases_rdmacm.is_waiting(inside), 20):
        raise Failure(f"{server.title}: does not listen: {server.err()}")
    client = room.start(**service.client(f"client{port}", [*words, "-c"]))
    if not wait_until(lambda: cases_hub_churn.said(server) > 1000, 20):
        raise Failure(f"{client.title}: no ping data: {client.err()}")
    return inside.pid, server, client


def shown(room, service, daemon_pid):
    """The clients that the daemon shows, as seen from its namespace."""
    inside = ["nsenter", f"--target={daemon_pid}", "--pid"]
    own = "1" if daemon_pid != service.process.pid else str(daemon_pid)
    seen = room.run("ctl", [*inside, *room.roost(
        "ctl", "-j", "--pid", own, "show", "clients")],
        service.wire.netns[NEAR])
    if seen.status != 0:
        raise Failure("ctl: " + seen.err().strip())
    return json.loads(seen.out())["clients"]


def equal_pids(room, make):
    """Two containers whose processes have the same number: one is killed, and
    the other one's connection goes on.
    """
    service = make(room)
    daemon_pid = (child_of(service.process.pid) if make is Contained else
                  service.process.pid)
    pid, first, told = contained(room, service, "7471")
    other_pid, other, goes_on = contained(room, service, "7472")
    rows = shown(room, service, daemon_pid)
    by_pid = {row["pid"]: row for row in rows}
    if make is Service and [by_pid[p]["own_pid"] for p in
                            (pid, other_pid)] != [2, 2]:
        raise Failure(f"processes are shown as {rows}")
    if len({row["client"] for row in rows}) != 4:
        raise Failure(f"clients are shown as {rows}")
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    if told.wait(5) is None:
        raise Failure("the client of the one that was killed is not told")
    room.note(f"told after {1000 * (time.monotonic() - began):.0f} ms")
    count = cases_hub_churn.said(other)
    if not wait_until(lambda: cases_hub_churn.said(other) > count + 1000, 10):
        raise Failure("the other one does not go on")
    if not wait_until(lambda: len(shown(room, service, daemon_pid)) == 2, 5):
        raise Failure("the dead one is shown, or another one is not")
    for process in (first, other, goes_on):
        process.kill()


# ---- perftest --------------------------------------------------------------

# A kernel's port may lose. These send it again, or have one message in flight,
# or do not notice.
QUICK = ("ibv_[rsx]* -e", "ib_*_bw -c [RX]* -x 1", "* --use-srq",
         "ib_*_lat -c U[CD] -x 1", "ib_write_bw -c UC -x 1")
# Of two clients of the daemon the faster one waits, and nothing is lost.
UNRELIABLE = ("ib_*_bw -c U[CD] -x 1", "ib_*_lat -c U[CD] -x 1",
              "ibv_u[cd]* -e")


def matrix(room, both, options, patterns, limit_s):
    """Client and server, one behind the daemon, the other one at the wire or
    behind it, too: both.
    """
    service = Service(room)
    far = service.client if both else service.peer
    room.defer(lambda: [os.remove(path)
                        for path in glob.glob(cases_hub_show.XRC_FILES)])

    def before_program(end, netns):
        return " ".join(["nsenter", f"--net=/run/netns/{netns}",
                         *end["argv"][:-1]])

    runs = room.run("matrix", [
        sys.executable, "-B", os.path.join(TOP, "tests", "real",
                                           "perftest_matrix"),
        "--build", room.build, f"--host={TCP_ADDRESSES[NEAR]}",
        "--server=" + before_program(service.client("", ["x"]),
                                     service.wire.netns[NEAR]),
        "--client=" + before_program(
            far("", ["x"]), service.wire.netns[NEAR if both else FAR]),
        *options, *patterns], limit_s=limit_s)
    lines = runs.out().splitlines()
    if runs.status != 0 or not lines:
        raise Failure("matrix: " + " ".join(
            line for line in lines if line.startswith("not ok")))
    room.note(lines[-1][2:])


CASES = [
    Case("service-listeners", at_service,
         cases_rdmacm.need(cases_hub_churn.listeners)),
    Case("service-mcast-three", at_service,
         cases_rdmacm.need(cases_hub_churn.groups)),
    Case("service-fork", at_service, fork_hub),
    Case("service-told", at_service, cases_hub_crowd.told, "20"),
    Case("service-all-events", at_service, cases_hub_show.cmocka, "events"),
    Case("service-tour", at_service, cases_hub_show.cmocka, "verbs_tour"),
    Case("service-16-pairs", at_service, cases_hub.pairs,
         ["ib_write_bw", "-F", "-x", "1", "-n", "200", "-s", "4096"]),
    Case("service-hostile", at_service, cases_hub_churn.hostile,
         cases_hub_churn.WRITES),
    Case("long-service-hostile", at_service, cases_hub_churn.hostile,
         cases_hub_churn.WRITES_LONG, limit_s=3600),
    Case("service-64-of-three-users", users),
    Case("service-kills", kills, cases_hub_churn.CHURN_S),
    Case("long-service-kills", kills, cases_hub_churn.CHURN_LONG_S,
         limit_s=2 * cases_hub_churn.CHURN_LONG_S),
    Case("service-container", container),
    Case("service-equal-pids", equal_pids, Service),
    Case("service-equal-pids-of-strangers", equal_pids, Contained),
    Case("service-matrix", matrix, False, ["--quick"], QUICK, 170),
    Case("service-matrix-both", matrix, True, ["--quick"], UNRELIABLE, 60),
    Case("long-service-matrix", matrix, False, [],
         ("ibv_[rsx]*", "ib_* -c [RX]*"), 3500, limit_s=3600),
    Case("long-service-matrix-both", matrix, True, [],
         ("ibv_u[cd]*", "ib_* -c U[CD]*"), 3500, limit_s=3600),
]
