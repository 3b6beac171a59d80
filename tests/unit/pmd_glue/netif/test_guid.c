/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <unistd.h>

#include "pmd_glue/netif/guid.h"
#include "tests/cmocka.h"

/* Appendix A of the SipHash paper. */
static void siphash__published_vector(void **state)
{
	uint8_t key[16], data[15];

	for (uint8_t i = 0; i < 16; i++)
		key[i] = i;
	for (uint8_t i = 0; i < 15; i++)
		data[i] = i;
	assert_true(roost_siphash(key, data, sizeof(data)) ==
		    UINT64_C(0xa129ca6149be45e5));
}

/* The first and some later ones of the reference implementation's vectors. */
static void siphash__every_remainder(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} rows[] = {
		{ 0, UINT64_C(0x726fdb47dd0e0e31) },
		{ 1, UINT64_C(0x74f839c593dc67fd) },
		{ 7, UINT64_C(0xab0200f58b01d137) },
		{ 8, UINT64_C(0x93f5f5799a932462) },
	};
	uint8_t key[16], data[8];

	for (uint8_t i = 0; i < 16; i++)
		key[i] = i;
	for (uint8_t i = 0; i < 8; i++)
		data[i] = i;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(roost_siphash(key, data, rows[i].len) ==
			    rows[i].hash);
}

static void guid__is_local_whatever_the_hash(void **state)
{
	static const uint8_t key[16];

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(roost_guid(key, &i, sizeof(i)) >> 56 & 3, 2);
}

static void guid__of_devargs_is_stable_and_its_own(void **state)
{
	if (access("/etc/machine-id", R_OK))
		skip();
	assert_true(roost_guid_of_devargs("net_tap0", 5) ==
		    roost_guid_of_devargs("net_tap0", 5));
	assert_true(roost_guid_of_devargs("net_tap0", 0) !=
		    roost_guid_of_devargs("net_tap1", 0));
	assert_true(roost_guid_of_devargs("net_tap0", 0) !=
		    roost_guid_of_devargs("net_tap0", 5));
	assert_true(roost_guid_of_devargs("net_tap0", 6) !=
		    roost_guid_of_devargs("net_tap0", 5));
}

/* Both ends have the same name, and may even have the same process number in
 * containers of their own.
 */
static void guid__of_a_link_differs_each_time(void **state)
{
	assert_true(roost_guid_of_link("default") !=
		    roost_guid_of_link("default"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash__published_vector),
		cmocka_unit_test(siphash__every_remainder),
		cmocka_unit_test(guid__is_local_whatever_the_hash),
		cmocka_unit_test(guid__of_devargs_is_stable_and_its_own),
		cmocka_unit_test(guid__of_a_link_differs_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
