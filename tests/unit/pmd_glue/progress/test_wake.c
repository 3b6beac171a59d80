/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A progress engine whose worker a caller turns, from a loop of its own. */

#include "progress_world.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static struct roost_progress *p;

static int setup(void **state)
{
	const struct roost_progress_conf conf = {
		.worker = &world_worker,
		.has_caller = true,
	};

	memset(&world_worker, 0, sizeof(world_worker));
	return roost_progress_start(&conf, &p);
}

static int teardown(void **state)
{
	roost_progress_stop(p);
	return 0;
}

static bool is_woken(void)
{
	struct pollfd fd = { .fd = roost_progress_wake_fd(p),
			     .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void wake__has_no_thread(void **state)
{
	world_sleep_ns(20 * MS);
	assert_int_equal(atomic_load(&world_worker.iterations), 0);
}

static void wake__kick_and_nudge_end_a_sleep(void **state)
{
	void (*const fns[])(struct roost_progress *) = {
		roost_progress_kick,
		roost_progress_nudge,
	};

	for (unsigned int i = 0; i < 2; i++) {
		/* Awake: without a system call. */
		fns[i](p);
		assert_false(is_woken());
		assert_true(roost_progress_sleep_begin(p));
		assert_false(is_woken());
		fns[i](p);
		assert_true(is_woken());
		roost_progress_sleep_end(p);
		assert_false(is_woken());
	}
}

static void wake__work_forbids_a_sleep(void **state)
{
	atomic_store(&world_worker.has_work, true);
	assert_false(roost_progress_sleep_begin(p));
	roost_progress_sleep_end(p);
	atomic_store(&world_worker.has_work, false);
	assert_true(roost_progress_sleep_begin(p));
	roost_progress_sleep_end(p);
}

/* Who wakes may write after the sleep has ended for another reason: then one
 * sleep is short, and not all.
 */
static void wake__a_late_token_costs_one_sleep(void **state)
{
	const uint64_t one = 1;

	assert_int_equal(write(roost_progress_wake_fd(p), &one, sizeof(one)),
			 sizeof(one));
	assert_true(roost_progress_sleep_begin(p));
	assert_true(is_woken());
	roost_progress_sleep_end(p);
	assert_true(roost_progress_sleep_begin(p));
	assert_false(is_woken());
	roost_progress_sleep_end(p);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(wake__has_no_thread),
		TEST(wake__kick_and_nudge_end_a_sleep),
		TEST(wake__work_forbids_a_sleep),
		TEST(wake__a_late_token_costs_one_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
