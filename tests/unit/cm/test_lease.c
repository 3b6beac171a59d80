/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include <roost/cm.h>
#include "cm/priv.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/lease.h"
#include "tests/cmocka.h"
#include "tests/no_burst.h"

#define PREFIX 0x1abcu
#define PREFIX_BITS 13u

/* A CM on a device whose numbers and services are leased. */
static struct {
	struct roost_dev *dev;
	struct roost_cm *cm;
	int claim_ret;
	unsigned int nb_claimed;
	struct roost_service_claim claimed;
} world;

static int no_qpns(void *ctx, uint32_t *first, uint32_t *nb)
{
	(void)ctx;
	(void)first;
	(void)nb;
	return -ENOSPC;
}

static int claim(void *ctx, const struct roost_service_claim *service)
{
	assert_ptr_equal(ctx, &world);
	if (world.claim_ret)
		return world.claim_ret;
	world.nb_claimed++;
	world.claimed = *service;
	return 0;
}

static void release(void *ctx, const struct roost_service_claim *service)
{
	assert_ptr_equal(ctx, &world);
	assert_memory_equal(service, &world.claimed, sizeof(*service));
	world.nb_claimed--;
}

static const struct roost_leases leases = {
	.ctx = &world,
	.qpn_key = { 1, 2 },
	.qpn_index_bits = 20,
	.lease_qpns = no_qpns,
	.cm_key = { 3, 4 },
	.cm_prefix = PREFIX,
	.cm_prefix_bits = PREFIX_BITS,
	.claim = claim,
	.release = release,
};

static void ignore(void *arg, struct roost_cm_conn *conn,
		   const struct roost_cm_event *event)
{
	(void)arg;
	(void)conn;
	(void)event;
}

static int setup(void **state)
{
	const struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.frame_io = { { .rx_burst = no_burst, .tx_burst = no_burst } },
		.node_guid = 1,
		.leases = &leases,
		.seed = { 1, 2 },
	};

	memset(&world, 0, sizeof(world));
	assert_int_equal(roost_dev_create(&conf, &world.dev), 0);
	assert_int_equal(roost_cm_get(world.dev, &world.cm), 0);
	return 0;
}

static int teardown(void **state)
{
	roost_cm_put(world.cm);
	assert_int_equal(roost_dev_destroy(world.dev), 0);
	return 0;
}

/* As the lessor: its permutation, turned back. */
static uint32_t value_of(uint32_t comm_id)
{
	static struct roost_idmap map;

	if (!map.pages)
		assert_int_equal(roost_idmap_init(&map, 32, 20, leases.cm_key,
						  NULL),
				 0);
	return roost_idmap_invert(&map, comm_id);
}

static void cm_lease__ids_have_the_prefix(void **state)
{
	struct roost_cm_conn *conns[3000];

	for (int i = 0; i < 3000; i++) {
		assert_int_equal(roost_cm_conn_create(world.cm, ignore, NULL,
						      &conns[i]),
				 0);
		assert_int_equal(value_of(conns[i]->local_id) >>
					 (32 - PREFIX_BITS),
				 PREFIX);
	}
	for (int i = 0; i < 3000; i++)
		roost_cm_conn_destroy(conns[i]);
}

static void cm_lease__listening_claims_the_service(void **state)
{
	const struct roost_cm_listen_param param = {
		.service_id = 0x01061b58,
		.family = ROOST_CM_FAMILY_IPV4,
		.backlog = 3,
	};
	struct roost_cm_listener *listener, *second;

	assert_int_equal(roost_cm_listen(world.cm, &param, ignore, NULL,
					 &listener),
			 0);
	assert_int_equal(world.nb_claimed, 1);
	assert_int_equal(world.claimed.id, param.service_id);
	assert_int_equal(world.claimed.family, ROOST_CM_FAMILY_IPV4);
	assert_true(world.claimed.listens);
	/* What is listened to here is given back. */
	assert_int_equal(roost_cm_listen(world.cm, &param, ignore, NULL,
					 &second),
			 -EADDRINUSE);
	assert_int_equal(world.nb_claimed, 1);
	roost_cm_listener_destroy(listener);
	assert_int_equal(world.nb_claimed, 0);
}

static void cm_lease__a_refused_claim_is_the_error_of_listen(void **state)
{
	const struct roost_cm_listen_param param = { .service_id = 7 };
	struct roost_cm_listener *listener;

	world.claim_ret = -EADDRINUSE;
	assert_int_equal(roost_cm_listen(world.cm, &param, ignore, NULL,
					 &listener),
			 -EADDRINUSE);
	world.claim_ret = 0;
	assert_int_equal(roost_cm_listen(world.cm, &param, ignore, NULL,
					 &listener),
			 0);
	roost_cm_listener_destroy(listener);
	assert_int_equal(world.nb_claimed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cm_lease__ids_have_the_prefix),
		TEST(cm_lease__listening_claims_the_service),
		TEST(cm_lease__a_refused_claim_is_the_error_of_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
