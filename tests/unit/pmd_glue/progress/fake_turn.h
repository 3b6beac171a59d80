/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_PMD_GLUE_FAKE_TURN_H
#define TESTS_UNIT_PMD_GLUE_FAKE_TURN_H

/*
 * The turn of a worker that a test plays. Which thread has the processor, and
 * when, is the machine's to say: what only the test's thread may do is asked
 * for while the progress engine's is barred.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fake_turn {
	pthread_mutex_t lock;
	pthread_t test_thread;
	atomic_bool barred; /* the progress engine's thread */
};

static inline void fake_turn_init(struct fake_turn *turn)
{
	pthread_mutex_init(&turn->lock, NULL);
	turn->test_thread = pthread_self();
	atomic_store(&turn->barred, false);
}

static inline bool fake_turn_is_test(const struct fake_turn *turn)
{
	return pthread_equal(pthread_self(), turn->test_thread);
}

static inline bool fake_turn_try(struct fake_turn *turn)
{
	if (atomic_load(&turn->barred) && !fake_turn_is_test(turn))
		return false;
	return pthread_mutex_trylock(&turn->lock) == 0;
}

/* From now on the turn is the test's alone. */
static inline void fake_turn_bar(struct fake_turn *turn)
{
	atomic_store(&turn->barred, true);
	pthread_mutex_lock(&turn->lock); /* the thread's last one is over */
	pthread_mutex_unlock(&turn->lock);
}

#endif
