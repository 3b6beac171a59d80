# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The connection manager at QP 1: who is refused, and what becomes of messages
that are lost."""

import secrets
import struct

import frames
from frames import UD_SEND_ONLY, WRITE_ONLY, DETH, RETH
from judge import Wrong, gid_of
from suite import Case, Table

CASES = Table()
CM, STATES = "CM: nobody listens", "CM: states"
GSI_QPN, GSI_QKEY = 1, 0x80010000
MAD_SIZE, HEADER_SIZE = 256, 24
# Attributes of CM's class.
REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP = \
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18
LAP, APR = 0x19, 0x1a
CLASS, CLASS_VERSION, SEND_METHOD = 7, 2, 3
# Reasons of a REJ, a status of a SIDR_REP.
NO_SUCH_SERVICE, CONSUMER, NOT_SUPPORTED = 8, 28, 1
# enum rdma_cm_event_type
CONNECT_REQUEST, ESTABLISHED, DISCONNECTED = 4, 9, 10
# Of the RDMA IP CM service (A11): TCP's port space and a port.
PORT = 47918
SERVICE = 0x0000000001060000 | PORT
# 4.096 us * 2^14: how long an answer of ours may take.
TIMEOUT, TIMEOUT_S = 14, 4.096e-6 * 2 ** 14
TRANSACTION = 0x1122334455667788


def mad(attribute, body, version=CLASS_VERSION):
    return struct.pack("!BBBBHHQHHI", 1, CLASS, version, SEND_METHOD, 0, 0,
                       TRANSACTION, attribute, 0, 0) + \
        body.ljust(MAD_SIZE - HEADER_SIZE, b"\0")


def ip_header(t):
    """Of the private data (A11): from our address to the device's."""
    return struct.pack("!BBH", 0, 0x40, 7) + bytes(12) + \
        bytes.fromhex(gid_of(t.wire.address))[12:] + bytes(12) + \
        t.agent.gid[12:]


def req(t, service=SERVICE):
    """For RC. Our id is that of the QP."""
    head = struct.pack("!IIQQIIIIIIHBB", t.qpn, 0, service, 0x0200000000000001,
                       0, 0, t.qpn << 8 | 1, 1, TIMEOUT << 3,
                       0x100 << 8 | TIMEOUT << 3 | 7,
                       0xffff, 1 << 4 | 7, 5 << 4)
    path = struct.pack("!HH", 0xffff, 0xffff) + \
        bytes.fromhex(gid_of(t.wire.address)) + t.agent.gid + \
        struct.pack("!IBBBB", 3, 0, 64, 0, TIMEOUT << 3)
    return mad(REQ, head + path + bytes(44) + ip_header(t))


def send(t, message, qkey=GSI_QKEY, **words):
    """From QP 1 to QP 1."""
    t.send(UD_SEND_ONLY, DETH(qkey=qkey, source=GSI_QPN), payload=message,
           **{"dqpn": GSI_QPN, "ackreq": 0, **words})


def about_us(t, packet):
    """False for what the device still says to a case before."""
    at = 8 + HEADER_SIZE + (
        0 if packet.payload[25:26] == bytes([SIDR_REP]) else 4)
    return packet.payload[at:at + 4] == t.qpn.to_bytes(4, "big")


def answer(t, attribute):
    """The body of the device's next message."""
    packet = t.wire.receive(GSI_QPN, t.limit_s)
    while packet is not None and not about_us(t, packet):
        packet = t.wire.receive(GSI_QPN, t.limit_s)
    if packet is None:
        raise Wrong("no answer")
    if not packet.icrc_is_right():
        raise Wrong("the ICRC is wrong")
    message = packet.payload[8:]
    seen = int.from_bytes(message[16:18], "big")
    if packet.opcode != UD_SEND_ONLY or len(message) != MAD_SIZE or \
            message[:4] != bytes([1, CLASS, CLASS_VERSION, SEND_METHOD]):
        raise Wrong(f"no message of CM: {message[:24].hex()}")
    if seen != attribute:
        raise Wrong(f"attribute 0x{seen:x}, not 0x{attribute:x}")
    return message[HEADER_SIZE:]


def rejected(t, reason=NO_SUCH_SERVICE):
    body = answer(t, REJ)
    seen = int.from_bytes(body[10:12], "big")
    if body[8] >> 6 != 0:
        raise Wrong(f"it rejects something else: {body[:12].hex()}")
    if seen != reason:
        raise Wrong(f"reason {seen}, not {reason}")


