# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The rows of the table. doc/performance.md tells what each one is worth."""

import losses
import peers
import wires
from perftest import MB_S, MB_TO_GB, MPPS, WRITES_PER_S, gbps, trip_us
from row import Row

SMALL_PER_S = 6000000
READS_PER_S = 4000  # the slowest interval is not for long
NEVER, ALWAYS = -1, 0  # a target's polls
HEADERS_BYTES = 58  # of a packet within a message, Ethernet to ICRC
RAW_BYTES = 4160  # of a frame with 4 KiB of payload
HUB_ADDRESS = "198.18.0.1"


class KernelCopy(Row):
    name, title = "kernel", "copy and ICRC of 4 KiB : memcpy"
    unit, least, aim = "GB/s", 0.80, 0.90
    figure = "over_memcpy"

    def pair(self, bench):
        # The program pairs by itself, call by call; the first kernel that
        # it names is the one that is in use.
        found = next(iter(bench.kernels(4096).values()))
        speed = 4096 / found["ns"]
        return speed, speed / found[self.figure]


class KernelIsal(KernelCopy):
    name, title = "kernel-isal", "copy and ICRC of 4 KiB : memcpy, then ISA-L"
    least, aim = 2.0, 2.2
    figure = "over_isal"


class Bandwidth(Row):
    name, title = "write64k", "RC WRITE of 64 KiB : raw pump of 4160 B"
    unit, cores, least, aim = "Gb/s", 2, 0.50, 0.70

    def pair(self, bench):
        return gbps(bench), bench.raw("pump", RAW_BYTES) * 4096 * 8 / 1e9


class Plain(Row):
    """The kernel has four threads to place, in less than 0.1 s."""

    name, title = "plain64k", "plain ib_write_bw : each end on a core"
    unit, cores, least, aim = "Gb/s", 2, 0.80, 0.90

    def pair(self, bench):
        return [bench.perftest("ib_write_bw", "-s", "65536",
                               free=free)[MB_S] * MB_TO_GB
                for free in (True, False)]


class Rate(Row):
    name, title = "rate16", "RC WRITE of 16 B inline : raw pump of 64 B"
    unit, cores, least, aim = "M/s", 2, 0.20, 0.35
    posted = ()

    def ours(self, bench):
        return bench.rate(16, SMALL_PER_S, *self.posted) / 1e6

    def pair(self, bench):
        return self.ours(bench), bench.raw("pump", 64) / 1e6


class RateOfLists(Rate):
    """As programs do that want messages a second."""

    name, title = "rate16-list", "the same, posted in lists : raw pump of 64 B"
    aim = 0.50
    posted = ("-l", "32")


class RateOfPerftest(Rate):
    name, title = "rate16-perftest", "ib_write_bw of 16 B : raw pump of 64 B"
    pairs = 3

    def ours(self, bench):
        return bench.perftest("ib_write_bw", "-s", "16", "-n",
                              str(bench.messages(SMALL_PER_S)))[MPPS]


class Latency(Row):
    name, title = "latency", "RC SEND of 64 B there and back : raw ping-pong"
    unit, cores, least, aim = "us", 2, 3.0, 2.0
    more_is_better = False

    def pair(self, bench):
        return trip_us(bench), bench.raw("pong", 64) / 1e3


class Tcp(Row):
    name, title = "tcp", "the same round trip : TCP over veth, both poll"
    unit, cores, least, aim = "us", 2, 0.125, 0.067
    more_is_better = False

    def pair(self, bench):
        return trip_us(bench), bench.tcp("tcp", "client", 64) / 1e3


class Iperf(Row):
    name, title = "iperf", "RC WRITE of 64 KiB : iperf3 over veth, with TSO"
    pairs = 3
    unit, cores, least, aim = "Gb/s", 2, 3, 5
    segments = True

    def pair(self, bench):
        return gbps(bench), bench.iperf_gbps(self.segments)


class IperfNoTso(Iperf):
    name, title = "iperf-no-tso", "the same : iperf3 over veth, without TSO"
    least, aim = 6, 12
    segments = False


class AfPacket(Row):
    name, title = "af-packet", "the same over af_packet : raw pump there"
    pairs = 3
    unit, cores, least, aim = "Gb/s", 2, 0.85, 0.95

    def pair(self, bench):
        with wires.Veth(mtu=wires.JUMBO_MTU) as wire:
            ours = gbps(bench, wire=wire)
            raw = bench.raw("paced", RAW_BYTES, wire)
        return ours, raw * 4096 * 8 / 1e9


