# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost run as process 1 of a PID namespace."""

import os
import re
import signal

from harness import Case, Failure, Skip
from process import child_of, wait_until


def first(room):
    """Process 1 of a PID namespace, whose end kills all others there: nothing
    is left, its status is the program's, and signals come through.
    """
    space = ["unshare", "-pf", "--mount-proc"]
    if room.run("space", space + ["true"]).status != 0:
        raise Skip("no PID namespace")
    say = "echo picture $ROOST_PICTURE; "
    words = space + room.roost("run", "--link", room.link, "--", "sh", "-c")
    # With a daemon of the program's, which uses the picture.
    for title, rest in (("status", "exit 7"),
                        ("orphan", "sleep 100 & exit 7")):
        if room.run(title, words + [say + rest]).status != 7:
            raise Failure(f"{title}: not the status of the program")
    end = room.start("signal", words + [
        say + "trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done"])
    if not wait_until(lambda: "ready" in end.out(), 10):
        raise Failure("signal: does not start")
    os.kill(child_of(end.pid), signal.SIGTERM)
    end.wait(10)
    if end.status != 3:
        raise Failure(f"signal: exit status {end.status}")
    for process in room.processes:
        for path in re.findall("picture (.+)", process.out()):
            if os.path.exists(path):
                raise Failure(f"{process.title}: {path} is left")


CASES = [
    Case("sysfs-first", first),
]
