#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Recompute the ICRC of every RoCEv2 frame in capture files with Scapy.

usage: icrc_check.py FILE...

Scapy's RoCE layer knows nothing of Roost, so that it can tell when both ends
of a connection have the same wrong idea. Prints how many frames there were
and the first few that are wrong. Exit status: 0 all right; 1 a wrong ICRC, a
frame that was captured short, or no RoCEv2 frame at all; 2 a file that cannot
be read.

The interpreter is the one that Debian's python3-scapy installs into.
"""

import logging
import sys
from zlib import crc32

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

try:
    from scapy.compat import raw
    from scapy.contrib.roce import BTH
    from scapy.error import Scapy_Exception
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.packet import Raw
    from scapy.utils import PcapReader
except ImportError as e:
    sys.exit(f"icrc_check: Scapy is missing: {e}; apt install python3-scapy")

ROCE_PORT = 4791
UDP_LEN_MIN = 8 + 12 + 4
ICRC_LEN = 4
REPORT_MAX = 10


class BadFrame(Exception):
    """A RoCEv2 frame that is not as it should be, and how."""


def icrc_ipv6(ip):
    """What BTH.compute_icrc() does for IPv4; IPv6 came with Scapy 2.6."""
    pseudo = Raw(b"\xff" * 8) / ip.copy()
    pseudo[IPv6].hlim = 0xff
    pseudo[IPv6].fl = 0xfffff
    pseudo[IPv6].tc = 0xff
    pseudo[UDP].chksum = 0xffff
    bth = pseudo[BTH]
    bth.fecn = 1
    bth.becn = 1
    bth.resv6 = 0xff
    # In two parts: built as one, the BTH would put an ICRC behind its payload.
    pseudo[UDP].payload = Raw(bth.self_build() + raw(bth.payload))
    return BTH.pack_icrc(crc32(raw(pseudo)))


def roce_packet(frame):
    """The IP packet of a RoCEv2 frame without what follows it, or None."""
    for layer in (IP, IPv6):
        ip = frame.getlayer(layer)
        if ip is None:
            continue
        udp = ip.payload
        if not isinstance(udp, UDP) or udp.dport != ROCE_PORT:
            return None
        size = ip.len if layer is IP else 40 + ip.plen
        data = ip.original[:size]
        if len(data) < size:
            raise BadFrame(f"captured short, {len(data)} of {size} bytes")
        if udp.len < UDP_LEN_MIN:
            raise BadFrame("too short for a BTH and an ICRC")
        # From bytes once more: a short Ethernet frame is padded, and Scapy
        # would take the padding for payload.
        return layer(data)
    return None


def check(ip):
    found = ip.original[-ICRC_LEN:]
    want = ip[BTH].compute_icrc(b"") if isinstance(ip, IP) else icrc_ipv6(ip)
    if found != want:
        raise BadFrame(f"ICRC is {found.hex()}, should be {want.hex()}")


def check_file(name):
    """Returns how many RoCEv2 frames there are and how many are bad."""
    frames = bad = 0
    with PcapReader(name) as reader:
        for number, frame in enumerate(reader, 1):
            try:
                ip = roce_packet(frame)
                if ip is None:
                    continue
                check(ip)
            except BadFrame as e:
                bad += 1
                if bad <= REPORT_MAX:
                    print(f"{name}: frame {number}: {e}")
            frames += 1
    print(f"{name}: {frames} RoCEv2 frames, {bad} bad")
    return frames, bad


def main(names):
    if not names:
        print("usage: icrc_check.py FILE...", file=sys.stderr)
        return 2
    status = 0
    for name in names:
        try:
            frames, bad = check_file(name)
        except (OSError, EOFError, Scapy_Exception) as e:
            print(f"icrc_check: cannot read {name}: {e}", file=sys.stderr)
            return 2
        if bad or not frames:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
