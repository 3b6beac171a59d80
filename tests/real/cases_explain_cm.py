# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost explain of connections and listeners in their states, of programs of
rdma_cm (cm_story.c): on a link, at a hub and at a service."""

import json
import os
import re
import signal

import cases_ctl
import cases_hub
import cases_service_show
from harness import Case, Failure
from process import wait_until

WAIT_S = 20
BACKLOG = 3


class Ends:
    """A listener that answers as it is told, and a client with its route."""

    def __init__(self, room, answer):
        self.room = room
        self.port = room.next_port()
        self.dir = room.path("go")
        self.nb = 0
        os.mkdir(self.dir)
        self.program = os.path.join(room.build, "tests", "real", "cm_story")
        self.server = self.start("server", str(self.port), answer, self.dir)
        self.expect_line(self.server, "listening")
        # Of a hub both have the same.
        address = cases_ctl.show(room, self.server, "port")["ports"][0]
        self.address = next(gid["gid"] for gid in address["gids"]
                            if "." in gid["gid"])
        self.client = self.start("client", str(self.port), self.address,
                                 self.dir)
        self.expect_line(self.client, "RDMA_CM_EVENT_ROUTE_RESOLVED")

    def start(self, role, *words):
        return self.room.start(role, self.room.roost(
            "run", "--link", self.room.link, "--", self.program, role, *words))

    @staticmethod
    def expect_line(process, line):
        if not wait_until(lambda: line in process.out().splitlines(), WAIT_S):
            raise Failure(f"{process.title}: {line} did not come: "
                          f"{process.err()}")

    def go(self, name):
        with open(os.path.join(self.dir, name), "w"):
            pass

    def cm(self, process):
        return cases_ctl.show(self.room, process, "cm")

    def id_of(self, process):
        """Of its only connection, as roost ctl shows it."""
        ids = []

        def has_one():
            ids[:] = self.cm(process)["connections"]
            return len(ids) == 1

        if not wait_until(has_one, WAIT_S):
            raise Failure(f"{process.title} has these connections: {ids}")
        return ids[0]["id"]

    def ask(self, process, word, *options):
        """Of this process alone: a number may be one of the other's, too."""
        self.nb += 1
        done = self.room.run(f"explain{self.nb}", self.room.roost(
            "explain", *options, "--pid", str(process.pid), word))
        if done.status != 0 or done.err():
            raise Failure(f"roost explain {word}: exit status {done.status}: "
                          f"{done.err().strip()}")
        return done.out()

    def expect(self, process, word, *patterns):
        """The story has all of these, soon."""
        said = []

        def is_said():
            said[:] = [self.ask(process, word)]
            text = " ".join(said[0].split())
            return all(re.search(p, text) for p in patterns)

        if not wait_until(is_said, WAIT_S, 0.3):
            raise Failure(f"{process.title} says: {said[0]}")
        wide = [line for line in said[0].splitlines() if len(line) > 80]
        if wide:
            raise Failure(f"more than 80 columns: {wide}")


def listener(room):
    """A request waits that the program does not read."""
    ends = Ends(room, "ignore")
    word = str(ends.port)
    ends.expect(ends.server, word, "nothing is known to be wrong",
                rf"Listener on TCP port {ends.port} of roost0, at any address",
                rf"backlog is {BACKLOG}. Requests: 0 came, 0 of them wait")
    ends.go("connect")
    ends.expect(ends.server, word, "Requests: 1 came, 1 of them wait")
    ends.expect(ends.server, ends.id_of(ends.server),
                r"it has waited \d\.\d{3} s for the program, to accept or "
                r"reject the REQ", "in REQ_RCVD, passive side")


