# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Guests with NICs that DPDK drives: two of each model, joined by a hub of
QEMU's. Roost runs in the guest, from the build tree, and names a NIC by its
PCI address.

The two ends of a program's TCP side channel meet on the guest's loopback.
"""

import contextlib
import os
import socket
import struct
import threading

import kernel
from guest import Guest, GuestProcess
from harness import Failure
from monitor import Monitor

HUGE_PAGES = 512  # of 2 MiB
MEMORY_MIB = 2560
SETUP_S = 240
MTU_BYTES = 9000
MODULES = """
    vfio_pci uio_pci_generic virtio_net e1000e vmxnet3 8021q tun
""".split()

LEGACY = "virtio-net legacy"
# Words of -device for each model, and its vendor and device ID in the guest.
MODELS = {
    "virtio-net": ("virtio-net-pci,disable-legacy=on,"
                   f"host_mtu={MTU_BYTES}", "1af4:1041"),
    LEGACY: ("virtio-net-pci,disable-legacy=off,disable-modern=on",
             "1af4:1000"),
    "e1000e": ("e1000e", "8086:10d3"),
    "vmxnet3": ("vmxnet3", "15ad:07b0"),
}


class Machine:
    """What a guest is like. driver: the kernel's that gives NICs to us."""

    def __init__(self, title, models, driver, devices=(), append="",
                 modules=(), each=""):
        self.title = title
        self.models = models
        self.driver = driver
        self.devices = devices
        self.append = append
        self.modules = modules
        self.each = each
        # Two functions of one more card.
        bus = 2 * len(models) + 1
        self.twins = [f"0000:{bus:02x}:00.{function}" for function in (0, 1)]

    def whole_models(self):
        """Those that Roost can drive."""
        return [model for model in self.models if model != LEGACY]


IOMMU = Machine(
    "vfio-pci, IOMMU", ("virtio-net", "e1000e", "vmxnet3"), "vfio-pci",
    ["-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48"],
    "intel_iommu=on no_timer_check", ["vfio_iommu_type1"],
    ",iommu_platform=on")
BARE = Machine(
    "uio_pci_generic, no IOMMU",
    ("virtio-net", "e1000e", "vmxnet3", LEGACY),
    "uio_pci_generic",
    # net_tap's rte_flow is tc's flower.
    modules="sch_multiq sch_ingress cls_flower act_skbedit act_gact".split())
MACHINES = (IOMMU, BARE)


class Nic:
    """One of a pair. number counts all NICs of a machine."""

    def __init__(self, model, number):
        self.model = model
        self.number = number
        self.id = f"nic{number}"
        self.mac = f"02:00:00:00:00:{number + 1:02x}"
        # Root ports are numbered first: theirs are the buses from 1 on.
        self.address = f"0000:{number + 1:02x}:00.0"
        # Each wire has a network of its own: the kernel would ask for all
        # addresses of a common one on the first NIC that it ever had there.
        wire = number // 2
        self.ip = f"198.18.{wire}.{number + 1}"
        self.ips = [f"{self.ip}/24", f"fd00:198:18:{wire}::{number + 1}/64"]

    def words(self, machine):
        """-device; without the word itself."""
        iommu = machine.each if self.model.startswith("virtio") else ""
        return (f"{MODELS[self.model][0]}{iommu},id={self.id},mac={self.mac},"
                f"netdev=net{self.number},bus=port{self.number}")


def pairs(machine):
    """model: its two NICs."""
    return {model: (Nic(model, 2 * i), Nic(model, 2 * i + 1))
            for i, model in enumerate(machine.models)}


def devices(machine):
    for model_number, nics in enumerate(pairs(machine).values()):
        for nic in nics:
            yield from (
                "-netdev",
                f"hubport,id=net{nic.number},hubid={model_number}",
                "-device", f"pcie-root-port,id=port{nic.number},"
                f"chassis={nic.number},bus=pcie.0,addr={16 + nic.number:#x}",
                "-device", nic.words(machine))


class Stranger:
    """A third end of a wire, outside of the guest, which only sends. QEMU gets
    the file descriptor fd. Whoever makes it calls close().
    """

    EVERY_S = 0.01
    ETHERTYPE = 0x88b5  # for local experiments: nobody answers

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.fd = self.theirs.fileno()
        # What goes over the wire does not wait for a reader.
        self.ours.shutdown(socket.SHUT_RD)

    def words(self, number):
        return ["-netdev", f"socket,id=stranger{number},fd={self.fd}",
                "-netdev", f"hubport,id=strange{number},hubid={number},"
                f"netdev=stranger{number}"]

    def send_until(self, done, mac):
        frame = struct.pack("!6s6sH46x", bytes.fromhex(mac.replace(":", "")),
                            b"\x02\0\0\0\xff\x01", self.ETHERTYPE)
        while not done.wait(self.EVERY_S):
            # QEMU is gone; or it takes none until a card does, and then many.
            with contextlib.suppress(OSError):
                self.ours.send(struct.pack("!I", len(frame)) + frame,
                               socket.MSG_DONTWAIT)

    def close(self):
        self.ours.close()
        self.theirs.close()


