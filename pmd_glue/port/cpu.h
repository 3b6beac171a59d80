/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_CPU_H
#define ROOST_PMD_GLUE_PORT_CPU_H

/* What DPDK and Roost want of the processor. Thread: any. */

#include <stdbool.h>

#define ROOST_CPU_NAMES_MAX 64

struct roost_cpu {
	bool is_known;  /* of an architecture whose features are looked for */
	bool runs_dpdk; /* it has all for which this DPDK was built */
	bool has_carryless_multiply; /* for checksums; or is not known */
	/* Names of features, separated by commas. */
	char has[ROOST_CPU_NAMES_MAX];
	char lacks[ROOST_CPU_NAMES_MAX];
};

void roost_cpu_read(struct roost_cpu *cpu);

#endif
