# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: tap.py INTERFACE BRIDGE

Puts the interface on the bridge whenever it appears, until it is killed.
"""

import socket
import subprocess
import sys
import time


def index_of(interface):
    """None: it is not there."""
    try:
        return socket.if_nametoindex(interface)
    except OSError:
        return None


def main():
    interface, bridge = sys.argv[1:]
    seen = None
    while True:
        index = index_of(interface)
        if index not in (None, seen):
            # It may be gone again.
            subprocess.run(["ip", "link", "set", interface, "master", bridge,
                            "up"], check=False)
            seen = index
        time.sleep(0.02)


if __name__ == "__main__":
    main()
