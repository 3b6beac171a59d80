# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Raw packet QPs and flow rules: raw.c, an ordinary program, answers the
kernel's ARP and UDP by a stack of its own, and sees what passes as libpcap's
RDMA sniffer does."""

import os
import socket
import struct
import zlib

import dissect
from harness import Case, Failure
from process import wait_until
from wire import ENDS, MACS, TCP_ADDRESSES, Tap, Wire

# Of nobody but the program's stack.
ADDRESS = "198.19.0.77"
# Of nobody at all.
STRANGER = "198.19.0.99"
PORT = 7000
COUNT = 40
NOT_ALLOWED = 77

# Datagrams of many sizes, each compared with what comes back; a lost one is
# sent again.
CLIENT = f"""
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
for n in range({COUNT}):
    data = os.urandom(1 + n * 37)
    for attempt in range(10):
        s.sendto(data, ("{ADDRESS}", {PORT}))
        try:
            back, peer = s.recvfrom(9000)
        except TimeoutError:
            continue
        break
    assert back == data and peer == ("{ADDRESS}", {PORT}), (n, back, peer)
print("all came back")
"""


def program(room, *words, of="raw"):
    return [os.path.join(room.build, "tests", "real", of),
            *(str(word) for word in words)]


def start(room, wire, end, *words, of="raw"):
    """Returns the program when it says that it is ready."""
    process = room.start(**wire.start(end, "raw", [],
                                      program(room, *words, of=of)))
    if not wait_until(lambda: "raw: ready" in process.err() or
                      process.wait(0) is not None, 30):
        raise Failure("raw does not start")
    return process


def check(room, process, status=0):
    room.finish(process)
    if process.status != status:
        raise Failure(f"{process.title}: exit status {process.status}: "
                      f"{process.err().strip()}")


def stack(room):
    wire = Wire(room)
    # The client may send a datagram twice.
    raw = start(room, wire, "left", "stack", ADDRESS, PORT, COUNT)
    client = room.start("client", ["python3", "-c", CLIENT],
                        netns=wire.netns["right"])
    check(room, client)
    check(room, raw)


def sniff(room):
    """The kernel's datagrams to the port's address, and to another host's."""
    wire = Wire(room)
    path = room.path("sniffed.pcap")
    raw = start(room, wire, "left", "sniff", 2 * COUNT, path)
    wire.inside("right", "ip", "neigh", "add", STRANGER, "lladdr",
                "02:00:00:00:00:99", "dev", "right")
    for address in (TCP_ADDRESSES["left"], STRANGER):
        wire.inside("right", "bash", "-c",
                    f"for i in {{1..{COUNT}}}; do echo $i >"
                    f"/dev/udp/{address}/{PORT}; done")
    check(room, raw)
    for address in (TCP_ADDRESSES["left"], STRANGER):
        seen = dissect.tshark(path, "-Y", f"ip.dst == {address} && "
                              f"udp.dstport == {PORT} && !icmp").splitlines()
        # ARP and ND are among the frames, too.
        if not COUNT // 2 <= len(seen) <= COUNT:
            raise Failure(f"{len(seen)} of {COUNT} datagrams to {address}")


# What raw_offload.c sends.
BYTES, MSS = 10000, 1400
ACK, PSH_FIN, CWR = 0x10, 0x09, 0x80


def segment(number, first, flags, offset, ip_id):
    """As tshark tells it: IPv4 id, sequence number, bytes, flags, the verdicts
    on the checksums, and the data."""
    data = bytes(i % 251 for i in range(offset, min(offset + MSS, BYTES)))
    if offset + MSS < BYTES:
        flags &= ~PSH_FIN
    if number > 0:
        flags &= ~CWR
    return [ip_id, (first + offset) % 2 ** 32, len(data), flags, "1",
            data.hex()]


def seen_segments(path, which, *fields):
    rows = dissect.tshark(
        path, "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
        "-o", "tcp.desegment_tcp_streams:FALSE", "-Y",
        f"tcp.dstport == 7001 && {which}", "-T", "fields",
        *(word for field in fields for word in ("-e", field)))
    return [line.split("\t") for line in rows.splitlines()]


