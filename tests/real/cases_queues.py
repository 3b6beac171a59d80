# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Ports with a queue for each of two workers: both queues carry traffic, both
ways, and nothing is lost between them; and ports that have fewer queues than
they were asked for."""

import re

import cases_ctl
import cases_taps
import cases_xdp
from cases_taps import TAPS, Bridge, bond
from cases_wire import TCP_ADDRESSES, address_options
from cases_workers import check_ends
from harness import Case, Failure
from process import wait_until
from wire import ENDS, Wire

LIMIT_S = 60
WORKERS = ("--workers", "2")
# Which of two queues a flow takes is chance, where the kernel hashes it. They
# wait a second for an answer: all polling threads share two processors.
QPS = ["-F", "-q", "16", "-u", "18"]
PROGRAMS = [
    ("write-bw", ["ib_write_bw", *QPS, "-n", "100", "-s", "8192"]),
    ("send-bw-both", ["ib_send_bw", *QPS, "-b", "-n", "100", "-s", "4096"]),
    ("send-bw-events", ["ib_send_bw", *QPS, "-e", "-n", "100", "-s", "64"]),
]
LONG = ["ib_write_bw", *QPS, "-D", "6", "-s", "4096"]


# ---- two ends on a port of each kind ---


def on_wire(room, wire, words, options, client):
    """Returns both ends, started, and the namespace of each."""
    port = room.next_port()
    words = [*words, "-p", str(port)]
    ends = room.pair_start(
        wire.start("left", "server", [*address_options("left"), *options],
                   words),
        wire.start("right", "client", [*address_options("right"), *options],
                   [*words, *client]), port)
    return ends, (wire.netns["left"], wire.netns["right"])


def on_packet(room, words, options):
    return on_wire(room, Wire(room), words, options, [TCP_ADDRESSES["left"]])


def on_packet_by_hand(room, words, options):
    """As the user says, who has given one worker two."""
    wire = Wire(room)
    wire.driver = "net_af_packet0,qpairs=2"
    return on_wire(room, wire, words, options, [TCP_ADDRESSES["left"]])


def on_xdp(room, words, options):
    return on_wire(room, cases_xdp.xdp_wire(room, queues=2), words, options,
                   [TCP_ADDRESSES["left"]])


def on_taps(room, words, options, ends=TAPS):
    bridge = Bridge(room)
    pair = cases_taps.pair(room, bridge, ends, words, more=options)
    return pair, (bridge.netns, bridge.netns)


def on_bond(room, words, options):
    return on_taps(room, words, options, (bond(1), TAPS[1]))


PORTS = (("af-packet", on_packet), ("xdp", on_xdp), ("tap", on_taps))


# ---- what passes ---


def finish(room, ends):
    for end in ends:
        room.finish(end, LIMIT_S)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


def passes(room, start, words, options):
    ends, _ = start(room, words, options)
    finish(room, ends)
    check_ends(ends)


def port_of(room, end, netns):
    return cases_ctl.show(room, end, "port", netns=netns)["ports"][0]


def workers_of(room, end, netns):
    return cases_ctl.show(room, end, "worker", netns=netns)["workers"]


def seen(room, start, options=WORKERS):
    """Each worker receives from a queue of its own, at either end, and hands
    over what is another one's."""
    ends, netns = start(room, LONG, options)
    for end, space in zip(ends, netns):
        def all_receive(end=end, space=space):
            return (end.wait(0) is None and cases_ctl.has_socket(end) and
                    all(worker["queue_packets"] > 100 and
                        worker["tx_packets"] > 100
                        for worker in workers_of(room, end, space)))

        if not wait_until(all_receive, 20, 0.2):
            raise Failure(f"{end.title}: a queue is idle")
        shown = port_of(room, end, space)
        if (shown["queues"], shown["steering"]) != (2, "driver"):
            raise Failure(f"{end.title}: {shown['queues']} queues, steering "
                          f"{shown['steering']}")
        handed = [(worker["queue_packets"], worker["handed_over"])
                  for worker in workers_of(room, end, space)]
        if any(over > of for of, over in handed):
            raise Failure(f"{end.title}: more is handed over than came")
        room.note(f"{end.title}: " + ", ".join(
            f"{over} of {of} handed over" for of, over in handed))
    finish(room, ends)
    check_ends(ends)


