# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The daemon is killed and started again: connections live in its clients."""

import os
import random
import re
import shutil
import socket
import tempfile
import time

import cases_hub
import cases_rdmacm
from harness import Case, Failure, Skip
from leftovers import sockets
from process import wait_until
from service import ADDRESSES, FAR, GIDS, NEAR, Service

AWAY_S = 0.15       # of the daemon, at the most, before it is started
BETWEEN_S = 0.5
PATIENCE_S = 10     # of a client
GRACE_S = 2         # of a daemon that waits for clients of before
# Of a restart that costs no completion: the local ACK timeout of 67 ms, of
# which a peer waits for eight, and how long the daemon may be away: a timeout
# less than they are, and one more for the clients to come back.
ACK_TIMEOUT = "14"
SHORT_S = 6 * 0.067
OUTAGE_S = 4        # of traffic
OUTAGE_TRIES = 8
BACK_S = 0.2        # until the traffic goes on, after the daemon listens


class Hub:
    """A hub that keeps its state in a folder of the case."""

    address = cases_hub.ADDRESS

    def __init__(self, room):
        self.room = room
        folder = tempfile.mkdtemp(prefix="roost-")
        room.defer(shutil.rmtree, folder)
        room.defer(cases_hub.gone)
        room.env = dict(room.env, XDG_RUNTIME_DIR=folder)
        self.number = 0
        self.process = self.start()

    def start(self):
        self.number += 1
        process = self.room.start(
            f"roostd{self.number}",
            [os.path.join(self.room.build, "apps", "roostd", "roostd"),
             "--hub"])
        if not wait_until(lambda: cases_hub.hub_name() in sockets(), 20,
                          0.005):
            raise Failure(f"roostd{self.number}: does not listen")
        return process

    def client(self, title, words):
        return {"title": title, "argv": cases_hub.hub(self.room, *words)}


class Daemon(Service):
    """roostd with a port of af_packet."""

    address = ADDRESSES[NEAR][0]
    number = 1

    def start(self, title="roostd"):
        if title == "roostd" and self.number > 1:
            title = f"roostd{self.number}"
        self.number += 1
        process = super().start(title)
        if not wait_until(self.listens, 20, 0.005):
            raise Failure(f"{title}: does not listen")
        return process

    def listens(self):
        """The socket of one that was killed is there, too."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            return line.connect_ex(self.path) == 0


class Patient(Daemon):
    """Closing the sockets of af_packet takes the kernel seconds where others
    keep all processors busy.
    """

    def __init__(self, room):
        super().__init__(room, sections=["[service]", "patience = 60"])


def kill(daemon):
    daemon.process.kill()
    if daemon.process.err():
        raise Failure(f"{daemon.process.title}: {daemon.process.err()}")


def restart(daemon):
    """Returns how long it was away."""
    began = time.monotonic()
    kill(daemon)
    time.sleep(random.uniform(0, AWAY_S))
    daemon.process = daemon.start()
    return time.monotonic() - began


# ---- traffic ---------------------------------------------------------------

def said(process):
    return os.path.getsize(process.out_path)


def rping(room, server, client, address, port="7471"):
    """A pair that looks at each byte, until it is killed."""
    words = ["rping", "-a", address, "-v", "-V", "-p", port]
    server = room.start(**server("rping-server", [*words, "-s"]))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure(f"{server.title}: does not listen")
    client = room.start(**client("rping-client", [*words, "-c"]))
    if not wait_until(lambda: said(client) > 1000, 20):
        raise Failure(f"{client.title}: no ping data")
    return [server, client]


def checked(room, server, client, host, count="1000000000"):
    """The same without rdma_cm."""
    words = ["stdbuf", "-oL", "ibv_rc_pingpong", "-g", GIDS[4], "-c", "-n",
             count, "-s", "20000", "-p", str(room.next_port())]
    return room.pair_start(server("chk-server", words),
                           client("chk-client", [*words, host]),
                           int(words[-1]))


def perftest(room, client, seconds):
    """For so long, with many requests in flight. No more pairs: they spin, and
    the daemon needs a processor to start.
    """
    pairs = []
    for name, words in (("write", ["ib_write_bw", "-q", "4"]),
                        ("read", ["ib_read_bw"])):
        port = room.next_port()
        words = [*words, "-F", "-x", GIDS[4], "-D", str(seconds), "-s",
                 "16384", "-p", str(port)]
        pairs += room.pair_start(client(name + "-server", words),
                                 client(name + "-client",
                                        [*words, "localhost"]), port)
    return pairs


def expect_unharmed(processes):
    for process in processes:
        if process.wait(0) not in (None, 0):
            raise Failure(f"{process.title}: exit status {process.status}")
        if re.search("roost:|error|fail", process.err(), re.IGNORECASE):
            raise Failure(f"{process.title}: said {process.err()}")


def expect_progress(process):
    before = said(process)
    if not wait_until(lambda: said(process) > before + 100, 20):
        raise Failure(f"{process.title}: does not go on")


def qpn_of(process):
    if not wait_until(lambda: "QPN 0x" in process.out(), 20):
        raise Failure(f"{process.title}: no QPN: {process.err()}")
    return process.out().split("QPN 0x")[1][:6]


def waiting(room, daemon, title):
    """A program with a QP, and its number."""
    process = room.start(**daemon.client(title, [
        "stdbuf", "-oL", "ibv_rc_pingpong", "-g", GIDS[4], "-p",
        str(room.next_port())]))
    return process, qpn_of(process)


# ---- cases -----------------------------------------------------------------

def expect_claimed(room, daemon):
    """The port number is the server's still."""
    second = room.run(**daemon.client("second", [
        "rping", "-s", "-a", daemon.address, "-p", "7471"]))
    if second.status == 0 or "bind" not in second.err() + second.out():
        raise Failure(f"second: binds, too: {second.err()}{second.out()}")


