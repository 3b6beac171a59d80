/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The order in which a device's end happens: a card that is not stopped reads
 * its rings and writes packets, and both are memory that goes back.
 *
 * The calls of DPDK's that count are ours here, and go on to DPDK's own.
 */

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <roost/config.h>
#include <roost/roost.h>
#include "pmd_glue/device.h"
#include "tests/cmocka.h"

#define WAIT_US 10000u
#define WAITS 500u

/*
 * A letter for each: P a device is probed, S a port starts, s stops, r is
 * reset, q a queue is set up, c a port is closed, u its device removed, f its
 * pool freed. The control thread writes, and has done so when it is waited for.
 */
static char calls[64];
static rte_eth_dev_cb_fn hears; /* what the driver tells the port */
static void *hears_arg;
static uint16_t first_port;

static void note(char letter)
{
	size_t len = strlen(calls);

	assert_true(len < sizeof(calls) - 1);
	calls[len] = letter;
}

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	assert_non_null(found);
	return found;
}

#define REAL(name) ((__typeof__(&name))(uintptr_t)next(#name))

int rte_dev_probe(const char *devargs)
{
	note('P');
	return REAL(rte_dev_probe)(devargs);
}

int rte_eth_dev_start(uint16_t id)
{
	note('S');
	return REAL(rte_eth_dev_start)(id);
}

int rte_eth_dev_stop(uint16_t id)
{
	note('s');
	return REAL(rte_eth_dev_stop)(id);
}

/* A driver that can; net_null cannot. */
int rte_eth_dev_reset(uint16_t id __attribute__((unused)))
{
	note('r');
	return 0;
}

int rte_eth_rx_queue_setup(uint16_t id, uint16_t queue, uint16_t nb_descs,
			   unsigned int socket,
			   const struct rte_eth_rxconf *conf,
			   struct rte_mempool *pool)
{
	note('q');
	return REAL(rte_eth_rx_queue_setup)(id, queue, nb_descs, socket, conf,
					    pool);
}

int rte_eth_dev_close(uint16_t id)
{
	note('c');
	return REAL(rte_eth_dev_close)(id);
}

int rte_dev_remove(struct rte_device *device)
{
	note('u');
	return REAL(rte_dev_remove)(device);
}

void rte_mempool_free(struct rte_mempool *pool)
{
	if (pool && strncmp(pool->name, "roost_port", 10) == 0)
		note('f');
	REAL(rte_mempool_free)(pool);
}

int rte_eth_dev_callback_register(uint16_t id, enum rte_eth_event_type event,
				  rte_eth_dev_cb_fn fn, void *arg)
{
	if (!hears) {
		first_port = id;
		hears = fn;
		hears_arg = arg;
	}
	return REAL(rte_eth_dev_callback_register)(id, event, fn, arg);
}

static struct roost_device *open_ports(unsigned int nb)
{
	static struct roost_config config;
	struct roost_device *device;

	config = (struct roost_config){ .nb_ports = nb };
	for (unsigned int i = 0; i < nb; i++) {
		strcpy(config.ports[i].devargs, i ? "net_null1" : "net_null0");
		config.ports[i].second = i != 0;
	}
	hears = NULL;
	assert_int_equal(roost_device_open(&config, 0, &device), 0);
	return device;
}

static int forget(void **state)
{
	memset(calls, 0, sizeof(calls));
	return 0;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* That, and all that the control thread does in one go with it. */
static void await(char letter)
{
	for (unsigned int i = 0; i < WAITS; i++) {
		if (strchr(calls, letter)) {
			roost_device_call(nothing, NULL);
			return;
		}
		usleep(WAIT_US);
	}
	fail_msg("no %c in %s", letter, calls);
}

static void close__a_port_stops_before_its_memory_goes(void **state)
{
	roost_device_close(open_ports(1));
	assert_string_equal(calls, "PqSscuf");
}

/* What one sends may lie in the other's ring. */
static void close__all_ports_before_any_memory(void **state)
{
	roost_device_close(open_ports(2));
	assert_string_equal(calls, "PqPqSSscuscuff");
}

/* Taken out: its queues are gone with it, its packets not before the end. */
static void removal__a_port_stops_and_keeps_its_memory(void **state)
{
	struct roost_device *device = open_ports(1);

	hears(first_port, RTE_ETH_EVENT_INTR_RMV, hears_arg, NULL);
	await('u');
	assert_string_equal(calls, "PqSscu");
	roost_device_close(device);
	assert_string_equal(calls, "PqSscuf");
}

static void reset__a_port_stops_before_its_rings_are_others(void **state)
{
	struct roost_device *device = open_ports(1);

	hears(first_port, RTE_ETH_EVENT_INTR_RESET, hears_arg, NULL);
	await('r');
	assert_string_equal(calls, "PqSsrqS");
	roost_device_close(device);
	assert_string_equal(calls, "PqSsrqSscuf");
}

#define TEST(fn) cmocka_unit_test_setup(fn, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(close__a_port_stops_before_its_memory_goes),
		TEST(close__all_ports_before_any_memory),
		TEST(removal__a_port_stops_and_keeps_its_memory),
		TEST(reset__a_port_stops_before_its_rings_are_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
