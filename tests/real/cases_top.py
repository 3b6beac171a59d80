# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost top beside programs that run: as JSON, as text, and in a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import cases_hub
from cases_hub import hub
from harness import Case, Failure
from process import wait_until

WAIT_S = 20
# What a terminal gets to move the cursor, to clear and to colour.
ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][0AB]|[=>78])")


def busy_pair(room):
    """A ping-pong that goes on. Returns the pids of both ends."""
    room.defer(cases_hub.gone)
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-n", "100000000", "-p", str(port)]
    server, client = room.pair_start(
        {"title": "server", "argv": hub(room, *words)},
        {"title": "client", "argv": hub(room, *words, "localhost")}, port)
    return [server.pid, client.pid]


def top(room, title, *options):
    done = room.run(title, room.roost("top", *options))
    if done.status != 0 or done.err():
        raise Failure(f"roost top {' '.join(options)}: exit status "
                      f"{done.status}: {done.err().strip()}")
    return done.out()


def rows(room):
    """Rates of both ends, their workers, and the clients of the daemon."""
    pids = busy_pair(room)
    for number in range(10):
        seen = json.loads(top(room, f"json{number}", "--once", "--json",
                              "--interval", "0.5"))
        busy = [row for row in seen["qps"] if row["tx_packets_per_s"] > 10 and
                row["rx_packets_per_s"] > 10 and row["srtt_ns"] > 0]
        if sorted(row["pid"] for row in busy) == sorted(pids):
            break
    else:
        raise Failure(f"no rates of both QPs: {seen['qps']}")
    for table, key in (("devices", "pid"), ("workers", "pid"),
                       ("clients", "client_pid")):
        if not set(pids) <= {row[key] for row in seen[table]}:
            raise Failure(f"{table}: not both processes")
    one = json.loads(top(room, "one", "--once", "--json", "--pid",
                         str(pids[0]), "--interval", "0.1"))
    if {row["pid"] for row in one["qps"]} != {pids[0]} or one["clients"]:
        raise Failure("--pid: other processes, too")
    text = top(room, "text", "--once", "--interval", "0.1")
    if "\x01" in text or not re.search(
            rf"^ +{pids[0]} roost0 +0x[0-9a-f]+ RC +RTS +198\.18\.0\.1 ", text,
            re.MULTILINE):
        raise Failure(f"text: {text}")


class Terminal:
    """A program that has one, of its own."""

    def __init__(self, argv):
        self.seen = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, {**os.environ, "TERM": "xterm"})
        self.resize(24, 100)

    def resize(self, lines, columns):
        """The program gets SIGWINCH."""
        fcntl.ioctl(self.file, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """Returns false: the program has closed it."""
        while select.select([self.file], [], [], 0.05)[0]:
            try:
                self.seen += os.read(self.file, 65536)
            except OSError:
                return False
        return True

    def shows(self, word):
        """ncurses writes what has changed, so all is written anew."""
        def has():
            self.seen = b""
            os.write(self.file, b"\x0c")
            return not self.read() or word in ESCAPES.sub(b"", self.seen)
        return wait_until(has, WAIT_S) and word in ESCAPES.sub(b"", self.seen)

    def end(self, key):
        """Returns the exit status."""
        os.write(self.file, key)
        if not wait_until(lambda: not self.read(), WAIT_S):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def terminal(room):
    pids = busy_pair(room)
    # Alone: other cases run beside it.
    shown = Terminal(room.roost("top", "--interval", "0.2", "--pid",
                                str(pids[0])))
    wanted = [b"roost top", b"PROGRAM", str(pids[0]).encode(), b"RTS"]
    for word in wanted:
        if not shown.shows(word):
            shown.end(b"q")
            raise Failure(f"the terminal does not show {word.decode()}")
    # Less of it in a smaller one, from another line on.
    shown.resize(8, 40)
    if not shown.shows(b"PROGRAM"):
        shown.end(b"q")
        raise Failure("nothing is shown in another size")
    os.write(shown.file, b" ")
    if not shown.shows(b"roost-worker"):
        shown.end(b"q")
        raise Failure("Page Down shows no other lines")
    status = shown.end(b"q")
    if status != 0:
        raise Failure(f"q: exit status {status}")


def nobody(room):
    netns = room.name
    subprocess.run(["ip", "netns", "add", netns], check=True)
    room.defer(lambda: subprocess.run(["ip", "netns", "del", netns],
                                      check=False))
    done = room.run("top", room.roost("top", "--once"), netns)
    if done.status != 1 or len(done.err().splitlines()) != 1 or done.out():
        raise Failure(f"exit status {done.status}: {done.err()}")
    # A script that reads JSON gets some.
    done = room.run("json", room.roost("top", "--once", "--json", "--interval",
                                       "0.1"), netns)
    if (done.status != 1 or len(done.err().splitlines()) != 1 or
            json.loads(done.out() or "null")["devices"] != []):
        raise Failure(f"exit status {done.status}: {done.err()}{done.out()}")


CASES = [
    # It looks at all processes.
    Case("top-rows", rows, alone=True),
    Case("top-terminal", terminal),
    Case("top-nobody", nobody),
]
