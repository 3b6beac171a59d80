# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""RoCEv2 frames over IPv4, as Scapy builds and reads them."""

import socket
import zlib

from scapy.contrib.roce import BTH
from scapy.fields import (ByteField, IntField, ThreeBytesField, XIntField,
                          XLongField)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (IPv6, ICMPv6ND_NA, ICMPv6NDOptDstLLAddr)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

ROCE_PORT = 4791
SOURCE_PORT = 0xc0de

# Opcodes of RC (IBTA 9.2.1).
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, \
    SEND_ONLY_IMM = range(0x00, 0x06)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, \
    WRITE_ONLY_IMM = range(0x06, 0x0c)
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, \
    ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD = range(0x0c, 0x15)
SEND_ONLY_INV = 0x17
RESERVED_OPCODE = 0x1f
UC, XRC = 0x20, 0xa0  # beside the opcode of RC
UD_SEND_ONLY, UD_SEND_ONLY_IMM = 0x64, 0x65
CNP = 0x81

WITH_AETH = (READ_FIRST, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK)


class RETH(Packet):
    """RDMA extended transport header."""
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0),
                   IntField("length", 0)]


class AtomicETH(Packet):
    """Of COMPARE SWAP; of FETCH ADD, swap is what is added."""
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0),
                   XLongField("swap", 0), XLongField("compare", 0)]


class ImmDt(Packet):
    """Immediate data."""
    fields_desc = [XIntField("value", 0)]


class DETH(Packet):
    """Datagram extended transport header."""
    fields_desc = [XIntField("qkey", 0), ByteField("reserved", 0),
                   ThreeBytesField("source", 0)]


class IETH(Packet):
    """The key that a SEND invalidates."""
    fields_desc = [XIntField("rkey", 0)]


class XRCETH(Packet):
    """The SRQ that a request is for."""
    fields_desc = [ByteField("reserved", 0), ThreeBytesField("srqn", 0)]


class Answer:
    """A packet of the device. syndrome, msn: None without an AETH. payload:
    without headers and pad.
    """

    def __init__(self, frame):
        self.frame = frame
        self.packet = Ether(frame)
        bth = self.packet[BTH]
        self.opcode, self.psn, self.qpn = bth.opcode, bth.psn, bth.dqpn
        body = bytes(bth.payload)
        self.syndrome = self.msn = None
        if self.opcode & ~XRC in WITH_AETH and len(body) >= 4:
            self.syndrome = body[0]
            self.msn = int.from_bytes(body[1:4], "big")
            body = body[4:]
        self.payload = body[:len(body) - bth.padcount]

    def icrc_is_right(self):
        if IPv6 in self.packet:
            return icrc_of_ipv6(self.frame[14:-4]) == self.frame[-4:]
        again = self.packet.copy()
        again[BTH].icrc = None
        return bytes(Ether(bytes(again))[BTH])[-4:] == \
            bytes(self.packet[BTH])[-4:]

    def __str__(self):
        aeth = "" if self.syndrome is None else \
            f", syndrome 0x{self.syndrome:02x}, MSN {self.msn}"
        return f"opcode 0x{self.opcode:02x}, PSN {self.psn}{aeth}, " \
            f"{len(self.payload)} bytes"


def is_answer(frame):
    """A RoCEv2 packet that is long enough for a BTH and an ICRC."""
    if frame[12:14] == b"\x86\xdd":
        return frame[20] == 17 and len(frame) >= 78 and \
            frame[56:58] == ROCE_PORT.to_bytes(2, "big")
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and \
        frame[36:38] == ROCE_PORT.to_bytes(2, "big") and len(frame) >= 58


def igmp_says(frame):
    """The groups of an IGMP report: {(True where it joins one, address)}."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 2:
        return set()
    body = frame[14 + 4 * (frame[14] & 15):
                 14 + int.from_bytes(frame[16:18], "big")]
    if body[0] in (0x16, 0x17):  # of version 2
        return {(body[0] == 0x16, body[4:8])}
    said = set()
    at = 8
    while body[0] == 0x22 and at + 8 <= len(body):
        said.add((body[at] in (2, 4), body[at + 4:at + 8]))
        at += 8 + 4 * (body[at + 3] + body[at + 1])
    return said


def mld_says(frame):
    """The groups of an MLD report, behind a hop-by-hop option: as
    igmp_says()."""
    body = frame[14 + 40 + 8:]
    if frame[12:14] != b"\x86\xdd" or frame[20] != 0 or frame[54] != 58:
        return set()
    if body[0] in (131, 132):  # of version 1
        return {(body[0] == 131, body[8:24])}
    said = set()
    at = 8
    while body[0] == 143 and at + 20 <= len(body):
        said.add((body[at] in (2, 4), body[at + 4:at + 20]))
        at += 20 + 16 * int.from_bytes(body[at + 2:at + 4], "big") + \
            4 * body[at + 1]
    return said


def request(ends, bth, headers=(), payload=b""):
    """ends: fields of Ether and IP. bth: those of BTH. Returns a Scapy packet;
    its pad and its ICRC are right unless bth says otherwise.
    """
    pad = -len(payload) % 4
    packet = Ether(src=ends["src_mac"], dst=ends["dst_mac"]) / \
        IP(src=ends["src"], dst=ends["dst"], flags="DF", id=0, ttl=64) / \
        UDP(sport=SOURCE_PORT, dport=ROCE_PORT, chksum=0) / \
        BTH(**{"migreq": 1, "padcount": pad, **bth})
    for header in headers:
        packet /= header
    return packet / Raw(payload + bytes(pad)) if payload else packet


def icrc_of_ipv6(packet):
    """Of a packet from its IPv6 header on, without its ICRC. Masked are traffic
    class, flow label, hop limit, the checksum of UDP and a byte of the BTH.
    """
    masked = bytearray(packet)
    masked[0:4] = b"\x6f\xff\xff\xff"
    masked[7] = 0xff
    masked[46:48] = b"\xff\xff"
    masked[52] = 0xff
    return zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")


def over_ipv6(frame, macs, source, destination):
    """A frame over IPv4, over IPv6. macs: destination and source."""
    body = frame[34:-4]
    packet = b"\x60\0\0\0" + (len(body) + 4).to_bytes(2, "big") + \
        b"\x11\x40" + source + destination + body
    return macs + b"\x86\xdd" + packet + icrc_of_ipv6(packet)


def solicits(frame, address):
    """A Neighbor Solicitation for the address, from another one."""
    return frame[20] == 58 and frame[54:55] == b"\x87" and \
        frame[62:78] == address and frame[22:38] != bytes(16)


def advertisement(frame, mac, address):
    """The answer to such a frame."""
    text = socket.inet_ntop(socket.AF_INET6, address)
    asker = socket.inet_ntop(socket.AF_INET6, frame[22:38])
    return bytes(Ether(src=mac.hex(":"), dst=frame[6:12].hex(":")) /
                 IPv6(src=text, dst=asker, hlim=255) /
                 ICMPv6ND_NA(R=0, S=1, O=1, tgt=text) /
                 ICMPv6NDOptDstLLAddr(lladdr=mac.hex(":")))
