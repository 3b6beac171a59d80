# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What programs leave behind when they are gone.

In rooms of its own (see rooms.py) the runner sees every file that appears in
/dev/shm, /run and /tmp. Where it shares them with the machine, only names that
Roost or DPDK would give count, so that a stranger's file fails no case.
"""

import os

PLACES = ("/dev/shm", "/run", "/tmp", "/dev/hugepages")
OUR_NAMES = ("roost", "dpdk", "rte_", "rtemap", "memif", "real-")

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
                path = os.path.join(folder, name)
                if not shared or any(name in path for name in OUR_NAMES):
                    yield path


def sockets():
    """UNIX sockets whose names begin as Roost's or memif's do; a leading @ is
    an abstract one.
    """
    try:
        with open("/proc/net/unix") as file:
            rows = file.read().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        words = row.split(maxsplit=7)
        if len(words) == 8 and any(name in words[7] for name in OUR_NAMES):
            yield words[7]


def snapshot():
    return set(files()) | set(sockets())


def since(before):
    """What is there and was not, sorted."""
    return sorted(snapshot() - before)
