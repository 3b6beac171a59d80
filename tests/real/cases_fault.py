# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Ends that die, and users that err: what the other end, and the user, see."""

import os
import re
import time

import cases_link
from cases_wire import address_options
from harness import Case, Failure, Skip
from process import wait_for_listener, wait_until
from wire import TCP_ADDRESSES, Wire

# What ibv_rc_pingpong and perftest configure: timeout 14, retry_cnt 7. They
# send eight times before they give up.
RETRY_BOUND_S = 4.096e-6 * 2 ** 14 * 8
# For the machine: another process has the core, a core is slow.
SLACK_S = 3

RETRY_EXC = "transport retry counter exceeded (12)"


# ---- death ---------------------------------------------------------------

def survivor_fails(survivor, killed_at, bound_s):
    """Did the survivor complete with RETRY_EXC_ERR and exit in time? False:
    it has no request in flight, and nothing tells it that the peer is dead.
    """
    if survivor.wait(bound_s + SLACK_S) is None:
        return False
    took_s = survivor.ended_at - killed_at
    if RETRY_EXC not in survivor.err() + survivor.out():
        raise Failure(f"{survivor.title} ends without RETRY_EXC_ERR")
    if survivor.status == 0:
        raise Failure(f"{survivor.title} exits with 0")
    if took_s > bound_s + SLACK_S:
        raise Failure(f"{survivor.title} took {took_s:.1f} s to find out")
    return True


def kill_pingpong(room, victim_index, rounds=3, tries=5):
    """kill -9 of one end in the middle of things, several times; after each a
    new pair on the same link works at once.

    In a ping-pong one message is on its way at a time. When the victim dies
    in the instant between its ACK and its answer, the survivor has nothing in
    flight and waits for ever, as it would on any hardware; such a try does not
    count, and few are allowed.
    """
    hits = misses = 0
    while hits < rounds:
        port = room.next_port()
        options = ["-n", "100000000"]
        ends = room.pair_start(
            cases_link.pingpong_end(room, f"server{hits}{misses}", options,
                                    port),
            cases_link.pingpong_end(room, f"client{hits}{misses}", options,
                                    port, "localhost"), port)
        # The server accepts one client and then listens no more. What the
        # ends print stays in their buffers until they exit.
        if not wait_until(lambda: not ends[0].listens(port), 20):
            raise Failure("the ends do not meet")
        time.sleep(0.5)
        ends[victim_index].kill()
        killed_at = time.monotonic()
        survivor = ends[1 - victim_index]
        if survivor_fails(survivor, killed_at, RETRY_BOUND_S):
            hits += 1
        else:
            misses += 1
            survivor.kill()
            if misses == tries:
                raise Failure(f"{misses} of {hits + misses} survivors wait "
                              "for ever")
        cases_link.pingpong(room, ["-c"], prefix="after-")
    if misses:
        room.note(f"{misses} of {hits + misses} tries found no request in "
                  "flight")


def stream_end(room, title, options, port, host=None):
    """ib_send_bw: always with requests in flight."""
    words = ["ib_send_bw", "-d", "roost0", "-D", "60", "-s", "4096", "-x", "1",
             "-F", "-p", str(port), *options]
    if host is not None:
        words.append(host)
    return {"title": title,
            "argv": room.roost("run", "--link", room.link, "--", *words)}


def kill_stream(room, victim_index, options, says):
    """The same with many messages in flight: the survivor always finds out.
    says: what ib_send_bw then writes.
    """
    port = room.next_port()
    ends = room.pair_start(
        stream_end(room, "server", options, port),
        stream_end(room, "client", options, port, "localhost"), port)
    time.sleep(2)
    if any(end.wait(0) is not None for end in ends):
        raise Failure("an end is gone before it is killed")
    ends[victim_index].kill()
    killed_at = time.monotonic()
    survivor = ends[1 - victim_index]
    if survivor.wait(RETRY_BOUND_S + SLACK_S) is None:
        raise Failure("the survivor does not find out")
    if not re.search(says, survivor.out() + survivor.err()):
        raise Failure(f"the survivor does not say {says}")
    room.note(f"found out after {survivor.ended_at - killed_at:.2f} s")
    cases_link.pingpong(room, ["-c"], prefix="after-")


