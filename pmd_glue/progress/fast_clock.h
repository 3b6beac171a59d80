/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_FAST_CLOCK_H
#define ROOST_PMD_GLUE_PROGRESS_FAST_CLOCK_H

/*
 * roost_now_ns() for those who ask for it all the time.
 *
 * The kernel's clock is read with an instruction that waits for all those
 * before it, and in a worker these are loads from the other end's memory: it
 * was half of what an iteration cost. Here it is read five thousand times a
 * second, and in between time is that reading and the processor's counter. How
 * long a tick is, the clock finds out as it goes; it is never more than a
 * fraction of a microsecond from the kernel's, and never runs backwards.
 *
 * Where the counter is not known to run evenly, each reading is the kernel's.
 *
 * Thread: one at a time; an iteration's clock belongs to the holder of the
 * turn.
 */

#include <stdint.h>

#include <rte_cycles.h>

enum roost_counter {
	ROOST_COUNTER_UNKNOWN,
	ROOST_COUNTER_EVEN,
	ROOST_COUNTER_UNEVEN,
};

struct roost_fast_clock {
	uint64_t ticks, ns;           /* the last reading of both */
	uint64_t good_ticks;          /* so far from there it can be trusted */
	uint64_t ns_per_tick;         /* << 32; 0: not known */
	uint64_t base_ticks, base_ns; /* an older reading, to measure by; 0:
				       * none */
	uint64_t last_ns;             /* that was returned; any thread may
				       * look whether it moves */
	uint8_t counter;              /* enum roost_counter */
};

/* Read the kernel's clock, and go on from there. */
uint64_t roost_fast_clock_anchor(struct roost_fast_clock *clock);

/* All zeros is a clock that was never read. */
static inline uint64_t roost_fast_clock_ns(struct roost_fast_clock *clock)
{
	uint64_t past = rte_rdtsc() - clock->ticks;
	uint64_t ns;

	if (past >= clock->good_ticks)
		return roost_fast_clock_anchor(clock);
	ns = clock->ns + (past * clock->ns_per_tick >> 32);
	if (ns > clock->last_ns)
		__atomic_store_n(&clock->last_ns, ns, __ATOMIC_RELAXED);
	return clock->last_ns;
}

/* What was returned last. Thread: any, beside the one whose clock it is. */
static inline uint64_t
roost_fast_clock_last_ns(const struct roost_fast_clock *clock)
{
	return __atomic_load_n(&clock->last_ns, __ATOMIC_RELAXED);
}

#endif