class AfXdp(Row):
    """It holds no path MTU of 4096."""

    name, title = "af-xdp", "RC WRITE of 64 KiB over af_xdp : testpmd there"
    pairs = 2
    unit, cores, least, aim = "Gb/s", 2, 0.80, 0.95
    mtu_bytes = 2048

    def wire(self):
        return wires.XdpVeth(mtu=wires.XDP_MTU)

    def pair(self, bench):
        bench.need("dpdk-testpmd")
        with self.wire() as wire:
            ours = gbps(bench, wire=wire, mtu=self.mtu_bytes)
            frames = bench.testpmd(self.mtu_bytes + HEADERS_BYTES, wire)
        return ours, frames * self.mtu_bytes * 8 / 1e9


class Tap(AfXdp):
    name, title = "tap", "RC WRITE of 64 KiB over tap : testpmd there"
    mtu_bytes = 1024

    def wire(self):
        return wires.Taps()


class Appliance(Row):
    """No peer speaks to the device."""

    name, title = "appliance", "own frames beside an idle device : testpmd"
    pairs = 2
    unit, least, aim = "M/s", 0.90, 1.0

    def pair(self, bench):
        return bench.appliance() / 1e6, bench.testpmd_alone() / 1e6


class Read(Row):
    name, title = "read", "RC READ of 64 KiB : RC WRITE"
    pairs = 3
    unit, cores, least, aim = "Gb/s", 2, 0.90, 1.0

    def pair(self, bench):
        return gbps(bench, "ib_read_bw"), gbps(bench)


class ReadOfPoller(Row):
    """The worst interval of the target's polls, and the better extreme."""

    name, title = "reads", "READ of a target that polls now and then : at best"
    unit, cores, least, aim = "us", 2, 2.0, 1.2
    more_is_better = False
    pairs = 3
    intervals_us = (1, 50, 10000)
    extremes = (NEVER, ALWAYS)
    pause_us, per_s = 0, READS_PER_S

    def read_us(self, bench, interval_us):
        """The median."""
        return bench.reads(interval_us, self.per_s, self.pause_us)["p50"]

    def pair(self, bench):
        return (max(self.read_us(bench, interval)
                    for interval in self.intervals_us),
                min(self.read_us(bench, extreme) for extreme in self.extremes))


class RareReadOfPoller(ReadOfPoller):
    """The target's worker sleeps between READs, unless its program polls all
    the time, which no program does here."""

    name, title = "reads-rare", "the same, a READ each 0.2 ms : it never polls"
    aim = 1.5
    far_matters = False  # 1 % of it
    extremes = (NEVER,)
    pause_us, per_s = 200, 2000


class Icrc(Row):
    name, title = "icrc", "RC WRITE of 64 KiB, with ICRC : without"
    pairs = 3
    unit, cores, least, aim = "Gb/s", 2, 0.80, 0.90

    def pair(self, bench):
        return gbps(bench), gbps(bench, options=["--debug-no-icrc"])


class IcrcEngine(Row):
    name, title = "icrc-engine", "the same, the engine alone, one core for both"
    unit, least, aim = "Gb/s", 0.80, 0.90

    def pair(self, bench):
        return (bench.engine("write64k", WRITES_PER_S)["gbps"],
                bench.engine("write64k", WRITES_PER_S, "-k", "none")["gbps"])


class Verbs(Row):
    name = "verbs16"
    title = "16 B WRITE by verbs and a link, both ends : the engine alone"
    unit, least, aim = "ns", 2.0, 1.3
    more_is_better = False

    def pair(self, bench):
        return (bench.verbs_ns(16),
                bench.engine("write16", SMALL_PER_S)["ns"])


class ManyQps(Row):
    name, title = "qps1k", "the engine alone, 16 B, 1,024 QPs : 1 QP"
    unit, least, aim = "M/s", 0.70, 0.95
    nb_qps = 1024

    def pair(self, bench):
        return (1e3 / bench.engine("write16", SMALL_PER_S, "-q",
                                   str(self.nb_qps))["ns"],
                1e3 / bench.engine("write16", SMALL_PER_S)["ns"])


class VeryManyQps(ManyQps):
    name, title = "qps16k", "the engine alone, 16 B, 16,384 QPs : 1 QP"
    least, aim = 0.50, 0.85
    nb_qps = 16384


class MostQps(ManyQps):
    name, title = "qps100k", "the engine alone, 16 B, 100,000 QPs : 1 QP"
    pairs = 3
    least, aim = 0.40, 0.60
    nb_qps = 100000


class Workers(Row):
    """Each worker and its peer's on a core; figures are of CPU time."""

    name, title = "workers2", "the engine alone, 16 B, 2 workers : 1 worker"
    unit, cores, least, aim = "M/s", 2, 1.6, 1.8
    pairs = 3
    words = ()

    def pair(self, bench):
        return tuple(bench.workers(nb, *self.words) / 1e6
                     for nb in (self.cores, 1))


