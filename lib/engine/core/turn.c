/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: the right to be the worker. doc/threads.md, "The turn is one word", says
 * why release needs no more than a plain store.
 */

#include <sched.h>
#include <time.h>

#include <rte_pause.h>

#include "lib/engine/core/worker_base.h"

/* How a thread waits for the turn: first spins, then yields, then naps. */
#define TAKE_SPINS 64u
#define TAKE_YIELDS 64u
#define TAKE_NAP_NS 20000

bool roost_worker_turn_try(struct roost_worker *w)
{
	/* Read first: a failed attempt then does not take the cache line from
	 * the holder.
	 */
	return atomic_load_explicit(&w->turn.is_free, memory_order_relaxed) &&
	       atomic_exchange_explicit(&w->turn.is_free, false,
					memory_order_acquire);
}

/* Turns are short, unless the holder is off its processor. */
static void wait_for_turn(unsigned int tries)
{
	const struct timespec nap = { .tv_nsec = TAKE_NAP_NS };

	if (tries < TAKE_SPINS)
		rte_pause();
	else if (tries < TAKE_SPINS + TAKE_YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

void roost_worker_turn_take(struct roost_worker *w)
{
	unsigned int tries = 0;

	atomic_fetch_add(&w->turn.wanted, 1);
	while (!roost_worker_turn_try(w))
		wait_for_turn(tries++);
	atomic_fetch_sub(&w->turn.wanted, 1);
}

bool roost_worker_turn_pass(struct roost_worker *w, uint64_t until_ns,
			    uint64_t (*clock_ns)(void))
{
	unsigned int tries = 0;
	bool over;

	atomic_fetch_add(&w->turn.wanted, 1);
	while (!(over = roost_worker_turn_try(w)) && clock_ns() <= until_ns)
		wait_for_turn(tries++);
	atomic_fetch_sub(&w->turn.wanted, 1);
	if (over)
		roost_worker_turn_leave(w);
	return over;
}

void roost_worker_turn_leave(struct roost_worker *w)
{
	atomic_store_explicit(&w->turn.is_free, true, memory_order_release);
}

bool roost_worker_turn_wanted(const struct roost_worker *w)
{
	return atomic_load_explicit(&w->turn.wanted, memory_order_relaxed) != 0;
}