def silent(room):
    """A peer that stands still: the REQ, then the DREQ is not answered."""
    ends = Ends(room, "accept")
    os.kill(ends.server.pid, signal.SIGSTOP)
    ends.go("connect")
    word = ends.id_of(ends.client)
    ends.expect(ends.client, word, "in REQ_SENT, active side of a connection "
                rf"with TCP port {ends.port}",
                r"REQ sent by the program; then in REQ_SENT",
                r"The REQ was sent again 0 of 15 times, every 6\.442 s",
                r"waits for a REP, for another \d\.\d{3} s; then it sends "
                "again", r"Its QP is 0x\w+; roost explain 0x\w+ says")
    ends.expect(ends.client, word, "does not answer the REQ, which was sent "
                rf"again 1 of 15 times \(TCP port {ends.port}, counter "
                r"retries_REQ 1\)", "The REQ was sent again 1 of 15 times")
    if ends.cm(ends.client)["cm_counters"]["retries_REQ"] != 1:
        raise Failure("the counter says something else")
    os.kill(ends.server.pid, signal.SIGCONT)
    ends.expect_line(ends.client, "RDMA_CM_EVENT_ESTABLISHED")
    os.kill(ends.server.pid, signal.SIGSTOP)
    ends.go("disconnect")
    ends.expect(ends.client, word, "in DREQ_SENT",
                "the program disconnected; then in DREQ_SENT",
                "The DREQ was sent again 0 of 15 times",
                "waits for a DREP, for another")
    os.kill(ends.server.pid, signal.SIGCONT)
    ends.expect(ends.client, word, "DREP received; then in TIMEWAIT")


def rejected(room):
    ends = Ends(room, "reject")
    ends.go("connect")
    ends.expect_line(ends.client, "RDMA_CM_EVENT_REJECTED")
    word = ends.id_of(ends.client)
    ends.expect(ends.client, word,
                r"\S+ refused the connection, reason 28 \(consumer: the "
                r"program refused, or ended\), \d+\.\d{3} s ago",
                r"s ago: REJ received, reason 28 \(.*\); then in IDLE",
                "waits for nothing")
    ends.expect(ends.server, ends.id_of(ends.server),
                r"the program here refused it, reason 28",
                "REQ received; then in REQ_RCVD",
                "waits for duplicates of the REQ, to answer them, for another")
    document = json.loads(ends.ask(ends.client, word, "--json"))
    one = document[0]["objects"][0]
    if (one["object"], one["id"], one["state"]) != \
            ("cm", int(word, 0), "IDLE") or \
            [(e["event"], e["state"], e.get("reason")) for e in one["events"]
             ] != [("REQ sent by the program", "REQ_SENT", None),
                   ("REJ received", "IDLE", 28)]:
        raise Failure(f"explain --json says {document}")


def ended(room):
    """Established, with its QP to go on with; then disconnected."""
    ends = Ends(room, "accept")
    ends.go("connect")
    ends.expect_line(ends.server, "RDMA_CM_EVENT_ESTABLISHED")
    qpn = re.search(r"qp (0x\w+)", ends.client.out()).group(1)
    word = ends.id_of(ends.client)
    ends.expect(ends.client, word, "nothing is known to be wrong",
                "in ESTABLISHED, active side", "REP received; then in "
                "REP_RCVD", "RTU sent; then in ESTABLISHED",
                r"established for \d+\.\d{3} s",
                rf"Its QP is {qpn}, that of its peer 0x\w+; roost explain "
                f"{qpn} says how it is")
    ends.expect(ends.client, qpn, rf"QP {qpn} of roost0: RC, in RTS")
    passive = ends.id_of(ends.server)
    ends.expect(ends.server, passive, "in ESTABLISHED, passive side",
                "REP sent: the program accepted", "RTU received")
    ends.go("disconnect")
    ends.expect_line(ends.client, "RDMA_CM_EVENT_DISCONNECTED")
    ends.expect(ends.client, word, "the program disconnected; then in "
                "DREQ_SENT", "DREP received; then in TIMEWAIT")
    ends.expect(ends.server, passive, "DREQ received: the peer disconnected; "
                "then in DREQ_RCVD", "then in TIMEWAIT")


def nobody(room):
    """A port without a listener."""
    ends = Ends(room, "accept")
    ends.server.kill()
    done = room.run("unknown", room.roost(
        "explain", "--pid", str(ends.client.pid), str(ends.port)))
    if done.status != 1 or len(done.err().splitlines()) != 1:
        raise Failure(f"exit status {done.status}: {done.err()}")


CASES = [
    Case("explain-cm-listener", listener),
    Case("explain-cm-silent", silent),
    Case("explain-cm-rejected", rejected),
    Case("explain-cm-ended", ended),
    Case("explain-cm-nobody", nobody),
    Case("explain-cm-hub", cases_hub.over_hub, ended),
    Case("explain-cm-hub-rejected", cases_hub.over_hub, rejected),
    Case("explain-cm-service", cases_service_show.at_service, ended),
]
