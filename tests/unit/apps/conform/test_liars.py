#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost-conform examines devices that are none: each says the same whatever it
is sent. A case that one of them passes is a case that proves little.
"""

import os
import sys
import types
import unittest

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, *[".."] * 4, "apps", "conform"))

try:
    import scapy  # noqa: F401
except ImportError:
    print("python3-scapy is not installed")
    sys.exit(77)

import frames
import main
import suite
from scapy.contrib.roce import AETH, BTH
from scapy.layers.l2 import Ether

ERR, RTR, REQ_ERR, NONE = 6, 2, 2, {"none": "1"}
ENDS = {"src_mac": "02:00:00:00:00:02", "dst_mac": "02:00:00:00:00:01",
        "src": "198.18.0.2", "dst": "198.18.0.1"}


class Agent:
    """Memory keeps zeros, or what it is filled with."""

    gid = gid6 = bytes(16)

    def __init__(self, state, event):
        self.answers = {
            "connect": {"qpn": "77", "srqn": "78"},
            "poll": NONE, "event": event,
            "mr": {"addr": "0x10000", "rkey": "0x100", "lkey": "0x100"},
            "window": {"rkey": "0x200"}, "bind": {"rkey": "0x201"},
            "state": {"state": str(state)}}
        self.memory = bytearray(8192)

    def ask(self, command, **words):
        if command == "reset":
            self.memory = bytearray(8192)
        if command == "fill":
            data = bytes.fromhex(words["hex"])
            self.memory[words["offset"]:words["offset"] + len(data)] = data
        if command == "read":
            offset = words["offset"]
            return {"bytes":
                    self.memory[offset:offset + words["bytes"]].hex()}
        return self.answers.get(command, {})


class Wire:
    """syndrome: of all answers; None: there are none. broken: their ICRC is
    not right.
    """

    address = ENDS["src"]
    ipv6 = types.SimpleNamespace(address=bytes(16), mac=bytes(6))
    peer_mac = bytes(6)

    def __init__(self, syndrome, broken):
        self.syndrome = syndrome
        self.broken = broken
        self.said = []

    def ends(self):
        return ENDS

    def send(self, frame):
        packet = Ether(frame)
        if self.syndrome is None or BTH not in packet:
            return
        bth = {"opcode": frames.ACK, "psn": packet[BTH].psn}
        aeth = AETH(syndrome=self.syndrome, msn=1)
        answer = bytearray(bytes(frames.request(ENDS, bth, [aeth])))
        if self.broken:
            answer[-1] ^= 1
        self.said.append(frames.Answer(bytes(answer)))

    def settle(self, _limit_s):
        pass

    def seek(self, _found, _limit_s):
        return None

    def receive(self, _qpn, _limit_s):
        return self.said.pop(0) if self.said else None


def passed(syndrome, state=RTR, event=NONE, broken=False):
    """The names of the cases that such a device passes."""
    rows = suite.run(main.CASES, Agent(state, event), Wire(syndrome, broken),
                     0)
    return {row["name"] for row in rows if row["verdict"] != suite.FAILS}


class Liars(unittest.TestCase):
    def test_silent(self):
        self.assertEqual(passed(None), set())

    def test_agrees(self):
        """Who says ACK and does nothing: where there is nothing to do."""
        self.assertEqual(passed(0x1f), {"write-of-no-bytes"})

    def test_refuses(self):
        """Who says NAK 0x61: where that is right."""
        found = passed(0x61, ERR, {"event": str(REQ_ERR)})
        self.assertTrue(all(name.startswith(
            ("sequence-", "length-", "qp-refuses-", "atomic-unaligned",
             "event-", "drain-takes-access-away"))
            for name in found), found)

    def test_wrong_icrc(self):
        self.assertEqual(passed(0x1f, broken=True), set())

    def test_names_differ(self):
        names = [case.name for case in main.CASES]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(case.level in suite.LEVELS
                            for case in main.CASES))


if __name__ == "__main__":
    unittest.main()
