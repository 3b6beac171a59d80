/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The IP and UDP headers of lib/wire/parse.c; test_parse.c has the rest.
 */

#include <string.h>

#include "lib/wire/frame.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"

/* ---- lengths ------------------------------------------------------------- */

static void parse__udp_length_disagrees(void **state)
{
	uint8_t buf[256];
	size_t len;
	int ipv6;

	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		uint8_t *udp = buf + (ipv6 ? 54 : 34);

		len = send_frame(buf, ipv6, false, 16);
		udp[5]++;
		check_bad(buf, len, ROOST_DROP_LENGTH);
		udp[5] -= 2;
		check_bad(buf, len, ROOST_DROP_LENGTH);
		udp[4] = udp[5] = 0;
		check_bad(buf, len, ROOST_DROP_LENGTH);
		udp[4] = udp[5] = 0xff;
		check_bad(buf, len, ROOST_DROP_LENGTH);
	}
}

static void parse__ip_length_of_every_size(void **state)
{
	uint8_t buf[256];
	size_t ip_len;

	for (ip_len = 0; ip_len <= 0xffff; ip_len++) {
		size_t len = send_frame(buf, false, false, 0);

		if (ip_len == 44)
			continue;
		buf[16] = (uint8_t)(ip_len >> 8);
		buf[17] = (uint8_t)ip_len;
		fix_ipv4_sum(buf + 14);
		check_bad(buf, len, ROOST_DROP_LENGTH);
		len = send_frame(buf, true, false, 0);
		if (ip_len == 24)
			continue;
		buf[18] = (uint8_t)(ip_len >> 8);
		buf[19] = (uint8_t)ip_len;
		check_bad(buf, len, ROOST_DROP_LENGTH);
	}
}

/* IPv6 does not count its own header: a length can be over 16 bits. */
static void parse__ipv6_over_64k(void **state)
{
	static uint8_t buf[FRAME_MAX];
	struct roost_frame frame;

	send_frame(buf, true, false, 65535 - 40 - 8 - 16 - 3);
	set_ib_len(buf, true, false, 65535 - 40 - 8);
	assert_int_equal(parse(buf, 14 + 65535, &frame), ROOST_FRAME_ROCE);
	assert_int_equal(frame.l3_len_bytes, 65535);
	set_ib_len(buf, true, false, 65535 - 40 - 8 + 1);
	check_bad(buf, 14 + 65536, ROOST_DROP_LENGTH);
	set_ib_len(buf, true, false, 65535 - 8);
	check_bad(buf, 14 + 40 + 65535, ROOST_DROP_LENGTH);
}

/* ---- IP headers ---------------------------------------------------------- */

static void parse__ipv4_checksum(void **state)
{
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 16);
	size_t bit;

	/* TTL, TOS, id, checksum, addresses: nothing but the sum tells. */
	for (bit = 0; bit < 160; bit++) {
		uint8_t *byte = buf + 14 + bit / 8;

		if (bit / 8 == 0 || bit / 8 == 2 || bit / 8 == 3 ||
		    bit / 8 == 6 || bit / 8 == 7 || bit / 8 == 9)
			continue;
		*byte ^= (uint8_t)(1u << bit % 8);
		check_bad(buf, len, ROOST_DROP_IP_HEADER);
		*byte ^= (uint8_t)(1u << bit % 8);
	}
}

static void parse__ipv4_options(void **state)
{
	uint8_t buf[256], with[256];
	size_t len = send_frame(buf, false, false, 16);
	size_t words;

	for (words = 1; words <= 10; words++) {
		size_t more = words * 4;

		memcpy(with, buf, 34);
		memset(with + 34, 1, more); /* no-operation options */
		memcpy(with + 34 + more, buf + 34, len - 34);
		with[14] = (uint8_t)(0x45 + words);
		with[17] = (uint8_t)(with[17] + more);
		fix_ipv4_sum(with + 14);
		check_bad(with, len + more, ROOST_DROP_IP_HEADER);
		with[34 + more + 3]++;
		check_other(with, len + more);
	}
}

