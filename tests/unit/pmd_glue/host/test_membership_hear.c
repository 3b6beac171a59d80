/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/membership_world.h"

/* RFC 3376, 8.12: 2 * 125 s + 10 s */
#define OLDER_QUERIER_NS (260 * S)

/* ---- queries of the newest version ------------------------------------- */

static void query__general_is_answered_once_for_all(void **state)
{
	uint64_t t;

	world_settle("239.1.1.1");
	world_settle("239.1.1.2");
	world_settle("ff0e::1:1");
	t = world.now_ns;
	world_input(&igmp_v3_general);
	world_advance(100 * S);
	assert_int_equal(world.nb_frames, 1);
	assert_int_equal(world.nb, 2);
	world_assert_said(0, IS_EX, "239.1.1.1", t + 1, 10 * S);
	world_assert_said(1, IS_EX, "239.1.1.2", t + 1, 10 * S);
	world_forget_said();
	t = world.now_ns;
	world_input(&mld_v2_general);
	world_advance(100 * S);
	assert_int_equal(world.nb, 1);
	world_assert_said(0, IS_EX, "ff0e::1:1", t + 1, 10 * S);
}

static void query__of_a_group_is_answered_for_it(void **state)
{
	uint64_t t;

	world_settle("239.1.1.1");
	world_settle("239.1.1.2");
	world_settle("ff0e::1:1");
	t = world.now_ns;
	world_input(&igmp_v3_group);
	world_input(&mld_v2_group);
	world_advance(100 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
	assert_int_equal(world_count(IS_EX, "ff0e::1:1"), 1);
	assert_in_range(world.v[1].at_ns, t + 1, t + 1 * S);
}

static void query__of_no_member_is_not_answered(void **state)
{
	struct golden_frame soon = igmp_v3_general;

	world_settle("239.1.1.2");
	world_input(&igmp_v3_group);
	world_advance(10 * S);
	assert_int_equal(world.nb, 0);
	/* Not even for what was left a moment ago. */
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(10 * S);
	world_forget_said();
	world_input(&igmp_v3_group);
	soon.bytes[39] = 1; /* within 100 ms */
	group_frame_fix_igmp(soon.bytes);
	world_leave("239.1.1.1");
	world_input(&igmp_v3_group);
	world_input(&soon);
	world_advance(10 * S);
	assert_int_equal(world_count(TO_IN, "239.1.1.1"), 2);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 0);
	assert_int_equal(world_count(IS_EX, "239.1.1.2"), 1);
}

static void query__of_a_silent_group_is_not_answered(void **state)
{
	struct golden_frame f = igmp_v3_group;

	world_settle("224.0.0.1");
	memcpy(f.bytes + 42, (uint8_t[]){ 224, 0, 0, 1 }, 4);
	group_frame_fix_igmp(f.bytes);
	world_input(&f);
	world_advance(10 * S);
	assert_int_equal(world.nb, 0);
}

/* RFC 3376, 5.2: we have them all, so we have those that are asked for. */
static void query__of_sources_is_answered_for_them(void **state)
{
	world_settle("239.1.1.1");
	world_settle("ff0e::1:1");
	world_input(&igmp_v3_sources);
	world_input(&igmp_v3_sources); /* no new ones */
	world_input(&mld_v2_sources);
	world_advance(10 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(IS_IN, "239.1.1.1"), 1);
	assert_int_equal(world_count(IS_IN, "ff0e::1:1"), 1);
	assert_int_equal(world.v[0].nb_sources, 2);
	assert_int_equal(world.v[1].nb_sources, 2);
}

