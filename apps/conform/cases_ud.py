# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Datagrams, to a QP and to a multicast group."""

import socket

from frames import (SEND_ONLY, UD_SEND_ONLY, UD_SEND_ONLY_IMM, DETH, ImmDt,
                    igmp_says)
from judge import (GRH_SIZE, LOC_LEN_ERR, QKEY, RECV, RTR, SUCCESS, UD,
                   WITH_GRH, WITH_IMM, WR_SEND, WR_SEND_IMM, Wrong, gid_of)
from scapy.layers.inet import IP
from suite import Case, Table

CASES = Table()
TEXT, MARKER = bytes(range(1, 33)), b"the next one"
DATAGRAMS = "UD: datagrams"
CHECKS = "UD: silent drops"
GROUPS = "UD: multicast"
GROUP, OTHER_GROUP = "239.1.2.3", "239.1.2.4"
GROUP_QPN = 0xffffff


def datagram(t, payload, opcode=UD_SEND_ONLY, headers=(), qkey=QKEY, **words):
    t.send(opcode, DETH(qkey=qkey, source=t.qpn), *headers, payload=payload,
           **{"ackreq": 0, **words})


def arrives(t, memory, payload, id_=1):
    """The next completion is of that datagram."""
    t.completion(SUCCESS, opcode=RECV, id=id_, bytes=GRH_SIZE + len(payload),
                 source=t.qpn)
    memory.has(payload, GRH_SIZE)


def receiving(t):
    """Memory with a receive for one datagram."""
    t.connect(type_=UD)
    memory = t.memory()
    t.receive(memory, 128)
    return memory


@CASES.case("ud-send-only", DATAGRAMS)
def ud_send_only(t):
    memory = receiving(t)
    datagram(t, TEXT)
    arrives(t, memory, TEXT)
    t.no_completion()


@CASES.case("ud-of-no-bytes", DATAGRAMS)
def ud_of_no_bytes(t):
    memory = receiving(t)
    datagram(t, b"")
    arrives(t, memory, b"")


@CASES.case("ud-imm", DATAGRAMS)
def ud_imm(t):
    memory = receiving(t)
    datagram(t, TEXT, UD_SEND_ONLY_IMM, [ImmDt(value=0x12345678)])
    t.completion(SUCCESS, bytes=GRH_SIZE + len(TEXT), imm=0x12345678,
                 flags=WITH_GRH | WITH_IMM)
    memory.has(TEXT, GRH_SIZE)


@CASES.case("ud-ip-header", "A17.4.5.2 L3 header in UD")
def ud_ip_header(t):
    """Of IPv4, in the last 20 bytes before the datagram."""
    memory = receiving(t)
    datagram(t, TEXT)
    t.completion(SUCCESS, flags=WITH_GRH)
    header = IP(memory.read(20, 20))
    ends = t.wire.ends()
    seen = (header.version, header.proto, header.src, header.dst)
    if seen != (4, 17, ends["src"], ends["dst"]):
        raise Wrong(f"the header has {seen}")


@CASES.case("ud-any-psn", DATAGRAMS)
def ud_any_psn(t):
    memory = receiving(t)
    for id_, psn in ((1, 7), (2, 0x900000), (3, 7)):
        datagram(t, TEXT, psn=psn)
        arrives(t, memory, TEXT, id_)
        t.receive(memory, 128, id_ + 1)


@CASES.case("ud-no-receive", CHECKS)
def ud_no_receive(t):
    """A receive that is posted later is not for it."""
    t.connect(type_=UD)
    memory = t.memory()
    datagram(t, TEXT)
    t.wire.settle(t.limit_s)
    t.receive(memory, 128)
    datagram(t, MARKER)
    arrives(t, memory, MARKER)


@CASES.case("ud-above-receive", DATAGRAMS, "choice")
def ud_above_receive(t):
    """It is dropped, or the receive ends; the QP goes on."""
    t.connect(type_=UD)
    memory, other = t.memory(), t.memory()
    t.receive(memory, GRH_SIZE + len(MARKER), 1)
    t.receive(other, 128, 2)
    datagram(t, TEXT)
    datagram(t, MARKER)
    words = t.next_completion()
    memory.has(bytes(20), GRH_SIZE + len(MARKER))
    if (words["status"], words["id"]) == (str(SUCCESS), "1"):
        return "dropped, and its receive waits on"
    if (words["status"], words["id"]) != (str(LOC_LEN_ERR), "1"):
        raise Wrong(f"completion: {words}")
    arrives(t, other, MARKER, 2)
    t.state(RTR)
    return None


