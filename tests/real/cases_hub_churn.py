# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A hub whose clients come and go, stop, are strangers, say nothing, or write
what they like: those that behave do not notice.
"""

import os
import signal
import socket
import sys
import time

import cases_hub
import cases_mcast
import cases_rdmacm
from harness import Case, Failure, Skip
from leftovers import sockets
from process import wait_until

ADDRESS = cases_hub.ADDRESS
STRANGER = "65533"

# ---- what the hub holds ----------------------------------------------------


def held(pid):
    """Descriptors and mappings; KiB of memory of its own."""
    with open(f"/proc/{pid}/status") as file:
        rows = dict(row.split(":", 1) for row in file)
    with open(f"/proc/{pid}/maps") as file:
        maps = len(file.readlines())
    return len(os.listdir(f"/proc/{pid}/fd")), maps, \
        int(rows["RssAnon"].split()[0])


GROWN_KIB = 4096  # the allocator keeps some


def expect_held(room, pid, before):
    def is_so():
        fds, maps, kib = held(pid)
        return fds == before[0] and maps <= before[1] + 2 and \
            kib <= before[2] + GROWN_KIB

    good = wait_until(is_so, 5, 0.1)
    room.note(f"descriptors, mappings, KiB: {before}, then {held(pid)}")
    if not good:
        raise Failure(f"the hub held {before}, and then {held(pid)}")


# ---- come and go -----------------------------------------------------------

EVERY_MS = 50
CHURN_S = 60
CHURN_LONG_S = 600
STOPPED_S = 3


def fork_pair(room, who, run_s):
    return room.start(who, cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "fork_pair"), who,
        ADDRESS, str(run_s)))


def rping(room, title, *options):
    return room.start(title, cases_hub.hub(room, "rping", *options, "-a",
                                           ADDRESS, "-v", "-V", "-p", "7472"))


def listens(server):
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure(f"{server.title}: does not listen")


class Crowd:
    """Clients that connect and talk in pairs; one is killed every 50 ms, any,
    wherever it is then, and another one takes its place.
    """

    def __init__(self, room, run_s):
        self.run_s = run_s
        self.process = room.start("crowd", cases_hub.hub(
            room, os.path.join(room.build, "tests", "real", "churn"), ADDRESS,
            str(run_s), str(EVERY_MS)))

    def end(self, room):
        room.finish(self.process)
        if self.process.status != 0:
            raise Failure(f"crowd: exit status {self.process.status}")
        room.note(self.process.out().strip())
        killed, connected, _ = map(int, self.process.out().split()[1::2])
        if killed < 1000 * self.run_s / EVERY_MS or \
                connected < self.run_s / 4:
            raise Failure("crowd: too few")


def said(process):
    return os.path.getsize(process.out_path)


def churn(room, run_s):
    """Every byte of a pair is looked at (fork/pair.c), and a client that was
    stopped in its traffic goes on.
    """
    one_client(room)
    pid = cases_hub.hub_pid(room)
    before = held(pid)
    server = fork_pair(room, "server", run_s)
    sleeper = rping(room, "sleeper", "-s")
    if not wait_until(lambda: "ready" in server.out(), 20):
        raise Failure("server: not ready")
    listens(sleeper)
    pinger = rping(room, "pinger", "-c")
    client = fork_pair(room, "client", run_s)
    if not wait_until(lambda: said(pinger) and
                      cases_rdmacm.has_opened(client), 20):
        raise Failure("pinger: no ping data")
    crowd = Crowd(room, run_s)
    sleeper.signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    count = None
    while client.wait(0.1) is None:
        if count is None and time.monotonic() > stopped_at + STOPPED_S:
            count = said(pinger)
            sleeper.signal(signal.SIGCONT)
    crowd.end(room)
    room.finish(server)
    for process in (server, client):
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")
    if not wait_until(lambda: said(pinger) > count + 1000, 10):
        raise Failure("pinger: does not go on")
    sleeper.kill()
    pinger.kill()
    room.note(client.out().strip())
    expect_held(room, pid, before)


# ---- listeners -------------------------------------------------------------

def server_at(room, title, port):
    return room.start(title, cases_hub.hub(room, "rping", "-s", "-P", "-a",
                                           ADDRESS, "-p", str(port)))


def reach(room, title, port):
    client = room.run(title, cases_hub.hub(room, "rping", "-c", "-a", ADDRESS,
                                           "-V", "-C", "3", "-p", str(port)))
    if client.status != 0 and not cases_rdmacm.reads_too_late(client):
        raise Failure(f"{title}: exit status {client.status}")


def listeners(room):
    """A port number is one process's, until that has ended."""
    room.defer(cases_hub.gone)
    first = server_at(room, "first", 7600)
    listens(first)
    second = server_at(room, "second", 7600)
    room.finish(second)
    said = second.out() + second.err()
    if second.status == 0 or "Address already in use" not in said:
        raise Failure(f"second: exit status {second.status}")
    other = server_at(room, "other", 7601)
    listens(other)
    reach(room, "to-first", 7600)
    reach(room, "to-other", 7601)
    first.kill()
    third = server_at(room, "third", 7600)
    listens(third)
    reach(room, "to-third", 7600)
    reach(room, "to-other-again", 7601)