static void parse__ip_version(void **state)
{
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 16);

	buf[14] = 0x65;
	fix_ipv4_sum(buf + 14);
	check_bad(buf, len, ROOST_DROP_IP_HEADER);
	buf[14] = 0x44;
	check_bad(buf, len, ROOST_DROP_IP_HEADER);
	len = send_frame(buf, true, false, 16);
	buf[14] = (uint8_t)(0x40 | (buf[14] & 0x0f));
	check_bad(buf, len, ROOST_DROP_IP_HEADER);
}

/* To one address, but to many stations: nobody sends that for good reason. */
static void parse__group_mac(void **state)
{
	static const uint8_t macs[][6] = {
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		{ 0x01, 0x00, 0x5e, 0x12, 0x07, 0x02 },
		{ 0x33, 0x33, 0x00, 0x00, 0x00, 0x02 },
		{ 0x03, 0x21, 0x22, 0x23, 0x24, 0x25 },
	};
	struct roost_frame frame;
	uint8_t buf[256];

	for (size_t i = 0; i < sizeof(macs) / sizeof(macs[0]); i++)
		for (int path = 0; path < 4; path++) {
			size_t len = send_frame(buf, path & 1, path & 2, 16);

			memcpy(buf, macs[i], 6);
			check_bad(buf, len, ROOST_DROP_GROUP_MAC);
			/* A group's own address, whatever MAC it comes to. */
			if (path & 1) {
				buf[path & 2 ? 42 : 38] = 0xff;
			} else {
				buf[path & 2 ? 34 : 30] = 239;
				fix_ipv4_sum(buf + (path & 2 ? 18 : 14));
			}
			assert_int_equal(parse(buf, len, &frame),
					 ROOST_FRAME_ROCE);
			assert_int_equal(frame.drop, ROOST_DROP_NONE);
		}
}

/* Nobody can be answered there; a kernel calls them martian. */
static void parse__ipv4_sources_of_nobody(void **state)
{
	static const uint8_t bad[][4] = {
		{ 0, 0, 0, 0 },         { 0, 1, 2, 3 },
		{ 127, 0, 0, 1 },       { 224, 0, 0, 1 },
		{ 239, 255, 255, 255 }, { 255, 255, 255, 255 },
	};
	static const uint8_t good[][4] = {
		{ 1, 0, 0, 1 },
		{ 223, 255, 255, 254 },
		{ 240, 0, 0, 1 },
		{ 255, 255, 255, 254 },
	};
	struct roost_frame frame;
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 16);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(buf + 26, bad[i], 4);
		fix_ipv4_sum(buf + 14);
		check_bad(buf, len, ROOST_DROP_SRC_ADDR);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		memcpy(buf + 26, good[i], 4);
		fix_ipv4_sum(buf + 14);
		assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	}
}

/* And an IPv4 address in an IPv6 header is not one. */
static void parse__ipv6_addresses_of_nobody(void **state)
{
	static const uint8_t bad[][16] = {
		{ 0 },
		{ [15] = 1 },
		{ 0xff, 0x02, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 },
	};
	static const uint8_t good[][16] = {
		{ [15] = 2 },
		{ 0x00, 0x64, 0xff, 0x9b, [15] = 1 },
		{ 0xfe, 0x80, [15] = 1 },
	};
	struct roost_frame frame;
	uint8_t buf[256];
	size_t len = send_frame(buf, true, false, 16);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(buf + 22, bad[i], 16);
		check_bad(buf, len, ROOST_DROP_SRC_ADDR);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		memcpy(buf + 22, good[i], 16);
		assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	}
	memcpy(buf + 38, bad[3], 16);
	check_bad(buf, len, ROOST_DROP_NOT_OURS);
}

/* Whatever follows: it has neither IP nor UDP. */
static void parse__roce_v1(void **state)
{
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 64);

	buf[12] = 0x89;
	buf[13] = 0x15;
	check_bad(buf, len, ROOST_DROP_ROCE_V1);
	check_bad(buf, 18, ROOST_DROP_ROCE_V1);
	check_other(buf, 17);
	len = send_frame(buf, true, true, 64);
	buf[16] = 0x89;
	buf[17] = 0x15;
	check_bad(buf, len, ROOST_DROP_ROCE_V1);
}

