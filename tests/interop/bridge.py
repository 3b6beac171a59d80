# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: bridge.py INTERFACE INTERFACE PERCENT SEED

Carries frames from one interface to the other until SIGTERM, and loses
PERCENT of those that are RoCEv2, at random from SEED. Everything else passes.
Each frame keeps its virtio header with what the kernels left for later: the
checksums of TCP, and its segments.
"""

import random
import select
import signal
import socket
import struct
import sys

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


def carry(ends, share, dice, counts):
    while True:
        for end in select.select(ends, [], [])[0]:
            frame = end.recv(FRAME_BYTES)
            if is_roce(frame[VNET_HDR_BYTES:][:64]):
                counts["roce"] += 1
                if dice.random() < share:
                    counts["lost"] += 1
                    continue
            ends[end is ends[0]].send(frame)


def main():
    names, percent, seed = sys.argv[1:3], sys.argv[3], sys.argv[4]
    ends = [open_interface(name) for name in names]
    counts = {"roce": 0, "lost": 0}
    signal.signal(signal.SIGTERM, on_term)
    print(f"joined {' '.join(names)}, seed {seed}", flush=True)
    try:
        carry(ends, float(percent) / 100, random.Random(int(seed)), counts)
    except Stop:
        pass
    print(f"lost {counts['lost']} of {counts['roce']} RoCEv2 packets",
          flush=True)


if __name__ == "__main__":
    main()
