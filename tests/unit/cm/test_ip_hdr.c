/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "cm/msg.h"
#include "tests/cmocka.h"

static const struct roost_cm_ip_hdr v4 = {
	.src = { { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, 198, 18, 0, 2 } },
	.src_port = 0x9c40,
};
static const uint8_t v4_bytes[ROOST_CM_IP_HDR_LEN] = {
	0x00, 0x40, 0x9c, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   0,  198, 18,
	0,    1,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 198, 18, 0,   2,
};

static void v4__golden(void **state)
{
	uint8_t bytes[ROOST_CM_IP_HDR_LEN];
	struct roost_cm_ip_hdr hdr;

	memset(bytes, 0xff, sizeof(bytes));
	roost_cm_ip_hdr_encode(&v4, bytes);
	assert_memory_equal(bytes, v4_bytes, sizeof(bytes));
	assert_true(roost_cm_ip_hdr_decode(v4_bytes, &hdr));
	assert_memory_equal(&hdr.src, &v4.src, 16);
	assert_memory_equal(&hdr.dst, &v4.dst, 16);
	assert_int_equal(hdr.src_port, v4.src_port);
}

static void v6__golden(void **state)
{
	const struct roost_cm_ip_hdr v6 = {
		.src = { { 0xfd, [15] = 1 } },
		.dst = { { 0xfd, [15] = 2 } },
		.src_port = 1,
	};
	uint8_t bytes[ROOST_CM_IP_HDR_LEN], want[ROOST_CM_IP_HDR_LEN] = {
		[1] = 0x60, [3] = 1,     [4] = 0xfd,
		[19] = 1,   [20] = 0xfd, [35] = 2,
	};
	struct roost_cm_ip_hdr hdr;

	roost_cm_ip_hdr_encode(&v6, bytes);
	assert_memory_equal(bytes, want, sizeof(bytes));
	assert_true(roost_cm_ip_hdr_decode(want, &hdr));
	assert_memory_equal(&hdr.dst, &v6.dst, 16);
}

static void decode__other_versions(void **state)
{
	uint8_t bytes[ROOST_CM_IP_HDR_LEN];
	struct roost_cm_ip_hdr hdr;
	unsigned int good = 0;

	for (unsigned int version = 0; version < 16; version++) {
		memcpy(bytes, v4_bytes, sizeof(bytes));
		bytes[1] = (uint8_t)(version << 4);
		good += roost_cm_ip_hdr_decode(bytes, &hdr);
	}
	assert_int_equal(good, 2);
	memcpy(bytes, v4_bytes, sizeof(bytes));
	bytes[0] = 1;
	assert_false(roost_cm_ip_hdr_decode(bytes, &hdr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v4__golden),
		cmocka_unit_test(v6__golden),
		cmocka_unit_test(decode__other_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
