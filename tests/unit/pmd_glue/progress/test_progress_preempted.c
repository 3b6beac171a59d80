/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A poller of real-time priority, and who has the turn cannot go on before it
 * gives the processor away.
 */

#include "progress_world.h"

#include "tests/unit/preempted.h"

static bool help(struct preempted *p)
{
	roost_progress_help(world_progress);
	return atomic_load(&p->released);
}

static void take_turn(void)
{
	pthread_mutex_lock(&world_worker.turn.lock);
}

static void release_turn(void)
{
	pthread_mutex_unlock(&world_worker.turn.lock);
}

static void progress__the_holder_is_preempted(void **state)
{
	struct preempted p = { .hold = take_turn,
			       .release = release_turn,
			       .is_over = help };

	preempted_run(&p);
}

static void take_turn_with_work(void)
{
	take_turn();
	atomic_store(&world_worker.has_work, true);
}

static void release_turn_without(void)
{
	atomic_store(&world_worker.has_work, false);
	release_turn();
}

static void progress__the_holder_is_preempted_and_there_is_work(void **state)
{
	struct preempted p = { .hold = take_turn_with_work,
			       .release = release_turn_without,
			       .is_over = help };

	preempted_run(&p);
}

static void want_turn(void)
{
	atomic_store(&world_worker.wanted, true);
}

static void want_it_no_more(void)
{
	atomic_store(&world_worker.wanted, false);
}

static void progress__who_waits_for_the_turn_is_preempted(void **state)
{
	struct preempted p = { .hold = want_turn,
			       .release = want_it_no_more,
			       .is_over = help };

	preempted_run(&p);
}

static unsigned int iterations;

static void count(void)
{
	iterations = atomic_load(&world_worker.iterations);
}

static bool help_until_iterated(struct preempted *p)
{
	(void)p;
	roost_progress_help(world_progress);
	return atomic_load(&world_worker.iterations) - iterations > 100;
}

static void progress__the_dedicated_thread_is_preempted(void **state)
{
	struct preempted p = { .hold = count, .is_over = help_until_iterated };

	preempted_run(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_ADAPTIVE(progress__the_holder_is_preempted),
		WORLD_ADAPTIVE(
			progress__the_holder_is_preempted_and_there_is_work),
		WORLD_ADAPTIVE(progress__who_waits_for_the_turn_is_preempted),
		WORLD_DEDICATED(progress__the_dedicated_thread_is_preempted),
	};

	return cmocka_run_group_tests(tests, preempted_pin, NULL);
}