def kill_idle(room):
    """A server that is killed before anybody came leaves its end free."""
    for i in range(3):
        port = room.next_port()
        server = room.start(**cases_link.pingpong_end(
            room, f"server{i}", [], port))
        if not wait_for_listener(server, port, 20):
            raise Failure("the server does not start")
        server.kill()
    cases_link.pingpong(room, ["-c"], prefix="after-")


# ---- errors of the user --------------------------------------------------

def complaints(process):
    """(lines of Roost, other lines) on stderr."""
    lines = process.err().splitlines()
    ours = [line for line in lines if line.startswith("roost: ")]
    return ours, [line for line in lines if line not in ours]


def check_refusal(process, pattern, says=r".*Failed to open device.*"):
    """One line of Roost's, with cause and fix, the application's own line,
    and the application's own exit status.
    """
    ours, others = complaints(process)
    if len(ours) != 1:
        raise Failure(f"{len(ours)} lines begin with 'roost: ', not one")
    if not re.fullmatch("roost: " + pattern, ours[0]):
        raise Failure(f"the line is not like '{pattern}': {ours[0]}")
    if "; " not in ours[0]:
        raise Failure(f"no fix in the line: {ours[0]}")
    if len(others) != 1 or not re.fullmatch(says, others[0]):
        raise Failure(f"the application says {others}")
    if process.status in (0, None) or process.status < 0:
        raise Failure(f"exit status {process.status}")


def refused(room, options, pattern):
    """ibv_devinfo cannot open a device that is configured like this."""
    check_refusal(room.run("devinfo", room.roost("run", *options, "--",
                                                 "ibv_devinfo")), pattern)


def bad_config(room, options, text, pattern):
    """The launcher itself refuses: one line, status 2, no program run."""
    if text is not None:
        with open(room.path("roost.conf"), "w") as file:
            file.write(text)
        options = ["-c", room.path("roost.conf"), *options]
    seen = room.run("roost", room.roost("run", *options, "--", "echo", "ran"))
    if seen.status != 2 or seen.out():
        raise Failure(f"exit status {seen.status}, stdout {seen.out()!r}")
    check_line(seen, pattern)


def check_line(seen, pattern):
    ours, others = complaints(seen)
    if len(ours) != 1 or others or not re.fullmatch("roost: " + pattern,
                                                    ours[0]):
        raise Failure(f"not one line like '{pattern}'")


def unknown_variable(room):
    """It may be of another version, or of another program: it stops nothing."""
    seen = room.run("roost", room.roost("run", "--", "echo", "ran"),
                    env={"ROOST_PORGRESS": "adaptive"})
    if seen.status != 0 or seen.out() != "ran\n":
        raise Failure(f"exit status {seen.status}, stdout {seen.out()!r}")
    check_line(seen, ".*ROOST_PORGRESS.*ROOST_PROGRESS.*")


def third_on_link(room):
    """Both ends are taken: the third is told by whom, the two do not care."""
    holders = []
    for i in range(2):
        port = room.next_port()
        holders.append(room.start(**cases_link.pingpong_end(
            room, f"holder{i}", [], port)))
        if not wait_for_listener(holders[i], port, 20):
            raise Failure("a holder does not start")
    third = room.run("third", room.roost("run", "--link", room.link, "--",
                                         "ibv_devinfo"))
    check_refusal(third, ".*" + re.escape(room.link) + ".*")
    for holder in holders:
        if str(holder.pid) not in third.err():
            raise Failure(f"the line does not name process {holder.pid}")
        if holder.wait(0) is not None:
            raise Failure("a holder is gone")
    holders[0].kill()
    seen = room.run("after", room.roost("run", "--link", room.link, "--",
                                        "ibv_devinfo"))
    if seen.status != 0:
        raise Failure("an end that was left is not free")


