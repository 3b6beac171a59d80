# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost explain names the true cause, at both ends, in each way to fail; so do
the line that ROOST_LOG=warn prints and the file about a failure."""

import json
import os
import re

from cases_ctl import ctl
from harness import Case, Failure
from process import wait_until

WAIT_S = 20


class Pair:
    """Two processes with a QP each (explain.c), ready to fail."""

    def __init__(self, room, case, requester_options=()):
        self.room = room
        self.dir = room.path(f"cards-{case}")
        os.mkdir(self.dir)
        program = os.path.join(room.build, "tests", "real", "explain")
        self.ends = {}
        for name, options in (("requester", requester_options),
                              ("responder", ())):
            self.ends[name] = room.start(
                f"{case}-{name}",
                room.roost("run", "--link", room.link, *options, "--",
                           program, case, name, self.dir))
        for end in self.ends.values():
            if not wait_until(lambda end=end: "ready 0x" in end.out(), WAIT_S):
                raise Failure(f"{end.title} is not ready: {end.err()}")
        self.qpns = {name: re.search(r"ready (0x\w+)", end.out()).group(1)
                     for name, end in self.ends.items()}

    def go(self, waits=True):
        """The requester posts; wait until it has a completion."""
        with open(os.path.join(self.dir, "go"), "w"):
            pass
        if waits and not wait_until(
                lambda: "status " in self.ends["requester"].out(), WAIT_S):
            raise Failure("the request does not complete")

    def explain(self, name):
        """What roost explain says of the QP, as one line."""
        self.room.explained = getattr(self.room, "explained", 0) + 1
        done = self.room.run(f"explain{self.room.explained}",
                             self.room.roost("explain", self.qpns[name]))
        if done.status != 0 or done.err():
            raise Failure(f"roost explain: exit status {done.status}: "
                          f"{done.err().strip()}")
        wide = [line for line in done.out().splitlines() if len(line) > 80]
        if wide:
            raise Failure(f"more than 80 columns: {wide}")
        if f"Process {self.ends[name].pid} (explain)" not in done.out():
            raise Failure(f"not of its process: {done.out()}")
        old = re.findall(r"\d (?:min|h) ago", done.out())
        if old:
            raise Failure(f"older than the process: {old}")
        return " ".join(done.out().split())

    def expect(self, name, *patterns):
        """The story of an end has these, soon."""
        said = []

        def is_said():
            said[:] = [self.explain(name)]
            return all(re.search(p, said[0]) for p in patterns)

        if not wait_until(is_said, WAIT_S, 0.3):
            raise Failure(f"the {name} says: {said[0]}")

    def expect_of_device(self, name, pattern):
        """The story of an end's device has this."""
        done = self.room.run(f"device-{name}", self.room.roost(
            "explain", "--pid", str(self.ends[name].pid), "roost0"))
        said = " ".join(done.out().split())
        if not re.search(pattern, said):
            raise Failure(f"the device of the {name} says: {said}")

    def kill(self):
        for end in self.ends.values():
            end.kill()


def wrong_key(room):
    pair = Pair(room, "key")
    pair.go()
    pair.expect("requester", r"RC_WRITE_ONLY of PSN 0: NAK \(remote access "
                r"error\); rkey 0x12345678, 100 bytes",
                r"ERR, by itself: peer_remote_access",
                r"The last NAK that it received: NAK \(remote access error\)",
                r"INIT, by the program.*RTR, by the program.*RTS, by the")
    pair.expect("responder", r"refused: no region or window here has or had "
                r"this key \(key 0x12345678", "The last NAK that it sent")
    # Its receives, flushed, are more than its CQ holds.
    pair.expect_of_device(
        "requester", r"1 of its QPs failed, first QP "
        rf"{pair.qpns['requester']}: the peer \S+ QP \S+ refused the "
        r"RC_WRITE_ONLY of PSN 0: NAK \(remote access error\); rkey 0x12345678")


def no_receive(room):
    pair = Pair(room, "receive")
    pair.go()
    pair.expect("requester", r"had no receive posted for RC_SEND_ONLY",
                r"RNR NAK 2 times in a row",
                r"RNR retries left: 0 of 1")
    pair.expect("responder", r"no receive is posted, and the peer .* sends "
                r"\(counter rnr_naks_sent \d+\)")


def silent_peer(room):
    pair = Pair(room, "silent")
    pair.go()
    pair.expect("requester", r"did not answer 3 tries of RC_SEND_ONLY, each "
                r"for 67\.1 ms, and never did before; counter timeouts 3; no "
                r"packet that names this QP was dropped here",
                r"local ACK timeout, PSN 0; 3 times", "Retries left: 0 of 2")
    pair.expect("responder", r"packets for this QP were dropped here, the "
                r"last .* s ago: the QP did not receive in its state",
                r"It waits for the program, to move it to RTR")


