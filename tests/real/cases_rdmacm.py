# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Both ends of Debian's programs for librdmacm over a link, IPv4 and IPv6."""

import os
import time

from harness import Case, Failure, Skip
from process import wait_until

PREFIXES = {4: "198.18.0.{}/24", 6: "fd00::{}/64"}
ADDRESSES = {4: "198.18.0.1", 6: "fd00::1"}
GROUPS = {4: "239.1.1.1", 6: "ff0e::1:1"}
UNMAPPED = {4: "::ffff:239.1.1.1", 6: "ff0e::1:1"}

# (name, server, client, families); {a}: the server's address, {b}: the
# client's, {g}: a group, {u}: the same as a GID, {f}: the family's name.
PAIRS = [
    ("rping", "rping -s -v -V -C 10", "rping -c -a {a} -v -V -C 10", (4,)),
    ("rping-verbose", "rping -s -a {a} -v -V -C 10",
     "rping -c -a {a} -v -V -C 10", (6,)),
    ("rping-bound", "rping -s -a {a} -V -C 100",
     "rping -c -a {a} -I {b} -V -C 100", (4, 6)),
    ("rping-long", "rping -s -a {a} -V -C 2000 -S 65000",
     "rping -c -a {a} -V -C 2000 -S 65000", (4, 6)),
    ("rping-own-qp", "rping -s -a {a} -q -V -C 10",
     "rping -c -q -a {a} -V -C 10", (4, 6)),
    ("ucmatose", "ucmatose -f {f} -b {a} -c 100 -C 10",
     "ucmatose -f {f} -s {a} -c 100 -C 10", (4, 6)),
    ("ucmatose-options", "ucmatose -f {f} -b {a} -t 32 -a 14 -C 1000",
     "ucmatose -f {f} -s {a} -t 32 -a 14 -C 1000", (4, 6)),
    ("ucmatose-options-many", "ucmatose -f {f} -b {a} -t 32 -c 100 -C 10",
     "ucmatose -f {f} -s {a} -t 32 -c 100 -C 10", (4, 6)),
    ("ucmatose-migrate", "ucmatose -m -c 10", "ucmatose -m -c 10 -s {a}",
     (4,)),
    ("ucmatose-ps-ib", "ucmatose -f {f} -b {a} -P ib -c 10",
     "ucmatose -f {f} -s {a} -P ib -c 10", (4, 6)),
    ("udaddy", "udaddy -f {f} -b {a} -c 10 -C 100",
     "udaddy -f {f} -s {a} -c 10 -C 100", (4, 6)),
    ("mckey", "mckey -m {g} -b {a}", "mckey -m {g} -b {b} -s", (4, 6)),
    ("mckey-unmapped", "mckey -M {u} -b {a}", "mckey -M {u} -b {b} -s",
     (4, 6)),
    ("mckey-send-only", "mckey -m {g} -b {a}", "mckey -m {g} -b {b} -s -o",
     (4, 6)),
    ("rdma-server", "rdma_server -s {a}", "rdma_client -s {a}", (4, 6)),
    # Listens at the IPv4 wildcard, and has no option for another.
    ("rdma-xserver", "rdma_xserver -c r", "rdma_xclient -s {a} -c r", (4,)),
    ("rdma-xserver-xrc", "rdma_xserver -c x", "rdma_xclient -s {a} -c x",
     (4,)),
]
PAIRS += [(f"{program}-R".replace("_", "-"), f"{program} -R -n 1000",
           f"{program} -R -n 1000 {{a}}", (4,))
          for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw",
                          "ib_write_lat", "ib_read_bw", "ib_read_lat",
                          "ib_atomic_bw", "ib_atomic_lat")]

# What a program says when it did not see what it should.
BAD_WORDS = ("failure", "failed", "error", "mismatch", "Invalid")


