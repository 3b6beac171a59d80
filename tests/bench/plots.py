# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Curves, measured and drawn as SVG with nothing but this file."""

import math
import statistics
from xml.sax.saxutils import escape

from perftest import MB_S, MB_TO_GB

WIDTH, HEIGHT, MARGIN = 640, 380, 70
COLOURS = ("#1f5fa8", "#b8561b", "#3a7d44", "#7a3e9d")
LEGEND_Y, LEGEND_STEP = 46, 110
TICKS = 4
TRIES = 2
PLOTTED_PER_S = 2000000
LOSSES = ("1e-5", "3e-5", "1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "3e-2")
QPS = (1, 16, 64, 256, 1024, 4096, 16384, 100000)
WORKERS = (1, 2, 4, 8, 16)


def short(value):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{int(value // size)}{unit}"
    return f"{value:g}"


def points(values, low, high, top, scale):
    wide, high_px = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    for x, y in values:
        at = (scale(x) - low) / (high - low or 1)
        yield MARGIN + at * wide, HEIGHT - MARGIN - y / top * high_px


def round_top(value):
    """The least 1, 2, 4, 6 or 8 of its power of ten that is no less: a quarter
    of it is a number that people read.
    """
    power = 10 ** math.floor(math.log10(value)) if value > 0 else 1
    return next(digit * power for digit in (1, 2, 4, 6, 8, 10)
                if digit * power >= value * 0.999)


def text_at(x, y, text, *style):
    return f'<text x="{x:.1f}" y="{y:.1f}" {" ".join(style)}>{escape(text)}' \
           '</text>'


def axes(x_title, y_title, marks, top):
    """marks: {place in pixels: text} below the x axis."""
    middle = 'text-anchor="middle"'
    yield text_at(WIDTH / 2, HEIGHT - 16, x_title, middle)
    yield text_at(14, MARGIN - 14, y_title)
    for step in range(TICKS + 1):
        y = HEIGHT - MARGIN - step / TICKS * (HEIGHT - 2 * MARGIN)
        yield (f'<line x1="{MARGIN}" y1="{y:.1f}" x2="{WIDTH - MARGIN}" '
               f'y2="{y:.1f}" stroke="#ddd"/>')
        yield text_at(MARGIN - 8, y + 4, f"{top * step / TICKS:g}",
                      'text-anchor="end"')
    for at, text in marks.items():
        yield text_at(at, HEIGHT - MARGIN + 18, text, middle)


def curve(number, name, values, dots):
    """values: in pixels. Its name stands above all curves."""
    colour = COLOURS[number]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in values)
    yield (f'<polyline points="{path}" fill="none" stroke="{colour}" '
           'stroke-width="2"/>')
    for x, y in values if dots else ():
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    x = MARGIN + 30 + LEGEND_STEP * number
    yield (f'<line x1="{x}" y1="{LEGEND_Y - 4}" x2="{x + 18}" '
           f'y2="{LEGEND_Y - 4}" stroke="{colour}" stroke-width="3"/>')
    yield text_at(x + 24, LEGEND_Y, name)


def draw(title, x_title, y_title, curves, time=False):
    """curves: {name: [(x, y)]}; y begins at 0. x is logarithmic, or a time."""
    every = [point for values in curves.values() for point in values]
    scale = float if time else math.log2
    low = scale(min(x for x, _ in every))
    high = scale(max(x for x, _ in every))
    top = round_top(max(y for _, y in every))

    def place(values):
        return list(points(values, low, high, top, scale))

    marked = sorted({x for x, _ in every})
    if time:
        marked = [low + (high - low) * step / TICKS
                  for step in range(TICKS + 1)]
    marks = {place([(x, 0)])[0][0]: f"{x:.0f}" if time else short(x)
             for x in marked}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text_at(WIDTH / 2, 24, title, 'text-anchor="middle"',
                   'font-size="14"'),
           *axes(x_title, y_title, marks, top)]
    for number, (name, values) in enumerate(curves.items()):
        out += curve(number, name, place(values), not time)
    return "\n".join(out) + "\n</svg>\n"


def settled(measure):
    """The median of a few."""
    return statistics.median(measure() for _ in range(TRIES))


def kernels(bench):
    """Speed of the kernels by size."""
    curves = {}
    for size in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
        for name, figures in bench.kernels(size).items():
            curves.setdefault(name, []).append((size, size / figures["ns"]))
    return draw("Copy and ICRC in one pass, from the cache", "bytes", "GB/s",
                curves)


def bandwidth(bench):
    """WRITE and READ over a link by size, as perftest sees them."""
    curves = {}
    for name in ("ib_write_bw", "ib_read_bw"):
        for size in (64, 1024, 8192, 65536, 1 << 20):
            words = ("-s", str(size), "-m", "4096", "-n",
                     str(max(1000, min(200000, (1 << 30) // size))))
            speed = settled(lambda: bench.perftest(name, *words)[MB_S])
            curves.setdefault(name, []).append((size, speed * MB_TO_GB))
    return draw("RC over a link, path MTU 4096", "bytes a message", "Gb/s",
                curves)


def rate(bench):
    """Rate of small messages by the number of QPs, the engine alone."""
    values = []
    for nb in QPS:
        ns = settled(lambda: bench.engine("write16", PLOTTED_PER_S, "-q",
                                          str(nb))["ns"])
        values.append((nb, 1e3 / ns))
    return draw("16 B WRITEs, the engine alone, both ends on one core", "QPs",
                "M/s", {"write16": values})


def workers(bench):
    """Rate of small messages by the number of workers, a core for each."""
    curves = {"of its QPs": [], "spread": [], "linear": []}
    for nb in WORKERS:
        if nb > len(bench.all_cpus):
            break
        for name, words in (("of its QPs", ()), ("spread", ("-x",))):
            found = settled(lambda: bench.workers(nb, *words)) / 1e6
            curves[name].append((nb, found))
        curves["linear"].append((nb, nb * curves["of its QPs"][0][1]))
    return draw("16 B WRITEs, the engine alone, by what a worker receives",
                "workers", "M/s", curves)


def loss(bench):
    """Goodput by loss, in virtual time."""
    curves = {"selective": [], "go-back-N": [], "its bound": []}
    for rate in LOSSES:
        found, selective = bench.loss(rate), bench.loss(rate, "-e")
        for name, value in (("selective", selective["gbps"]),
                            ("go-back-N", found["gbps"]),
                            ("its bound", found["bound"])):
            curves[name].append((1e6 * float(rate), value))
    return draw("64 KiB WRITEs, 100 Gb/s, 6 us there and back",
                "frames lost of a million", "Gb/s", curves)


def queue(bench):
    """The queue of a switch, in virtual time."""
    curves = {}
    for name, marks in (("marks", ("-m", "102")), ("no marks", ())):
        curves[name] = [(ms, frames) for ms, frames, *_ in bench.net_series(
            "-e", *marks, "-n", "2", "-q", "8", "-v", "60", "-t", "500")]
    return draw("Two senders of 100 into 40 Gb/s, the second one for a third",
                "ms", "frames", curves, True)


def joining(bench):
    """Goodput of senders that come and go, in virtual time."""
    curves = {}
    for ms, _, *speeds in bench.net_series("-e", "-m", "102", "-n", "3", "-q",
                                           "4", "-v", "90", "-t", "1000"):
        for number, gbps in enumerate(speeds):
            curves.setdefault(f"sender {number + 1}", []).append((ms, gbps))
    return draw("Three senders of 100 into 40 Gb/s, the third one for a third",
                "ms", "Gb/s", curves, True)


# Name, cores, what it shows, and what makes it.
PLOTS = (("kernels", 1, "Copy and ICRC by size", kernels),
         ("bandwidth", 2, "Bandwidth by size of the message", bandwidth),
         ("rate", 1, "Rate by the number of QPs", rate),
         ("workers", 2, "Rate by the number of workers", workers),
         ("loss", 1, "Goodput by loss", loss),
         ("queue", 1, "The queue over time", queue),
         ("joining", 1, "Senders that come and go", joining))