def path_mtu(room):
    pair = Pair(room, "mtu")
    pair.go()
    pair.expect("requester", r"NAK \(invalid request\); its receive is too "
                r"short, or the path MTU there is not 1024")
    pair.expect("responder", r"does not fit the path MTU of this QP \(1024 "
                r"bytes came, the path MTU here is 512\)")


def pkey(room):
    pair = Pair(room, "plain")
    ctl(room, pair.ends["responder"], "pkey", "0", "0x8123")
    pair.go()
    pair.expect("requester", r"did not answer 3 tries")
    pair.expect("responder", r"their P_Key does not match that of the QP "
                r"\(P_Key 0xffff came, 0x8123 is here\); counter drops pkey")


def qkey(room):
    pair = Pair(room, "qkey")
    pair.go()
    pair.expect("responder", r"their Q_Key is not that of the QP \(Q_Key "
                r"0x11111112 came, 0x11111111 is here\); counter drops qkey")
    pair.expect("requester", r"nothing is known to be wrong", r"UD, in RTS")


def port_down(room):
    pair = Pair(room, "plain")
    ctl(room, pair.ends["requester"], "link", "down")
    pair.go()
    # It is up again when somebody asks.
    ctl(room, pair.ends["requester"], "link", "up")
    pair.expect("requester", r"port 1 of roost0 was down, so that nothing of "
                r"this QP reached its peer", r"port 1 was down at a timeout")


def icrc(room):
    """The frames of an end have none."""
    pair = Pair(room, "plain", ("--debug-no-icrc",))
    pair.go()
    pair.expect("requester", r"did not answer 3 tries")
    pair.expect("responder", r"\d+ packets for this QP were dropped here, "
                r"the last .* s ago: their ICRC was wrong: they were broken "
                r"on the way.*; counter drops icrc")
    pair.expect_of_device(
        "responder", r"packets were dropped \(icrc\), the last .* from "
        rf"198\.18\.\S+ for QP {pair.qpns['responder']}: their ICRC was wrong")


def overrun(room):
    pair = Pair(room, "overrun")
    pair.go()
    pair.expect("responder", r"CQ \d+, of its \w+.*, was full when a "
                r"completion was added \(CQ overrun\)",
                r"ERR, by itself: cq_overrun")
    pair.expect("requester", r"in ERR")


def window(room, case):
    pair = Pair(room, case)
    pair.go()
    pair.expect("responder", rf"refused: the memory window of this key was "
                rf"{case} \(key 0x")
    pair.expect("requester", r"NAK \(remote access error\); rkey 0x.*there "
                r"the key is wrong or was revoked")


# What each end says, by the case of explain.c.
SAYINGS = {
    "reset": (r"did not answer 3 tries .* no packet that names this QP was "
              "dropped here",
              r"3 packets for this QP were dropped here, .* the QP did not "
              r"receive in its state; counter drops qp_state .* in RESET"),
    "short": (r"refused the RC_SEND_ONLY of PSN 0: NAK \(invalid request\); "
              "its receive is too short, or the path MTU there is not 1024",
              "refused: the message is longer than the posted receive"),
    "unfit": (r"NAK \(remote operational error\)",
              "refused: no region or window here has or had this key "
              r"\(key 0x12345678, 8192 bytes"),
    "forbidden": (r"RC_WRITE_ONLY of PSN 0: NAK \(invalid request\); the "
                  "access flags of the QP there do not permit it, or",
                  "refused: the QP's access flags do not permit the peer's "
                  "request"),
    "read-only": (r"NAK \(remote access error\); rkey 0x.*, 100 bytes",
                  "refused: the key does not grant this kind of access"),
    "range": (r"NAK \(remote access error\); rkey 0x.*, 100 bytes",
              "refused: the range is outside of the memory of this key"),
    "misaligned": (r"RC_FETCH_ADD of PSN 0: NAK \(invalid request\); the "
                   r"remote address 0x\w+4 is not a multiple of 8",
                   "refused: an atomic is not aligned"),
    "no-reads": (r"RC_READ_REQ of PSN 0: NAK \(invalid request\); the access "
                 "flags .* or its max_dest_rd_atomic is smaller than "
                 "max_rd_atomic here",
                 "refused: more READs and atomics in flight than "
                 "max_dest_rd_atomic"),
    "lkey": (r"RC_SEND_ONLY of PSN 0 failed: no region or window here has or "
             r"had this key \(key 0x12345678, 100 bytes",
             "nothing is known to be wrong"),
    "psn-before": ("did not answer 3 tries",
                   r"no packet of the peer \S+ QP 0x\w+ had the PSN that is "
                   r"expected, 100: 3 had earlier ones, .* 0 later ones"),
    "psn-behind": ("did not answer 3 tries",
                   r"had the PSN that is expected, 16776960: \d had earlier "
                   r"ones, .* 3 later ones"),
    "once": (r"did not answer 1 try of RC_SEND_ONLY, each for 67\.1 ms, and "
             r"never did before; counter timeouts 1; retry_cnt is 0, so that "
             "one lost packet is enough",
             "the QP did not receive in its state"),
}


