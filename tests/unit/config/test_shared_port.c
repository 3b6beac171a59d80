/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Ports that share a DPDK port, each on a VLAN of its own. */

#include <errno.h>

#include "lib/config/addr.h"
#include "tests/unit/config/resolve_world.h"

static int resolve(void)
{
	return roost_config_resolve(&c, NULL, NOTHING, &options, err);
}

/* The same devargs on different VLANs are one DPDK port; so is an end of a
 * link, of which there are two.
 */
static void shared_port__is_shared_by_vlans(void **state)
{
	static const struct {
		int key;
		const char *name, *vlan;
		unsigned int shared_port;
	} ports[] = {
		{ ROOST_KEY_DEVARGS, "net_tap0", "0", 0 },
		{ ROOST_KEY_LINK, "a", "5", 1 },
		{ ROOST_KEY_DEVARGS, "net_tap0", "5", 0 },
		{ ROOST_KEY_LINK, "a", "6", 1 },
		{ ROOST_KEY_LINK, "a", "5", 4 },
		{ ROOST_KEY_LINK, "a", "6", 4 },
		{ ROOST_KEY_LINK, "b", "5", 6 },
		{ ROOST_KEY_DEVARGS, "net_tap1", "5", 7 },
	};
	const unsigned int nb = sizeof(ports) / sizeof(ports[0]);

	for (unsigned int i = 0; i < nb; i++) {
		give(ports[i].key, i, ports[i].name);
		give(ROOST_KEY_VLAN, i, ports[i].vlan);
	}
	assert_int_equal(resolve(), 0);
	for (unsigned int i = 0; i < nb; i++)
		assert_int_equal(roost_config_shared_port(&c, i),
				 ports[i].shared_port);
}

/* Each VLAN of a link has a subnet of its own. */
static void shared_port__vlans_of_a_link_have_addresses(void **state)
{
	static const struct {
		const char *link, *vlan, *ip;
	} ports[] = {
		{ "a", "0", "198.18.0.1/24" },
		{ "a", "5", "198.18.1.1/24" },
		{ "a", "5", "198.18.1.1/24" },
		{ "b", "5", "198.18.2.1/24" },
	};
	char text[ROOST_PREFIX_STRLEN];

	for (unsigned int i = 0; i < 4; i++) {
		give(ROOST_KEY_LINK, i, ports[i].link);
		give(ROOST_KEY_VLAN, i, ports[i].vlan);
	}
	assert_int_equal(resolve(), 0);
	for (unsigned int i = 0; i < 4; i++) {
		struct roost_prefix ip = roost_config_link_ip(&c, i, 0);

		assert_string_equal(roost_prefix_format(&ip, text),
				    ports[i].ip);
	}
}

static void shared_port__one_vlan_twice(void **state)
{
	give(ROOST_KEY_DEVARGS, 0, "net_tap0");
	give(ROOST_KEY_VLAN, 0, "5");
	give(ROOST_KEY_DEVARGS, 1, "net_tap0");
	give(ROOST_KEY_VLAN, 1, "5");
	assert_int_equal(resolve(), -EINVAL);
	assert_string_equal(err, "port1: VLAN 5 of 'net_tap0' is port0 "
				 "already; name another VLAN");
}

/* A twin is refused where another device may be on the DPDK port. */
static void shared_port__has_no_twin(void **state)
{
	static const struct {
		const char *first, *second; /* VLANs of one port; NULL: none */
		int ret;
	} rows[] = {
		{ "0", NULL, 0 },
		{ "5", NULL, -EINVAL },
		{ "0", "5", -EINVAL },
		{ "5", "0", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_config_init(&options);
		give(ROOST_KEY_DEVARGS, 0, "net_memif0");
		give(ROOST_KEY_TWIN, 0, "tw0");
		give(ROOST_KEY_VLAN, 0, rows[i].first);
		if (rows[i].second) {
			give(ROOST_KEY_DEVARGS, 1, "net_memif0");
			give(ROOST_KEY_VLAN, 1, rows[i].second);
		}
		assert_int_equal(resolve(), rows[i].ret);
	}
	assert_string_equal(err, "port0: twin 'tw0': a twin stands for a port "
				 "that has no VLANs; leave out the twin, or "
				 "the VLANs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(shared_port__is_shared_by_vlans, setup),
		cmocka_unit_test_setup(
			shared_port__vlans_of_a_link_have_addresses, setup),
		cmocka_unit_test_setup(shared_port__one_vlan_twice, setup),
		cmocka_unit_test_setup(shared_port__has_no_twin, setup),
	};

	return cmocka_run_group_tests_name("config-shared-port", tests, NULL,
					   NULL);
}
