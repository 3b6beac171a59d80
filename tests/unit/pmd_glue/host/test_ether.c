/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "pmd_glue/host/ether.h"
#include "tests/cmocka.h"

#define LEN 60u

static void fill(uint8_t frame[LEN])
{
	for (unsigned int i = 0; i < LEN; i++)
		frame[i] = (uint8_t)(i + 1);
	frame[12] = 0x08;
	frame[13] = 0x06;
}

static void ether__tag_goes_in_before_the_type(void **state)
{
	uint8_t frame[LEN], tagged[LEN + ROOST_VLAN_LEN];

	fill(frame);
	roost_ether_copy_tagged(tagged, frame, LEN, 4094);
	assert_memory_equal(tagged, frame, 12);
	assert_memory_equal(tagged + 12, "\x81\x00\x0f\xfe", 4);
	assert_memory_equal(tagged + 16, frame + 12, LEN - 12);
	assert_int_equal(roost_ether_vlan_id(tagged, sizeof(tagged)), 4094);
}

static void ether__vlan_0_is_no_tag(void **state)
{
	uint8_t frame[LEN], copy[LEN];

	fill(frame);
	roost_ether_copy_tagged(copy, frame, LEN, 0);
	assert_memory_equal(copy, frame, LEN);
	assert_int_equal(roost_ether_vlan_id(copy, LEN), 0);
	assert_ptr_equal(roost_ether_untag(copy, LEN), copy);
}

static void ether__untag_undoes_it(void **state)
{
	uint8_t frame[LEN], tagged[LEN + ROOST_VLAN_LEN], *p;

	fill(frame);
	roost_ether_copy_tagged(tagged, frame, LEN, 100);
	tagged[14] |= 0xf0; /* priority 7, DEI */
	assert_int_equal(roost_ether_vlan_id(tagged, sizeof(tagged)), 100);
	p = roost_ether_untag(tagged, sizeof(tagged));
	assert_ptr_equal(p, tagged + ROOST_VLAN_LEN);
	assert_memory_equal(p, frame, LEN);
}

/* What is cut off inside of its tag has none that could be taken out. */
static void ether__runt(void **state)
{
	uint8_t frame[17] = { [12] = 0x81, [15] = 100 };

	assert_int_equal(roost_ether_vlan_id(frame, sizeof(frame)), 0);
	assert_ptr_equal(roost_ether_untag(frame, sizeof(frame)), frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ether__tag_goes_in_before_the_type),
		cmocka_unit_test(ether__vlan_0_is_no_tag),
		cmocka_unit_test(ether__untag_undoes_it),
		cmocka_unit_test(ether__runt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
