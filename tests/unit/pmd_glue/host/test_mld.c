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

#define OFF_IP_LEN 18u
#define OFF_HOPS 21u
#define OFF_SRC 22u
#define OFF_EXT 54u
#define OFF_ALERT 56u
#define OFF_MLD 62u
#define OFF_CODE 66u
#define OFF_GROUP 70u
#define OFF_NB_SOURCES 88u

static int parse(const struct golden_frame *f, struct roost_group_msg *msg)
{
	return roost_mld.parse(group_frame_at_edge(f->bytes, f->len_bytes),
			       f->len_bytes, msg);
}

static int parse_fixed(struct golden_frame *f)
{
	struct roost_group_msg msg;

	group_frame_fix_mld(f->bytes);
	return parse(f, &msg);
}

static void mld_parse__v2_queries_of_scapy(void **state)
{
	struct roost_group_msg msg;
	struct roost_gid source;

	assert_int_equal(parse(&mld_v2_general, &msg), 0);
	assert_true(msg.is_query);
	assert_true(msg.is_general);
	assert_int_equal(msg.version, ROOST_GROUP_V3);
	assert_gid(&msg.src, "fe80::1");
	assert_gid(&msg.dst, "ff02::1");
	assert_int_equal(msg.max_resp_ns, 10 * S);
	assert_int_equal(msg.robustness, 3);
	assert_int_equal(msg.query_interval_ns, 208 * S);

	assert_int_equal(parse(&mld_v2_group, &msg), 0);
	assert_false(msg.is_general);
	assert_gid(&msg.group, "ff0e::1:1");
	assert_int_equal(msg.max_resp_ns, 1 * S);

	assert_int_equal(parse(&mld_v2_sources, &msg), 0);
	assert_int_equal(msg.nb_sources, 2);
	source = roost_group_msg_source(&msg, 0);
	assert_gid(&source, "2001:db8::1");
	source = roost_group_msg_source(&msg, 1);
	assert_gid(&source, "2001:db8::2");
}

static void mld_parse__v1_of_scapy(void **state)
{
	struct golden_frame f = mld_v1_report_other;
	struct roost_group_msg msg;

	assert_int_equal(parse(&mld_v1_general, &msg), 0);
	assert_int_equal(msg.version, ROOST_GROUP_V2);
	assert_true(msg.is_query);
	assert_true(msg.is_general);
	assert_int_equal(msg.max_resp_ns, 10 * S);
	assert_int_equal(parse(&f, &msg), 0);
	assert_false(msg.is_query);
	assert_int_equal(msg.version, ROOST_GROUP_V2);
	assert_gid(&msg.group, "ff0e::1:1");
	/* About one group, sent to another. */
	f.bytes[OFF_GROUP + 15] ^= 2;
	assert_int_equal(parse_fixed(&f), -EINVAL);
}

static void mld_parse__response_time_is_floating_point(void **state)
{
	struct golden_frame f = mld_v2_general;
	struct roost_group_msg msg;

	roost_be16_put(f.bytes + OFF_CODE, 0x7fff);
	assert_int_equal(parse_fixed(&f), 0);
	assert_int_equal(parse(&f, &msg), 0);
	assert_int_equal(msg.max_resp_ns, 32767 * MS);
	roost_be16_put(f.bytes + OFF_CODE, 0x8000);
	assert_int_equal(parse_fixed(&f), 0);
	assert_int_equal(parse(&f, &msg), 0);
	assert_int_equal(msg.max_resp_ns, 32768 * MS);
	roost_be16_put(f.bytes + OFF_CODE, 0xffff);
	assert_int_equal(parse_fixed(&f), 0);
	assert_int_equal(parse(&f, &msg), 0);
	assert_int_equal(msg.max_resp_ns, 8387584 * MS);
	/* In MLDv1 it is a plain number. */
	f = mld_v1_general;
	roost_be16_put(f.bytes + OFF_CODE, 0xffff);
	assert_int_equal(parse_fixed(&f), 0);
	assert_int_equal(parse(&f, &msg), 0);
	assert_int_equal(msg.max_resp_ns, 65535 * MS);
}

