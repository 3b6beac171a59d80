# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Entries of tests/interop/vfio: one program on the NICs of one model in one
machine; and how two ends are run."""

import re

import table
from entry import finish
from harness import Case, Failure
from nic_world import pairs
from process import wait_for_listener, wait_until

# The guest is software emulation, on a machine with other work.
RUN_S = 180
LISTEN_S = 120
LOOPBACK = "127.0.0.1"


class NicEntry(Case):
    """run: a function of (room, world, machine, model, *args)."""

    def __init__(self, machine, model, title, run, *args, limit_s=900):
        words = re.findall(r"[\w.]+", f"{machine.title} {model} {title}")
        super().__init__("-".join(words), run_there(run), machine, model,
                         *args, limit_s=limit_s)
        self.machine = machine
        self.model = model
        self.title = title


def run_there(run):
    def run_it(room, world, machine, *args):
        world.boot(machine)
        run(room, world, machine, *args)
    return run_it


def lines(results, release):
    """The text of doc/interop.md: a table for each machine."""
    yield f"{table.summary(results)}. The kernel is Linux {release}."
    machines = {}
    for entry, result in results.items():
        rows = machines.setdefault(entry.machine, {})
        rows.setdefault(entry.title, {})[entry.model] = result
    for machine, rows in machines.items():
        # net_tap is no card of the machine's.
        models = list(dict.fromkeys(
            [*machine.models, *(model for row in rows.values()
                                for model in row)]))
        yield from ("", f"| {machine.title} | {' | '.join(models)} |",
                    "|---" * (len(models) + 1) + "|")
        for title, row in rows.items():
            cells = " | ".join(cell(row.get(model)) for model in models)
            yield f"| {title} | {cells} |"


def cell(result):
    if result is None:
        return ""
    outcome, text = result
    return {"ok": "ok", "not ok": "**fails**"}.get(outcome) or f"cannot: {text}"


def nics(machine, model):
    return pairs(machine)[model]


def start_pair(room, world, ends, words, port):
    """Two ends of a program with a side channel over TCP. ends: of the server
    and of the client, what gives (words) the command line.
    """
    server = world.start(room, "server", ends[0](words))
    if not wait_for_listener(server, port, LISTEN_S):
        raise Failure(f"server: does not listen; exit status {server.status}")
    return server, world.start(room, "client", ends[1]([*words, LOOPBACK]))


def over_roost(room, world, nic, options=()):
    """What gives the command line of a program over the NIC."""
    return lambda words: world.roost(room, nic, *words, options=options)


def run_pair(room, world, ends, words, port):
    done = start_pair(room, world, ends, words, port)
    finish(room, *done, limit_s=RUN_S)
    return done


def pingpong(room, world, ends, program, options):
    port = room.next_port()
    words = [f"ibv_{program}_pingpong", "-p", str(port), "-g", "1", "-c",
             *options]
    for end in run_pair(room, world, ends, words, port):
        if "invalid data" in end.out() or " iters in " not in end.out():
            raise Failure(f"{end.title}: wrong data, or no result")


def perftest(room, world, ends, words, devices=("roost0", "roost0")):
    port = room.next_port()
    words = [*words, "-F", "-u", "18", "-x", "1", "-p", str(port)]
    ends = [with_device(end, device) for end, device in zip(ends, devices)]
    _server, client = run_pair(room, world, ends, words, port)
    if not re.search(r"^ *\d+ +\d+ +[\d.]+", client.out(), re.MULTILINE):
        raise Failure("the client shows no result")


def with_device(end, device):
    return lambda words: end([words[0], "-d", device, *words[1:]])


def rping(room, world, ends, address, serves):
    """serves: a function that says whether the server does."""
    words = ["rping", "-V", "-C", "10", "-S", "4097"]
    server = world.start(room, "server", ends[0]([*words, "-s"]))
    if not wait_until(lambda: serves() or server.wait(0) is not None,
                      LISTEN_S, 0.5) or server.status is not None:
        raise Failure(f"server: does not listen; exit status {server.status}")
    client = world.start(room, "client",
                         ends[1]([*words, "-c", "-a", address]))
    finish(room, server, client, limit_s=RUN_S)
