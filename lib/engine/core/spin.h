/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SPIN_H
#define ROOST_ENGINE_CORE_SPIN_H

/*
 * The lock of one queue, held for the length of one post or poll by
 * application threads, and that of a QP's modify. Unlocking is a plain store,
 * where a mutex needs a second locked instruction; a waiter gives its slice
 * away after a while, because the holder may be off the CPU. It sleeps where
 * that does not help: a thread of real-time priority yields to its equals only.
 */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include <rte_pause.h>

struct roost_spin {
	atomic_flag held;
};

#define ROOST_SPIN_INIT                                                        \
	{                                                                      \
		ATOMIC_FLAG_INIT                                               \
	}

#define ROOST_SPIN_PAUSES 256u
#define ROOST_SPIN_YIELDS 64u
#define ROOST_SPIN_NAP_NS 20000

static inline void roost_spin_wait(unsigned int tries)
{
	const struct timespec nap = { .tv_nsec = ROOST_SPIN_NAP_NS };

	if (tries < ROOST_SPIN_PAUSES)
		rte_pause();
	else if (tries < ROOST_SPIN_PAUSES + ROOST_SPIN_YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* Take it if it is free. */
static inline bool roost_spin_try(struct roost_spin *s)
{
	return !atomic_flag_test_and_set_explicit(&s->held,
						  memory_order_acquire);
}

static inline void roost_spin_lock(struct roost_spin *s)
{
	unsigned int tries = 0;

	while (!roost_spin_try(s))
		roost_spin_wait(++tries);
}

static inline void roost_spin_unlock(struct roost_spin *s)
{
	atomic_flag_clear_explicit(&s->held, memory_order_release);
}

#endif
