/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_FAST_CLOCK_H
#define ROOST_PMD_GLUE_PROGRESS_FAST_CLOCK_H

/*
 * roost_now_ns() for code that reads the time in each iteration.
 *
 * clock_gettime() reads the counter with an instruction that waits for all
 * earlier loads. In a worker these are loads from the peer's memory, and the
 * call was half of the cost of an iteration. This clock reads the kernel's
 * clock about five thousand times a second, and adds the ticks of the
 * processor's counter in between. It measures the length of a tick itself. It
 * differs from the kernel's clock by a fraction of a microsecond at most, and
 * never runs backwards.
 *
 * If the counter is not known to run at a constant rate, each call reads the
 * kernel's clock.
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
	uint64_t ticks, ns;           /* the last reading of both clocks */
	uint64_t good_ticks;          /* ticks for which it is valid */
	uint64_t ns_per_tick;         /* << 32; 0: not known */
	uint64_t base_ticks, base_ns; /* an older reading, to measure a tick
				       * by; 0: none */
	uint64_t last_ns;             /* the last value returned; read by any
				       * thread, to see whether it changes */
	uint8_t counter;              /* enum roost_counter */
};

/* Read the kernel's clock and start from that reading. Returns the time. */
uint64_t roost_fast_clock_anchor(struct roost_fast_clock *clock);

/* The time in ns. A zero-filled clock is valid: it was never read. */
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

/* The last value that roost_fast_clock_ns() returned. Thread: any, also while
 * the clock's owner reads the clock.
 */
static inline uint64_t
roost_fast_clock_last_ns(const struct roost_fast_clock *clock)
{
	return __atomic_load_n(&clock->last_ns, __ATOMIC_RELAXED);
}

#endif
