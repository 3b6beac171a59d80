#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: frames.py [--check] FILE

Makes the golden frames of the tests of pmd_glue with Scapy, which knows
nothing of Roost, and writes them into a capture file in the order of frames.h.
--check: says whether the file is what Scapy makes. Exit status: 0; 1 it is
not; 77 there is no Scapy here to tell.
"""

import logging
import os
import re
import sys

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

try:
    from scapy.contrib.igmp import IGMP
    from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mq, IGMPv3mr
    from scapy.layers.inet import ICMP, IP, UDP, IPOption_Router_Alert
    from scapy.layers.inet6 import (
        ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest,
        ICMPv6MLDMultAddrRec, ICMPv6MLDone, ICMPv6MLQuery, ICMPv6MLQuery2,
        ICMPv6MLReport, ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS,
        ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrHopByHop,
        RouterAlert)
    from scapy.layers.l2 import ARP, Ether
    from scapy.packet import Raw
    from scapy.utils import RawPcapReader, wrpcap
except ImportError as e:
    print(f"frames.py: Scapy is missing: {e}; apt install python3-scapy",
          file=sys.stderr)
    sys.exit(77)

MAC_A, MAC_B = "02:11:22:33:44:01", "02:11:22:33:44:02"
V4_A, V4_B, V4_OTHER = "198.18.0.1", "198.18.0.2", "198.18.0.3"
V6_A, V6_B = "fd00::1", "fd00::2"
HOST_V6 = "fe80::11:22ff:fe33:4402"
ROUTER_V6, OTHER_V6 = "fe80::1", "fe80::3"
GROUP_V4, GROUP_V6 = "239.1.1.1", "ff0e::1:1"
SOURCES_V4 = ["10.0.0.1", "10.0.0.2"]
SOURCES_V6 = ["2001:db8::1", "2001:db8::2"]
TEXT = Raw(b"hello roost!!")
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.h")
IS_INCLUDE, IS_EXCLUDE, TO_INCLUDE, TO_EXCLUDE = 1, 2, 3, 4


def mac(ip):
    """Of the hosts and of the groups."""
    if ":" in ip:
        last = IPv6(dst=ip).build()[36:40]
        return MAC_A[:-2] + f"{last[3]:02x}" if not ip.startswith("ff") else \
            "33:33:" + last.hex(":")
    a, b, c, d = (int(part) for part in ip.split("."))
    return MAC_A[:-2] + f"{d:02x}" if a < 224 else \
        f"01:00:5e:{b & 0x7f:02x}:{c:02x}:{d:02x}"


def padded(frame):
    return Ether(bytes(frame).ljust(60, b"\0"))


def arp(to, **fields):
    return padded(Ether(dst=to, src=fields["hwsrc"]) / ARP(**fields))


def nd(src, dst, message):
    return Ether(dst=mac(dst), src=mac(V6_A if src == "::" else src)) / \
        IPv6(src=src, dst=dst, hlim=255) / message


def advert(dst, S, O, R=0, **mac_of):
    message = ICMPv6ND_NA(tgt=V6_B, R=R, S=S, O=O)
    if mac_of:
        message /= ICMPv6NDOptDstLLAddr(**mac_of)
    return nd(V6_B, dst, message)


def echo4(src, dst, ttl, kind):
    return Ether(dst=mac(dst), src=mac(src)) / \
        IP(src=src, dst=dst, ttl=ttl, id=0x1234, flags="DF") / \
        ICMP(type=kind, id=7, seq=9) / TEXT


def echo6(src, dst, hops, message):
    return Ether(dst=mac(dst), src=mac(src)) / \
        IPv6(src=src, dst=dst, hlim=hops) / message(id=7, seq=9, data=TEXT)


def refusal(kind):
    """b refuses what a sent to RoCE's port, which it quotes."""
    a, b, message = (V4_A, V4_B, ICMP(type=3, code=3)) if kind is IP else \
        (V6_A, V6_B, ICMPv6DestUnreach(code=4))
    return Ether(dst=MAC_A, src=MAC_B) / kind(src=b, dst=a) / message / \
        bytes(kind(src=a, dst=b) / UDP(sport=0xc123, dport=4791) / TEXT)


