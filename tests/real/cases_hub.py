# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs of one user at a hub: no NIC, no EAL, one device for all of them.

Most are cases of a link, with the hub in its place: all have its one address.
"""

import glob
import os
import signal
import sys
import time

import cases_examples
import cases_link
import cases_rdmacm
import cases_rights
from harness import Case, Failure
from leftovers import sockets
from process import wait_until

HUB_END_S = 10
PAIRS = 16
CLIENTS = 64
USER = "65533"
ADDRESS = "198.18.0.1"


def hub_name():
    return f"@roost/{os.geteuid()}/hub"


def gone():
    """Nobody's hub stays for long."""
    if not wait_until(lambda: hub_name() not in sockets(), HUB_END_S):
        raise Failure("the hub stays")


def at_hub(words):
    """A command of the launcher with the hub in place of its link."""
    words = [word.replace("198.18.0.2", ADDRESS) for word in words]
    if "--" not in words:
        return words
    end = words.index("--")
    options, rest = words[1:end], words[end:]
    kept = ["--hub"]
    while options:
        if options[0] in ("--link", "--ip", "--mtu"):
            options = options[2:]
        else:
            kept.append(options.pop(0))
    return [words[0], *kept, *rest]


def over_hub(room, run, *args):
    plain = room.roost
    room.roost = lambda *words: plain(*at_hub(words))
    room.defer(gone)
    run(room, *args)


def hub(room, *words):
    return room.roost("run", "--hub", "--", *words)


def last_ack(room):
    room.defer(gone)

    def end(title, words):
        return {"title": title, "argv": hub(room, *words)}

    cases_rdmacm.last_ack(room, end, end, ADDRESS, 20)


def imports(room):
    """One program has the device and the regions, another one imports them."""
    room.defer(gone)
    program = os.path.join(room.build, "tests", "real", "import")
    done = room.run("import", hub(room, program))
    if done.status != 0:
        raise Failure(f"import: exit status {done.status}")


def imports_nothing(room):
    """A port of one process is no other's: the call says so, with a line."""
    program = os.path.join(room.build, "tests", "real", "import")
    done = room.run("import", room.roost("run", "--link", room.link, "--",
                                         program))
    if done.status == 0 or "Operation not supported" not in done.err() or \
            "the port belongs to the other process" not in done.err():
        raise Failure("import: not refused as it should be")


# As a daemon does, or a parent in Python: nothing that was open stays open.
CLOSES = """
import os, time
os.closerange(3, 4096)
time.sleep(3)
os.execvp("ibv_devinfo", ["ibv_devinfo"])
"""


def closes(room):
    """Who closes the launcher's descriptor finds the hub, and it ends then."""
    room.defer(gone)
    done = room.run("program", hub(room, sys.executable, "-c", CLOSES))
    if done.status != 0:
        raise Failure("program: " + done.err().strip())


def by_hand(room):
    """One that somebody starts among programs of a hub is none of them."""
    daemon = room.start("roostd", [
        os.path.join(room.build, "apps", "roostd", "roostd"),
        "--hub"], env={
        "ROOST_PICTURE": f"/dev/shm/roost-sysfs-{os.geteuid()}-hub-"
                         f"{os.stat('/proc/self/ns/net').st_ino}"})
    room.finish(daemon, HUB_END_S)


# The device is open before that.
CLOSES_LATE = """
import ctypes, os, sys, time
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
assert verbs.ibv_open_device(
    ctypes.c_void_p(verbs.ibv_get_device_list(None)[0]))
null = os.open("/dev/null", os.O_RDWR)
for fd in range(3, 4096):
    if fd == null or not os.path.exists(f"/proc/self/fd/{fd}"):
        continue
    if sys.argv[1] == "replaces":
        os.dup2(null, fd)
    else:
        os.close(fd)
time.sleep(0.5)
before = time.process_time()
time.sleep(2)
print(time.process_time() - before)
"""


def closes_late(room, way, *options):
    """Threads of ours that lose their descriptors take no processor."""
    done = room.run("program", room.roost("run", *options, "--",
                                          sys.executable, "-c", CLOSES_LATE,
                                          way))
    if done.status != 0:
        raise Failure("program: " + done.err().strip())
    room.note(f"{50 * float(done.out()):.1f} % of a core, budget 5")
    if float(done.out()) > 0.1:
        raise Failure("they spin")


