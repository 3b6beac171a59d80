# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Roost beside what programs use instead of it between two processes: UCX and
libfabric without RDMA, and TCP by io_uring. doc/performance.md tells what each
row is worth.
"""

import re

from pairs import Failed, Missing
from perftest import (BW_BYTES, MB_TO_GB, MEAN_US, TRIP_BYTES, TRIPS_PER_S,
                      gbps, trip_us)
from row import Row

# Of ucx_perftest's last row: iterations, median, mean (of each report, and of
# all), MB/s likewise, messages a second likewise.
UCX_MEDIAN_US, UCX_MB_S = 1, 5
UCX_ROW = re.compile(r"^\s*\d+(?:\s+[0-9.]+){7}\s*$", re.M)
UCX_PER_S = {"ucp_put_bw": 300000, "tag_bw": 150000}  # messages
# Messages of 64 KiB that go there and back, a second.
LARGE_TRIPS_PER_S = 30000
FABRIC = ("fi_pingpong", "-p", "{provider}", "-e", "{endpoint}", "-I",
          "{messages}", "-S", "{size}")


def ucx_figures(out, transport):
    """The fields of the last row, if that transport was used at all."""
    lanes = " ".join(re.findall(r"\b(?:tag|rma)\(([^)]*)\)", out))
    found = UCX_ROW.findall(out)
    if not found:
        raise Failed(f"ucx_perftest: {out.strip()[-80:]}")
    if transport + "/" not in lanes:
        raise Failed(f"UCX did not use {transport}, but '{lanes}'")
    return [float(word) for word in found[-1].split()]


def ucx(bench, test, size, per_s, transports):
    """The last of the transports is to be used."""
    argv = ["env", f"UCX_TLS={','.join(transports)},self",
            "UCX_LOG_LEVEL=info", "ucx_perftest", "-p", bench.next_port()]
    _, out = bench.both(argv, [*argv, "127.0.0.1", "-f", "-t", test, "-s",
                               str(size), "-n", str(bench.messages(per_s))],
                        bench.wait_for)
    return ucx_figures(out, transports[-1])


def fabric_mean_us(out):
    """The mean of one way, of the row of one size."""
    found = re.search(r"^\S+\s+\S+\s+=\S+\s+\S+\s+\S+s\s+\S+\s+([0-9.]+)\s+"
                      r"[0-9.]+\s*$", out, re.M)
    if found is None or float(found[1]) <= 0:
        raise Failed(f"fi_pingpong: {out.strip()[-80:]}")
    return float(found[1])


def fabric_us(bench, kind, size, per_s):
    """kind: provider and type of endpoint."""
    argv = [word.format(provider=kind[0], endpoint=kind[1], size=size,
                        messages=bench.messages(per_s)) for word in FABRIC]
    port = bench.next_port()
    _, out = bench.both([*argv, "-B", port], [*argv, "-P", port, "127.0.0.1"],
                        bench.wait_for)
    return fabric_mean_us(out)


def one_way_gbps(us):
    return 8e-3 * BW_BYTES / us


def need_uring(bench):
    try:
        bench.path("uring")
    except Missing as missing:
        raise Missing(f"{missing}, with liburing (package liburing-dev), which "
                      "meson setup --reconfigure finds") from None


class Peer(Row):
    cores = 2
    pairs = 3
    program = "ucx_perftest"  # the peer's

    def need(self, bench):
        """Before anything is measured."""
        bench.need(self.program)

    def pair(self, bench):
        self.need(bench)
        return self.ours(bench), self.theirs(bench)

    def ours(self, bench):
        raise NotImplementedError

    def theirs(self, bench):
        raise NotImplementedError


class Trip(Peer):
    unit, least, aim = "us", 2.5, 1.5
    more_is_better = False

    def ours(self, bench):
        return trip_us(bench)


class UcxTrip(Trip):
    name, title = "ucx-trip", "64 B there and back : UCX, shared memory"

    def theirs(self, bench):
        return 2 * ucx(bench, "tag_lat", TRIP_BYTES, TRIPS_PER_S,
                       ("posix",))[UCX_MEDIAN_US]


class UcxPut(Peer):
    """The receiver's processor has no part in the peer's figure."""

    name, title = "ucx-put64k", "WRITE of 64 KiB : UCX put, shared memory"
    unit, least, aim = "Gb/s", 0.15, 0.3
    perftest, test, transports = "ib_write_bw", "ucp_put_bw", ("posix",)

    def ours(self, bench):
        return gbps(bench, self.perftest)

    def theirs(self, bench):
        return ucx(bench, self.test, BW_BYTES, UCX_PER_S[self.test],
                   self.transports)[UCX_MB_S] * MB_TO_GB


class UcxTag(UcxPut):
    name, title = "ucx-tag64k", "SEND of 64 KiB : UCX tagged, shared memory"
    least, aim = 0.4, 0.7
    perftest, test = "ib_send_bw", "tag_bw"


class UcxCma(UcxTag):
    name, title = "ucx-cma64k", "the same : UCX tagged, CMA"
    transports = ("posix", "cma")


class FabricTrip(Trip):
    name, title = "fi-shm-trip", "64 B there and back, mean : libfabric, shm"
    program = "fi_pingpong"
    kind, per_s = ("shm", "rdm"), TRIPS_PER_S

    def ours(self, bench):
        return trip_us(bench, field=MEAN_US)

    def theirs(self, bench):
        return 2 * fabric_us(bench, self.kind, TRIP_BYTES, self.per_s)


class FabricLarge(Peer):
    """fi_pingpong has nothing but ping-pongs; neither has Roost here."""

    name, title = "fi-shm64k", "64 KiB there and back : libfabric, shm"
    unit, least, aim = "Gb/s", 0.25, 0.5
    program = "fi_pingpong"
    kind = ("shm", "rdm")

    def ours(self, bench):
        return one_way_gbps(trip_us(bench, size=BW_BYTES, field=MEAN_US,
                                    per_s=LARGE_TRIPS_PER_S) / 2)

    def theirs(self, bench):
        return one_way_gbps(fabric_us(bench, self.kind, BW_BYTES,
                                      LARGE_TRIPS_PER_S))


class FabricTcpTrip(FabricTrip):
    name, title = "fi-tcp-trip", "64 B there and back, mean : libfabric, tcp"
    least, aim = 0.5, 0.25
    kind, per_s = ("tcp", "msg"), 100000


class FabricTcpLarge(FabricLarge):
    name, title = "fi-tcp64k", "64 KiB there and back : libfabric, tcp"
    least, aim = 1.0, 2.0
    kind = ("tcp", "msg")


class UringTrip(Trip):
    name, title = "uring-trip", "64 B there and back : TCP by io_uring, veth"
    least, aim = 0.25, 0.125

    def need(self, bench):
        need_uring(bench)

    def theirs(self, bench):
        return bench.tcp("uring", "client", TRIP_BYTES) / 1e3


class UringLarge(Peer):
    name, title = "uring64k", "WRITE of 64 KiB : TCP by io_uring, veth"
    unit, least, aim = "Gb/s", 1.5, 3.0

    def need(self, bench):
        need_uring(bench)

    def ours(self, bench):
        return gbps(bench)

    def theirs(self, bench):
        return bench.tcp("uring", "source", BW_BYTES)


ROWS = [row() for row in (
    UcxTrip, UcxPut, UcxTag, UcxCma, FabricTrip, FabricLarge, FabricTcpTrip,
    FabricTcpLarge, UringTrip, UringLarge)]
