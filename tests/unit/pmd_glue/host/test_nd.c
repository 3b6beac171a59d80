/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/host/ip.h"
#include "pmd_glue/host/nd.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define OFF_IP 14u
#define OFF_HOPS 21u
#define OFF_SRC 22u
#define OFF_DST 38u
#define OFF_ICMP 54u
#define OFF_CODE 55u
#define OFF_FLAGS 58u
#define OFF_TARGET 62u
#define OFF_OPT 78u

/* Make the ICMPv6 checksum right again. */
static void fix_sum(struct golden_frame *f)
{
	roost_icmp6_seal(&f->bytes[OFF_SRC], &f->bytes[OFF_DST],
			 &f->bytes[OFF_ICMP],
			 roost_be16_get(&f->bytes[OFF_IP + 4]));
}

static int parse(const struct golden_frame *f, struct roost_nd *nd)
{
	return roost_nd_parse(f->bytes, f->len_bytes, nd);
}

static void nd_parse__solicit_of_scapy(void **state)
{
	struct roost_gid a = addr("fd00::1"), b = addr("fd00::2");
	struct roost_nd nd;

	assert_int_equal(parse(&nd_solicit, &nd), 0);
	assert_int_equal(nd.type, ROOST_ND_SOLICIT);
	assert_true(roost_gid_eq(&nd.src, &a));
	assert_true(roost_gid_eq(&nd.target, &b));
	assert_true(nd.has_mac);
	assert_memory_equal(nd.mac, mac_a, 6);
}

static void nd_parse__advert_of_scapy(void **state)
{
	struct roost_gid b = addr("fd00::2");
	struct roost_nd nd;

	assert_int_equal(parse(&nd_advert, &nd), 0);
	assert_int_equal(nd.type, ROOST_ND_ADVERT);
	assert_true(nd.solicited);
	assert_true(nd.override);
	assert_false(nd.router);
	assert_true(roost_gid_eq(&nd.target, &b));
	assert_memory_equal(nd.mac, mac_b, 6);
	assert_int_equal(parse(&nd_advert_no_mac, &nd), 0);
	assert_false(nd.has_mac);
	assert_false(nd.override);
	assert_true(nd.router);
}

static void nd_parse__solicit_for_duplicates(void **state)
{
	struct golden_frame f = nd_solicit_dad;
	struct roost_nd nd;

	assert_int_equal(parse(&f, &nd), 0);
	assert_true(roost_gid_is_zero(&nd.src));
	/* To anything but the target's group it is forged (7.1.1). */
	f.bytes[OFF_DST + 15] ^= 1;
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
}

static void nd_parse__every_truncation_fails(void **state)
{
	struct roost_nd nd;

	for (size_t len = 0; len < nd_solicit.len_bytes; len++)
		assert_int_equal(roost_nd_parse(nd_solicit.bytes, len, &nd),
				 -EINVAL);
}

static void nd_parse__every_flipped_bit_fails(void **state)
{
	struct golden_frame f;
	struct roost_nd nd;

	/* Hop limit, addresses and message; the rest of IP is not covered. */
	for (size_t bit = OFF_HOPS * 8; bit < nd_advert.len_bytes * 8; bit++) {
		f = nd_advert;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(&f, &nd), -EINVAL);
	}
}

/* Checksum made right again, so that the check itself is what fails. */
static void nd_parse__not_from_this_link_fails(void **state)
{
	struct golden_frame f = nd_advert;
	struct roost_nd nd;

	f.bytes[OFF_HOPS] = 254;
	assert_int_equal(parse(&f, &nd), -EINVAL);
	f = nd_advert;
	f.bytes[OFF_CODE] = 1;
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
}

static void nd_parse__bad_options_fail(void **state)
{
	struct golden_frame f = nd_advert;
	struct roost_nd nd;

	f.bytes[OFF_OPT + 1] = 0; /* would never end */
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
	f.bytes[OFF_OPT + 1] = 2; /* longer than the message */
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
	f.bytes[OFF_OPT + 1] = 1;
	f.bytes[OFF_OPT] = 200; /* unknown: passed over */
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), 0);
	assert_false(nd.has_mac);
}