# (name, what differs from a datagram that is right)
DROPPED = (
    ("qkey-wrong", {"qkey": QKEY ^ 1}),
    ("pkey-unknown", {"pkey": 0x1234}),
    ("icrc-wrong", {"mangle": lambda frame:
                    frame[:-1] + bytes([frame[-1] ^ 1])}),
    ("tver-not-0", {"version": 1}),
    ("opcode-of-rc", {"opcode": SEND_ONLY}),
    ("cut-in-deth", {"mangle": lambda frame: frame[:60]}),
    ("group-mac", {"ends": {"dst_mac": "01:00:5e:01:02:03"}}),
)


def dropped(words):
    def run(t):
        memory = receiving(t)
        datagram(t, TEXT, **words)
        datagram(t, MARKER)
        arrives(t, memory, MARKER)
        t.no_completion()
    return run


CASES += [Case(f"ud-drop-{name}", CHECKS, dropped(words))
          for name, words in DROPPED]


# (name, level, wr opcode, opcode, Q_Key of the request, behind the DETH)
SENT = (
    ("send", "must", WR_SEND, UD_SEND_ONLY, 0x55, b""),
    ("send-imm", "must", WR_SEND_IMM, UD_SEND_ONLY_IMM, 0x55,
     b"\x12\x34\x56\x78"),
    # The highest bit asks for the QP's own one.
    ("own-qkey", "should", WR_SEND, UD_SEND_ONLY, 1 << 31, b""),
)


def sent(wr_opcode, opcode, qkey, imm):
    def run(t):
        t.ready(type_=UD)
        memory = t.memory()
        memory.fill(TEXT)
        t.post(wr_opcode, memory, len(TEXT), remote=t.qpn, rkey=qkey,
               imm=0x12345678)
        packet = t.request(opcode)
        wire_qkey = QKEY if qkey >> 31 else qkey
        wanted = wire_qkey.to_bytes(4, "big") + \
            t.device_qpn.to_bytes(4, "big") + imm + TEXT
        if packet.payload != wanted:
            raise Wrong(f"{packet.payload.hex()}, not {wanted.hex()}")
        t.completion(SUCCESS, id=1)
    return run


CASES += [Case(f"ud-requester-{name}", DATAGRAMS, sent(*row), level)
          for name, level, *row in SENT]


def to_group(t, payload, group=GROUP, **words):
    low = socket.inet_aton(group)[1:]
    mac = b"\x01\x00\x5e" + bytes([low[0] & 0x7f]) + low[1:]
    datagram(t, payload, **{"dqpn": GROUP_QPN, "ends": {
        "dst": group, "dst_mac": mac.hex(":")}, **words})


def member(t):
    memory = receiving(t)
    t.ask("attach", gid=gid_of(GROUP))
    return memory


@CASES.case("multicast-attached", GROUPS)
def multicast_attached(t):
    memory = member(t)
    to_group(t, TEXT)
    arrives(t, memory, TEXT)


@CASES.case("multicast-detached", GROUPS)
def multicast_detached(t):
    memory = member(t)
    to_group(t, TEXT)
    arrives(t, memory, TEXT)
    t.ask("detach")
    t.receive(memory, 128, 2)
    to_group(t, TEXT)
    datagram(t, MARKER)
    arrives(t, memory, MARKER, 2)


# (name, what differs from a datagram to a group of the QP's)
NOT_TO_THE_QP = (
    ("other-group", {"group": OTHER_GROUP}),
    ("qkey-wrong", {"qkey": QKEY ^ 1}),
    ("pkey-unknown", {"pkey": 0x1234}),
    ("qpn-1000", {"dqpn": 1000}),
)


def not_to_the_qp(words):
    def run(t):
        memory = member(t)
        to_group(t, TEXT, **words)
        datagram(t, MARKER)
        arrives(t, memory, MARKER)
    return run


CASES += [Case(f"multicast-{name}", GROUPS, not_to_the_qp(words))
          for name, words in NOT_TO_THE_QP]


def igmp(t, joins):
    def found(frame):
        return (joins, socket.inet_aton(GROUP)) in igmp_says(frame) or None
    if not t.wire.seek(found, t.limit_s):
        raise Wrong("no IGMP report")


@CASES.case("multicast-igmp-join", GROUPS, "should")
def multicast_igmp_join(t):
    member(t)
    igmp(t, True)


@CASES.case("multicast-igmp-leave", GROUPS, "should")
def multicast_igmp_leave(t):
    member(t)
    igmp(t, True)
    t.ask("detach")
    igmp(t, False)
