/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/arp.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static void arp_parse__request_of_scapy(void **state)
{
	struct roost_gid a = addr("198.18.0.1"), b = addr("198.18.0.2");
	struct roost_arp arp;

	assert_int_equal(roost_arp_parse(arp_request.bytes,
					 arp_request.len_bytes, &arp),
			 0);
	assert_true(arp.is_request);
	assert_memory_equal(arp.sender_mac, mac_a, 6);
	assert_true(roost_gid_eq(&arp.sender_ip, &a));
	assert_true(roost_gid_eq(&arp.target_ip, &b));
}

static void arp_parse__reply_of_scapy(void **state)
{
	struct roost_gid a = addr("198.18.0.1"), b = addr("198.18.0.2");
	struct roost_arp arp;

	assert_int_equal(roost_arp_parse(arp_reply.bytes, arp_reply.len_bytes,
					 &arp),
			 0);
	assert_false(arp.is_request);
	assert_memory_equal(arp.sender_mac, mac_b, 6);
	assert_memory_equal(arp.target_mac, mac_a, 6);
	assert_true(roost_gid_eq(&arp.sender_ip, &b));
	assert_true(roost_gid_eq(&arp.target_ip, &a));
}

static void arp_parse__every_truncation_fails(void **state)
{
	struct roost_arp arp;

	for (size_t len = 0; len < 42; len++)
		assert_int_equal(roost_arp_parse(arp_request.bytes, len, &arp),
				 -EINVAL);
	assert_int_equal(roost_arp_parse(arp_request.bytes, 42, &arp), 0);
}

/* One wrong byte in each field that has one right value. */
static void arp_parse__wrong_field_fails(void **state)
{
	static const size_t offsets[] = {
		12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
	};
	struct golden_frame f;
	struct roost_arp arp;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		f = arp_request;
		f.bytes[offsets[i]] ^= 0x81;
		assert_int_equal(roost_arp_parse(f.bytes, f.len_bytes, &arp),
				 -EINVAL);
	}
}

static void arp_parse__zero_sender_mac_fails(void **state)
{
	struct golden_frame f = arp_request;
	struct roost_arp arp;

	memset(&f.bytes[22], 0, 6);
	assert_int_equal(roost_arp_parse(f.bytes, f.len_bytes, &arp), -EINVAL);
}

static void check_build(const struct roost_arp *arp, const uint8_t *dst_mac,
			const struct golden_frame *golden)
{
	uint8_t frame[ROOST_ARP_FRAME_LEN];

	assert_int_equal(roost_arp_build(arp, dst_mac, frame),
			 golden->len_bytes);
	assert_memory_equal(frame, golden->bytes, golden->len_bytes);
}

static void arp_build__equals_scapy(void **state)
{
	struct roost_arp arp = {
		.is_request = true,
		.sender_ip = addr("198.18.0.1"),
		.target_ip = addr("198.18.0.2"),
	};

	memcpy(arp.sender_mac, mac_a, 6);
	check_build(&arp, broadcast, &arp_request);
	arp.target_ip = arp.sender_ip;
	check_build(&arp, broadcast, &arp_announcement);
	arp = (struct roost_arp){
		.sender_ip = addr("198.18.0.2"),
		.target_ip = addr("198.18.0.1"),
	};
	memcpy(arp.sender_mac, mac_b, 6);
	memcpy(arp.target_mac, mac_a, 6);
	check_build(&arp, mac_a, &arp_reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_parse__request_of_scapy),
		cmocka_unit_test(arp_parse__reply_of_scapy),
		cmocka_unit_test(arp_parse__every_truncation_fails),
		cmocka_unit_test(arp_parse__wrong_field_fails),
		cmocka_unit_test(arp_parse__zero_sender_mac_fails),
		cmocka_unit_test(arp_build__equals_scapy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
