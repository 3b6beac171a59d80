# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The same entries, two at a time, and Roost's programs are clients of one
roostd, which owns the port.

Which two run side by side looks like chance, and is the same in each run: other
programs, other transports, the same role or not. The client of the one starts
when that of the other does.
"""

import contextlib
import os
import random
import re
import signal
import threading

import cases_cm
from guest import Guest
from harness import Case, Failure, Room, Skip
from process import Process, wait_until
from suite import AGAIN_NICE
from table import ROLES, summary
from world import ADDRESSES, World

SEED = 4791
LIMIT_S = 300
MEET_S = 60
DAEMON_S = 20
STOP_STEP_S = 1
# Of the TCP ports of a room.
PORTS_EACH = 10


# ---- which two ---------------------------------------------------------------

def fixed(entry):
    """The program, where it has no option for another service: there can be
    one of it at a time.
    """
    program = entry.title.split()[0]
    return program if program in cases_cm.FIXED else None


def delayed(entry):
    """It puts a relay on the wire, which the other then has, too."""
    return cases_cm.unhurried in entry.args


def loses(entry):
    """It sends again nothing that is lost."""
    return re.search(r"\b(UC|UD|udaddy|mckey)\b|_u[cd]_", entry.name)


def crowds(entry):
    """It fills the ring of Roost's port, of 512 frames: Soft-RoCE has up to 128
    packets of a QP on the way, and sends the answers to READs all at once.
    """
    return re.search(r"-q-[48]\b|ib_read_bw", entry.name)


def suit(entry, other):
    return (delayed(entry) == delayed(other) and
            (fixed(entry) is None or fixed(entry) != fixed(other)) and
            not (loses(entry) and crowds(other)) and
            not (crowds(entry) and loses(other)))


def pairs(entries):
    """Each entry once; one that is left runs beside itself, or alone."""
    left = list(entries)
    random.Random(SEED).shuffle(left)
    made = []
    while left:
        entry = left.pop(0)
        other = next((other for other in left if suit(entry, other)), None)
        if other is not None:
            left.remove(other)
        elif fixed(entry) is None:
            other = entry
        made.append(Pair([entry] if other is None else [entry, other]))
    return made


# ---- two at a time -----------------------------------------------------------

class Member:
    """An entry of a pair, with a thread, and a room of its own in the pair's.
    """

    def __init__(self, entry, place, room, meeting):
        """meeting: a threading.Barrier of the pair."""
        self.entry = entry
        self.meeting = meeting
        self.room = Room(room.build, f"{place}-{entry.name}", 0, room.env,
                         os.path.relpath(room.logs, room.build))
        self.room.port = room.port + PORTS_EACH * place
        self.room.meeting = meeting
        self.result = ("not ok", "not done")
        self.error = None
        # Waited for instead of the thread: an alarm in Thread.join() marks
        # one that runs as ended (Python 3.11).
        self.done = threading.Event()

    def start(self, world):
        threading.Thread(target=self.run, args=(world,), daemon=True).start()

    def run(self, world):
        try:
            self.entry.run(self.room, world, *self.entry.args)
            self.result = ("ok", "")
        except Skip as skip:
            self.result = ("skip", str(skip))
        except Failure as failure:
            self.result = ("not ok", str(failure))
        except Exception as e:  # the main thread raises it
            self.error = e
        finally:
            # Nobody waits for who does not come.
            self.meeting.abort()
            try:
                self.room.close()
            finally:
                self.done.set()

    def stop(self):
        """What it starts meanwhile goes, too."""
        self.room.close()
        while not self.done.wait(STOP_STEP_S):
            self.room.close()

    def tell(self, room):
        """Its notes and programs are the pair's from now on."""
        name = self.entry.name
        for note in self.room.notes:
            room.note(f"{name}: {note}")
        for process in self.room.processes:
            process.title = f"{name}: {process.title}"
            room.processes.append(process)


def meet(room):
    """Where a client starts: together with that of the other member. Later
    ones of the same room start at once.
    """
    meeting, room.meeting = room.meeting, None
    if meeting is not None:
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(MEET_S)


class Pair(Case):
    """Entries side by side. results: {entry: (outcome, text)} of the last
    attempt.
    """

    def __init__(self, entries):
        super().__init__("+".join(entry.name for entry in entries),
                         self.beside, limit_s=LIMIT_S)
        self.entries = entries
        self.results = {}

    def beside(self, room, world):
        meeting = threading.Barrier(len(self.entries))
        members = [Member(entry, place, room, meeting)
                   for place, entry in enumerate(self.entries)]
        # Whatever ends this, an alarm, too.
        room.defer(self.settle, room, members)
        world.begin()
        for member in members:
            room.defer(member.stop)
            member.start(world)
        for member in members:
            member.done.wait()
        wrong = world.wrong()
        for member in members:
            if wrong is not None:
                member.result = ("not ok", f"{wrong}; {member.result[1]}")
        self.judge(members)

    def settle(self, room, members):
        self.results = {}
        for member in members:
            member.tell(room)
            old = self.results.get(member.entry)
            if old is None or old[0] == "ok":
                self.results[member.entry] = member.result

    @staticmethod
    def judge(members):
        for member in members:
            if member.error is not None:
                raise member.error
        bad = [f"{member.entry.name}: {member.result[1]}"
               for member in members if member.result[0] == "not ok"]
        if bad:
            raise Failure("; ".join(bad))
        if all(member.result[0] == "skip" for member in members):
            raise Skip("; ".join(member.result[1] for member in members))


