/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/config/nearest.h"

static const char *const keys[] = { "devargs", "link", "ip", "gw", "mtu" };

static const char *nearest(const char *given)
{
	return roost_name_nearest(given, keys, 5);
}

static void nearest__one_edit_of_each_kind(void **state)
{
	(void)state;
	assert_string_equal(nearest("devarg"), "devargs");
	assert_string_equal(nearest("devaargs"), "devargs");
	assert_string_equal(nearest("limk"), "link");
	assert_string_equal(nearest("lnik"), "link");
}

static void nearest__swap_counts_once(void **state)
{
	/* As two replacements, "umt" would be equally near to both. */
	static const char *const names[] = { "xmt", "mut" };

	(void)state;
	assert_string_equal(roost_name_nearest("umt", names, 2), "xmt");
	assert_string_equal(
		roost_name_nearest("umx", (const char *const[]){ "abx", "mux" },
				   2),
		"mux");
}

static void nearest__case_is_equal(void **state)
{
	(void)state;
	assert_string_equal(nearest("MTU"), "mtu");
	assert_string_equal(nearest("DevArgs"), "devargs");
}

static void nearest__first_of_equals(void **state)
{
	static const char *const names[] = { "aab", "aac" };

	(void)state;
	assert_string_equal(roost_name_nearest("aad", names, 2), "aab");
}

static void nearest__empty_and_endless(void **state)
{
	char endless[5000];

	(void)state;
	memset(endless, 'm', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	assert_string_equal(nearest(""), "ip");
	assert_string_equal(nearest(endless), "mtu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest__one_edit_of_each_kind),
		cmocka_unit_test(nearest__swap_counts_once),
		cmocka_unit_test(nearest__case_is_equal),
		cmocka_unit_test(nearest__first_of_equals),
		cmocka_unit_test(nearest__empty_and_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