def keeps_files(room, words, *options):
    """A program's files under numbers that it took from us stay its own."""
    program = os.path.join(room.build, "tests", "real", "own_files")
    done = room.run("program", room.roost("run", *options, "--", program,
                                          *words))
    if done.status != 0:
        raise Failure("program: " + done.err().strip())


# ---- many at once ----------------------------------------------------------

def pairs(room, words):
    """So many pairs of perftest, all at the same time."""
    room.defer(gone)
    ports = [room.next_port() for _ in range(PAIRS)]
    servers = [room.start(f"server{i}", hub(room, *words, "-p", str(port)))
               for i, port in enumerate(ports)]
    time.sleep(2)
    clients = [room.start(f"client{i}", hub(room, *words, "-p", str(port),
                                            "localhost"))
               for i, port in enumerate(ports)]
    for process in servers + clients:
        room.finish(process)
        if process.status != 0:
            raise Failure(f"{process.title}: exit status {process.status}")


def server_of(room, title):
    """A pingpong that waits for its client, its QP made and printed."""
    return room.start(title, hub(room, "stdbuf", "-oL", "ibv_rc_pingpong",
                                 "-g", "1", "-p", str(room.next_port())))


def has_qp(process):
    return "local address" in process.out()


def attached(room, then_end=True):
    """So many programs have the device at the same time, and each a QP."""
    room.defer(gone)
    servers = [server_of(room, f"server{i}") for i in range(CLIENTS)]
    if not wait_until(lambda: all(map(has_qp, servers)), 60):
        raise Failure("not all have a QP: " + str(sum(map(has_qp, servers))))
    qpns = {server.out().split("QPN 0x")[1][:6] for server in servers}
    if len(qpns) != CLIENTS:
        raise Failure("two have the same QPN")
    for server in servers:
        if then_end:
            server.kill()


def children_ignored(room):
    """Who ignores SIGCHLD starts a hub, and the program ignores it as well."""
    room.defer(gone)
    words = hub(room, "grep", "SigIgn", "/proc/self/status")
    process = room.start("program", ["env", "--ignore-signal=CHLD", *words])
    room.finish(process)
    if process.status != 0:
        raise Failure(f"exit status {process.status}: " + process.err())
    ignored = int(process.out().split("SigIgn:")[1].split()[0], 16)
    if not ignored >> (signal.SIGCHLD - 1) & 1 or process.err():
        raise Failure("SIGCHLD is not ignored: " + process.err())


# ---- who dies --------------------------------------------------------------

def killed(room):
    """A peer that is killed: the other end is disconnected at once."""
    room.defer(gone)
    server = room.start("server", hub(room, "rping", "-s", "-a", ADDRESS,
                                      "-v"))
    if not wait_until(lambda: cases_rdmacm.has_opened(server) and
                      cases_rdmacm.is_waiting(server), 20):
        raise Failure("server: does not listen")
    client = room.start("client", hub(room, "rping", "-c", "-a", ADDRESS,
                                      "-v"))
    if not wait_until(lambda: "ping data" in server.out(), 20):
        raise Failure("no ping data")
    began = time.monotonic()
    os.kill(client.pid, signal.SIGKILL)
    if server.wait(5) is None:
        raise Failure("the server was not told in 5 s")
    room.note("the server has ended "
              f"{1000 * (time.monotonic() - began):.0f} ms later")


def hub_killed(room):
    """Without the hub, its clients have a line and an end."""
    room.defer(gone)
    server = server_of(room, "server")
    if not wait_until(lambda: has_qp(server), 20):
        raise Failure("server: no QP")
    pid = hub_pid(room)
    os.kill(pid, signal.SIGKILL)
    if not wait_until(lambda: "hub" in server.err(), 5):
        raise Failure("the client has no line")
    server.kill()


def hub_pid(room):
    """The daemon's, also of a service (service.py)."""
    if room.daemon_pid is not None:
        return room.daemon_pid
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == b"roostd" and b"--hub" in words:
            return int(pid)
    raise Failure("no hub")


