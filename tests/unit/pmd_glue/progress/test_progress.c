/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Help, by application threads that poll and post. */

#include "progress_world.h"

#include <rte_common.h>

static void progress__help_iterates_once(void **state)
{
	fake_turn_bar(&world_worker.turn);
	atomic_store(&world_worker.iterations, 0);
	assert_false(roost_progress_help(world_progress));
	assert_int_equal(atomic_load(&world_worker.iterations), 1);
	atomic_store(&world_worker.work, 5);
	assert_true(roost_progress_help(world_progress));
	assert_int_equal(atomic_load(&world_worker.iterations), 2);
}

static void progress__help_gives_up_a_taken_turn(void **state)
{
	pthread_mutex_lock(&world_worker.turn.lock);
	atomic_store(&world_worker.iterations, 0);
	assert_false(roost_progress_help(world_progress));
	assert_int_equal(atomic_load(&world_worker.iterations), 0);
	pthread_mutex_unlock(&world_worker.turn.lock);
}

/* A thread of the program, whatever it blocks, is asked until there are
 * handlers, and once then.
 */
static void progress__turns_of_a_thread_survive_faults(void **state)
{
	fake_turn_bar(&world_worker.turn);
	for (unsigned int i = 1; i < 3; i++) {
		roost_progress_help(world_progress);
		assert_int_equal(world_unblocked, i);
	}
	world_catches = true;
	world_posted.in_turn = 0;
	roost_progress_send_end(world_progress, NULL);
	assert_int_equal(world_posted.in_turn, 1);
	assert_int_equal(world_unblocked, 3);
	roost_progress_help(world_progress);
	roost_progress_send_end(world_progress, NULL);
	assert_int_equal(world_unblocked, 3);
}

static void send_in_turn(void)
{
	fake_turn_bar(&world_worker.turn);
	world_posted.rung = world_posted.in_turn = world_posted.sends = 0;
	roost_progress_send_end(world_progress, NULL);
	assert_int_equal(world_posted.rung, 0);
	assert_int_equal(world_posted.in_turn, 1);
	assert_int_equal(world_posted.sends, 1);
}

static void progress__send_end_sends_in_a_free_turn(void **state)
{
	atomic_store(&world_worker.work, 1);
	send_in_turn();
}

static void progress__send_end_iterates_where_nothing_goes(void **state)
{
	send_in_turn();
	assert_true(atomic_load(&world_worker.iterations) >
		    world_posted.iterations);
}

static void progress__send_end_rings_where_the_turn_is_taken(void **state)
{
	world_posted.rung = world_posted.in_turn = 0;
	pthread_mutex_lock(&world_worker.turn.lock);
	atomic_store(&world_worker.iterations, 0);
	roost_progress_send_end(world_progress, NULL);
	assert_int_equal(world_posted.rung, 1);
	assert_int_equal(world_posted.in_turn, 0);
	assert_int_equal(atomic_load(&world_worker.iterations), 0);
	pthread_mutex_unlock(&world_worker.turn.lock);
}

/* The worker's thread is not needed for what goes to the own device: a request
 * and its acknowledgement. More is left to the next help, or to the thread.
 */
static void progress__who_sends_receives_looped_frames(void **state)
{
	static const unsigned int looped[] = { 0, 1, 2, 100 };

	fake_turn_bar(&world_worker.turn);
	for (unsigned int i = 0; i < RTE_DIM(looped); i++) {
		const unsigned int most = RTE_MIN(looped[i], 2u);

		atomic_store(&world_worker.work, 1);
		world_worker.looped = looped[i];
		atomic_store(&world_worker.iterations, 0);
		roost_progress_send_end(world_progress, NULL);
		assert_int_equal(atomic_load(&world_worker.iterations), most);

		world_worker.looped = looped[i];
		roost_progress_push(world_progress);
		assert_int_equal(atomic_load(&world_worker.iterations),
				 2 * most);
	}
	world_worker.looped = 3;
	atomic_store(&world_worker.iterations, 0);
	roost_progress_help(world_progress);
	assert_int_equal(atomic_load(&world_worker.iterations), 3);
}

static void progress__push_sends_in_a_free_turn(void **state)
{
	fake_turn_bar(&world_worker.turn);
	world_posted.sends = 0;
	roost_progress_push(world_progress);
	assert_int_equal(world_posted.sends, 1);
}

static void progress__push_leaves_a_taken_turn(void **state)
{
	pthread_mutex_lock(&world_worker.turn.lock);
	world_posted.sends = 0;
	roost_progress_push(world_progress);
	assert_int_equal(world_posted.sends, 0);
	pthread_mutex_unlock(&world_worker.turn.lock);
}

/* It sleeps instead, when it has looked often enough. */
static void progress__attend_iterates_and_never_yields(void **state)
{
	world_sleep_ns(1 * MS);
	atomic_store(&world_worker.iterations, 0);
	world_own_yields = 0;
	for (unsigned int i = 0; i < 2000; i++)
		assert_false(roost_progress_attend(world_progress));
	assert_true(atomic_load(&world_worker.iterations) > 0);
	assert_int_equal(world_own_yields, 0);
}

/* Doorbells that ring all the time must not hold a helper for ever. */
static void progress__help_is_bounded(void **state)
{
	atomic_store(&world_worker.has_work, true);
	roost_progress_help(world_progress);
	atomic_store(&world_worker.has_work, false);
}

static void progress__dedicated_needs_no_help(void **state)
{
	pthread_mutex_lock(&world_worker.turn.lock);
	world_sleep_ns(1 * MS);
	atomic_store(&world_worker.iterations, 0);
	assert_false(roost_progress_help(world_progress));
	assert_int_equal(atomic_load(&world_worker.iterations), 0);
	pthread_mutex_unlock(&world_worker.turn.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_ADAPTIVE(progress__turns_of_a_thread_survive_faults),
		WORLD_ADAPTIVE(progress__help_iterates_once),
		WORLD_ADAPTIVE(progress__help_gives_up_a_taken_turn),
		WORLD_ADAPTIVE(progress__send_end_sends_in_a_free_turn),
		WORLD_ADAPTIVE(progress__send_end_iterates_where_nothing_goes),
		WORLD_ADAPTIVE(
			progress__send_end_rings_where_the_turn_is_taken),
		WORLD_ADAPTIVE(progress__who_sends_receives_looped_frames),
		WORLD_ADAPTIVE(progress__push_sends_in_a_free_turn),
		WORLD_ADAPTIVE(progress__push_leaves_a_taken_turn),
		WORLD_DEDICATED(progress__push_leaves_a_taken_turn),
		WORLD_ADAPTIVE(progress__attend_iterates_and_never_yields),
		WORLD_ADAPTIVE(progress__help_is_bounded),
		WORLD_DEDICATED(progress__dedicated_needs_no_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
