/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <roost/config.h>
#include <roost/roost.h>
#include "lib/face/shim.h"
#include "tests/cmocka.h"

/*
 * An appliance that runs EAL itself, with a port of its own: net_null0.
 */
static struct roost_config config;

static int start_eal(void **state)
{
	char *argv[] = {
		(char[]){ "test" },
		(char[]){ "--no-huge" },
		(char[]){ "--no-shconf" },
		(char[]){ "--no-pci" },
		(char[]){ "--no-telemetry" },
		(char[]){ "--file-prefix=." },
		(char[]){ "-m" },
		(char[]){ "128" },
		(char[]){ "--log-level=1" },
		(char[]){ "--vdev=net_null0" },
	};

	char run_dir[PATH_MAX];

	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		return -1;
	/* EAL puts nothing in: "DIR/dpdk/." */
	snprintf(run_dir, sizeof(run_dir), "%s", rte_eal_get_runtime_dir());
	rmdir(dirname(run_dir));
	return 0;
}

static void use_port(const char *devargs)
{
	config = (struct roost_config){ .nb_ports = 1 };
	strcpy(config.ports[0].devargs, devargs);
}

static void use_link(void)
{
	config = (struct roost_config){ .nb_ports = 1 };
	snprintf(config.ports[0].link, sizeof(config.ports[0].link), "own-%d",
		 getpid());
}

static void own_eal__is_used_as_it_is(void **state)
{
	unsigned int lcores = rte_lcore_count(), lcore = rte_lcore_id();
	struct roost_device *device;

	use_link();
	assert_int_equal(roost_device_open(&config, 0, &device), 0);
	roost_device_attend(device);
	assert_int_equal(rte_lcore_id(), lcore);
	assert_int_equal(rte_lcore_count(), lcores);
	roost_device_close(device);
	assert_int_equal(rte_lcore_count(), lcores);
}

/* RTE_ETH_FOREACH_DEV of the application passes over our ports. */
static void own_eal__ports_are_kept_apart(void **state)
{
	struct roost_device *device;

	use_link();
	assert_int_equal(rte_eth_dev_count_avail(), 1);
	assert_int_equal(roost_device_open(&config, 0, &device), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 1);
	roost_device_close(device);
	assert_int_equal(rte_eth_dev_count_total(), 1);
}

static void own_eal__port_of_the_application_is_lent(void **state)
{
	struct roost_device *device;
	uint16_t id;

	use_port("net_null0");
	assert_int_equal(roost_device_open(&config, 0, &device), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	roost_device_close(device);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 1);
}

static void own_eal__port_in_use_is_refused(void **state)
{
	struct rte_eth_dev_owner owner = { .name = "application" };
	struct roost_device *device;
	uint16_t id;

	assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(id, &owner), 0);
	use_port("net_null0");
	assert_int_equal(roost_device_open(&config, 0, &device), -EBUSY);
	assert_int_equal(rte_eth_dev_owner_unset(id, owner.id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_eal__is_used_as_it_is),
		cmocka_unit_test(own_eal__ports_are_kept_apart),
		cmocka_unit_test(own_eal__port_of_the_application_is_lent),
		cmocka_unit_test(own_eal__port_in_use_is_refused),
	};

	return cmocka_run_group_tests(tests, start_eal, NULL);
}
