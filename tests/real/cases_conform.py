# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost-conform at one end of a wire, Roost at the other one: it does all that
a device must, and a wire that damages answers does not pass for one."""

import json
import os
import shlex
import subprocess

import wire
from harness import TOP, Case, Failure, Skip

CONFORM = os.path.join(TOP, "apps", "conform", "main.py")
DEVICE, TESTER = "198.18.0.1", "198.18.0.2"
SUITE_S = 150
# What the suite's exit status says.
GOOD, BAD = 0, 1


def conform(room, pair, *words):
    """Returns the process and its rows."""
    # Scapy is in the system's Python alone.
    if subprocess.run(["/usr/bin/python3", "-c", "import scapy"],
                      capture_output=True).returncode != 0:
        raise Skip("python3-scapy is not installed")
    agent = ["nsenter", f"--net=/run/netns/{pair.netns['left']}",
             *room.roost("run", "--port", f"{pair.driver},iface=left", "--ip",
                         f"{DEVICE}/24", "--",
                         os.path.join(room.build, "apps", "conform",
                                      "roost-conform-agent"))]
    tester = room.run("conform", ["/usr/bin/python3", CONFORM, "--json", "-i",
                                  "right", "-a", TESTER, "--agent",
                                  shlex.join(agent), *words],
                      netns=pair.netns["right"], limit_s=SUITE_S)
    if tester.status not in (GOOD, BAD):
        raise Failure(f"conform: exit status {tester.status}")
    return tester, json.loads(tester.out())["cases"]


def roost_conforms(room):
    tester, rows = conform(room, wire.Wire(room))
    wrong = [f"{row['name']}: {row['text']}" for row in rows
             if row["verdict"] != "ok"]
    room.note(f"{len(rows)} cases")
    if wrong or tester.status != GOOD:
        raise Failure("\n".join(wrong) or f"exit status {tester.status}")


def damage_is_seen(room):
    """Every second packet of RoCEv2 is lost on the way to the tester."""
    tester, rows = conform(room, wire.relayed(room, "lose-roce=2"), "--limit",
                           "1", "msn-*", "psn-wraps")
    if tester.status != BAD or \
            not any(row["verdict"] == "fails" for row in rows):
        raise Failure("a device that does not answer passes")


CASES = [
    Case("conform-roost", roost_conforms),
    Case("conform-lossy-device", damage_is_seen),
]
