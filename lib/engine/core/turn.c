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
	uint32_t word =
		atomic_load_explicit(&w->turn.word, memory_order_relaxed);

	if (!(word & ROOST_TURN_FREE) ||
	    !atomic_compare_exchange_strong(&w->turn.word, &word,
					    word & ~ROOST_TURN_FREE))
		return false;
#ifndef RTE_ARCH_X86
	/* Pairs with the fence of roost_worker_turn_pass(). On x86 the exchange
	 * is one.
	 */
	atomic_thread_fence(memory_order_seq_cst);
#endif
	return true;
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

/*
 * Who passes has stored something before, and reads the word; who takes the
 * turn writes the word, and reads that something later. Both have a full
 * barrier in between: either the turn is seen here, or the store is seen there.
 */
bool roost_worker_turn_pass(struct roost_worker *w, uint64_t until_ns,
			    uint64_t (*clock_ns)(void))
{
	unsigned int tries = 0;
	uint32_t word;

	atomic_thread_fence(memory_order_seq_cst);
	word = atomic_load_explicit(&w->turn.word, memory_order_acquire);
	if (word & ROOST_TURN_FREE)
		return true;
	while (atomic_load_explicit(&w->turn.word, memory_order_acquire) ==
	       word) {
		if (clock_ns && clock_ns() > until_ns)
			return false;
		wait_for_turn(tries++);
	}
	return true;
}

void roost_worker_turn_leave(struct roost_worker *w)
{
	/* Nobody else writes it meanwhile: it is free, and one more ended. */
	uint32_t word =
		atomic_load_explicit(&w->turn.word, memory_order_relaxed);

	atomic_store_explicit(&w->turn.word, word + 2 + ROOST_TURN_FREE,
			      memory_order_release);
}

bool roost_worker_turn_wanted(const struct roost_worker *w)
{
	return atomic_load_explicit(&w->turn.wanted, memory_order_relaxed) != 0;
}