# ---- groups ----------------------------------------------------------------

def groups(room):
    """Three processes: two hear what the third one sends."""
    room.defer(cases_hub.gone)
    line = ["mckey", "-m", "239.1.2.3", "-b", ADDRESS, "-c", "1", "-C", "10"]
    hearers = [room.start(f"hearer{i}", cases_hub.hub(room, *line))
               for i in range(2)]
    for hearer in hearers:
        listens_in(hearer)
    sender = room.run("sender", cases_hub.hub(room, *line, "-s"))
    for process in (sender, *hearers):
        room.finish(process, 20)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")


def listens_in(hearer):
    """mckey polls as soon as it is in the group, and prints before."""
    if not wait_until(lambda: cases_rdmacm.has_opened(hearer), 20):
        raise Failure(f"{hearer.title}: no device")
    time.sleep(1)


def both_ends(room, family):
    """Each end hears itself and the other one, until it has left."""
    cases_hub.over_hub(room, cases_mcast.link, family)


# ---- strangers, and those who say nothing ----------------------------------

# Another user's process, at the door: it is sent away without an answer.
KNOCK = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(10)
s.connect("\\0" + sys.argv[1])
try:
    if len(sys.argv) > 2:
        s.send(bytes(64))
    sys.exit(len(s.recv(4096)) != 0)
except ConnectionError:
    sys.exit(0)
