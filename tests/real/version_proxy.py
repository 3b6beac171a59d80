# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Between roostd and its clients: one of the two is of another version.

usage: version_proxy.py LISTEN DAEMON FILE

FILE is read for each connection. It has up to two numbers: the version of what
the daemon hears, and of what clients hear; 0 leaves the message as it is. A
message of another version is longer, too, as it may be.
"""

import os
import select
import socket
import sys

HEAD_BYTES = 16
MORE = bytes(4096)
FDS_MAX = 3


def pass_on(from_end, to_end, version):
    """Returns false: that end has closed."""
    try:
        data, fds, _, _ = socket.recv_fds(from_end, 65536, FDS_MAX)
    except ConnectionResetError:
        return False
    if not data:
        return False
    if version:
        data = version.to_bytes(2, sys.byteorder) + data[2:] + MORE
    try:
        socket.send_fds(to_end, [data], fds)
    except OSError:
        return False
    finally:
        for fd in fds:
            os.close(fd)
    return True


def versions(path):
    with open(path, encoding="ascii") as file:
        words = file.read().split()
    return [int(word) for word in words] + [0] * (2 - len(words))


def seqpacket():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def main():
    listener = seqpacket()
    listener.bind(sys.argv[1])
    listener.listen(16)
    print("proxy", flush=True)
    pairs = {}  # an end, the other one, and the version for that
    while True:
        for ready in select.select([listener, *pairs], [], [])[0]:
            if ready is listener:
                client, daemon = listener.accept()[0], seqpacket()
                try:
                    daemon.connect(sys.argv[2])
                except OSError:
                    client.close()
                    continue
                to_daemon, to_client = versions(sys.argv[3])
                pairs[client] = (daemon, to_daemon)
                pairs[daemon] = (client, to_client)
            elif ready in pairs and not pass_on(ready, *pairs[ready]):
                other = pairs.pop(ready)[0]
                pairs.pop(other)
                ready.close()
                other.close()


if __name__ == "__main__":
    main()