def connecting(t, port=PORT + 1):
    """A device whose connection manager is there, and listens at the port. It
    remembers QPs and ids for a while: ours are new.
    """
    t.qpn = 0x10000 + secrets.randbelow(0xff0000)
    t.ask("listen", port=port)


@CASES.case("cm-no-listener", CM)
def cm_no_listener(t):
    connecting(t)
    send(t, req(t))
    rejected(t)


@CASES.case("cm-no-such-service", CM)
def cm_no_such_service(t):
    """An id of no port space of IP's."""
    connecting(t)
    send(t, req(t, service=0x1234567890))
    rejected(t)


@CASES.case("cm-sidr-no-listener", "CM: SIDR")
def cm_sidr_no_listener(t):
    connecting(t)
    send(t, mad(SIDR_REQ, struct.pack(
        "!IHHQ", t.qpn, 0xffff, 0, SERVICE + 0xb0000) + ip_header(t)))
    body = answer(t, SIDR_REP)
    if body[4] != NOT_SUPPORTED:
        raise Wrong(f"status {body[4]}: {body[:12].hex()}")


@CASES.case("cm-disconnect-of-nothing", CM)
def cm_disconnect_of_nothing(t):
    """Who has lost the DREP asks again, and has to hear that it is over."""
    connecting(t)
    dreq(t, 0x55667788, 0x1234)
    answer(t, DREP)


# (name, what becomes of a REQ, what differs from a datagram that is right): it
# is dropped; the next REQ is answered, and its answer comes first.
DROPPED = (
    ("class-version", lambda m: m[:2] + b"\x03" + m[3:], {}),
    ("method", lambda m: m[:3] + b"\x01" + m[4:], {}),
    ("short", lambda m: m[:HEADER_SIZE + 40], {}),
    ("qkey", lambda m: m, {"qkey": 0x1234}),
    ("pkey", lambda m: m, {"pkey": 0x1234}),
)


def dropped(change, words):
    def run(t):
        connecting(t)
        send(t, change(req(t)), **words)
        t.qpn += 1
        send(t, req(t))
        rejected(t)
    return run


CASES += [Case(f"cm-drop-{name}", "CM: silent drops", dropped(*row))
          for name, *row in DROPPED]


def event(t, wanted):
    words = t.ask("cm-event", ms=int(1000 * t.limit_s))
    if words.get("event") != str(wanted):
        raise Wrong(f"event of CM: {words}, not {wanted}")


def asked(t):
    """A device whose listener has our request."""
    connecting(t, PORT)
    send(t, req(t))
    event(t, CONNECT_REQUEST)


def replied(t):
    """Its REP: the id of the connection and the QPN at the device, and the PSN
    with which we begin.
    """
    body = answer(t, REP)
    return int.from_bytes(body[:4], "big"), \
        int.from_bytes(body[12:15], "big"), int.from_bytes(body[20:23], "big")


def takes_a_packet(t, qpn, psn):
    t.device_qpn, t.psn = qpn, psn
    t.send(WRITE_ONLY, RETH())
    t.ack(msn=1)


def mra(t, its_id):
    """We need 4.096 us * 2^20, 4.3 s, for its REP."""
    send(t, mad(MRA, struct.pack("!IIBB", t.qpn, its_id, 1 << 6, 20 << 3)))


def rtu(t, its_id):
    send(t, mad(RTU, struct.pack("!II", t.qpn, its_id)))


def dreq(t, its_id, qpn):
    send(t, mad(DREQ, struct.pack("!III", t.qpn, its_id, qpn << 8)))


def connected(t):
    asked(t)
    t.ask("accept")
    its_id, qpn, psn = replied(t)
    rtu(t, its_id)
    event(t, ESTABLISHED)
    return its_id, qpn, psn


@CASES.case("cm-connect", STATES)
def cm_connect(t):
    """REQ, REP, RTU; DREQ, DREP."""
    its_id, qpn, psn = connected(t)
    takes_a_packet(t, qpn, psn)
    dreq(t, its_id, qpn)
    event(t, DISCONNECTED)
    t.ask("disconnect")
    answer(t, DREP)


@CASES.case("cm-rejected", STATES)
def cm_rejected(t):
    asked(t)
    t.ask("reject")
    rejected(t, CONSUMER)