"""


def good_pair(room, title):
    """Two honest clients, beside whoever else is there."""
    port = room.next_port()
    ends = [{"title": title + end,
             "argv": cases_hub.hub(room, "ibv_rc_pingpong", "-g", "1", "-c",
                                   "-n", "100", "-p", str(port), *host)}
            for end, host in (("-server", []), ("-client", ["localhost"]))]
    room.pair(*ends, port, 20)


def one_client(room):
    """So that there is a hub."""
    room.defer(cases_hub.gone)
    server = cases_hub.server_of(room, "stays")
    if not wait_until(lambda: cases_hub.has_qp(server), 20):
        raise Failure("stays: no QP")


def other_user(room):
    if os.geteuid() != 0:
        raise Skip("only root can be another user")
    hub_of(room, 64)
    # As many as such a hub keeps, and the launcher's: a stranger takes
    # nobody's place.
    lines = [silent_line(room) for _ in range(12)]
    one_client(room)
    lines += [silent_line(room) for _ in range(3)]
    knock_twice(room)
    for line in lines:
        try:
            line.recv(1)
        except BlockingIOError:
            continue
        raise Failure("a stranger took the place of a session")
    good_pair(room, "pair")


def knock_twice(room):
    for i, words in enumerate(([], ["speaks"])):
        knock = room.run(f"stranger{i}", [
            "setpriv", "--reuid", STRANGER, "--regid", STRANGER,
            "--clear-groups", sys.executable, "-c", KNOCK,
            cases_hub.hub_name()[1:], *words])
        if knock.status != 0:
            raise Failure(f"{knock.title}: was not sent away")


def has_connected(line):
    """A full backlog is waited for."""
    line.setblocking(False)
    return line.connect_ex("\0" + cases_hub.hub_name()[1:]) == 0


def hub_of(room, nb):
    """A hub with so many descriptors."""
    room.start("roostd", ["prlimit", f"--nofile={nb}",
                          os.path.join(room.build, "apps", "roostd", "roostd"),
                          "--hub"])
    if not wait_until(lambda: cases_hub.hub_name() in sockets(), 20):
        raise Failure("roostd: does not listen")


def silent_line(room):
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    room.defer(line.close)
    if not wait_until(lambda: has_connected(line), 5):
        raise Failure("the hub takes no more connections")
    return line


HUB_FDS = 256
SILENT = 500


def silent(room):
    """Many connections of a process that says nothing."""
    hub_of(room, HUB_FDS)
    one_client(room)
    for _ in range(SILENT):
        silent_line(room)
    good_pair(room, "pair")


UNKNOWN = 20  # more than of one process


def unknown(room):
    """A hub in a PID namespace of its own sees no process of ours: its clients
    are not taken for one.
    """
    # The end of the first process of a namespace ends those, too, that remove
    # the picture of the hub: it has some seconds left.
    daemon = room.start("roostd", [
        "unshare", "--pid", "--fork", "--kill-child", "sh", "-c",
        '"$0" --hub; sleep 5',
        os.path.join(room.build, "apps", "roostd", "roostd")])
    if not wait_until(lambda: cases_hub.hub_name() in sockets(), 20):
        raise Failure("roostd: does not listen")
    lines = [silent_line(room) for _ in range(UNKNOWN)]
    good_pair(room, "pair")
    for line in lines:
        try:
            line.recv(1)
            raise Failure("one of many processes was sent away")
        except BlockingIOError:
            line.close()
    cases_hub.gone()
    room.finish(daemon)


# ---- a hostile client ------------------------------------------------------

# So many writes into its memory, its session and its doorbell.
WRITES = 100_000_000
WRITES_LONG = 1_000_000_000
# While it writes, honest pairs may take so many times as long as beside a
# program that takes as much of the processors.
SLOWER_MAX = 10


def exchange(room, title):
    """Two pairs, each byte looked at. Returns seconds."""
    process = room.run(title, cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "crowd"), "-s", "4096",
        "-n", "1000", "4"))
    if process.status != 0:
        raise Failure(f"{title}: exit status {process.status}")
    return int(process.out().split(" in ")[1].split()[0]) / 1e6


def hostile(room, writes):
    one_client(room)
    pid = cases_hub.hub_pid(room)
    before = held(pid)
    spinner = room.start("spinner", ["sh", "-c", "while :; do :; done"])
    usual_s = max(exchange(room, f"beside-spinner{i}") for i in range(2))
    spinner.kill()
    seed = int.from_bytes(os.urandom(4), "little")
    writer = room.start("hostile", [
        os.path.join(room.build, "tests", "real", "hostile"), room.service,
        str(writes), str(seed)])
    took_s = []
    while writer.wait(0) is None:
        took_s.append(exchange(room, f"honest{len(took_s)}"))
    room.note(f"seed {seed}: {writer.out().strip()}")
    if writer.status != 0:
        raise Failure(f"hostile: exit status {writer.status}")
    slower = max(took_s) / usual_s
    room.note(f"{len(took_s)} times two pairs, at the most {slower:.1f} times "
              "as slow as beside a program that spins")
    if cases_hub.hub_pid(room) != pid:
        raise Failure("another hub is there")
    expect_held(room, pid, before)
    if slower > SLOWER_MAX:
        raise Failure(f"honest pairs are {slower:.1f} times as slow")


# ---- idle ------------------------------------------------------------------

IDLE_S = 5
CORE_PART = 0.01
WAKES_PER_S = 20


def spent(pid):
    """Seconds of processor time, and how often it slept."""
    with open(f"/proc/{pid}/schedstat") as file:
        ns = int(file.read().split()[0])
    with open(f"/proc/{pid}/status") as file:
        rows = dict(row.split(":", 1) for row in file)
    return ns / 1e9, int(rows["voluntary_ctxt_switches"])


def idle(room):
    """Many clients that do nothing cost nothing."""
    cases_hub.attached(room, False)
    pid = cases_hub.hub_pid(room)
    time.sleep(1)
    before = spent(pid)
    time.sleep(IDLE_S)
    after = spent(pid)
    part = (after[0] - before[0]) / IDLE_S
    wakes = (after[1] - before[1]) / IDLE_S
    room.note(f"{100 * part:.2f} % of a core, {wakes:.1f} wake-ups a second")
    if part > CORE_PART or wakes > WAKES_PER_S:
        raise Failure(f"the hub uses {100 * part:.1f} % of a core and wakes "
                      f"{wakes:.0f} times a second")


CASES = [
    Case("hub-churn", churn, CHURN_S),
    Case("long-hub-churn", churn, CHURN_LONG_S, limit_s=2 * CHURN_LONG_S),
    Case("hub-hostile", hostile, WRITES),
    Case("long-hub-hostile", hostile, WRITES_LONG, limit_s=3600),
    Case("hub-listeners", cases_rdmacm.need(listeners)),
    Case("hub-mcast-three", cases_rdmacm.need(groups)),
    Case("hub-mcast-ipv4", both_ends, 4),
    Case("hub-mcast-ipv6", both_ends, 6),
    Case("hub-other-user", other_user),
    Case("hub-silent", silent),
    Case("hub-in-a-pid-namespace", unknown),
    Case("hub-idle", idle),
]
