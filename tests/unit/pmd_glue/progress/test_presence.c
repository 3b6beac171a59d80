/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pmd_glue/progress/presence.h"
#include "tests/cmocka.h"

#define US 1000ull
#define MS (1000 * US)
#define NB(a) (sizeof(a) / sizeof((a)[0]))

static struct roost_presence p;
static uint64_t now_ns;

static int setup(void **state)
{
	p = (struct roost_presence){ 0 };
	now_ns = 1000 * MS;
	roost_presence_help(&p, now_ns, now_ns, 0);
	return 0;
}

/* So many helps, 1 us apart, after each pause, for so long. Nobody else turns
 * the worker.
 */
static void help_for(uint64_t ns, unsigned int burst, uint64_t pause_ns)
{
	const uint64_t end_ns = now_ns + ns;

	while (now_ns < end_ns) {
		for (unsigned int i = 0; i < burst; i++) {
			now_ns += i ? US : pause_ns;
			roost_presence_help(&p, roost_presence_get(&p.last_ns),
					    now_ns, 0);
		}
	}
}

static void presence__help_in_a_loop(void **state)
{
	static const uint64_t intervals_ns[] = { 100, US, 2 * US, 3 * US };

	for (size_t i = 0; i < NB(intervals_ns); i++) {
		setup(state);
		help_for(100 * MS, 1, intervals_ns[i]);
		assert_false(roost_presence_is_seldom(&p));
		/* It lost its CPU now and then. */
		for (unsigned int j = 0; j < 100; j++) {
			help_for(3 * MS, 1, 3 * MS);
			assert_false(roost_presence_is_seldom(&p));
			help_for(60 * US, 1, intervals_ns[i]);
		}
	}
}

/* Shorter than the bursts of the next test make good. */
static void presence__help_every_few_us(void **state)
{
	static const uint64_t pauses_ns[] = { 4 * US, 10 * US, 15 * US };

	for (size_t i = 0; i < NB(pauses_ns); i++) {
		setup(state);
		help_for(MS, 1, pauses_ns[i]);
		assert_true(roost_presence_is_seldom(&p));
	}
}

/* At any interval, alone and in bursts. */
static void presence__help_now_and_then(void **state)
{
	static const uint64_t pauses_ns[] = { 16 * US,  20 * US, 50 * US,
					      100 * US, MS,      2 * MS,
					      10 * MS,  100 * MS };

	for (size_t i = 0; i < NB(pauses_ns); i++) {
		setup(state);
		help_for(4 * pauses_ns[i], 1, pauses_ns[i]);
		assert_false(roost_presence_is_seldom(&p));
		help_for(MS + 4 * pauses_ns[i], 1, pauses_ns[i]);
		assert_true(roost_presence_is_seldom(&p));
		setup(state);
		/* A burst of 5 us makes 10 us good. */
		help_for(20 * MS + 20 * pauses_ns[i], 6, pauses_ns[i]);
		assert_true(roost_presence_is_seldom(&p));
	}
}

static void presence__seldom_help_becomes_frequent(void **state)
{
	help_for(100 * MS, 1, MS);
	assert_true(roost_presence_is_seldom(&p));
	help_for(400 * US, 1, US);
	assert_false(roost_presence_is_seldom(&p));
}

/* A help that moved frames took its time, and so did what was posted. */
static void presence__work_is_no_absence(void **state)
{
	for (unsigned int i = 0; i < 100; i++) {
		now_ns += 66 * US;
		roost_presence_help(&p, now_ns - 66 * US, now_ns, 64);
	}
	assert_false(roost_presence_is_seldom(&p));
	setup(state);
	for (unsigned int i = 0; i < 100; i++) {
		roost_presence_work(&p, 32);
		roost_presence_work(&p, 32);
		now_ns += 66 * US;
		roost_presence_help(&p, now_ns - 66 * US, now_ns, 0);
	}
	assert_false(roost_presence_is_seldom(&p));
}

/* While the thread serves, help cannot show how often it would come. */
static void presence__thread_that_serves(void **state)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		now_ns += MS;
		roost_presence_help(&p, now_ns - US, now_ns, 0);
		assert_false(roost_presence_is_seldom(&p));
	}
	help_for(100 * MS, 1, MS);
	for (; roost_presence_is_seldom(&p); nb++) {
		now_ns += MS;
		roost_presence_help(&p, now_ns - US, now_ns, 0);
	}
	assert_in_range(nb, 50, 200);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(presence__help_in_a_loop),
		TEST(presence__help_every_few_us),
		TEST(presence__help_now_and_then),
		TEST(presence__seldom_help_becomes_frequent),
		TEST(presence__work_is_no_absence),
		TEST(presence__thread_that_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