@CASES.case("cm-request-again", STATES)
def cm_request_again(t):
    """A lost REP: it comes again, for the same connection."""
    asked(t)
    t.ask("accept")
    first = replied(t)
    send(t, req(t))
    if replied(t) != first:
        raise Wrong("a second connection")
    rtu(t, first[0])
    event(t, ESTABLISHED)


@CASES.case("cm-reply-again", STATES)
def cm_reply_again(t):
    """A lost RTU: the REP comes again by itself."""
    asked(t)
    t.ask("accept")
    first = replied(t)
    if replied(t) != first:
        raise Wrong("a second connection")
    rtu(t, first[0])
    event(t, ESTABLISHED)


@CASES.case("cm-reply-not-again", STATES)
def cm_reply_not_again(t):
    """After an MRA it does not come again so soon."""
    asked(t)
    t.ask("accept")
    its_id = replied(t)[0]
    mra(t, its_id)
    again = t.wire.seek(lambda frame: frames.is_answer(frame) or None,
                        10 * TIMEOUT_S)
    if again is not None:
        raise Wrong("something comes before we have answered")
    rtu(t, its_id)
    event(t, ESTABLISHED)


@CASES.case("cm-disconnect-again", STATES)
def cm_disconnect_again(t):
    """A lost DREP."""
    its_id, qpn, _psn = connected(t)
    dreq(t, its_id, qpn)
    event(t, DISCONNECTED)
    t.ask("disconnect")
    answer(t, DREP)
    dreq(t, its_id, qpn)
    answer(t, DREP)


@CASES.case("cm-disconnect-of-a-stranger", STATES)
def cm_disconnect_of_a_stranger(t):
    """Another QPN than the connection's: the connection stays."""
    its_id, qpn, psn = connected(t)
    dreq(t, its_id, qpn ^ 1)
    takes_a_packet(t, qpn, psn)
    dreq(t, its_id, qpn)
    event(t, DISCONNECTED)


@CASES.case("cm-disconnects", STATES)
def cm_disconnects(t):
    """The device's own DREQ."""
    its_id = connected(t)[0]
    t.ask("disconnect")
    body = answer(t, DREQ)
    if body[:4] != its_id.to_bytes(4, "big") or \
            body[8:11] != t.qpn.to_bytes(3, "big"):
        raise Wrong(f"of another connection: {body[:12].hex()}")
    send(t, mad(DREP, struct.pack("!II", t.qpn, its_id)))
    event(t, DISCONNECTED)


def lap(t, its_id, qpn):
    """The second path that we offer is our IPv6 address."""
    path = struct.pack("!HH", 0xffff, 0xffff) + t.wire.ipv6.address + \
        (t.agent.gid6 or t.agent.gid) + struct.pack("!IBBBB", 0, 64, 3, 0,
                                                    TIMEOUT << 3)
    send(t, mad(LAP, struct.pack("!IIIIHH", t.qpn, its_id, 0,
                                 qpn << 8 | TIMEOUT << 3, 0, 0) + path))


def apr(t, its_id):
    """An answer to nothing: status 0, the path is loaded."""
    send(t, mad(APR, struct.pack("!IIBB", t.qpn, its_id, 0, 0)))


def lives_on(t, its_id, qpn, psn):
    takes_a_packet(t, qpn, psn)
    dreq(t, its_id, qpn)
    event(t, DISCONNECTED)
    t.ask("disconnect")


@CASES.case("cm-alternate-path-offered", STATES)
def cm_alternate_path_offered(t):
    """Loaded, refused or ignored: the connection lives on."""
    connection = connected(t)
    lap(t, *connection[:2])
    lives_on(t, *connection)


@CASES.case("cm-alternate-path-answered", STATES, "should")
def cm_alternate_path_answered(t):
    """Loaded or refused: the peer need not try until it gives up."""
    its_id, qpn, _psn = connected(t)
    lap(t, its_id, qpn)
    body = answer(t, APR)
    if body[:8] != struct.pack("!II", its_id, t.qpn):
        raise Wrong(f"of another connection: {body[:8].hex()}")
    dreq(t, its_id, qpn)
    event(t, DISCONNECTED)
    t.ask("disconnect")


@CASES.case("cm-alternate-path-unasked", STATES)
def cm_alternate_path_unasked(t):
    """An APR without a LAP."""
    connection = connected(t)
    apr(t, connection[0])
    lives_on(t, *connection)