def twins(machine):
    number = 2 * len(machine.models)
    yield from ("-device", f"pcie-root-port,id=twins,chassis={number},"
                f"bus=pcie.0,addr={16 + number:#x}")
    for function in (1, 0):
        yield from ("-device", f"e1000e,bus=twins,addr=0.{function}"
                    f"{',multifunction=on' if function == 0 else ''}")


BIND = """
set -e
device=/sys/bus/pci/devices/$1
if [ -e $device/driver ]; then
    [ "$(basename $(readlink $device/driver))" != "$2" ] || exit 0
    echo $1 >$device/driver/unbind
    # QEMU's e1000e ends QEMU where what is left of one way of interrupts meets
    # another one.
    [ ! -e $device/reset ] || echo 1 >$device/reset
fi
echo $2 >$device/driver_override
echo $1 >/sys/bus/pci/drivers_probe
[ "$(basename $(readlink $device/driver))" = "$2" ]
"""


class World:
    """One guest at a time: another one is booted when it is asked for."""

    def __init__(self, image, build, logs):
        self.image = image
        self.build = build
        self.logs = logs
        self.machine = None
        self.guest = None
        self.monitor = None
        self.boots = 0
        self.steps = 0
        self.bound = {}  # PCI address: driver

    def boot(self, machine=None):
        """Each entry says which; without one nothing is wanted yet."""
        if machine is None or (self.machine is machine and
                               self.guest is not None and self.guest.alive()):
            return
        self.close()
        self.boots += 1
        self.machine = machine
        logs = os.path.join(self.logs, f"guest-{self.boots}")
        os.makedirs(logs)
        self.guest_logs = logs
        wires = []
        self.monitor = Monitor()
        self.strangers = {model: Stranger() for model in machine.models}
        for number, stranger in enumerate(self.strangers.values()):
            wires += stranger.words(number)
        self.guest = Guest(
            self.image, self.logs, logs,
            [*machine.devices, "-smp", "2", *self.monitor.words,
             *devices(machine), *twins(machine), *wires],
            modules=[*kernel.RXE, *MODULES, *machine.modules],
            append=f"{machine.append} hugepages={HUGE_PAGES}",
            memory_mib=MEMORY_MIB, folder=self.build,
            fds=[end.fd for end in (self.monitor, *self.strangers.values())])
        self.bound = {}
        for nics in pairs(machine).values():
            for nic in nics:
                self.check(nic)

    def check(self, nic):
        """Is it where we think?"""
        found = self.sh(f"cd /sys/bus/pci/devices/{nic.address}; "
                        "cat vendor device")
        wanted = MODELS[nic.model][1].replace(":", "\n0x")
        if found.strip() != "0x" + wanted:
            raise Failure(f"{nic.address} is no {nic.model}: {found}")

    def sh(self, text, *args, limit_s=SETUP_S, may_fail=False):
        """Run a line of shell in the guest. Returns what it writes."""
        self.steps += 1
        step = GuestProcess(self.guest, f"step-{self.steps}",
                            ["sh", "-c", text, "sh", *args], self.guest_logs)
        status = step.wait(limit_s)
        if status is None:
            step.kill()
        if status != 0 and not may_fail:
            raise Failure(f"in the guest: {text}: {status}: {step.err()}")
        return step.out()

    def bind(self, nic, driver=None):
        """Give it to a driver of the kernel's; the machine's without one."""
        driver = driver or self.machine.driver
        if self.bound.get(nic.address) != driver:
            self.sh(BIND, nic.address, driver)
            self.bound[nic.address] = driver

    def start(self, room, title, words):
        process = GuestProcess(self.guest, title, words, room.logs)
        room.processes.append(process)
        return process

    def roost(self, room, nic, *words, options=()):
        """The words that run others over the NIC."""
        self.bind(nic)
        ips = [word for ip in nic.ips for word in ("--ip", ip)]
        return room.roost("run", "--port", nic.address, *ips, *options, "--",
                          *words)

    @contextlib.contextmanager
    def fire(self, nic):
        """Frames for it all the while."""
        done = threading.Event()
        thread = threading.Thread(target=self.strangers[nic.model].send_until,
                                  args=(done, nic.mac), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def close(self):
        if self.guest is not None:
            self.guest.close()
            for end in (self.monitor, *self.strangers.values()):
                end.close()
        self.guest = None