def expect_other_numbers(room, daemon, qpns):
    """Who comes now gets numbers that nobody has."""
    new = [waiting(room, daemon, f"new{i}") for i in range(4)]
    for process, qpn in new:
        if qpn in qpns:
            raise Failure(f"{process.title}: has QPN {qpn} of another one")
        qpns.add(qpn)
        process.kill()


def traffic(room, make, times):
    daemon = make(room)
    pairs = rping(room, daemon.client, daemon.client, daemon.address)
    sleepers = [waiting(room, daemon, f"sleeper{i}") for i in range(4)]
    pairs += perftest(room, daemon.client, int(times * BETWEEN_S) + 4)
    time.sleep(2)
    expect_unharmed(pairs)
    away = []
    for _ in range(times):
        away.append(restart(daemon))
        time.sleep(BETWEEN_S)
        expect_unharmed(pairs)
        expect_progress(pairs[1])
    qpns = {qpn for _, qpn in sleepers}
    if len(qpns) != len(sleepers):
        raise Failure("two have one QPN")
    expect_claimed(room, daemon)
    expect_other_numbers(room, daemon, qpns)
    for process in pairs[2:]:
        room.finish(process, 60)
    expect_unharmed(pairs + [process for process, _ in sleepers])
    room.note(f"away for {1000 * sum(away) / times:.0f} ms, "
              f"{1000 * max(away):.0f} ms at the most")


def checked_data(room, make, run_s):
    """Each byte of a pair is looked at (fork/pair.c); of roostd's pair, one is
    at the other end of the wire, so that all of them pass the daemon.
    """
    daemon = make(room)
    words = [os.path.join(room.build, "tests", "real", "fork_pair")]
    server = room.start(**daemon.client("server", [*words, "server",
                                                   daemon.address]))
    if not wait_until(lambda: "ready" in server.out(), 20):
        raise Failure("server: not ready")
    far = daemon.client if make is Hub else daemon.peer
    client = room.start(**far("client", [*words, "client", daemon.address,
                                         str(run_s)]))
    away = []
    while client.wait(BETWEEN_S) is None:
        away.append(restart(daemon))
    room.finish(server)
    expect_unharmed([server, client])
    room.note(f"{len(away)} restarts; {client.out().strip()}")
    if len(away) < run_s / 5:
        raise Failure("too few restarts")


