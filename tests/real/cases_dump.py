# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost dump beside programs that run, read by tcpdump and by tshark: frames,
filters, why frames were dropped or sent again; and a reader that is killed or
slow harms nobody."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import cases_hub
from cases_hub import hub
from harness import Case, Failure, Skip
from process import wait_until
from wire import MACS, Wire

FRAMES = 10
MANY = 500
WAIT_S = 30
SEND_OPCODES = {0, 1, 2, 3, 4, 5, 17}
UD_SEND_ONLY = 100
MAD_OFFSET = 14 + 20 + 8 + 12 + 8
# Puts a frame on an interface, from the file at its stdin.
SENDER = ("import socket,sys;s=socket.socket(socket.AF_PACKET,"
          "socket.SOCK_RAW);s.bind((sys.argv[1],0));"
          "[s.send(bytes.fromhex(sys.argv[2])) for _ in range(3)]")


PINGPONG = ["ibv_rc_pingpong", "-g", "1", "-n", "100000000"]


def pair(room, start, peer, words):
    """A pair that goes on. start(end, title, words): keyword arguments.
    Returns both ends."""
    port = room.next_port()
    words = [*words, "-p", str(port)]
    ends = (start("left", "server", words),
            start("right", "client", [*words, peer]))
    both = room.pair_start(*ends, port)
    if not wait_until(lambda: all(
            is_connected(room, process, end.get("netns"))
            for process, end in zip(both, ends)), WAIT_S, 0.1):
        raise Failure("no connection")
    return both


def is_connected(room, process, netns):
    done = room.run(f"qp-{process.pid}", room.roost(
        "ctl", "--pid", str(process.pid), "--json", "show", "qp"), netns)
    return done.status == 0 and \
        re.search(r'"RT[RS]"', done.out()) is not None


def at_hub(room, words=None):
    room.defer(cases_hub.gone)
    return pair(room, lambda _end, title, behind:
                {"title": title, "argv": hub(room, *behind)}, "localhost",
                words or PINGPONG)


def on_wire(room, words):
    """Returns the wire, and both ends."""
    wire = Wire(room)
    both = pair(room, lambda end, title, words: wire.start(
        end, title, ["--ip", f"198.18.0.{1 if end == 'left' else 2}/24"],
        words), "198.19.0.1", words)
    return wire, both


def dump_words(room, pid, *options):
    return room.roost("dump", "--pid", str(pid), *options)


def dump(room, title, pid, *options, netns=None):
    """Returns what tshark finds in the frames: (opcode, QPN, comment,
    interface, direction) of each."""
    path = room.path(f"{title}.pcapng")
    done = room.run(title, dump_words(room, pid, *options, "-w", path), netns)
    if done.status != 0:
        raise Failure(f"{title}: exit status {done.status}: {done.err()}")
    return dissect(path)


