# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What users and administrators of a roostd see: policies, a file that is read
again, roost ctl, the rights that it keeps."""

import json
import os
import re
import shutil
import socket
import time

import cases_hub
import cases_link
import cases_rdmacm
import cases_rights
from cases_service import WATCH, watcher
from harness import Case, Failure
from process import wait_until
from service import ADDRESSES, FAR, NEAR, Service
from wire import TCP_ADDRESSES


def refusal(service, rule):
    return f'roost: service "{service.path}": refused by roostd: {rule}\n'


def devinfo(room, service, title):
    return room.run(**service.client(title, ["ibv_devinfo", "-v"]))


def refused(room, service, title, rule):
    seen = devinfo(room, service, title)
    if refusal(service, rule) not in seen.err():
        raise Failure(f"{title}: {seen.err().strip()}")


def ctl(room, service, title, *words):
    return room.run(title, room.roost("ctl", "--pid", str(service.process.pid),
                                      *words), service.wire.netns[service.near])


def clients(room, service):
    """What roost ctl shows, by command."""
    seen = ctl(room, service, "clients", "-j", "show", "clients")
    if seen.status != 0:
        raise Failure("ctl: " + seen.err().strip())
    return {row["command"]: row for row in json.loads(seen.out())["clients"]}


def lines_of(service):
    return service.process.err().splitlines()


# ---- policies --------------------------------------------------------------

def policy(room):
    """So many clients of a user; another user has another policy, or none."""
    service = Service(room, sections=[
        "[policy guests]", "users = 65534", "clients = 1", "[policy admins]",
        "users = root", "clients = 2"])
    kept = [watcher(room, service, f"watch{i}") for i in range(2)]
    rule = "policy 'admins' allows 2 clients of user 0; end one of them"
    for i in range(3):
        refused(room, service, f"third{i}", rule)
    guest = service.client("guest", WATCH)
    guest["argv"] = cases_rights.as_nobody(room, (), guest["argv"])
    guest = room.start(**guest)
    if not wait_until(lambda: "async event FD" in guest.out(), 20):
        raise Failure(f"guest: {guest.err()}")
    # One that is killed makes room.
    kept[0].kill()
    if not wait_until(lambda: devinfo(room, service, "next").status == 0, 10):
        raise Failure("a client that was killed is counted")
    stranger = service.client("stranger", ["ibv_devinfo"])
    stranger["argv"] = [word.replace("65534", "65533") for word in
                        cases_rights.as_nobody(room, (), stranger["argv"])]
    seen = room.run(**stranger)
    rule = ("no policy is for user 65533 or a group of the user's; ask the "
            "administrator for one")
    if refusal(service, rule) not in seen.err():
        raise Failure("stranger: " + seen.err().strip())


class Small(Service):
    """With so few descriptors, it has 24 places."""

    def argv(self):
        return ["prlimit", "--nofile=256", *super().argv()]


def places(room):
    """Without a policy: who takes all that there is leaves some to others."""
    service = Small(room)
    service.take()
    crowd = room.start("crowd", cases_hub.as_user(room, cases_hub.hub(
        room, os.path.join(room.build, "tests", "real", "crowd"), "-w",
        "18")))
    if not wait_until(lambda: "attached" in crowd.out(), 20):
        raise Failure("crowd: does not attach: " + crowd.err())
    beyond = room.run("beyond", cases_hub.as_user(
        room, cases_hub.hub(room, "ibv_devinfo")))
    if f"user {cases_hub.USER} has 18 of 24 places" not in beyond.err():
        raise Failure("beyond: " + beyond.err().strip())
    if devinfo(room, service, "other").status != 0:
        raise Failure("other: finds no place")


def connections(room):
    """Who asks for one more is refused at once, and told why."""
    service = Service(room, sections=["[policy one]", "connections = 1"])
    words = ["rping", "-a", ADDRESSES[NEAR][0], "-v"]
    server = room.start(**service.client("server", [*words, "-s", "-P"]))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure("server: does not listen")
    first = room.start(**service.client("first", [*words, "-c"]))
    if not wait_until(lambda: "ping data" in first.out(), 20):
        raise Failure("first: no ping data")
    for title, end in (("inside", service.client), ("outside", service.peer)):
        began = time.monotonic()
        second = room.run(**end(title, [*words, "-c", "-C", "1"]))
        took = time.monotonic() - began
        if second.status == 0 or "refused: no resources" not in second.err():
            raise Failure(f"{title}: {second.status}: {second.err()}")
        room.note(f"{title}: refused after {1000 * took:.0f} ms")
    if first.wait(0) is not None:
        raise Failure("first: has ended")


def groups(room):
    """A supplementary group, by the kernel's word."""
    service = Service(room, sections=["[policy lab]", "groups = 4712"])
    refused(room, service, "without",
            "no policy is for user 0 or a group of the user's; ask the "
            "administrator for one")
    within = service.client("within", ["ibv_devinfo"])
    within["argv"] = ["setpriv", "--groups", "4711,4712", *within["argv"]]
    if room.run(**within).status != 0:
        raise Failure("a member is refused")


