/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/membership_world.h"

/* ---- join and leave ---------------------------------------------------- */

static void join__reports_at_once_and_again(void **state)
{
	uint64_t t = world.now_ns;

	assert_int_equal(world_join("239.1.1.1"), 0);
	assert_int_equal(world_join("ff0e::1:1"), 0);
	world_advance(0);
	assert_int_equal(world.nb, 2);
	world_assert_said(0, TO_EX, "239.1.1.1", t, 0);
	world_assert_said(1, TO_EX, "ff0e::1:1", t, 0);
	world_advance(100 * S);
	assert_int_equal(world.nb, 4);
	assert_int_equal(world_count(TO_EX, "239.1.1.1"), 2);
	assert_int_equal(world_count(TO_EX, "ff0e::1:1"), 2);
	assert_in_range(world.v[2].at_ns, t + 1, t + 1 * S);
	assert_in_range(world.v[3].at_ns, t + 1, t + 1 * S);
}

static void join__twice_is_once(void **state)
{
	world_settle("239.1.1.1");
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(10 * S);
	assert_int_equal(world.nb, 0);
	world_leave("239.1.1.1");
	world_advance(10 * S);
	assert_int_equal(world_count(TO_IN, "239.1.1.1"), 2);
}

static void leave__reports_at_once_and_again(void **state)
{
	uint64_t t;

	world_settle("239.1.1.1");
	world_settle("ff0e::1:1");
	t = world.now_ns;
	world_leave("239.1.1.1");
	world_leave("ff0e::1:1");
	world_advance(0);
	assert_int_equal(world.nb, 2);
	world_assert_said(0, TO_IN, "239.1.1.1", t, 0);
	world_assert_said(1, TO_IN, "ff0e::1:1", t, 0);
	world_advance(100 * S);
	assert_int_equal(world.nb, 4);
	assert_in_range(world.v[3].at_ns, t + 1, t + 1 * S);
	/* Then nothing of them is left. */
	assert_false(world_leave_all());
}

static void leave__of_no_member_is_nothing(void **state)
{
	world_leave("239.1.1.1");
	world_advance(10 * S);
	assert_int_equal(world.nb, 0);
}

/* What is repeated is what holds then. */
static void join__after_leave_reports_the_join(void **state)
{
	world_settle("239.1.1.1");
	world_leave("239.1.1.1");
	world_advance(0);
	world_forget_said();
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(10 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(TO_EX, "239.1.1.1"), 2);
}

static void join__group_of_all_hosts_is_silent(void **state)
{
	static const char *const silent[] = { "224.0.0.1", "ff02::1", "ff01::5",
					      "ff10::5" };

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(world_join(silent[i]), 0);
	world_input(&igmp_v3_general);
	world_input(&mld_v2_general);
	world_advance(20 * S);
	world_input(&igmp_v2_general);
	world_input(&mld_v1_general);
	world_advance(20 * S);
	for (unsigned int i = 0; i < 4; i++)
		world_leave(silent[i]);
	world_advance(20 * S);
	assert_int_equal(world.nb, 0);
	/* Of the same prefix, but not for all hosts. */
	assert_int_equal(world_join("224.0.0.2"), 0);
	assert_int_equal(world_join("ff02::2"), 0);
	world_advance(0);
	assert_int_equal(world.nb, 2);
}

static void join__is_bounded(void **state)
{
	struct roost_gid group = addr("239.0.0.0");
	unsigned int i;

	for (i = 0; i < ROOST_GROUPS_MAX; i++) {
		roost_be32_put(&group.b[12], 0xef000000u + i);
		assert_int_equal(roost_membership_join(world.m, &group,
						       world.now_ns),
				 0);
	}
	assert_int_equal(world_join("ff0e::1:1"), -ENOSPC);
	assert_int_equal(world_join("239.0.0.1"), 0); /* it is in already */
	/* One that is only left in name makes room. */
	world_leave("239.0.0.1");
	assert_int_equal(world_join("ff0e::1:1"), 0);
	assert_int_equal(world_join("ff0e::1:2"), -ENOSPC);
}

