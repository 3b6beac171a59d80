/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/lease.h"
#include "pmd_glue/netif/ethdev.h"
#include "pmd_glue/ports.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/report_device.h"
#include "pmd_glue/share/port.h"
#include "tests/cmocka.h"

/*
 * A backend that notes its calls, in place of ethdev: a letter and the number
 * of the port for each.
 */
static struct {
	char calls[64];
	int prepare_ret, open_ret, start_ret; /* open: of port 1 alone */
	bool inherited;
	unsigned int active_after; /* queries of the link until it is up */
	struct roost_backend_port ports[2];
} world;

static struct roost_config config;

static void note(char letter, const struct roost_backend_port *port)
{
	size_t len = strlen(world.calls);

	assert_true(len + 2 < sizeof(world.calls));
	world.calls[len] = letter;
	world.calls[len + 1] = (char)('0' + (port - world.ports));
}

static bool takes(const struct roost_port_config *conf)
{
	(void)conf;
	return true;
}

static int prepare(const struct roost_config *c)
{
	assert_ptr_equal(c, &config);
	note('P', world.ports);
	return world.prepare_ret;
}

static bool is_inherited(void)
{
	return world.inherited;
}

static int open_port(const struct roost_config *c, unsigned int index,
		     struct roost_backend_port **port)
{
	struct roost_backend_port *p = &world.ports[index];

	assert_ptr_equal(c, &config);
	note('o', p);
	if (index == 1 && world.open_ret)
		return world.open_ret;
	*p = (struct roost_backend_port){
		.backend = &roost_ethdev,
		.first_mac = { 2, 0, 0, 0, 0, (uint8_t)index },
		.vlan_id = (uint16_t)(index + 7),
		.punts_vlans = index == 1,
		.frame_io.nb_queues = index + 1,
		.addr_io.ctx = p,
		.link_wait_ns = 100000000u * index,
	};
	*port = p;
	return 0;
}

static int start(struct roost_backend_port *port, struct roost_dev *dev,
		 uint8_t port_num, struct roost_progress *const *progress)
{
	(void)progress;
	note('s', port);
	port->dev = dev;
	port->port_num = port_num;
	return world.start_ret;
}

static uint64_t run(struct roost_backend_port *port, uint64_t now_ns)
{
	note('r', port);
	return now_ns + (port == world.ports ? 5 : 3);
}

static void leave(struct roost_backend_port *port)
{
	note('l', port);
}

static void quiesce(struct roost_backend_port *port)
{
	note('q', port);
}

static void close_port(struct roost_backend_port *port)
{
	note('c', port);
}

static void free_port(struct roost_backend_port *port)
{
	note('f', port);
}

const struct roost_backend roost_ethdev = {
	.name = "notes",
	.takes = takes,
	.prepare = prepare,
	.is_inherited = is_inherited,
	.open = open_port,
	.start = start,
	.run = run,
	.leave = leave,
	.quiesce = quiesce,
	.close = close_port,
	.free = free_port,
};

static bool takes_services(const struct roost_port_config *conf)
{
	return conf->service[0] != '\0';
}

/* It has no process-wide state, so a child can use it. */
const struct roost_backend roost_shared = {
	.name = "shared",
	.takes = takes_services,
};

static bool takes_links(const struct roost_port_config *conf)
{
	return conf->link[0] != '\0';
}

const struct roost_backend roost_link = {
	.name = "link",
	.takes = takes_links,
};

void roost_report_process(const struct roost_config *c,
			  const struct roost_backend *backend)
{
	assert_ptr_equal(c, &config);
	assert_ptr_equal(backend, &roost_ethdev);
}

int roost_port_query(struct roost_dev *dev, uint8_t port_num,
		     struct roost_port_attr *attr)
{
	assert_ptr_equal(dev, &world);
	assert_int_equal(port_num, 2); /* the first one waits for nothing */
	attr->state =
		world.active_after-- == 0 ? ROOST_PORT_ACTIVE : ROOST_PORT_DOWN;
	return 0;
}

static int setup(void **state)
{
	memset(&world, 0, sizeof(world));
	config = (struct roost_config){ .nb_ports = 2 };
	strcpy(config.ports[0].devargs, "net_null0");
	strcpy(config.ports[1].devargs, "net_null1");
	config.ports[1].second = true;
	return 0;
}

