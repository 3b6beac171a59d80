#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Ask a Prometheus what the panels of the dashboard for Grafana ask it.

usage: tests/real/dashboard.py URL [--svg FILE]

Prints each panel with its series and their last values. The exit status is 1
if a query is refused. Grafana is not in Debian; --svg draws the panels where
the dashboard has them, from the last 90 seconds: a picture of the queries
and their answers, not of Grafana.
"""

import argparse
import html
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DASHBOARD = os.path.join(TOP, "apps", "packaging", "grafana-dashboard.json")
# What Grafana puts in for a scrape interval of a second.
VARIABLES = {"$__rate_interval": "5s", "$instance": ".*", "$port": ".*",
             "$job": ".*"}
PAST_S, STEP_S = 90, 1
# Pixels: of a column of the grid, of a row, of letters.
COLUMN, ROW, LETTER = 50, 30, 11
COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b",
          "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")


class Refused(Exception):
    """The text says why."""


def panels():
    with open(DASHBOARD, encoding="utf-8") as file:
        return json.load(file)["panels"]


def expression(target):
    text = target["expr"]
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    return text


def ask(url, text, now):
    """The series: (labels, [(time, value), ...])."""
    query = urllib.parse.urlencode({
        "query": text, "start": now - PAST_S, "end": now, "step": STEP_S})
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query_range?{query}",
                                    timeout=30) as answer:
            data = json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as e:
        raise Refused(f"{text}: {e.read().decode()}") from None
    return [(one["metric"], [(at, float(value)) for at, value in one["values"]])
            for one in data]


def legend(target, labels):
    """As Grafana fills in {{name}}."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda m: labels.get(m[1], ""),
                  target.get("legendFormat", "")) or str(labels)


def answers(url):
    """Panel, and the series of all its targets by their legends."""
    now = time.time()
    for panel in panels():
        yield panel, [(legend(target, labels), points)
                      for target in panel["targets"]
                      for labels, points in ask(url, expression(target), now)]


def short(value):
    for unit in ("", "k", "M", "G"):
        if abs(value) < 1000 or unit == "G":
            return f"{value:.3g}{unit}"
        value /= 1000


# ---- a picture ---------------------------------------------------------------


def text_at(x, y, text, more=""):
    return f'<text x="{x}" y="{y}" {more}>{html.escape(text)}</text>'


def lines(box, series, now):
    """Curves of a panel, and their legend below."""
    x, y, width, height = box
    rows = min(len(series), 6)
    bottom = y + height - (rows + 1) * (LETTER + 2)
    top = max((value for _, points in series for _, value in points),
              default=0) or 1
    yield text_at(x, y + LETTER + 24, short(top), 'fill="#888"')
    for number, (name, points) in enumerate(series):
        color = COLORS[number % len(COLORS)]
        places = " ".join(
            f"{x + width - (now - at) * width / PAST_S:.1f},"
            f"{bottom - value / top * (bottom - y - 40):.1f}"
            for at, value in points)
        yield (f'<polyline points="{places}" fill="none" stroke="{color}" '
               'stroke-width="1.5"/>')
        if number < rows:
            yield text_at(x, bottom + (number + 1) * (LETTER + 2),
                          f"{name}: {short(points[-1][1])}",
                          f'fill="{color}"')


def draw(found):
    now = time.time()
    body = []
    for panel, series in found:
        grid = panel["gridPos"]
        x, y = grid["x"] * COLUMN, grid["y"] * ROW
        width, height = grid["w"] * COLUMN - 8, grid["h"] * ROW - 8
        body.append(f'<rect x="{x}" y="{y}" width="{width}" '
                    f'height="{height}" fill="#fff" stroke="#bbb"/>')
        body.append(text_at(x + 6, y + 16, panel["title"],
                            'font-weight="bold"'))
        if not series:
            body.append(text_at(x + 6, y + 40, "no data", 'fill="#888"'))
        elif panel["type"] == "stat":
            text = series[0][0] if panel["title"] == "Version" \
                else short(series[0][1][-1][1])
            body.append(text_at(x + 6, y + 44, text, 'font-size="20"'))
        else:
            body += lines((x + 6, y, width - 12, height), series, now)
    width = 24 * COLUMN
    height = ROW * max(p["gridPos"]["y"] + p["gridPos"]["h"] for p, _ in found)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" '
                      f'viewBox="0 0 {width} {height}" '
                      f'font-family="sans-serif" font-size="{LETTER}">',
                      *body, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--svg")
    args = parser.parse_args()
    try:
        found = list(answers(args.url))
    except Refused as e:
        print(e, file=sys.stderr)
        return 1
    for panel, series in found:
        print(panel["title"])
        for name, points in series:
            print(f"  {name}: {short(points[-1][1])}")
    if args.svg:
        with open(args.svg, "w", encoding="utf-8") as file:
            file.write(draw(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
