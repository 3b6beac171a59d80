/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/group_frames.h"

#define MS 1000000ull
#define S (1000 * MS)

#define OFF_TYPE 12u
#define OFF_IP 14u
#define OFF_IP_LEN 16u
#define OFF_FRAG 20u
#define OFF_OPTS 34u
#define OFF_IGMP 38u
#define OFF_GROUP 42u
#define OFF_NB_SOURCES 48u

static int parse(const struct golden_frame *f, struct roost_group_msg *msg)
{
	return roost_igmp.parse(group_frame_at_edge(f->bytes, f->len_bytes),
				f->len_bytes, msg);
}

static int parse_fixed(struct golden_frame *f)
{
	struct roost_group_msg msg;

	group_frame_fix_igmp(f->bytes);
	return parse(f, &msg);
}

static void igmp_parse__v3_queries_of_scapy(void **state)
{
	struct roost_group_msg msg;
	struct roost_gid source;

	assert_int_equal(parse(&igmp_v3_general, &msg), 0);
	assert_true(msg.is_query);
	assert_true(msg.is_general);
	assert_int_equal(msg.version, ROOST_GROUP_V3);
	assert_gid(&msg.src, "198.18.0.1");
	assert_gid(&msg.dst, "224.0.0.1");
	assert_int_equal(msg.max_resp_ns, 10 * S);
	assert_int_equal(msg.robustness, 3);
	/* 0x8a is (10 | 16) << (0 + 3) */
	assert_int_equal(msg.query_interval_ns, 208 * S);
	assert_int_equal(msg.nb_sources, 0);

	assert_int_equal(parse(&igmp_v3_group, &msg), 0);
	assert_false(msg.is_general);
	assert_gid(&msg.group, "239.1.1.1");
	assert_int_equal(msg.max_resp_ns, 1 * S);

	assert_int_equal(parse(&igmp_v3_sources, &msg), 0);
	assert_int_equal(msg.nb_sources, 2);
	source = roost_group_msg_source(&msg, 0);
	assert_gid(&source, "10.0.0.1");
	source = roost_group_msg_source(&msg, 1);
	assert_gid(&source, "10.0.0.2");
}

static void igmp_parse__older_queries_of_scapy(void **state)
{
	struct golden_frame f = igmp_v1_general;
	struct roost_group_msg msg;

	assert_int_equal(parse(&igmp_v2_general, &msg), 0);
	assert_int_equal(msg.version, ROOST_GROUP_V2);
	assert_true(msg.is_general);
	assert_int_equal(msg.max_resp_ns, 10 * S);
	assert_int_equal(parse(&igmp_v2_group, &msg), 0);
	assert_false(msg.is_general);
	assert_gid(&msg.group, "239.1.1.1");
	assert_int_equal(parse(&igmp_v1_general, &msg), 0);
	assert_int_equal(msg.version, ROOST_GROUP_V1);
	assert_true(msg.is_general);
	assert_int_equal(msg.max_resp_ns, 10 * S);
	/* A host ignores what stands for the group there (RFC 2236, 2.4). */
	f.bytes[38] = 10;
	group_frame_fix_igmp(f.bytes);
	assert_int_equal(parse(&f, &msg), 0);
	assert_true(msg.is_general);
}

static void igmp_parse__report_of_scapy(void **state)
{
	struct golden_frame f = igmp_v2_report_other;
	struct roost_group_msg msg;

	assert_int_equal(parse(&f, &msg), 0);
	assert_false(msg.is_query);
	assert_int_equal(msg.version, ROOST_GROUP_V2);
	assert_gid(&msg.group, "239.1.1.1");
	assert_int_equal(parse(&igmp_v1_report, &msg), 0);
	assert_int_equal(msg.version, ROOST_GROUP_V1);
	/* About one group, sent to another. */
	f.bytes[OFF_GROUP + 3] ^= 2;
	assert_int_equal(parse_fixed(&f), -EINVAL);
}

/* What routers listen to is nothing to a host. */
static void igmp_parse__leave_and_v3_report_are_nothing(void **state)
{
	struct roost_group_msg msg;

	assert_int_equal(parse(&igmp_v2_leave, &msg), -EINVAL);
	assert_int_equal(parse(&igmp_v3_join, &msg), -EINVAL);
}

