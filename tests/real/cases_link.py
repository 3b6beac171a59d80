# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Both ends of Debian's ibv_rc_pingpong over a link, with its options."""

from harness import Case, Failure

# Enough exchanges to wrap every queue of the program, and few enough of the
# large ones for a run to end soon.
LARGE_BYTES = 65536
LARGE_ITERS = 100

SIZES = (1, 2, 3, 4, 63, 64, 65, 4095, 4096, 4097, 65536, 1048576, 4194304)
MTUS = (256, 512, 1024, 2048, 4096)


def size_options(size):
    options = ["-s", str(size), "-c"]
    if size >= LARGE_BYTES:
        options += ["-n", str(LARGE_ITERS)]
    return options


# (name, options of both ends). tests/real/cases_wire.py has its own, shorter.
VARIANTS = [
    ("plain", []),
    ("chk", ["-c"]),
    ("events", ["-e", "-c"]),
    ("rx-depth-1", ["-r", "1"]),
    ("rx-depth-1-events", ["-r", "1", "-e", "-c"]),
    ("iters-100000", ["-n", "100000"]),
    ("gid-0", ["-g", "0", "-c"]),
    ("gid-1", ["-g", "1", "-c"]),
    ("new-send", ["-N"]),
    ("new-send-chk", ["-N", "-c"]),
    ("new-send-events", ["-N", "-e", "-c"]),
    ("new-send-gid-1", ["-N", "-g", "1", "-c"]),
    ("new-send-large", ["-N", "-s", "1048576", "-n", "50", "-c"]),
    ("new-send-mtu-4096", ["-N", "-m", "4096", "-c"]),
    ("new-send-rx-depth-1", ["-N", "-r", "1", "-c"]),
    ("timestamps", ["-t"]),
    ("service-level", ["-l", "3", "-c"]),
]
VARIANTS += [(f"size-{size}", size_options(size)) for size in SIZES]
VARIANTS += [(f"mtu-{mtu}", ["-m", str(mtu), "-c"]) for mtu in MTUS]


def pingpong_end(room, title, options, port, host=None, link=None):
    words = ["ibv_rc_pingpong", "-p", str(port), *options]
    if host is not None:
        words.append(host)
    return {"title": title,
            "argv": room.roost("run", "--link", link or room.link, "--",
                               *words)}


def pingpong(room, options, launcher=(), prefix=""):
    """One run of both ends; launcher: further options of roost run; prefix: of
    the names of their logs.
    """
    port = room.next_port()
    server = pingpong_end(room, prefix + "server", options, port)
    client = pingpong_end(room, prefix + "client", options, port, "localhost")
    for end in (server, client):
        end["argv"][2:2] = launcher
    server, client = room.pair(server, client, port)
    check_report(server, client)
    return server, client


def check_report(server, client):
    """Each end says who is who, what it moved and how fast; no more."""
    for end in (server, client):
        out = end.out()
        for word in ("local address:", "remote address:", " bytes in ",
                     " iters in "):
            if word not in out:
                raise Failure(f"{end.title}: no '{word.strip()}' in its "
                              "output")
        if "invalid data" in out:
            raise Failure(f"{end.title}: data differ")
        if end.err():
            raise Failure(f"{end.title}: something on stderr")


def again(room):
    """The same link many times, with no rest between."""
    for i in range(10):
        port = room.next_port()
        server = pingpong_end(room, f"server{i}", ["-n", "10"], port)
        client = pingpong_end(room, f"client{i}", ["-n", "10"], port,
                              "localhost")
        room.pair(server, client, port)


def mixed_mtu(room):
    """Ends that ask for different path MTUs use what each was told: the
    program does not exchange it, so that a receiver of longer packets than its
    own MTU refuses them.
    """
    port = room.next_port()
    server = pingpong_end(room, "server", ["-m", "256"], port)
    client = pingpong_end(room, "client", ["-m", "1024"], port, "localhost")
    ends = room.pair_start(server, client, port)
    room.finish(ends[1])
    ends[0].kill()
    if "remote invalid request error (9)" not in ends[1].err():
        raise Failure("the client's first message is not refused")


def two_ports(room, options):
    """Over either port of a device that has two, to its like."""
    for number in ("1", "2"):
        port = room.next_port()
        words = ["ibv_rc_pingpong", "-p", str(port), "-i", number, *options]
        server, client = (
            {"title": f"{title}{number}",
             "argv": room.roost("run", "--link", room.link + "a", "--link",
                                room.link + "b", "--second", "--", *words,
                                *host)}
            for title, host in (("server", []), ("client", ["localhost"])))
        check_report(*room.pair(server, client, port))


CASES = [Case(f"link-{name}", pingpong, options)
         for name, options in VARIANTS]
CASES += [
    Case("link-dedicated", pingpong, ["-c"], ("--progress", "dedicated")),
    Case("link-dedicated-events", pingpong, ["-e", "-c"],
         ("--progress", "dedicated")),
    Case("link-two-ports", two_ports, ["-c"]),
    Case("link-two-ports-gid", two_ports, ["-c", "-g", "1"]),
    Case("link-two-ports-events", two_ports, ["-c", "-e"]),
    Case("link-again", again),
    Case("link-mixed-mtu", mixed_mtu),
]
