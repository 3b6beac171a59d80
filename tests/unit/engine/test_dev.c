/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "lib/engine/dev_priv.h"
#include "tests/unit/engine/fixture.h"

static const struct roost_gid no_gid;

static void dev_create__ports(void **state)
{
	struct roost_dev_conf conf = { .name = "x", .seed = { 1, 1 } };
	struct roost_dev *dev;

	(void)state;
	assert_int_equal(roost_dev_create(&conf, &dev), -EINVAL);
	conf.nb_ports = ROOST_DEV_PORTS_MAX + 1;
	assert_int_equal(roost_dev_create(&conf, &dev), -EINVAL);
	for (conf.nb_ports = 1; conf.nb_ports <= ROOST_DEV_PORTS_MAX;
	     conf.nb_ports++) {
		assert_int_equal(roost_dev_create(&conf, &dev), 0);
		assert_int_equal(roost_dev_nb_ports(dev), conf.nb_ports);
		assert_string_equal(roost_dev_name(dev), "x");
		assert_int_equal(roost_dev_destroy(dev), 0);
	}
}

/* Without a seed two devices give different numbers. */
static void dev_create__draws_a_seed(void **state)
{
	struct roost_dev_conf conf = { .name = "x", .nb_ports = 1 };
	struct roost_dev *a, *b;
	unsigned int equal = 0;

	(void)state;
	assert_int_equal(roost_dev_create(&conf, &a), 0);
	assert_int_equal(roost_dev_create(&conf, &b), 0);
	for (uint32_t i = 0; i < 100; i++) {
		equal += roost_idmap_permute(&a->qps, i) ==
			 roost_idmap_permute(&b->qps, i);
		equal += roost_idmap_permute(&a->mrs, i) ==
			 roost_idmap_permute(&b->mrs, i);
	}
	assert_true(equal < 5);
	assert_int_equal(roost_dev_destroy(a), 0);
	assert_int_equal(roost_dev_destroy(b), 0);
}

