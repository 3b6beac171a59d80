# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What others think of the packets in a capture: tshark dissects each one,
Scapy computes its ICRC, and the rules for the fields of RC are applied to what
tshark says."""

import os
import shutil
import subprocess

from harness import TOP, Failure, Skip

ICRC_CHECK = os.path.join(TOP, "tests", "tools", "icrc_check.py")

FIELDS = {
    "frame": "frame.number",
    "len": "udp.length",
    "src": "ip.src",
    "src6": "ipv6.src",
    "id": "ip.id",
    "rb": "ip.flags.rb",
    "df": "ip.flags.df",
    "mf": "ip.flags.mf",
    "offset": "ip.frag_offset",
    "sport": "udp.srcport",
    "dport": "udp.dstport",
    "sum": "udp.checksum",
    "opcode": "infiniband.bth.opcode",
    "migreq": "infiniband.bth.m",
    "pad": "infiniband.bth.padcnt",
    "tver": "infiniband.bth.tver",
    "pkey": "infiniband.bth.p_key",
    "qpn": "infiniband.bth.destqp",
    "ackreq": "infiniband.bth.a",
    "reserved": "infiniband.bth.reserved7",
    "psn": "infiniband.bth.psn",
    "dmalen": "infiniband.reth.dmalen",
    "syndrome": "infiniband.aeth.syndrome",
    "protocols": "frame.protocols",
    "severity": "_ws.expert.severity",
    "expert": "_ws.expert.message",
}
# Of these, those that are no numbers.
TEXTS = ("src", "src6", "protocols", "expert")

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM = 0, 1, 2, 3
SEND_ONLY, SEND_ONLY_IMM = 4, 5
ACK = 17
REPORT = 0xd1  # of selective repeat
IMM = (SEND_LAST_IMM, SEND_ONLY_IMM)
ENDS_MESSAGE = (SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM)
PSN_MASK = 0xffffff
# UDP and BTH in front of the payload, the ICRC behind it.
AROUND_PAYLOAD = 8 + 12 + 4

# Of tshark's expert information. Notes are below: "Time To Live only 1" is
# what programs ask for.
SEVERITY_WARN = 0x600000


# RoCEv2 sends no UDP checksum over IPv6 either (RFC 6936 allows it), and what
# protocol the payload of a test happens to look like is nobody's affair.
OPTIONS = ["-n", "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
for protocol in ("smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser",
                 "infiniband_sdp", "fcoib", "infiniband.eoib"):
    OPTIONS += ["--disable-protocol", protocol]


def tshark(path, *words):
    if shutil.which("tshark") is None:
        raise Skip("tshark is not installed")
    done = subprocess.run(["tshark", *OPTIONS, "-r", path, *words],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failure(f"tshark: {done.stderr.strip()}")
    return done.stdout


def guessed(protocols):
    """Did tshark take the payload of a RoCE packet for some other protocol?
    What it thinks of that is not about the packet.
    """
    return protocols.partition(":infiniband")[2] != ""


def rows(path, more=None):
    """The RoCEv2 packets of a capture as dicts; numbers where they are. more:
    further fields, which stay text.
    """
    # A kernel that shares the address may quote packets in ICMP errors.
    words = ["-Y", "udp.dstport == 4791 && !icmp && !icmpv6", "-T", "fields"]
    fields = dict(FIELDS, **(more or {}))
    for field in fields.values():
        words += ["-e", field]
    for line in tshark(path, *words).splitlines():
        row = dict(zip(fields, line.split("\t")))
        for name, value in row.items():
            if name == "severity":
                row[name] = max((int(word) for word in value.split(",")
                                 if word), default=0)
            elif name in FIELDS and name not in TEXTS and value:
                row[name] = int(value, 0)
        if guessed(row["protocols"]):
            row["severity"] = 0
        yield row


def wrong_alone(row):
    """What is wrong with a packet, seen by itself, or None."""
    checks = (
        (row["severity"] < SEVERITY_WARN, f"tshark warns: {row['expert']}"),
        (row["opcode"] in (*range(SEND_FIRST, SEND_ONLY_IMM + 1), ACK, REPORT),
         "opcode is not one of SEND, ACK or report"),
        (row["df"] in ("", 1), "may be fragmented"),
        (row["sport"] >= 0xc000, "UDP source port below 0xC000"),
        (row["sum"] == 0, "UDP checksum is not 0"),
        (row["migreq"] == 1, "MigReq is not 1"),
        (row["tver"] == 0, "TVer is not 0"),
        (row["pkey"] == 0xffff, "P_Key is not the default one"),
        (row["opcode"] not in ENDS_MESSAGE or row["ackreq"] == 1,
         "end of a message that asks for no ACK"),
        (row["opcode"] != ACK or row["syndrome"] == 0x1f,
         "neither ACK nor without credits"),
        (row["opcode"] != ACK or row["pad"] == 0, "an ACK with pad"),
    )
    for good, what in checks:
        if not good:
            return what
    return None


class Flow:
    """The requests of one end, as they are sent at first: PSNs without a gap,
    messages well formed.
    """

    def __init__(self, sport):
        self.sport = sport
        self.next_psn = None
        self.in_message = False
        self.mtu = None
        self.again = 0

    def wrong(self, row):
        if row["sport"] != self.sport:
            return "UDP source port changes within a QP"
        if self.next_psn is not None and row["psn"] != self.next_psn:
            behind = (self.next_psn - row["psn"]) & PSN_MASK
            if behind > PSN_MASK // 2:
                return f"PSN {row['psn']} leaves a gap"
            self.again += 1
            return None
        self.next_psn = (row["psn"] + 1) & PSN_MASK
        begins = row["opcode"] in (SEND_FIRST, SEND_ONLY, SEND_ONLY_IMM)
        if begins == self.in_message:
            return "first, middle, last out of order"
        self.in_message = row["opcode"] not in ENDS_MESSAGE
        return self.wrong_length(row)

    def wrong_length(self, row):
        around = AROUND_PAYLOAD + (4 if row["opcode"] in IMM else 0)
        size = row["len"] - around - row["pad"]
        if self.in_message:
            self.mtu = self.mtu or size
            if size != self.mtu or row["pad"]:
                return "a first or middle packet that is not one path MTU"
        elif size < 0 or (self.mtu and size > self.mtu):
            return "a last packet longer than the path MTU"
        if (size + row["pad"]) % 4:
            return "payload and pad are no multiple of 4"
        return None


def check_fields(path):
    """Every packet alone and in its flow. Returns (packets, sent again)."""
    flows, packets = {}, 0
    for row in rows(path):
        packets += 1
        what = wrong_alone(row)
        key = (row["src"] or row["src6"], row["qpn"])
        if what is None and row["opcode"] not in (ACK, REPORT):
            flow = flows.setdefault(key, Flow(row["sport"]))
            what = flow.wrong(row)
        if what is not None:
            raise Failure(f"frame {row['frame']}: {what}: {row}")
    if len(flows) != 2:
        raise Failure(f"requests of {len(flows)} QPs in the capture, not 2")
    return packets, sum(flow.again for flow in flows.values())


def check_malformed(path):
    """Of all frames, ARP and TCP too: none is malformed."""
    found = tshark(path, "-Y", "_ws.malformed", "-T", "fields", "-e",
                   "frame.number", "-e", "frame.protocols", "-e",
                   "_ws.malformed")
    for line in found.splitlines():
        number, protocols, what = line.split("\t")
        if not guessed(protocols):
            raise Failure(f"malformed: frame {number}: {what}")


def check_icrc(path):
    done = subprocess.run(["/usr/bin/python3", ICRC_CHECK, path],
                          capture_output=True, text=True, timeout=120)
    if "Scapy is missing" in done.stderr:
        raise Skip("python3-scapy is not installed")
    if done.returncode != 0:
        raise Failure(f"ICRC: {(done.stdout + done.stderr).strip()}")
    return done.stdout.strip()
