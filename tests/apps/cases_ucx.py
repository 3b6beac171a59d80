# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""UCX, the transport layer of MPI libraries: its own programs, both ends at
one hub."""

import os

import cases_hub
from cases_sysfs import need
from harness import Case, Failure, Skip
from process import wait_until

HUB_ADDRESS = "198.18.0.1"
# UCX's names. What is not in the list is not used: no shared memory, no TCP.
TRANSPORTS = ("rc_v", "ud_v", "rc_v,ud_v")

# Lines of a batch: a name of ours, then options of ucx_perftest; the last one
# must have a value, because of a fault of its parser. All tests over UCP that
# it has.
UCP = """
tag_lat       -t tag_lat -n 200
tag_lat_wild  -C -t tag_lat -n 100
tag_lat_late  -U -t tag_lat -n 100
tag_large     -t tag_bw -n 20 -s 1000000
tag_iov       -t tag_bw -n 100 -D iov,iov -s 100,2000,30000
tag_sync      -t tag_sync_lat -n 100
tag_sync_bw   -t tag_sync_bw -n 100 -s 20000
put_lat       -t ucp_put_lat -n 100
put_large     -t ucp_put_bw -n 20 -s 1000000
get           -t ucp_get -n 50
get_large     -t ucp_get -n 10 -s 1000000
add           -t ucp_add -n 100
fadd          -t ucp_fadd -n 100
fadd32        -t ucp_fadd -n 100 -s 4
swap          -t ucp_swap -n 100
cswap         -t ucp_cswap -n 100
stream_lat    -t stream_lat -n 100
stream_bw     -t stream_bw -n 100 -s 70000 -r recv_data
am_lat        -t ucp_am_lat -n 100 -H 16
am_bw         -t ucp_am_bw -n 100 -s 70000
"""

# The same below UCP, one transport, each way to hand data over.
UCT = {
    "rc_verbs": """
am_short    -t am_lat -D short -n 100
am_iov      -t am_lat -D shortiov -n 100
am_bcopy    -t am_bw -D bcopy -s 4000 -n 100
am_zcopy    -t am_bw -D zcopy -s 4000 -n 100
put_short   -t put_lat -D short -n 100
put_bcopy   -t put_bw -D bcopy -s 8000 -n 100
put_zcopy   -t put_bw -D zcopy -s 100000 -n 50
get_bcopy   -t get -D bcopy -s 4000 -n 50
get_zcopy   -t get -D zcopy -s 100000 -n 50
add_lat     -t add_lat -n 100
add_mr      -t add_mr -n 100
fadd        -t fadd -n 100
cswap       -t cswap -n 100
""",
    "ud_verbs": """
am_short    -t am_lat -D short -n 100
am_bcopy    -t am_bw -D bcopy -s 4000 -n 100
am_zcopy    -t am_bw -D zcopy -s 4000 -n 100
am_signal   -t am_lat -D short -n 100 -A signal
""",
}

# Options of one run each.
ALONE = {
    "threads": ["-T", "2", "-M", "multi", "-t", "tag_bw", "-n", "200"],
    "threads-put": ["-T", "2", "-M", "multi", "-t", "ucp_put_bw", "-n", "200"],
    "sleep": ["-t", "tag_lat", "-E", "sleep", "-n", "100"],
    "peer-errors": ["-t", "tag_lat", "-e", "-n", "100"],
}


def only(transport):
    return {"UCX_TLS": f"{transport},self", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def hub(room, *words):
    return room.roost("run", "--hub", "--", *words)


def perftest(room, env, *options):
    """Both ranks. Returns the client's output."""
    need("ucx_perftest")
    room.defer(cases_hub.gone)
    port = room.next_port()
    words = ["ucx_perftest", "-p", str(port), "-f", "-w", "10", *options]
    ends = room.pair({"title": "server", "env": env,
                      "argv": hub(room, *words)},
                     {"title": "client", "env": env,
                      "argv": hub(room, *words, "localhost")}, port)
    for end in ends:
        if "ERROR" in end.out() + end.err():
            raise Failure(f"{end.title}: UCX has an error")
    return ends[1].out()


def batch(room, env, lines, *options):
    """Each line of the batch has run to its end."""
    path = room.path("batch")
    with open(path, "w", encoding="ascii") as file:
        file.write(lines.lstrip())
    out = perftest(room, env, "-v", "-b", path, *options)
    wanted = [line.split()[0] for line in lines.splitlines() if line]
    seen = [line.split(",")[0] for line in out.splitlines()]
    missing = [name for name in wanted if name not in seen]
    if missing:
        raise Failure(f"client: no result of {' '.join(missing)}")