static void nd_parse__multicast_target_fails(void **state)
{
	struct golden_frame f = nd_advert;
	struct roost_nd nd;

	f.bytes[OFF_TARGET] = 0xff;
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
}

/* Else an IPv6 packet could speak for an IPv4 address of ours. */
static void nd_parse__v4_mapped_target_fails(void **state)
{
	struct roost_gid mapped = addr("198.18.0.2");
	struct golden_frame f = nd_advert;
	struct roost_nd nd;

	memcpy(&f.bytes[OFF_TARGET], mapped.b, 16);
	fix_sum(&f);
	assert_int_equal(parse(&f, &nd), -EINVAL);
}

static void check_build(const struct roost_nd *nd, const uint8_t *src_mac,
			const uint8_t *dst_mac,
			const struct golden_frame *golden)
{
	uint8_t frame[ROOST_ND_FRAME_MAX];

	assert_int_equal(roost_nd_build(nd, src_mac, dst_mac, frame),
			 golden->len_bytes);
	assert_memory_equal(frame, golden->bytes, golden->len_bytes);
}

static void nd_build__equals_scapy(void **state)
{
	struct roost_gid b = addr("fd00::2");
	struct roost_nd nd = {
		.type = ROOST_ND_SOLICIT,
		.src = addr("fd00::1"),
		.dst = roost_nd_solicited_node(&b),
		.target = b,
		.has_mac = true,
	};
	uint8_t group_mac[6];

	memcpy(nd.mac, mac_a, 6);
	roost_gid_multicast_mac(&nd.dst, group_mac);
	check_build(&nd, mac_a, group_mac, &nd_solicit);

	nd = (struct roost_nd){
		.type = ROOST_ND_ADVERT,
		.src = b,
		.dst = addr("fd00::1"),
		.target = b,
		.has_mac = true,
		.solicited = true,
		.override = true,
	};
	memcpy(nd.mac, mac_b, 6);
	check_build(&nd, mac_b, mac_a, &nd_advert);
	nd.dst = addr("ff02::1");
	nd.solicited = false;
	roost_gid_multicast_mac(&nd.dst, group_mac);
	check_build(&nd, mac_b, group_mac, &nd_advert_all);
	nd.dst = addr("fd00::1");
	nd.has_mac = false;
	nd.solicited = true;
	nd.override = false;
	nd.router = true;
	check_build(&nd, mac_b, mac_a, &nd_advert_no_mac);
}

/* Debian's kernel makes this address of this MAC. */
static void nd_link_local__is_eui64(void **state)
{
	struct roost_gid gid = roost_nd_link_local(mac_a);
	struct roost_gid want = addr("fe80::11:22ff:fe33:4401");
	static const uint8_t universal[6] = { 0x52, 0x54, 0, 0xab, 0xcd, 0xef };

	assert_true(roost_gid_eq(&gid, &want));
	gid = roost_nd_link_local(universal);
	want = addr("fe80::5054:ff:feab:cdef");
	assert_true(roost_gid_eq(&gid, &want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nd_parse__solicit_of_scapy),
		cmocka_unit_test(nd_parse__advert_of_scapy),
		cmocka_unit_test(nd_parse__solicit_for_duplicates),
		cmocka_unit_test(nd_parse__every_truncation_fails),
		cmocka_unit_test(nd_parse__every_flipped_bit_fails),
		cmocka_unit_test(nd_parse__not_from_this_link_fails),
		cmocka_unit_test(nd_parse__bad_options_fail),
		cmocka_unit_test(nd_parse__multicast_target_fails),
		cmocka_unit_test(nd_parse__v4_mapped_target_fails),
		cmocka_unit_test(nd_build__equals_scapy),
		cmocka_unit_test(nd_link_local__is_eui64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