class Workers4(Workers):
    name, title = "workers4", "the same, 4 workers : 1 worker"
    cores, least, aim = 4, 3.2, 3.6


class Workers8(Workers):
    name, title = "workers8", "the same, 8 workers : 1 worker"
    cores, least, aim = 8, 6.4, 7.2


class Workers16(Workers):
    name, title = "workers16", "the same, 16 workers : 1 worker"
    cores, least, aim = 16, 12.8, 14.4


class WorkersCrossed(Workers):
    """As behind a NIC that spreads flows by a hash."""

    name = "workers2-spread"
    title = "2 workers, half of the frames to the wrong one : 1"
    least, aim = 1.0, 1.4
    words = ("-x",)


class Iteration(Row):
    """While all QPs are busy. The program itself does it several times."""

    name, title = "iteration", "an iteration of 1 busy QP, p99.9 : 50 us"
    unit, least, aim = "us", 1.0, 0.5
    more_is_better = False
    exact = True
    nb_qps, runs = 1, 3

    def pair(self, bench):
        return max(bench.engine(case, SMALL_PER_S, "-t", str(self.runs), "-q",
                                str(self.nb_qps))["p999"]
                   for case in ("write16", "write16-one", "write4k",
                                "read64k")) / 1e3, 50


class Iteration1k(Iteration):
    name, title = "iteration1k", "the same of 1,024 QPs : 50 us"
    nb_qps = 1024


class Iteration16k(Iteration):
    name, title = "iteration16k", "the same of 16,384 QPs : 50 us"
    nb_qps = 16384


class Iteration100k(Iteration):
    name, title = "iteration100k", "the same of 100,000 QPs : 50 us"
    nb_qps, runs = 100000, 2  # most of a run is making them


class Events(Row):
    name, title = "events", "wake by a completion event : by a bare eventfd"
    unit, cores, least, aim = "ns", 2, 1.3, 1.1
    more_is_better = False

    def pair(self, bench):
        return bench.event_ratio()


class HubFrame(Row):
    """The daemon's part of it, the clients' parts left out."""

    name, title = "hub-frame", "a 4 KiB frame through the hub : memcpy of it"
    unit, least, aim = "ns", 3.5, 2.5
    more_is_better = False
    size_bytes = 4096

    def pair(self, bench):
        found = bench.hub_frame(self.size_bytes)
        return found["ns"], found["memcpy"]


class Attach(Row):
    """One after another, the device opened by each."""

    name, title = "attach", "at a hub, open and first QP : 20 ms"
    unit, cores, least, aim = "ms", 2, 1.0, 0.25
    more_is_better = False

    def pair(self, bench):
        return bench.at_hub("crowd", "attached", "-o", "20")[2] / 1e3, 20


class Service(Row):
    """The server's end is behind the daemon, or has the port of its own."""

    name, title = "service", "WRITE of 64 KiB through roostd : own port"
    pairs = 3
    unit, cores, least, aim = "Gb/s", 2, 0.85, 0.95

    def pair(self, bench):
        with wires.ServiceVeth(bench.build, wires.JUMBO_MTU) as wire:
            ours = gbps(bench, wire=wire)
        with wires.Veth(mtu=wires.JUMBO_MTU) as wire:
            return ours, gbps(bench, wire=wire)


class Fair(Row):
    """Who is behind one daemon; the peers are behind another one."""

    name, title = "fair", "8 clients at a port of 1 Gb/s, Jain's index : 1"
    pairs = 2
    unit, cores, least, aim = "", 2, 0.95, 0.98
    far_matters = False
    nb = 8
    run_s = 2

    def shares(self, bench, nb):
        bench.need("tc")
        with wires.ShapedVeth(bench.build, wires.JUMBO_MTU) as wire:
            return bench.crowd_mb_s(wire, nb, self.run_s)

    def pair(self, bench):
        shares = self.shares(bench, self.nb)
        return sum(shares) ** 2 / (self.nb * sum(x * x for x in shares)), 1


class FairSum(Fair):
    name, title = "fair-sum", "the sum of the 8 : of one alone"
    unit, least, aim = "Gb/s", 0.9, 1.0

    def pair(self, bench):
        return tuple(sum(self.shares(bench, nb)) * MB_TO_GB
                     for nb in (self.nb, 1))


class ChannelTrip(Row):
    """Without a transport."""

    name, title = "channel-trip", "64 B there and back by a channel : by memif"
    pairs = 3
    unit, cores, least, aim = "us", 2, 0.8, 0.6
    more_is_better = False

    def pair(self, bench):
        return (bench.channel("pong", 64)["ns"] / 1e3,
                bench.raw("pong", 64) / 1e3)