def sayings(room, case):
    pair = Pair(room, case)
    pair.go()
    for name, pattern in zip(("requester", "responder"), SAYINGS[case]):
        pair.expect(name, pattern)


def gone(room):
    """The responder's QP was destroyed: its device knows."""
    pair = Pair(room, "gone")
    pair.go()
    pair.expect("requester", r"did not answer 3 tries")
    pair.expect_of_device(
        "responder", r"packets from \S+ for QP "
        rf"{pair.qpns['responder']} were dropped: no QP here has the number")
    pair.expect_of_device(
        "requester", r"1 of its QPs failed, first .* QP "
        rf"{pair.qpns['requester']} is in ERR: the peer")


def told_at_once(room):
    """The line and the file, of the end that asks for them alone."""
    folder = room.path("failures")
    os.mkdir(folder)
    pair = Pair(room, "receive", ("--log", "warn", "--failure-dir", folder))
    pair.go()
    requester = pair.ends["requester"]
    if not wait_until(lambda: requester.err() and os.listdir(folder), WAIT_S):
        raise Failure(f"no line, or no file: {requester.err()}")
    line = (rf"roost: warning: QP {pair.qpns['requester']} of roost0 went to "
            r"ERR: the peer \S+ QP 0x\w+ had no receive posted for "
            r"RC_SEND_ONLY of PSN 0: .*\n")
    if not re.fullmatch(line, requester.err()):
        raise Failure(f"the line is: {requester.err()}")
    name = (rf"roost-{requester.pid}-0-qp-{pair.qpns['requester']}\.txt")
    files = os.listdir(folder)
    if len(files) != 1 or not re.fullmatch(name, files[0]):
        raise Failure(f"files: {files}")
    path = os.path.join(folder, files[0])
    if not wait_until(lambda: "Counters: " in open_text(path), WAIT_S):
        raise Failure(f"the file says: {open_text(path)}")
    if os.stat(path).st_mode & 0o777 != 0o600:
        raise Failure("others may read the file")
    if pair.ends["responder"].err():
        raise Failure("the other end says: " + pair.ends["responder"].err())


def open_text(path):
    with open(path) as file:
        return file.read()


def shape(room):
    """JSON, and what it says to who errs."""
    pair = Pair(room, "key")
    pair.go()
    pair.expect("requester", "peer_remote_access")
    done = room.run("json", room.roost("explain", "--json",
                                       pair.qpns["responder"]))
    document = json.loads(done.out())
    one = document[0]["objects"][0]
    if (len(document) != 1 or one["object"] != "qp" or
            document[0]["pid"] != pair.ends["responder"].pid or
            [(s["state"], s["by"]) for s in one["states"]] !=
            [("INIT", "modified"), ("RTR", "modified"), ("RTS", "modified"),
             ("ERR", "remote_key")] or
            [(e["event"], e["argument"], e["value"], e["count"])
             for e in one["events"]] != [("nak_sent", 0x62, 0, 1)]):
        raise Failure(f"explain --json says {document}")
    for words, status in ((["0x2"], 1), (["roost99"], 1), ([], 2),
                          (["1", "2"], 2), (["--nonsense", "1"], 2),
                          (["--pid", "x", "1"], 2), ([" "], 2)):
        done = room.run("wrong" + "".join(words).strip(" -"),
                        room.roost("explain", *words))
        lines = done.err().splitlines()
        if (done.status != status or done.out() or len(lines) != 1 or
                not lines[0].startswith("roost: explain")):
            raise Failure(f"roost explain {words}: exit status {done.status}: "
                          f"{done.err()}")


CASES = [
    Case("explain-wrong-key", wrong_key),
    Case("explain-no-receive", no_receive),
    Case("explain-silent-peer", silent_peer),
    Case("explain-mtu", path_mtu),
    Case("explain-pkey", pkey),
    Case("explain-qkey", qkey),
    Case("explain-port-down", port_down),
    Case("explain-icrc", icrc),
    Case("explain-cq-overrun", overrun),
    Case("explain-window-invalidated", window, "invalidated"),
    Case("explain-window-deallocated", window, "deallocated"),
    Case("explain-gone", gone),
    *(Case(f"explain-{case}", sayings, case) for case in SAYINGS),
    Case("explain-json", shape),
    Case("explain-told-at-once", told_at_once),
]
