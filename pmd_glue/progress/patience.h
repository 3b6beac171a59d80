/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_PATIENCE_H
#define ROOST_PMD_GLUE_PROGRESS_PATIENCE_H

/*
 * How a thread gives its CPU away that looks at a worker again and again (part
 * of a progress engine). Whoever has the turn may need this very CPU, and to
 * yield gives it to no thread of a lower priority: a poller of real-time
 * priority would wait for ever for the one that it preempted. So such a thread
 * sleeps, but only where the worker's time has stood still since it yielded for
 * the first time: then there is nothing that it could miss. Ordinary threads go
 * on yielding: where many spin on few CPUs, sleeping workers were seen to
 * starve QPs until their retries were spent.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "pmd_glue/progress/fast_clock.h"

#define ROOST_PATIENCE_NAP_NS 50000

/* The thread's own; zeros at first. */
struct roost_patience {
	uint64_t seen_ns; /* the worker's time then */
	unsigned int yields;
	unsigned int misses; /* looks since then, where the user counts them */
};

/* Only such a thread is in the way of others though it yields. */
static inline bool roost_patience_is_realtime(void)
{
	int policy = sched_getscheduler(0);

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Yield, or what it takes instead. Returns true if the thread slept. */
static inline bool roost_patience_nap(void)
{
	const struct timespec time = { .tv_nsec = ROOST_PATIENCE_NAP_NS };

	if (!roost_patience_is_realtime()) {
		sched_yield();
		return false;
	}
	nanosleep(&time, NULL);
	return true;
}

/* clock is the worker's, which it reads in each turn. */
static inline void roost_patience_lose(struct roost_patience *p,
				       const struct roost_fast_clock *clock,
				       unsigned int yields_max)
{
	uint64_t now_ns = roost_fast_clock_last_ns(clock);

	if (now_ns != p->seen_ns)
		*p = (struct roost_patience){ .seen_ns = now_ns };
	if (p->yields++ < yields_max)
		sched_yield();
	else if (!roost_patience_nap())
		p->yields = 0;
}

#endif
