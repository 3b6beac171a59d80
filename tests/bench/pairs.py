# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Figures as ratios of pairs: a thing and its peer, one after the other, so
that what the machine does meanwhile happens to both.

A pair is thrown out where the time that a cache line takes between the two
cores moved by more than half while it was measured: then the host moved one of
them, and the two halves of the pair are of two machines. Where only near cores
count, so is one of far cores, and a row with few others is refused.
"""

import statistics

MOVED = 1.5
TRIES = 2  # times the pairs that are wanted
NEAR_MIN = 5  # pairs of near cores that a row needs, or all that are wanted


class Missing(Exception):
    """What this row needs is not there."""


class Failed(Exception):
    """A program gave no figure."""


def moved(before, after):
    if not before or not after:
        return False
    return max(before, after) > MOVED * min(before, after)


def is_far(bench, line_ns):
    return bool(bench.near_ns and line_ns and line_ns >= bench.near_ns)


def enough(bench, wanted, pairs, dropped):
    """A host that keeps on moving the cores would make a run twice as long.
    Where near ones are asked for, what counts is that there are enough.
    """
    return pairs and not bench.near_ns and dropped > wanted // 2


def spread(values):
    """Median and quartiles."""
    values = sorted(values)
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high}


def measure(row, bench, wanted, progress):
    """A result: medians of both, the ratio and its spread, all pairs."""
    pairs, dropped, far, failures = [], 0, 0, []
    has_line = row.cores > 1 and row.far_matters
    for _ in range(TRIES * wanted):
        if len(pairs) == wanted or enough(bench, wanted, pairs, dropped):
            break
        progress(f"{row.name}: pair {len(pairs) + 1} of {wanted}"
                 + (f", {dropped} thrown out" if dropped else ""))
        before = bench.line_ns() if has_line else None
        if is_far(bench, before):
            far += 1
            continue
        try:
            ours, peer = row.pair(bench)
        except Failed as failed:
            failures.append(str(failed))
            if len(failures) > wanted:
                break
            continue
        after = bench.line_ns() if has_line else None
        if moved(before, after):
            dropped += 1
            continue
        if is_far(bench, after):
            far += 1
            continue
        pairs.append({"ours": ours, "peer": peer, "line_ns": before,
                      "line_after_ns": after,
                      "ratio": row.ratio(ours, peer)})
    if (bench.near_ns and dropped + far
            and len(pairs) < min(NEAR_MIN, wanted)):
        raise Failed(f"refused: the cores were near, a line in less than "
                     f"{bench.near_ns:g} ns, during {len(pairs)} pairs of "
                     f"{len(pairs) + dropped + far}")
    if not pairs:
        raise Failed(failures[0] if failures else
                     "the cores were moved during every pair")
    lines = [pair["line_ns"] for pair in pairs if pair["line_ns"]]
    return {"ours": spread([pair["ours"] for pair in pairs]),
            "peer": spread([pair["peer"] for pair in pairs]),
            "ratio": spread([pair["ratio"] for pair in pairs]),
            "line_ns": statistics.median(lines) if lines else None,
            "pairs": pairs, "thrown_out": dropped + far, "failures": failures}