# ---- behind one daemon -------------------------------------------------------

class SharedWorld(World):
    """The wire with roostd at Roost's end."""

    def __init__(self, image, build, env):
        # Of what members do at the same time.
        self.lock = threading.Lock()
        self.daemon = None
        self.daemons = 0
        self.path = os.path.join(build, "interop-logs", "roostd.sock")
        # Members that have a relay on the wire.
        self.delayed = 0
        # Two programs in a guest with one processor need more of it.
        Guest.nice = AGAIN_NICE
        super().__init__(image, build, env)

    def boot(self):
        with self.lock:
            return super().boot()

    def begin(self):
        """Before a pair. One daemon has them all, but for one that failed."""
        if self.daemon is not None and self.wrong() is not None:
            self.daemon.kill()
            self.daemon = None
        if self.daemon is None:
            self.serve()

    def serve(self):
        config = os.path.join(self.logs, "roostd.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[port0]\ndevargs = {self.port.devargs}\n"
                       f"ip = {' '.join(ADDRESSES['roost'])}\n")
        self.daemons += 1
        roostd = os.path.join(self.build, "apps", "roostd", "roostd")
        self.daemon = Process(
            f"roostd-{self.daemons}",
            [roostd, "-c", config, "--socket", self.path], self.logs,
            self.netns["roost"], self.env)
        if not wait_until(lambda: os.path.exists(self.path) or
                          self.daemon.wait(0) is not None, DAEMON_S):
            raise Failure("roostd does not listen")
        if self.wrong() is not None:
            raise Failure(self.wrong())

    def wrong(self):
        """None: the daemon serves, and has had nothing to say."""
        status, said = self.daemon.wait(0), self.daemon.err().strip()
        if status is None and not said:
            return None
        return f"roostd: exit status {status}, says '{said}'"

    def roost(self, *words, options=()):
        return [os.path.join(self.build, "apps", "roost"), "run", *options,
                "--service", self.path, "--", *words]

    def start(self, room, side, title, words, options=()):
        if title.startswith("client"):
            meet(room)
        return super().start(room, side, title, words, options)

    def lossy(self, percent, seed, cm_delay_s=0):
        """Members of a pair want the same one."""
        with self.lock:
            if self.delayed == 0:
                super().lossy(percent, seed, cm_delay_s)
            self.delayed += 1

    def whole(self):
        with self.lock:
            self.delayed -= 1
            return super().whole() if self.delayed == 0 else ""

    def close(self):
        if self.daemon is not None:
            self.daemon.kill()
        super().close()


def end(_room, world):
    """As an administrator ends it, after all that it has carried."""
    world.begin()
    world.daemon.signal(signal.SIGTERM)
    if world.daemon.wait(DAEMON_S) is None:
        raise Failure(f"roostd: not done {DAEMON_S} s after SIGTERM")
    if world.daemon.status != 0 or world.daemon.err():
        raise Failure(world.wrong())
    if os.path.exists(world.path):
        raise Failure("roostd: its socket is left")


def cases(entries):
    """All that runs."""
    return [*pairs(entries), Case("roostd-ends", end)]


# ---- the results -------------------------------------------------------------

def count(outcomes):
    """As "17 ok, 1 cannot"."""
    shown = {"ok": "ok", "not ok": "**fail**", "skip": "cannot"}
    return ", ".join(f"{outcomes.count(outcome)} {word}"
                     for outcome, word in shown.items()
                     if outcome in outcomes)


def lines(results, release):
    """A row for each group of entries. results: {case: (outcome, text)}."""
    found = [case for case in results if isinstance(case, Pair)]
    members = {}
    for pair in found:
        members.update(pair.results)
    yield f"{summary(members, 'above')}."
    yield f"They ran in {len(found)} pairs. The peer is Linux {release}."
    yield from ("", "| two at a time | Roost is the client | the server |",
                "|---|---|---|")
    groups = {}
    for entry, (outcome, _text) in members.items():
        roles = groups.setdefault(entry.group, {role: [] for role in ROLES})
        roles[entry.role].append(outcome)
    for group in sorted(groups):
        cells = " | ".join(count(groups[group][role]) for role in ROLES)
        yield f"| {group} | {cells} |"
