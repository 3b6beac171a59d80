# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""All frames of the wire in a file, and what tshark and Scapy think of those
that Roost sent."""

import re
import signal

import dissect
from harness import Failure, Skip
from ports import MACS
from process import wait_until
from world import ADDRESSES, TCP_ADDRESSES

ACK, READ_LAST, READ_ONLY, ATOMIC_ACK = 17, 15, 16, 18
READ_FIRST, READ_REQUEST, CMP_SWAP, FETCH_ADD = 13, 12, 19, 20
WITH_AETH = (READ_FIRST, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK)
NO_PAYLOAD = (ACK, READ_REQUEST, ATOMIC_ACK, CMP_SWAP, FETCH_ADD)
# WRITE ONLY, without and with immediate, of RC and UC, which carry all that
# their RETH announces: bytes between BTH and payload.
ONLY = {10: 16, 11: 20, 42: 16, 43: 20}
UD = 0x60
CREDITS_NONE = 0x1f
NAKS = (0x60, 0x61, 0x62, 0x63)
# Of the bytes of a UDP payload in hexadecimal: FECN, BECN and what is reserved
# behind them; the pad and the ICRC at the end.
RESV8A = slice(8, 10)
# Of the seven bits beside AckReq: selective repeat, until the first answer.
OFFER = 0x40
ICRC_DIGITS = 8


def sources():
    """Addresses that packets of Roost come from, as tshark writes them."""
    four, six = (address.split("/")[0] for address in ADDRESSES["roost"])
    octets = [int(word, 16) for word in MACS["roost"].split(":")]
    octets[0] ^= 2
    eui = [*octets[:3], 0xff, 0xfe, *octets[3:]]
    words = [f"{eui[i] << 8 | eui[i + 1]:x}" for i in range(0, 8, 2)]
    # The first two octets of this MAC leave a word of zero.
    link_local = "fe80::" + ":".join(words).removeprefix("0:")
    return four, six, link_local


class Capture:
    """Between the bridge and Roost's port, from start to stop."""

    def __init__(self, room, world):
        self.room = room
        self.world = world
        self.path = room.path("wire.pcapng")
        self.process = room.start(
            "dumpcap", ["dumpcap", "-q", "-B", "64", "-i", "veth", "-w",
                        self.path], netns=world.netns["switch"])
        if not wait_until(lambda: "File: " in self.process.err() or
                          self.process.wait(0) is not None, 20):
            raise Failure("dumpcap does not start")
        if self.process.status is not None:
            raise Skip(f"dumpcap: {self.process.err().strip()}")

    def has(self, text):
        with open(self.path, "rb") as file:
            return text in file.read()

    def stop(self):
        """Every frame is in the file then."""
        # dumpcap forgets what it has not read yet when it is told to stop: so
        # it is told when it has written a last frame that we know.
        last = f"the last frame of {self.room.name}"
        self.world.inside("roost", "bash", "-c",
                          f"echo '{last}' >/dev/udp/{TCP_ADDRESSES['rxe']}/9")
        if not wait_until(lambda: self.has(last.encode()), 20, 0.05):
            raise Failure("the capture does not see the last frame")
        self.process.signal(signal.SIGINT)
        self.process.wait(20)
        if re.search(r"received/dropped on interface \S+ \d+/0 ",
                     self.process.err()) is None:
            raise Failure(f"gaps in the capture: {self.process.err()}")

    def judge(self, icrc):
        """Stop, and look at what Roost sent; icrc: and compute the ICRC of all
        frames, which takes Scapy a while. Returns how many packets.
        """
        self.stop()
        count = judge(self.path)
        if icrc:
            self.room.note(dissect.check_icrc(self.path).split(": ")[-1])
        return count


def rows(path):
    """The packets of a capture that Roost sent, as dissect.rows() says."""
    ours = set(sources())
    for row in dissect.rows(path, {"dst": "ip.dst", "dst6": "ipv6.dst",
                                   "bytes": "udp.payload"}):
        if (row["src"] or row["src6"]) in ours:
            yield row


def judge(path):
    """See that no frame of a capture is malformed, and nothing wrong with any
    packet of Roost's. Returns how many those are.
    """
    dissect.check_malformed(path)
    ports = {}
    count = 0
    for row in rows(path):
        count += 1
        what = wrong(row) or wrong_port(row, ports)
        if what is not None:
            del row["bytes"]
            raise Failure(f"frame {row['frame']}: {what}: {row}")
    if count == 0:
        raise Failure("Roost sent nothing")
    return count


def syndrome_is_known(syndrome):
    return (syndrome in (CREDITS_NONE, *NAKS) or
            syndrome & 0xe0 == 0x20)  # RNR NAK, with its timer


def pad_digits(row):
    end = len(row["bytes"]) - ICRC_DIGITS
    return row["bytes"][end - 2 * row["pad"]:end]


def payload_bytes(row):
    """Of the opcodes in ONLY."""
    return (row["len"] - dissect.AROUND_PAYLOAD - ONLY[row["opcode"]] -
            row["pad"])


def wrong_port(row, ports):
    """A connected QP keeps its UDP source port (A17.9.1). ports: by address
    and QPN of the peer, what was seen.
    """
    if row["opcode"] >= UD:
        return None
    peer = (row["dst"] or row["dst6"], row["qpn"])
    if ports.setdefault(peer, row["sport"]) != row["sport"]:
        return f"UDP source port of a QP was {ports[peer]} before"
    return None


def wrong(row):
    """What is wrong with a packet of Roost's, or None."""
    opcode = row["opcode"]
    checks = (
        (row["severity"] < dissect.SEVERITY_WARN,
         f"tshark warns: {row['expert']}"),
        (row["df"] in ("", 1) and row["rb"] in ("", 0) and
         row["mf"] in ("", 0) and row["offset"] in ("", 0),
         "flags of IPv4 are not DF alone, or a fragment"),
        (row["id"] in ("", 0), "id of IPv4 is not 0"),
        (row["sport"] >= 0xc000, "UDP source port below 0xC000"),
        (row["sum"] == 0, "UDP checksum is not 0"),
        (row["migreq"] == 1, "MigReq is not 1"),
        (row["tver"] == 0, "TVer is not 0"),
        (row["pkey"] == 0xffff, "P_Key is not the default one"),
        (row["reserved"] in (0, OFFER * row["ackreq"]) and
         int(row["bytes"][RESV8A], 16) == 0,
         "FECN, BECN or a reserved bit"),
        (pad_digits(row) == "00" * row["pad"], "pad that is not zero"),
        (opcode not in ONLY or payload_bytes(row) == row["dmalen"],
         "payload is not what RETH says"),
        (opcode not in NO_PAYLOAD or row["pad"] == 0,
         "pad without payload"),
        ((row["len"] - dissect.AROUND_PAYLOAD) % 4 == 0,
         "not a multiple of 4"),
        (opcode not in WITH_AETH or syndrome_is_known(row["syndrome"]),
         "AETH with credits or an unknown code"),
        (opcode == ACK or opcode not in WITH_AETH or
         row["syndrome"] == CREDITS_NONE, "a NAK that carries data"),
        (opcode < UD or row["ackreq"] == 0, "a datagram that asks for an ACK"),
    )
    for good, what in checks:
        if not good:
            return what
    return None