def end_well(daemon):
    daemon.process.signal(15)
    daemon.room.finish(daemon.process, 20)


def outage_of(daemon, number, end):
    """One restart under traffic of both ways, between a client and a peer that
    has no daemon and whose timers run, with usual timeouts. Returns how long
    the daemon was away, how long the traffic stood still, and the programs.
    """
    room = daemon.room
    words = [os.path.join(room.build, "tests", "real", "fork_pair")]
    pair = [room.start(**daemon.client(f"server{number}", [
        *words, "server", daemon.address, "1", ACK_TIMEOUT]))]
    if not wait_until(lambda: "ready" in pair[0].out(), 20):
        raise Failure("server: not ready")
    pair.append(room.start(**daemon.peer(f"client{number}", [
        *words, "client", daemon.address, str(OUTAGE_S), ACK_TIMEOUT])))
    if not wait_until(lambda: cases_rdmacm.has_opened(pair[1]), 20):
        raise Failure("client: does not open the device")
    time.sleep(OUTAGE_S / 2)
    began = time.monotonic()
    end(daemon)
    daemon.process = daemon.start()
    away_s = time.monotonic() - began
    pair[1].wait(30)
    if pair[1].status != 0 or pair[0].wait(5) is None:
        pair[0].kill()
    silent = re.search(r"longest wait (\d+) ms", pair[1].out())
    return away_s, int(silent[1]) / 1000 if silent else None, pair


def outage(room, end):
    """A restart costs no completion where timeout and retries of the peer allow
    as much. One that a busy machine makes longer proves nothing.
    """
    daemon = Daemon(room)
    for number in range(OUTAGE_TRIES):
        away_s, silent_s, pair = outage_of(daemon, number, end)
        room.note(f"away for {1000 * away_s:.0f} ms; the traffic " +
                  (f"stood still for {1000 * silent_s:.0f} ms"
                   if silent_s is not None else "ended"))
        if away_s > SHORT_S:
            continue
        expect_unharmed(pair)
        if silent_s < away_s / 3 or silent_s > away_s + BACK_S:
            raise Failure(f"the traffic stood still for {silent_s} s, the "
                          f"daemon was away for {away_s} s")
        return
    raise Skip("the machine is too slow for a restart in "
               f"{1000 * SHORT_S:.0f} ms")


def world(room, server_near, times):
    """A client of the daemon, and a peer that is none."""
    daemon = Patient(room)
    pair = (rping(room, daemon.client, daemon.peer, daemon.address)
            if server_near else
            rping(room, daemon.peer, daemon.client, ADDRESSES[FAR][0]))
    away = []
    for _ in range(times):
        away.append(restart(daemon))
        time.sleep(BETWEEN_S)
        expect_unharmed(pair)
        expect_progress(pair[1])
    room.note(f"away for {1000 * sum(away) / times:.0f} ms, "
              f"{1000 * max(away):.0f} ms at the most")


def terminated(room, make):
    """An upgrade: the daemon is ended as it should be."""
    daemon = make(room)
    pairs = rping(room, daemon.client, daemon.client, daemon.address)
    pairs += checked(room, daemon.client, daemon.client, "localhost")
    time.sleep(1)
    for _ in range(5):
        daemon.process.signal(15)
        room.finish(daemon.process, 20)
        if daemon.process.status != 0:
            raise Failure(f"{daemon.process.title}: exit status "
                          f"{daemon.process.status}")
        daemon.process = daemon.start()
        time.sleep(BETWEEN_S)
        expect_unharmed(pairs)
        expect_progress(pairs[1])


