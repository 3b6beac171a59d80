#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the matrix checks of Roost's frames: each check lets good frames pass,
and finds the one thing that is wrong with a bad one."""

import os
import shutil
import socket
import struct
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(HERE), "real")]
import capture  # noqa: E402
import world  # noqa: E402
from harness import Failure  # noqa: E402

OURS, PEERS = ([address.split("/")[0] for address in world.ADDRESSES[side]]
               for side in ("roost", "rxe"))
PCAP_HEAD = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
SIZE_BYTES = 5


class Frame:
    """Fields of one frame; what a test does not change is right."""

    def __init__(self, opcode, headers=b"", size=0, family=4, **changes):
        self.opcode = opcode
        self.headers = headers
        self.payload = bytes(range(1, size + 1))
        self.family = family
        self.pad = bytes(-size % 4)
        self.ip_id = 0
        self.ip_flags = 0x4000
        self.sport = 0xc123
        self.checksum = 0
        self.flags = 0x40  # MigReq
        self.pkey = 0xffff
        self.resv8a = 0
        self.qpn = 0x11
        self.ack = 0
        for name, value in changes.items():
            setattr(self, name, value)

    def udp(self):
        bth = struct.pack("!BBHII", self.opcode,
                          self.flags | len(self.pad) << 4, self.pkey,
                          self.resv8a << 24 | self.qpn, self.ack << 24 | 7)
        data = bth + self.headers + self.payload + self.pad + b"icrc"
        return struct.pack("!HHHH", self.sport, 4791, 8 + len(data),
                           self.checksum) + data

    def ip(self):
        data = self.udp()
        if self.family == 6:
            return (struct.pack("!IHBB", 6 << 28, len(data), 17, 64) +
                    socket.inet_pton(socket.AF_INET6, OURS[1]) +
                    socket.inet_pton(socket.AF_INET6, PEERS[1]) + data)
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(data), self.ip_id,
                           self.ip_flags, 64, 17, 0)
        return (head + socket.inet_aton(OURS[0]) + socket.inet_aton(PEERS[0]) +
                data)

    def ethernet(self):
        kind = b"\x86\xdd" if self.family == 6 else b"\x08\x00"
        return (bytes.fromhex((world.MACS["rxe"] + world.MACS["roost"])
                              .replace(":", "")) + kind + self.ip())


def reth(size):
    return struct.pack("!QII", 0x1000, 0x2000, size)


def write(**changes):
    return Frame(10, reth(SIZE_BYTES), SIZE_BYTES, **changes)


def ack(syndrome=0x1f, **changes):
    return Frame(17, struct.pack("!I", syndrome << 24 | 1), **changes)


def read_only(syndrome=0x1f, **changes):
    return Frame(16, struct.pack("!I", syndrome << 24 | 1), SIZE_BYTES,
                 **changes)


def datagram(**changes):
    return Frame(0x64, struct.pack("!II", 0x11111111, 0x12), SIZE_BYTES,
                 **changes)


# Frames with one thing wrong, or nothing, and what is said of each. In one
# capture: tshark takes a second to start.
BAD = (
    ("flags of IPv4", ack(ip_flags=0)),
    ("id of IPv4", ack(ip_id=77)),
    ("source port below", ack(sport=0x1234)),
    ("checksum", ack(checksum=0x1234)),
    ("MigReq", write(flags=0)),
    ("TVer", write(flags=0x41)),
    ("P_Key", write(pkey=0x7fff)),
    ("reserved", write(resv8a=0x80)),
    ("reserved", write(ack=1)),
    ("reserved", write(ack=0x40)),
    ("nothing", write(ack=0xc0)),
    ("pad that is not zero", write(pad=b"\0x\0")),
    ("multiple of 4", write(pad=b"\0")),
    ("not what RETH says", Frame(10, reth(SIZE_BYTES + 1), SIZE_BYTES)),
    ("pad without payload", ack(pad=b"\0\0\0", payload=b"x")),
    ("credits", ack(0x05)),
    ("credits", read_only(0x05)),
    ("unknown code", ack(0x70)),
    ("NAK that carries data", read_only(0x60)),
    ("asks for an ACK", datagram(ack=0x80)),
)


@unittest.skipIf(shutil.which("tshark") is None, "tshark is not installed")
class Judge(unittest.TestCase):
    def seen(self, look, *frames):
        """What a function says of a capture of these frames."""
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(PCAP_HEAD)
            for frame in frames:
                data = frame.ethernet()
                file.write(struct.pack("<IIII", 0, 0, len(data), len(data)))
                file.write(data)
            file.flush()
            return look(file.name)

    def judge(self, *frames):
        return self.seen(capture.judge, *frames)

    def finds(self, text, *frames):
        with self.assertRaisesRegex(Failure, text):
            self.judge(*frames)

    def test_good_frames_pass(self):
        frames = [make(family=family) for family in (4, 6)
                  for make in (write, ack, read_only, datagram)]
        frames += [ack(0x60), ack(0x2c),
                   Frame(42, reth(SIZE_BYTES), SIZE_BYTES),
                   Frame(11, reth(SIZE_BYTES) + b"immd", SIZE_BYTES),
                   datagram(sport=0xc555)]
        self.assertEqual(self.judge(*frames), len(frames))

    def test_nothing_sent(self):
        self.finds("Roost sent nothing")

    def test_malformed(self):
        self.finds("malformed", Frame(10, b"RETH cut"))

    def test_payload_like_another_protocol(self):
        """tshark guesses what a payload is."""
        self.judge(Frame(4, b"\x81\0\0\0"),
                   Frame(0x64, bytes(8) + b"\x81\0\0\0"))

    def test_fragments(self):
        self.finds("flags of IPv4|malformed", ack(ip_flags=0xc000))

    def test_source_port_of_a_qp(self):
        self.finds("source port of a QP", ack(), write(sport=0xc124))

    def test_each_bad_frame(self):
        rows = self.seen(lambda path: list(capture.rows(path)),
                         *(frame for _text, frame in BAD))
        self.assertEqual(len(rows), len(BAD))
        for (text, _frame), row in zip(BAD, rows):
            with self.subTest(text):
                self.assertIn(text, capture.wrong(row) or "nothing")


if __name__ == "__main__":
    unittest.main()