class ChannelPump(Row):
    name, title = "channel64", "frames of 64 B by a channel : by memif"
    pairs = 3
    unit, cores, least, aim = "M/s", 2, 1.0, 1.3

    def pair(self, bench):
        return (bench.channel("pump", 64)["pps"] / 1e6,
                bench.raw("pump", 64) / 1e6)


class ChannelRate(Rate):
    """A link is a channel."""

    name, title = "channel16", "RC WRITE of 16 B inline by a channel : by memif"
    pairs = 3
    least, aim = 1.0, 1.3

    def pair(self, bench):
        return (self.ours(bench),
                bench.rate_by_memif(16, SMALL_PER_S) / 1e6)


class Told(Row):
    name, title = "told", "kill -9 to DISCONNECTED at the peer : 10 ms"
    unit, cores, least, aim = "ms", 2, 1.0, 0.25
    more_is_better = False

    def pair(self, bench):
        return bench.at_hub("told", "told", HUB_ADDRESS, "20")[0] / 1e3, 10


class Connections(Row):
    """Made and ended, both ends on one core each."""

    name, title = "conns", "connections one after another : 5,000/s"
    unit, cores, least, aim = "/s", 2, 1.0, 2.0
    per_s, words = 5000, ("-n", "2000")

    def pair(self, bench):
        return (bench.connections("churn", *self.words)["per_s"], self.per_s)


class ManyConnections(Connections):
    name, title = "conns50", "connections, 50 at once : 50,000/s"
    aim = 1.2
    per_s, words = 50000, ("-n", "20000", "-w", "50")


class OneMoreConnection(Row):
    """The 10,000 are open, and nothing happens on them."""

    name, title = "conns10k", "REQ to ESTABLISHED beside 10,000, p99 : 2 ms"
    unit, cores, least, aim = "ms", 2, 1.0, 0.25
    more_is_better = False

    def pair(self, bench):
        found = bench.connections("churn", "-o", "-n", "10000", "-w", "50",
                                  "-t", "2000")
        return found["p99_us"] / 1e3, 2


class Rss(Row):
    """Of one that has used all of its ring."""

    name, title = "rss", "a client of a hub, beyond its own memory : 8 MiB"
    unit, cores, least, aim = "MiB", 2, 1.0, 0.5
    more_is_better = False

    def pair(self, bench):
        return bench.at_hub("crowd", "rss", "-s", "65536", "-n", "60",
                            "2")[0] / 1024, 8


class DirectWrite(Bandwidth):
    """Two clients of a hub, which get a channel of their own."""

    name, title = "direct64k", "64 KiB WRITE at a hub : raw pump of 4160 B"
    pairs = 3
    least, aim = 1.0, 1.2

    def pair(self, bench):
        return (gbps(bench, wire=wires.Hub()),
                bench.raw("pump", RAW_BYTES) * 4096 * 8 / 1e9)


class DirectRate(Rate):
    name, title = "direct16", "ib_write_bw of 16 B at a hub : raw pump of 64 B"
    pairs = 3

    def ours(self, bench):
        return bench.perftest("ib_write_bw", "-s", "16", "-n",
                              str(bench.messages(SMALL_PER_S)),
                              wire=wires.Hub())[MPPS]


class DirectLatency(Latency):
    name, title = "direct-trip", "64 B there and back at a hub : raw ping-pong"
    pairs = 3

    def pair(self, bench):
        return trip_us(bench, wires.Hub()), bench.raw("pong", 64) / 1e3


ROWS = [row() for row in (
    KernelCopy, KernelIsal, Bandwidth, Plain, Rate, RateOfLists,
    RateOfPerftest, Latency, Tcp, Iperf, IperfNoTso, AfPacket, AfXdp, Tap,
    Appliance, Read, ReadOfPoller, RareReadOfPoller, Icrc, IcrcEngine, Verbs,
    ManyQps, VeryManyQps, MostQps, Workers, WorkersCrossed, Workers4, Workers8,
    Workers16, Iteration, Iteration1k, Iteration16k, Iteration100k,
    *losses.ROWS, Events, HubFrame, Service, Fair, FairSum, Attach, Told,
    Connections, ManyConnections, OneMoreConnection, Rss, DirectWrite,
    DirectRate, DirectLatency, ChannelTrip, ChannelPump,
    ChannelRate)] + peers.ROWS

# Instructions, counted: (name, what, case, few messages, many, unit size).
COUNTS = (
    ("instructions16", "instructions a message of 16 B, both ends", "send16",
     1024, 5120, 1),
    ("instructions64k", "instructions a KiB of a 64 KiB WRITE, both ends",
     "write64k", 32, 160, 64),
)


def count(bench, row):
    """The same in every run; what starting costs is taken off."""
    _, _, case, few, many, units = row
    more = bench.instructions(case, many) - bench.instructions(case, few)
    return more / (many - few) / units
