# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: bridge.py INTERFACE INTERFACE PERCENT SEED [CM_DELAY_S]

Carries frames from one interface to the other until SIGTERM, and loses
PERCENT of those that are RoCEv2, at random from SEED. Messages of the
connection manager come CM_DELAY_S later. Everything else passes. It says which
packets it loses.
Each frame keeps its virtio header with what the kernels left for later: the
checksums of TCP, and its segments.
"""

import random
import select
import signal
import socket
import struct
import sys
import time

ETH_P_ALL = 3
FRAME_BYTES = 1 << 17
VNET_HDR_BYTES = 10
ROCE_PORT = struct.pack("!H", 4791)
CM_QPN = 1
ETH_IPV4, ETH_IPV6 = b"\x08\x00", b"\x86\xdd"
SO_BUFFER_BYTES = 8 << 20
PACKET_IGNORE_OUTGOING = 23
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_PROMISC = 1
PACKET_VNET_HDR = 15
SOL_PACKET = 263
SO_RCVBUFFORCE = 33


def is_roce(frame):
    """Whether its UDP destination port is RoCEv2's; no VLAN, no options."""
    if frame[12:14] == ETH_IPV4:
        return frame[23] == socket.IPPROTO_UDP and frame[36:38] == ROCE_PORT
    return (frame[12:14] == ETH_IPV6 and frame[20] == socket.IPPROTO_UDP and
            frame[56:58] == ROCE_PORT)


def bth_of(frame):
    """Of a RoCEv2 frame: opcode, destination QPN, PSN."""
    bth = 42 if frame[12:14] == ETH_IPV4 else 62
    return (frame[bth], int.from_bytes(frame[bth + 5:bth + 8], "big"),
            int.from_bytes(frame[bth + 9:bth + 12], "big"))


def open_interface(name):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SO_BUFFER_BYTES)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.bind((name, ETH_P_ALL))
    # Frames for others, too.
    index = socket.if_nametoindex(name)
    end.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                   struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b""))
    return end


class Stop(Exception):
    """SIGTERM came."""


def on_term(_signal, _frame):
    raise Stop


class Dice:
    """Decides which RoCEv2 packets are lost, and tells."""

    def __init__(self, share, seed):
        self.share = share
        self.random = random.Random(seed)
        self.seen = 0
        self.lost = 0

    def loses(self, frame):
        self.seen += 1
        if self.random.random() >= self.share:
            return False
        self.lost += 1
        opcode, qpn, psn = bth_of(frame)
        print(f"lost opcode {opcode:#x} to QP {qpn:#x} PSN {psn:#x}",
              flush=True)
        return True


def carry(ends, cm_delay_s, dice):
    late = []  # (when, to, frame), the next one first
    while True:
        now = time.monotonic()
        while late and late[0][0] <= now:
            _when, to, frame = late.pop(0)
            to.send(frame)
        wait_s = late[0][0] - now if late else None
        for end in select.select(ends, [], [], wait_s)[0]:
            frame = end.recv(FRAME_BYTES)
            to = ends[end is ends[0]]
            head = frame[VNET_HDR_BYTES:][:80]
            if is_roce(head):
                if dice.loses(head):
                    continue
                if cm_delay_s and bth_of(head)[1] == CM_QPN:
                    late.append((time.monotonic() + cm_delay_s, to, frame))
                    continue
            to.send(frame)


def main():
    names, percent, seed = sys.argv[1:3], float(sys.argv[3]), sys.argv[4]
    cm_delay_s = float(sys.argv[5]) if len(sys.argv) > 5 else 0
    ends = [open_interface(name) for name in names]
    dice = Dice(percent / 100, int(seed))
    signal.signal(signal.SIGTERM, on_term)
    print(f"joined {' '.join(names)}, seed {seed}", flush=True)
    try:
        carry(ends, cm_delay_s, dice)
    except Stop:
        pass
    print(f"lost {dice.lost} of {dice.seen} RoCEv2 packets", flush=True)


if __name__ == "__main__":
    main()