static void port_query__number_and_index(void **state)
{
	struct roost_port_attr attr;
	struct roost_gid gid;
	struct fixture f;
	uint16_t pkey;

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(roost_port_query(f.dev, 0, &attr), -EINVAL);
	assert_int_equal(roost_port_query(f.dev, 2, &attr), -EINVAL);
	assert_int_equal(roost_port_query_gid(f.dev, 0, 0, &gid), -EINVAL);
	assert_int_equal(roost_port_query_gid(f.dev, 1, ROOST_GID_TABLE_LEN,
					      &gid),
			 -EINVAL);
	assert_int_equal(roost_port_query_gid(f.dev, 1, ROOST_GID_TABLE_LEN - 1,
					      &gid),
			 0);
	assert_true(roost_gid_is_zero(&gid));
	assert_int_equal(roost_port_query_pkey(f.dev, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(roost_port_query_pkey(f.dev, 1, 1, &pkey), 0);
	assert_int_equal(pkey, 0);
	assert_int_equal(roost_port_query_pkey(f.dev, 1, ROOST_PKEY_TABLE_LEN,
					       &pkey),
			 -EINVAL);
	assert_int_equal(roost_port_query_pkey(f.dev, 2, 0, &pkey), -EINVAL);
	fixture_close(&f);
}

static void port_set_gid__table(void **state)
{
	struct roost_gid gid;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(roost_port_set_gid(f.dev, 2, 0, &f.peer), -EINVAL);
	assert_int_equal(roost_port_set_gid(f.dev, 1, ROOST_GID_TABLE_LEN,
					    &f.peer),
			 -EINVAL);
	/* The same again in its own place is nothing new, elsewhere it is. */
	assert_int_equal(roost_port_set_gid(f.dev, 1, 0, &f.gid), 0);
	assert_int_equal(roost_port_set_gid(f.dev, 1, 5, &f.gid), -EEXIST);
	assert_int_equal(roost_port_query_gid(f.dev, 1, 5, &gid), 0);
	assert_true(roost_gid_is_zero(&gid));
	assert_int_equal(roost_port_set_gid(f.dev, 1, ROOST_GID_TABLE_LEN - 1,
					    &f.peer6),
			 0);
	assert_true(roost_port_owns(&f.dev->ports[0], &f.peer6));
	assert_int_equal(roost_port_set_gid(f.dev, 1, 0, &no_gid), 0);
	assert_false(roost_port_owns(&f.dev->ports[0], &f.gid));
	assert_true(roost_port_owns(&f.dev->ports[0], &f.gid6));
	assert_true(roost_port_owns(&f.dev->ports[0], &f.peer6));
	assert_int_equal(roost_port_set_gid(f.dev, 1, ROOST_GID_TABLE_LEN - 1,
					    &no_gid),
			 0);
	assert_false(roost_port_owns(&f.dev->ports[0], &f.peer6));
	/* Many zeros may stand in the table. */
	assert_int_equal(roost_port_set_gid(f.dev, 1, 1, &no_gid), 0);
	assert_false(roost_port_owns(&f.dev->ports[0], &no_gid));
	fixture_close(&f);
}

/* Path MTU and the headers of RoCE must fit what IP may send (IPv6: 40, UDP 8,
 * BTH 12, XRCETH 4, RETH 16, ImmDt 4, ICRC 4).
 */
static void port_query__active_mtu(void **state)
{
	static const struct {
		uint32_t ip_mtu_bytes;
		int mtu;
	} rows[] = {
		{ 9000, ROOST_MTU_4096 },
		{ 4096 + 88, ROOST_MTU_4096 },
		{ 4096 + 87, ROOST_MTU_2048 },
		{ 2048 + 88, ROOST_MTU_2048 },
		{ 2048 + 87, ROOST_MTU_1024 },
		{ 1500, ROOST_MTU_1024 },
		{ 1024 + 87, ROOST_MTU_512 },
		{ 512 + 87, ROOST_MTU_256 },
		{ 256 + 88, ROOST_MTU_256 },
		{ 256 + 87, 0 },
		{ 0, 0 },
	};
	struct roost_port_attr attr;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_port_set_link(f.dev, 1, ROOST_PORT_DOWN,
				    rows[i].ip_mtu_bytes, 1000);
		assert_int_equal(roost_port_query(f.dev, 1, &attr), 0);
		assert_int_equal(attr.active_mtu, rows[i].mtu);
		assert_int_equal(attr.max_mtu, ROOST_MTU_4096);
		assert_int_equal(attr.state, ROOST_PORT_DOWN);
		assert_int_equal(attr.speed_mbps, 1000);
	}
	fixture_close(&f);
}

/* Equal but for the top bit, and not limited both (IBTA 10.9.3). */
static void pkey_match__membership(void **state)
{
	(void)state;
	assert_true(roost_pkey_match(0xffff, 0xffff));
	assert_true(roost_pkey_match(0xffff, 0x7fff));
	assert_true(roost_pkey_match(0x7fff, 0xffff));
	assert_false(roost_pkey_match(0x7fff, 0x7fff));
	assert_false(roost_pkey_match(0xffff, 0xfffe));
	assert_false(roost_pkey_match(0x8001, 0x8002));
}

static void ctx_close__in_use(void **state)
{
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(roost_ctx_open(f.dev, &ctx), 0);
	assert_int_equal(roost_pd_alloc(ctx, &pd), 0);
	assert_int_equal(roost_ctx_close(ctx), -EBUSY);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dev_create__ports),
		cmocka_unit_test(dev_create__draws_a_seed),
		cmocka_unit_test(port_query__number_and_index),
		cmocka_unit_test(port_set_gid__table),
		cmocka_unit_test(port_query__active_mtu),
		cmocka_unit_test(pkey_match__membership),
		cmocka_unit_test(ctx_close__in_use),
	};

	return cmocka_run_group_tests_name("dev", tests, NULL, NULL);
}
