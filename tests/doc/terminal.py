# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A terminal: an interactive shell that commands are typed into."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
import time

# Printed behind the commands of a block: their status, and those of the
# commands that failed.
END = re.compile(r"\x01(\d+):([ \d]*)\x02")
TELL_END = "printf '\\001%s:%s\\002\\n' \"$__status\" \"$__bad\""
TCP_LISTEN = "0A"


def without_echo(fd):
    mode = termios.tcgetattr(fd)
    mode[3] &= ~(termios.ECHO | termios.ECHOCTL)
    termios.tcsetattr(fd, termios.TCSANOW, mode)


def descendants(pid):
    found = []
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
    except OSError:
        return found
    for child in children:
        found += [child, *descendants(child)]
    return found


def listens(pid):
    """Does the process hold a TCP socket that listens?"""
    try:
        held = {os.readlink(entry.path)
                for entry in os.scandir(f"/proc/{pid}/fd")}
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}") as file:
                for row in file.read().splitlines()[1:]:
                    words = row.split()
                    if words[3] == TCP_LISTEN and \
                            f"socket:[{words[9]}]" in held:
                        return True
    except OSError:
        pass
    return False


class Terminal:
    def __init__(self, number, folder, cwd, env):
        self.number = number
        self.folder = folder
        self.said = ""      # since the last block was typed
        self.lock = threading.Lock()
        self.blocks = 0
        self.step = None    # whose commands have not been seen to end
        self.fd, slave = pty.openpty()
        without_echo(slave)
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
            env=dict(env, PS1="", PS2="", TERM="dumb"),
            preexec_fn=self.take_terminal)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    @staticmethod
    def take_terminal():
        # Whoever runs the tests in the background ignores it, and a shell
        # leaves it so.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        # Opening it makes it the controlling terminal of the session.
        os.close(os.open(os.ttyname(0), os.O_RDWR))

    def read(self):
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            with self.lock:
                self.said += data.decode(errors="replace")

    def type(self, step):
        """The commands of a block, as one script that the shell reads."""
        self.blocks += 1
        path = os.path.join(self.folder, f"{self.number}.{self.blocks}")
        with open(path, "w") as file:
            file.write("__bad=; trap '__bad=\"$__bad $?\"' ERR\n" +
                       step.text() + "__status=$?; trap - ERR\n")
        self.step = step
        with self.lock:
            self.said = ""
        self.write(f". {path}; {TELL_END}")

    def write(self, line):
        os.write(self.fd, (line + "\n").encode())

    def end(self):
        """Returns (status, statuses of commands that failed), or None."""
        with self.lock:
            match = END.search(self.said)
        return (int(match[1]), match[2].split()) if match else None

    def wait(self, limit_s):
        deadline = time.monotonic() + limit_s
        while self.end() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.end()

    def output(self):
        with self.lock:
            return END.sub("", self.said)

    def settle(self, limit_s=2):
        """As long as somebody needs who types into another terminal next: the
        program that was started listens, or some seconds have passed.
        """
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline and self.end() is None:
            if any(listens(pid) for pid in descendants(self.shell.pid)):
                return
            time.sleep(0.05)

    def interrupt(self):
        """The shell forgets the rest of its line with the program."""
        os.write(self.fd, b"\x03")
        self.write(f"__status=130; {TELL_END}")

    def close(self):
        for pid in descendants(self.shell.pid):
            try:
                os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        self.shell.kill()
        self.shell.wait()
        os.close(self.fd)
