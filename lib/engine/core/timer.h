/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TIMER_H
#define ROOST_ENGINE_CORE_TIMER_H

/*
 * Timers of one worker: a hashed wheel with lazy moves.
 *
 * Retransmission timers are set for every burst and hardly ever fire, so
 * setting a later deadline only writes the deadline: the entry stays in its
 * slot and moves when the wheel gets there. DPDK's rte_timer is not used
 * because it reads the clock itself and is bound to lcores; here time is an
 * argument.
 *
 * Thread: the holder of the turn.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define ROOST_TIMER_TICK_SHIFT 13 /* 8.192 us */
#define ROOST_TIMER_SLOTS 8192u   /* one round: 67 ms */
#define ROOST_TIMER_TICK_BITS 48  /* 73 years */
#define ROOST_TIMER_TICK_MASK ((1ull << ROOST_TIMER_TICK_BITS) - 1)

struct roost_timer {
	LIST_ENTRY(roost_timer) link;
	uint64_t deadline_ns; /* UINT64_MAX: cancelled, may be in the wheel */
	uint64_t slot_tick
	    : ROOST_TIMER_TICK_BITS; /* where it is in the wheel */
	bool in_wheel;
	uint8_t kind; /* the owner's: which of its timers this is */
};

struct roost_timer_wheel {
	uint64_t tick; /* all ticks before this one were run */
	/* No slot before this tick is in use, so no search is needed until time
	 * reaches the tick. UINT64_MAX: no slot is in use.
	 */
	uint64_t idle_until_tick;
	uint32_t count;                        /* entries in the wheel */
	uint64_t used[ROOST_TIMER_SLOTS / 64]; /* bit set: slot not empty */
	LIST_HEAD(, roost_timer) slots[ROOST_TIMER_SLOTS];
};

void roost_timer_wheel_init(struct roost_timer_wheel *wheel, uint64_t now_ns);
/* Set or move; a deadline that has passed fires in the next run. */
void roost_timer_set(struct roost_timer_wheel *wheel, struct roost_timer *timer,
		     uint64_t deadline_ns);
/* Cancel a timer: it will not fire, but may stay in the wheel until its slot is
 * run.
 */
void roost_timer_cancel(struct roost_timer *timer);
/* Take a timer out of the wheel, before its memory is freed. */
void roost_timer_remove(struct roost_timer_wheel *wheel,
			struct roost_timer *timer);
static inline bool roost_timer_is_set(const struct roost_timer *timer)
{
	return timer->in_wheel && timer->deadline_ns != UINT64_MAX;
}
/*
 * Take one timer whose deadline is at or before now_ns out of the wheel.
 * Returns NULL when no such timer is left, or *left is 0. *left is decremented
 * for each timer that is taken out or moved in the wheel. Call until NULL.
 * Timers that remain because *left is 0 come first in the next call, and
 * roost_timer_wheel_next_ns() still counts them.
 */
struct roost_timer *roost_timer_wheel_expired(struct roost_timer_wheel *wheel,
					      uint64_t now_ns,
					      unsigned int *left);
/* Take cancelled timers out of the wheel that are before all others, and that
 * roost_timer_wheel_next_ns() would name before until_ns: a few of them.
 */
void roost_timer_wheel_drop_cancelled(struct roost_timer_wheel *wheel,
				      uint64_t until_ns);
/* No timer fires before this; UINT64_MAX: the wheel is empty. */
uint64_t roost_timer_wheel_next_ns(const struct roost_timer_wheel *wheel);

#endif
