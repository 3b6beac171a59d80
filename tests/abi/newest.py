# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""libibverbs and librdmacm compile with the headers of rdma-core 64 as with
those of 44: no warning, and the static assertions of layouts hold.

The headers are the installed ones with what was added to them since. The names
and versions of symbols are strings in the sources and maps: headers change none
of them (lists.py has them).
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import tempfile

INCLUDE = "/usr/include"
SOURCES = ("lib/verbs/", "cm/rdmacm/")
# {header: (a name, where it is added, what)}: not where the name is there
ADDED = {
    "infiniband/verbs.h": (
        ("active_speed_ex", r"uint16_t\s+port_cap_flags2;",
         "uint32_t active_speed_ex;"),
        ("IBV_EVENT_DEVICE_SPEED_CHANGE", r"IBV_EVENT_WQ_FATAL,",
         "IBV_EVENT_DEVICE_SPEED_CHANGE,"),
        ("IBV_WC_FLUSH", r"IBV_WC_TSO,", "IBV_WC_FLUSH = 8,"),
        ("IBV_WR_FLUSH", r"IBV_WR_DRIVER1,", "IBV_WR_FLUSH = 14,"),
        ("IBV_ACCESS_FLUSH_GLOBAL", r"enum ibv_access_flags \{",
         "IBV_ACCESS_FLUSH_GLOBAL = 1 << 8,"
         " IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9,"),
        ("IBV_QP_EX_WITH_FLUSH", r"IBV_QP_EX_WITH_BIND_MW\s*= 1 << \d+,",
         "IBV_QP_EX_WITH_FLUSH = 1 << 11,"),
        ("wr_flush", r"\(\*wr_atomic_write\)[^;]*;",
         "void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,"
         " uint64_t remote_addr, size_t len, uint8_t type, uint8_t level);"),
        ("ibv_reg_mr_ex", r"struct ibv_device;",
         "struct ibv_context; struct ibv_pd; struct ibv_dmah; struct ibv_buf;"
         " struct ibv_mr_init_attr { size_t length; int access;"
         " uint64_t comp_mask; uint64_t iova; void *addr; int fd;"
         " uint64_t fd_offset; struct ibv_dmah *dmah; struct ibv_buf *buf; };"
         " struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd,"
         " struct ibv_mr_init_attr *attr);"
         " void *ibv_alloc_buf(struct ibv_pd *pd, size_t size,"
         " struct ibv_buf **buf);"
         " int ibv_query_port_speed(struct ibv_context *context,"
         " uint32_t port_num, uint64_t *port_speed);"),
        ("(*query_port_speed)", r'/\*  "grows up"[^/]*/',
         "int (*query_port_speed)(struct ibv_context *context,"
         " uint32_t port_num, uint64_t *port_speed);"
         " struct ibv_mr *(*reg_mr_ex)(struct ibv_pd *pd,"
         " struct ibv_mr_init_attr *attr);"),
    ),
    "rdma/rdma_cma.h": (
        ("RDMA_CM_EVENT_INTERNAL", r"RDMA_CM_EVENT_TIMEWAIT_EXIT",
         ", RDMA_CM_EVENT_ADDRINFO_RESOLVED, RDMA_CM_EVENT_ADDRINFO_ERROR,"
         " RDMA_CM_EVENT_USER, RDMA_CM_EVENT_INTERNAL"),
        ("arg;", r"struct rdma_ud_param\s+ud;", "uint64_t arg;"),
        ("RAI_DNS", r"#define RAI_FAMILY\s+\w+",
         "\n#define RAI_SA 0x10\n#define RAI_DNS 0x20"),
        ("rdma_write_cm_event", r"int rdma_ack_cm_event\([^;]*;",
         "int rdma_write_cm_event(struct rdma_cm_id *id,"
         " enum rdma_cm_event_type event, int status, uint64_t arg);"
         " int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,"
         " const char *service, const struct rdma_addrinfo *hints);"
         " int rdma_query_addrinfo(struct rdma_cm_id *id,"
         " struct rdma_addrinfo **info);"),
    ),
}
# Headers with which a file must not compile: (file, header, a line, instead)
SAMPLES = (
    ("lib/verbs/qp_ex.c", "infiniband/verbs.h",
     "\tvoid (*wr_abort)(struct ibv_qp_ex *qp);",
     "\tvoid (*wr_abort)(struct ibv_qp_ex *qp); uint64_t moved;"),
    ("cm/rdmacm/channel.c", "rdma/rdma_cma.h",
     "enum rdma_cm_event_type event, int status,",
     "enum rdma_cm_event_type event, long status,"),
)


def write(folder):
    """The headers, in folder. Returns {header: text}."""
    texts = {}
    for header, rows in ADDED.items():
        with open(os.path.join(INCLUDE, header), encoding="utf-8") as file:
            text = file.read()
        for name, where, what in rows:
            if name in text:
                continue
            text, count = re.subn(
                where, lambda found, what=what: f"{found.group()} {what}",
                text, count=1)
            if not count:
                raise ValueError(f"{header}: no place for {name}")
        texts[header] = text
    put(folder, texts)
    return texts


def put(folder, texts):
    for header, text in texts.items():
        path = os.path.join(folder, header)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def commands(build):
    """{source: how the build compiles it, but for its output}."""
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as file:
        rows = json.load(file)
    found = {}
    for row in rows:
        source = os.path.relpath(os.path.join(build, row["file"]),
                                 os.path.dirname(build))
        words = shlex.split(row["command"])
        if source.startswith(SOURCES) and "-c" in words:
            found[source] = [word for word in words[:words.index("-MD")]
                             if word != "ccache"] + [row["file"]]
    return found


def errors(build, command, folder):
    done = subprocess.run(
        [*command, "-fsyntax-only", "-Werror", f"-I{folder}"], cwd=build,
        capture_output=True, text=True)
    return [line for line in done.stderr.splitlines()
            if "error:" in line] or ["it crashed"] * (done.returncode != 0)


def wrong_samples(build, compile_commands, texts):
    for source, header, line, instead in SAMPLES:
        with tempfile.TemporaryDirectory(prefix="roost-abi-") as folder:
            changed = texts[header].replace(line, instead)
            put(folder, {**texts, header: changed})
            if changed == texts[header] or \
                    not errors(build, compile_commands[source], folder):
                yield f"{source} compiles with {instead.strip()}"


def wrong(build):
    all_commands = commands(build)
    with tempfile.TemporaryDirectory(prefix="roost-abi-") as folder:
        texts = write(folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(
                lambda command: errors(build, command, folder),
                all_commands.values()))
    return [*wrong_samples(build, all_commands, texts),
            *(line for lines in found for line in lines)]


def checks(build):
    return [("compiles with the headers of rdma-core 64", wrong(build))]
