/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <roost/gid.h>

#include "tests/cmocka.h"

static const struct roost_gid zero;
static const struct roost_gid link_local = { { 0xfe, 0x80, [15] = 1 } };
static const struct roost_gid global = { { 0x20, 0x01, 0x0d, 0xb8 } };
static const struct roost_gid mapped = {
	{ [10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = 7 }
};

static void gid__eq(void **state)
{
	struct roost_gid other = link_local;

	assert_true(roost_gid_eq(&other, &link_local));
	other.b[15] = 2;
	assert_false(roost_gid_eq(&other, &link_local));
	other = link_local;
	other.b[0] = 0xff;
	assert_false(roost_gid_eq(&other, &link_local));
}

static void gid__from_v4_is_mapped(void **state)
{
	struct roost_gid gid = roost_gid_from_v4((uint8_t[]){ 192, 0, 2, 7 });

	assert_memory_equal(gid.b, mapped.b, sizeof(gid.b));
	assert_true(roost_gid_is_v4(&gid));
}

static void gid__is_v4_needs_all_of_the_prefix(void **state)
{
	size_t i;

	assert_false(roost_gid_is_v4(&zero));
	assert_false(roost_gid_is_v4(&link_local));
	for (i = 0; i < 12; i++) {
		struct roost_gid gid = mapped;

		gid.b[i] ^= 1;
		assert_false(roost_gid_is_v4(&gid));
	}
}

static void gid__is_zero(void **state)
{
	assert_true(roost_gid_is_zero(&zero));
	assert_false(roost_gid_is_zero(&link_local));
	assert_false(roost_gid_is_zero(&mapped));
}

static void gid__is_link_local(void **state)
{
	struct roost_gid gid = link_local;

	assert_true(roost_gid_is_link_local(&gid));
	gid.b[1] = 0xbf; /* fe80::/10 */
	assert_true(roost_gid_is_link_local(&gid));
	gid.b[1] = 0xc0;
	assert_false(roost_gid_is_link_local(&gid));
	assert_false(roost_gid_is_link_local(&global));
	assert_false(roost_gid_is_link_local(&mapped));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid__eq),
		cmocka_unit_test(gid__from_v4_is_mapped),
		cmocka_unit_test(gid__is_v4_needs_all_of_the_prefix),
		cmocka_unit_test(gid__is_zero),
		cmocka_unit_test(gid__is_link_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
