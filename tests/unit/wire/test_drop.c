/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <ctype.h>
#include <string.h>

#include <roost/drop.h>

#include "tests/cmocka.h"

static void drop__names_are_lower_case(void **state)
{
	int reason;

	for (reason = 0; reason < ROOST_DROP_COUNT; reason++) {
		const char *c = roost_drop_name((enum roost_drop)reason);

		assert_non_null(c);
		assert_true(*c != '\0');
		for (; *c; c++)
			assert_true(islower((unsigned char)*c) ||
				    isdigit((unsigned char)*c) || *c == '_');
	}
}

static void drop__names_are_different(void **state)
{
	int a, b;

	for (a = 0; a < ROOST_DROP_COUNT; a++)
		for (b = 0; b < a; b++)
			assert_string_not_equal(
				roost_drop_name((enum roost_drop)a),
				roost_drop_name((enum roost_drop)b));
}

static void drop__name_of_no_reason(void **state)
{
	assert_string_equal(roost_drop_name(ROOST_DROP_ICRC), "icrc");
	assert_string_equal(roost_drop_name(ROOST_DROP_COUNT), "unknown");
	assert_string_equal(roost_drop_name((enum roost_drop) - 1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop__names_are_lower_case),
		cmocka_unit_test(drop__names_are_different),
		cmocka_unit_test(drop__name_of_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
