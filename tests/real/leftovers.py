# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What programs leave behind when they are gone.

In rooms of its own (see rooms.py) the runner sees every file that appears in
/dev/shm, /run and /tmp. Where it shares them with the machine, only names with
a mark of the case's count (its link, its processes), so that a stranger's file
fails no case.
"""

import os

PLACES = ("/dev/shm", "/run", "/tmp", "/dev/hugepages")

# Set by the runner: whether the places are the machine's, and folders that
# are not looked into.
shared = True
ours = ()


def files():
    for place in PLACES:
        for folder, folders, names in os.walk(place):
            folders[:] = [name for name in folders
                          if os.path.join(folder, name) not in ours]
            for name in folders + names:
                yield os.path.join(folder, name)


def sockets():
    """Names of UNIX sockets; a leading @ is an abstract one."""
    try:
        with open("/proc/net/unix") as file:
            rows = file.read().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        words = row.split(maxsplit=7)
        if len(words) == 8:
            yield words[7]


def snapshot():
    return set(files()) | set(sockets())


def since(before, marks):
    """What is there and was not, sorted."""
    return sorted(name for name in snapshot() - before
                  if not shared or any(mark in name for mark in marks))
