# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The agent inside the device's machine (agent_main.c), and the wire outside:
the two ends of one device."""

import os
import select
import shlex
import socket
import struct
import subprocess
import threading
import time

import frames

ETH_P_ALL, ETH_P_ARP, ETH_P_IPV6 = 0x0003, 0x0806, 0x86dd
# <linux/if_packet.h>
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1
OUTGOING = 4  # PACKET_OUTGOING
BROADCAST = b"\xff" * 6
AGENT_S = 60
ARP_TRIES, ARP_TRY_S = 30, 1


class CannotRun(Exception):
    """The suite cannot go on; the text says why."""


class Refused(Exception):
    """A verbs call failed; the text is that of errno."""


class Agent:
    """A process that answers commands, by its standard streams."""

    def __init__(self, command):
        self.process = subprocess.Popen(shlex.split(command), bufsize=0,
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.unread = b""
        ready = self.answer("the agent does not start")
        self.device = ready["device"]
        self.gid = bytes.fromhex(ready["gid"])
        # None: the device has no link-local one.
        self.gid6 = bytes.fromhex(ready["gid6"]) if "gid6" in ready else None

    def line(self):
        """None: there is none in time, or the agent is gone."""
        end_s = time.monotonic() + AGENT_S
        while b"\n" not in self.unread:
            left_s = end_s - time.monotonic()
            if left_s <= 0 or not select.select([self.process.stdout], [], [],
                                                left_s)[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                return None
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def answer(self, what):
        line = self.line()
        if line is None:
            raise CannotRun(f"{what}: no answer")
        word, _, rest = line.partition(" ")
        if word != "ok":
            raise Refused(f"{what}: {rest}")
        return dict(pair.split("=", 1) for pair in rest.split())

    def ask(self, command, **words):
        """Returns {name: text} of the answer."""
        line = " ".join([command, *(f"{name}={value}"
                                    for name, value in words.items())])
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except OSError as e:
            raise CannotRun(f"the agent is gone: {e}") from e
        return self.answer(command)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(AGENT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def packet_socket(interface, protocol):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(protocol))
    sock.bind((interface, protocol))
    return sock


class Ipv6End:
    """The tester's link-local address on a wire, of a MAC that is nobody's: so
    the kernel sees nothing of it. Neighbor Discovery is answered here.
    """

    def __init__(self, interface):
        self.sock = packet_socket(interface, ETH_P_IPV6)
        index = socket.if_nametoindex(interface)
        self.sock.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack(
            "IHH8s", index, PACKET_MR_PROMISC, 0, bytes(8)))
        mac = self.sock.getsockname()[4]
        self.mac = bytes([mac[0] | 2]) + mac[1:5] + bytes([mac[5] ^ 0x40])
        # Devices know the MAC of such an address without asking for it.
        self.address = b"\xfe\x80" + bytes(6) + bytes([self.mac[0] ^ 2]) + \
            self.mac[1:3] + b"\xff\xfe" + self.mac[3:]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            frame, where = self.sock.recvfrom(2048)
            if where[2] != OUTGOING and \
                    frames.solicits(frame, self.address):
                self.sock.send(frames.advertisement(frame, self.mac,
                                                    self.address))


class Wire:
    """The tester's end: an interface, and an address on it that is nobody's
    else, for which ARP is answered here.
    """

    def __init__(self, interface, address):
        self.sock = packet_socket(interface, ETH_P_ALL)
        self.arp = packet_socket(interface, ETH_P_ARP)
        self.mac = self.sock.getsockname()[4]
        self.address = address
        self.ipv6 = Ipv6End(interface)
        self.peer = None
        self.peer_mac = None
        self.known = threading.Event()
        threading.Thread(target=self.serve_arp, daemon=True).start()

    def say_arp(self, operation, to_mac, to_address):
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
        self.arp.send(to_mac + self.mac + b"\x08\x06" + body + self.mac +
                      socket.inet_aton(self.address) +
                      (bytes(6) if operation == 1 else to_mac) + to_address)

    def serve_arp(self):
        ours = socket.inet_aton(self.address)
        while True:
            frame, where = self.arp.recvfrom(2048)
            if where[2] == OUTGOING or len(frame) < 42:
                continue
            operation = int.from_bytes(frame[20:22], "big")
            mac, address = frame[22:28], frame[28:32]
            if self.peer is not None and address == self.peer:
                self.peer_mac = mac
                self.known.set()
            if operation == 1 and frame[38:42] == ours:
                self.say_arp(2, mac, address)

    def find(self, gid):
        """By ARP, the MAC of the device with that GID."""
        self.peer = gid[12:]
        for _ in range(ARP_TRIES):
            self.say_arp(1, BROADCAST, self.peer)
            if self.known.wait(ARP_TRY_S):
                return
        raise CannotRun(f"{socket.inet_ntoa(self.peer)} does not answer ARP")

    def settle(self, limit_s):
        """Waits until the device has taken what was sent before: its answer to
        ARP comes behind that.
        """
        self.known.clear()
        self.say_arp(1, BROADCAST, self.peer)
        self.known.wait(limit_s)

    def ends(self):
        """Fields of the headers below UDP, for what is sent."""
        return {"src_mac": self.mac.hex(":"), "dst_mac":
                self.peer_mac.hex(":"), "src": self.address,
                "dst": socket.inet_ntoa(self.peer)}

    def send(self, frame):
        self.sock.send(frame)

    def seek(self, found, limit_s):
        """What found() makes of the device's next frame with which it does not
        answer None; None after limit_s.
        """
        end_s = time.monotonic() + limit_s
        while True:
            left_s = max(0, end_s - time.monotonic())
            if not select.select([self.sock], [], [], left_s)[0]:
                return None
            frame, where = self.sock.recvfrom(65536)
            seen = None if where[2] == OUTGOING else found(frame)
            if seen is not None:
                return seen

    def receive(self, qpn, limit_s):
        """The device's next packet for that QP of ours, None after limit_s."""
        def found(frame):
            if not frames.is_answer(frame):
                return None
            answer = frames.Answer(frame)
            return answer if answer.qpn == qpn else None
        return self.seek(found, limit_s)
