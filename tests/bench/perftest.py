# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Figures of perftest's programs over Roost, as several rows need them."""

BW_BYTES = 65536
TRIP_BYTES = 64
# Messages a second, about: so many make a figure last as long as its peer's.
WRITES_PER_S = 100000
PORT_WRITES_PER_S = 16000  # over a kernel's port
TRIPS_PER_S = 600000

# Fields of perftest's rows: size, iterations, peak, average, Mpps; and
# size, iterations, least, most, typical, mean.
MB_S, MPPS, TYPICAL_US, MEAN_US = 3, 4, 4, 5
MB_TO_GB = 8 * 1048576 / 1e9  # perftest's MB is 2^20


def gbps(bench, program="ib_write_bw", mtu=4096, wire=None, options=()):
    """Payload of 64 KiB messages, as perftest sees it."""
    messages = bench.messages(PORT_WRITES_PER_S if wire else WRITES_PER_S)
    row = bench.perftest(program, "-s", str(BW_BYTES), "-n", str(messages),
                         "-m", str(mtu), wire=wire, options=options)
    return row[MB_S] * MB_TO_GB


def trip_us(bench, wire=None, size=TRIP_BYTES, per_s=TRIPS_PER_S,
            field=TYPICAL_US):
    """A SEND there and one back; perftest prints half of it."""
    return 2 * bench.perftest("ib_send_lat", "-s", str(size), "-n",
                              str(bench.messages(per_s)), wire=wire)[field]
