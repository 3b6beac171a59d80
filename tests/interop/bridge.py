# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: bridge.py INTERFACE INTERFACE PERCENT SEED [CM_DELAY_S]

Carries frames from one interface to the other until SIGTERM, and loses
PERCENT of those that are RoCEv2, at random from SEED. Messages of the
connection manager come CM_DELAY_S later. Everything else passes.
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


def is_cm(frame):
    """Of a RoCEv2 frame: whether it is for QP 1."""
    bth = 42 if frame[12:14] == ETH_IPV4 else 62
    return frame[bth + 5:bth + 8] == b"\0\0\1"


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


def carry(ends, share, cm_delay_s, dice, counts):
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
                counts["roce"] += 1
                if dice.random() < share:
                    counts["lost"] += 1
                    continue
                if cm_delay_s and is_cm(head):
                    late.append((time.monotonic() + cm_delay_s, to, frame))
                    continue
            to.send(frame)


def main():
    names, percent, seed = sys.argv[1:3], float(sys.argv[3]), sys.argv[4]
    cm_delay_s = float(sys.argv[5]) if len(sys.argv) > 5 else 0
    ends = [open_interface(name) for name in names]
    counts = {"roce": 0, "lost": 0}
    signal.signal(signal.SIGTERM, on_term)
    print(f"joined {' '.join(names)}, seed {seed}", flush=True)
    try:
        carry(ends, percent / 100, cm_delay_s, random.Random(int(seed)),
              counts)
    except Stop:
        pass
    print(f"lost {counts['lost']} of {counts['roce']} RoCEv2 packets",
          flush=True)


if __name__ == "__main__":
    main()