static size_t ip_end(const struct golden_frame *f)
{
	return OFF_IP + roost_be16_get(f->bytes + OFF_IP_LEN);
}

static void igmp_parse__every_truncation_fails(void **state)
{
	struct roost_group_msg msg;

	for (size_t len = 0; len < ip_end(&igmp_v3_sources); len++)
		assert_int_equal(roost_igmp.parse(group_frame_at_edge(
							  igmp_v3_sources.bytes,
							  len),
						  len, &msg),
				 -EINVAL);
}

static void igmp_parse__every_flipped_bit_fails(void **state)
{
	struct roost_group_msg msg;
	size_t end = ip_end(&igmp_v3_sources);
	struct golden_frame f;

	for (size_t bit = OFF_TYPE * 8; bit < end * 8; bit++) {
		f = igmp_v3_sources;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(&f, &msg), -EINVAL);
	}
}

/* RFC 3376, 9.1: else it could come from far away. */
static void igmp_parse__query_needs_router_alert(void **state)
{
	struct golden_frame f = igmp_v3_general;

	f.bytes[OFF_OPTS] = 0x95;
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v2_general;
	f.bytes[OFF_OPTS + 3] = 1;
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v2_general;
	f.bytes[OFF_OPTS + 1] = 0; /* an option of no length */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f.bytes[OFF_OPTS + 1] = 5; /* longer than the header */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	/* Behind no-operations it would be cut short. */
	memcpy(f.bytes + OFF_OPTS, "\x01\x94\x04\x00", 4);
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v2_report_other; /* reports are not that dear */
	f.bytes[OFF_OPTS] = 0x95;
	assert_int_equal(parse_fixed(&f), 0);
}

static void igmp_parse__bad_fields_fail(void **state)
{
	struct golden_frame f = igmp_v3_sources;

	f.bytes[OFF_NB_SOURCES + 1] = 3; /* more than there are */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f.bytes[OFF_NB_SOURCES] = 0xff;
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v3_group;
	f.bytes[OFF_GROUP] = 10; /* no group */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v3_general;
	f.bytes[OFF_FRAG] = 0x20; /* more fragments */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = igmp_v3_general;
	f.bytes[26] = 239; /* from a group */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	/* A header shorter than one is: IGMP would begin in its addresses. */
	f = igmp_v1_general;
	f.bytes[OFF_IP] = 0x44;
	f.bytes[OFF_IP_LEN + 1] = 16 + 8;
	memcpy(f.bytes + 30, "\x11\x00", 2);
	assert_int_equal(parse_fixed(&f), -EINVAL);
}

/* RFC 3376, 7.1: a length between those of V2 and V3 is no version. */
static void igmp_parse__length_says_the_version(void **state)
{
	static const struct {
		uint8_t igmp_bytes;
		int ret;
	} rows[] = { { 7, -EINVAL },  { 8, 0 },        { 9, -EINVAL },
		     { 10, -EINVAL }, { 11, -EINVAL }, { 12, 0 },
		     { 20, 0 } };
	struct golden_frame f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f = igmp_v3_general;
		f.bytes[OFF_IP_LEN + 1] = (uint8_t)(24 + rows[i].igmp_bytes);
		assert_int_equal(parse_fixed(&f), rows[i].ret);
	}
}

static void group_code8__is_floating_point(void **state)
{
	assert_int_equal(roost_group_code8(0), 0);
	assert_int_equal(roost_group_code8(127), 127);
	assert_int_equal(roost_group_code8(0x80), 128);
	assert_int_equal(roost_group_code8(0xc9), 3200);
	assert_int_equal(roost_group_code8(0xff), 31744);
}

static void igmp_build__equals_scapy(void **state)
{
	group_check_build(&roost_igmp, ROOST_GROUP_V1, false, &igmp_v1_report);
	group_check_build(&roost_igmp, ROOST_GROUP_V2, false, &igmp_v2_report);
	group_check_build(&roost_igmp, ROOST_GROUP_V2, true, &igmp_v2_leave);
}

