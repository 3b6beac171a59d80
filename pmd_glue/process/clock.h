/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_CLOCK_H
#define ROOST_PMD_GLUE_PROCESS_CLOCK_H

/* The one clock that pmd_glue reads: monotonic, in ns. Thread: any. */

#include <stdint.h>
#include <time.h>

static inline uint64_t roost_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