static void query__of_sources_and_of_the_group_are_one(void **state)
{
	world_settle("239.1.1.1");
	world_input(&igmp_v3_sources);
	world_input(&igmp_v3_group);
	world_input(&igmp_v3_sources);
	world_advance(10 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

/* Source number i of a query for 60 sources from 10.0.first.0 on. */
static void input_sources(uint8_t first)
{
	struct golden_frame f = igmp_v3_group;
	uint8_t frame[38 + 12 + 60 * 4];

	memcpy(frame, f.bytes, 38 + 12);
	roost_be16_put(frame + 16, sizeof(frame) - 14);
	roost_be16_put(frame + 48, 60);
	for (uint8_t i = 0; i < 60; i++)
		memcpy(frame + 50 + i * 4, (uint8_t[]){ 10, 0, first, i }, 4);
	group_frame_fix_igmp(frame);
	assert_true(roost_membership_input(world.m, frame, sizeof(frame),
					   world.now_ns));
}

static void query__of_too_many_sources_is_of_the_group(void **state)
{
	world_settle("239.1.1.1");
	input_sources(1);
	world_advance(10 * S);
	assert_int_equal(world_count(IS_IN, "239.1.1.1"), 1);
	assert_int_equal(world.v[0].nb_sources, 60);
	world_forget_said();
	input_sources(1);
	input_sources(2);
	world_advance(10 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

/* Room for the sources that were asked for is in no report of 128 bytes. */
static void query__of_sources_beyond_the_mtu_is_of_the_group(void **state)
{
	roost_membership_destroy(world.m);
	assert_int_equal(world_create(1, 128), 0);
	world_settle("239.1.1.1");
	input_sources(1);
	world_advance(10 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

/* Rule 1: the answer to all that is on its way says it sooner. */
static void query__after_a_general_one_is_in_its_answer(void **state)
{
	struct golden_frame soon = igmp_v3_general;

	world_settle("239.1.1.1");
	soon.bytes[39] = 1; /* within 100 ms */
	group_frame_fix_igmp(soon.bytes);
	for (unsigned int i = 0; i < 20; i++) {
		world_input(&soon);
		world_input(&igmp_v3_general);
		world_advance(20 * S);
	}
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 20);
	world_forget_said();
	world_input(&soon);
	world_input(&igmp_v3_group);
	world_advance(20 * S);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

/* Who asks all the time is answered, too. */
static void query__again_does_not_put_off_the_answer(void **state)
{
	world_settle("239.1.1.1");
	for (unsigned int i = 0; i < 1000; i++) {
		world_input(&igmp_v3_general);
		world_advance(100000);
	}
	assert_true(world.nb != 0);
	world_advance(20 * S);
	world_forget_said();
	for (unsigned int i = 0; i < 1000; i++) {
		world_input(&igmp_v3_group);
		world_advance(100000);
	}
	assert_true(world.nb != 0);
}

static void query__says_the_robustness(void **state)
{
	world_input(&igmp_v3_general); /* 3 */
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(100 * S);
	assert_int_equal(world_count(TO_EX, "239.1.1.1"), 3);
	world_leave("239.1.1.1");
	world_advance(100 * S);
	assert_int_equal(world_count(TO_IN, "239.1.1.1"), 3);
	/* MLD's querier is another one. */
	assert_int_equal(world_join("ff0e::1:1"), 0);
	world_advance(100 * S);
	assert_int_equal(world_count(TO_EX, "ff0e::1:1"), 2);
}

static void query__times_are_spread(void **state)
{
	uint64_t earliest = UINT64_MAX, latest = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t t, d;

		roost_membership_destroy(world.m);
		assert_int_equal(world_create(seed * 0x9e3779b97f4a7c15, 1500),
				 0);
		world_settle("239.1.1.1");
		t = world.now_ns;
		world_input(&igmp_v3_general);
		world_advance(10 * S);
		assert_int_equal(world.nb, 1);
		d = world.v[0].at_ns - t;
		earliest = d < earliest ? d : earliest;
		latest = d > latest ? d : latest;
	}
	assert_true(earliest < 1 * S);
	assert_true(latest > 9 * S);
}

static void query__flood_costs_little(void **state)
{
	struct golden_frame f = igmp_v3_general;

	world_settle("239.1.1.1");
	f.bytes[39] = 0; /* answer at once */
	group_frame_fix_igmp(f.bytes);
	for (unsigned int i = 0; i < 100000; i++) {
		world_input(&f);
		world_advance(10000);
	}
	/* One second of it. */
	assert_in_range(world.nb, 50, 101);
}

static void query__many_groups_share_reports(void **state)
{
	char text[32];

	for (unsigned int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "239.1.1.%u", i);
		assert_int_equal(world_join(text), 0);
	}
	world_advance(30 * S);
	world_forget_said();
	world_input(&igmp_v3_general);
	world_advance(30 * S);
	assert_int_equal(world.nb_frames, 2);
	assert_int_equal(world.nb, 200);
	assert_true(world.longest_bytes <= 1514);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "239.1.1.%u", i);
		assert_int_equal(world_count(IS_EX, text), 1);
	}
}

/* A kernel on the same port speaks from our MAC. */
static void query__from_our_own_mac_is_not_heard(void **state)
{
	struct golden_frame f = igmp_v3_general;

	world_settle("239.1.1.1");
	memcpy(f.bytes + 6, group_host_v4().mac, 6);
	world_input(&f);
	world_advance(30 * S);
	assert_int_equal(world.nb, 0);
}

static void query__to_another_host_is_not_heard(void **state)
{
	struct golden_frame f = igmp_v3_general;

	world_settle("239.1.1.1");
	memcpy(f.bytes + 30, (uint8_t[]){ 198, 18, 0, 77 }, 4);
	group_frame_fix_igmp(f.bytes);
	world_input(&f);
	world_advance(30 * S);
	assert_int_equal(world.nb, 0);
	/* RFC 3376, 4.1.12: but to one of our addresses. */
	memcpy(f.bytes + 30, (uint8_t[]){ 198, 18, 0, 2 }, 4);
	group_frame_fix_igmp(f.bytes);
	world_input(&f);
	world_advance(30 * S);
	assert_int_equal(world.nb, 1);
}

static void input__other_frames_are_not_ours(void **state)
{
	assert_false(roost_membership_input(world.m, igmp_v3_join.bytes,
					    igmp_v3_join.len_bytes,
					    world.now_ns));
}

/* ---- queriers of older versions ---------------------------------------- */

static void v2__join_and_leave(void **state)
{
	uint64_t t;

	world_input(&igmp_v2_general);
	world_input(&mld_v1_general);
	t = world.now_ns;
	assert_int_equal(world_join("239.1.1.1"), 0);
	assert_int_equal(world_join("ff0e::1:1"), 0);
	world_advance(0);
	assert_int_equal(world.nb, 2);
	world_assert_said(0, V2_REPORT, "239.1.1.1", t, 0);
	world_assert_said(1, MLD1_REPORT, "ff0e::1:1", t, 0);
	world_advance(10 * S);
	assert_int_equal(world.nb, 4);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 2);
	assert_int_equal(world_count(MLD1_REPORT, "ff0e::1:1"), 2);
	world_forget_said();
	world_leave("239.1.1.1");
	world_leave("ff0e::1:1");
	world_advance(30 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(V2_LEAVE, "239.1.1.1"), 1);
	assert_int_equal(world_count(MLD1_DONE, "ff0e::1:1"), 1);
}

static void v2__query_is_answered_group_by_group(void **state)
{
	uint64_t t;

	world_settle("239.1.1.1");
	world_settle("239.1.1.2");
	t = world.now_ns;
	world_input(&igmp_v2_general);
	world_advance(30 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.2"), 1);
	assert_in_range(world.v[0].at_ns, t + 1, t + 10 * S);
	assert_in_range(world.v[1].at_ns, t + 1, t + 10 * S);
	assert_int_not_equal(world.v[0].at_ns, world.v[1].at_ns);
	world_forget_said();
	t = world.now_ns;
	world_input(&igmp_v2_general);
	world_input(&igmp_v2_group); /* wants it sooner */
	world_advance(30 * S);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	for (unsigned int i = 0; i < world.nb; i++)
		if (world.v[i].group.b[15] == 1)
			assert_in_range(world.v[i].at_ns, t + 1, t + 1 * S);
}

/* RFC 2236, 3: one report is enough. */
static void v2__report_of_another_makes_ours_needless(void **state)
{
	world_input(&igmp_v2_general);
	world_input(&mld_v1_general);
	world_settle("239.1.1.1");
	world_settle("ff0e::1:1");
	world_input(&igmp_v2_group);
	world_input(&igmp_v2_report_other);
	world_input(&mld_v1_general);
	world_input(&mld_v1_report_other);
	world_advance(30 * S);
	assert_int_equal(world.nb, 0);
	world_leave("239.1.1.1");
	world_leave("ff0e::1:1");
	world_advance(30 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(V2_LEAVE, "239.1.1.1"), 1);
	assert_int_equal(world_count(MLD1_DONE, "ff0e::1:1"), 1);
}

static void v2__report_of_another_ends_the_repetition(void **state)
{
	world_input(&igmp_v2_general);
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(0);
	world_input(&igmp_v2_report_other);
	world_advance(30 * S);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
}

static void v3__report_of_another_changes_nothing(void **state)
{
	world_settle("239.1.1.1");
	world_input(&igmp_v3_group);
	world_input(&igmp_v2_report_other);
	world_advance(30 * S);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

static void v1__has_no_leave(void **state)
{
	world_input(&igmp_v1_general);
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(20 * S);
	assert_int_equal(world.nb, 2);
	assert_int_equal(world_count(V1_REPORT, "239.1.1.1"), 2);
	world_forget_said();
	world_input(&igmp_v1_general);
	world_advance(20 * S);
	assert_int_equal(world_count(V1_REPORT, "239.1.1.1"), 1);
	world_forget_said();
	world_leave("239.1.1.1");
	world_advance(20 * S);
	assert_int_equal(world.nb, 0);
}

static void older__querier_counts_for_its_time(void **state)
{
	world_input(&igmp_v2_general);
	world_advance(OLDER_QUERIER_NS - 1);
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(0);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	/* Its repetition belongs to a version that is not spoken any more. */
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_join("239.1.1.2"), 0);
	world_advance(20 * S);
	assert_int_equal(world_count(TO_EX, "239.1.1.2"), 2);
	world_leave("239.1.1.1");
	world_advance(20 * S);
	assert_int_equal(world_count(TO_IN, "239.1.1.1"), 2);
}

/* Three times 208 s, and 10 s. */
static void older__time_is_what_the_last_querier_said(void **state)
{
	world_input(&igmp_v3_general);
	world_input(&igmp_v2_general);
	world_advance(634 * S - 1);
	assert_int_equal(world_join("239.1.1.1"), 0);
	world_advance(0);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	world_advance(1);
	assert_int_equal(world_join("239.1.1.2"), 0);
	world_advance(0);
	assert_int_equal(world_count(TO_EX, "239.1.1.2"), 1);
}

static void older__oldest_querier_counts(void **state)
{
	world_settle("239.1.1.1");
	world_input(&igmp_v1_general);
	world_advance(100 * S);
	assert_int_equal(world_count(V1_REPORT, "239.1.1.1"), 1);
	world_forget_said();
	world_input(&igmp_v2_general);
	world_input(&igmp_v3_general);
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(V1_REPORT, "239.1.1.1"), 1);
	/* V1's time is over, V2's is not: 160 s less 20 s, then 100 s. */
	world_forget_said();
	world_advance(141 * S);
	world_input(&igmp_v3_group);
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	world_advance(100 * S);
	world_forget_said();
	world_input(&igmp_v3_group);
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

/* RFC 3376, 7.2.1: only a general query tells of a querier. */
static void older__query_of_a_group_changes_no_version(void **state)
{
	world_settle("239.1.1.1");
	world_input(&igmp_v2_group);
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(IS_EX, "239.1.1.1"), 1);
}

static void older__change_cancels_what_is_pending(void **state)
{
	world_settle("239.1.1.1");
	world_settle("239.1.1.2");
	world_leave("239.1.1.2");
	world_advance(0);
	world_input(&igmp_v3_group);
	world_forget_said();
	world_input(&igmp_v2_general);
	world_advance(20 * S);
	assert_int_equal(world.nb, 1);
	assert_int_equal(world_count(V2_REPORT, "239.1.1.1"), 1);
	world_leave("239.1.1.1");
	world_advance(20 * S);
	assert_false(world_leave_all());
}

static void older__families_have_queriers_of_their_own(void **state)
{
	world_input(&igmp_v2_general);
	assert_int_equal(world_join("ff0e::1:1"), 0);
	world_advance(0);
	assert_int_equal(world_count(TO_EX, "ff0e::1:1"), 1);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(query__general_is_answered_once_for_all),
		TEST(query__of_a_group_is_answered_for_it),
		TEST(query__of_no_member_is_not_answered),
		TEST(query__of_a_silent_group_is_not_answered),
		TEST(query__of_sources_is_answered_for_them),
		TEST(query__of_sources_and_of_the_group_are_one),
		TEST(query__of_too_many_sources_is_of_the_group),
		TEST(query__of_sources_beyond_the_mtu_is_of_the_group),
		TEST(query__after_a_general_one_is_in_its_answer),
		TEST(query__again_does_not_put_off_the_answer),
		TEST(query__says_the_robustness),
		TEST(query__times_are_spread),
		TEST(query__flood_costs_little),
		TEST(query__many_groups_share_reports),
		TEST(query__from_our_own_mac_is_not_heard),
		TEST(query__to_another_host_is_not_heard),
		TEST(input__other_frames_are_not_ours),
		TEST(v2__join_and_leave),
		TEST(v2__query_is_answered_group_by_group),
		TEST(v2__report_of_another_makes_ours_needless),
		TEST(v2__report_of_another_ends_the_repetition),
		TEST(v3__report_of_another_changes_nothing),
		TEST(v1__has_no_leave),
		TEST(older__querier_counts_for_its_time),
		TEST(older__time_is_what_the_last_querier_said),
		TEST(older__oldest_querier_counts),
		TEST(older__query_of_a_group_changes_no_version),
		TEST(older__change_cancels_what_is_pending),
		TEST(older__families_have_queriers_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
