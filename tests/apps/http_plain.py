#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Python's HTTP server on sockets that librspreload.so can carry.

usage: http_plain.py ADDRESS PORT FOLDER

Python asks for every socket with SOCK_CLOEXEC and takes connections with
accept4(2). rsockets have neither, and librspreload.so leaves such sockets to
the kernel: here socket(2) and accept(2) are called themselves.
"""

import ctypes
import functools
import http.server
import os
import socket
import sys

KIND = (socket.AF_INET, socket.SOCK_STREAM, 0)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main(address, port, folder):
    libc = ctypes.CDLL(None, use_errno=True)
    listener = socket.socket(*KIND, fileno=checked(libc.socket(*KIND)))
    listener.bind((address, int(port)))
    listener.listen(8)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=folder)
    print("listening", flush=True)
    while True:
        fd = checked(libc.accept(listener.fileno(), None, None))
        with socket.socket(*KIND, fileno=fd) as connection:
            handler(connection, connection.getpeername(), None)
            connection.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(*sys.argv[1:])