static void igmp_report__equals_scapy(void **state)
{
	const struct roost_gid sources[] = { addr("10.0.0.1"),
					     addr("10.0.0.2") };

	group_check_report(&roost_igmp, ROOST_GROUP_TO_EXCLUDE, &igmp_v3_join,
			   NULL, NULL);
	group_check_report(&roost_igmp, ROOST_GROUP_TO_INCLUDE, &igmp_v3_leave,
			   NULL, NULL);
	group_check_report(&roost_igmp, ROOST_GROUP_IS_EXCLUDE, &igmp_v3_two,
			   "232.7.8.9", sources);
}

static void igmp_report__fills_the_mtu_and_no_more(void **state)
{
	struct roost_group_sender self = group_host_v4();
	struct roost_gid group = addr("239.1.1.1");
	struct roost_group_report r;
	unsigned int nb = 0;

	roost_igmp.report_begin(&r, 1500);
	while (roost_group_report_add(&r, ROOST_GROUP_IS_EXCLUDE, &group, NULL,
				      0))
		nb++;
	/* 1500 less 24 of IP and 8 of IGMP, by 8 */
	assert_int_equal(nb, 183);
	assert_int_equal(roost_igmp.report_end(&r, &self),
			 14 + 24 + 8 + 183 * 8);
	/* A jumbo frame is no reason for a longer one. */
	roost_igmp.report_begin(&r, 9000);
	for (nb = 0; roost_group_report_add(&r, ROOST_GROUP_IS_EXCLUDE, &group,
					    NULL, 0);)
		nb++;
	assert_int_equal(nb, 183);
	/* One record is always possible. */
	roost_igmp.report_begin(&r, 0);
	assert_true(roost_group_report_add(&r, ROOST_GROUP_IS_EXCLUDE, &group,
					   NULL, 0));
	assert_false(roost_group_report_add(&r, ROOST_GROUP_IS_EXCLUDE, &group,
					    NULL, 0));
}

/* Damaged frames with right checksums, each at the edge of a page. */
static void igmp_parse__fuzz_stays_inside(void **state)
{
	static const struct golden_frame *const seeds[] = {
		&igmp_v3_general, &igmp_v3_sources,      &igmp_v2_group,
		&igmp_v1_general, &igmp_v2_report_other, &igmp_v3_two,
	};
	unsigned int taken = 0;

	srandom(1);
	for (unsigned int i = 0; i < 300000; i++) {
		struct golden_frame f = *seeds[i % 6];
		size_t len = f.len_bytes;
		struct roost_group_msg msg;
		const uint8_t *frame;

		for (long n = random() % 4; n >= 0; n--)
			f.bytes[14 + (size_t)random() % (len - 14)] =
				(uint8_t)random();
		if (ip_end(&f) <= sizeof(f.bytes) &&
		    ip_end(&f) >= OFF_IP + (f.bytes[14] & 0xfu) * 4)
			group_frame_fix_igmp(f.bytes);
		len = (size_t)random() % 3 ? len : (size_t)random() % len;
		frame = group_frame_at_edge(f.bytes, len);
		if (roost_igmp.parse(frame, len, &msg) != 0)
			continue;
		taken++;
		for (unsigned int s = 0; s < msg.nb_sources; s++)
			roost_group_msg_source(&msg, s);
		assert_true(msg.is_general ||
			    roost_gid_is_multicast(&msg.group));
		assert_true(roost_gid_is_v4(&msg.src));
	}
	assert_true(taken > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(igmp_parse__v3_queries_of_scapy),
		cmocka_unit_test(igmp_parse__older_queries_of_scapy),
		cmocka_unit_test(igmp_parse__report_of_scapy),
		cmocka_unit_test(igmp_parse__leave_and_v3_report_are_nothing),
		cmocka_unit_test(igmp_parse__every_truncation_fails),
		cmocka_unit_test(igmp_parse__every_flipped_bit_fails),
		cmocka_unit_test(igmp_parse__query_needs_router_alert),
		cmocka_unit_test(igmp_parse__bad_fields_fail),
		cmocka_unit_test(igmp_parse__length_says_the_version),
		cmocka_unit_test(group_code8__is_floating_point),
		cmocka_unit_test(igmp_build__equals_scapy),
		cmocka_unit_test(igmp_report__equals_scapy),
		cmocka_unit_test(igmp_report__fills_the_mtu_and_no_more),
		cmocka_unit_test(igmp_parse__fuzz_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
