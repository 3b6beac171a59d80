/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"
#include "real_library.h"

static void rate__same_numbers_for_every_code(void **state)
{
	REAL(ibv_rate_to_mult);
	REAL(ibv_rate_to_mbps);
	for (int i = -2; i < 300; i++) {
		const enum ibv_rate rate = (enum ibv_rate)i;

		assert_int_equal(ibv_rate_to_mult(rate),
				 real_ibv_rate_to_mult(rate));
		assert_int_equal(ibv_rate_to_mbps(rate),
				 real_ibv_rate_to_mbps(rate));
	}
}

static void rate__same_codes_for_every_number(void **state)
{
	REAL(mult_to_ibv_rate);
	REAL(mbps_to_ibv_rate);
	for (int i = -2; i < 1000; i++)
		assert_int_equal(mult_to_ibv_rate(i), real_mult_to_ibv_rate(i));
	for (int i = -2; i < 1500000; i++)
		if (mbps_to_ibv_rate(i) != real_mbps_to_ibv_rate(i))
			fail_msg("mbps_to_ibv_rate(%d)", i);
}

static void rate__there_and_back(void **state)
{
	for (int i = 0; i < 64; i++) {
		const enum ibv_rate rate = (enum ibv_rate)i;

		if (ibv_rate_to_mult(rate) > 0)
			assert_int_equal(mult_to_ibv_rate(
						 ibv_rate_to_mult(rate)),
					 rate);
		if (ibv_rate_to_mbps(rate) > 0)
			assert_int_equal(mbps_to_ibv_rate(
						 ibv_rate_to_mbps(rate)),
					 rate);
	}
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_1200_GBPS), 1275000);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_14_GBPS), -1);
	assert_int_equal(mult_to_ibv_rate(-1), IBV_RATE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__same_numbers_for_every_code),
		cmocka_unit_test(rate__same_codes_for_every_number),
		cmocka_unit_test(rate__there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