def igmp(src, dst, message, options=True):
    return padded(
        Ether(dst=mac(dst), src=mac(src)) /
        IP(src=src, dst=dst, ttl=1, id=0, tos=0xc0, flags="DF", proto=2,
           options=[IPOption_Router_Alert()] if options else []) / message)


def igmp_query(dst, seconds, **fields):
    return igmp(V4_A, dst, IGMPv3(type=0x11, mrcode=10 * seconds) /
                IGMPv3mq(**fields))


def igmp_report(*records):
    return igmp(V4_B, "224.0.0.22", IGMPv3(type=0x22) / IGMPv3mr(
        records=[IGMPv3gr(rtype=kind, maddr=group, srcaddrs=sources)
                 for kind, group, sources in records]))


def mld(src, dst, message):
    return Ether(dst=mac(dst), src=mac(src)) / \
        IPv6(src=src, dst=dst, hlim=1) / \
        IPv6ExtHdrHopByHop(options=[RouterAlert(value=0)]) / message


def mld_query(dst, ms, **fields):
    return mld(ROUTER_V6, dst, ICMPv6MLQuery2(mrd=ms, **fields))


def mld_report(*records):
    return mld(HOST_V6, "ff02::16", ICMPv6MLReport2(
        records=[ICMPv6MLDMultAddrRec(rtype=kind, dst=group, sources=sources)
                 for kind, group, sources in records]))


def igmp_old(src, dst, kind, group, tenths=0, **words):
    return igmp(src, dst, IGMP(type=kind, mrcode=tenths, gaddr=group), **words)


def arp_nd_echo():
    ask, broadcast = "ff02::1:ff00:2", "ff:ff:ff:ff:ff:ff"
    from_a = {"op": 1, "hwsrc": MAC_A, "psrc": V4_A}
    return {
        "arp_request": arp(broadcast, pdst=V4_B, **from_a),
        "arp_reply": arp(MAC_A, op=2, hwsrc=MAC_B, psrc=V4_B, hwdst=MAC_A,
                         pdst=V4_A),
        "arp_announcement": arp(broadcast, pdst=V4_A, **from_a),
        "nd_solicit": nd(V6_A, ask, ICMPv6ND_NS(tgt=V6_B) /
                         ICMPv6NDOptSrcLLAddr(lladdr=MAC_A)),
        "nd_solicit_dad": nd("::", ask, ICMPv6ND_NS(tgt=V6_B)),
        "nd_advert": advert(V6_A, S=1, O=1, lladdr=MAC_B),
        "nd_advert_no_mac": advert(V6_A, R=1, S=1, O=0),
        "nd_advert_all": advert("ff02::1", S=0, O=1, lladdr=MAC_B),
        "echo4_request": echo4(V4_A, V4_B, 17, 8),
        "echo4_reply": echo4(V4_B, V4_A, 64, 0),
        "echo6_request": echo6(V6_A, V6_B, 3, ICMPv6EchoRequest),
        "echo6_reply": echo6(V6_B, V6_A, 64, ICMPv6EchoReply),
        "refusal4": refusal(IP),
        "refusal6": refusal(IPv6),
    }


