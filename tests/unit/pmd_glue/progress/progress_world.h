/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_PMD_GLUE_PROGRESS_WORLD_H
#define TESTS_UNIT_PMD_GLUE_PROGRESS_WORLD_H

/*
 * A progress engine whose worker has no engine: the test says what it finds to
 * do. It is linked with these functions instead of lib/engine's. Rates are
 * asked of one of many windows: which thread has the processor is the machine's
 * to say.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/progress.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/progress/fake_turn.h"

#define US 1000ull
#define MS (1000 * US)

struct roost_worker {
	struct fake_turn turn;
	atomic_uint tries; /* for the turn, by the progress engine's thread */
	atomic_uint iterations; /* by whom ever */
	atomic_uint work;       /* what each finds */
	atomic_bool wakes;      /* the next iteration wakes a thread */
	atomic_bool has_work;
	atomic_bool has_left;
	unsigned int looped; /* iterations that find looped frames */
	atomic_bool wanted;
	_Atomic uint64_t deadline_ns;
	_Atomic uint64_t last_ns; /* when an iteration was */
};

extern struct roost_worker world_worker;
extern struct roost_progress *world_progress;

/* What became of a post. */
struct world_posted {
	unsigned int rung, in_turn, sends;
	unsigned int iterations; /* before it */
};
extern struct world_posted world_posted;

void world_start(enum roost_progress_mode mode,
		 const struct roost_progress_rx *rx);
/* Yields, by whom ever. */
extern atomic_uint world_yields;
/* Yields of the calling thread. */
extern _Thread_local unsigned int world_own_yields;
/* Handlers of faults are there, and threads that were told. */
extern bool world_catches;
extern unsigned int world_unblocked;

/* Setup and teardown of tests that need no more. */
int world_start_adaptive(void **state);
int world_start_dedicated(void **state);
int world_stop(void **state);

void world_sleep_ns(uint64_t ns);
/* Help for so long. Returns false if this thread was kept from it in between,
 * as it is on a busy machine: the progress engine's thread then takes over, and
 * may.
 */
bool world_help_for(uint64_t ns);
/* Nudge after each help. */
extern bool world_nudges;
/* How many iterations there are while nobody helps for so long. */
unsigned int world_iterations_in(uint64_t ns);
/* More than n in so long? On a busy machine the thread has a processor now and
 * then only.
 */
bool world_exceeds(unsigned int n, uint64_t ns);

#define WORLD_ADAPTIVE(name)                                                   \
	cmocka_unit_test_setup_teardown(name, world_start_adaptive, world_stop)
#define WORLD_DEDICATED(name)                                                  \
	cmocka_unit_test_setup_teardown(name, world_start_dedicated, world_stop)

#endif
