/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_SLEEP_H
#define ROOST_PMD_GLUE_CHANNEL_SLEEP_H

/*
 * When a sender has to wake a receiver. The word "sleeps" of a memory counts
 * the changes between awake (even) and asleep (odd), and each sender reads it
 * after it has published:
 *
 *   receiver                        sender
 *   sleeps = odd                    publish descriptors
 *   fence                           fence
 *   look at all rings once more     read sleeps: odd: ring the doorbell
 *   nothing: wait for a doorbell
 *
 * One of the two sees the store of the other one, so no wake-up is lost, and
 * while both poll there is no system call. A sender rings once for each odd
 * value. Hot: no system call, log or lock.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Before the receiver looks at its rings for the last time. It may then wait,
 * or call roost_shm_sleep_end() because it has found something. Thread: the
 * receiver's.
 */
static inline void roost_shm_sleep_begin(_Atomic uint64_t *sleeps)
{
	uint64_t word = atomic_load_explicit(sleeps, memory_order_relaxed);

	atomic_store_explicit(sleeps, word | 1, memory_order_relaxed);
	/* Pairs with the fence in roost_shm_must_ring(). */
	atomic_thread_fence(memory_order_seq_cst);
}

static inline void roost_shm_sleep_end(_Atomic uint64_t *sleeps)
{
	uint64_t word = atomic_load_explicit(sleeps, memory_order_relaxed);

	atomic_store_explicit(sleeps, (word | 1) + 1, memory_order_relaxed);
}

/* After descriptors were published: must this sender ring the receiver's
 * doorbell? *rung: the last value of the word for which it did, its own
 * variable, at first 0. The word is the peer's; whatever it is, at most one
 * ring comes from one call.
 */
static inline bool roost_shm_must_ring(const _Atomic uint64_t *sleeps,
				       uint64_t *rung)
{
	uint64_t word;

	/* Pairs with the fence in roost_shm_sleep_begin(). */
	atomic_thread_fence(memory_order_seq_cst);
	word = atomic_load_explicit(sleeps, memory_order_relaxed);
	if ((word & 1) == 0 || word == *rung)
		return false;
	*rung = word;
	return true;
}

#endif