def tso(room):
    """Segments, by the kernel's capture and tshark: all of them, in order."""
    wire = Wire(room)
    tap = Tap(wire, "right")
    tap.wait()
    check(room, room.start(**wire.start(
        "left", "raw", [], program(room, "tso", of="raw_offload"))))
    tap.stop()
    tcp = ("tcp.seq_raw", "tcp.len", "tcp.flags", "tcp.checksum.status",
           "tcp.payload")
    offsets = list(enumerate(range(0, BYTES, MSS)))
    for which, wanted, fields in (
            ("ip", [segment(n, 1000, ACK | PSH_FIN | CWR, at,
                            (0xfffe + n) % 2 ** 16) + ["1"]
                    for n, at in offsets],
             ("ip.id", *tcp, "ip.checksum.status")),
            ("ipv6", [segment(n, 0xffffff00, ACK | 0x08, at, 5)
                      for n, at in offsets], ("vlan.id", *tcp))):
        seen = [[int(word, 0) for word in row[:4]] + row[4:]
                for row in seen_segments(tap.path, which, *fields)]
        for number, (was, want) in enumerate(zip(seen, wanted)):
            if was != want:
                raise Failure(f"{which}: segment {number}: {was[:5]}, not "
                              f"{want[:5]}")
        if len(seen) != len(wanted):
            raise Failure(f"{which}: {len(seen)} segments")


def spread(room):
    """Datagrams in the queue of their Toeplitz hash, which the program
    computes for itself."""
    wire = Wire(room)
    raw = start(room, wire, "left", "spread", PORT, 2 * COUNT,
                of="raw_offload")
    wire.inside("right", "bash", "-c", f"for i in {{1..{4 * COUNT}}}; do echo "
                f"$i >/dev/udp/{TCP_ADDRESSES['left']}/{PORT}; done")
    check(room, raw)


def frames_to_store():
    """Of many sizes, without a tag, with one, with two."""
    for number in range(COUNT):
        tags = [b"\x81\x00" + (0x6005 + n).to_bytes(2, "big")
                for n in range(number % 3)]
        data = os.urandom(18 + number * 35)
        macs = (bytes.fromhex(MACS[end].replace(":", "")) for end in ENDS)
        addresses = (socket.inet_aton(TCP_ADDRESSES[end])
                     for end in reversed(ENDS))
        yield tags, b"".join((
            *macs, b"\x08\x00",
            struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0),
            *addresses, struct.pack(">4H", PORT, PORT, 8 + len(data), 0),
            data))


def store(room):
    """The outer tag is left out, and told; the FCS is that of the frame."""
    wire = Wire(room)
    raw = start(room, wire, "left", "store", PORT, COUNT, of="raw_offload")
    frames = list(frames_to_store())
    whole = [frame[:12] + b"".join(tags) + frame[12:]
             for tags, frame in frames]
    wire.inside("right", "python3", "-c", "import socket, sys\n"
                "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
                "s.bind(('right', 0))\n"
                "for word in sys.argv[1:]: s.send(bytes.fromhex(word))",
                *(frame.hex() for frame in whole))
    check(room, raw)
    wanted = [f"{int.from_bytes(tags[0][2:], 'big') if tags else 0:04x} " +
              (sent[:12] + b"".join(tags[1:]) + frame[12:] +
               zlib.crc32(sent).to_bytes(4, "little")).hex()
              for (tags, frame), sent in zip(frames, whole)]
    for number, (line, want) in enumerate(zip(raw.out().splitlines(),
                                              wanted, strict=True)):
        if line != want:
            raise Failure(f"frame {number}: {line}, not {want}")


def on_link(room, *words):
    return room.run("raw", room.roost("run", "--link", room.link, "--",
                                      *words))


def rules(room):
    check(room, on_link(room, *program(room, "rules")))


def without_capability(room):
    raw = on_link(room, "setpriv", "--bounding-set", "-net_raw",
                  "--inh-caps", "-net_raw", *program(room, "rules"))
    check(room, raw, NOT_ALLOWED)


def on_hub(room):
    """A switch of RoCE carries no other frames."""
    raw = room.run("raw", room.roost("run", "--hub", "--",
                                     *program(room, "rules")))
    if "ibv_create_qp: Operation not supported" not in raw.err():
        raise Failure(f"a hub has raw packet QPs: {raw.err().strip()}")


CASES = [
    Case("raw-stack", stack),
    Case("raw-sniff", sniff),
    Case("raw-tso", tso),
    Case("raw-spread", spread),
    Case("raw-store", store),
    Case("raw-rules", rules),
    Case("raw-without-capability", without_capability),
    Case("raw-on-hub", on_hub),
]
