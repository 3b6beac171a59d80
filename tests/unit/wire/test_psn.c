/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/wire/psn.h"
#include "tests/cmocka.h"

static void psn__is_24_bits(void **state)
{
	assert_int_equal(roost_psn(0xffffff).v, 0xffffff);
	assert_int_equal(roost_psn(0x1000000).v, 0);
	assert_int_equal(roost_psn(0xabfedcba).v, 0xfedcba);
}

static void psn__add_wraps(void **state)
{
	assert_int_equal(roost_psn_add(roost_psn(5), 3).v, 8);
	assert_int_equal(roost_psn_add(roost_psn(0xfffff0), 15).v, 0xffffff);
	assert_int_equal(roost_psn_add(roost_psn(0xfffff0), 16).v, 0);
	assert_int_equal(roost_psn_add(roost_psn(0xffffff), 1).v, 0);
	assert_int_equal(roost_psn_add(roost_psn(1), 0x1000000).v, 1);
}

static void psn__sub_wraps(void **state)
{
	assert_int_equal(roost_psn_sub(roost_psn(8), 3).v, 5);
	assert_int_equal(roost_psn_sub(roost_psn(0), 1).v, 0xffffff);
	assert_int_equal(roost_psn_sub(roost_psn(15), 16).v, 0xffffff);
}

static void psn__eq(void **state)
{
	assert_true(roost_psn_eq(roost_psn(7), roost_psn(7)));
	assert_false(roost_psn_eq(roost_psn(7), roost_psn(8)));
	assert_true(roost_psn_eq(roost_psn_add(roost_psn(0xffffff), 1),
				 roost_psn(0)));
}

static void psn__diff_is_signed_on_the_circle(void **state)
{
	assert_int_equal(roost_psn_diff(roost_psn(9), roost_psn(9)), 0);
	assert_int_equal(roost_psn_diff(roost_psn(9), roost_psn(4)), 5);
	assert_int_equal(roost_psn_diff(roost_psn(4), roost_psn(9)), -5);
	assert_int_equal(roost_psn_diff(roost_psn(2), roost_psn(0xfffffe)), 4);
	assert_int_equal(roost_psn_diff(roost_psn(0xfffffe), roost_psn(2)), -4);
}

/* Half of the circle is ahead, the other half and its far end behind. */
static void psn__diff_at_the_window(void **state)
{
	static const uint32_t bases[] = { 0,        1,        0x7fffff,
					  0x800000, 0xfffff0, 0xffffff };
	size_t i;

	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		struct roost_psn b = roost_psn(bases[i]);

		assert_int_equal(roost_psn_diff(roost_psn_add(b, 0x7fffff), b),
				 0x7fffff);
		assert_int_equal(roost_psn_diff(roost_psn_add(b, 0x800000), b),
				 -0x800000);
		assert_int_equal(roost_psn_diff(roost_psn_sub(b, 0x7fffff), b),
				 -0x7fffff);
		assert_int_equal(roost_psn_diff(roost_psn_sub(b, 1), b), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn__is_24_bits),
		cmocka_unit_test(psn__add_wraps),
		cmocka_unit_test(psn__sub_wraps),
		cmocka_unit_test(psn__eq),
		cmocka_unit_test(psn__diff_is_signed_on_the_circle),
		cmocka_unit_test(psn__diff_at_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