def dissect(path):
    if not shutil.which("tshark"):
        raise Skip("no tshark")
    fields = ("infiniband.bth.opcode", "infiniband.bth.destqp",
              "frame.comment", "frame.interface_name",
              "frame.packet_flags_direction")
    words = ["tshark", "-n", "-r", path, "-T", "fields",
             *(word for field in fields for word in ("-e", field))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode != 0:
        raise Failure(f"tshark: {done.stderr}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def qpn_of(room, pid):
    words = room.roost("ctl", "--pid", str(pid), "--json", "show", "qp")
    done = room.run(f"qp-{pid}", words)
    return command_json(done)["devices"][0]["qps"][0]["qpn"]


def command_json(done):
    return json.loads(done.out())


def packets(path):
    """The packets of a pcapng file: (bytes, direction); a reader that knows
    nothing of the writer."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("=II", data, at)
        if struct.unpack_from("=I", data, at + length - 4)[0] != length:
            raise Failure(f"{path}: a block whose two lengths differ")
        if kind == 6:
            captured = struct.unpack_from("=I", data, at + 20)[0]
            options = data[at + 28 + (captured + 3) // 4 * 4:at + length - 4]
            found.append((data[at + 28:at + 28 + captured], dict(
                each(options))))
        at += length
    if at != len(data):
        raise Failure(f"{path}: it ends within a block")
    return found


def each(options):
    while options:
        code, length = struct.unpack_from("=HH", options)
        if code == 0:
            return
        yield code, options[4:4 + length]
        options = options[4 + (length + 3) // 4 * 4:]


# ---- what it shows ---------------------------------------------------------

def pipes(room):
    """The pipe of the manual: tcpdump counts ten frames, live."""
    if not shutil.which("tcpdump"):
        raise Skip("no tcpdump")
    server, _client = at_hub(room)
    done = room.run("tcpdump", ["sh", "-c", '"$@" | tcpdump -n -r -', "sh",
                                *dump_words(room, server.pid, "-c",
                                            str(FRAMES), "-w", "-")])
    lines = [line for line in done.out().splitlines() if ".4791: UDP" in line]
    if done.status != 0 or len(lines) != FRAMES:
        raise Failure(f"tcpdump: {done.out()} {done.err()}")
    # Of both directions, also behind what came while the server had no core.
    rows = dump(room, "frames", server.pid, "-c", str(MANY), "-i", "roost0")
    if len(rows) != MANY or \
            not {int(row[0]) for row in rows} <= SEND_OPCODES or \
            {row[3] for row in rows} != {"roost0 port 1"} or \
            {int(row[4], 0) for row in rows} != {1, 2}:
        raise Failure(f"tshark: {rows}")


def filters(room):
    """By QP: of both directions, although a packet has one QPN alone."""
    server, client = at_hub(room)
    own, peer = qpn_of(room, server.pid), qpn_of(room, client.pid)
    rows = dump(room, "own", server.pid, "--qp", hex(own), "-c", "40")
    if {int(row[1], 16) for row in rows} != {own, peer} or len(rows) != 40:
        raise Failure(f"--qp {own:#x}: {rows}")
    rows = dump(room, "peer", server.pid, "--qp", str(peer), "--addr",
                "198.18.0.1", "-s", "64", "-c", "4")
    if {int(row[1], 16) for row in rows} != {peer} or len(rows) != 4:
        raise Failure(f"--qp {peer:#x}: {rows}")
    for frame, _options in packets(room.path("peer.pcapng")):
        if len(frame) > 64:
            raise Failure(f"-s 64: {len(frame)} bytes")
    for word, value in (("--qp", str(own ^ 1)), ("--addr", "198.18.0.9"),
                        ("--cm-id", "7")):
        none = room.start(f"none{word}", dump_words(
            room, server.pid, word, value, "-w", room.path("none.pcapng")))
        time.sleep(0.5)
        none.signal(signal.SIGINT)
        room.finish(none)
        if none.status != 0 or packets(room.path("none.pcapng")):
            raise Failure(f"{word} {value}: {none.err()}")


def refused(room):
    """What is wrong is said in one line, and nothing is written."""
    server, _client = at_hub(room)
    for words, status in ((["--qp", "0x1000000"], 1), (["--qp", "x"], 1),
                          (["--addr", "nowhere"], 1), (["-s", "63"], 1),
                          (["-B", "1"], 1), (["-i", "roost7"], 1),
                          (["--qp"], 2), (["-c", "0"], 2), (["--what"], 2),
                          (["--qp", "1"] * 9, 1), (["--addr", "1"] * 40, 2)):
        done = room.run("refused", dump_words(room, server.pid, *words))
        if done.status != status or done.out() or \
                len(done.err().splitlines()) != 1:
            raise Failure(f"{words}: exit status {done.status}: {done.out()} "
                          f"{done.err()}")


def again(room):
    """A peer that stands still, with packets to it in flight."""
    server, client = at_hub(room, ["ib_write_bw", "-x", "1", "-F",
                                   "--run_infinitely"])
    server.signal(signal.SIGSTOP)
    room.defer(server.signal, signal.SIGCONT)
    path = room.path("again.pcapng")
    reader = room.start("again", dump_words(room, client.pid, "-w", path))
    seen = wait_until(lambda: os.path.exists(path) and
                      b"retransmission" in read(path), WAIT_S, 0.05)
    reader.signal(signal.SIGTERM)
    room.finish(reader)
    if not seen:
        raise Failure("no packet is sent again")
    sent = [row for row in dissect(path) if row[2] == "retransmission"]
    if not sent or {int(row[4], 0) for row in sent} != {2}:
        raise Failure(f"sent again: {sent}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def drops(room):
    """A frame that comes a second time with an ICRC that is wrong, at an end
    that only answers: it waits for a client that stands still.
    """
    wire, (server, client) = on_wire(room, ["ib_write_bw", "-x", "1", "-F",
                                            "--run_infinitely"])
    netns = wire.netns["left"]
    dump(room, "good", server.pid, "-c", "20", netns=netns)
    frame = next(frame for frame, options in packets(room.path("good.pcapng"))
                 if options[2] == b"\1\0\0\0" and frame[:6] ==
                 bytes.fromhex(MACS["left"].replace(":", "")))
    bad = frame[:-1] + bytes([frame[-1] ^ 1])
    client.signal(signal.SIGSTOP)
    room.defer(client.signal, signal.SIGCONT)
    path = room.path("bad.pcapng")
    reader = room.start("bad", dump_words(room, server.pid, "-w", path), netns)
    if not wait_until(lambda: has_begun(path), WAIT_S):
        raise Failure("the capture does not begin")
    wire.inside("right", "python3", "-c", SENDER, "right", bad.hex())
    seen = wait_until(lambda: b"dropped: icrc" in read(path), WAIT_S, 0.05)
    reader.signal(signal.SIGTERM)
    room.finish(reader)
    dropped = [found for found, options in packets(path)
               if options.get(1) == b"dropped: icrc"]
    if not seen or set(dropped) != {bad}:
        raise Failure(f"dropped: {len(dropped)} frames: "
                      f"{[options.get(1) for _, options in packets(path)]}")


def has_begun(path):
    """Its section is there before frames are."""
    return os.path.exists(path) and read(path)


def packets_in(path):
    return len(read(path)) > 4096


# ---- readers that do harm --------------------------------------------------

def has_memory(process):
    """Has the program the memory of a capture?"""
    with open(f"/proc/{process.pid}/maps") as file:
        return "roost-dump" in file.read()


def goes_on(room, process):
    """Its packets do."""
    rows = [dump(room, f"on{number}", process.pid, "-c", "2")
            for number in range(2)]
    return all(len(row) == 2 for row in rows)


def killed(room):
    server, _client = at_hub(room)
    readers = [room.start(f"reader{number}", dump_words(
        room, server.pid, "-w", room.path(f"reader{number}.pcapng")))
        for number in range(4)]
    if not wait_until(lambda: all(
            os.path.exists(room.path(f"reader{number}.pcapng")) and
            packets_in(room.path(f"reader{number}.pcapng"))
            for number in range(4)), WAIT_S):
        raise Failure("no frames")
    more = room.run("more", dump_words(room, server.pid))
    if more.status != 1 or "4 readers" not in more.err():
        raise Failure(f"a fifth reader: {more.err()}")
    if not has_memory(server):
        raise Failure("no memory of a capture")
    for reader in readers:
        reader.kill()
    if not wait_until(lambda: not has_memory(server), WAIT_S):
        raise Failure("killed readers leave their memory behind")
    fds = [os.readlink(f"/proc/{server.pid}/fd/{fd}")
           for fd in os.listdir(f"/proc/{server.pid}/fd")]
    if any("roost-dump" in name for name in fds):
        raise Failure(f"descriptors are left: {fds}")
    if not goes_on(room, server):
        raise Failure("the program stands still")


def slow(room):
    """A reader that reads nothing for a second: the program goes on, and the
    reader is told how many frames it has missed."""
    server, client = at_hub(room)
    words = dump_words(room, server.pid, "-B", "64", "-w", "-")
    with open(room.path("slow.err"), "wb") as err:
        reader = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=err,
                                  env=room.env)
    room.defer(reader.kill)
    before = count(room, server, "before")
    if not wait_until(lambda: count(room, server, "during") > before + 10000,
                      WAIT_S, 0.2):
        raise Failure("the program waits for its reader")
    client.kill()
    server.kill()
    data, _ = reader.communicate(timeout=WAIT_S)
    if reader.returncode != 0:
        raise Failure(f"the reader: exit status {reader.returncode}")
    with open(room.path("slow.pcapng"), "wb") as file:
        file.write(data)
    missed = sum(struct.unpack("=Q", options[4])[0] for _frame, options in
                 packets(room.path("slow.pcapng")) if 4 in options)
    said = read(room.path("slow.err")).decode()
    # The last ones are before no packet.
    others = re.search(r"; (\d+) others not recorded", said)
    if missed == 0 or others is None or int(others[1]) < missed:
        raise Failure(f"{missed} frames are missing; it says: {said}")


def count(room, process, title):
    done = room.run(title, room.roost("ctl", "--pid", str(process.pid), "-j",
                                      "show", "counters"))
    return command_json(done)["devices"][0]["counters"]["rx_packets"]


def ends(room):
    """The capture ends with the program, and the file is whole."""
    server, client = at_hub(room)
    path = room.path("ends.pcapng")
    reader = room.start("reader", dump_words(room, client.pid, "-w", path))
    if not wait_until(lambda: os.path.exists(path) and packets_in(path),
                      WAIT_S):
        raise Failure("no frames")
    client.kill()
    server.kill()
    room.finish(reader)
    if reader.status != 0 or not packets(path):
        raise Failure(f"exit status {reader.status}: {reader.err()}")


# ---- a daemon --------------------------------------------------------------

def hub_pid(room):
    done = room.run("list", room.roost("ctl", "--json", "list"))
    return next(process["pid"] for process in command_json(done)
                if process["program"] == "roostd")


def daemon(room):
    """Messages of the CM pass through the daemon: of whom, to whom. They are
    found again by their communication id."""
    room.defer(cases_hub.gone)
    address, port = cases_hub.ADDRESS, room.next_port()
    server = room.start("server", hub(room, "rping", "-s", "-C", "1", "-a",
                                      address, "-p", str(port)))
    if not wait_until(lambda: cases_hub.hub_name() in
                      cases_hub.sockets(), WAIT_S):
        raise Failure("no hub")
    path = room.path("daemon.pcapng")
    if not wait_until(lambda: room.run("probe", room.roost(
            "ctl", "list")).out().count("ACTIVE") >= 2, WAIT_S, 0.2):
        raise Failure("no server")
    reader = room.start("reader", dump_words(room, hub_pid(room), "-w", path))
    if not wait_until(lambda: has_begun(path), WAIT_S):
        raise Failure("the capture does not begin")
    client = room.start("client", hub(room, "rping", "-c", "-C", "1", "-a",
                                      address, "-p", str(port)))
    for process in (client, server):
        room.finish(process)
    reader.signal(signal.SIGINT)
    room.finish(reader)
    mads = [(frame, options.get(1, b"")) for frame, options in packets(path)
            if len(frame) > MAD_OFFSET + 24 and frame[42] == UD_SEND_ONLY]
    kinds = {struct.unpack_from(">H", frame, MAD_OFFSET + 16)[0]
             for frame, _comment in mads}
    # REQ, REP, RTU, DREQ.
    if not {0x10, 0x13, 0x14, 0x15} <= kinds:
        raise Failure(f"messages: {kinds}; {reader.err()}")
    comments = [comment for _frame, comment in mads]
    if not all(comment.startswith(b"from client ") for comment in comments) or \
            not any(b" to client " in comment for comment in comments):
        raise Failure(f"comments: {comments}")
    if {row[3] for row in dissect(path)} != {"hub clients"}:
        raise Failure("interfaces")


CASES = [
    Case("dump-pipes", pipes),
    Case("dump-filters", filters),
    Case("dump-refused", refused),
    Case("dump-again", again),
    Case("dump-drops", drops),
    Case("dump-killed", killed),
    Case("dump-slow", slow),
    Case("dump-ends", ends),
    Case("dump-daemon", daemon),
]
