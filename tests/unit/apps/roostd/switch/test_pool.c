/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/pool.h"
#include "tests/cmocka.h"

#define NB 8u

/* Each unit for another user, who so has little. */
static int take(struct roost_pool *pool, uint16_t owner,
		struct roost_units *units, uint64_t now_ns, uint32_t *unit)
{
	static uint32_t uid = 1000;

	return roost_pool_take(pool, owner, uid++, units, now_ns, unit);
}

static void take__oldest_free_first(void **state)
{
	struct roost_units a = ROOST_UNITS_NONE, b = ROOST_UNITS_NONE;
	struct roost_pool pool;
	uint32_t unit;

	assert_int_equal(roost_pool_init(&pool, NB), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(take(&pool, 1, &a, 0, &unit), 0);
		assert_int_equal(unit, i);
	}
	roost_pool_give_back(&pool, &a, 100);
	assert_int_equal(a.nb, 0);
	/* The others, then those that were given back, after their quarantine.
	 */
	for (uint32_t i = 3; i < NB; i++) {
		assert_int_equal(take(&pool, 2, &b, 0, &unit), 0);
		assert_int_equal(unit, i);
		assert_int_equal(pool.owner[unit], 2);
	}
	assert_int_equal(take(&pool, 2, &b, 99, &unit), -EAGAIN);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(take(&pool, 2, &b, 100, &unit), 0);
	assert_int_equal(take(&pool, 2, &b, 100, &unit), -ENOSPC);
	assert_int_equal(b.nb, NB);
	roost_pool_fini(&pool);
}

static void take_this__once(void **state)
{
	struct roost_units a = ROOST_UNITS_NONE, b = ROOST_UNITS_NONE;
	struct roost_pool pool;
	uint32_t unit, sum = 0;

	assert_int_equal(roost_pool_init(&pool, NB), 0);
	assert_int_equal(roost_pool_take_this(&pool, 1, 1, &a, 0), 0);
	assert_int_equal(roost_pool_take_this(&pool, 1, 1, &a, 4), 0);
	assert_int_equal(roost_pool_take_this(&pool, 1, 1, &a, NB - 1), 0);
	assert_int_equal(roost_pool_take_this(&pool, 2, 1, &b, 4), -EBUSY);
	assert_int_equal(roost_pool_take_this(&pool, 2, 1, &b, NB), -EINVAL);
	while (take(&pool, 2, &b, 0, &unit) == 0)
		sum += unit;
	assert_int_equal(sum, 1 + 2 + 3 + 5 + 6);
	roost_pool_fini(&pool);
}

static void hold__used_ones_go_last(void **state)
{
	struct roost_units a = ROOST_UNITS_NONE;
	struct roost_pool pool;
	uint32_t unit;

	assert_int_equal(roost_pool_init(&pool, NB), 0);
	assert_int_equal(roost_pool_take_this(&pool, 1, 1, &a, 1), 0);
	roost_pool_hold(&pool, 4, 100);
	for (uint32_t i = 4; i < NB; i++) {
		assert_int_equal(take(&pool, 1, &a, 0, &unit), 0);
		assert_int_equal(unit, i);
	}
	assert_int_equal(take(&pool, 1, &a, 99, &unit), -EAGAIN);
	assert_int_equal(take(&pool, 1, &a, 100, &unit), 0);
	assert_int_equal(unit, 0);
	roost_pool_fini(&pool);
}

/* One user, whose clients come and go. */
static void take__leaves_some_to_others(void **state)
{
	struct roost_units a = ROOST_UNITS_NONE, b = ROOST_UNITS_NONE;
	struct roost_pool pool;
	uint32_t unit, nb = 0;
	int ret;

	assert_int_equal(roost_pool_init(&pool, 64), 0);
	while ((ret = roost_pool_take(&pool, 1, 1000, &a, 0, &unit)) == 0) {
		roost_pool_give_back(&pool, &a, 100);
		nb++;
	}
	assert_int_equal(ret, -EAGAIN);
	assert_int_equal(nb, 48);
	/* Another one has what it needs. */
	for (nb = 0; nb < 12; nb++)
		assert_int_equal(roost_pool_take(&pool, 2, 1001, &b, 0, &unit),
				 0);
	assert_int_equal(roost_pool_take(&pool, 2, 1001, &b, 0, &unit),
			 -EAGAIN);
	assert_int_equal(roost_pool_take(&pool, 3, 1002, &a, 99, &unit), 0);
	/* After the quarantine the first one has them again, and keeps them. */
	for (nb = 0; nb < 37; nb++)
		assert_int_equal(roost_pool_take(&pool, 1, 1000, &a, 100,
						 &unit),
				 0);
	while ((ret = roost_pool_take(&pool, 1, 1000, &a, 100, &unit)) == 0)
		nb++;
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(nb, 39);
	assert_int_equal(roost_pool_take(&pool, 3, 1002, &a, 100, &unit), 0);
	roost_pool_fini(&pool);
}

/* Units that a restarted daemon holds are nobody's; a ticket is of a user. */
static void take__tickets_are_charged(void **state)
{
	struct roost_units a = ROOST_UNITS_NONE;
	struct roost_pool pool;
	uint32_t unit;

	assert_int_equal(roost_pool_init(&pool, NB), 0);
	roost_pool_hold(&pool, NB, 100);
	for (unit = 0; unit < 7; unit++)
		assert_int_equal(roost_pool_take_this(&pool, 1, 1000, &a, unit),
				 0);
	assert_int_equal(roost_pool_take(&pool, 2, 1001, &a, 99, &unit),
			 -EAGAIN);
	assert_int_equal(roost_pool_take(&pool, 1, 1000, &a, 100, &unit),
			 -ENOSPC);
	assert_int_equal(roost_pool_take(&pool, 2, 1001, &a, 100, &unit), 0);
	roost_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__oldest_free_first),
		cmocka_unit_test(take_this__once),
		cmocka_unit_test(hold__used_ones_go_last),
		cmocka_unit_test(take__leaves_some_to_others),
		cmocka_unit_test(take__tickets_are_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
