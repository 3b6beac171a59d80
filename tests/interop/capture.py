# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""All frames of the wire in a file, and what tshark and Scapy think of those
that Roost sent."""

import re
import signal

import dissect
from harness import Failure, Skip
from process import wait_until
from world import ADDRESSES, MACS

ACK, READ_LAST, READ_ONLY, ATOMIC_ACK = 17, 15, 16, 18
READ_FIRST, READ_REQUEST, CMP_SWAP, FETCH_ADD = 13, 12, 19, 20
WITH_AETH = (READ_FIRST, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK)
NO_PAYLOAD = (ACK, READ_REQUEST, ATOMIC_ACK, CMP_SWAP, FETCH_ADD)
UD = 0x60
CM_QPN = 1
CREDITS_NONE = 0x1f
NAKS = (0x60, 0x61, 0x62, 0x63)


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
        self.path = room.path("wire.pcapng")
        self.process = room.start(
            "dumpcap", ["dumpcap", "-q", "-B", "64", "-i", "veth", "-w",
                        self.path], netns=world.netns["switch"])
        if not wait_until(lambda: "File: " in self.process.err() or
                          self.process.wait(0) is not None, 20):
            raise Failure("dumpcap does not start")
        if self.process.status is not None:
            raise Skip(f"dumpcap: {self.process.err().strip()}")

    def stop(self):
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
        dissect.check_malformed(self.path)
        ours = set(sources())
        count = 0
        for row in dissect.rows(self.path):
            if (row["src"] or row["src6"]) not in ours:
                continue
            count += 1
            what = wrong(row)
            if what is not None:
                raise Failure(f"frame {row['frame']}: {what}: {row}")
        if count == 0:
            raise Failure("Roost sent nothing")
        if icrc:
            self.room.note(dissect.check_icrc(self.path).split(": ")[-1])
        return count


def syndrome_is_known(syndrome):
    return (syndrome in (CREDITS_NONE, *NAKS) or
            syndrome & 0xe0 == 0x20)  # RNR NAK, with its timer


def wrong(row):
    """What is wrong with a packet of Roost's, or None."""
    opcode = row["opcode"]
    checks = (
        (row["severity"] < dissect.SEVERITY_WARN,
         f"tshark warns: {row['expert']}"),
        (row["df"] in ("", 1), "may be fragmented"),
        (row["sport"] >= 0xc000, "UDP source port below 0xC000"),
        (row["sum"] == 0, "UDP checksum is not 0"),
        (row["migreq"] == 1, "MigReq is not 1"),
        (row["tver"] == 0, "TVer is not 0"),
        (row["pkey"] == 0xffff, "P_Key is not the default one"),
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
