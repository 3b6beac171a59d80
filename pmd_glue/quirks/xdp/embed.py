#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""usage: embed.py HEADER [FILE]

Write the bytes of FILE as an array into HEADER; a single zero without FILE."""

import sys

BYTES_A_LINE = 12


def main():
    data = b"\0"
    if len(sys.argv) > 2:
        with open(sys.argv[2], "rb") as file:
            data = file.read()
    lines = [", ".join(f"0x{byte:02x}" for byte in data[i:i + BYTES_A_LINE])
             for i in range(0, len(data), BYTES_A_LINE)]
    with open(sys.argv[1], "w") as file:
        file.write("static const unsigned char roost_xdp_program[] = {\n\t"
                   + ",\n\t".join(lines) + ",\n};\n")


if __name__ == "__main__":
    main()
