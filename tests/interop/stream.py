# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: stream.py ADDRESS PORT

Waits for a TCP connection, and joins it with its own standard streams until one
of them ends: for a program in the guest, whose streams are files.
"""

import os
import select
import socket
import sys


def main():
    with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
        sock = server.accept()[0]
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways = {sys.stdin.fileno(): sock.fileno(),
            sock.fileno(): sys.stdout.fileno()}
    while True:
        for source in select.select(list(ways), [], [])[0]:
            data = os.read(source, 65536)
            if not data:
                return
            os.write(ways[source], data)


if __name__ == "__main__":
    main()
