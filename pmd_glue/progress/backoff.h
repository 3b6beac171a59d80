/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_BACKOFF_H
#define ROOST_PMD_GLUE_PROGRESS_BACKOFF_H

/*
 * How a thread that polls a worker in a loop gives its CPU to others (part of a
 * progress engine). The holder of the turn may need this CPU. sched_yield()
 * gives the CPU to no thread of a lower priority: a polling thread of real-time
 * priority would wait for ever for a holder that it preempted. So a real-time
 * thread sleeps after a number of yields, but only if the worker's clock has
 * not changed since its first yield: then no iteration ran, and the thread
 * misses nothing. Other threads only yield: when many threads polled on few
 * CPUs, workers that slept starved QPs until their retries were used up.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "pmd_glue/progress/fast_clock.h"

#define ROOST_BACKOFF_SLEEP_NS 50000

/* Belongs to one thread. Zero-filled at first. */
struct roost_backoff {
	uint64_t seen_ns;    /* the worker's clock at the first yield */
	unsigned int yields; /* since the clock last changed */
	unsigned int misses; /* polls without work since the last yield; the
			      * caller counts them */
};

/* Is the calling thread of a real-time class? Then its yields give the CPU to
 * no thread of a lower priority.
 */
static inline bool roost_backoff_is_realtime(void)
{
	int policy = sched_getscheduler(0);

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Yield; a real-time thread sleeps for ROOST_BACKOFF_SLEEP_NS instead. Returns
 * true if the thread slept.
 */
static inline bool roost_backoff_sleep(void)
{
	const struct timespec time = { .tv_nsec = ROOST_BACKOFF_SLEEP_NS };

	if (!roost_backoff_is_realtime()) {
		sched_yield();
		return false;
	}
	nanosleep(&time, NULL);
	return true;
}

/* Yield; after yields_max yields during which clock did not change, nap. clock:
 * the worker's, which each iteration reads.
 */
static inline void roost_backoff_wait(struct roost_backoff *p,
				      const struct roost_fast_clock *clock,
				      unsigned int yields_max)
{
	uint64_t now_ns = roost_fast_clock_last_ns(clock);

	if (now_ns != p->seen_ns)
		*p = (struct roost_backoff){ .seen_ns = now_ns };
	if (p->yields++ < yields_max)
		sched_yield();
	else if (!roost_backoff_sleep())
		p->yields = 0;
}

#endif