def igmp_heard():
    every = "224.0.0.1"
    of_group = {"gaddr": GROUP_V4, "qrv": 2, "qqic": 125}
    return {
        "igmp_v3_general": igmp_query(every, 10, qrv=3, qqic=0x8a),
        "igmp_v3_group": igmp_query(GROUP_V4, 1, **of_group),
        "igmp_v3_sources": igmp_query(GROUP_V4, 1, srcaddrs=SOURCES_V4,
                                      **of_group),
        "igmp_v2_general": igmp_old(V4_A, every, 0x11, "0.0.0.0", 100),
        "igmp_v2_group": igmp_old(V4_A, GROUP_V4, 0x11, GROUP_V4, 10),
        "igmp_v1_general": igmp_old(V4_A, every, 0x11, "0.0.0.0",
                                    options=False),
        "igmp_v2_report_other": igmp_old(V4_OTHER, GROUP_V4, 0x16, GROUP_V4),
    }


def igmp_said():
    return {
        "igmp_v1_report": igmp_old(V4_B, GROUP_V4, 0x12, GROUP_V4),
        "igmp_v2_report": igmp_old(V4_B, GROUP_V4, 0x16, GROUP_V4),
        "igmp_v2_leave": igmp_old(V4_B, "224.0.0.2", 0x17, GROUP_V4),
        "igmp_v3_join": igmp_report((TO_EXCLUDE, GROUP_V4, [])),
        "igmp_v3_leave": igmp_report((TO_INCLUDE, GROUP_V4, [])),
        "igmp_v3_two": igmp_report((IS_EXCLUDE, GROUP_V4, []),
                                   (IS_INCLUDE, "232.7.8.9", SOURCES_V4)),
    }


def mld_frames():
    every, report = "ff02::1", ICMPv6MLReport(mladdr=GROUP_V6)
    of_group = {"mladdr": GROUP_V6, "QRV": 2, "QQIC": 125}
    return {
        "mld_v2_general": mld_query(every, 10000, QRV=3, QQIC=0x8a),
        "mld_v2_group": mld_query(GROUP_V6, 1000, **of_group),
        "mld_v2_sources": mld_query(GROUP_V6, 1000, sources=SOURCES_V6,
                                    **of_group),
        "mld_v1_general": mld(ROUTER_V6, every, ICMPv6MLQuery(mrd=10000)),
        "mld_v1_report_other": mld(OTHER_V6, GROUP_V6, report),
        "mld_v1_report": mld(HOST_V6, GROUP_V6, report),
        "mld_v1_done": mld(HOST_V6, "ff02::2", ICMPv6MLDone(mladdr=GROUP_V6)),
        "mld_v2_join": mld_report((TO_EXCLUDE, GROUP_V6, [])),
        "mld_v2_leave": mld_report((TO_INCLUDE, GROUP_V6, [])),
        "mld_v2_two": mld_report((IS_EXCLUDE, GROUP_V6, []),
                                 (IS_INCLUDE, "ff3e::7", SOURCES_V6)),
    }


def frames():
    """All, in the order of the header, which has a name for each."""
    made = {**arp_nd_echo(), **igmp_heard(), **igmp_said(), **mld_frames()}
    with open(HEADER, encoding="utf-8") as file:
        names = re.findall(r"\bX\((\w+)\)", file.read())
    if sorted(names) != sorted(made):
        sys.exit(f"frames.py: {set(names) ^ set(made)}: in one of {HEADER} "
                 "and this script")
    return [bytes(made[name]) for name in names]


def main():
    if len(sys.argv) not in (2, 3) or \
            (len(sys.argv) == 3 and sys.argv[1] != "--check"):
        print(__doc__.split("\n", 1)[0], file=sys.stderr)
        return 2
    made = frames()
    if len(sys.argv) == 2:
        wrpcap(sys.argv[1], [Ether(frame) for frame in made])
        return 0
    there = [frame for frame, _ in RawPcapReader(sys.argv[2])]
    wrong = [at for at, pair in enumerate(zip(made, there))
             if pair[0] != pair[1]]
    print(f"{len(there)} frames, {len(made)} made, other ones: {wrong}",
          file=sys.stderr)
    return 1 if wrong or len(made) != len(there) else 0


if __name__ == "__main__":
    sys.exit(main())
