# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A run as a piece of doc/performance.md: the machine, the table, the plots."""

import os
import textwrap

import rows
from pairs import Failed


def markers(name):
    """Between which a program of that name writes."""
    return f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"


MARKERS = BEGIN, END = markers("run")
HEAD = ("| row | ours | peer | ratio | quartiles | line | thrown out | least | "
        "aim |\n|---|---|---|---|---|---|---|---|---|\n")


def figure(value):
    """Three digits, and never an exponent."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def paragraph(text):
    return textwrap.fill(text, 80, break_on_hyphens=False) + "\n"


def machine_text(found, notes):
    """found: what tests/bench/run knows of the machine and of itself."""
    huge = (f"{found['huge_pages']} huge pages" if found["huge_pages"]
            else "no huge pages")
    near = (f"; only pairs with less than {figure(found['near_ns'])} ns count"
            if found.get("near_ns") else "")
    text = (f"{found['cpus']} cores of {found['cpu']}"
            f"{' (a virtual machine)' if found['virtual'] else ''}, "
            f"Linux {found['kernel']}, {huge}, built with "
            f"`{found['build']}`, {found['pairs']} pairs, `--seconds "
            f"{found['seconds']:g}`, {found['minutes']:.0f} minutes; a cache "
            f"line took {figure(found.get('line_ns', 0))} ns from core to core "
            f"before{near}, and the load was {found['load']:.1f}. ICRC: "
            f"`{found['kernels'][0]}`. Rows marked + are of two cores; line: "
            "the same time during their pairs, the median.")
    return paragraph(text) + "".join(
        "\n" + paragraph("Note: " + note + ".") for note in notes)


def table_row(row, result):
    name = f"`{row.name}`" + (" +" if row.cores > 1 else "")
    wanted = f"{'' if row.more_is_better else '<= '}{row.least:g} | {row.aim:g}"
    if "why" in result:
        return f"| {name} | {result['why']} | | | | | | {wanted} |\n"
    ratio = result["ratio"]
    spread = ("" if row.exact else
              f"{figure(ratio['low'])}-{figure(ratio['high'])}")
    return (f"| {name} | {figure(result['ours']['median'])} {row.unit} | "
            f"{figure(result['peer']['median'])} {row.unit} | "
            f"{figure(ratio['median'])} | {spread} | "
            f"{figure(result['line_ns']) if result['line_ns'] else ''} | "
            f"{result['thrown_out'] or ''} | {wanted} |\n")


def table(results):
    text = HEAD
    for row in rows.ROWS:
        if row.name in results:
            text += table_row(row, results[row.name])
    for name, *_ in rows.COUNTS:
        if name in results:
            found = results[name]
            found = (found["why"] if isinstance(found, dict)
                     else figure(found))
            text += f"| `{name}` | {found} | | | | | | | |\n"
    return text


def section(found, notes, results, plots):
    """plots: {name: what it shows}"""
    images = "".join(f"\n![{title}](plots/{name}.svg)\n"
                     for name, title in plots.items())
    return f"{machine_text(found, notes)}\n{table(results)}{images}"


def replaced(text, body, between=MARKERS):
    """The document with body between its markers."""
    begin, end = between
    if text.count(begin) != 1 or text.count(end) != 1:
        raise Failed(f"there must be one {begin.strip()} and one "
                     f"{end.strip()}")
    head, rest = text.split(begin)
    if end not in rest:
        raise Failed("the end marker is in front of the other one")
    return f"{head}{begin}\n{body}\n{end}{rest.split(end)[1]}"


def check(path, between=MARKERS):
    """That it can be written to, before a run is wasted."""
    with open(path, "r+") as file:
        try:
            replaced(file.read(), "", between)
        except Failed as failed:
            raise Failed(f"{path}: {failed}") from None


def write(path, body, drawings, between=MARKERS):
    """drawings: {name: SVG}, for the folder plots beside the document."""
    with open(path) as file:
        text = replaced(file.read(), body, between)
    folder = os.path.join(os.path.dirname(os.path.abspath(path)), "plots")
    os.makedirs(folder, exist_ok=True)
    for name, drawing in drawings.items():
        with open(os.path.join(folder, name + ".svg"), "w") as file:
            file.write(drawing)
    with open(path, "w") as file:
        file.write(text)
