/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/config/nearest.h"
#include "tests/cmocka.h"

static const char *const keys[] = { "devargs", "link", "ip", "gw", "mtu" };

static const char *nearest(const char *given)
{
	return roost_name_nearest(given, keys, 5);
}

static void nearest__one_edit_of_each_kind(void **state)
{
	assert_string_equal(nearest("devarg"), "devargs");
	assert_string_equal(nearest("devaargs"), "devargs");
	assert_string_equal(nearest("limk"), "link");
	assert_string_equal(nearest("lnik"), "link");
}

static void nearest__swap_counts_once(void **state)
{
	/* As two replacements, "umt" would be equally near to both. */
	static const char *const names[] = { "xmt", "mut" };

	assert_string_equal(roost_name_nearest("umt", names, 2), "xmt");
	assert_string_equal(
		roost_name_nearest("umx", (const char *const[]){ "abx", "mux" },
				   2),
		"mux");
	assert_null(
		roost_name_nearest("umx", (const char *const[]){ "xmu" }, 1));
}

static void nearest__case_is_equal(void **state)
{
	assert_string_equal(nearest("MTU"), "mtu");
	assert_string_equal(nearest("DevArgs"), "devargs");
}

static void nearest__first_of_equals(void **state)
{
	static const char *const names[] = { "aab", "aac" };

	assert_string_equal(roost_name_nearest("aad", names, 2), "aab");
}

static void nearest__empty_and_endless(void **state)
{
	char endless[5000];

	memset(endless, 'm', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	assert_null(nearest(""));
	assert_null(nearest(endless));
	assert_null(roost_name_nearest("mtu", keys, 0));
}

/* What is far from all was meant as something else. */
static void nearest__no_guess_that_misleads(void **state)
{
	static const char *const others[] = {
		"log_level", "x", "k", "address", "iface", "GLOBAL", "netdev",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(nearest(others[i]));
}

static void nearest__short_forms(void **state)
{
	assert_string_equal(nearest("gateway"), "gw");
	assert_string_equal(nearest("mtu_bytes"), "mtu");
	assert_string_equal(nearest("dev"), "devargs");
	assert_null(nearest("d"));
}

static void advise__writes_the_name_as_it_is_written(void **state)
{
	char advice[ROOST_NAME_ADVICE_MAX];

	assert_string_equal(roost_name_advise(advice, "limk", keys, 5, "[*]",
					      "see x"),
			    "the nearest known one is [link]");
	assert_string_equal(roost_name_advise(advice, "lnik", keys, 5, "--*",
					      "see x"),
			    "the nearest known one is --link");
	assert_string_equal(roost_name_advise(advice, "log_level", keys, 5,
					      "--*", "see x"),
			    "see x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest__one_edit_of_each_kind),
		cmocka_unit_test(nearest__swap_counts_once),
		cmocka_unit_test(nearest__case_is_equal),
		cmocka_unit_test(nearest__first_of_equals),
		cmocka_unit_test(nearest__empty_and_endless),
		cmocka_unit_test(nearest__no_guess_that_misleads),
		cmocka_unit_test(nearest__short_forms),
		cmocka_unit_test(advise__writes_the_name_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
