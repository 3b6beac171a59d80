# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Figures as ratios of pairs: a thing and its peer, one after the other, so
that what the machine does meanwhile happens to both.

A pair is thrown out where the time that a cache line takes between the two
cores moved by more than half while it was measured: then the host moved one of
them, and the two halves of the pair are of two machines.
"""

import statistics

MOVED = 1.5
TRIES = 2  # times the pairs that are wanted


class Missing(Exception):
    """What this row needs is not there."""


class Failed(Exception):
    """A program gave no figure."""


def moved(before, after):
    if not before or not after:
        return False
    return max(before, after) > MOVED * min(before, after)


def spread(values):
    """Median and quartiles."""
    values = sorted(values)
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high}


def measure(row, bench, wanted, progress):
    """A result: medians of both, the ratio and its spread, all pairs."""
    pairs, dropped, failures = [], 0, []
    for _ in range(TRIES * wanted):
        if len(pairs) == wanted:
            break
        progress(f"{row.name}: pair {len(pairs) + 1} of {wanted}"
                 + (f", {dropped} thrown out" if dropped else ""))
        before = bench.line_ns() if row.cores > 1 else None
        try:
            ours, peer = row.pair(bench)
        except Failed as failed:
            failures.append(str(failed))
            if len(failures) > wanted:
                break
            continue
        after = bench.line_ns() if row.cores > 1 else None
        if moved(before, after):
            dropped += 1
            continue
        pairs.append({"ours": ours, "peer": peer, "line_ns": before,
                      "line_after_ns": after,
                      "ratio": row.ratio(ours, peer)})
    if not pairs:
        raise Failed(failures[0] if failures else
                     "the cores were moved during every pair")
    return {"ours": spread([pair["ours"] for pair in pairs]),
            "peer": spread([pair["peer"] for pair in pairs]),
            "ratio": spread([pair["ratio"] for pair in pairs]),
            "pairs": pairs, "thrown_out": dropped, "failures": failures}
