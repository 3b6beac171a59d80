/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_NO_BURST_H
#define ROOST_TESTS_NO_BURST_H

/* The bursts of a port that neither receives nor sends. */

#include <stdint.h>

struct rte_mbuf;

static inline uint16_t no_burst(void *ctx, uint16_t queue,
				struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)queue;
	(void)pkts;
	(void)n;
	return 0;
}

#endif