# ---- without rights --------------------------------------------------------

def as_user(room, argv):
    """In a user namespace the kernel shows users that it does not know as
    65534, which is therefore nobody's at a hub.
    """
    if argv[0] == "nsenter":
        return [*argv[:2], *as_user(room, argv[2:])]
    argv = cases_rights.as_nobody(room, (), argv)
    return [USER if word == cases_rights.NOBODY else word for word in argv]


def user(room):
    """An ordinary user, with no capability: a hub of its own."""
    port = room.next_port()
    server, client = (
        {"title": title,
         "argv": as_user(room, hub(room, "ibv_rc_pingpong", "-g", "1", "-c",
                                   "-p", str(port), *host))}
        for title, host in (("server", []), ("client", ["localhost"])))
    room.defer(lambda: wait_until(
        lambda: f"@roost/{USER}/hub" not in sockets(), HUB_END_S))
    cases_link.check_report(*room.pair(server, client, port))


def installed(room):
    """The installed launcher finds the installed daemon."""
    room.defer(gone)
    cases_examples.install(room)
    found = glob.glob(os.path.join(room.path("tree"), "**", "bin", "roost"),
                      recursive=True)
    if not found:
        raise Failure("no launcher is installed")
    seen = room.run("devinfo", [found[0], "run", "--hub", "--", "ibv_devinfo"])
    if seen.status != 0 or "PORT_ACTIVE" not in seen.out():
        raise Failure("devinfo: no active port")


def xrc_domain(room):
    """Two programs with an XRC domain by the same file."""
    room.defer(gone)
    program = os.path.join(room.build, "tests", "real", "xrc_domain")
    done = room.run("xrc_domain", hub(room, program, room.path("file")))
    if done.status != 0:
        raise Failure(f"xrc_domain: exit status {done.status}")
    told = "another process than"
    if done.err().count(told) != 1 or \
            "keep both in one process" not in done.err():
        raise Failure(f"xrc_domain: not told once: {done.err()}")


LINK = {"plain", "chk", "events", "rx-depth-1", "gid-0", "gid-1",
        "new-send-chk", "size-1", "size-4097", "size-65536", "size-1048576",
        "mtu-256", "mtu-4096"}
CASES = [Case(f"hub-{name}", over_hub, cases_link.pingpong, options)
         for name, options in cases_link.VARIANTS if name in LINK]
CASES += [Case(f"hub-{name}", over_hub, cases_rdmacm.need(cases_rdmacm.pair),
               server, client, 4)
          for name, server, client, families in cases_rdmacm.PAIRS
          if 4 in families]
CASES += [
    Case("hub-16-pairs-write", pairs, ["ib_write_bw", "-F", "-x", "1", "-n",
                                       "200", "-s", "4096"]),
    Case("hub-16-pairs-send", pairs, ["ib_send_bw", "-F", "-x", "1", "-n",
                                      "200", "-s", "65536"]),
    Case("hub-64-attached", attached),
    Case("hub-closes-descriptors", closes),
    Case("hub-by-hand", by_hand),
    Case("hub-closes-late", closes_late, "closes", "--hub"),
    Case("hub-replaces-late", closes_late, "replaces", "--hub"),
    Case("link-closes-late", closes_late, "closes", "--link", "late"),
    Case("link-replaces-late", closes_late, "replaces", "--link", "late"),
    Case("hub-own-files", keeps_files, [], "--hub"),
    Case("hub-own-files-all", keeps_files, ["all"], "--hub"),
    Case("link-own-files", keeps_files, [], "--link", "own-files"),
    Case("link-own-files-all", keeps_files, ["all"], "--link", "own-files"),
    Case("hub-last-ack", last_ack),
    Case("hub-import", imports),
    Case("import-without-a-hub", imports_nothing),
    Case("hub-xrc-domain", xrc_domain),
    Case("hub-killed", killed),
    Case("hub-children-ignored", children_ignored),
    Case("hub-hub-killed", hub_killed),
    Case("hub-user", user),
    Case("hub-installed", installed),
]
