/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PROBE_H
#define ROOST_ENGINE_CORE_PROBE_H

/*
 * Static probes (USDT) of the provider "roost", for bpftrace, perf and gdb. A
 * probe is a nop and a note in the ELF file; its arguments are where the code
 * has them already. doc/probes.md lists the probes and their arguments.
 *
 * Without <sys/sdt.h> (systemtap-sdt-dev) at build time there are none.
 */

#ifdef ROOST_HAS_SDT
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

#define ROOST_PROBE(name, ...) STAP_PROBEV(roost, name, ##__VA_ARGS__)
#else
#define ROOST_PROBE(name, ...) ((void)0)
#endif

#endif
