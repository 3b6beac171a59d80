/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/wire/frame.h"
#include "tests/cmocka.h"

/* IBTA table 45, in its own unit: hundredths of a millisecond. */
static const uint32_t table_45[32] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static void aeth__rnr_timer_table(void **state)
{
	uint8_t code;

	for (code = 0; code < 32; code++)
		assert_int_equal(roost_rnr_timer_ns(code),
				 (uint64_t)table_45[code] * 10000);
}

/* The syndrome's other bits are not part of the code. */
static void aeth__rnr_timer_of_a_syndrome(void **state)
{
	assert_int_equal(roost_rnr_timer_ns(ROOST_AETH_RNR_NAK | 14), 1280000);
	assert_int_equal(roost_rnr_timer_ns(0xff), 491520000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aeth__rnr_timer_table),
		cmocka_unit_test(aeth__rnr_timer_of_a_syndrome),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
