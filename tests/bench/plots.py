# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Curves, measured and drawn as SVG with nothing but this file."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 640, 360, 60
COLOURS = ("#1f5fa8", "#b8561b", "#3a7d44")
LOSSES = ("1e-5", "3e-5", "1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "3e-2")
QPS = (1, 4, 16, 64, 256, 1024, 4096, 16384)


def short(value):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{int(value // size)}{unit}"
    return f"{value:g}"


def points(values, low, high, top):
    wide, high_px = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    for x, y in values:
        at = (math.log2(x) - low) / (high - low or 1)
        yield MARGIN + at * wide, HEIGHT - MARGIN - y / top * high_px


def draw(title, x_title, y_title, curves):
    """curves: {name: [(x, y)]}; x is logarithmic, y begins at 0."""
    every = [point for values in curves.values() for point in values]
    low = math.log2(min(x for x, _ in every))
    high = math.log2(max(x for x, _ in every))
    top = max(y for _, y in every) * 1.1 or 1
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{WIDTH / 2}" y="24" text-anchor="middle" '
           f'font-size="14">{escape(title)}</text>',
           f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" '
           f'text-anchor="middle">{escape(x_title)}</text>',
           f'<text x="14" y="{MARGIN - 14}">{escape(y_title)}</text>']
    for step in range(5):
        y = HEIGHT - MARGIN - step / 4 * (HEIGHT - 2 * MARGIN)
        out.append(f'<line x1="{MARGIN}" y1="{y:.1f}" x2="{WIDTH - MARGIN}" '
                   f'y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" '
                   f'text-anchor="end">{top * step / 4:.3g}</text>')
    for x in sorted({x for x, _ in every}):
        at = next(points([(x, 0)], low, high, top))
        out.append(f'<text x="{at[0]:.1f}" y="{HEIGHT - MARGIN + 16}" '
                   f'text-anchor="middle">{short(x)}</text>')
    for number, (name, values) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}"
                        for x, y in points(values, low, high, top))
        out.append(f'<polyline points="{path}" fill="none" '
                   f'stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{MARGIN + 10}" y="{MARGIN + 16 * number}" '
                   f'fill="{colour}">{escape(name)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def kernels(bench):
    """Speed of the kernels by size."""
    curves = {}
    for size in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
        for name, figures in bench.kernels(size).items():
            curves.setdefault(name, []).append((size, size / figures["ns"]))
    return draw("Copy and ICRC in one pass, from the cache", "bytes", "GB/s",
                curves)


def bandwidth(bench):
    """WRITE and READ over memif by size, as perftest sees them."""
    curves = {}
    for name in ("ib_write_bw", "ib_read_bw"):
        for size in (64, 1024, 4096, 16384, 65536, 262144, 1 << 20):
            row = bench.perftest(name, "-s", str(size), "-m", "4096", "-n",
                                 str(max(200, min(20000, (1 << 28) // size))))
            curves.setdefault(name, []).append(
                (size, row[3] * 8 * 1048576 / 1e9))
    return draw("RC over memif, path MTU 4096", "bytes a message", "Gb/s",
                curves)


def rate(bench):
    """Rate of small messages by the number of QPs, the engine alone."""
    values = [(n, 1e3 / bench.engine("write16", 200000, "-q", str(n))["ns"])
              for n in QPS]
    return draw("16 B WRITEs, the engine alone, both ends on one core", "QPs",
                "M/s", {"write16": values})


def loss(bench):
    """Goodput by loss, in virtual time."""
    curves = {"goodput": [], "bound": []}
    for rate in LOSSES:
        found = bench.loss(rate)
        curves["goodput"].append((1e6 * float(rate), found[0]))
        curves["bound"].append((1e6 * float(rate), found[1]))
    return draw("64 KiB WRITEs, 100 Gb/s, 6 us there and back",
                "frames lost of a million", "Gb/s", curves)


PLOTS = (("kernels", 1, kernels), ("bandwidth", 2, bandwidth),
         ("rate", 1, rate), ("loss", 1, loss))
