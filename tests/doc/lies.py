# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Pages that lie, and what is to be said about each: a test that believes them
would believe any page.
"""

# Name: (the page, what has to be in the complaint; None: it tells the truth).
LIES = {
    "truth": ("""
<!-- run: terminal 1 -->

    sleep 0   # nothing
    seq 1 \\
        3; echo took 0.25 s, key 0x1f

<!-- shows: terminal 1 -->

    1
    3
    took 0.5 s, key 0xabc

<!-- run: terminal 1, status 3 -->

    (exit 3)

<!-- run: terminal 1, until Ctrl-C -->

    sleep 100

<!-- press: Ctrl-C in terminal 1 -->

<!-- run: terminal 2 -->

    echo again

<!-- shows: terminal 2 -->

    a...n
""", None),
    "command-fails": ("""
<!-- run: terminal 1 -->

    roost-that-nobody-has
    true
""", "exit status 127, not 0"),
    "command-succeeds": ("""
<!-- run: terminal 1, status 2 -->

    true
""", "exit status 0, not 2"),
    "output": ("""
<!-- run: terminal 1 -->

    seq 1 3

<!-- shows: terminal 1 -->

    3
    1
""", "not printed: 1"),
    "number": ("""
<!-- run: terminal 1 -->

    echo 198.18.0.1

<!-- shows: terminal 1 -->

    198.18.0.2
""", "not printed: 198.18.0.2"),
    "does-not-end": ("""
<!-- run: terminal 1, until Ctrl-C -->

    sleep 100
""", "nobody pressed Ctrl-C"),
    "ends-badly": ("""
<!-- run: terminal 1, goes on -->

    sleep 1; false
""", "exit status 1, not 0"),
    "no-mark": ("""
Do this:

    true
""", "a block without a mark"),
    "mark": ("""
<!-- run: terminal one -->

    true
""", "a mark that nobody understands"),
    "no-reason": ("""
<!-- not run: takes a long time -->

    roost run -- ibv_devinfo
""", "not a reason"),
    "reason-of-another": ("""
<!-- not run: needs a NIC of its own -->

    roost run --port 0000:03:00.0 -- ibv_devinfo
    roost run -- ibv_devinfo
""", "does not hold for: roost run -- ibv_devinfo"),
    "run-nowhere": ("""
<!-- run: terminal 1 -->

    ip netns exec one true || true

<!-- not run: is run above in a namespace -->

    false
""", "this is run nowhere: false"),
    "hidden": ("""
<!-- no commands -->

    roost run -- ibv_devinfo
""", "marked as no command"),
}
