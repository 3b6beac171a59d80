# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost ctl from outside, and what unmodified programs see of it: Debian's
ibv_asyncwatch prints each port and device event, and traffic stops, goes on
or ends as on a NIC whose port does that."""

import calendar
import json
import os
import re
import signal
import sys
import time
import types

import cases_link
from harness import Case, Failure
from process import child_of, wait_until
from wire import Wire, ip

EVENT = re.compile(r"event_type IBV_EVENT_(\w+) \(\d+\), port (\d)")

# What is set, and what every program is told of it.
CAUSES = [
    (["link", "down"], ["PORT_ERR"]),
    (["link", "down"], []),
    (["link", "up"], ["PORT_ACTIVE"]),
    (["address", "add", "198.18.77.1/24"], ["GID_CHANGE"]),
    (["address", "add", "fd00:198:18::77/64"], ["GID_CHANGE"]),
    (["address", "del", "198.18.77.1"], ["GID_CHANGE"]),
    # The LID follows the first IPv4 address.
    (["address", "del", "198.18.0.1"], ["GID_CHANGE", "LID_CHANGE"]),
    (["pkey", "3", "0x8001"], ["PKEY_CHANGE"]),
    (["pkey", "3", "0x8001"], []),
    (["lid", "0x4d"], ["LID_CHANGE"]),
    (["sm-lid", "5"], ["SM_CHANGE"]),
    (["re-register"], ["CLIENT_REREGISTER"]),
    (["remove"], ["DEVICE_FATAL"]),
]

calls = 0


def ctl(room, process, *words, status=0, netns=None):
    """One call of the tool; process None: without --pid."""
    global calls
    calls += 1
    which = [] if process is None else ["--pid", str(process.pid)]
    done = room.run(f"ctl{calls}", room.roost("ctl", *which, *words), netns)
    if done.status != status:
        raise Failure(f"roost ctl {' '.join(words)}: exit status "
                      f"{done.status}: {done.err().strip()}")
    lines = done.err().splitlines()
    if status and (len(lines) != 1 or not lines[0].startswith("roost: ") or
                   done.out()):
        raise Failure(f"roost ctl {' '.join(words)}: not one line on stderr")
    return done


def show(room, process, *words, netns=None):
    done = ctl(room, process, "-j", "show", *words, netns=netns)
    return json.loads(done.out())["devices"][0]


def has_socket(process):
    with open(f"/proc/{process.pid}/net/unix") as file:
        return f"@roost/ctl/{process.pid}\n" in file.read()


def events(process):
    return [name for name, port in EVENT.findall(process.out())
            if port == "1"]


def wait_for_events(process, wanted):
    if not wait_until(lambda: len(events(process)) >= len(wanted), 10):
        raise Failure(f"events {events(process)}, not {wanted}")
    if events(process) != wanted:
        raise Failure(f"events {events(process)}, not {wanted}")


WATCH = ["stdbuf", "-oL", "ibv_asyncwatch"]


def wait_for_watch(watch):
    if not wait_until(lambda: "async event FD" in watch.out(), 20):
        raise Failure("ibv_asyncwatch does not start")


def watch_link(room, title="watch"):
    watch = room.start(title, room.roost("run", "--link", room.link, "--",
                                         *WATCH))
    wait_for_watch(watch)
    return watch


def asyncwatch(room):
    watch = watch_link(room)
    wanted = []
    for words, told in CAUSES:
        ctl(room, watch, *words)
        wanted += told
        wait_for_events(watch, wanted)
    # Nothing comes behind DEVICE_FATAL: the program is told so, and ends.
    room.finish(watch, 10)
    if watch.status != 1:
        raise Failure(f"ibv_asyncwatch: exit status {watch.status}")


def two_programs(room):
    """Each process has its own ports; the tool has to be told which."""
    first, second = watch_link(room, "first"), watch_link(room, "second")
    said = ctl(room, None, "link", "down", status=1).err()
    for watch in (first, second):
        if f" {watch.pid}" not in said:
            raise Failure(f"no word of process {watch.pid}: {said.strip()}")
    ctl(room, second, "link", "down")
    wait_for_events(second, ["PORT_ERR"])
    wait_for_events(first, [])
    rows = ctl(room, None, "list").out().splitlines()
    if ([row.split()[:5] for row in rows[1:]] !=
            [[str(w.pid), "ibv_asyncwatch", "roost0", "1", state]
             for w, state in sorted([(first, "ACTIVE"), (second, "DOWN")],
                                    key=lambda pair: pair[0].pid)]):
        raise Failure(f"the list says {rows}")
    # What was killed is gone from it at once.
    first.kill()
    listed = json.loads(ctl(room, None, "list", "-j").out())
    if [process["pid"] for process in listed] != [second.pid]:
        raise Failure(f"the list says {listed}")
    ctl(room, first, "show", status=1)
    ctl(room, None, "link", "up")
    wait_for_events(second, ["PORT_ERR", "PORT_ACTIVE"])


# A process that is the first one of a PID namespace.
ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def watch_alone(room, title):
    """Returns the process, and what has its number outside. Without a picture:
    its keeper dies with the namespace.
    """
    watch = room.start(title, [*ALONE, *room.roost(
        "run", "--sysfs", "none", "--link", room.link, "--", *WATCH)])
    wait_for_watch(watch)
    # The program is a child of process 1.
    return watch, types.SimpleNamespace(pid=child_of(child_of(watch.pid)))


def equal_pids(room):
    """Two containers in one network namespace, whose processes have the same
    number: each is found, from outside and from inside.
    """
    watches = [watch_alone(room, title) for title in ("first", "second")]
    if any("control socket" in watch.err() for watch, _ in watches):
        raise Failure("a process has no control socket")
    rows = ctl(room, None, "list").out().splitlines()[1:]
    if ([row.split()[0] for row in rows] !=
            sorted((str(outside.pid) for _, outside in watches), key=int)):
        raise Failure(f"the list has {rows}")
    ctl(room, watches[1][1], "link", "down")
    wait_for_events(watches[1][0], ["PORT_ERR"])
    wait_for_events(watches[0][0], [])
    for watch, outside in watches:
        before = events(watch)
        done = room.run(f"inside{outside.pid}", [
            "nsenter", f"--target={outside.pid}", "--pid", "--mount",
            *room.roost("ctl", "--pid", "2", "re-register")])
        if done.status != 0:
            raise Failure("inside: " + done.err().strip())
        wait_for_events(watch, [*before, "CLIENT_REREGISTER"])
    for watch, outside in watches:
        ctl(room, outside, "remove")
        room.finish(watch, 10)


def bad_input(room):
    watch = watch_link(room)
    before = show(room, watch, "port")
    for words in (["--dev", "roost7", "lid", "5"], ["--port", "2", "lid", "5"],
                  ["--port", "0", "lid", "5"], ["pkey", "16", "0x8001"],
                  ["pkey", "1", "0x18001"], ["pkey", "1", "0xffff"],
                  ["lid", "65536"], ["link", "maybe"],
                  ["address", "add", "198.18.0.1/24"],
                  ["address", "del", "198.18.0.2"],
                  ["address", "add", "127.0.0.1/8"],
                  ["show", "nonsense"]):
        ctl(room, watch, *words, status=1)
    for words in (["nonsense"], ["lid"], ["list", "all"],
                  ["show", "port", "1"], ["link", "up", "now"]):
        ctl(room, watch, *words, status=2)
    for words, there in ((["--dev", "roost5", "show", "port"], "roost0"),
                         (["--port", "9", "show", "port"], "1 to 1"),
                         (["--port", "x", "show", "qp"], "1 to 1"),
                         (["--dev", "roost0", "--port", "0", "show"],
                          "1 to 1")):
        said = ctl(room, watch, *words, status=1).err()
        if there not in said or f"process {watch.pid}: " not in said:
            raise Failure(f"{words}: {said.strip()}")
    shown = show(room, watch, "port", "--dev", "roost0", "--port", "1")
    if shown != before:
        raise Failure(f"of port 1 it shows {shown}")
    ctl(room, None, "--pid", "1", "show", status=1)
    if show(room, watch, "port") != before:
        raise Failure("something refused has changed something")
    wait_for_events(watch, [])


def many_controllers(room):
    """Served one after the other, and none of them lost."""
    watch = watch_link(room)
    racers = [room.start(f"racer{i}", room.roost(
        "ctl", "--pid", str(watch.pid), "sm-lid", str(1000 + i)))
        for i in range(12)]
    for racer in racers:
        room.finish(racer, 30)
        if racer.status != 0:
            raise Failure(f"{racer.title}: {racer.err().strip()}")
    wait_for_events(watch, ["SM_CHANGE"] * len(racers))


LIAR = """
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind(f"\\0roost/ctl/{os.getpid()}")
s.listen(5)
print("serves", flush=True)
while True:
    c, _ = s.accept()
    if c.recv(4096):
        c.send(b'ok\\n{"pid":1,"program":"init","devices":[{"name":"roost0",'
               b'"ports":[{"port":1}]}]}\\n')
    c.close()