def rate_of(process):
    """Mbit/s, of perftest's last table."""
    rows = [line.split() for line in process.out().splitlines()
            if re.match(r"\s*\d+\s+\d+\s", line)]
    if not rows:
        raise Failure("no figure: " + process.out())
    return float(rows[-1][3]) * 1000


def bandwidth(room, service, title):
    port = room.next_port()
    words = ["ib_write_bw", "-F", "-x", "1", "-D", "2", "-s", "4096",
             "--report_gbits", "-p", str(port)]
    _server, client = room.pair(
        service.peer(f"{title}-server", words),
        service.client(title, [*words, TCP_ADDRESSES[FAR]]), port)
    return rate_of(client)


def rate(room):
    """The rate of a policy holds, and that of roost ctl after it."""
    service = Service(room, sections=["[policy slow]", "rate = 40M"])
    slow = bandwidth(room, service, "slow")
    room.note(f"{slow:.1f} Mbit/s of payload at a rate of 40 Mbit/s")
    # 1024 bytes of 1024 + 106 are payload.
    if not 25 < slow < 40:
        raise Failure(f"{slow} Mbit/s")


def addresses(room):
    """Each client has an address of its own, and there are two."""
    own = ("198.18.0.21", "198.18.0.22")
    service = Service(room, port=[f"ip = {addr}/24" for addr in own],
                      sections=["[policy own]",
                                *(f"address = {addr}/24" for addr in own)])
    watches = [watcher(room, service, f"watch{i}") for i in range(2)]
    refused(room, service, "third",
            "policy 'own' allows 2 addresses, one a client; end a client that "
            "has one")
    watches[0].kill()
    seen = None

    def has_one():
        nonlocal seen
        seen = devinfo(room, service, "free")
        return seen.status == 0
    if not wait_until(has_one, 10):
        raise Failure("free: " + seen.err())
    gids = re.findall(r"GID\[\s*(\d+)\]:\s+(\S+)", seen.out())
    if [gid.rstrip(",") for _index, gid in gids] != [f"::ffff:{own[0]}"]:
        raise Failure(f"GIDs {gids}")
    # And it works, from outside.
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-c", "-p", str(port), "-g"]
    server = service.client("server", [*words, gids[0][0]])
    client = service.peer("client", [*words, "1", TCP_ADDRESSES[NEAR]])
    cases_link.check_report(*room.pair(server, client, port))
    if ADDRESSES[NEAR][0] in seen.out():
        raise Failure("it has the shared address, too")


# ---- a file that is read again ---------------------------------------------

class Manager:
    """The service manager, which hears what the daemon tells."""

    def __init__(self, room):
        self.path = f"/run/{room.name}.notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(10)
        room.defer(os.remove, self.path)
        room.defer(self.socket.close)

    def expect(self, word):
        try:
            told = self.socket.recv(4096).decode()
        except TimeoutError as error:
            raise Failure(f"the manager does not hear {word}") from error
        if not told.startswith(word):
            raise Failure(f"the manager hears {told}, not {word}")