def ucp(room, transport):
    batch(room, only(transport), UCP)


def uct(room, transport):
    batch(room, {}, UCT[transport], "-d", "roost0:1", "-x", transport)


def alone(room, transport, options):
    perftest(room, only(transport), *options)


def io_demo(room, transport, *options):
    """A client reads and writes blocks of a server and compares them. They find
    each other by rdma_cm.
    """
    need("io_demo")
    room.defer(cases_hub.gone)
    port = str(room.next_port())
    env = dict(only(transport), UCX_SOCKADDR_TLS_PRIORITY="rdmacm")
    words = ["io_demo", "-p", port, "-d", "64:300000", "-q", "-v", *options]
    server = room.start("server", hub(room, *words), env=env)
    client = room.run("client", hub(
        room, *words, "-i", "300", "-o", "read,write", "-c", "50", "-y", "0.1",
        "-l", "20", HUB_ADDRESS), env=env)
    for end in (client, server):
        if "corruption" in end.out() or "ERROR" in end.out():
            raise Failure(f"{end.title}: reports an error")
    if client.status != 0 or "status 'OK'" not in client.out():
        raise Failure(f"client: exit status {client.status}")
    server.signal(2)
    room.finish(server, 10)


EXAMPLES = "/usr/share/doc/libucx-dev/examples"
# What both send.
TEXT = "ABCDEFGHIJKLMNO"


def example(room, name):
    """One of UCX's examples, compiled."""
    need("cc")
    source = os.path.join(EXAMPLES, f"{name}.c")
    if not os.path.exists(source):
        raise Skip("libucx-dev has no examples here")
    program = room.path(name)
    done = room.run("compiler", ["cc", "-O2", "-w", "-o", program, source,
                                 "-lucp", "-luct", "-lucs"])
    if done.status != 0:
        raise Failure(f"compiler: exit status {done.status}")
    room.defer(cases_hub.gone)
    return program


def client_server(room, kind):
    """ucp_client_server: they meet by rdma_cm, and the server prints what the
    client has sent."""
    program = example(room, "ucp_client_server")
    port = str(room.next_port())
    words = ["stdbuf", "-oL", program, "-p", port, "-c", kind, "-i", "20"]
    env = dict(only("rc_v,ud_v"), UCX_SOCKADDR_TLS_PRIORITY="rdmacm")
    server = room.start("server", hub(room, *words), env=env)
    if not wait_until(lambda: "Waiting for conn" in server.out(), 20):
        raise Failure("server: does not listen")
    client = room.run("client", hub(room, *words, "-a", HUB_ADDRESS), env=env)
    if client.status != 0:
        raise Failure(f"client: exit status {client.status}")
    # The example closes its connection by force, which may take the last
    # messages with it.
    first = "Server: iteration #1\n"
    if not wait_until(lambda: TEXT in server.out().partition(first)[2], 20):
        raise Failure("server: does not print the text")
    server.signal(2)
    server.wait(10)


def hello(room, mode):
    """ucp_hello_world: progress by polling, by its descriptor, by a wait."""
    program = example(room, "ucp_hello_world")
    port = room.next_port()
    words = [program, mode, "-s", "30000", "-p", str(port)]
    env = only("rc_v,ud_v")
    _, client = room.pair(
        {"title": "server", "env": env, "argv": hub(room, *words)},
        {"title": "client", "env": env,
         "argv": hub(room, *words, "-n", "127.0.0.1")}, port)
    if TEXT not in client.out():
        raise Failure("client: does not print the text")


CASES = [Case(f"ucx-ucp-{transport.replace(',', '-')}", ucp, transport)
         for transport in TRANSPORTS]
CASES += [Case(f"ucx-uct-{transport}", uct, transport) for transport in UCT]
CASES += [Case(f"ucx-{name}-{transport}", alone, transport, options)
          for transport in TRANSPORTS[:2]
          for name, options in ALONE.items()]
CASES += [Case(f"ucx-io-{transport.replace(',', '-')}", io_demo, transport)
          for transport in TRANSPORTS]
CASES += [Case("ucx-io-am", io_demo, "rc_v", "-A")]
CASES += [Case(f"ucx-client-server-{kind}", client_server, kind)
          for kind in ("tag", "stream", "am")]
CASES += [Case(f"ucx-hello-{name}", hello, mode)
          for name, mode in (("poll", "-b"), ("event", "-f"), ("wait", "-w"))]
