/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_PATIENCE_H
#define ROOST_PMD_GLUE_CHANNEL_PATIENCE_H

/*
 * How long a sender waits for one of several receivers whose ring is full.
 * Meanwhile it waits with all frames behind, also those for others. So it waits
 * for patience_ns at most beyond what a receiver needs that consumes a frame in
 * 31 us; of what a receiver has spent, it gets back an eighth of the time that
 * goes by. Hot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/channel/channel.h"

#define ROOST_SHM_PATIENCE_BACK 8u
#define ROOST_SHM_FRAME_NS (1000000u / ROOST_SHM_PROGRESS_PKTS)

/* Zero-filled at first. */
struct roost_shm_patience {
	uint64_t since_ns; /* its ring was full then; 0: it has room */
	uint64_t full_ns;  /* and still, when a sender last looked */
	uint32_t consumed; /* frames that it had consumed at since_ns */
	uint64_t spent_ns; /* as of spent_at_ns */
	uint64_t spent_at_ns;
};

/* Several senders do not have one time: that of another one may be later. */
static inline uint64_t roost_shm_past_ns(uint64_t from_ns, uint64_t now_ns)
{
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

static inline uint64_t
roost_shm_patience_spent_ns(const struct roost_shm_patience *p, uint64_t now_ns)
{
	return roost_shm_past_ns(roost_shm_past_ns(p->spent_at_ns, now_ns) /
					 ROOST_SHM_PATIENCE_BACK,
				 p->spent_ns);
}

/* Its ring was full until full_ns, and has moved on; since_ns is not 0. */
static inline void roost_shm_patience_spend(struct roost_shm_patience *p,
					    uint64_t patience_ns,
					    uint32_t consumed, uint64_t now_ns)
{
	const uint64_t free_ns =
		(uint64_t)(consumed - p->consumed) * ROOST_SHM_FRAME_NS;
	const uint64_t ns =
		roost_shm_patience_spent_ns(p, now_ns) +
		roost_shm_past_ns(free_ns,
				  roost_shm_past_ns(p->since_ns, p->full_ns));

	p->spent_ns = ns < patience_ns ? ns : patience_ns;
	p->spent_at_ns = now_ns;
	p->since_ns = 0;
}

/* Its ring is full, and it has consumed so many frames in all. False: it is
 * waited for no more, and loses the frame.
 */
static inline bool roost_shm_is_waited_for(struct roost_shm_patience *p,
					   uint64_t patience_ns,
					   uint32_t consumed, uint64_t now_ns)
{
	if (p->since_ns != 0 && consumed != p->consumed)
		roost_shm_patience_spend(p, patience_ns, consumed, now_ns);
	if (p->since_ns == 0) {
		p->since_ns = now_ns;
		p->consumed = consumed;
	}
	p->full_ns = now_ns;
	return roost_shm_patience_spent_ns(p, now_ns) +
		       roost_shm_past_ns(p->since_ns, now_ns) <
	       patience_ns;
}

#endif
