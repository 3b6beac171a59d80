# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""QEMU's monitor (QMP): cables are pulled and cards taken out by it."""

import json
import socket

from harness import Failure

ANSWER_S = 60


class Monitor:
    """One end of a pair of sockets; QEMU gets the other, as file descriptor
    fd. Whoever makes it calls close().
    """

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(ANSWER_S)
        self.fd = self.theirs.fileno()
        self.words = ["-chardev", f"socket,id=qmp,fd={self.fd}", "-mon",
                      "chardev=qmp,mode=control"]
        self.lines = self.ours.makefile("rb")
        self.ready = False

    def read(self):
        """The next answer; events are passed over."""
        while True:
            try:
                line = self.lines.readline()
            except TimeoutError as e:
                raise Failure("QEMU's monitor does not answer") from e
            if not line:
                raise Failure("QEMU is gone")
            answer = json.loads(line)
            if "return" in answer or "error" in answer:
                return answer

    def command(self, execute, **arguments):
        if not self.ready:
            self.ready = True
            self.command("qmp_capabilities")
        request = {"execute": execute, "arguments": arguments}
        self.ours.sendall(json.dumps(request).encode() + b"\n")
        answer = self.read()
        if "error" in answer:
            raise Failure(f"QEMU, {execute}: {answer['error']['desc']}")
        return answer["return"]

    def close(self):
        self.lines.close()
        self.ours.close()
        self.theirs.close()
