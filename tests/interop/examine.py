# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost-conform on the switch between Roost and the guest: it examines either
of them. The agent in the guest is reached by TCP."""

import json
import os
import shlex

from guest import GuestProcess
from harness import TOP, Case, Failure
from world import DEVICES, TCP_ADDRESSES

PYTHON = "/usr/bin/python3"  # the system's, which has Scapy
CONFORM = os.path.join(TOP, "apps", "conform", "main.py")
STREAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stream.py")
OURS = "198.18.0.77"
ANSWER_S = 3
SUITE_S = 500
# Until somebody listens there.
CALL = """
until exec 3<>/dev/tcp/$1/$2; do sleep 0.2; done 2>/dev/null
exec "$3" -d "$4" <&3 >&3
"""
CELLS = {"ok": "ok", "n/a": "not there"}


class Entry(Case):
    """stack: of which the rows are. side: as World names it."""

    def __init__(self, stack, side):
        super().__init__(f"conform-{side}", self.examine, side,
                         limit_s=SUITE_S + 60)
        self.stack = stack
        self.rows = []

    def examine(self, room, world, side):
        # In the namespace of the switch.
        tester = room.run("conform", [
            PYTHON, CONFORM, "--json", "-i", "bridge", "-a", OURS, "--limit",
            str(ANSWER_S), "--agent", shlex.join(agent(room, world, side))],
            netns=world.netns["switch"], limit_s=SUITE_S)
        if tester.status not in (0, 1):
            raise Failure(f"conform: exit status {tester.status}")
        self.rows = json.loads(tester.out())["cases"]
        wrong = [row["name"] for row in self.rows if row["verdict"] == "fails"]
        room.note(f"{len(self.rows)} cases, {len(wrong)} fail")
        if side == "roost" and wrong:
            raise Failure("\n".join(wrong))


def agent(room, world, side):
    """The command that is, or leads to, the agent at that side."""
    program = os.path.join(world.build, "apps", "conform",
                           "roost-conform-agent")
    inside = ["nsenter", f"--net=/run/netns/{world.netns['roost']}"]
    if side == "roost":
        return [*inside, *world.roost(program)]
    address, port = TCP_ADDRESSES["roost"], str(room.next_port())
    room.processes.append(GuestProcess(
        world.boot(), "agent", ["bash", "-c", CALL, "call", address, port,
                                program, DEVICES["rxe"]], room.logs))
    return [*inside, PYTHON, "-B", STREAM, address, port]


ENTRIES = [Entry("Roost", "roost"), Entry("Soft-RoCE", "rxe")]


def cell(row):
    if row is None:
        return ""
    if row["verdict"] in CELLS:
        return CELLS[row["verdict"]]
    return f"**{row['verdict']}**: {row['text']}"


def lines(_results, release):
    """A column for each stack, for doc/conformance.md."""
    columns = [{row["name"]: row for row in entry.rows} for entry in ENTRIES]
    yield f"Soft-RoCE is that of Linux {release}."
    yield from ("", "| case | level | clause or topic | Roost | Soft-RoCE |",
                "|---|---|---|---|---|")
    for row in ENTRIES[0].rows:
        cells = " | ".join(cell(column.get(row["name"])) for column in columns)
        yield f"| {row['name']} | {row['level']} | {row['clause']} | {cells} |"
