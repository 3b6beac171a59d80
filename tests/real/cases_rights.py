# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Each kind of port with the capabilities that doc/install.md says, by a user
who has no others; and without one of them, which the error then names."""

import os
import subprocess

from cases_ctl import WATCH
from harness import Case, Failure, Skip
from process import wait_until
from wire import Wire, ip

NOBODY = "65534"

# (name, devargs or options, capabilities that are enough)
XDP_RIGHTS = ("net_raw", "net_admin", "bpf", "perfmon", "ipc_lock")
KINDS = {
    "link": (["--link", "LINK"], ()),
    "af-packet": (["--port", "net_af_packet0,iface=left"], ("net_raw",)),
    "af-xdp": (["--port", "net_af_xdp0,iface=left"], XDP_RIGHTS),
    "tap": (["--port", "net_tap0,iface=rtap", "--ip", "198.18.0.1/24"],
            ("net_admin",)),
    "vhost": (["--port", "net_vhost0,iface=/tmp/LINK.sock", "--ip",
               "198.18.0.1/24"], ()),
    "twin": (["--link", "LINK", "--twin", "rtw"], ("net_admin",)),
}


def as_nobody(room, rights, argv):
    """argv as a user who has these capabilities and no other. Such a user may
    not look into the folders above the build tree: it is shown in /tmp, too.
    """
    shown = f"/tmp/{room.link}-build"
    if not os.path.exists(shown):
        os.mkdir(shown)
        subprocess.run(["mount", "--bind", room.build, shown], check=True)
        room.defer(os.rmdir, shown)
        room.defer(subprocess.run, ["umount", "--lazy", shown])
    caps = ",".join(["-all", *(f"+{name}" for name in rights)])
    argv = [word.replace(room.build, shown) for word in argv]
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
            "--bounding-set", caps, "--inh-caps", caps, "--ambient-caps", caps,
            *argv]


def start(room, title, kind, rights):
    options = [word.replace("LINK", room.link) for word in KINDS[kind][0]]
    wire = Wire(room)
    sock = f"/tmp/{room.link}.sock"
    room.defer(lambda: os.path.exists(sock) and os.remove(sock))
    for end in ("left", "right"):
        ip("-n", wire.netns[end], "link", "set", end, "mtu", "3000")
    return room.start(title, as_nobody(
        room, rights, room.roost("run", *options, "--", *WATCH)),
        netns=wire.netns["left"])


def need(kind):
    if kind in ("tap", "twin") and not os.path.exists("/dev/net/tun"):
        raise Skip("the kernel has no /dev/net/tun")


def enough(room, kind):
    need(kind)
    watch = start(room, "watch", kind, KINDS[kind][1])
    if not wait_until(lambda: "async event FD" in watch.out(), 20):
        raise Failure(f"does not start: {watch.err().strip()}")
    if watch.err():
        raise Failure(f"said: {watch.err().strip()}")


def lacks(room, kind, right):
    need(kind)
    rights = [name for name in KINDS[kind][1] if name != right]
    watch = start(room, "watch", kind, rights)
    room.finish(watch)
    lines = watch.err().splitlines()
    name = f"CAP_{right.upper()}"
    if not lines or not lines[0].startswith("roost: ") or \
            name not in lines[0] or "devargs" in lines[0]:
        raise Failure(f"without {name}: said {lines}")


CASES = [Case(f"rights-{kind}", enough, kind) for kind in KINDS]
CASES += [Case(f"rights-{kind}-lacks-{right.replace('_', '-')}", lacks, kind,
               right)
          for kind, (_, rights) in KINDS.items() for right in rights
          # A large "ulimit -l" does instead.
          if right != "ipc_lock"]