/* ---- link, end, filter ------------------------------------------------- */

static void link_up__reports_all_anew(void **state)
{
	world_input(&igmp_v2_general);
	world_settle("239.1.1.1");
	world_settle("ff0e::1:1");
	roost_membership_link_up(world.m, world.now_ns);
	world_advance(20 * S);
	/* The querier of the old link may not be on the new one. */
	assert_int_equal(world.nb, 4);
	assert_int_equal(world_count(TO_EX, "239.1.1.1"), 2);
	assert_int_equal(world_count(TO_EX, "ff0e::1:1"), 2);
}

static void leave_all__leaves_at_once(void **state)
{
	uint64_t t;

	world_settle("239.1.1.1");
	world_settle("239.1.1.2");
	world_settle("ff0e::1:1");
	world_leave("239.1.1.2");
	world_advance(0);
	world_forget_said();
	t = world.now_ns;
	assert_true(world_leave_all());
	assert_int_equal(world.nb, 3);
	world_assert_said(0, TO_IN, "239.1.1.1", t, 0);
	world_assert_said(1, TO_IN, "239.1.1.2", t, 0);
	world_assert_said(2, TO_IN, "ff0e::1:1", t, 0);
	assert_false(world_leave_all());
	world_advance(100 * S);
	assert_int_equal(world.nb, 3);
}

static void macs__are_those_of_members(void **state)
{
	static const uint8_t want[3][6] = {
		{ 0x01, 0x00, 0x5e, 0x01, 0x01, 0x01 },
		{ 0x01, 0x00, 0x5e, 0x00, 0x00, 0x01 },
		{ 0x33, 0x33, 0x00, 0x01, 0x00, 0x01 },
	};
	uint8_t macs[3][6];

	assert_int_equal(roost_membership_macs(world.m, macs, 3), 0);
	world_settle("239.1.1.1");
	world_settle("224.129.1.1"); /* the same MAC */
	world_settle("224.0.0.1");
	world_settle("ff0e::1:1");
	world_settle("ff0e::2");
	world_leave("ff0e::2");
	assert_int_equal(roost_membership_macs(world.m, macs, 3), 3);
	assert_memory_equal(macs, want, sizeof(want));
	assert_int_equal(roost_membership_macs(world.m, macs, 2), 3);
	assert_true(roost_membership_macs(world.m, macs, 1) > 1);
}

/* Another MAC, another MTU: what is our own voice, and how much of it fits. */
static void set_port__from_here_on(void **state)
{
	struct roost_membership_conf conf = {
		.mac = { 2, 9, 9, 9, 9, 9 },
		.ipv4 = group_host_v4().ip,
		.ipv6 = group_host_v6().ip,
		.ip_mtu_bytes = 600,
	};
	struct golden_frame f = igmp_v3_general;
	char text[32];

	for (unsigned int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "239.1.1.%u", i);
		assert_int_equal(world_join(text), 0);
	}
	world_advance(30 * S);
	world_forget_said();
	roost_membership_set_port(world.m, &conf);
	memcpy(f.bytes + 6, conf.mac, 6);
	world_input(&f);
	world_advance(30 * S);
	assert_int_equal(world.nb, 0);
	world.longest_bytes = 0;
	memcpy(f.bytes + 6, group_host_v4().mac, 6);
	world_input(&f);
	world_advance(30 * S);
	assert_int_equal(world.nb, 200);
	assert_in_range(world.longest_bytes, 500, 614);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join__reports_at_once_and_again),
		TEST(join__twice_is_once),
		TEST(leave__reports_at_once_and_again),
		TEST(leave__of_no_member_is_nothing),
		TEST(join__after_leave_reports_the_join),
		TEST(join__group_of_all_hosts_is_silent),
		TEST(join__is_bounded),
		TEST(link_up__reports_all_anew),
		TEST(leave_all__leaves_at_once),
		TEST(macs__are_those_of_members),
		TEST(set_port__from_here_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