static void parse__ipv4_fragments(void **state)
{
	struct roost_frame frame;
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 64);

	buf[20] = 0x20; /* first of several */
	set_ib_len(buf, false, false, 16 + 64);
	check_bad(buf, len, ROOST_DROP_FRAGMENT);
	buf[39]++; /* as a first fragment is: UDP has the whole length */
	check_bad(buf, len, ROOST_DROP_FRAGMENT);
	buf[39]--;
	buf[21] = 1; /* from the middle */
	fix_ipv4_sum(buf + 14);
	check_other(buf, len);
	buf[20] = 0; /* the last one */
	fix_ipv4_sum(buf + 14);
	check_other(buf, len);
	buf[21] = 0; /* DF is not required */
	fix_ipv4_sum(buf + 14);
	assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
}

/* Insert an extension header of 8 * (1 + more) bytes before what is there. */
static size_t insert_ext(uint8_t *buf, size_t len, uint8_t type, uint8_t more)
{
	size_t ext = 8u * (1u + more);
	size_t ip_len;

	memmove(buf + 54 + ext, buf + 54, len - 54);
	memset(buf + 54, 0, ext);
	buf[54] = buf[20];
	buf[55] = type == 44 ? 0 : more;
	buf[20] = type;
	ip_len = ((size_t)buf[18] << 8 | buf[19]) + ext;
	buf[18] = (uint8_t)(ip_len >> 8);
	buf[19] = (uint8_t)ip_len;
	return len + ext;
}

static void parse__ipv6_extension_headers(void **state)
{
	static const uint8_t types[] = { 0, 43, 60 };
	uint8_t buf[4096];
	size_t len, cut, i;

	for (i = 0; i < sizeof(types); i++) {
		len = send_frame(buf, true, false, 16);
		len = insert_ext(buf, len, types[i], (uint8_t)i);
		check_bad(buf, len, ROOST_DROP_IP_HEADER);
		len = insert_ext(buf, len, 60, 3);
		check_bad(buf, len, ROOST_DROP_IP_HEADER);
		for (cut = 0; cut < len; cut++) {
			struct roost_frame frame;

			assert_int_not_equal(parse(buf, cut, &frame),
					     ROOST_FRAME_ROCE);
		}
		buf[54 + 32 + 8 * (1 + i) + 3]++; /* another port */
		check_other(buf, len);
	}
}

static void parse__ipv6_chains_that_lead_nowhere(void **state)
{
	uint8_t buf[4096];
	size_t len;

	len = send_frame(buf, true, false, 16);
	len = insert_ext(buf, len, 60, 0);
	buf[55] = 255; /* ends behind the frame */
	check_other(buf, len);
	buf[55] = 0;
	buf[54] = 6; /* TCP */
	check_other(buf, len);
	buf[20] = 51; /* AH: no business of ours */
	check_other(buf, len);
	buf[20] = 59; /* no next header */
	check_other(buf, len);
	memset(buf + 54, 0, 1000); /* hop-by-hop without end */
	buf[20] = 0;
	check_other(buf, 1054);
}

static void parse__ipv6_fragments(void **state)
{
	uint8_t buf[4096];
	size_t len = send_frame(buf, true, false, 64);

	len = insert_ext(buf, len, 44, 0);
	check_bad(buf, len, ROOST_DROP_FRAGMENT); /* atomic */
	buf[57] = 1;
	check_bad(buf, len, ROOST_DROP_FRAGMENT); /* first */
	len = insert_ext(buf, len, 0, 0);
	check_bad(buf, len, ROOST_DROP_FRAGMENT); /* behind hop-by-hop */
	buf[65] = 8;
	check_other(buf, len); /* later */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__udp_length_disagrees),
		cmocka_unit_test(parse__ip_length_of_every_size),
		cmocka_unit_test(parse__ipv6_over_64k),
		cmocka_unit_test(parse__ipv4_checksum),
		cmocka_unit_test(parse__ipv4_options),
		cmocka_unit_test(parse__ip_version),
		cmocka_unit_test(parse__group_mac),
		cmocka_unit_test(parse__ipv4_sources_of_nobody),
		cmocka_unit_test(parse__ipv6_addresses_of_nobody),
		cmocka_unit_test(parse__roce_v1),
		cmocka_unit_test(parse__ipv4_fragments),
		cmocka_unit_test(parse__ipv6_extension_headers),
		cmocka_unit_test(parse__ipv6_chains_that_lead_nowhere),
		cmocka_unit_test(parse__ipv6_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
