/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "lib/engine/core/dev_priv.h"
#include "tests/unit/engine/fixture.h"

static void dev_create__ports(void **state)
{
	struct roost_dev_conf conf = { .name = "x", .seed = { 1, 1 } };
	struct roost_dev *dev;

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

/* Equal but for the top bit, and not limited both (IBTA 10.9.3). */
static void pkey_match__membership(void **state)
{
	assert_true(roost_pkey_match(0xffff, 0xffff));
	assert_true(roost_pkey_match(0xffff, 0x7fff));
	assert_true(roost_pkey_match(0x7fff, 0xffff));
	assert_false(roost_pkey_match(0x7fff, 0x7fff));
	assert_false(roost_pkey_match(0xffff, 0xfffe));
	assert_false(roost_pkey_match(0x8001, 0x8002));
	/* An empty entry is no P_Key. */
	assert_false(roost_pkey_match(0, 0x8000));
	assert_false(roost_pkey_match(0x8000, 0x8000));
}

static void ctx_close__in_use(void **state)
{
	struct fixture *f = *state;
	struct roost_ctx *ctx;
	struct roost_pd *pd;

	assert_int_equal(roost_ctx_open(f->dev, &ctx), 0);
	assert_int_equal(roost_pd_alloc(ctx, &pd), 0);
	assert_int_equal(roost_ctx_close(ctx), -EBUSY);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dev_create__ports),
		cmocka_unit_test(dev_create__draws_a_seed),
		cmocka_unit_test(pkey_match__membership),
		FIXTURE_TEST(ctx_close__in_use),
	};

	return cmocka_run_group_tests_name("dev", tests, NULL, NULL);
}
