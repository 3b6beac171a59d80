# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What a program sees at paths to devices and around them, a line for each: the
preloaded library shows what the kernel shows in a mount namespace.
"""

import errno
import os
import stat

CLASS = "/sys/class/infiniband"
FROM = (CLASS, f"{CLASS}/roost0", f"{CLASS}/roost0/device",
        f"{CLASS}/roost0/subsystem", f"{CLASS}/roost0/ports/1/gids/0",
        f"{CLASS}/nothing", f"{CLASS}_verbs", f"{CLASS}_verbs/uverbs_roost0",
        "/sys/devices/infiniband_roost/roost0", "/dev/infiniband",
        "/dev/infiniband/uverbs_roost0")
ON = ("", "/", "/.", "/..", "/../..", "//", "/./", "/..//net/lo",
      "/../infiniband", "/../roost0", "/../../../system/cpu",
      "/../../class/infiniband/roost0/node_type", "/../../../proc/version",
      "/nothing", "/node_type", "/node_type/", "/node_type/..",
      "/ports/../ports", "/uverbs_roost0", "/uverbs_roost0/",
      "/../infiniband/uverbs_roost0")


def tell(function, *args):
    try:
        return function(*args)
    except OSError as error:
        return errno.errorcode[error.errno]


def kind(path, **how):
    st = os.stat(path, **how)
    return oct(stat.S_IFMT(st.st_mode)), st.st_rdev


def beginning(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def names():
    """Of the working directory, but those that the preloaded library hides."""
    return sorted(name for name in os.listdir(".")
                  if not name.startswith(("infiniband", ".")))


def inside(path):
    os.chdir(path)
    try:
        return (os.getcwd(), os.path.realpath(".."), names(),
                tell(kind, "../net/lo"), tell(kind, ".."))
    finally:
        os.chdir("/")


for path in (start + rest for start in FROM for rest in ON):
    print(path, tell(kind, path), tell(beginning, path),
          tell(os.readlink, path), os.path.realpath(path),
          os.access(path, os.R_OK), os.access(path, os.W_OK),
          tell(inside, path))
