# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""NICs that cannot be had: one line, with the cause and what to do. Then what
the IOMMU has to say of the whole run."""

from cases_nic_life import no_faults, watch, wild
from harness import Failure
from nic_entry import RUN_S, NicEntry, nics
from nic_world import BARE, LEGACY

MODEL = "e1000e"
NOBODY = ["setpriv", "--reuid", "65534", "--clear-groups"]


def refused(room, world, address, *wanted, before=(), options=()):
    client = world.start(room, "refused", [
        *before, *room.roost("run", "--port", address, *options, "--",
                             "ibv_devinfo")])
    room.finish(client, RUN_S)
    said = [line for line in client.err().splitlines()
            if line.startswith("roost: ")]
    if client.status == 0 or len(said) != 1:
        raise Failure(f"status {client.status}, {len(said)} lines for the "
                      "user")
    for words in wanted:
        if words not in said[0]:
            raise Failure(f"nothing of \"{words}\" in: {said[0]}")


def absent(room, world, _machine, _model):
    refused(room, world, "0000:1f:00.0", "no such PCI device", "lspci -D")


def kernels(room, world, machine, model):
    nic = nics(machine, model)[1]
    world.bind(nic, model)
    refused(room, world, nic.address, "the kernel's interface eth", model,
            f"dpdk-devbind.py -b vfio-pci {nic.address}")


def nobodys(room, world, machine, model):
    nic = nics(machine, model)[1]
    world.sh("[ ! -e /sys/bus/pci/devices/$1/driver ] || "
             "echo $1 >/sys/bus/pci/devices/$1/driver/unbind", nic.address)
    world.bound.pop(nic.address, None)
    refused(room, world, nic.address, "no driver of the kernel's has it",
            f"dpdk-devbind.py -b vfio-pci {nic.address}")


def forbidden(room, world, machine, model):
    nic = nics(machine, model)[1]
    world.bind(nic)
    refused(room, world, nic.address, "/dev/vfio/", "Permission denied",
            "ulimit -l", before=NOBODY)


def busy(room, world, machine, model):
    nic = nics(machine, model)[0]
    watcher = watch(room, world, nic)
    refused(room, world, nic.address, "another program drives it")
    watcher.kill()


def shared_group(room, world, machine, _model):
    """Two functions of one card, which reach each other past the IOMMU."""
    ours, other = machine.twins
    world.sh("echo vfio-pci >/sys/bus/pci/devices/$1/driver_override; "
             "[ ! -e /sys/bus/pci/devices/$1/driver ] || "
             "echo $1 >/sys/bus/pci/devices/$1/driver/unbind; "
             "echo $1 >/sys/bus/pci/drivers_probe", ours)
    refused(room, world, ours, other, "IOMMU group", "vfio-pci")


def too_long(room, world, machine, model):
    nic = nics(machine, model)[0]
    world.bind(nic)
    refused(room, world, nic.address, "MTU", "smaller mtu",
            options=["--mtu", "9900"])


def legacy(room, world, machine, model):
    nic = nics(machine, model)[0]
    world.bind(nic)
    refused(room, world, nic.address, "virtio device of before 1.0",
            "disable-legacy=on")


CASES = [
    ("no such address", absent),
    ("still the kernel's", kernels),
    ("nobody's", nobodys),
    ("not root", forbidden),
    ("another program's", busy),
    ("another of its IOMMU group is the kernel's", shared_group),
    ("MTU 9900", too_long),
    ("no DMA went astray", no_faults),
    ("astray by intent", wild),
]


def entries(machine):
    if machine is BARE:
        yield NicEntry(machine, LEGACY, "refused: I/O ports", legacy)
    else:
        for title, run in CASES:
            yield NicEntry(machine, MODEL, title, run)