"""


def liar(room):
    """Its answer is shown as its own, whoever it says that it is."""
    process = room.start("liar", [sys.executable, "-c", LIAR])
    if not wait_until(lambda: "serves" in process.out(), 10):
        raise Failure(process.err())
    shown = json.loads(ctl(room, process, "-j", "show").out())
    if shown["pid"] != process.pid:
        raise Failure("it is believed that it is process 1")
    rows = room.run("list", room.roost("ctl", "list")).out().splitlines()[1:]
    if [row.split()[:2] for row in rows] != [[str(process.pid), "init"]]:
        raise Failure(f"the list has {rows}")


def stopped(room):
    """A process that does not answer keeps nobody waiting for ever, and does
    not do later what was given up.
    """
    watch = watch_link(room)
    other = watch_link(room, "other")
    watch.signal(signal.SIGSTOP)
    begin = time.monotonic()
    ctl(room, watch, "sm-lid", "9", status=1)
    done = room.run("list", room.roost("ctl", "list"))
    if time.monotonic() - begin > 5:
        raise Failure("a stopped process keeps a list waiting")
    if (done.status != 1 or f"process {watch.pid}: it is stopped" not in
            done.err() or f"\n{other.pid} " not in done.out()):
        raise Failure(f"the list: {done.out()}{done.err()}")
    watch.signal(signal.SIGCONT)
    if show(room, watch, "port")["ports"][0]["sm_lid"] != 0:
        raise Failure("the request was done after its controller had gone")


# ---- with traffic ----------------------------------------------------------

def pingpong_pair(room, options):
    """Both ends of a run that is long enough to be disturbed."""
    port = room.next_port()
    server = cases_link.pingpong_end(room, "server", options, port)
    client = cases_link.pingpong_end(room, "client", options, port,
                                     "localhost")
    server, client = room.pair_start(server, client, port)
    if not wait_until(lambda: has_socket(client) and
                      counters(room, client)["rx_packets"] > 1000, 20, 0.05):
        raise Failure("no traffic")
    return server, client


def counters(room, process):
    return show(room, process, "counters")["counters"]


def link_flap(room):
    """What is lost while the link is down is sent again: no byte differs."""
    server, client = pingpong_pair(room, ["-n", "200000", "-c"])
    ctl(room, server, "link", "down")
    before = counters(room, server)
    time.sleep(0.1)
    after = counters(room, server)
    ctl(room, server, "link", "up")
    if before["rx_packets"] != after["rx_packets"]:
        raise Failure("frames were taken while the link was down")
    if counters(room, client)["timeouts"] + after["timeouts"] == 0:
        raise Failure("nothing was lost")
    for end in (server, client):
        room.finish(end, 180)
        if end.status != 0 or "invalid data" in end.out():
            raise Failure(f"{end.title}: exit status {end.status}")


def removal(room, options):
    """The port goes while QPs use it: what was posted completes flushed. The
    peer finds that nobody answers, if it has just sent something; else it
    waits, and nobody can tell it.
    """
    server, client = pingpong_pair(room, ["-n", "1000000000", *options])
    ctl(room, client, "remove")
    room.finish(client, 30)
    if client.status < 1:
        raise Failure(f"the program: exit status {client.status}")
    if "Work Request Flushed Error" not in client.err():
        raise Failure(f"the program was told {client.err().strip()}")
    if server.wait(2) is not None and (
            "transport retry counter exceeded" not in server.err()):
        raise Failure(f"the peer was told {server.err().strip()}")


def perftest_end(room, title, port, host=()):
    """A timeout of a second: time enough to set things right."""
    return {"title": title, "argv": room.roost(
        "run", "--link", room.link, "--", "ib_send_bw", "-F", "-u", "18",
        "-n", "1000", "-p", str(port), *host)}


def pkey(room):
    """Enforced: packets of another partition are dropped and counted; once
    both ends are in it, they talk.
    """
    port = room.next_port()
    server = room.start(**perftest_end(room, "server", port))
    if not wait_until(lambda: server.listens(port) and has_socket(server),
                      20):
        raise Failure("the server does not listen")
    ctl(room, server, "pkey", "0", "0x8005")
    client = room.start(**perftest_end(room, "client", port, ["localhost"]))
    if not wait_until(lambda: show(room, server, "port")["ports"][0]
                      ["bad_pkeys"] > 0, 20, 0.05):
        raise Failure("no packet was counted")
    drops = counters(room, server)["drops"]
    if drops["pkey"] == 0:
        raise Failure(f"dropped for other reasons: {drops}")
    # Its QP has the new P_Key at once, for what it sends again, too.
    ctl(room, client, "pkey", "0", "0x8005")
    for end in (server, client):
        room.finish(end)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")


# ---- why a QP died ---------------------------------------------------------

def wrong_key(room):
    """Both QPs say what happened, the completions carry its number, and the
    text fits a terminal.
    """
    process = room.start("wrong-key", room.roost(
        "run", "--link", room.link, "--",
        os.path.join(room.build, "tests", "real", "wrong_key")))
    if not wait_until(lambda: "responder 0x" in process.out(), 20):
        raise Failure(f"no QP died: {process.out()}{process.err()}")
    lines = process.out().splitlines()
    # IBV_WC_REM_ACCESS_ERR, and IBV_WC_WR_FLUSH_ERR for the same cause.
    if sorted(lines[:2]) != ["requester status 10 vendor_err 0x12",
                             "responder status 5 vendor_err 0x26"]:
        raise Failure(f"the program was told {lines}")
    qpns = [int(word, 16) for word in re.findall(r"0x\w+", lines[2])]
    shown = show(room, process, "qp")["qps"]
    qps = [next(qp for qp in shown if qp["qpn"] == qpn) for qpn in qpns]
    told = [{name: qp["last_error"][name] for name in
             ("error", "vendor_err", "found_by", "opcode", "psn", "syndrome",
              "address", "key", "length")} for qp in qps]
    same = {"opcode": "RC_WRITE_ONLY", "psn": 7, "syndrome": "0x0062",
            "address": "0x1000", "key": "0x12345678", "length": 8}
    if told != [{"error": "peer_remote_access", "vendor_err": "0x12",
                 "found_by": "peer", **same},
                {"error": "remote_key", "vendor_err": "0x26",
                 "found_by": "responder", **same}]:
        raise Failure(f"show qp says {told}")
    if ([qp["state"] for qp in qps] != ["ERR", "ERR"] or
            qps[0]["counters"]["naks_received_access"] != 1 or
            qps[1]["counters"]["naks_sent_access"] != 1):
        raise Failure(f"show qp says {qps}")
    when = calendar.timegm(time.strptime(
        qps[0]["last_error"]["time"][:19], "%Y-%m-%dT%H:%M:%S"))
    if abs(time.time() - when) > 60:
        raise Failure(f"it died at {qps[0]['last_error']['time']}")
    errors = counters(room, process)["errors"]
    if errors["remote_key"] != 1 or errors["peer_remote_access"] != 1:
        raise Failure(f"show counters says {errors}")
    for topic in ([], ["qp"], ["cq"], ["worker"], ["counters"]):
        wide = [line for line in
                ctl(room, process, "show", *topic).out().splitlines()
                if len(line) > 80]
        if wide:
            raise Failure(f"show {topic}: more than 80 columns: {wide}")


# ---- frames without an ICRC ------------------------------------------------


def no_icrc(room):
    """Both ends without one talk, and each says in one line that it is so.
    A peer that has one gets nothing, and counts what it drops.
    """
    port = room.next_port()
    ends = [perftest_end(room, title, port, host)
            for title, host in (("server", []), ("client", ["localhost"]))]
    for end in ends:
        end["argv"].insert(2, "--debug-no-icrc")
    for end in room.pair(*ends, port):
        if end.err().count("roost: not for use: frames have no ICRC: ") != 1:
            raise Failure(f"{end.title}: says '{end.err().strip()}'")
    server, client = ends
    server["argv"].remove("--debug-no-icrc")
    for end in ends:
        end["title"] += "-mixed"
    server, client = room.pair_start(server, client, port)
    if not wait_until(lambda: counters(room, server)["drops"]["icrc"] > 0,
                      20, 0.05):
        raise Failure("the end that checks ICRCs dropped nothing")
    if client.wait(0) is not None:
        raise Failure(f"the end without one got on: {client.out()}")
    for end in (client, server):
        end.kill()


# ---- a port that the kernel shares -------------------------------------------

def kernel_interface(room):
    """The interface's carrier, addresses and end, by the kernel's own hand."""
    wire = Wire(room)
    watch = room.start(**wire.start("left", "watch", [], WATCH))
    wait_for_watch(watch)
    left, right = ("-n", wire.netns["left"]), ("-n", wire.netns["right"])
    wanted = []
    for words, told in (
            ((*right, "link", "set", "right", "down"), "PORT_ERR"),
            ((*right, "link", "set", "right", "up"), "PORT_ACTIVE"),
            ((*left, "addr", "add", "198.19.5.1/24", "dev", "left"),
             "GID_CHANGE"),
            ((*left, "addr", "del", "198.19.5.1/24", "dev", "left"),
             "GID_CHANGE")):
        ip(*words)
        wanted.append(told)
        wait_for_events(watch, wanted)
    gids = show(room, watch, "port", netns=wire.netns["left"])["ports"][0]
    if "198.19.5.1" in [row["gid"] for row in gids["gids"]]:
        raise Failure("the address is still in the GID table")
    ip(*left, "link", "del", "left")
    room.finish(watch, 10)
    # It goes down and loses its addresses before it is gone; how much of that
    # is seen is chance.
    last = events(watch)[len(wanted):]
    if last[-1:] != ["DEVICE_FATAL"] or \
            not set(last[:-1]) <= {"PORT_ERR", "GID_CHANGE", "LID_CHANGE"}:
        raise Failure(f"at the end, events {last}")
    if watch.status != 1:
        raise Failure(f"ibv_asyncwatch: exit status {watch.status}")


def nothing_left(room):
    """kill -9 leaves no control socket."""
    watch = watch_link(room)
    if not has_socket(watch):
        raise Failure("there is no control socket")
    os.kill(watch.pid, signal.SIGKILL)
    room.finish(watch, 10)
    with open("/proc/net/unix") as file:
        if f"@roost/ctl/{watch.pid}\n" in file.read():
            raise Failure("the control socket is still there")


CASES = [
    Case("ctl-asyncwatch", asyncwatch),
    Case("ctl-two-programs", two_programs),
    Case("ctl-equal-pids", equal_pids),
    Case("ctl-bad-input", bad_input),
    Case("ctl-many-controllers", many_controllers),
    Case("ctl-liar", liar),
    Case("ctl-stopped", stopped),
    Case("ctl-link-flap", link_flap),
    Case("ctl-removal", removal, []),
    Case("ctl-removal-events", removal, ["-e"]),
    Case("ctl-pkey", pkey),
    Case("ctl-wrong-key", wrong_key),
    Case("ctl-debug-no-icrc", no_icrc),
    Case("ctl-kernel-interface", kernel_interface),
    Case("ctl-nothing-left", nothing_left),
]
