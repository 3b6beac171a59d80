/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_CROWDED_H
#define ROOST_PMD_GLUE_PROGRESS_CROWDED_H

/*
 * Should the worker's thread leave its CPU to the others that run there? (Part
 * of a progress engine.)
 *
 * The kernel wakes a thread on the CPU of the thread that wakes it where it
 * takes all others for busy, which it finds out seldom. A sender and the thread
 * that receives from it then sleep and wake in turn, on one CPU, beside an idle
 * one, for tens of milliseconds: the whole of a short transfer.
 *
 * So while there is traffic, the thread looks once per millisecond how long it
 * was ready and had no CPU. If that was more than a part of the time, it should
 * move, if it can (roost_place_leave()). Where it cannot, or moves do not
 * help, that takes time: each one doubles the time until the next, and each
 * look that finds the thread alone halves it. That time is not the same for
 * two workers, or they would follow each other from one CPU to the other.
 */

#include <stdbool.h>
#include <stdint.h>

#define ROOST_CROWDED_LOOK_NS 1000000u
/* Crowded: it waited for more than 1 / SHARE of the time. */
#define ROOST_CROWDED_SHARE 4u
/* A longer time since the last look was not all traffic. */
#define ROOST_CROWDED_STALE_NS (4 * ROOST_CROWDED_LOOK_NS)
#define ROOST_CROWDED_MOVE_MAX_NS (64 * ROOST_CROWDED_LOOK_NS)

/* Belongs to one thread. Zero-filled at first. */
struct roost_crowded {
	uint64_t looked_ns; /* the last look */
	uint64_t waited_ns; /* how long the thread had waited then */
	uint64_t look_ns;   /* the next look */
	uint64_t move_ns;   /* from one move to the next; 0: the least */
};

static inline bool roost_crowded_is_due(const struct roost_crowded *p,
					uint64_t now_ns)
{
	return now_ns >= p->look_ns;
}

/* A look. waited_ns: how long the thread was ready and had no CPU, since it
 * began. Returns true if it should move now.
 */
static inline bool roost_crowded_look(struct roost_crowded *p, uint64_t now_ns,
				      uint64_t waited_ns)
{
	const uint64_t past_ns = now_ns - p->looked_ns;
	const uint64_t new_ns = waited_ns - p->waited_ns;

	p->looked_ns = now_ns;
	p->waited_ns = waited_ns;
	p->look_ns = now_ns + ROOST_CROWDED_LOOK_NS;
	/* More than the time: it lost the CPU between the two readings. */
	if (past_ns > ROOST_CROWDED_STALE_NS || new_ns > past_ns)
		return false;
	if (new_ns * ROOST_CROWDED_SHARE <= past_ns) {
		p->move_ns /= 2;
		return false;
	}
	if (p->move_ns < ROOST_CROWDED_LOOK_NS)
		p->move_ns = ROOST_CROWDED_LOOK_NS;
	p->look_ns = now_ns + p->move_ns + waited_ns % p->move_ns;
	if (p->move_ns < ROOST_CROWDED_MOVE_MAX_NS)
		p->move_ns *= 2;
	return true;
}

#endif
