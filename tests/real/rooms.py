# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Rooms of our own: a mount, network and process namespace for the whole run.

In there /tmp, /run and /dev/shm are empty and ours, no port of the machine is
taken, interfaces and namespaces that a case makes are seen by nobody else, and
when the runner goes, in whatever way, the kernel takes everything along.
"""

import os
import subprocess
import sys

MARK = "ROOST_TEST_ROOMS"
PLACES = ("/tmp", "/run", "/dev/shm")
HUGE_PAGES = "/dev/hugepages"
OPTIONS = ["--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child",
           "--mount-proc"]
# Process 1 of the namespace: it waits for what is nobody's child.
INIT = ["sh", "-c", '"$@"; exit $?', "init"]


def inside():
    return MARK in os.environ


def possible():
    """Returns None, or why there can be none here."""
    if os.geteuid() != 0:
        return "not root"
    try:
        probe = subprocess.run(["unshare", *OPTIONS, "true"],
                               capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    return None if probe.returncode == 0 else probe.stderr.strip()


def command():
    """The same command inside."""
    return ["unshare", *OPTIONS, *INIT, sys.executable, *sys.argv]


def environment():
    return dict(os.environ, **{MARK: "1"})


def enter():
    """Become the same command inside; does not return."""
    os.execvpe("unshare", command(), environment())


def within(path, place):
    return path == place or path.startswith(place + "/")


def furnish(kept):
    """Inside: empty places, and a loopback interface. The folders in kept stay
    where they are, even if that is in one of these places.
    """
    for place in PLACES:
        inner = [path for path in kept if within(path, place)]
        fds = [os.open(path, os.O_PATH) for path in inner]
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none",
                        place], check=True)
        for path, fd in zip(inner, fds):
            os.makedirs(path, exist_ok=True)
            # Its old name is hidden by now.
            subprocess.run(["mount", "--no-canonicalize", "--bind",
                            f"/proc/self/fd/{fd}", path], check=True,
                           pass_fds=[fd])
            os.close(fd)
    if os.path.ismount(HUGE_PAGES):
        subprocess.run(["mount", "-t", "hugetlbfs", "none", HUGE_PAGES],
                       check=True)
    # ip(8) makes this folder for its namespaces and leaves it.
    os.makedirs("/run/netns", exist_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
