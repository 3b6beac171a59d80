#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's pyverbs, as its own documentation uses it: an endpoint of rdma_cm at
either side, messages there and back, and a WRITE and a READ of memory.

usage: pyverbs_pair.py server|client ADDRESS PORT
"""

import struct
import sys

from pyverbs import cm_enums, enums
from pyverbs.cmid import CMID, AddrInfo
from pyverbs.qp import QPCap, QPInitAttr

SIZES = (1, 100, 4096, 65536)
MEMORY_BYTES = 100_000
INVITATION = "!QI"  # address and rkey


def pattern(seed, length):
    return bytes((seed * 7 + i * 13) % 251 for i in range(length))


def endpoint(info):
    cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
    return CMID(creator=info, qp_init_attr=QPInitAttr(
        cap=cap, qp_type=enums.IBV_QPT_RC))


def check(wc, data, wanted, what):
    if wc is not None and wc.status != enums.IBV_WC_SUCCESS:
        sys.exit(f"{what}: status {wc.status}")
    if data != wanted:
        sys.exit(f"{what}: other data")


def send(cmid, data):
    mr = cmid.reg_msgs(max(len(data), 1))
    mr.write(data, len(data))
    cmid.post_send(mr, 0, len(data))
    check(cmid.get_send_comp(), b"", b"", "send")
    mr.close()


def served(cmid, mr):
    """The receive request of mr was posted before."""
    wc = cmid.get_recv_comp()
    return wc, mr.read(wc.byte_len, 0)


def server(address, port):
    listener = endpoint(AddrInfo(src=address, src_service=port,
                                 port_space=cm_enums.RDMA_PS_TCP,
                                 flags=cm_enums.RAI_PASSIVE))
    listener.listen()
    print("listening", flush=True)
    cmid = listener.get_request()
    mr = cmid.reg_msgs(max(SIZES))
    cmid.post_recv(mr, max(SIZES))
    cmid.accept()
    for seed, size in enumerate(SIZES):
        wc, data = served(cmid, mr)
        check(wc, data, pattern(seed, size), f"message of {size}")
        cmid.post_recv(mr, max(SIZES))
        send(cmid, data[::-1])
    memory = cmid.reg_write(MEMORY_BYTES)
    readable = cmid.reg_read(MEMORY_BYTES)
    readable.write(pattern(50, MEMORY_BYTES), MEMORY_BYTES)
    for region in (memory, readable):
        send(cmid, struct.pack(INVITATION, region.buf, region.rkey))
    served(cmid, mr)
    check(None, memory.read(MEMORY_BYTES, 0), pattern(40, MEMORY_BYTES),
          "what was written")
    send(cmid, b"end")


def client(address, port):
    cmid = endpoint(AddrInfo(dst=address, dst_service=port,
                             port_space=cm_enums.RDMA_PS_TCP))
    mr = cmid.reg_msgs(max(SIZES))
    cmid.connect()
    for seed, size in enumerate(SIZES):
        cmid.post_recv(mr, max(SIZES))
        data = pattern(seed, size)
        send(cmid, data)
        wc, answer = served(cmid, mr)
        check(wc, answer, data[::-1], f"answer of {size}")
    regions = []
    cmid.post_recv(mr, max(SIZES))
    for _ in range(2):
        _, invitation = served(cmid, mr)
        regions.append(struct.unpack(INVITATION, invitation))
        cmid.post_recv(mr, max(SIZES))
    local = cmid.reg_msgs(MEMORY_BYTES)
    local.write(pattern(40, MEMORY_BYTES), MEMORY_BYTES)
    cmid.post_write(local, MEMORY_BYTES, *regions[0],
                    flags=enums.IBV_SEND_SIGNALED)
    check(cmid.get_send_comp(), b"", b"", "write")
    cmid.post_read(local, MEMORY_BYTES, *regions[1],
                   flags=enums.IBV_SEND_SIGNALED)
    check(cmid.get_send_comp(), local.read(MEMORY_BYTES, 0),
          pattern(50, MEMORY_BYTES), "read")
    send(cmid, b"written")
    served(cmid, mr)


if __name__ == "__main__":
    {"server": server, "client": client}[sys.argv[1]](*sys.argv[2:])
    print("done")
