/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/nd.h"
#include "pmd_glue/netif/inet.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/no_burst.h"
#include "tests/unit/pmd_glue/host/frames.h"

/* An inet on port 1 of a device of the engine; frames and filter only count. */
static struct {
	struct roost_dev *dev;
	struct roost_inet inet;
	struct roost_nl_link nl_link;
	uint32_t ip_mtu_bytes;
	unsigned int nb_sent, nb_macs;
} world;

static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	(void)frame;
	(void)len_bytes;
	assert_ptr_equal(ctx, &world);
	world.nb_sent++;
}

static void wake(void *ctx)
{
	(void)ctx;
}

static void set_filter(void *ctx, uint8_t (*macs)[6], unsigned int nb)
{
	(void)macs;
	assert_ptr_equal(ctx, &world);
	world.nb_macs = nb;
}

static bool kernel_owns(void *ctx, const struct roost_gid *a)
{
	assert_ptr_equal(ctx, &world);
	return roost_nl_link_has(&world.nl_link.state, a);
}

static void start(bool follows)
{
	const struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.frame_io = { { .rx_burst = no_burst, .tx_burst = no_burst } },
		.node_guid = 1,
		.seed = { 1, 2 },
	};
	struct roost_inet_conf iconf = {
		.host = {
			.routes.on_link = {
				.nb = 2,
				.v = {
					{ addr("fd00::2"), 64 },
					{ addr("198.18.0.2"), 24 },
				},
			},
			.send = send_frame,
			.wake = wake,
			.kernel_owns = follows ? kernel_owns : NULL,
			.addrs_are_kernels = follows,
			.ctx = &world,
		},
		.label = "port0",
		.ip_mtu_bytes = &world.ip_mtu_bytes,
		.nl_link = follows ? &world.nl_link : NULL,
		.set_filter = set_filter,
	};

	memcpy(iconf.host.mac, mac_b, 6);
	assert_int_equal(roost_dev_create(&conf, &world.dev), 0);
	assert_int_equal(roost_inet_create(&world.inet, &iconf), 0);
	roost_inet_start(&world.inet, world.dev, 1, roost_now_ns());
}

static int setup(void **state)
{
	memset(&world, 0, sizeof(world));
	world.ip_mtu_bytes = 1500;
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(roost_dev_destroy(world.dev), 0);
	roost_inet_destroy(&world.inet);
	return 0;
}

static void check_gid(unsigned int index, struct roost_gid want)
{
	struct roost_gid gid;

	assert_int_equal(roost_port_query_gid(world.dev, 1, index, &gid), 0);
	assert_memory_equal(&gid, &want, sizeof(want));
}

/* The link-local address first, then IPv4, then IPv6. */
static void inet_start__sets_gids_and_groups(void **state)
{
	start(false);
	check_gid(0, roost_nd_link_local(mac_b));
	check_gid(1, addr("198.18.0.2"));
	check_gid(2, addr("fd00::2"));
	/* All hosts of both families, and two solicited-node groups. */
	assert_int_equal(world.nb_macs, 4);
}

static void inet_addr__is_added_and_removed(void **state)
{
	const struct roost_prefix more = { addr("fd00::9"), 64 };
	const struct roost_gid zero = { 0 };
	struct roost_gid own = roost_nd_link_local(mac_b);

	start(false);
	assert_int_equal(roost_inet_add_addr(&world.inet, &more), 0);
	check_gid(3, more.gid);
	assert_int_equal(world.nb_macs, 5);
	assert_int_equal(roost_inet_add_addr(&world.inet, &more), -EEXIST);
	assert_int_equal(roost_inet_del_addr(&world.inet, &more.gid), 0);
	check_gid(3, zero);
	assert_int_equal(world.nb_macs, 4);
	assert_int_equal(roost_inet_del_addr(&world.inet, &more.gid), -ENOENT);
	assert_int_equal(roost_inet_del_addr(&world.inet, &own), -ENOENT);
}

static void inet_addr__has_a_limit(void **state)
{
	struct roost_prefix more = { addr("198.18.0.0"), 24 };
	unsigned int nb = 0;

	start(false);
	do
		more.gid.b[15] = (uint8_t)(100 + nb++);
	while (roost_inet_add_addr(&world.inet, &more) == 0);
	assert_int_equal(nb - 1, ROOST_PORT_IPS_MAX - 2);
	assert_int_equal(roost_inet_add_addr(&world.inet, &more), -ENOSPC);
}

/* A new MAC takes the place of the old one's link-local address. */
static void inet_set_mac__changes_the_link_local_gid(void **state)
{
	uint8_t mac[6];

	start(false);
	world.nb_sent = 0;
	roost_inet_set_mac(&world.inet, mac_a);
	check_gid(0, roost_nd_link_local(mac_a));
	check_gid(1, addr("198.18.0.2"));
	assert_int_equal(roost_port_query_mac(world.dev, 1, mac), 0);
	assert_memory_equal(mac, mac_a, 6);
	assert_true(world.nb_sent >= 3); /* each address is announced */
}

static void inet_follow__has_the_addresses_of_the_kernel(void **state)
{
	const struct roost_prefix by_ctl = { addr("198.18.7.7"), 24 };
	const struct roost_gid zero = { 0 };
	struct roost_nl_link_state *kernel = &world.nl_link.state;

	kernel->there = true;
	kernel->addrs[0].prefix =
		(struct roost_prefix){ addr("198.18.1.1"), 24 };
	kernel->nb_addrs = 1;
	start(true);
	check_gid(1, addr("198.18.1.1"));
	check_gid(2, zero);
	assert_int_equal(roost_inet_add_addr(&world.inet, &by_ctl), 0);
	kernel->addrs[0].prefix.gid = addr("198.18.1.2");
	roost_inet_follow(&world.inet);
	check_gid(1, addr("198.18.1.2"));
	check_gid(2, by_ctl.gid); /* stays */
	kernel->nb_addrs = 0;
	roost_inet_follow(&world.inet);
	check_gid(1, zero);
	check_gid(2, by_ctl.gid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inet_start__sets_gids_and_groups),
		TEST(inet_addr__is_added_and_removed),
		TEST(inet_addr__has_a_limit),
		TEST(inet_set_mac__changes_the_link_local_gid),
		TEST(inet_follow__has_the_addresses_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