static void mld_parse__done_and_v2_report_are_nothing(void **state)
{
	struct roost_group_msg msg;

	assert_int_equal(parse(&mld_v1_done, &msg), -EINVAL);
	assert_int_equal(parse(&mld_v2_join, &msg), -EINVAL);
}

static void mld_parse__every_truncation_fails(void **state)
{
	struct roost_group_msg msg;

	for (size_t len = 0; len < mld_v2_sources.len_bytes; len++)
		assert_int_equal(roost_mld.parse(group_frame_at_edge(
							 mld_v2_sources.bytes,
							 len),
						 len, &msg),
				 -EINVAL);
}

static void mld_parse__every_flipped_bit_fails(void **state)
{
	struct roost_group_msg msg;
	struct golden_frame f;

	/* Hop limit, addresses, message; the checksum covers no more. */
	for (size_t bit = OFF_HOPS * 8; bit < mld_v2_sources.len_bytes * 8;
	     bit++) {
		if (bit == OFF_EXT * 8)
			bit = OFF_MLD * 8;
		f = mld_v2_sources;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(&f, &msg), -EINVAL);
	}
}

/* RFC 3810, 6.2: all of this a query must have. */
static void mld_parse__not_from_this_link_fails(void **state)
{
	struct roost_gid source = addr("2001:db8::1");
	struct golden_frame f = mld_v2_general;

	f.bytes[OFF_HOPS] = 2;
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_general;
	memcpy(f.bytes + OFF_SRC, source.b, 16);
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_general;
	memset(f.bytes + OFF_SRC, 0, 16);
	assert_int_equal(parse_fixed(&f), -EINVAL);
	/* A host without an address yet may report. */
	f = mld_v1_report_other;
	memset(f.bytes + OFF_SRC, 0, 16);
	assert_int_equal(parse_fixed(&f), 0);
}

static void mld_parse__needs_router_alert(void **state)
{
	struct golden_frame f = mld_v2_general;

	f.bytes[OFF_ALERT] = 7; /* another option */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_general;
	f.bytes[OFF_ALERT + 3] = 1; /* not of MLD */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_general;
	f.bytes[OFF_ALERT + 1] = 5; /* longer than the header */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_general;
	f.bytes[OFF_EXT] = 17; /* UDP behind it */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	/* The pads may stand first. */
	f = mld_v2_general;
	memcpy(f.bytes + OFF_ALERT, "\x01\x00\x05\x02\x00\x00", 6);
	assert_int_equal(parse_fixed(&f), 0);
	memcpy(f.bytes + OFF_ALERT, "\x00\x00\x05\x02\x00\x00", 6);
	assert_int_equal(parse_fixed(&f), 0);
}

static void mld_parse__bad_fields_fail(void **state)
{
	struct golden_frame f = mld_v2_sources;

	f.bytes[OFF_NB_SOURCES + 1] = 3; /* more than there are */
	assert_int_equal(parse_fixed(&f), -EINVAL);
	f = mld_v2_group;
	f.bytes[OFF_GROUP] = 0xfe; /* no group */
	assert_int_equal(parse_fixed(&f), -EINVAL);
}

/* RFC 3810, 8.1: a length between those of MLDv1 and MLDv2 is no version. */
static void mld_parse__length_says_the_version(void **state)
{
	struct golden_frame f;

	for (uint8_t len = 23; len <= 28; len++) {
		f = mld_v2_general;
		f.bytes[OFF_IP_LEN + 1] = (uint8_t)(8 + len);
		assert_int_equal(parse_fixed(&f),
				 len == 24 || len == 28 ? 0 : -EINVAL);
	}
}

static void mld_build__equals_scapy(void **state)
{
	group_check_build(&roost_mld, ROOST_GROUP_V2, false, &mld_v1_report);
	group_check_build(&roost_mld, ROOST_GROUP_V2, true, &mld_v1_done);
}

