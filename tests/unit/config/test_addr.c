/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/config/addr.h"
#include "tests/cmocka.h"

static void addr__both_families_round_trip(void **state)
{
	static const char *const texts[] = { "198.18.0.1", "fd00::1",
					     "fe80::1:2:3:4", "8.8.8.8" };
	char cause[ROOST_CONFIG_ERR_MAX], text[ROOST_PREFIX_STRLEN];
	struct roost_gid gid;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(roost_addr_parse(texts[i], &gid, cause), 0);
		assert_string_equal(roost_addr_format(&gid, text), texts[i]);
	}
}

static void addr__ipv4_is_a_mapped_gid(void **state)
{
	static const uint8_t expected[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 198,
		[13] = 18,   [14] = 0,    [15] = 1
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_gid gid;

	assert_int_equal(roost_addr_parse("198.18.0.1", &gid, cause), 0);
	assert_memory_equal(gid.b, expected, 16);
}

static void addr__longest_prefix_fits(void **state)
{
	static const char longest[] =
		"fd00:1111:2222:3333:4444:5555:6666:7777/128";
	char cause[ROOST_CONFIG_ERR_MAX], text[ROOST_PREFIX_STRLEN];
	struct roost_prefix prefix;

	assert_int_equal(roost_prefix_parse(longest, &prefix, cause), 0);
	assert_int_equal(prefix.len_bits, 128);
	assert_string_equal(roost_prefix_format(&prefix, text), longest);
}

static void addr__every_wrong_address_says_why(void **state)
{
	static const struct {
		const char *text, *cause;
	} rows[] = {
		{ "10.0.0.300", "'10.0.0.300': not an IP address; write it "
				"like 198.18.0.1 or fd00::1" },
		{ "", "'': not an IP address; write it like 198.18.0.1 or "
		      "fd00::1" },
		{ "0.0.0.0", "'0.0.0.0': the unspecified address; give a "
			     "unicast address" },
		{ "127.0.0.1", "'127.0.0.1': a loopback address; give a "
			       "unicast address" },
		{ "224.0.0.1", "'224.0.0.1': a multicast address; give a "
			       "unicast address" },
		{ "239.255.0.1", "'239.255.0.1': a multicast address; give a "
				 "unicast address" },
		{ "255.255.255.255", "'255.255.255.255': the broadcast "
				     "address; give a unicast address" },
		{ "::", "'::': the unspecified address; give a unicast "
			"address" },
		{ "::1", "'::1': a loopback address; give a unicast address" },
		{ "ff02::1", "'ff02::1': a multicast address; give a unicast "
			     "address" },
		{ "::ffff:10.0.0.1", "'::ffff:10.0.0.1': an IPv4 address "
				     "written as IPv6; write it with dots "
				     "only" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_gid gid;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_addr_parse(rows[i].text, &gid, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
	}
}

static void addr__every_wrong_prefix_says_why(void **state)
{
	static const struct {
		const char *text, *cause;
	} rows[] = {
		{ "10.0.0.1", "'10.0.0.1': no prefix length; write 10.0.0.1/24,"
			      " or what the subnet has" },
		{ "fd00::1", "'fd00::1': no prefix length; write fd00::1/64, "
			     "or what the subnet has" },
		{ "10.0.0.1/", "'10.0.0.1/': prefix length out of range; use "
			       "1 to 32" },
		{ "10.0.0.1/0", "'10.0.0.1/0': prefix length out of range; "
				"use 1 to 32" },
		{ "10.0.0.1/33", "'10.0.0.1/33': prefix length out of range; "
				 "use 1 to 32" },
		{ "10.0.0.1/-1", "'10.0.0.1/-1': prefix length out of range; "
				 "use 1 to 32" },
		{ "10.0.0.1/4294967320", "'10.0.0.1/4294967320': prefix length"
					 " out of range; use 1 to 32" },
		{ "fd00::1/129", "'fd00::1/129': prefix length out of range; "
				 "use 1 to 128" },
		{ "10.0.0.0/24", "'10.0.0.0/24': the network's own address; "
				 "give a host's address in it" },
		{ "10.0.0.255/24", "'10.0.0.255/24': the network's broadcast "
				   "address; give a host's address in it" },
		{ "10.0.0/24", "'10.0.0': not an IP address; write it like "
			       "198.18.0.1 or fd00::1" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_prefix prefix;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_prefix_parse(rows[i].text, &prefix,
						    cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
	}
}

static void addr__small_subnets_have_no_broadcast(void **state)
{
	static const char *const texts[] = { "10.0.0.0/31", "10.0.0.1/31",
					     "10.0.0.0/32" };
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_prefix prefix;

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(roost_prefix_parse(texts[i], &prefix, cause),
				 0);
}

static bool contains(const char *subnet, const char *addr)
{
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_prefix prefix;
	struct roost_gid gid;

	assert_int_equal(roost_prefix_parse(subnet, &prefix, cause), 0);
	assert_int_equal(roost_addr_parse(addr, &gid, cause), 0);
	return roost_prefix_contains(&prefix, &gid);
}

static void addr__subnet_contains_to_the_bit(void **state)
{
	assert_true(contains("10.0.0.1/24", "10.0.0.254"));
	assert_false(contains("10.0.0.1/24", "10.0.1.1"));
	assert_true(contains("10.0.1.1/22", "10.0.3.9"));
	assert_false(contains("10.0.1.1/22", "10.0.4.9"));
	assert_true(contains("10.0.0.1/32", "10.0.0.1"));
	assert_false(contains("10.0.0.1/32", "10.0.0.2"));
	assert_true(contains("fd00::1/61", "fd00:0:0:7::9"));
	assert_false(contains("fd00::1/61", "fd00:0:0:8::9"));
	assert_true(contains("fd00::1/128", "fd00::1"));
	assert_false(contains("1000::1/4", "10.0.0.1"));
	assert_false(contains("10.0.0.1/1", "fd00::1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr__both_families_round_trip),
		cmocka_unit_test(addr__ipv4_is_a_mapped_gid),
		cmocka_unit_test(addr__longest_prefix_fits),
		cmocka_unit_test(addr__every_wrong_address_says_why),
		cmocka_unit_test(addr__every_wrong_prefix_says_why),
		cmocka_unit_test(addr__small_subnets_have_no_broadcast),
		cmocka_unit_test(addr__subnet_contains_to_the_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
