/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/port/ethport.h"
#include "pmd_glue/host/groups.h"
#include "pmd_glue/host/membership.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/group_frames.h"

/*
 * The port is 02:11:22:33:44:02 with 198.18.0.2, fd00::5:2 and a link-local
 * address; its device is this.
 */
static struct {
	int list_ret;
	unsigned int nb_macs;
	struct rte_ether_addr macs[256];
	bool all;
	unsigned int calls;
} filter;

static struct {
	struct roost_ethport port;
	struct roost_prefixes addrs;
	struct roost_groups groups;
	struct roost_gid kernel; /* has this address */
	bool twin;               /* it is behind one */
	unsigned int nb_sent;
	unsigned int nb_calls; /* to the control thread */
} world;

int rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *macs,
				 uint32_t nb)
{
	assert_int_equal(id, 7);
	filter.calls++;
	if (filter.list_ret)
		return filter.list_ret;
	memcpy(filter.macs, macs, nb * sizeof(macs[0]));
	filter.nb_macs = nb;
	return 0;
}

int rte_eth_allmulticast_enable(uint16_t id)
{
	assert_int_equal(id, 7);
	filter.calls++;
	filter.all = true;
	return 0;
}

int rte_eth_allmulticast_disable(uint16_t id)
{
	assert_int_equal(id, 7);
	filter.calls++;
	filter.all = false;
	return 0;
}

/* The control thread is this one. */
int roost_control_call(int (*fn)(void *arg), void *arg)
{
	world.nb_calls++;
	return fn(arg);
}

static void hear_send(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	(void)frame;
	(void)len_bytes;
	assert_ptr_equal(ctx, &world);
	world.nb_sent++;
}

static bool kernel_owns(void *ctx, const struct roost_gid *addr)
{
	assert_ptr_equal(ctx, &world);
	return roost_gid_eq(addr, &world.kernel);
}

static void set_groups(void *ctx, uint8_t (*macs)[6], unsigned int nb)
{
	assert_ptr_equal(ctx, &world);
	roost_ethport_set_groups(&world.port, macs, nb,
				 world.twin || nb > ROOST_GROUPS_MACS_MAX);
}

static void start(enum roost_driver_kernel kernel)
{
	struct roost_groups_conf conf = {
		.mac = world.port.mac,
		.ip_mtu_bytes = &world.port.ip_mtu_bytes,
		.addrs = &world.addrs,
		.set_filter = set_groups,
		.kernel_owns = world.twin || kernel == ROOST_KERNEL_SHARES
				       ? kernel_owns
				       : NULL,
		.send = hear_send,
		.ctx = &world,
	};

	world.port.kernel = kernel;
	assert_int_equal(roost_groups_create(&world.groups, &conf), 0);
	roost_groups_start(&world.groups, roost_now_ns());
}

static int setup(void **state)
{
	memset(&filter, 0, sizeof(filter));
	memset(&world, 0, sizeof(world));
	filter.all = true;
	world.port.id = 7;
	world.port.ip_mtu_bytes = 1500;
	memcpy(world.port.mac, group_host_v4().mac, 6);
	world.addrs.nb = 2;
	world.addrs.v[0].gid = addr("198.18.0.2");
	world.addrs.v[1].gid = addr("fd00::5:2");
	return 0;
}

static int teardown(void **state)
{
	roost_groups_destroy(&world.groups);
	return 0;
}

static int join(const char *text)
{
	struct roost_gid group = addr(text);

	return roost_groups_join(&world.groups, &group);
}

static void leave(const char *text)
{
	struct roost_gid group = addr(text);

	roost_groups_leave(&world.groups, &group);
}

static bool passes(const char *text)
{
	static const uint8_t zero[6];
	struct roost_gid group = addr(text);
	uint8_t mac[6];

	roost_gid_multicast_mac(&group, mac);
	assert_memory_not_equal(mac, zero, 6);
	for (unsigned int i = 0; i < filter.nb_macs; i++)
		if (memcmp(filter.macs[i].addr_bytes, mac, 6) == 0)
			return true;
	return filter.all;
}

static void groups__filter_has_the_groups_of_the_host(void **state)
{
	start(ROOST_KERNEL_NONE);
	assert_false(filter.all);
	assert_int_equal(filter.nb_macs, 4);
	assert_true(passes("224.0.0.1"));
	assert_true(passes("ff02::1"));
	assert_true(passes("ff02::1:ff05:2"));
	assert_true(passes("ff02::1:ff33:4402"));
	assert_false(passes("239.1.1.1"));
	/* Two of them are reported. */
	roost_membership_tick(world.groups.membership, roost_now_ns());
	assert_int_equal(world.nb_sent, 1);
}

