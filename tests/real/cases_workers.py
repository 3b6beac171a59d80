# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Devices with several workers: Debian's programs with many QPs, which are
spread over them and share CQs and receive queues.
"""

import cases_ctl
from cases_wire import TCP_ADDRESSES, address_options
from harness import Case, Failure
from process import wait_until
from wire import Wire

LIMIT_S = 60
MODES = ("adaptive", "dedicated")
WORKERS = ("--workers", "2")

# Messages are few where two pairs of polling threads share two processors.
PROGRAMS = [
    ("write-bw", ["ib_write_bw", "-F", "-q", "8", "-s", "65536", "-n", "200"]),
    ("send-bw-both", ["ib_send_bw", "-F", "-q", "8", "-b", "-n", "300",
                      "-s", "4096"]),
    ("send-bw-events", ["ib_send_bw", "-F", "-q", "8", "-e", "-n", "300",
                        "-s", "64"]),
    ("read-bw", ["ib_read_bw", "-F", "-q", "8", "-n", "100", "-s", "16384"]),
    ("atomic-bw", ["ib_atomic_bw", "-F", "-q", "8", "-n", "200"]),
    ("srq-pingpong", ["ibv_srq_pingpong", "-q", "8", "-n", "500", "-c"]),
    ("srq-pingpong-events", ["ibv_srq_pingpong", "-q", "8", "-n", "300",
                             "-c", "-e"]),
    ("send-bw-srq", ["ib_send_bw", "-F", "-q", "8", "--use-srq", "-n", "300",
                     "-s", "1024"]),
]


def check_ends(ends):
    for end in ends:
        if "invalid data" in end.out() or end.complaints():
            raise Failure(f"{end.title}: {end.err().strip() or 'data differ'}")


def over_link(room, words, mode):
    port = room.next_port()
    argv = room.roost("run", "--link", room.link, "--progress", mode,
                      *WORKERS, "--", *words, "-p", str(port))
    check_ends(room.pair({"title": "server", "argv": argv},
                         {"title": "client", "argv": [*argv, "localhost"]},
                         port, LIMIT_S))


def over_wire(room, mode):
    """af_packet: a port that the kernel shares, with one queue."""
    wire = Wire(room)
    port = room.next_port()
    words = ["ib_write_bw", "-F", "-q", "8", "-n", "100", "-s", "8192",
             "-p", str(port)]
    options = ["--progress", mode, *WORKERS]
    server = wire.start("left", "server",
                        [*address_options("left"), *options], words)
    client = wire.start("right", "client",
                        [*address_options("right"), *options],
                        [*words, TCP_ADDRESSES["left"]])
    check_ends(room.pair(server, client, port, LIMIT_S))


def seen(room):
    """`roost ctl` says which worker a QP has, and what each worker did. With a
    timeout of a second: on a busy machine five threads on two processors may
    keep an answer waiting for half a one.
    """
    port = room.next_port()
    argv = room.roost("run", "--link", room.link, *WORKERS, "--",
                      "ib_write_bw", "-F", "-q", "8", "-D", "8", "-s", "4096",
                      "-u", "18", "-p", str(port))
    server, client = room.pair_start(
        {"title": "server", "argv": argv},
        {"title": "client", "argv": [*argv, "localhost"]}, port)

    def both_work():
        return (cases_ctl.has_socket(client) and
                all(worker["rx_packets"] > 0 and worker["tx_packets"] > 0
                    for worker in cases_ctl.show(room, client, "worker")
                    ["workers"]))

    if not wait_until(both_work, 20, 0.2):
        raise Failure("a worker has nothing to do")
    shown = cases_ctl.show(room, client)
    owners = sorted(qp["worker"] for qp in shown["qps"])
    if owners != [0] * 4 + [1] * 4:
        raise Failure(f"8 QPs have the workers {owners}")
    if [worker["qp_count"] for worker in shown["workers"]] != [4, 4]:
        raise Failure(f"the workers say {shown['workers']}")
    for end in (server, client):
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


CASES = [Case(f"workers-{name}-{mode}", over_link, words, mode)
         for name, words in PROGRAMS for mode in MODES]
CASES += [Case(f"workers-af-packet-{mode}", over_wire, mode)
          for mode in MODES]
CASES += [Case("workers-seen", seen)]
