/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pmd_glue/host/conflict.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define S 1000000000ull

static struct roost_conflicts conflicts;

static int setup(void **state)
{
	conflicts = (struct roost_conflicts){ .nb = 0 };
	return 0;
}

static void check(const char *text, uint64_t at_s, bool defend, bool tell)
{
	struct roost_gid gid = addr(text);
	struct roost_conflict_advice advice;

	advice =
		roost_conflict_add_claim(&conflicts, &gid, 1000 * S + at_s * S);
	assert_int_equal(advice.defend, defend);
	assert_int_equal(advice.tell, tell);
}

static void conflict__first_is_defended_and_told(void **state)
{
	check("198.18.0.1", 0, true, true);
	check("198.18.0.2", 0, true, true);
	check("fd00::1", 0, true, true);
}

/* RFC 5227, 2.4 (c): not again within ten seconds of the last one heard. */
static void conflict__no_duel(void **state)
{
	check("198.18.0.1", 0, true, true);
	for (uint64_t s = 1; s < 55; s += 9)
		check("198.18.0.1", s, false, false);
	check("198.18.0.1", 70, true, true);
}

static void conflict__told_once_a_minute(void **state)
{
	check("198.18.0.1", 0, true, true);
	check("198.18.0.1", 20, true, false);
	check("198.18.0.1", 59, true, false);
	check("198.18.0.1", 60, false, true);
	check("198.18.0.1", 61, false, false);
}

/* The one that was first is forgotten, and no other. */
static void conflict__more_addresses_than_room(void **state)
{
	struct roost_gid gid = addr("198.18.0.0");
	struct roost_conflict_advice advice;

	for (unsigned int i = 1; i <= ROOST_PORT_IPS_MAX + 2; i++) {
		gid.b[15] = (uint8_t)i;
		advice = roost_conflict_add_claim(&conflicts, &gid, 1000 * S);
		assert_true(advice.defend);
	}
	check("198.18.0.2", 0, false, false);
	check("198.18.0.1", 0, true, true);
	check("198.18.0.2", 0, true, true);
	check("198.18.0.4", 0, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(conflict__first_is_defended_and_told,
				       setup),
		cmocka_unit_test_setup(conflict__no_duel, setup),
		cmocka_unit_test_setup(conflict__told_once_a_minute, setup),
		cmocka_unit_test_setup(conflict__more_addresses_than_room,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
