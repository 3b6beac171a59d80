/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/port/members.h"
#include "tests/cmocka.h"

static size_t at, begin;
static char member[ROOST_DEVARGS_MAX];

static int next(const char *devargs)
{
	return roost_members_next(devargs, &at, &begin, member);
}

static int setup(void **state)
{
	at = 0;
	return 0;
}

static void members__in_parentheses(void **state)
{
	const char *devargs = "net_bonding0,slave=(net_tap0,iface=a),mode=1,"
			      "slave=(net_tap1,iface=b)";

	assert_int_equal(next(devargs), 0);
	assert_string_equal(member, "net_tap0,iface=a");
	assert_int_equal(begin, strlen("net_bonding0"));
	assert_int_equal(devargs[at], ',');
	assert_int_equal(next(devargs), 0);
	assert_string_equal(member, "net_tap1,iface=b");
	assert_int_equal(at, strlen(devargs));
	assert_int_equal(next(devargs), -ENOENT);
}

static void members__bare(void **state)
{
	const char *devargs = "net_bonding0,slave=0000:03:00.0,mode=1";

	assert_int_equal(next(devargs), 0);
	assert_string_equal(member, "0000:03:00.0");
	assert_int_equal(next(devargs), -ENOENT);
}

static void members__none(void **state)
{
	assert_int_equal(next("net_bonding0,mode=1"), -ENOENT);
	/* Another key that ends like it. */
	assert_int_equal(next("net_bonding0,xslave=1"), -ENOENT);
}

static void members__open_parenthesis(void **state)
{
	assert_int_equal(next("net_bonding0,slave=(net_tap0,iface=a"), -EINVAL);
}

static void members__gated_drivers_cannot_be(void **state)
{
	char devargs[] = "net_bonding0,slave=(net_memif0,role=server)";
	struct roost_members members;
	char why[200];

	assert_int_equal(roost_members_plug_in(&members, devargs,
					       sizeof(devargs), why,
					       sizeof(why)),
			 -EINVAL);
	assert_non_null(strstr(why, "net_memif port cannot be a member; use"));
	assert_int_equal(members.nb, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(members__in_parentheses, setup),
		cmocka_unit_test_setup(members__bare, setup),
		cmocka_unit_test_setup(members__none, setup),
		cmocka_unit_test_setup(members__open_parenthesis, setup),
		cmocka_unit_test_setup(members__gated_drivers_cannot_be, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
