/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pmd_glue/netif/gid_table.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static void assert_gid(const struct roost_gid *gid, const char *text)
{
	struct roost_gid want = addr(text);

	assert_true(roost_gid_eq(gid, &want));
}

static void gid_table__order_of_linux(void **state)
{
	struct roost_prefixes addrs = {
		.nb = 4,
		.v = {
			{ addr("fd00::1"), 64 },
			{ addr("10.0.0.1"), 24 },
			{ addr("fd00::2"), 64 },
			{ addr("192.168.7.1"), 16 },
		},
	};
	struct roost_gid gids[ROOST_GID_TABLE_LEN];

	assert_int_equal(roost_gid_table_fill(gids, mac_a, &addrs), 5);
	assert_gid(&gids[0], "fe80::11:22ff:fe33:4401");
	assert_gid(&gids[1], "10.0.0.1");
	assert_gid(&gids[2], "192.168.7.1");
	assert_gid(&gids[3], "fd00::1");
	assert_gid(&gids[4], "fd00::2");
	for (unsigned int i = 5; i < ROOST_GID_TABLE_LEN; i++)
		assert_true(roost_gid_is_zero(&gids[i]));
}

/* A kernel interface has the link-local address, too. */
static void gid_table__one_entry_per_address(void **state)
{
	struct roost_prefixes addrs = {
		.nb = 3,
		.v = {
			{ addr("10.0.0.1"), 24 },
			{ addr("fe80::11:22ff:fe33:4401"), 64 },
			{ addr("10.0.0.1"), 8 },
		},
	};
	struct roost_gid gids[ROOST_GID_TABLE_LEN];

	assert_int_equal(roost_gid_table_fill(gids, mac_a, &addrs), 2);
}

static void gid_table__without_addresses(void **state)
{
	struct roost_prefixes addrs = { .nb = 0 };
	struct roost_gid gids[ROOST_GID_TABLE_LEN];

	assert_int_equal(roost_gid_table_fill(gids, mac_b, &addrs), 1);
	assert_gid(&gids[0], "fe80::11:22ff:fe33:4402");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid_table__order_of_linux),
		cmocka_unit_test(gid_table__one_entry_per_address),
		cmocka_unit_test(gid_table__without_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
