#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost-conform: does a verbs device answer as IBTA's specification says?

See roost-conform(1).
"""

import argparse
import fnmatch
import sys

sys.dont_write_bytecode = True

try:
    import scapy  # noqa: F401
except ImportError:
    sys.exit("roost-conform: needs Scapy (apt install python3-scapy)")

import cases_basic
import cases_cm
import cases_drain
import cases_event
import cases_fault
import cases_ipv6
import cases_mark
import cases_migration
import cases_psn
import cases_requester
import cases_time
import cases_uc
import cases_ud
import cases_window
import cases_xrc
import suite
from agent import Agent, CannotRun, Refused, Wire

CASES = [case for module in (cases_basic, cases_psn, cases_fault, cases_event,
                             cases_mark, cases_window, cases_migration,
                             cases_requester, cases_time, cases_drain,
                             cases_uc, cases_ud, cases_ipv6, cases_cm,
                             cases_xrc)
         for case in module.CASES]
CANNOT_RUN = 2


def parse_args():
    parser = argparse.ArgumentParser(prog="roost-conform")
    parser.add_argument("-i", "--interface", metavar="IF",
                        help="the end of the wire that is ours")
    parser.add_argument("-a", "--address", metavar="IPV4",
                        help="our address, which nobody else has")
    parser.add_argument("--agent", metavar="COMMAND",
                        default="roost-conform-agent",
                        help="what starts the agent at the device")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true",
                        help="print the cases and do nothing")
    parser.add_argument("--limit", metavar="S", type=float, default=10,
                        help="how long an answer may take (%(default)s)")
    parser.add_argument("pattern", nargs="*", help="of cases' names")
    args = parser.parse_args()
    if not args.list and not (args.interface and args.address):
        parser.error("-i and -a are needed")
    return args


def chosen(patterns):
    return [case for case in CASES if not patterns or
            any(fnmatch.fnmatchcase(case.name, one) for one in patterns)]


def examine(cases, args):
    """Returns (device, rows)."""
    wire = Wire(args.interface, args.address)
    agent = Agent(args.agent)
    try:
        wire.find(agent.gid)
        told = (lambda row: None) if args.json else \
            (lambda row: print(suite.line(row), flush=True))
        return agent.device, suite.run(cases, agent, wire, args.limit, told)
    finally:
        agent.close()


def main():
    args = parse_args()
    cases = chosen(args.pattern)
    if args.list:
        for case in cases:
            print(f"{case.name:<31}{case.level:<8}{case.clause}")
        return 0
    try:
        device, rows = examine(cases, args)
    except (CannotRun, Refused, OSError) as e:
        print(f"roost-conform: {e}", file=sys.stderr)
        return CANNOT_RUN
    if args.json:
        print(suite.as_json(device, rows))
    else:
        print(f"{device}: {suite.summary(rows)}")
    return 1 if suite.failed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
