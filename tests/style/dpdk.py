# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The tree compiles with the names of DPDK 24.11: each file that has a name
which changed since 22.11 is compiled behind dpdk_24_11.h, which says how."""

import concurrent.futures
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = os.path.join(HERE, "dpdk_24_11.h")
FOLDERS = ("lib/", "cm/", "pmd_glue/", "apps/")
RENAMED = r"rte_ipv6_|rte_tel_data_\w+_u?int|RTE_TEL_UINT_VAL|RTE_VERSION"
# (text, does it compile)
SAMPLES = (
    ("void f(struct rte_tel_data *d) { rte_tel_data_add_array_uint(d, 1); }\n",
     True),
    ("void f(struct rte_tel_data *d) { rte_tel_data_add_array_u64(d, 1); }\n",
     False),
    ("uint8_t f(struct rte_ipv6_hdr *h) { return h->src_addr[0]; }\n", False),
    ("void f(pthread_t t) { rte_thread_setname(t, 0); }\n", False),
)


def changed():
    """A pattern of the names that a file may have and that changed."""
    with open(SHIM, encoding="utf-8") as file:
        poisoned = re.findall(r"^#pragma GCC poison (.*)", file.read(), re.M)
    return re.compile(rf"\b(?:{'|'.join(' '.join(poisoned).split())})\b|"
                      rf"\b(?:{RENAMED})")


def flags():
    """Of the compiler, for DPDK's headers. None: DPDK is later than 22.11, or
    is not there."""
    done = subprocess.run(["pkg-config", "--cflags", "libdpdk < 23"],
                          text=True, capture_output=True)
    return done.stdout.split() if done.returncode == 0 else None


def errors(cflags, folder, name, text=None):
    done = subprocess.run(
        ["gcc", "-fsyntax-only", "-std=gnu17", "-D_GNU_SOURCE", f"-I{folder}",
         f"-I{folder}/lib/include", "-I/usr/include/libnl3", *cflags,
         "-include", SHIM, "-x", "c", name], input=text, cwd=folder,
        capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line]


def checks(tree, folder):
    """tree: {path: text} below folder."""
    cflags = flags()
    if cflags is None:
        return [("dpdk 24.11", [])]
    names = changed()
    paths = [path for path, text in sorted(tree.items())
             if path.startswith(FOLDERS) and path.endswith(".c") and
             names.search(text)]
    wrong = [f"sample: {text.strip()}" for text, right in SAMPLES
             if right == bool(errors(cflags, folder, "-", text))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda path: errors(cflags, folder, path), paths):
            wrong += lines
    return [("dpdk 24.11", wrong)]