static void ports__live_in_order(void **state)
{
	struct roost_dev *dev = (struct roost_dev *)&world;
	struct roost_ports ports;

	assert_int_equal(roost_ports_prepare(&config, 0), 0);
	assert_int_equal(roost_ports_open(&ports, &config, 0), 0);
	assert_int_equal(ports.nb, 2);
	assert_int_equal(roost_ports_start(&ports, dev, NULL), 0);
	assert_int_equal(world.ports[0].port_num, 1);
	assert_int_equal(world.ports[1].port_num, 2);
	assert_int_equal(roost_ports_run(&ports, 100), 103);
	roost_ports_leave(&ports);
	roost_ports_quiesce(&ports);
	roost_ports_close(&ports);
	roost_ports_exit(&ports); /* this backend has nothing to give back */
	roost_ports_free(&ports);
	assert_string_equal(world.calls, "P0P0o0o1s0s1r0r1l0l1q0q1c0c1f0f1");
}

static void ports__that_do_not_open_leave_none(void **state)
{
	struct roost_ports ports;

	world.open_ret = -EBUSY;
	assert_int_equal(roost_ports_open(&ports, &config, 0), -EBUSY);
	assert_int_equal(ports.nb, 0);
	assert_string_equal(world.calls, "o0o1c0f0");
}

static void ports__start_until_an_error(void **state)
{
	struct roost_ports ports;

	assert_int_equal(roost_ports_open(&ports, &config, 0), 0);
	world.start_ret = -EIO;
	assert_int_equal(roost_ports_start(&ports, NULL, NULL), -EIO);
	assert_string_equal(world.calls, "o0o1s0");
}

static void ports__prepare_until_an_error(void **state)
{
	world.prepare_ret = -EACCES;
	assert_int_equal(roost_ports_prepare(&config, 0), -EACCES);
	assert_string_equal(world.calls, "P0");
}

/* What a forked child cannot use is the backend's to say. */
static void ports__are_inherited_as_the_backend_says(void **state)
{
	assert_false(roost_ports_are_inherited(&config, 0));
	world.inherited = true;
	assert_true(roost_ports_are_inherited(&config, 0));
	strcpy(config.ports[0].service, "hub");
	strcpy(config.ports[1].service, "/run/a");
	assert_false(roost_ports_are_inherited(&config, 0));
	config.ports[1].service[0] = '\0';
	assert_true(roost_ports_are_inherited(&config, 0));
	config.ports[0].service[0] = '\0';
}

/* The device gets what each port has, and the pool with the largest mbufs. */
static void ports__configure_the_device(void **state)
{
	struct rte_pktmbuf_pool_private small = { .mbuf_data_room_size = 2048 },
					large = { .mbuf_data_room_size = 9216 };
	struct {
		struct rte_mempool pool;
		struct rte_pktmbuf_pool_private priv;
	} pools[2];
	static const struct roost_leases leases = { .ctx = &world };
	struct roost_dev_conf conf = { .name = "roost0" };
	struct roost_ports ports;

	memset(pools, 0, sizeof(pools));
	memcpy(rte_mempool_get_priv(&pools[0].pool), &small, sizeof(small));
	memcpy(rte_mempool_get_priv(&pools[1].pool), &large, sizeof(large));
	assert_int_equal(roost_ports_open(&ports, &config, 0), 0);
	ports.v[0]->pool = &pools[0].pool;
	ports.v[1]->pool = &pools[1].pool;
	ports.v[0]->leases = &leases;
	ports.v[0]->shares_addrs = true;
	roost_ports_configure(&ports, &conf);
	assert_ptr_equal(conf.pool, &pools[1].pool);
	assert_int_equal(conf.nb_ports, 2);
	assert_ptr_equal(conf.leases, &leases);
	assert_true(conf.shares_addrs);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(conf.mac[i][5], i);
		assert_int_equal(conf.vlan_id[i], i + 7);
		assert_int_equal(conf.punts_vlans[i], i == 1);
		assert_int_equal(conf.frame_io[i].nb_queues, i + 1);
		assert_ptr_equal(conf.addr_io[i].ctx, &world.ports[i]);
	}
}

static void ports__wait_for_links(void **state)
{
	struct roost_ports ports;
	uint64_t begin_ns;

	assert_int_equal(roost_ports_open(&ports, &config, 0), 0);
	assert_int_equal(roost_ports_start(&ports, (struct roost_dev *)&world,
					   NULL),
			 0);
	world.active_after = 2;
	roost_ports_wait(&ports);
	assert_int_equal(world.active_after, UINT_MAX);
	/* One that does not come up is not waited for longer than it says. */
	world.active_after = UINT_MAX;
	begin_ns = roost_now_ns();
	roost_ports_wait(&ports);
	assert_true(roost_now_ns() - begin_ns >= 100000000u);
	assert_true(world.active_after != 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ports__live_in_order),
		TEST(ports__that_do_not_open_leave_none),
		TEST(ports__start_until_an_error),
		TEST(ports__prepare_until_an_error),
		TEST(ports__are_inherited_as_the_backend_says),
		TEST(ports__configure_the_device),
		TEST(ports__wait_for_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