def dead(room, make):
    """A client dies while the daemon is away. Its peer, which has requests in
    flight at all times, learns it by its retries, and nobody has its numbers.
    """
    daemon = make(room)
    port = room.next_port()
    words = ["ib_write_bw", "-F", "-x", GIDS[4], "-D", "100", "-s", "16384",
             "-p", str(port)]
    server, client = room.pair_start(
        daemon.client("server", words),
        daemon.client("client", [*words, "localhost"]), port)
    qpns = {qpn_of(waiting(room, daemon, "other")[0])}
    time.sleep(1)
    kill(daemon)
    server.kill()
    daemon.process = daemon.start()
    began = time.monotonic()
    seen = room.run(**daemon.client("devinfo", ["ibv_devinfo"]))
    took = time.monotonic() - began
    if seen.status != 0 or "PORT_ACTIVE" not in seen.out():
        raise Failure(f"devinfo: is not served: {seen.err()}")
    room.note(f"a new client waited for {took:.1f} s")
    if took > GRACE_S + 3:
        raise Failure("the grace does not end")
    room.finish(client, 20)
    if client.status == 0:
        raise Failure("client: ends well without its peer")
    expect_other_numbers(room, daemon, qpns)


def patience(room, make):
    """Nobody starts it again."""
    daemon = make(room)
    watch = room.start(**daemon.client("watch", ["stdbuf", "-oL",
                                                 "ibv_asyncwatch"]))
    if not wait_until(lambda: "async event FD" in watch.out(), 20):
        raise Failure(f"watch: does not open: {watch.err()}")
    kill(daemon)
    began = time.monotonic()
    if not wait_until(lambda: "DEVICE_FATAL" in watch.out(),
                      PATIENCE_S + 10):
        raise Failure(f"watch: no DEVICE_FATAL: {watch.out()}{watch.err()}")
    took = time.monotonic() - began
    events = [line for line in watch.out().splitlines()
              if "event_type" in line]
    if len(events) != 2 or "PORT_ERR" not in events[0]:
        raise Failure(f"watch: other events: {events}")
    if took < PATIENCE_S - 1:
        raise Failure(f"watch: gives up after {took:.1f} s")
    if len([line for line in watch.err().splitlines()
            if "roost:" in line]) != 1:
        raise Failure(f"watch: not one line: {watch.err()}")


TIMES = 20
LONG_TIMES = 100
CHECKED_S = 20
CHECKED_LONG_S = 200
MAKERS = (("hub", Hub), ("service", Daemon))
BUSY = (("hub", Hub), ("service", Patient))
# A daemon that starts beside spinning programs of two cases takes seconds.
CASES = [Case(f"restart-traffic-{name}", traffic, make, TIMES, alone=True)
         for name, make in BUSY]
CASES += [Case(f"restart-{case}-{name}", run, make, alone=case != "patience")
          for name, make in MAKERS
          for case, run in (("dead", dead), ("patience", patience))]
CASES += [
    *(Case(f"restart-terminated-{name}", terminated, make, alone=True)
      for name, make in BUSY),
    *(Case(f"restart-checked-{name}", checked_data, make, CHECKED_S,
           alone=True) for name, make in BUSY),
    Case("restart-outage-killed", outage, kill, alone=True),
    Case("restart-outage-terminated", outage, end_well, alone=True),
    Case("restart-world-in", world, True, TIMES, alone=True),
    Case("restart-world-out", world, False, TIMES, alone=True),
    *(Case(f"long-restart-traffic-{name}", traffic, make, LONG_TIMES,
           limit_s=600, alone=True) for name, make in BUSY),
    *(Case(f"long-restart-checked-{name}", checked_data, make, CHECKED_LONG_S,
           limit_s=600, alone=True) for name, make in BUSY),
    Case("long-restart-world", world, True, LONG_TIMES, limit_s=600),
]
