#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A VLAN interface for a kernel that has none of its own: a tap with the name
PARENT.VLAN, whose frames go out through PARENT with the tag and come from there
without it.

usage: vlan_tap.py PARENT VLAN

Says "forwarding" when it does, and ends when it is killed. The tap goes then.
"""

import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF = 0x400454ca
SIOCGIFHWADDR, SIOCSIFHWADDR = 0x8927, 0x8924
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
ETH_P_ALL, ETH_P_8021Q = 0x0003, 0x8100
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 1 << 4
# struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci, vlan_tpid
AUXDATA = "=IIIHHHH"
FRAME_MAX = 65536


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF,
                struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def open_parent(parent):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                        socket.htons(ETH_P_ALL))
    raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    raw.bind((parent, ETH_P_ALL))
    return raw


def copy_mac(raw, parent, name):
    """As a VLAN's interface does; a bridge lets others' frames pass by."""
    found = fcntl.ioctl(raw, SIOCGIFHWADDR,
                        struct.pack("16s24x", parent.encode()))
    fcntl.ioctl(raw, SIOCSIFHWADDR,
                struct.pack("16s24s", name.encode(), found[16:]))


def vlan_of(ancillary):
    """The kernel takes the tag out of the frame and tells it beside."""
    for level, kind, data in ancillary:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, _ = struct.unpack_from(AUXDATA, data)
            if status & TP_STATUS_VLAN_VALID:
                return tci & 0xfff
    return None


def main():
    parent, vlan = sys.argv[1], int(sys.argv[2])
    name = f"{parent}.{vlan}"
    tap = open_tap(name)
    raw = open_parent(parent)
    copy_mac(raw, parent, name)
    tag = struct.pack("!HH", ETH_P_8021Q, vlan)
    print("forwarding", flush=True)
    while True:
        ready, _, _ = select.select([tap, raw], [], [])
        if tap in ready:
            frame = os.read(tap, FRAME_MAX)
            raw.send(frame[:12] + tag + frame[12:])
        if raw in ready:
            frame, ancillary, _, sender = raw.recvmsg(FRAME_MAX, 256)
            if sender[2] != socket.PACKET_OUTGOING and \
                    vlan_of(ancillary) == vlan:
                try:
                    os.write(tap, frame)
                except OSError:
                    pass  # it is not up yet


if __name__ == "__main__":
    main()