def reload(room):
    """Under traffic: a good file, a wrong one, and a good one again."""
    manager = Manager(room)
    service = Service(room, sections=["[policy one]", "weight = 3"],
                      env={"NOTIFY_SOCKET": manager.path})
    manager.expect("READY=1")
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "6000", "-p",
             str(port)]
    ends = room.pair_start(service.client("server", words), service.peer(
        "client", [*words, TCP_ADDRESSES[NEAR]]), port)
    if not wait_until(lambda: "ibv_rc_pingpong" in clients(room, service), 20):
        raise Failure("no client")
    with open(service.file, encoding="ascii") as file:
        before = file.read()
    other = before.replace("[policy one]\nweight = 3",
                           "[policy two]\nweight = 5")
    for text, weight, policy_name, lines in (
            (other, 5, "two", 0), (before + "weight = 9\n", 5, "two", 2),
            (before, 3, "one", 2)):
        with open(service.file, "w", encoding="ascii") as file:
            file.write(text)
        service.process.signal(1)
        manager.expect("RELOADING=1\nMONOTONIC_USEC=")
        manager.expect("READY=1")
        row = clients(room, service)["ibv_rc_pingpong"]
        if (row["weight"], row["policy"]) != (weight, policy_name):
            raise Failure(f"weight {row['weight']}, policy {row['policy']}")
        if len(lines_of(service)) != lines:
            raise Failure(f"said: {lines_of(service)}")
    if ends[0].wait(0) is not None:
        raise Failure("the traffic ended before the last reload")
    for end in ends:
        room.finish(end)
    cases_link.check_report(*ends)
    if "given twice; keep one" not in lines_of(service)[0]:
        raise Failure(lines_of(service)[0])
    if service.end() != 0:
        raise Failure("roostd: did not end well")
    manager.expect("STOPPING=1")


# ---- roost ctl -------------------------------------------------------------

def control(room):
    """An administrator sees clients, changes limits, and evicts one."""
    service = Service(room)
    watch = watcher(room, service)
    other = room.start(**service.client("other", ["ib_write_bw", "-p", str(
        room.next_port())]))
    if not wait_until(lambda: len(clients(room, service)) == 2, 20):
        raise Failure("not two clients")
    row = clients(room, service)["ibv_asyncwatch"]
    if (row["pid"], row["uid"], row["qps"]) != (watch.pid, 0, 64):
        raise Failure(f"client: {row}")
    number = str(row["client"])
    for words, status in ((("rate", "80M"), 0), (("weight", "7"), 0),
                          (("weight", "7000"), 1), (("colour", "7"), 1)):
        seen = ctl(room, service, "-".join(words), "limit", number, *words)
        if seen.status != status:
            raise Failure(f"{words}: status {seen.status}: {seen.err()}")
    row = clients(room, service)["ibv_asyncwatch"]
    if (row["rate"], row["weight"]) != (80000000, 7):
        raise Failure(f"limits: {row}")
    # Another user is nobody here.
    argv = room.roost("ctl", "--pid", str(service.process.pid), "show",
                      "clients")
    seen = room.run("nobody", cases_rights.as_nobody(room, (), argv),
                    service.wire.netns[NEAR])
    if seen.status != 1 or "another user's" not in seen.err():
        raise Failure("nobody: " + seen.err() + seen.out())
    seen = ctl(room, service, "evict", "evict", number, "be", "gone")
    if seen.status != 0:
        raise Failure("evict: " + seen.err())
    if not wait_until(lambda: "DEVICE_FATAL" in watch.out(), 10):
        raise Failure("the client does not hear it: " + watch.out())
    if "its daemon ended it: evicted by the administrator: be gone" not in \
            watch.err():
        raise Failure("the client says: " + watch.err())
    if list(clients(room, service)) != ["ib_write_bw"]:
        raise Failure("another one is gone, too")
    other.kill()


def chosen(room):
    """Without --pid, a daemon and a program beside each other."""
    service = Service(room)
    watch = watcher(room, service)
    netns = service.wire.netns[NEAR]
    for words, wanted in ((["show", "clients"], '"clients"'),
                          (["show", "shared"], '"shared"'),
                          (["show", "port"], '"program":"ibv_asyncwatch"')):
        seen = room.run("-".join(words), room.roost("ctl", "-j", *words),
                        netns)
        if seen.status != 0 or wanted not in seen.out():
            raise Failure(f"{words}: {seen.err()}{seen.out()}")
    seen = room.run("list", room.roost("ctl", "list"), netns)
    found = [line.split()[:3] for line in seen.out().splitlines()[1:]]
    for row in ([str(service.process.pid), "roostd", "shared"],
                [str(watch.pid), "ibv_asyncwatch", "roost0"]):
        if row not in found:
            raise Failure(f"list: {found}")


