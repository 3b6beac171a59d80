# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Storage and virtual machines: iSER between tgt and libiscsi, the messenger of
Ceph, and the migration of QEMU. At one hub.
"""

import base64
import filecmp
import os
import re
import signal
import socket

import cases_hub
from cases_hub import ADDRESS, hub
from cases_sysfs import need
from cases_tools import ended_well, says
from harness import Case, Failure, Skip
from process import wait_for_listener, wait_until

# ---- iSER ------------------------------------------------------------------

TARGET = "iqn.2026-11.org.example:disk"
# QEMU's, when its user names none. tgt wants the initiator's name as well as
# its address.
INITIATOR = "iqn.2008-11.org.linux-kvm"
# How tgtadm finds tgtd, with a number of its own behind it.
CONTROL = "/tmp/roost-tgt"
DISK_BYTES = 32 << 20
# What is written, by (pattern, offset, length), and read again. libiscsi's
# iSER takes up to 256 KiB.
EXTENTS = ((0x5a, "0", "64k"), (0x33, "1M", "256k"), (0x07, "3M", "8k"),
           (0xff, "33553920", "512"))


def tgtadm(room, control, *words):
    done = room.run("tgtadm", ["env", f"TGT_IPC_SOCKET={CONTROL}", "tgtadm",
                               "-C", control, "--lld", "iser", *words],
                    limit_s=20)
    if done.status != 0:
        raise Failure(f"tgtadm {' '.join(words)}: {done.err()}")


def target(room, port, disk):
    """tgtd with one disk, for one initiator."""
    control = str(room.next_port())
    address = f"{CONTROL}.{control}"
    daemon = room.start("tgtd", hub(
        room, "env", f"TGT_IPC_SOCKET={CONTROL}", "tgtd", "-f",
        "-d", "1", "-C", control, "--iscsi", f"portal=127.0.0.1:{port}",
        "--iser", f"port={port}"))
    for path in (address, address + ".lock"):
        room.defer(lambda path=path: os.path.exists(path) and os.remove(path))
    if not wait_until(lambda: os.path.exists(address), 20):
        raise Failure("tgtd: cannot be told anything")
    entry = ("--mode", "target", "--tid", "1")
    tgtadm(room, control, "--op", "new", *entry, "-T", TARGET)
    tgtadm(room, control, "--op", "new", "--mode", "logicalunit", "--tid", "1",
           "--lun", "1", "-b", disk)
    tgtadm(room, control, "--op", "bind", *entry, "-I", "ALL")
    tgtadm(room, control, "--op", "bind", *entry, "--initiator-name",
           INITIATOR)
    return daemon


def iser(room):
    """What QEMU's block layer writes it reads again, and tgt's file has it."""
    need("tgtd", "tgtadm", "qemu-io")
    if not os.path.exists("/usr/lib/x86_64-linux-gnu/qemu/block-iscsi.so"):
        raise Skip("qemu-block-extra is not installed")
    room.defer(cases_hub.gone)
    port = room.next_port()
    disk = room.path("disk")
    with open(disk, "wb") as file:
        file.truncate(DISK_BYTES)
    daemon = target(room, port, disk)
    words = []
    for verb in ("write", "read"):
        for pattern, offset, length in EXTENTS:
            words += ["-c", f"{verb} -P {pattern} {offset} {length}"]
    words += ["-c", "read -P 0 2M 256k"]
    client = room.run("qemu-io", hub(
        room, "qemu-io", "-f", "raw", *words,
        f"iser://{ADDRESS}:{port}/{TARGET}/1"))
    ended_well(client)
    done = len(re.findall(r"^(?:read|wrote) (\d+)/\1 ", client.out(),
                          re.MULTILINE))
    if done != 2 * len(EXTENTS) + 1 or "failed" in client.out():
        raise Failure(f"qemu-io: {done} of {2 * len(EXTENTS) + 1} are right")
    local = room.run("local", ["qemu-io", "-r", "-f", "raw", *words[8:], disk])
    ended_well(local)
    if "failed" in local.out():
        raise Failure("the file of the target has other bytes")
    daemon.kill()


# ---- Ceph ------------------------------------------------------------------

# Its messenger meets by TCP, and has all else over RDMA.
CEPH = """[global]
fsid = a7f64266-0894-4f1e-a635-d0aeaca0e993
mon host = v1:127.0.0.1:{port}
auth cluster required = none
auth service required = none
auth client required = none
ms type = async+rdma
ms cluster type = async+rdma
ms public type = async+rdma
ms async rdma device name = roost0
ms async rdma local gid = 0000:0000:0000:0000:0000:ffff:c612:0001
ms async rdma receive queue len = 512
ms async rdma receive buffers = 2048
ms async rdma send buffers = 1024
log file = {logs}/$name.log
run dir = {logs}
admin socket =
mon data = {logs}/mon
mon data avail crit = 1
"""
CEPH_BYTES = 60000


def keep(room, conf, *words):
    """Ceph's client may ask before it has the monitor's map, under a cluster
    id of zeros, which the monitor refuses: where a core is rare.
    """
    for _ in range(5):
        done = room.run("client", hub(room, "ceph", "-c", conf, "config-key",
                                      *words))
        if "getting command descriptions" not in done.err():
            break
    ended_well(done)


def ceph(room):
    """A monitor, and a client that keeps a value in it."""
    need("ceph", "ceph-mon", "monmaptool")
    room.defer(cases_hub.gone)
    port = room.next_port()
    conf, monmap = room.path("ceph.conf"), room.path("monmap")
    value, copy = room.path("value"), room.path("copy")
    with open(conf, "w", encoding="ascii") as file:
        file.write(CEPH.format(port=port, logs=room.logs))
    with open(value, "wb") as file:
        file.write(base64.b64encode(os.urandom(CEPH_BYTES // 4 * 3)))
    os.mkdir(room.path("mon"))
    monitor = ["ceph-mon", "-c", conf, "-i", "a"]
    for words in (["monmaptool", "--create", "--fsid",
                   "a7f64266-0894-4f1e-a635-d0aeaca0e993", "--addv", "a",
                   f"v1:127.0.0.1:{port}", monmap],
                  [*monitor, "--mkfs", "--monmap", monmap]):
        ended_well(room.run(words[0], words))
    daemon = room.start("monitor", hub(room, *monitor, "-f"))
    if not wait_for_listener(daemon, port, 20):
        raise Failure("monitor: does not listen")
    keep(room, conf, "set", "key", "-i", value)
    keep(room, conf, "get", "key", "-o", copy)
    if not filecmp.cmp(value, copy, shallow=False):
        raise Failure("the value differs")
    # It takes its device apart.
    daemon.signal(signal.SIGTERM)
    ended_well(daemon)


# ---- migration -------------------------------------------------------------

# Where the guest's memory has the file.
AT, GUEST_BYTES = 0x1000000, 16 << 20


class Monitor:
    """The human monitor of one QEMU."""

    def __init__(self, room, process, path):
        if not wait_until(lambda: os.path.exists(path), 20):
            raise Failure(f"{process.title}: has no monitor")
        self.title = process.title
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        room.defer(self.socket.close)
        self.answer()

    def answer(self):
        text = b""
        while not text.endswith(b"(qemu) "):
            more = self.socket.recv(65536)
            if not more:
                raise Failure(f"{self.title}: its monitor ends")
            text += more
        return text.decode(errors="replace")

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")
        return self.answer()


def machine(room, title, *options):
    """A guest that does not run."""
    path = f"/tmp/roost-qemu-{os.getpid()}-{room.next_port()}"
    room.defer(lambda: os.path.exists(path) and os.remove(path))
    process = room.start(title, hub(
        room, "qemu-system-x86_64", "-accel", "tcg", "-M", "pc", "-m", "64",
        "-nodefaults", "-display", "none", "-S", "-monitor",
        f"unix:{path},server=on,wait=off", *options))
    return process, Monitor(room, process, path)


def migration(room, pinned):
    """All of a guest's memory, with zero pages and without, is what it was."""
    need("qemu-system-x86_64")
    room.defer(cases_hub.gone)
    content, copy = room.path("content"), room.path("copy")
    with open(content, "wb") as file:
        file.write(os.urandom(GUEST_BYTES))
    uri = f"rdma:{ADDRESS}:{room.next_port()}"
    _, there = machine(room, "there", "-incoming", "defer")
    _, here = machine(room, "here", "-device",
                      f"loader,file={content},addr={AT:#x},force-raw=on")
    if pinned:
        for monitor in (there, here):
            monitor.ask("migrate_set_capability rdma-pin-all on")
    there.ask(f"migrate_incoming {uri}")
    here.ask("migrate_set_parameter max-bandwidth 10g")
    here.ask(f"migrate {uri}")
    status = here.ask("info migrate")
    if "Migration status: completed" not in status:
        raise Failure(f"here: {status}")
    if not wait_until(lambda: "inmigrate" not in there.ask("info status"), 20):
        raise Failure("there: the guest has not come")
    there.ask(f"pmemsave {AT:#x} {GUEST_BYTES:#x} \"{copy}\"")
    if not filecmp.cmp(content, copy, shallow=False):
        raise Failure("the guest's memory differs")
    room.note(re.search(r"total time: (.*)", status)[1].strip())
    for monitor in (here, there):
        monitor.socket.sendall(b"quit\n")


CASES = [
    Case("storage-iser", iser),
    Case("storage-ceph", ceph),
    Case("qemu-migration", migration, False),
    Case("qemu-migration-pinned", migration, True),
]
