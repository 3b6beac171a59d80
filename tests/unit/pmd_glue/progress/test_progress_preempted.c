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

/* ---- the worker's thread inherits a real-time priority --------------------
 */

static void set_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	pthread_setschedparam(pthread_self(),
			      priority ? SCHED_FIFO : SCHED_OTHER, &param);
}

static int start_urgent(void **state)
{
	set_priority(10);
	return world_start_adaptive(state);
}

static int start_urgent_dedicated(void **state)
{
	set_priority(10);
	return world_start_dedicated(state);
}

static int stop_urgent(void **state)
{
	set_priority(0);
	return world_stop(state);
}

static void *sleep_often(void *arg)
{
	for (int i = 0; i < 10; i++)
		usleep(1000);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

/* Such as one that is to post the receive for which a request is repeated. */
static void progress__busy_thread_lets_its_equals_run(void **state)
{
	const int64_t until_ns = preempted_now_ns() + PREEMPTED_LATE_NS;
	atomic_bool done = false;
	pthread_t equal;

	if (sched_getscheduler(0) != SCHED_FIFO)
		skip(); /* it takes a privilege */
	assert_int_equal(pthread_create(&equal, NULL, sleep_often, &done), 0);
	set_priority(11);
	atomic_store(&world_worker.work, 1);
	while (!atomic_load(&done) && preempted_now_ns() < until_ns)
		usleep(10000);
	atomic_store(&world_worker.work, 0);
	assert_true(atomic_load(&done));
	pthread_join(equal, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_ADAPTIVE(progress__the_holder_is_preempted),
		WORLD_ADAPTIVE(
			progress__the_holder_is_preempted_and_there_is_work),
		WORLD_ADAPTIVE(progress__who_waits_for_the_turn_is_preempted),
		WORLD_DEDICATED(progress__the_dedicated_thread_is_preempted),
		cmocka_unit_test_setup_teardown(
			progress__busy_thread_lets_its_equals_run, start_urgent,
			stop_urgent),
		cmocka_unit_test_setup_teardown(
			progress__busy_thread_lets_its_equals_run,
			start_urgent_dedicated, stop_urgent),
	};

	return cmocka_run_group_tests(tests, preempted_pin, NULL);
}
