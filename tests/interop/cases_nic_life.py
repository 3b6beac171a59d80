# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What happens to a NIC that DPDK drives: its cable is pulled, it is taken out,
its program is killed, there is nothing to do, there are no huge pages."""

import re
import signal
import time

from harness import Failure
from nic_entry import (RUN_S, NicEntry, nics, over_roost, pingpong,
                       start_pair)
from nic_world import BARE, HUGE_PAGES, IOMMU
from process import wait_until

EVENT_S = 180
# More than it takes to meet.
MOVING_PKTS = 200
# An emulated guest on a machine with other work moves some thousand packets a
# second, or none for seconds. So few are on their way at a time, and a sender
# gives up after eight timeouts of 4.3 s.
RC = ["-b", "-s", "4096", "-t", "16", "-u", "20"]
RETRY_EXC = "Failed status 12"
COUNTERS = """
for pid in $(pidof $1); do
    "$2" ctl --pid $pid -j show counters
    echo then
done
"""
# With all retries of RC's timeout.
GIVE_UP_S = 120
IDLE_S = 5
# Of one processor, in software emulation, with naps of a millisecond.
IDLE_PERCENT = 30
# A second. Where packets wake the worker it sleeps for a tenth of a second;
# the rest looks after links and neighbours.
IDLE_WAKES = 120
WAKEFUL = ("virtio-net", "vmxnet3")
# What a NIC says wrong on the way to its start, and the IOMMU stops: DPDK's
# driver for vmxnet3 tells the card of a change before it has told it where to
# read it from.
KNOWN = re.compile(r"\[DMA Read NO_PASID\] Request device \[(..):00\.0\] "
                   r"fault addr 0x0 ")
FAULT = re.compile(r"DMAR: (\[DMA .*)")
WILD = 0x12340000


def check(room, world, machine, model):
    """Programs still run over the NICs."""
    ends = [over_roost(room, world, nic) for nic in nics(machine, model)]
    pingpong(room, world, ends, "rc", ["-n", "10"])


def watch(room, world, nic, options=()):
    """A program that prints events of its device as they come."""
    watcher = world.start(room, "watcher", [
        "stdbuf", "-oL",
        *world.roost(room, nic, "ibv_asyncwatch", options=options)])
    if not wait_until(lambda: "async event FD" in watcher.out(), EVENT_S, 0.2):
        raise Failure(f"no watcher: {watcher.err()}")
    return watcher


def await_event(watcher, event):
    if not wait_until(lambda: event in watcher.out(), EVENT_S, 0.2):
        raise Failure(f"no {event} within {EVENT_S} s")


def link(room, world, machine, model):
    nic = nics(machine, model)[0]
    watcher = watch(room, world, nic)
    try:
        world.monitor.command("set_link", name=nic.id, up=False)
        await_event(watcher, "PORT_ERR")
    finally:
        world.monitor.command("set_link", name=nic.id, up=True)
    await_event(watcher, "PORT_ACTIVE")
    watcher.kill()
    check(room, world, machine, model)


def moved(room, world, program):
    """Packets of each of its processes; of none that is starting."""
    said = world.sh(COUNTERS, program, *room.roost(), may_fail=True)
    return [sum(map(int, re.findall(r'"[rt]x_packets": *(\d+)', counters)))
            for counters in said.split("then\n") if "packets" in counters]


def transfer(room, world, machine, model):
    """Two ends in the midst of it, which have much to send to each other."""
    port = room.next_port()
    words = ["ib_send_bw", "-F", "-x", "1", "-n", "10000000", "-p", str(port),
             *RC]
    ends = [over_roost(room, world, nic) for nic in nics(machine, model)]
    done = start_pair(room, world, ends, words, port)

    def ended():
        return any(end.wait(0) is not None for end in done)

    def both_move():
        counts = moved(room, world, words[0])
        return len(counts) == 2 and min(counts) > MOVING_PKTS

    wait_until(lambda: both_move() or ended(), RUN_S, 0.5)
    if ended() or not both_move():
        raise Failure("it ended before anything happened, or never began")
    return done


def gives_up(end):
    if end.wait(GIVE_UP_S) is None:
        raise Failure(f"{end.title}: still running after {GIVE_UP_S} s")
    if end.status == 0:
        raise Failure(f"{end.title}: says that all is well")


def killed(room, world, machine, model):
    server, client = transfer(room, world, machine, model)
    server.signal(signal.SIGKILL)
    server.wait(RUN_S)
    gives_up(client)
    check(room, world, machine, model)


def under_fire(room, world, machine, model):
    """A card that a killed program left has its rings, and frames still come
    for it when the next program takes it, whose memory is elsewhere.
    """
    known = len(list(faults(world)))
    nic = nics(machine, model)[0]
    with world.fire(nic):
        watch(room, world, nic).kill()
        huge_pages(world, 0)
        try:
            watch(room, world, nic).kill()
        finally:
            huge_pages(world, HUGE_PAGES)
    found = list(faults(world))[known:]
    if found:
        raise Failure(f"{len(found)} faults, the first: {found[0]}")


def take_out(world, nic):
    world.monitor.command("device_del", id=nic.id)


def put_in(world, machine, nic):
    """The same card again, when the old one is gone."""
    def is_gone():
        return not world.sh("ls -d /sys/bus/pci/devices/$1 2>/dev/null",
                            nic.address, may_fail=True)

    if not wait_until(is_gone, EVENT_S, 0.5):
        raise Failure(f"the guest does not let {nic.address} go")

    def is_taken():
        said = world.monitor.command(
            "human-monitor-command",
            **{"command-line": f"device_add {nic.words(machine)}"})
        return not said

    if not wait_until(is_taken, EVENT_S, 0.5):
        raise Failure("QEMU does not take the card again")
    world.sh("until [ -e /sys/bus/pci/devices/$1/driver ]; do sleep 0.1; "
             "done", nic.address)
    world.bound.pop(nic.address, None)


def removed(room, world, machine, model):
    nic = nics(machine, model)[0]
    watcher = watch(room, world, nic)
    take_out(world, nic)
    await_event(watcher, "DEVICE_FATAL")
    if "the port is gone" not in watcher.err():
        raise Failure("not a word on standard error")
    put_in(world, machine, nic)
    watcher.kill()
    check(room, world, machine, model)


def removed_busy(room, world, machine, model):
    nic = nics(machine, model)[0]
    server, client = transfer(room, world, machine, model)
    take_out(world, nic)
    gives_up(server)
    gives_up(client)
    if ("the port is gone" not in server.err() or
            RETRY_EXC in server.out() + server.err()):
        raise Failure("the server's QP did not end with its card")
    put_in(world, machine, nic)
    check(room, world, machine, model)


MEASURE = """
set -e
measure() {
    cut -d' ' -f14,15 /proc/$1/stat
    grep -h ^voluntary /proc/$1/task/*/status
}
pid=$(pidof ibv_asyncwatch)
measure $pid
sleep $1
echo then
measure $pid
getconf CLK_TCK
"""


def sums(text):
    """(ticks, switches)"""
    ticks, *switches = text.strip().split("\n")
    return (sum(map(int, ticks.split())),
            sum(int(line.split()[1]) for line in switches))


def idle(room, world, machine, model):
    watcher = watch(room, world, nics(machine, model)[0])
    time.sleep(3)
    before, after = world.sh(MEASURE, str(IDLE_S)).split("then\n")
    watcher.kill()
    after, _, hertz = after.strip().rpartition("\n")
    (ticks, wakes), (ticks_then, wakes_then) = sums(before), sums(after)
    percent = 100 * (ticks_then - ticks) / (int(hertz) * IDLE_S)
    per_second = (wakes_then - wakes) / IDLE_S
    room.note(f"{percent:.1f} % of a processor, {per_second:.0f} wakes a "
              "second")
    if percent > IDLE_PERCENT:
        raise Failure(f"{percent:.1f} % of a processor to do nothing")
    if (machine is IOMMU and model in WAKEFUL and
            per_second > IDLE_WAKES):
        raise Failure(f"{per_second:.0f} wakes a second: no RX interrupts")


def huge_pages(world, number):
    """As many as there can be; returns how many there are."""
    return int(world.sh(
        "echo 1 >/proc/sys/vm/compact_memory; "
        "echo $1 >/proc/sys/vm/nr_hugepages; "
        "cat /proc/sys/vm/nr_hugepages", str(number)))


def small_pages(room, world, machine, model):
    """Where nothing translates addresses, huge pages have to be."""
    huge_pages(world, 0)
    try:
        if machine is IOMMU:
            check(room, world, machine, model)
            return
        words = world.roost(room, nics(machine, model)[0], "ibv_devinfo")
        client = world.start(room, "refused", words)
        room.finish(client, RUN_S)
    finally:
        huge_pages(world, HUGE_PAGES)
    said = client.err().splitlines()
    if (client.status == 0 or not said or
            "needs physical addresses" not in said[0]):
        raise Failure("DMA to addresses that mean nothing to the card")


def faults(world):
    """DMA that the IOMMU did not let through, but for what is KNOWN."""
    known = {nic.address[5:7] for nic in nics(IOMMU, "vmxnet3")}
    for fault in FAULT.findall(world.sh("dmesg")):
        match = KNOWN.search(fault)
        if match is None or match[1] not in known:
            yield fault


def no_faults(_room, world, _machine, _model):
    """Of all that has run in this guest."""
    found = list(faults(world))
    if found:
        raise Failure(f"{len(found)} faults, the first: {found[0]}")


# An e1000e is told to read its descriptors from an address that nobody gave
# it: what no_faults() looks for is there when it should be.
GO_WILD = """
import mmap, os, struct, sys, time
folder = "/sys/bus/pci/devices/" + sys.argv[1]
with open(folder + "/enable", "w") as file:
    file.write("1")
with open(folder + "/config", "r+b", buffering=0) as file:
    file.seek(4)
    file.write(struct.pack("<H", 0x6))  # memory, bus master
bar = os.open(folder + "/resource0", os.O_RDWR | os.O_SYNC)
registers = mmap.mmap(bar, 0x20000)
def put(at, value):
    registers[at:at + 4] = struct.pack("<I", value)
put(0x3800, int(sys.argv[2]))  # TDBAL
put(0x3804, 0)
put(0x3808, 4096)  # TDLEN
put(0x3810, 0)
put(0x0400, 0x2)  # TCTL: enabled
put(0x3818, 1)  # TDT
time.sleep(1)
"""


def wild(_room, world, machine, model):
    """The last thing done to this guest."""
    nic = nics(machine, model)[0]
    world.sh("echo $1 >/sys/bus/pci/devices/$1/driver/unbind || true; "
             "python3 -c \"$2\" $1 $3", nic.address, GO_WILD, str(WILD))
    world.bound.pop(nic.address, None)
    if not any(f"{WILD:#x}" in fault for fault in faults(world)):
        raise Failure("a wild address, and no fault is seen")
    world.machine = None  # the next entry gets another guest


CASES = [
    ("link down, and up", link),
    ("killed in mid-transfer, started again", killed),
    ("killed under fire, started again", under_fire),
    ("idle", idle),
    ("no huge pages", small_pages),
    ("taken out, put in again", removed),
    ("taken out in mid-transfer", removed_busy),
]


def entries(machine):
    for model in machine.whole_models():
        for title, run in CASES:
            if machine is BARE and run not in (link, killed, small_pages):
                continue
            yield NicEntry(machine, model, title, run)
