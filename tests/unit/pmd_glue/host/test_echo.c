/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/echo.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static void check_answer(const struct golden_frame *request,
			 const struct golden_frame *reply, const char *src,
			 const char *dst)
{
	struct roost_gid from = addr(src), to = addr(dst);
	struct golden_frame f = *request;
	struct roost_echo echo;

	assert_int_equal(roost_echo_parse(f.bytes, f.len_bytes, &echo), 0);
	assert_true(roost_gid_eq(&echo.src, &from));
	assert_true(roost_gid_eq(&echo.dst, &to));
	assert_int_equal(echo.len_bytes, reply->len_bytes);
	roost_echo_reply(&echo, f.bytes);
	assert_memory_equal(f.bytes, reply->bytes, reply->len_bytes);
}

static void echo_reply__ipv4_equals_scapy(void **state)
{
	check_answer(&echo4_request, &echo4_reply, "198.18.0.1", "198.18.0.2");
}

static void echo_reply__ipv6_equals_scapy(void **state)
{
	check_answer(&echo6_request, &echo6_reply, "fd00::1", "fd00::2");
}

static void echo_parse__padding_is_cut_off(void **state)
{
	struct golden_frame f = echo4_request;
	struct roost_echo echo;

	f.len_bytes = 60;
	assert_int_equal(roost_echo_parse(f.bytes, f.len_bytes, &echo), 0);
	assert_int_equal(echo.len_bytes, echo4_request.len_bytes);
}

static void check_truncations(const struct golden_frame *f)
{
	struct roost_echo echo;

	for (size_t len = 0; len < f->len_bytes; len++)
		assert_int_equal(roost_echo_parse(f->bytes, len, &echo),
				 -EINVAL);
}

static void echo_parse__every_truncation_fails(void **state)
{
	check_truncations(&echo4_request);
	check_truncations(&echo6_request);
}

/* Everything behind the Ethernet header is covered by a checksum or checked,
 * but for what IPv6's does not cover.
 */
static void echo_parse__every_flipped_bit_fails(void **state)
{
	struct golden_frame f;
	struct roost_echo echo;

	for (size_t bit = 12 * 8; bit < echo4_request.len_bytes * 8; bit++) {
		f = echo4_request;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(roost_echo_parse(f.bytes, f.len_bytes, &echo),
				 -EINVAL);
	}
	for (size_t bit = 22 * 8; bit < echo6_request.len_bytes * 8; bit++) {
		f = echo6_request;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(roost_echo_parse(f.bytes, f.len_bytes, &echo),
				 -EINVAL);
	}
}

/* Two replies that answered each other would do so for ever. */
static void echo_parse__reply_is_no_request(void **state)
{
	struct roost_echo echo;

	assert_int_equal(roost_echo_parse(echo4_reply.bytes,
					  echo4_reply.len_bytes, &echo),
			 -EINVAL);
	assert_int_equal(roost_echo_parse(echo6_reply.bytes,
					  echo6_reply.len_bytes, &echo),
			 -EINVAL);
	assert_int_equal(roost_echo_parse(arp_request.bytes,
					  arp_request.len_bytes, &echo),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(echo_reply__ipv4_equals_scapy),
		cmocka_unit_test(echo_reply__ipv6_equals_scapy),
		cmocka_unit_test(echo_parse__padding_is_cut_off),
		cmocka_unit_test(echo_parse__every_truncation_fails),
		cmocka_unit_test(echo_parse__every_flipped_bit_fails),
		cmocka_unit_test(echo_parse__reply_is_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
