/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "apps/roostd/switch/step.h"
#include "tests/cmocka.h"

#define NB 3u
#define MS 1000000u

static struct roost_steps all;
static struct roost_step lanes[NB];

static int setup(void **state)
{
	(void)state;
	memset(&all, 0, sizeof(all));
	memset(lanes, 0, sizeof(lanes));
	for (uint32_t i = 0; i < NB; i++)
		roost_step_join(&all, &lanes[i]);
	return 0;
}

static bool is_held; /* who had the last pass */

/* A pass of as many rounds as it may, most at the most. Returns how many. */
static uint32_t pass(uint32_t lane, uint32_t most, bool is_refused,
		     uint64_t now_ns)
{
	uint32_t nb = 0;

	roost_step_begin(&lanes[lane]);
	while (nb < most && roost_step_next(&lanes[lane], now_ns))
		nb++;
	is_held = roost_step_end(&lanes[lane], is_refused,
				 is_refused || nb < most);
	return nb;
}

static void wait__for_who_is_behind(void **state)
{
	(void)state;
	assert_int_equal(pass(0, 1, true, 0), 1);
	assert_int_equal(pass(1, 100, false, 0), ROOST_STEP_AHEAD);
	/* The other lane has kept it waiting, not the port. */
	assert_true(is_held);
	assert_int_equal(pass(1, 100, false, 0), 0);
	/* As many as the other one. */
	assert_int_equal(pass(0, 3, true, 0), 3);
	assert_int_equal(pass(1, 100, false, 0), 3);
	/* Who is behind does not wait, also not for who waited for it. */
	assert_int_equal(pass(0, 50, true, 0), 50);
	/* That one has lost nothing. */
	assert_int_equal(pass(1, 100, false, 0), 50);
}

static void wait__not_for_who_sends_all(void **state)
{
	(void)state;
	assert_int_equal(pass(0, 1, false, 0), 1);
	assert_int_equal(pass(1, 100, true, 0), 100);
	/* It has saved nothing meanwhile. */
	assert_int_equal(pass(0, 100, false, 0), ROOST_STEP_AHEAD);
	assert_int_equal(lanes[0].round, lanes[1].round + ROOST_STEP_AHEAD);
}

static void wait__not_for_who_stands_still(void **state)
{
	(void)state;
	pass(0, 1, true, 0);
	pass(1, 100, true, 5);
	assert_int_equal(pass(1, 100, true, 5 + MS - 1), 0);
	assert_int_equal(pass(1, 100, true, 5 + MS), 100);
	/* It is back: in the round of the others, but for what anybody may be
	 * behind.
	 */
	assert_int_equal(pass(0, 1, true, 6 * MS), 1);
	assert_int_equal(lanes[0].round + ROOST_STEP_BEHIND, lanes[1].round);
	assert_int_equal(pass(1, 100, true, 6 * MS), 0);
}

static void wait__for_all(void **state)
{
	(void)state;
	pass(0, 2, true, 0);
	pass(1, 5, true, 0);
	assert_int_equal(pass(2, 100, true, 0), ROOST_STEP_AHEAD - 5);
	pass(0, 100, true, 0);
	assert_int_equal(pass(2, 100, true, 0), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(wait__for_who_is_behind, setup),
		cmocka_unit_test_setup(wait__not_for_who_sends_all, setup),
		cmocka_unit_test_setup(wait__not_for_who_stands_still, setup),
		cmocka_unit_test_setup(wait__for_all, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
