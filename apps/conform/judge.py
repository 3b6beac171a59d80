# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The words of a case: what is sent, and what has to follow.

That nothing follows is seen by a marker: a request that has to be answered,
whose answer comes first. So no case waits for time to pass, unless it fails.
"""

import socket

import frames
from agent import Refused
from frames import ACK, READ_MIDDLE, READ_ONLY, READ_REQUEST, RETH
from scapy.contrib.roce import AETH

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 1, 2, 4, 8
MW_BIND = 16
ALL = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC

MTU_CODE, MTU = 1, 256
RNR_TIMER = 5
PSN_MASK = 0xffffff

# enum ibv_qp_state, ibv_event_type, ibv_wc_status, ibv_wc_opcode
RTR, RTS, SQD, ERR = 2, 3, 4, 6
QP_REQ_ERR, QP_ACCESS_ERR, COMM_EST, SQ_DRAINED, PATH_MIG = range(2, 7)
SUCCESS, LOC_LEN_ERR, LOC_PROT_ERR, FLUSHED, BAD_RESPONSE = 0, 1, 4, 5, 7
REM_INV_REQ, REM_ACCESS, REM_OP, RETRY_SPENT, RNR_RETRY_SPENT = range(9, 14)
RECV, RECV_WITH_IMM = 128, 129
WITH_GRH, WITH_IMM, WITH_INV = 1, 2, 8
GRH_SIZE = 40

# For readers, from 0 on.
STATUSES = """SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR
    WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR
    REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR""".split()
EVENTS = """CQ_ERR QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED
    PATH_MIG""".split()

# enum ibv_wr_opcode
WR_WRITE, WR_SEND, WR_SEND_IMM, WR_READ, WR_FETCH_ADD = 0, 2, 3, 4, 6
# enum ibv_qp_type
RC, UC, UD, XRC_SEND, XRC_RECV = 2, 3, 4, 9, 10
QKEY = 0x1234567
# The device's first PSN, as a requester.
DEVICE_PSN = 0xfffffe
# Credits of an ACK: none are told.
NO_CREDITS = 0x1f
REMOTE_ADDR, REMOTE_RKEY = 0x123456789a0, 0x1234567

# Syndromes of the AETH (IBTA 9.7.5.1).
RNR = 0x20
NAK_SEQUENCE, NAK_REQUEST, NAK_ACCESS, NAK_OPERATION = 0x60, 0x61, 0x62, 0x63


def name_of(names, value):
    return names[value] if value < len(names) else str(value)


def gid_of(address):
    """In hex, of an IPv4 address."""
    return (bytes(10) + b"\xff\xff" + socket.inet_aton(address)).hex()


class Wrong(Exception):
    """The device did something else; the text says what was seen."""


class Unsupported(Exception):
    """The device does not have what the case is about."""


class Memory:
    """A region of the device's side."""

    def __init__(self, bench, index, words):
        self.bench = bench
        self.index = index
        self.addr = int(words["addr"], 0)
        self.rkey = int(words["rkey"], 0)
        self.lkey = int(words["lkey"], 0)

    def read(self, size, offset=0):
        return bytes.fromhex(self.bench.agent.ask(
            "read", mr=self.index, offset=offset, bytes=size)["bytes"])

    def fill(self, data, offset=0):
        self.bench.agent.ask("fill", mr=self.index, offset=offset,
                             hex=data.hex())

    def has(self, data, offset=0):
        seen = self.read(len(data), offset)
        if seen != data:
            raise Wrong(f"memory has {seen[:16].hex()}, "
                        f"not {data[:16].hex()}")

    def reth(self, length, offset=0, rkey=None):
        return RETH(va=(self.addr + offset) & (1 << 64) - 1,
                    rkey=self.rkey if rkey is None else rkey, length=length)


