# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""How long the device waits. A clock here starts before what starts the
device's, and stops after it: too early is never said of a device that waits as
it must. Too late is said generously, for busy machines.
"""

import time

from frames import SEND_ONLY, WRITE_ONLY
from judge import (RETRY_SPENT, RNR, SUCCESS, WR_SEND, WR_WRITE, Wrong)
from suite import Case, Table

CASES = Table()
TIMEOUTS = "9.7.6.1.3 lost acknowledgements, timeouts"
LATE = 20  # times what is right
SLACK_S = 2

# Codes and what they mean, in s (9.7.5.2.8).
RNR_TIMERS = ((1, 0.00001), (14, 0.00128), (20, 0.01024), (26, 0.08192),
              (0, 0.65536))
# 4.096 us * 2^14
TIMEOUT, TIMEOUT_S = 14, 4.096e-6 * 2 ** 14


def took(begin_s, least_s):
    seen_s = time.monotonic() - begin_s
    if seen_s < least_s:
        raise Wrong(f"after {seen_s:.4f} s, not {least_s:.4f} s")
    if seen_s > LATE * least_s + SLACK_S:
        raise Wrong(f"not before {seen_s:.1f} s, in place of {least_s:.4f} s")


def rnr_wait(code, wait_s):
    def run(t):
        t.ready()
        t.post(WR_SEND, t.memory(), 8)
        t.request(SEND_ONLY)
        begin_s = time.monotonic()
        t.say(0, RNR | code, msn=0)
        t.request(SEND_ONLY)
        took(begin_s, wait_s)
        t.say(0)
        t.completion(SUCCESS, id=1)
    return run


CASES += [Case(f"time-rnr-{code}", "9.7.5.2.8 RNR NAK", rnr_wait(code, wait_s))
          for code, wait_s in RNR_TIMERS]


def retries_spent(retry):
    def run(t):
        t.ready(timeout=TIMEOUT, retry=retry)
        memory = t.memory()
        begin_s = time.monotonic()
        t.post(WR_WRITE, memory, 8)
        t.completion(RETRY_SPENT, id=1)
        took(begin_s, (retry + 1) * TIMEOUT_S)
    return run


CASES += [Case(f"time-retries-{retry}", TIMEOUTS, retries_spent(retry))
          for retry in (0, 1, 3)]


@CASES.case("time-timeout-0", TIMEOUTS)
def time_timeout_0(t):
    """Waits for ever, and does not ask again."""
    t.ready(timeout=0, retry=0)
    t.post(WR_WRITE, t.memory(), 8)
    t.request(WRITE_ONLY)
    again = t.wire.receive(t.qpn, 4 * TIMEOUT_S)
    if again is not None:
        raise Wrong(f"sent again: {again}")
    t.no_completion()
    t.say(0)
    t.completion(SUCCESS, id=1)
