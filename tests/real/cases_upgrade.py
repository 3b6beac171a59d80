# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roostd and its clients where one end is of another version, as after an
upgrade of one of them: one line says so, and the daemon serves the others."""

import os
import signal

from cases_service import WATCH
from harness import TOP, Case, Failure
from process import wait_until
from service import Service

PROXY = os.path.join(TOP, "tests", "real", "version_proxy.py")


class Upgraded(Service):
    """A daemon, and another socket at which it is of another version."""

    def __init__(self, room):
        super().__init__(room)
        self.other = self.path + ".proxy"
        self.versions = room.path("versions")
        self.say(0, 0)
        proxy = room.start("proxy", ["python3", PROXY, self.other, self.path,
                                     self.versions])
        if not wait_until(proxy.out, 60):
            raise Failure("the proxy does not start: " + proxy.err())

    def say(self, to_daemon, to_client):
        with open(self.versions, "w", encoding="ascii") as file:
            file.write(f"{to_daemon} {to_client}\n")

    def run_there(self, title, words=("ibv_devinfo",)):
        argv = self.room.roost("run", "--service", self.other, "--sysfs",
                               "none", "--", *words)
        return self.room.start(title, argv, self.wire.netns["left"])

    def end_well(self):
        """Clients of its own version are served as before."""
        done = self.room.run(**self.client("same", ["ibv_devinfo"]))
        if done.status != 0 or "PORT_ACTIVE" not in done.out():
            raise Failure("the daemon does not serve its own version any "
                          "more: " + done.err())


def lines(process):
    return [line for line in process.err().splitlines()
            if line.startswith("roost: ")]


def at_start(room, to_daemon, to_client):
    service = Upgraded(room)
    done = service.run_there("through")
    room.finish(done)
    if done.status != 0 or lines(done):
        raise Failure("the proxy does harm: " + done.err())
    service.say(to_daemon, to_client)
    done = service.run_there("refused")
    room.finish(done)
    wanted = "its daemon has another version of the session; update the " \
             "older one of the two"
    if done.status == 0 or len(lines(done)) != 1 or \
            not lines(done)[0].endswith(wanted):
        raise Failure(f"status {done.status}: {done.err()}, not {wanted}")
    service.end_well()


def in_flight(room):
    """A client of before comes back to a daemon of the next version: its
    device fails at once, and not when its patience is over.
    """
    service = Upgraded(room)
    watch = service.run_there("watch", WATCH)
    if not wait_until(lambda: "async event FD" in watch.out(), 60):
        raise Failure("does not open: " + watch.err())
    service.process.signal(signal.SIGKILL)
    room.finish(service.process, 10)
    os.unlink(service.path)
    service.say(2, 2)
    service.process = service.start("roostd-next")
    if not wait_until(lambda: "DEVICE_FATAL" in watch.out(), 60):
        raise Failure(f"no DEVICE_FATAL: {watch.out()} {watch.err()}")
    said = [line for line in lines(watch) if "version" in line]
    if len(said) != 1 or "does not take it back" not in said[0]:
        raise Failure(f"said {lines(watch)}")
    service.end_well()


CASES = [
    # Neither understands the other one; or the daemon still would.
    Case("upgrade-client-first", at_start, 2, 2),
    Case("upgrade-daemon-first", at_start, 0, 2),
    Case("upgrade-in-flight", in_flight),
]
