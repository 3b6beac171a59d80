# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The connection manager as libroost has it: cm_pair.c at both ends of a
link. The client's last connection ends because its process does."""

import os

from harness import Case, Failure
from process import wait_until


def pair(room, connections, launcher=()):
    program = os.path.join(room.build, "tests", "real", "cm_pair")

    def end(title):
        return room.start(title, room.roost(
            "run", *launcher, "--link", room.link, "--", program, title,
            str(connections)))

    server = end("server")
    if not wait_until(lambda: "listening" in server.out(), 20):
        raise Failure("the server does not listen")
    client = end("client")
    for process in (client, server):
        room.finish(process)
        if process.status != 0 or process.err():
            raise Failure(f"{process.title}: exit status {process.status}")


CASES = [
    Case("cm-one", pair, 1),
    Case("cm-hundred", pair, 100),
    Case("cm-dedicated", pair, 3, ("--progress", "dedicated")),
]
