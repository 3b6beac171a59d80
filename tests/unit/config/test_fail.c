/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include <roost/config.h>
#include "lib/config/fail.h"
#include "tests/cmocka.h"

static void fail__formats_and_returns_einval(void **state)
{
	char err[ROOST_CONFIG_ERR_MAX];

	assert_int_equal(roost_config_fail(err, "%s: %d", "mtu", 7), -EINVAL);
	assert_string_equal(err, "mtu: 7");
}

static void fail__stays_one_line(void **state)
{
	char err[ROOST_CONFIG_ERR_MAX];

	roost_config_fail(err, "'%s': wrong", "a\nb\r\033[31m\xc3\xa4");
	assert_string_equal(err, "'a?b??[31m\xc3\xa4': wrong");
}

static void fail__stays_in_the_buffer(void **state)
{
	char err[ROOST_CONFIG_ERR_MAX + 1], long_text[2000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	err[ROOST_CONFIG_ERR_MAX] = '~';
	roost_config_fail(err, "%s", long_text);
	assert_int_equal(strlen(err), ROOST_CONFIG_ERR_MAX - 1);
	assert_int_equal(err[ROOST_CONFIG_ERR_MAX], '~');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail__formats_and_returns_einval),
		cmocka_unit_test(fail__stays_one_line),
		cmocka_unit_test(fail__stays_in_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
