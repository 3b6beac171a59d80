# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Tools that people have: qperf, fio, uDAPL, iperf3 and curl over rsockets,
and programs inside valgrind and gdb. Both ends at one hub.
"""

import filecmp
import json
import os
import re
import time

import cases_hub
from cases_hub import ADDRESS, hub
from cases_rsocket import preload
from cases_sysfs import need
from harness import Case, Failure
from process import wait_for_listener, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
END_S = 30


def ended_well(*processes):
    for process in processes:
        if process.wait(END_S) is None:
            raise Failure(f"{process.title}: still runs")
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")


def says(process, text, limit_s=20):
    if not wait_until(lambda: text in process.out() + process.err() or
                      process.wait(0) is not None, limit_s) or \
            text not in process.out() + process.err():
        raise Failure(f"{process.title}: does not say '{text}'")


# ---- qperf -----------------------------------------------------------------

# Everything for RDMA in Debian's, which is built without XRC.
QPERF = {
    "rc": ("rc_bw", "rc_bi_bw", "rc_lat", "rc_rdma_read_bw",
           "rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat",
           "rc_rdma_write_poll_lat"),
    "uc": ("uc_bw", "uc_bi_bw", "uc_lat", "uc_rdma_write_bw",
           "uc_rdma_write_lat", "uc_rdma_write_poll_lat"),
    "others": ("ud_bw", "ud_bi_bw", "ud_lat", "rc_compare_swap_mr",
               "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add"),
}


def qperf(room, tests):
    """A second of each; ver_* look at what an atomic returns."""
    need("qperf")
    room.defer(cases_hub.gone)
    port = room.next_port()
    words = ["qperf", "-lp", str(port)]
    server = room.start("server", hub(room, *words))
    if not wait_for_listener(server, port, 20):
        raise Failure("server: does not listen")
    client = room.run("client", hub(room, *words, "-i", "roost0:1", "-t", "1",
                                    "localhost", *tests))
    ended_well(client)
    results = dict(re.findall(r"^(\w+):\n.*= +([\d.]+) ", client.out(),
                              re.MULTILINE))
    missing = [test for test in tests if float(results.get(test, 0)) <= 0]
    if missing:
        raise Failure(f"client: no result of {' '.join(missing)}")


# ---- fio -------------------------------------------------------------------

FIO_BLOCKS = 512
# SEND has no receiver's credits in fio, and no retry: as fio's source advises,
# the receiver posts more than comes at once, here all.
FIO_SERVER_DEPTH = FIO_BLOCKS
FIO_ERROR = "cq completion status"
FIO_RETRIES_S = 40


def fio(room, title, port, *options):
    room.defer(cases_hub.gone)
    return room.start(title, hub(
        room, "env", "-C", room.logs, "fio", f"--name={title}",
        "--ioengine=rdma", f"--port={port}", "--bs=32k", *options))


def fio_server(room, port, *options):
    need("fio")
    server = fio(room, "server", port, "--rw=read",
                 f"--iodepth={FIO_SERVER_DEPTH}", *options)
    says(server, "waiting for connection")
    return server


def fio_client(room, port, verb, *options):
    return fio(room, "client", port, "--rw=write", f"--verb={verb}",
               f"--hostname={ADDRESS}", "--iodepth=16", *options)


def fio_jobs(process):
    """What fio reports of its jobs, without what it said before."""
    return json.loads(re.search(r"^\{.*^\}", process.out(),
                                re.MULTILINE | re.DOTALL)[0])["jobs"]


def fio_exit(room, verb):
    """Each block is written, and both ends end by themselves."""
    port = room.next_port()
    options = (f"--size={FIO_BLOCKS * 32}k", "--output-format=json")
    server = fio_server(room, port, *options)
    client = fio_client(room, port, verb, *options)
    ended_well(client, server)
    job, = fio_jobs(client)
    if job["error"] != 0 or job["write"]["total_ios"] != FIO_BLOCKS:
        raise Failure(f"client: {job['write']['total_ios']} blocks")
    if FIO_ERROR in client.out() + client.err():
        raise Failure("client: a request failed")


def fio_kill(room):
    """A server that is killed in the middle: the client's requests fail, when
    they have used up their retries. (A server of fio waits for a message of
    its client, and RC does not tell who only waits.)
    """
    port = room.next_port()
    # One process of each, so that no child goes on.
    options = ("--thread", "--size=100g")
    server = fio_server(room, port, *options)
    client = fio_client(room, port, "write", *options, "--status-interval=1")
    says(client, "write: IOPS=")
    server.kill()
    began = time.monotonic()
    says(client, FIO_ERROR, FIO_RETRIES_S)
    room.note(f"told after {time.monotonic() - began:.1f} s")


# ---- uDAPL -----------------------------------------------------------------

DAT = 'roost0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "{} 0" ""\n'
# Of each iteration: two messages each way, a WRITE, a READ, all looked at.
DAPLTEST = ("-V", "-i", "200", "-t", "2", "-w", "2", "-R", "BE",
            "client", "SR", "4096", "2", "server", "SR", "4096", "2",
            "client", "RW", "65536", "1", "server", "RR", "65536")


def dapl(room):
    """dapltest's transactions, two threads with two endpoints."""
    need("dapltest")
    room.defer(cases_hub.gone)
    path = room.path("dat.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(DAT.format(ADDRESS))
    words = ["env", f"DAT_OVERRIDE={path}", "dapltest", "-T"]
    server = room.start("server", hub(room, *words, "S", "-D", "roost0"))
    says(server, "Service Point Ready")
    for title, test, options in (("client", "T", DAPLTEST), ("quit", "Q", ())):
        end = room.run(title, hub(room, *words, test, "-s", ADDRESS, "-D",
                                  "roost0", *options))
        ended_well(end)
        if "End of Work" not in end.out():
            raise Failure(f"{title}: does not say 'End of Work'")
    ended_well(server)


# ---- rsockets --------------------------------------------------------------

def iperf(room):
    need("iperf3")
    room.defer(cases_hub.gone)
    port = str(room.next_port())
    env = preload()
    words = ["stdbuf", "-oL", "iperf3", "-p", port]
    server = room.start("server", hub(room, *words, "-s", "-1", "-B", ADDRESS,
                                      "--forceflush"), env=env)
    says(server, "listening")
    client = room.run("client", hub(room, "iperf3", "-p", port, "-c", ADDRESS,
                                    "-n", "40M", "-J"), env=env)
    ended_well(client, server)
    end = json.loads(client.out())["end"]
    received = end["sum_received"]["bytes"]
    # The receiver ends at a message on the other connection, and may have a
    # part of the last block to read.
    if received <= (40 << 20) - (128 << 10):
        raise Failure(f"client: {received} bytes received")


def web(room):
    """Python's HTTP server and curl: a file, twice."""
    need("curl")
    room.defer(cases_hub.gone)
    env = preload()
    port = str(room.next_port())
    source, target = room.path("source"), room.path("target")
    with open(source, "wb") as file:
        file.write(os.urandom(5_000_000))
    server = room.start("server", hub(
        room, "/usr/bin/python3", os.path.join(HERE, "http_plain.py"), ADDRESS,
        port, room.logs), env=env)
    says(server, "listening")
    for attempt in range(2):
        client = room.run(f"client-{attempt}", hub(
            room, "curl", "-sS", "-o", target,
            f"http://{ADDRESS}:{port}/source"), env=env)
        ended_well(client)
        if not filecmp.cmp(source, target, shallow=False):
            raise Failure("the file differs")
        os.remove(target)


# ---- inside other programs -------------------------------------------------

PINGPONG = ("ibv_rc_pingpong", "-g", "1", "-c", "-e", "-n", "20")


def pingpong(room, server_words, client_words):
    """Returns both, ended well; words before the program's own."""
    room.defer(cases_hub.gone)
    port = room.next_port()
    words = [*PINGPONG, "-p", str(port)]
    return room.pair({"title": "server",
                      "argv": hub(room, *server_words, *words)},
                     {"title": "client",
                      "argv": hub(room, *client_words, *words, "localhost")},
                     port)


def valgrind(room):
    """Both ends; no error of memory in either."""
    need("valgrind")
    words = ["valgrind", "-q", "--error-exitcode=9"]
    for end in pingpong(room, words, words):
        if "==" in end.err():
            raise Failure(f"{end.title}: valgrind has a word")


def gdb(room):
    """A breakpoint in the library, a look around, and on."""
    need("gdb")
    words = ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on",
             "-ex", "break ibv_ack_cq_events", "-ex", "run", "-ex", "backtrace",
             "-ex", "info threads", "-ex", "continue", "--args"]
    out = pingpong(room, [], words)[1].out()
    for wanted in ("hit Breakpoint", "roost-worker", "exited normally"):
        if wanted not in out:
            raise Failure(f"client: gdb does not say '{wanted}'")


CASES = [Case(f"qperf-{name}", qperf, tests) for name, tests in QPERF.items()]
CASES += [Case(f"fio-{verb}", fio_exit, verb)
          for verb in ("write", "read", "send")]
CASES += [
    Case("fio-killed", fio_kill),
    Case("dapl-transactions", dapl),
    Case("rsocket-iperf3", iperf),
    Case("rsocket-curl", web),
    # valgrind runs one thread of a process at a time, and the QP's retries are
    # half a second.
    Case("valgrind-pingpong", valgrind, alone=True),
    Case("gdb-pingpong", gdb),
]
