/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pmd_glue/progress/fast_clock.h"

#include <stdbool.h>

#include <rte_cpuflags.h>

#include "pmd_glue/process/clock.h"

/* Ticks between two readings of the kernel's clock: 0.1 to 0.3 ms; up to 20 ms
 * with slow counters, such as Arm's.
 */
#define GOOD_TICKS (1u << 19)
/* A reading that took longer was interrupted: the two clocks do not match. */
#define READING_MAX_TICKS 1024u
/* The shortest and the longest time over which the tick is measured. */
#define BASE_MIN_NS 1000000u
#define BASE_MAX_NS 1000000000u
/* The rate of the counter may change by 1 / PACE_SLACK. With a larger change
 * the counter was stopped or set, as when the machine slept.
 */
#define PACE_SLACK 256u

static enum roost_counter ask_processor(void)
{
#ifdef RTE_ARCH_X86
	if (rte_cpu_get_flag_enabled(RTE_CPUFLAG_INVTSC) <= 0)
		return ROOST_COUNTER_UNEVEN;
#endif
	return ROOST_COUNTER_EVEN;
}

/* The processor is asked once: in a virtual machine, CPUID exits to the host.
 */
static bool counter_is_even(struct roost_fast_clock *c)
{
	if (c->counter == ROOST_COUNTER_UNKNOWN)
		c->counter = (uint8_t)ask_processor();
	return c->counter == ROOST_COUNTER_EVEN;
}

static void start_over(struct roost_fast_clock *c, uint64_t ticks, uint64_t ns)
{
	c->ns_per_tick = 0;
	c->base_ticks = ticks;
	c->base_ns = ns;
}

/* Measure the length of a tick, from the base to this reading. */
static void measure(struct roost_fast_clock *c, uint64_t ticks, uint64_t ns)
{
	uint64_t base_ns = ns - c->base_ns;
	uint64_t pace, off;

	if (base_ns < BASE_MIN_NS)
		return;
	if (c->base_ns == 0 || base_ns > BASE_MAX_NS ||
	    ticks <= c->base_ticks) {
		start_over(c, ticks, ns);
		return;
	}
	pace = (base_ns << 32) / (ticks - c->base_ticks);
	off = pace > c->ns_per_tick ? pace - c->ns_per_tick
				    : c->ns_per_tick - pace;
	if (c->ns_per_tick != 0 && off > pace / PACE_SLACK) {
		start_over(c, ticks, ns);
		return;
	}
	c->ns_per_tick = pace;
	if (base_ns > BASE_MAX_NS / 2) {
		c->base_ticks = ticks;
		c->base_ns = ns;
	}
}

uint64_t roost_fast_clock_anchor(struct roost_fast_clock *c)
{
	uint64_t before = rte_rdtsc();
	uint64_t ns = roost_now_ns();
	uint64_t took = rte_rdtsc() - before;

	c->good_ticks = 0;
	if (counter_is_even(c) && took < READING_MAX_TICKS) {
		c->ticks = before + took / 2;
		c->ns = ns;
		measure(c, c->ticks, ns);
		if (c->ns_per_tick != 0)
			c->good_ticks = GOOD_TICKS;
	}
	if (ns > c->last_ns)
		__atomic_store_n(&c->last_ns, ns, __ATOMIC_RELAXED);
	return c->last_ns;
}