class Bench:
    """One case: a QP of the device in RTR, whose peer we are. limit_s: how long
    what has to come may take.
    """

    def __init__(self, agent, wire, qpn, limit_s=10):
        self.agent = agent
        self.wire = wire
        self.qpn = qpn
        self.limit_s = limit_s
        self.psn = 0  # of the next new request
        self.last_psn = 0  # of the last packet that was sent
        self.device_qpn = 0
        self.srqn = 0  # of a target of XRC
        self.service = 0  # beside the opcodes of RC
        self.is_ipv6 = False
        self.nb_memories = 0

    def use_ipv6(self):
        """In this case, between link-local addresses."""
        if self.agent.gid6 is None:
            raise Unsupported("no link-local GID of RoCE v2")
        self.is_ipv6 = True

    def connect(self, access=ALL, psn=0x100, type_=RC):
        self.psn = psn
        gid = self.wire.ipv6.address.hex() if self.is_ipv6 else \
            gid_of(self.wire.address)
        made = self.ask("connect", type=type_, gid=gid, qpn=self.qpn, psn=psn,
                        qkey=QKEY, access=access, rnr=RNR_TIMER, mtu=MTU_CODE)
        self.device_qpn, self.srqn = int(made["qpn"]), int(made["srqn"])
        self.service = frames.XRC if type_ in (XRC_SEND, XRC_RECV) else 0

    def ask(self, command, **words):
        try:
            return self.agent.ask(command, **words)
        except Refused as e:
            if "not supported" in str(e):
                raise Unsupported(str(e)) from e
            raise Wrong(str(e)) from e

    def memory(self, size=4096, access=ALL):
        words = self.ask("mr", bytes=size, access=access)
        self.nb_memories += 1
        return Memory(self, self.nb_memories - 1, words)

    def receive(self, memory, size, id_=1, lkey=None):
        self.ask("recv", mr=memory.index, offset=0, bytes=size, id=id_,
                 lkey=memory.lkey if lkey is None else lkey)

    def send(self, opcode, *headers, payload=b"", psn=None, psns=1, ends=None,
             to6=None, mangle=lambda frame: frame, **bth):
        """psn: not a new request's, but this one. psns: how many PSNs the
        request takes. ends, bth: other fields than are right. to6: another
        MAC and address over IPv6. mangle: bytes of the frame to other ones.
        """
        self.last_psn = self.psn if psn is None else psn
        fields = {"opcode": opcode, "dqpn": self.device_qpn, "ackreq": 1,
                  "psn": self.last_psn, **bth}
        packet = frames.request({**self.wire.ends(), **(ends or {})}, fields,
                                headers, payload)
        frame = bytes(packet)
        if self.is_ipv6:
            mac, address = to6 or (self.wire.peer_mac, self.agent.gid6)
            frame = frames.over_ipv6(frame, mac + self.wire.ipv6.mac,
                                     self.wire.ipv6.address, address)
        self.wire.send(mangle(frame))
        if psn is None:
            self.psn = self.psn + psns & PSN_MASK

    def answer(self):
        answer = self.wire.receive(self.qpn, self.limit_s)
        if answer is None:
            raise Wrong("no answer")
        if not answer.icrc_is_right():
            raise Wrong(f"the ICRC is wrong: {answer}")
        return answer

    def want(self, answer, **fields):
        for name, value in fields.items():
            if value is not None and getattr(answer, name) != value:
                raise Wrong(f"{name} is not {value}: {answer}")

    def ack(self, psn=None, msn=None):
        """An ACK, of the last packet where psn is None."""
        answer = self.answer()
        self.want(answer, opcode=ACK | self.service, msn=msn,
                  psn=self.last_psn if psn is None else psn)
        if answer.syndrome >> 5 != 0:
            raise Wrong(f"not an ACK: {answer}")

    def nak(self, syndrome, psn=None):
        answer = self.answer()
        if answer.opcode != ACK | self.service or answer.syndrome != syndrome:
            raise Wrong(f"not 0x{syndrome:02x}: {answer}")
        self.want(answer, psn=self.last_psn if psn is None else psn)

    def response(self, opcode, psn, payload):
        answer = self.answer()
        self.want(answer, opcode=opcode, psn=psn & PSN_MASK)
        if answer.payload != payload:
            raise Wrong(f"other bytes: {answer.payload[:16].hex()}")

    def nothing(self):
        """To what was sent: the answer to a READ of no bytes comes first. It is
        no ACK, and does not come if its PSN was used up.
        """
        self.send(READ_REQUEST, RETH())
        self.response(READ_ONLY, self.last_psn, b"")

    def next_completion(self):
        """Its words, as the agent says them."""
        words = self.ask("poll", ms=int(1000 * self.limit_s))
        if "none" in words:
            raise Wrong("no completion")
        return words

    def completion(self, status, **fields):
        """fields: id, opcode, bytes, flags, imm, source."""
        words = self.next_completion()
        seen = int(words["status"])
        if seen != status:
            raise Wrong(f"completion {name_of(STATUSES, seen)}, not "
                        f"{name_of(STATUSES, status)}")
        for name, value in fields.items():
            seen = int(words.get(name, "-1"), 0)
            if seen != value:
                # An rkey or a QPN is another one in each run.
                raise Wrong(f"completion: another {name}"
                            if name in ("imm", "source") else
                            f"completion: {name} is {seen}, not {value}")

    def no_completion(self):
        """After an answer that comes later than the completion would."""
        words = self.ask("poll", ms=0)
        if "none" not in words:
            raise Wrong(f"a completion: {words}")

    def event(self, wanted):
        while True:
            words = self.ask("event", ms=int(1000 * self.limit_s))
            if "none" in words:
                raise Wrong(f"no event {name_of(EVENTS, wanted)}")
            seen = int(words["event"])
            if seen == wanted:
                return
            if seen != COMM_EST:
                raise Wrong(f"event {name_of(EVENTS, seen)}, not "
                            f"{name_of(EVENTS, wanted)}")

    def no_event(self, unwanted):
        """Of those that came until now."""
        words = {}
        while "none" not in words:
            words = self.ask("event", ms=0)
            if words.get("event") == str(unwanted):
                raise Wrong(f"event {name_of(EVENTS, unwanted)}")

    def state(self, wanted):
        state = int(self.ask("state")["state"])
        if state != wanted:
            raise Wrong(f"the QP is in state {state}, not {wanted}")

    def refused(self, syndrome):
        """The last packet: a NAK, and the QP in ERR."""
        self.nak(syndrome)
        self.state(ERR)

    def ready(self, timeout=0, retry=7, rnr_retry=7, type_=RC):
        """The device's QP in RTS. timeout: code; 0: it waits for ever."""
        self.connect(type_=type_)
        self.ask("ready", psn=DEVICE_PSN, timeout=timeout, retry=retry,
                 rnr_retry=rnr_retry)

    def post(self, opcode, memory, size, id_=1, lkey=None, add=0, imm=0,
             remote=REMOTE_ADDR, rkey=REMOTE_RKEY, **words):
        """A request of the device's. UD: to the QP remote, whose Q_Key is
        rkey. words: srqn, of XRC.
        """
        self.ask("post", opcode=opcode, id=id_, mr=memory.index, bytes=size,
                 lkey=memory.lkey if lkey is None else lkey,
                 remote=remote, rkey=rkey, add=add, imm=imm, **words)

    def request(self, opcode, number=0):
        """The device's next packet; number: its PSN, from the first one on."""
        packet = self.answer()
        self.want(packet, opcode=opcode, psn=DEVICE_PSN + number & PSN_MASK)
        return packet

    def say(self, number, syndrome=NO_CREDITS, opcode=ACK, payload=b"", msn=1,
            **changes):
        """An answer to that packet; changes: as send() takes them."""
        self.send(opcode | self.service, AETH(syndrome=syndrome, msn=msn),
                  payload=payload,
                  psn=DEVICE_PSN + number & PSN_MASK, ackreq=0, **changes)

    def say_middle(self, number, payload):
        """A READ RESPONSE MIDDLE, which has no AETH."""
        self.send(READ_MIDDLE, payload=payload, ackreq=0,
                  psn=DEVICE_PSN + number & PSN_MASK)