# ---- which daemon ----------------------------------------------------------

SYSTEM = "/run/roost/roostd.sock"


def ports_of(room, service, title, *options, **variables):
    """The devices that the launcher gives to a program."""
    seen = room.run(title, room.roost("run", *options, "--print-env"),
                    service.wire.netns[NEAR], variables)
    if seen.status != 0:
        raise Failure(f"{title}: {seen.err()}")
    return [line.split("=", 1)[1] for line in seen.out().splitlines()
            if re.match("ROOST_PORT[0-9]+_(SERVICE|LINK)=", line)]


def bare(room, service, title):
    """A program that nobody but the linker leads to Roost."""
    env = room.run("env", room.roost("run", "--print-env")).out()
    path = re.search("^LD_LIBRARY_PATH=(.*)$", env, re.M).group(1)
    return room.run(title, ["ibv_devinfo", "-v"], service.wire.netns[NEAR],
                    {"LD_LIBRARY_PATH": path})


def order(room):
    """Options, ROOST_SERVICE, the system's daemon, the hub."""
    room.defer(lambda: shutil.rmtree(os.path.dirname(SYSTEM), True))
    service = Service(room, path=SYSTEM, sections=[
        "[port1]", "link = cable", "ip = 198.18.7.1/24"])
    both = [SYSTEM, f"{SYSTEM},1"]
    for title, options, variables, wanted in (
            ("nothing", [], {}, both),
            ("option", ["--link", "a"], {}, ["a"]),
            ("option-wins", ["--link", "a"], {"ROOST_SERVICE": "hub"}, ["a"]),
            ("hub", [], {"ROOST_SERVICE": "hub"}, ["hub"]),
            ("named", [], {"ROOST_SERVICE": SYSTEM}, both),
            ("one", [], {"ROOST_SERVICE": f"{SYSTEM},1"}, both[1:]),
            ("variable", [], {"ROOST_PORT0_LINK": "b"}, ["b"])):
        found = ports_of(room, service, title, *options, **variables)
        if found != wanted:
            raise Failure(f"{title}: {found}")
    seen = room.run("devices", room.roost("run", "--", "ibv_devices"),
                    service.wire.netns[NEAR])
    if "roost0" not in seen.out() or "roost1" not in seen.out():
        raise Failure("devices: " + seen.out())
    seen = bare(room, service, "bare")
    if ADDRESSES[NEAR][0] not in seen.out():
        raise Failure("bare: " + seen.out() + seen.err())
    if service.end() != 0 or service.process.err():
        raise Failure("roostd: " + service.process.err())
    # Without it: the hub, which the launcher starts and nobody else.
    if ports_of(room, service, "without") != ["hub"]:
        raise Failure("without: not the hub")
    seen = bare(room, service, "neither")
    line = ("roost: default service: cannot connect to its daemon: Connection "
            "refused; start the program with \"roost run\", which starts it")
    if seen.err().splitlines()[:1] != [line]:
        raise Failure("neither: " + seen.err())
    seen = room.run("started", room.roost("run", "--", "ibv_devinfo"),
                    service.wire.netns[NEAR])
    if seen.status != 0 or "PORT_ACTIVE" not in seen.out():
        raise Failure("started: " + seen.err())


# ---- rights ----------------------------------------------------------------

def rights(room):
    """Every thread of the daemon has what its ports need, and no more."""
    service = Service(room)
    task = f"/proc/{service.process.pid}/task"
    for thread in os.listdir(task):
        with open(f"{task}/{thread}/status", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        for word in ("CapEff", "CapPrm", "CapBnd"):
            # CAP_NET_RAW, CAP_NET_ADMIN
            if int(found[word], 16) & ~(1 << 13 | 1 << 12):
                raise Failure(f"{word}: {found[word]}")
        if found["NoNewPrivs"].strip() != "1":
            raise Failure("it could get new ones")


CASES = [
    Case("people-policy", policy),
    Case("people-places", places),
    Case("people-connections", cases_rdmacm.need(connections)),
    Case("people-groups", groups),
    Case("people-rate", rate),
    Case("people-addresses", addresses),
    Case("people-reload", reload),
    Case("people-control", control),
    Case("people-chosen", chosen),
    Case("people-order", order),
    Case("people-rights", rights),
]