def one_worker(room):
    """Two queues of which one worker receives: none is forgotten."""
    ends, netns = on_packet_by_hand(room, LONG, [])

    def receives():
        return (cases_ctl.has_socket(ends[0]) and
                workers_of(room, ends[0], netns[0])[0]["rx_packets"] > 100)

    if not wait_until(receives, 20, 0.2):
        raise Failure("nothing is received")
    shown = port_of(room, ends[0], netns[0])
    if (shown["queues"], shown["steering"]) != (2, "none"):
        raise Failure(f"{shown['queues']} queues, {shown['steering']}")
    finish(room, ends)
    check_ends(ends)


def rping(room, start):
    """start: of (end, title, words), of an end by its number."""
    words = ["rping", "-a", "198.18.0.1", "-C", "200", "-V"]
    server = start(0, "server", [*words, "-s"])
    if not wait_until(lambda: server.wait(0) is not None or
                      cases_ctl.has_socket(server), 20):
        raise Failure("the server does not start")
    ends = server, start(1, "client", [*words, "-c"])
    finish(room, ends)
    check_ends(ends)


def rping_on_wire(room, wire_of):
    wire = wire_of(room)

    def start(number, title, words):
        end = ENDS[number]
        return room.start(**wire.start(
            end, title, [*address_options(end), *WORKERS], words))

    rping(room, start)


def rping_on_taps(room):
    bridge = Bridge(room)
    rping(room, lambda number, title, words: bridge.start(
        number, title, *TAPS[number], words, WORKERS))


# ---- fewer queues than asked for ---


def fewer(room, wire_of, devargs, nb, of, options=WORKERS):
    """The port opens, and says on -v alone what it has not."""
    wire = wire_of(room)
    wire.driver = f"{wire.driver},{devargs}" if devargs else wire.driver
    for verbose in ([], ["--verbose"]):
        process = room.run(**wire.start(
            "left", f"info{len(verbose)}", [*options, *verbose],
            ["ibv_devinfo"]))
        said = re.findall(r"roost: .*", process.err())
        lines = [line for line in said if " queues" in line]
        if process.status != 0:
            raise Failure(f"exit status {process.status}")
        if not verbose and said:
            raise Failure(f"says {said} without being asked")
    if not any(re.search(rf"queues {nb}, steering ", line)
               for line in lines):
        raise Failure(f"says {lines}")
    if not any(re.search(rf"queues {nb} instead of {of}: .", line)
               for line in lines):
        raise Failure(f"no reason for {nb} queues: {lines}")


CASES = [Case(f"queues-{kind}-{name}-{mode}", passes, start, words,
              [*WORKERS, "--progress", mode])
         for kind, start in PORTS for name, words in PROGRAMS
         for mode in ("adaptive", "dedicated")]
CASES += [Case(f"queues-{kind}-seen", seen, start) for kind, start in PORTS]
CASES += [
    Case("queues-bond-seen", seen, on_bond),
    Case("queues-one-worker", one_worker),
    Case("queues-xdp-three-workers", passes, on_xdp, PROGRAMS[1][1],
         ["--workers", "3"]),
    Case("queues-af-packet-rping", rping_on_wire, Wire),
    Case("queues-tap-rping", rping_on_taps),
    Case("queues-xdp-rping", rping_on_wire,
         lambda room: cases_xdp.xdp_wire(room, queues=2)),
    Case("queues-xdp-wakes", lambda room: cases_xdp.wake_on(
        room, cases_xdp.xdp_wire(room, queues=2), lambda _end: [*WORKERS])),
    Case("queues-fewer-xdp", fewer, cases_xdp.xdp_wire, "", 1, 2),
    Case("queues-fewer-xdp-by-hand", fewer,
         lambda room: cases_xdp.xdp_wire(room, queues=2), "queue_count=17", 2,
         17, []),
    Case("queues-fewer-af-packet", fewer, Wire, "qpairs=17", 16, 17, []),
]
