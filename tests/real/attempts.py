# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Cases, several side by side, reported in TAP, and those that fail once more.

A test machine is shared: a neighbour may take its processors for seconds, and
then one of several hundred cases fails whose programs have time limits of
their own. So a case that fails runs again, alone, when all others are done. If
it passes then, it has passed, and the report names it as not steady, with what
it said the first time. Those names are to be looked at: a race of Roost's own
looks the same.
"""

import concurrent.futures
import sys
import time

# Steady cases are the rule: the next one that passes in its second attempt
# only has failed. Of a hundred cases one more may be.
UNSTEADY_MAX = 3
# Something else is wrong when more fail; they are not run again.
AGAIN_MAX = 10
# Of so many cases the report says how long they took.
SLOWEST_MAX = 10
# The words that tests/runner looks for.
NOT_STEADY = "not steady"


class Report:
    """The TAP on stdout. Lines are numbered as they are printed: that of a
    case that runs again comes last.
    """

    def __init__(self, nb_cases):
        self.nb_lines = 0
        print(f"1..{nb_cases}", flush=True)

    def case(self, outcome, name, text, notes):
        self.nb_lines += 1
        if outcome == "skip":
            print(f"ok {self.nb_lines} - {name} # SKIP {text}")
        else:
            print(f"{outcome} {self.nb_lines} - {name}")
        if outcome == "not ok":
            print(f"# {name}: {text}")
        self.notes(notes)

    @staticmethod
    def notes(notes):
        for note in notes:
            print(f"#   {note}")
        sys.stdout.flush()


def bound(least, nb_cases):
    return least + nb_cases // 100


def run_again(report, run_one, failed, results):
    """failed: {case: (number, what it said)}."""
    nb_unsteady = 0
    unsteady_max = bound(UNSTEADY_MAX, len(results))
    for case, (number, said) in failed.items():
        outcome, text, notes = run_one(number, case, True)
        if outcome == "ok":
            nb_unsteady += 1
            print(f"# {NOT_STEADY}: {case.name} ({said})")
            if nb_unsteady > unsteady_max:
                outcome = "not ok"
                text = (f"it passed in its second attempt, but more than "
                        f"{unsteady_max} cases are {NOT_STEADY}")
        results[case] = (outcome, text)
        report.case(outcome, case.name, text, notes)
    print(f"# {nb_unsteady} of {len(results)} cases {NOT_STEADY}", flush=True)


def tell_slowest(took_s):
    """took_s: {name: seconds}."""
    names = sorted(took_s, key=took_s.get, reverse=True)[:SLOWEST_MAX]
    print(f"# {sum(took_s.values()):.0f} s; the longest: " +
          ", ".join(f"{name} {took_s[name]:.0f} s" for name in names),
          flush=True)


def first_attempts(cases, run_one, width):
    """Yields (case, number, (outcome, text, notes), seconds) as they end:
    first those that run side by side, width at a time, then the others.
    """
    def timed(number, case):
        begin = time.monotonic()
        return (case, number, run_one(number, case, False),
                time.monotonic() - begin)

    numbered = list(enumerate(cases, 1))
    alone = [row for row in numbered if width == 1 or row[1].alone]
    beside = [row for row in numbered if row not in alone]
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        futures = [pool.submit(timed, *row) for row in beside]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    for row in alone:
        yield timed(*row)


def run_all(cases, run_one, once=False, width=1):
    """run_one: a function of (number, case, again) that returns (outcome,
    text, notes) as harness.run_case does; again: it is the second attempt.
    once: there is none. width: how many threads may be in run_one; only cases
    that have alone set to False. Returns {case: (outcome, text)}.
    """
    report = Report(len(cases))
    results, failed, took_s = {}, {}, {}
    for case, number, (outcome, text, notes), seconds in \
            first_attempts(cases, run_one, width):
        took_s[case.name] = seconds
        results[case] = (outcome, text)
        if outcome != "not ok" or once:
            report.case(outcome, case.name, text, notes)
            continue
        failed[case] = (number, text)
        print(f"# failed, its second attempt comes last: {case.name}: {text}")
        report.notes(notes)
    if len(failed) > bound(AGAIN_MAX, len(cases)):
        print(f"# {len(failed)} cases failed: none runs again")
        for case, (_number, text) in failed.items():
            report.case("not ok", case.name, text, [])
    elif failed:
        run_again(report, run_one, failed, results)
    tell_slowest(took_s)
    return results


def status(results):
    """The exit status."""
    return 1 if any(outcome == "not ok"
                    for outcome, _text in results.values()) else 0
