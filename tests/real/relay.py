# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A switch of two ports that does harm, until SIGTERM: it runs in a namespace
between two others, and passes frames from one interface to the other one.

usage: relay.py IF IF [NAME=VALUE ...]

  longest=BYTES  longer IP packets are dropped
  lose=N         of ICMP, each Nth is dropped
  swap=N         each Nth of ICMP that leaves by the second interface is kept
                 until the next one has passed
  lose-roce=N    of RoCEv2, each Nth is dropped
  percent=P      so many of RoCEv2 are dropped, by chance; it says which ones
  seed=N         of the chance
  cm-delay=S     messages of the connection manager come so many seconds later
  mark           ECN-capable packets get the mark of congestion
  rate=MBPS      each way out is a wire of this rate with a queue before it,
  queue=FRAMES   which loses what it has no room for,
  mark-at=FRAMES and marks ECN-capable packets when so many are in it

At its end it says what it did to RoCEv2. Each frame keeps its virtio header
with what the kernels left for later: the checksums of TCP, and its segments.
"""

import collections
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
HEADERS_BYTES = 80
IP_AT = 14
ROCE_PORT = struct.pack("!H", 4791)
CM_QPN = 1
ETH_IPV4, ETH_IPV6 = b"\x08\x00", b"\x86\xdd"
# Preamble, FCS and gap: what a frame takes of a wire beside its bytes.
WIRE_BYTES = 24
SO_BUFFER_BYTES = 8 << 20
PACKET_IGNORE_OUTGOING = 23
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_PROMISC = 1
PACKET_VNET_HDR = 15
SOL_PACKET = 263
SO_RCVBUFFORCE = 33
FOR_EVER = 1 << 30


def is_icmp(frame):
    return frame[12:14] == ETH_IPV4 and \
        frame[IP_AT + 9] == socket.IPPROTO_ICMP


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


def mark(data):
    """CE for an ECN-capable packet of IPv4, and the checksum of its header with
    that (RFC 1624); None: it is not ECN-capable."""
    at = VNET_HDR_BYTES + IP_AT
    if data[at - 2:at] != ETH_IPV4 or data[at + 1] & 3 in (0, 3):
        return None
    changed = bytearray(data)
    changed[at + 1] |= 3
    changed[at + 10:at + 12] = b"\0\0"
    header = changed[at:at + 4 * (changed[at] & 15)]
    total = sum(header[i] << 8 | header[i + 1]
                for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    changed[at + 10:at + 12] = (total ^ 0xffff).to_bytes(2, "big")
    return bytes(changed)


class Wire:
    """The way out: at once, or by a rate and a queue."""

    def __init__(self, to, harm):
        self.to = to
        rate_mbps = harm.get("rate", 0)
        self.ns_of_byte = 8e3 / rate_mbps if rate_mbps else 0
        self.room = harm.get("queue", FOR_EVER)
        self.mark_at = 0 if "mark" in harm else harm.get("mark-at", FOR_EVER)
        self.queue = collections.deque()  # (when it has left, data)
        self.free_at = 0
        self.marked = self.full = self.most = 0

    def send(self, data):
        if len(self.queue) >= self.mark_at:
            changed = mark(data)
            if changed:
                self.marked += 1
                data = changed
        if not self.ns_of_byte:
            self.put(data)
            return
        if len(self.queue) >= self.room:
            self.full += 1
            return
        nb_bytes = len(data) - VNET_HDR_BYTES + WIRE_BYTES
        self.free_at = max(self.free_at, time.monotonic_ns()) + \
            self.ns_of_byte * nb_bytes
        self.queue.append((self.free_at, data))
        self.most = max(self.most, len(self.queue))

    def put(self, data):
        try:
            self.to.send(data)
        except OSError:
            pass  # longer than the interface's MTU

    def due_ns(self):
        return self.queue[0][0] if self.queue else None

    def go_on(self, now_ns):
        while self.queue and self.queue[0][0] <= now_ns:
            self.put(self.queue.popleft()[1])


class Way:
    """One direction."""

    def __init__(self, name, to, harm):
        self.wire = Wire(to, harm)
        self.harm = harm
        self.chance = harm.get("percent", 0) / 100
        self.random = random.Random(f"{harm.get('seed', 1)} to {name}")
        self.nb_icmp = self.nb_roce = self.nb_lost = 0
        self.kept = None
        self.late = collections.deque()  # (when, data)

    def loses(self, frame):
        self.nb_roce += 1
        if self.nb_roce % self.harm.get("lose-roce", FOR_EVER) == 0:
            self.nb_lost += 1
            return True
        if self.random.random() >= self.chance:
            return False
        self.nb_lost += 1
        opcode, qpn, psn = bth_of(frame)
        print(f"lost opcode {opcode:#x} to QP {qpn:#x} PSN {psn:#x}",
              flush=True)
        return True

    def take_icmp(self, data):
        self.nb_icmp += 1
        if self.nb_icmp % self.harm.get("lose", FOR_EVER) == 0:
            return
        if self.kept is None and \
                self.nb_icmp % self.harm.get("swap", FOR_EVER) == 0:
            self.kept = data
            return
        self.wire.send(data)
        if self.kept is not None:
            self.wire.send(self.kept)
            self.kept = None

    def take(self, data):
        frame = data[VNET_HDR_BYTES:][:HEADERS_BYTES]
        if len(data) - VNET_HDR_BYTES - IP_AT > \
                self.harm.get("longest", FOR_EVER):
            return
        if is_icmp(frame):
            self.take_icmp(data)
            return
        if is_roce(frame):
            if self.loses(frame):
                return
            if "cm-delay" in self.harm and bth_of(frame)[1] == CM_QPN:
                self.late.append((time.monotonic_ns() +
                                  1e9 * self.harm["cm-delay"], data))
                return
        self.wire.send(data)

    def due_ns(self):
        return min((due for due in (
            self.wire.due_ns(), self.late[0][0] if self.late else None)
            if due is not None), default=None)

    def go_on(self, now_ns):
        while self.late and self.late[0][0] <= now_ns:
            self.wire.send(self.late.popleft()[1])
        self.wire.go_on(now_ns)


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


def carry(ways):
    while True:
        due = min((way.due_ns() for way in ways.values()
                   if way.due_ns() is not None), default=None)
        wait_s = None if due is None else \
            max(0, (due - time.monotonic_ns()) / 1e9)
        for ready in select.select(ways, [], [], wait_s)[0]:
            ways[ready].take(ready.recv(FRAME_BYTES))
        now_ns = time.monotonic_ns()
        for way in ways.values():
            way.go_on(now_ns)


def main():
    harm = {}
    for word in sys.argv[3:]:
        name, _, value = word.partition("=")
        harm[name] = float(value or 1)
    names = sys.argv[1:3]
    ends = [open_interface(name) for name in names]
    # Swapped both ways, replies would come in order again.
    back = {name: value for name, value in harm.items() if name != "swap"}
    ways = {ends[0]: Way(names[1], ends[1], harm),
            ends[1]: Way(names[0], ends[0], back)}
    signal.signal(signal.SIGTERM, on_term)
    print(f"joined {' '.join(names)}", flush=True)
    try:
        carry(ways)
    except Stop:
        pass
    ways = list(ways.values())
    for way in ways:
        print(f"marked {way.wire.marked}, no room for {way.wire.full}, at most "
              f"{way.wire.most} in the queue")
    print(f"lost {sum(way.nb_lost for way in ways)} of "
          f"{sum(way.nb_roce for way in ways)} RoCEv2 packets", flush=True)


if __name__ == "__main__":
    main()
