# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What a process holds, and whether that is the same after a long time.

It is looked at while the process rests: no session, no stream, and nothing of
the connection manager's in timewait. What is counted is then the same each
time, and what is in bytes nearly so.
"""

import json
import os

# How much more there may be at the end than after the warm-up.
BOUNDS = {
    "rss_kib": 8192,
    "malloc_bytes": 8 << 10,
    "dpdk_bytes": 64 << 10,
    "mbufs": 512,  # the caches of threads
    "fds": 0,
    "threads": 0,
    "contexts": 0,
    "qp_count": 0,
    "cq_count": 0,
    "srq_count": 0,
    "mr_count": 0,
    "mw_count": 0,
}
# What the sanitizers keep of what was freed, and their tables; they fill up.
SANITIZED_RSS_KIB = 48 << 10


def of_kernel(pid):
    with open(f"/proc/{pid}/statm") as file:
        pages = int(file.read().split()[1])
    return {"rss_kib": pages * os.sysconf("SC_PAGESIZE") // 1024,
            "fds": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task"))}


def of_devices(text):
    """roost ctl -j show device; sums over the devices."""
    sums = {}
    for device in json.loads(text)["devices"]:
        for key, value in device.items():
            if key in BOUNDS:
                sums[key] = sums.get(key, 0) + value
    return sums


def smallest(samples):
    """Of each, the least: what is there whatever goes on."""
    return {key: min(sample[key] for sample in samples)
            for key in BOUNDS if all(key in sample for sample in samples)}


def grown(first, last, sanitized):
    """What is more than it may be, in words."""
    words = []
    for key, bound in BOUNDS.items():
        if key == "rss_kib" and sanitized:
            bound = SANITIZED_RSS_KIB
        if key in first and key in last and last[key] - first[key] > bound:
            words.append(f"{key} {first[key]} -> {last[key]}")
    return words
