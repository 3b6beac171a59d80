/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/lease.h"
#include "tests/no_burst.h"
#include "tests/unit/engine/fixture.h"

#define INDEX_BITS 20u
#define BLOCK_LEN 64u

/* A lessor of two blocks of QPNs. */
static struct {
	unsigned int nb_blocks, nb_claims, nb_releases;
	int claim_ret;
} lessor;

static const uint32_t blocks[2] = { 5000, 17 };

static int lease_qpns(void *ctx, uint32_t *first, uint32_t *nb)
{
	assert_ptr_equal(ctx, &lessor);
	if (lessor.nb_blocks == 2)
		return -EDQUOT;
	*first = blocks[lessor.nb_blocks++] * BLOCK_LEN;
	*nb = BLOCK_LEN;
	return 0;
}

static int claim(void *ctx, const struct roost_service_claim *service)
{
	assert_ptr_equal(ctx, &lessor);
	assert_int_equal(service->id, 77);
	lessor.nb_claims++;
	return lessor.claim_ret;
}

static void release(void *ctx, const struct roost_service_claim *service)
{
	assert_ptr_equal(ctx, &lessor);
	assert_int_equal(service->id, 77);
	lessor.nb_releases++;
}

static const struct roost_leases leases = {
	.ctx = &lessor,
	.qpn_key = { 0xfeed, 0xbeef },
	.qpn_index_bits = INDEX_BITS,
	.lease_qpns = lease_qpns,
	.claim = claim,
	.release = release,
};

static struct roost_dev *create(const struct roost_leases *l)
{
	const struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.frame_io = { { .rx_burst = no_burst, .tx_burst = no_burst } },
		.node_guid = 1,
		.leases = l,
		.seed = { 1, 2 },
	};
	struct roost_dev *dev;

	memset(&lessor, 0, sizeof(lessor));
	assert_int_equal(roost_dev_create(&conf, &dev), 0);
	return dev;
}

/* The block of a QPN, as the lessor finds it: by its key alone. */
static uint32_t block_of(uint32_t qpn)
{
	struct roost_idmap map;
	uint32_t index;

	assert_int_equal(roost_idmap_init(&map, 24, INDEX_BITS, leases.qpn_key,
					  NULL),
			 0);
	index = roost_idmap_invert(&map, qpn) & ((1u << INDEX_BITS) - 1);
	roost_idmap_fini(&map);
	return index / BLOCK_LEN;
}

static void lease_qpns__are_the_device_s_numbers(void **state)
{
	struct roost_dev *dev = create(&leases);
	struct roost_qp_init init = { .type = ROOST_QPT_UD };
	struct roost_qp *qps[2 * BLOCK_LEN], *one_more;
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_cq *cq;
	uint64_t acked;

	assert_int_equal(roost_ctx_open(dev, &ctx), 0);
	assert_int_equal(roost_pd_alloc(ctx, &pd), 0);
	assert_int_equal(roost_cq_create(ctx, 4, NULL, NULL, &cq), 0);
	init.send_cq = init.recv_cq = cq;
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int nb_of[2] = { 0, 0 };

		for (unsigned int i = 0; i < 2 * BLOCK_LEN; i++) {
			uint32_t block;

			assert_int_equal(roost_qp_create(ctx, pd, &init,
							 &qps[i]),
					 0);
			block = block_of(roost_qp_num(qps[i]));
			assert_true(block == blocks[0] || block == blocks[1]);
			nb_of[block == blocks[1]]++;
			assert_ptr_equal(roost_idmap_get(&dev->qps,
							 roost_qp_num(qps[i])),
					 qps[i]);
		}
		assert_int_equal(nb_of[0], BLOCK_LEN);
		assert_int_equal(nb_of[1], BLOCK_LEN);
		assert_int_equal(roost_qp_create(ctx, pd, &init, &one_more),
				 -ENOMEM);
		for (unsigned int i = 0; i < 2 * BLOCK_LEN; i++)
			assert_int_equal(roost_qp_destroy(qps[i], &acked), 0);
	}
	assert_int_equal(roost_cq_destroy(cq, &acked, &acked), 0);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
	assert_int_equal(roost_dev_destroy(dev), 0);
}

/* A lessor's mistake is an error, and no number. */
static void lease_bits__are_checked(void **state)
{
	static const unsigned int bits[][2] = {
		{ 10, 13 }, { 24, 13 }, { 0, 13 }, { 40, 13 }, { 20, 15 },
	};
	struct roost_leases wrong = leases;
	struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.leases = &wrong,
		.seed = { 1, 2 },
	};
	struct roost_dev *dev;

	for (unsigned int i = 0; i < 5; i++) {
		wrong.qpn_index_bits = bits[i][0];
		wrong.cm_prefix_bits = bits[i][1];
		assert_int_equal(roost_dev_create(&conf, &dev), -EINVAL);
	}
}

static void dev_claim__asks_the_lessor(void **state)
{
	const struct roost_service_claim service = { .id = 77 };
	struct roost_dev *dev = create(&leases);

	assert_ptr_equal(roost_dev_leases(dev), &leases);
	assert_int_equal(roost_dev_claim(dev, &service), 0);
	roost_dev_release(dev, &service);
	lessor.claim_ret = -EADDRINUSE;
	assert_int_equal(roost_dev_claim(dev, &service), -EADDRINUSE);
	assert_int_equal(lessor.nb_claims, 2);
	assert_int_equal(lessor.nb_releases, 1);
	assert_int_equal(roost_dev_destroy(dev), 0);
}

static void dev_claim__is_granted_without_leases(void **state)
{
	const struct roost_service_claim service = { .id = 77 };
	struct roost_dev *dev = create(NULL);

	assert_null(roost_dev_leases(dev));
	assert_int_equal(roost_dev_claim(dev, &service), 0);
	roost_dev_release(dev, &service);
	assert_int_equal(roost_dev_destroy(dev), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lease_qpns__are_the_device_s_numbers),
		cmocka_unit_test(lease_bits__are_checked),
		cmocka_unit_test(dev_claim__asks_the_lessor),
		cmocka_unit_test(dev_claim__is_granted_without_leases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