static void mld_report__equals_scapy(void **state)
{
	const struct roost_gid sources[] = { addr("2001:db8::1"),
					     addr("2001:db8::2") };

	group_check_report(&roost_mld, ROOST_GROUP_TO_EXCLUDE, &mld_v2_join,
			   NULL, NULL);
	group_check_report(&roost_mld, ROOST_GROUP_TO_INCLUDE, &mld_v2_leave,
			   NULL, NULL);
	group_check_report(&roost_mld, ROOST_GROUP_IS_EXCLUDE, &mld_v2_two,
			   "ff3e::7", sources);
}

static void mld_report__fills_the_mtu_and_no_more(void **state)
{
	struct roost_gid group = addr("ff0e::1:1");
	struct roost_group_sender self = group_host_v6();
	struct roost_group_report r;
	unsigned int nb = 0;

	roost_mld.report_begin(&r, 1280);
	while (roost_group_report_add(&r, ROOST_GROUP_IS_EXCLUDE, &group, NULL,
				      0))
		nb++;
	/* 1280 less 40 of IP, 8 of the option, 8 of MLD, by 20 */
	assert_int_equal(nb, 61);
	assert_int_equal(roost_mld.report_end(&r, &self),
			 14 + 40 + 8 + 8 + 61 * 20);
}

/* Damaged frames with right checksums, each at the edge of a page. */
static void mld_parse__fuzz_stays_inside(void **state)
{
	static const struct golden_frame *const seeds[] = {
		&mld_v2_general, &mld_v2_group,        &mld_v2_sources,
		&mld_v1_general, &mld_v1_report_other, &mld_v2_two,
	};
	unsigned int taken = 0;

	srandom(1);
	for (unsigned int i = 0; i < 300000; i++) {
		struct golden_frame f = *seeds[i % 6];
		size_t len = f.len_bytes;
		struct roost_group_msg msg;
		const uint8_t *frame;
		size_t ip_bytes;

		for (long n = random() % 4; n >= 0; n--)
			f.bytes[18 + (size_t)random() % (len - 18)] =
				(uint8_t)random();
		ip_bytes = roost_be16_get(f.bytes + OFF_IP_LEN);
		if (OFF_EXT + ip_bytes <= sizeof(f.bytes) &&
		    ip_bytes >= (f.bytes[OFF_EXT + 1] + 1u) * 8 + 4)
			group_frame_fix_mld(f.bytes);
		len = (size_t)random() % 3 ? len : (size_t)random() % len;
		frame = group_frame_at_edge(f.bytes, len);
		if (roost_mld.parse(frame, len, &msg) != 0)
			continue;
		taken++;
		for (unsigned int s = 0; s < msg.nb_sources; s++)
			roost_group_msg_source(&msg, s);
		assert_true(msg.is_general || msg.group.b[0] == 0xff);
		assert_true(roost_gid_is_link_local(&msg.src) ||
			    roost_gid_is_zero(&msg.src));
	}
	assert_true(taken > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mld_parse__v2_queries_of_scapy),
		cmocka_unit_test(mld_parse__v1_of_scapy),
		cmocka_unit_test(mld_parse__response_time_is_floating_point),
		cmocka_unit_test(mld_parse__done_and_v2_report_are_nothing),
		cmocka_unit_test(mld_parse__every_truncation_fails),
		cmocka_unit_test(mld_parse__every_flipped_bit_fails),
		cmocka_unit_test(mld_parse__not_from_this_link_fails),
		cmocka_unit_test(mld_parse__needs_router_alert),
		cmocka_unit_test(mld_parse__bad_fields_fail),
		cmocka_unit_test(mld_parse__length_says_the_version),
		cmocka_unit_test(mld_build__equals_scapy),
		cmocka_unit_test(mld_report__equals_scapy),
		cmocka_unit_test(mld_report__fills_the_mtu_and_no_more),
		cmocka_unit_test(mld_parse__fuzz_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
