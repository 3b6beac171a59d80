# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Cases, one after the other, and the table of their verdicts."""

import json

from agent import Refused
from judge import Bench, Unsupported, Wrong

# What a verdict means for the exit status is main.py's.
OK, FAILS, CHOICE, NONE = "ok", "fails", "choice", "n/a"
LEVELS = ("must", "should", "choice")
FIRST_QPN = 0x100


class Case:
    """name; clause: of the IBTA specification, volume 1, or the name of its
    section. level: one of LEVELS. run: called with a Bench; returns text for a
    choice, else None.
    """

    def __init__(self, name, clause, run, level="must"):
        self.name = name
        self.clause = clause
        self.run = run
        self.level = level


class Table(list):
    """Cases; as a decorator, it appends a function."""

    def case(self, name, clause, level="must"):
        def keep(run):
            self.append(Case(name, clause, run, level))
            return run
        return keep


def judge(case, bench):
    """Returns (verdict, text)."""
    try:
        text = case.run(bench)
    except Wrong as e:
        return FAILS, str(e)
    except Unsupported as e:
        return NONE, str(e)
    except Refused as e:
        return FAILS, str(e)
    return (OK, "") if text is None else (CHOICE, text)


def run(cases, agent, wire, limit_s, told=lambda row: None):
    """Returns rows, each told as soon as it is there."""
    rows = []
    for number, case in enumerate(cases):
        agent.ask("reset")
        bench = Bench(agent, wire, FIRST_QPN + number, limit_s)
        verdict, text = judge(case, bench)
        rows.append({"name": case.name, "clause": case.clause,
                     "level": case.level, "verdict": verdict, "text": text})
        told(rows[-1])
    agent.ask("reset")
    return rows


def line(row):
    text = f"  {row['text']}" if row["text"] else ""
    return f"{row['verdict']:<7}{row['level']:<8}{row['name']:<31}" \
        f"{row['clause']}{text}"


def summary(rows):
    counts = {}
    for row in rows:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in
                     sorted(counts.items()))


def as_json(device, rows):
    return json.dumps({"device": device, "cases": rows}, indent=1)


def failed(rows):
    """True if something that a device must do was not done."""
    return any(row["verdict"] == FAILS and row["level"] == "must"
               for row in rows)