def path_mtu_too_large(room):
    """A path MTU that the port cannot carry: the QP stays out of RTR, and the
    line says why.
    """
    wire = Wire(room, mtu_bytes=1500)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-p", str(port), "-m", "4096"]
    ends = room.pair_start(
        wire.start("left", "server", address_options("left"), words),
        wire.start("right", "client", address_options("right"),
                   [*words, TCP_ADDRESSES["left"]]), port)
    for end in ends:
        room.finish(end)
    # The server connects first, and leaves the client alone when it fails.
    ours, others = complaints(ends[0])
    if ends[0].status == 0 or "Failed to modify QP to RTR" not in others:
        raise Failure("the server's QP goes to RTR")
    if len(ours) != 1 or not re.fullmatch("roost: .*MTU.*; .*", ours[0]):
        raise Failure(f"not one line about the MTU, with a fix: {ours}")


def no_permission(room):
    """An ordinary user may not open a packet socket."""
    wire = Wire(room)
    words = wire.start("left", "user", ["--ip", "198.18.0.1/24"],
                       ["ibv_devinfo"])
    words["argv"] = ["setpriv", "--reuid=65534", "--regid=65534",
                     "--clear-groups", "--inh-caps=-all", "--bounding-set",
                     "-all", *words["argv"]]
    launcher = os.path.join(room.build, "apps", "roost")
    reach = room.run("reach", ["setpriv", "--reuid=65534", "--regid=65534",
                               "--clear-groups", launcher, "--version"])
    if reach.status != 0:
        raise Skip("other users cannot reach the build tree")
    user = room.start(**words)
    room.finish(user)
    check_refusal(user, ".*(ermission|CAP_NET_RAW|not permitted).*")


KILLS = [Case(f"kill-pingpong-{role}", kill_pingpong, index)
         for index, role in enumerate(("server", "client"))]
KILLS += [
    Case("kill-stream-receiver", kill_stream, 0, [], "Failed status 12:"),
    # Both ends send. The program looks at its receives first, which were
    # flushed (5) when the send had failed with RETRY_EXC_ERR (12).
    Case("kill-stream-both-ways", kill_stream, 1, ["-b"],
         "Failed status (5|12):"),
    Case("kill-idle-server", kill_idle),
]

REFUSALS = [
    ("unknown-driver", ["--port", "net_bogus0"], ".*net_bogus0.*"),
    ("no-such-pci", ["--port", "0000:7f:1f.7"], ".*0000:7f:1f.7.*"),
    ("no-such-interface", ["--port", "net_af_packet0,iface=nowhere0"],
     ".*nowhere0.*"),
    ("unknown-devarg", ["--port", "net_af_packet0,ifcae=lo"],
     ".*ifcae.*iface.*"),
    ("missing-devarg", ["--port", "net_af_packet0"],
     ".*net_af_packet0.*iface.*"),
]

CONFIGS = [
    ("unknown-key", [], "[port0]\nlnik = x\n", ".*lnik.*link.*"),
    ("unknown-section", [], "[prot0]\nlink = x\n", ".*prot0.*port0.*"),
    ("unknown-option", ["--lnik", "x"], None, ".*--lnik.*--link.*"),
    ("no-file", ["-c", "/nowhere/roost.conf"], None,
     ".*/nowhere/roost.conf.*"),
    ("address-twice", ["--link", "a", "--ip", "198.18.9.1/24", "--link", "b",
                       "--ip", "198.18.9.1/24"], None,
     ".*198.18.9.1.*"),
    ("gateway-off-subnet", ["--link", "a", "--ip", "198.18.9.1/24", "--gw",
                            "198.18.10.1"], None, ".*198.18.10.1.*"),
    ("mtu-out-of-range", ["--link", "a", "--mtu", "12"], None,
     ".*'12'.*MTU.*"),
]

CASES = KILLS + [
    Case("error-third-on-link", third_on_link),
    Case("error-path-mtu", path_mtu_too_large),
    Case("error-no-permission", no_permission),
    Case("config-unknown-variable", unknown_variable),
]
CASES += [Case(f"error-{name}", refused, *row) for name, *row in REFUSALS]
CASES += [Case(f"config-{name}", bad_config, *row) for name, *row in CONFIGS]