def words_of(line, family):
    return line.format(a=ADDRESSES[family],
                       b=ADDRESSES[family][:-1] + "2",
                       g=GROUPS[family], u=UNMAPPED[family],
                       f={4: "ip", 6: "ipv6"}[family]).split()


def end(room, title, number, line, family):
    """One end of the link: 1 or 2. Both families are there."""
    addresses = []
    for prefix in PREFIXES.values():
        addresses += ["--ip", prefix.format(number)]
    return {"title": title,
            "argv": room.roost("run", "--link", room.link, *addresses, "--",
                               *words_of(line, family))}


def has_opened(process):
    """A device was opened: its worker is there."""
    try:
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/comm") as file:
                if file.read() == "roost-worker\n":
                    return True
    except OSError:
        pass
    return False


def switches(process):
    """How often its first thread went to sleep; None: it does not sleep."""
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
    except (OSError, ValueError):
        return None
    if not fields["State"].strip().startswith("S"):
        return None
    return int(fields["voluntary_ctxt_switches"])


def is_waiting(process):
    """For 0.3 s, it has done nothing: all that it can do without a client is
    done, listening too.
    """
    before = switches(process)
    time.sleep(0.3)
    return before is not None and switches(process) == before


def start_server(room, line, family, title="server"):
    server = room.start(**end(room, title, 1, line, family))
    # Some open the device, close it, and open it again; that takes time, too.
    if not wait_until(lambda: has_opened(server) and is_waiting(server) and
                      has_opened(server) and is_waiting(server), 20):
        raise Failure(f"{title}: does not listen")
    return server


# What rping's thread of CM events says when it asks for one more, of a channel
# that main() has destroyed: rdma-core 44 never joins that thread, and newer
# ones do (cm_thread() and main() in librdmacm/examples/rping.c). Memory that
# was freed may look like another process's, too.
TOO_LATE = ("rdma_get_cm_event: Bad file descriptor",
            "rdma_get_cm_event: Input/output error")
# All that either end has to say before that when nothing went wrong.
AT_THE_END = ("client DISCONNECT EVENT...", "server DISCONNECT EVENT...",
              "wait for RDMA_READ_ADV state 10")


def reads_too_late(process):
    """Is that all that is wrong with it? The thread ends the process with
    status 255, or main() has ended it first.
    """
    lines = process.err().splitlines()
    return "rping" in process.argv and process.status in (0, 255) and \
        bool(lines) and lines[-1] in TOO_LATE and \
        all(line in AT_THE_END for line in lines[:-1])


def bad_word(process):
    """Returns the first of BAD_WORDS that it said; None: it said none."""
    said = process.out() + ("" if reads_too_late(process) else process.err())
    return next((word for word in BAD_WORDS if word in said), None)


def check(process):
    if process.status != 0 and not reads_too_late(process):
        raise Failure(f"{process.title}: exit status {process.status}")
    if process.complaints():
        raise Failure(f"{process.title}: says {process.complaints()}")
    if bad_word(process):
        raise Failure(f"{process.title}: says '{bad_word(process)}'")


def is_refused(client):
    """REJ 8: nobody listens. A perftest connects twice, and its server begins
    to listen for the second time when the client may have asked already.
    """
    said = client.out() + client.err()
    return "RDMA_CM_EVENT_REJECTED; error: 8." in said


def pair(room, server_line, client_line, family):
    for attempt in range(20):
        server = start_server(room, server_line, family, f"server{attempt}")
        client = room.run(**end(room, f"client{attempt}", 2, client_line,
                                family))
        if not is_refused(client):
            break
        room.note("the client was faster than its server")
        server.kill()
    room.finish(server)
    check(client)
    check(server)


def persistent(room, family):
    """One server, 50 clients, one after another on the same link."""
    server = start_server(room, "rping -s -a {a} -P -V", family)
    for i in range(50):
        client = room.run(**end(room, f"client{i}", 2,
                                "rping -c -a {a} -V -C 3", family))
        check(client)
    if server.wait(0) is not None:
        raise Failure("the server has ended")


