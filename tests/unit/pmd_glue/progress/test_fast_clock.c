/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/fast_clock.h"
#include "tests/cmocka.h"

#define US 1000u
#define MS (1000u * US)

/* More than it may be wrong by, and far less than a timer cares for. */
#define SLACK_NS US

static void fast_clock__is_the_kernels(void **state)
{
	struct roost_fast_clock clock = { 0 };
	uint64_t begin_ns = roost_now_ns(), before_ns, ns, after_ns;
	unsigned int own = 0;

	do {
		before_ns = roost_now_ns();
		own += clock.good_ticks != 0;
		ns = roost_fast_clock_ns(&clock);
		after_ns = roost_now_ns();
		assert_true(ns + SLACK_NS >= before_ns);
		assert_true(ns <= after_ns + SLACK_NS);
	} while (after_ns - begin_ns < 50 * MS);
	if (own == 0)
		print_message("the counter of this machine is not trusted\n");
}

static void fast_clock__never_runs_backwards(void **state)
{
	struct roost_fast_clock clock = { 0 };
	uint64_t begin_ns = roost_now_ns(), last_ns = 0, ns;

	do {
		ns = roost_fast_clock_ns(&clock);
		assert_true(ns >= last_ns);
		last_ns = ns;
	} while (ns - begin_ns < 20 * MS);
}

/* Run until the clock goes by the counter. */
static void settle(struct roost_fast_clock *clock)
{
	uint64_t begin_ns = roost_now_ns();

	while (clock->good_ticks == 0)
		if (roost_fast_clock_ns(clock) - begin_ns > 50 * MS)
			skip(); /* it never does here */
}

/* As after a machine slept: the counter stands elsewhere. */
static void fast_clock__counter_that_jumps(void **state)
{
	const int64_t jumps[] = { 1ll << 40, -(1ll << 40), 1 << 20, -1000 };

	for (unsigned int i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct roost_fast_clock clock = { 0 };
		uint64_t before_ns, ns;

		settle(&clock);
		before_ns = roost_now_ns();
		clock.ticks -= (uint64_t)jumps[i];
		clock.base_ticks -= (uint64_t)jumps[i];
		ns = roost_fast_clock_ns(&clock);
		assert_true(ns + SLACK_NS >= before_ns);
		assert_true(ns <= roost_now_ns() + SLACK_NS);
	}
}

/* A pace that cannot be is not gone by. */
static void fast_clock__pace_that_changes(void **state)
{
	struct roost_fast_clock clock = { 0 };

	settle(&clock);
	clock.ns_per_tick *= 2;
	clock.good_ticks = 0;
	roost_fast_clock_ns(&clock);
	assert_int_equal(clock.ns_per_tick, 0);
	settle(&clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_clock__is_the_kernels),
		cmocka_unit_test(fast_clock__never_runs_backwards),
		cmocka_unit_test(fast_clock__counter_that_jumps),
		cmocka_unit_test(fast_clock__pace_that_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
