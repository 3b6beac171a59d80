# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A switch of two ports that does harm: it runs in a namespace between two
others, and passes frames from one interface to the other one.

usage: relay.py IF IF [longest=BYTES] [lose=N] [swap=N] [lose-roce=N] [mark]

longest: longer IP packets are dropped. lose: of ICMP, each Nth is. swap: each
Nth of ICMP that leaves by the second interface is kept until the next one has
passed. lose-roce: of RoCEv2, each Nth is dropped. mark: ECN-capable packets get
the mark of congestion.
"""

import select
import socket
import sys

ALL = 0x0003  # ETH_P_ALL
IP_AT = 14
ICMP = 1
UDP = 17
ROCE = (4791).to_bytes(2, "big")
OUTGOING = 4  # PACKET_OUTGOING
SOL_PACKET, VNET_HDR, VNET_HDR_BYTES = 263, 15, 10


def is_icmp(frame):
    return frame[12:14] == b"\x08\x00" and frame[IP_AT + 9] == ICMP


def is_roce(frame):
    return frame[12:14] == b"\x08\x00" and frame[IP_AT + 9] == UDP and \
        frame[IP_AT + 22:IP_AT + 24] == ROCE


def mark(frame):
    """CE, and the checksum of the header with it (RFC 1624)."""
    if frame[12:14] != b"\x08\x00" or frame[IP_AT + 1] & 3 in (0, 3):
        return frame
    changed = bytearray(frame)
    changed[IP_AT + 1] |= 3
    changed[IP_AT + 10:IP_AT + 12] = b"\0\0"
    header = changed[IP_AT:IP_AT + 4 * (changed[IP_AT] & 15)]
    total = sum(header[i] << 8 | header[i + 1]
                for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    changed[IP_AT + 10:IP_AT + 12] = (total ^ 0xffff).to_bytes(2, "big")
    return bytes(changed)


class Way:
    """One direction."""

    def __init__(self, to, harm):
        self.to = to
        self.harm = harm
        self.nb_icmp = 0
        self.nb_roce = 0
        self.kept = None

    def send(self, head, frame):
        try:
            self.to.send(head + (mark(frame) if "mark" in self.harm else
                                 frame))
        except OSError:
            pass  # longer than the interface's MTU

    def take(self, data):
        head, frame = data[:VNET_HDR_BYTES], data[VNET_HDR_BYTES:]
        if len(frame) - IP_AT > self.harm.get("longest", 1 << 16):
            return
        if is_roce(frame):
            self.nb_roce += 1
            if self.nb_roce % self.harm.get("lose-roce", 1 << 30) == 0:
                return
        if not is_icmp(frame):
            self.send(head, frame)
            return
        self.nb_icmp += 1
        if self.nb_icmp % self.harm.get("lose", 1 << 30) == 0:
            return
        if self.kept is None and \
                self.nb_icmp % self.harm.get("swap", 1 << 30) == 0:
            self.kept = head, frame
            return
        self.send(head, frame)
        if self.kept is not None:
            self.send(*self.kept)
            self.kept = None


def main():
    harm = {}
    for word in sys.argv[3:]:
        name, _, value = word.partition("=")
        harm[name] = int(value or 1)
    sockets = []
    for name in sys.argv[1:3]:
        sockets.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                     socket.htons(ALL)))
        sockets[-1].bind((name, ALL))
        # Before each frame, what is left to be done of it: checksums of TCP
        # pass undone, as they pass a pair of veth.
        sockets[-1].setsockopt(SOL_PACKET, VNET_HDR, 1)
    # Swapped both ways, replies would come in order again.
    back = {name: value for name, value in harm.items() if name != "swap"}
    ways = {sockets[0]: Way(sockets[1], harm),
            sockets[1]: Way(sockets[0], back)}
    print("relay", flush=True)
    while True:
        for ready in select.select(sockets, [], [])[0]:
            data, where = ready.recvfrom(VNET_HDR_BYTES + 65536)
            if where[2] != OUTGOING:
                ways[ready].take(data)


if __name__ == "__main__":
    main()