static void groups__filter_follows_join_and_leave(void **state)
{
	start(ROOST_KERNEL_NONE);
	assert_int_equal(join("239.1.1.1"), 0);
	assert_int_equal(join("ff0e::1:1"), 0);
	assert_int_equal(world.nb_calls, 2);
	assert_true(passes("239.1.1.1"));
	assert_true(passes("ff0e::1:1"));
	leave("239.1.1.1");
	assert_false(passes("239.1.1.1"));
	assert_true(passes("ff0e::1:1"));
	assert_true(passes("ff02::1"));
}

static void groups__without_a_list_all_pass(void **state)
{
	filter.list_ret = -ENOTSUP;
	filter.all = false;
	start(ROOST_KERNEL_NONE);
	assert_true(filter.all);
	assert_int_equal(join("239.1.1.1"), 0);
	leave("239.1.1.1");
	assert_true(filter.all);
}

static void groups__beyond_the_list_all_pass(void **state)
{
	struct roost_gid group = addr("239.0.0.0");

	start(ROOST_KERNEL_NONE);
	for (uint32_t i = 0; i < 200; i++) {
		roost_be32_put(&group.b[12], 0xef000000u + i);
		assert_int_equal(roost_groups_join(&world.groups, &group), 0);
	}
	assert_true(filter.all);
	for (uint32_t i = 0; i < 199; i++) {
		roost_be32_put(&group.b[12], 0xef000000u + i);
		roost_groups_leave(&world.groups, &group);
	}
	assert_false(filter.all);
	assert_true(passes("239.0.0.199"));
	assert_false(passes("239.0.0.198"));
}

/* A QP in a group of the host does not take it along. */
static void groups__of_the_host_stay(void **state)
{
	start(ROOST_KERNEL_NONE);
	assert_int_equal(join("ff02::1:ff05:2"), 0);
	leave("ff02::1:ff05:2");
	leave("224.0.0.1");
	assert_true(passes("ff02::1:ff05:2"));
	assert_true(passes("224.0.0.1"));
}

/* The solicited-node groups are those of the addresses that there are. */
static void groups__follow_the_addresses(void **state)
{
	start(ROOST_KERNEL_NONE);
	assert_int_equal(join("239.1.1.1"), 0);
	world.addrs.v[1].gid = addr("fd00::9:9");
	roost_groups_readdress(&world.groups, roost_now_ns());
	assert_true(passes("ff02::1:ff09:9"));
	assert_false(passes("ff02::1:ff05:2"));
	assert_true(passes("239.1.1.1"));
	assert_true(passes("ff02::1:ff33:4402"));
	world.addrs.nb = 0;
	roost_groups_readdress(&world.groups, roost_now_ns());
	assert_false(passes("ff02::1:ff09:9"));
	assert_true(passes("224.0.0.1"));
	/* A port that is gone has no filter. */
	world.port.gone = true;
	filter.calls = 0;
	leave("239.1.1.1");
	assert_int_equal(filter.calls, 0);
}

static void groups__of_a_shared_port_are_only_reported(void **state)
{
	uint64_t now_ns = roost_now_ns();

	world.kernel = addr("fe80::11:22ff:fe33:4402");
	start(ROOST_KERNEL_SHARES);
	assert_int_equal(join("239.1.1.1"), 0);
	assert_int_equal(filter.calls, 0);
	roost_membership_tick(world.groups.membership, now_ns + 1000000000u);
	/* One of each family; of ours, not of the kernel's address. */
	assert_int_equal(world.nb_sent, 2);
	assert_int_equal(world.groups.nb_own, 3);
}

/* Which groups the kernel behind a twin is in, nobody tells. */
static void groups__of_a_port_with_a_twin_all_pass(void **state)
{
	world.twin = true;
	world.kernel = addr("fd00::5:2");
	filter.all = false;
	start(ROOST_KERNEL_NONE);
	assert_true(filter.all);
	assert_int_equal(join("239.1.1.1"), 0);
	leave("239.1.1.1");
	assert_true(filter.all);
	/* The group of the kernel's address is the kernel's to report. */
	assert_int_equal(world.groups.nb_own, 3);
}

static void groups__too_many_are_an_error(void **state)
{
	struct roost_gid group = addr("239.0.0.0");
	int ret = 0;

	start(ROOST_KERNEL_NONE);
	for (uint32_t i = 0; i < 4096; i++) {
		roost_be32_put(&group.b[12], 0xef000000u + i);
		assert_int_equal(roost_groups_join(&world.groups, &group), 0);
	}
	for (uint32_t i = 4096; i < 5000 && ret == 0; i++) {
		roost_be32_put(&group.b[12], 0xef000000u + i);
		ret = roost_groups_join(&world.groups, &group);
	}
	assert_int_equal(ret, -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups__filter_has_the_groups_of_the_host),
		TEST(groups__filter_follows_join_and_leave),
		TEST(groups__without_a_list_all_pass),
		TEST(groups__beyond_the_list_all_pass),
		TEST(groups__of_the_host_stay),
		TEST(groups__follow_the_addresses),
		TEST(groups__of_a_shared_port_are_only_reported),
		TEST(groups__of_a_port_with_a_twin_all_pass),
		TEST(groups__too_many_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
