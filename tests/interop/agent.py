# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The guest's only process of its own: starts the programs that it is told to,
and tells how they end. Speaks lines of JSON through a virtio port.

requests                                    answers
{"do": "start", "id", "argv", "out", "err"} {"id", "status"}, when it ended;
                                            "why", too: it cannot be started
{"do": "signal", "id", "number"}
{"do": "listens", "port"}                   {"listens": true or false}
"""

import glob
import json
import os
import select
import subprocess
import time

TCP_LISTEN = "0A"


def find_port(limit_s=20):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        for path in glob.glob("/dev/vport*"):
            return os.open(path, os.O_RDWR)
        time.sleep(0.1)
    raise RuntimeError("no virtio port")


def listens(port):
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as file:
            for row in file.read().splitlines()[1:]:
                words = row.split()
                if (words[1].endswith(f":{port:04X}") and
                        words[3] == TCP_LISTEN):
                    return True
    return False


class Agent:
    def __init__(self, port):
        self.port = port
        self.programs = {}  # pidfd: (id, Popen)

    def tell(self, **answer):
        line = json.dumps(answer).encode() + b"\n"
        while line:
            line = line[os.write(self.port, line):]

    def start(self, request):
        try:
            with open(request["out"], "wb") as out, \
                    open(request["err"], "wb") as err:
                program = subprocess.Popen(
                    request["argv"], stdin=subprocess.DEVNULL, stdout=out,
                    stderr=err, start_new_session=True, cwd="/")
        except OSError as e:
            self.tell(id=request["id"], status=127, why=str(e))
            return
        fd = os.pidfd_open(program.pid)
        self.programs[fd] = (request["id"], program)

    def signal(self, request):
        for number, program in self.programs.values():
            if number == request["id"]:
                os.killpg(program.pid, request["number"])

    def serve(self, line):
        request = json.loads(line)
        if request["do"] == "start":
            self.start(request)
        elif request["do"] == "signal":
            self.signal(request)
        elif request["do"] == "listens":
            self.tell(listens=listens(request["port"]))

    def reap(self, fd):
        number, program = self.programs.pop(fd)
        os.close(fd)
        self.tell(id=number, status=program.wait())

    def loop(self):
        rest = b""
        while True:
            ready, _, _ = select.select([self.port, *self.programs], [], [])
            for fd in ready:
                if fd != self.port:
                    self.reap(fd)
                    continue
                *lines, rest = (rest + os.read(fd, 4096)).split(b"\n")
                for line in lines:
                    self.serve(line)


def main():
    os.environ.clear()
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL="C",
                      HOME="/tmp")
    agent = Agent(find_port())
    agent.tell(ready=True)
    agent.loop()


if __name__ == "__main__":
    main()
