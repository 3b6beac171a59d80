/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/icmp_refusal.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static void check(const struct golden_frame *f, const char *local,
		  const char *peer)
{
	struct roost_gid from = addr(local), to = addr(peer);
	struct roost_refusal refusal;

	assert_int_equal(roost_refusal_parse(f->bytes, f->len_bytes, &refusal),
			 0);
	assert_true(roost_gid_eq(&refusal.local, &from));
	assert_true(roost_gid_eq(&refusal.peer, &to));
	for (size_t len = 0; len < f->len_bytes; len++)
		assert_int_equal(roost_refusal_parse(f->bytes, len, &refusal),
				 -EINVAL);
}

static void refusal_parse__of_both_families(void **state)
{
	check(&refusal4, "198.18.0.1", "198.18.0.2");
	check(&refusal6, "fd00::1", "fd00::2");
}

/* From the EtherType on a checksum covers all but a few fields of IPv6. */
static void refusal_parse__every_flipped_bit_fails(void **state)
{
	struct roost_refusal refusal;
	struct golden_frame f;

	for (size_t bit = 12 * 8; bit < refusal4.len_bytes * 8; bit++) {
		f = refusal4;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(roost_refusal_parse(f.bytes, f.len_bytes,
						     &refusal),
				 -EINVAL);
	}
	for (size_t bit = 22 * 8; bit < refusal6.len_bytes * 8; bit++) {
		f = refusal6;
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(roost_refusal_parse(f.bytes, f.len_bytes,
						     &refusal),
				 -EINVAL);
	}
}

/* Offsets in refusal4: Ethernet 14, IP 20, ICMP 8, and the packet. */
#define ICMP 34
#define QUOTED (ICMP + 8)

/* With a good checksum. */
static void expect_none(size_t at, uint8_t byte)
{
	struct golden_frame f = refusal4;
	struct roost_refusal refusal;
	uint32_t sum = 0;

	f.bytes[at] = byte;
	f.bytes[ICMP + 2] = f.bytes[ICMP + 3] = 0;
	for (size_t i = ICMP; i < f.len_bytes; i++)
		sum += i % 2 ? f.bytes[i] : (uint32_t)f.bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	f.bytes[ICMP + 2] = (uint8_t)(~sum >> 8);
	f.bytes[ICMP + 3] = (uint8_t)~sum;
	assert_int_equal(roost_refusal_parse(f.bytes, f.len_bytes, &refusal),
			 byte == refusal4.bytes[at] ? 0 : -EINVAL);
}

static void refusal_parse__of_roce_by_its_destination_only(void **state)
{
	expect_none(ICMP, 3);
	expect_none(ICMP, 11);
	expect_none(ICMP + 1, 1); /* host unreachable: who says so routes */
	expect_none(QUOTED, 0x65);
	expect_none(QUOTED, 0x4f); /* options behind the end */
	expect_none(QUOTED + 9, 6);
	expect_none(QUOTED + 15, 9); /* another source */
	expect_none(QUOTED + 19, 9); /* another destination */
	expect_none(QUOTED + 23, 0); /* another port */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusal_parse__of_both_families),
		cmocka_unit_test(refusal_parse__every_flipped_bit_fails),
		cmocka_unit_test(
			refusal_parse__of_roce_by_its_destination_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