def times(room, family):
    """A thousand connections at once, and how long they take."""
    start_server(room, "cmtime -b {a} -c 1000", family)
    client = room.run(**end(room, "client", 2, "cmtime -s {a} -c 1000",
                            family))
    check(client)
    for line in client.out().splitlines():
        if line.startswith(("connect ", "disconnect ")):
            room.note(line)
            total_ms = float(line.split(":")[1].split()[0])
            # A message that had to be repeated costs seconds.
            if total_ms > 3000:
                raise Failure(line)


def nobody(room):
    """A server that is not there, a program that has no use for rdma_cm, and
    an address that nobody has.
    """
    for title, line in (("verbs", f"ibv_rc_pingpong -p {room.next_port()}"),
                        ("other", "rping -s -p 7999")):
        server = start_server(room, line, 4, title)
        client = room.run(**end(room, f"refused-{title}", 2,
                                "rping -c -a {a} -C 1", 4), limit_s=10)
        if client.status == 0 or "RDMA_CM_EVENT_REJECTED, error 8" not in \
                client.out() + client.err():
            raise Failure(f"{client.title}: not told so")
        server.kill()
    start_server(room, "rping -s", 4)
    client = room.run(**end(room, "dead", 2, "rping -c -a 198.18.0.99 -C 1",
                            4))
    if client.status == 0 or "RDMA_CM_EVENT_ADDR_ERROR, error -110" not in \
            client.out() + client.err():
        raise Failure("dead: not told so")


def dlopen(room):
    """librdmacm.so without a number is there for programs that dlopen it."""
    program = ("import ctypes; v = ctypes.CDLL('librdmacm.so');"
               "n = ctypes.c_int(); v.rdma_get_devices.restype = "
               "ctypes.c_void_p; assert v.rdma_get_devices("
               "ctypes.byref(n)) and n.value == 1; "
               "print(open('/proc/self/maps').read())")
    seen = room.run("dlopen", room.roost("run", "--link", room.link, "--",
                                         "/usr/bin/python3", "-c", program))
    shim = os.path.join(room.build, "cm", "rdmacm", "librdmacm.so.1")
    if seen.status != 0 or shim not in seen.out():
        raise Failure("dlopen(\"librdmacm.so\") does not find the shim")


def ece(room):
    """Options of vendors go from end to end, as far as they are granted."""
    program = os.path.join(room.build, "tests", "real", "ece")
    pair(room, f"{program} server {{a}}", f"{program} client {{a}}", 4)


def last_ack(room, server_end, client_end, address, rounds, client="client"):
    """The server ends by _exit(2) the moment it has the client's message."""
    program = os.path.join(room.build, "tests", "real", "last_ack")
    words = [address, str(rounds)]
    server = room.start(**server_end("server", [program, "server", *words]))
    client = room.run(**client_end("client", [program, client, *words]))
    room.finish(server)
    check(client)
    check(server)
    return client


def need(run):
    """The programs are Debian's package rdmacm-utils."""
    def case(room, *args):
        if not os.path.exists("/usr/bin/rping"):
            raise Skip("rdmacm-utils is not installed")
        run(room, *args)
    return case


CASES = [Case(f"rdmacm-{name}-v{family}", need(pair), server, client, family)
         for name, server, client, families in PAIRS for family in families]
CASES += [
    Case("rdmacm-rping-persistent-v4", need(persistent), 4),
    Case("rdmacm-rping-persistent-v6", need(persistent), 6),
    Case("rdmacm-cmtime-1000-v4", need(times), 4),
    Case("rdmacm-cmtime-1000-v6", need(times), 6),
    Case("rdmacm-nobody-there", need(nobody)),
    Case("rdmacm-dlopen", dlopen),
    Case("rdmacm-ece", ece),
]
