/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "fixture.h"
#include <roost/wq.h>
#include "lib/engine/core/wq_priv.h"
#include "lib/wire/frame.h"

#define WR 4

static struct fixture f;

static int setup(void **state)
{
	fixture_open(&f, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

static struct roost_wq *new_wq(struct roost_cq *cq)
{
	struct roost_wq_init init = { .max_wr = WR, .max_sge = 1, .cq = cq };
	struct roost_wq *wq;

	assert_int_equal(roost_wq_create(f.pd, &init, &wq), 0);
	assert_int_equal(init.max_wr, WR);
	return wq;
}

static int post(struct roost_wq *wq, uint64_t wr_id)
{
	struct roost_recv_wr wr = { .wr_id = wr_id };
	int rc;

	roost_wq_recv_begin(wq);
	rc = roost_wq_recv_add(wq, &wr);
	roost_wq_recv_end(wq);
	return rc;
}

static void expect_flushed(struct roost_wq *wq, uint64_t wr_id)
{
	struct roost_cqe cqe;

	assert_int_equal(roost_cq_poll(f.cq, 1, &cqe), 1);
	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(cqe.qpn, roost_wq_num(wq));
	assert_int_equal(cqe.opcode, ROOST_WC_RECV);
	assert_true(cqe.solicited);
}

static void wq_create__within_the_limits(void **state)
{
	struct roost_wq_init init = { .max_wr = 0, .cq = f.cq };
	struct roost_wq *wq;

	assert_int_equal(roost_wq_create(f.pd, &init, &wq), -EINVAL);
	init.max_wr = roost_dev_limits(f.dev)->max_qp_wr + 1;
	assert_int_equal(roost_wq_create(f.pd, &init, &wq), -EINVAL);
	init.max_wr = 3;
	init.max_sge = roost_dev_limits(f.dev)->max_sge + 1;
	assert_int_equal(roost_wq_create(f.pd, &init, &wq), -EINVAL);
	init.max_sge = 1;
	init.cq = NULL;
	assert_int_equal(roost_wq_create(f.pd, &init, &wq), -EINVAL);
	wq = new_wq(f.cq);
	assert_int_equal(roost_cq_destroy(f.cq, NULL, NULL), -EBUSY);
	assert_int_equal(roost_pd_dealloc(f.pd), -EBUSY);
	assert_int_equal(roost_wq_destroy(wq, NULL), 0);
}

/* From each state to each. */
static void wq_modify__allowed(void **state)
{
	static const int answers[ROOST_WQS_COUNT][ROOST_WQS_COUNT] = {
		[ROOST_WQS_RESET] = { 0, 0, 0 },
		[ROOST_WQS_RDY] = { 0, 0, 0 },
		[ROOST_WQS_ERR] = { 0, -EINVAL, 0 },
	};

	for (int from = 0; from < ROOST_WQS_COUNT; from++)
		for (int to = 0; to < ROOST_WQS_COUNT; to++) {
			struct roost_wq *wq = new_wq(f.cq);

			assert_int_equal(
				roost_wq_modify(wq, (enum roost_wq_state)from),
				0);
			assert_int_equal(
				roost_wq_modify(wq, (enum roost_wq_state)to),
				answers[from][to]);
			assert_int_equal(roost_wq_state(wq),
					 answers[from][to] ? from : to);
			assert_int_equal(roost_wq_destroy(wq, NULL), 0);
		}
}

static void wq_recv__in_each_state(void **state)
{
	struct roost_wq *wq = new_wq(f.cq);
	struct roost_cqe cqe;

	assert_int_equal(post(wq, 1), -EINVAL);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RDY), 0);
	for (uint64_t i = 0; i < WR; i++)
		assert_int_equal(post(wq, i), 0);
	assert_int_equal(post(wq, WR), -ENOMEM);
	assert_int_equal(roost_cq_poll(f.cq, 1, &cqe), 0);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_ERR), 0);
	for (uint64_t i = 0; i < WR; i++)
		expect_flushed(wq, i);
	assert_int_equal(post(wq, 9), 0);
	expect_flushed(wq, 9);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RESET), 0);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RDY), 0);
	assert_int_equal(post(wq, 10), 0);
	/* RESET forgets in silence. */
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RESET), 0);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_ERR), 0);
	assert_int_equal(roost_cq_poll(f.cq, 1, &cqe), 0);
	assert_int_equal(roost_wq_destroy(wq, NULL), 0);
}

static void ind_table__holds_its_wqs(void **state)
{
	struct roost_wq *wqs[] = { new_wq(f.cq), new_wq(f.cq) };
	struct roost_ind_table *table;
	struct roost_qp_init init = {
		.type = ROOST_QPT_UD,
		.cap = { .max_recv_wr = 1 },
	};
	struct roost_qp *qp;

	assert_int_not_equal(roost_wq_num(wqs[0]), roost_wq_num(wqs[1]));
	assert_int_equal(roost_ind_table_create(f.ctx, wqs,
						ROOST_IND_TABLE_LOG_MAX + 1,
						&table),
			 -EINVAL);
	assert_int_equal(roost_ind_table_create(f.ctx, wqs, 1, &table), 0);
	assert_int_equal(roost_wq_destroy(wqs[1], NULL), -EBUSY);
	/* The table is the receive queue: there is no other. */
	init.ind_table = table;
	assert_int_equal(roost_qp_create(f.ctx, f.pd, &init, &qp), -EINVAL);
	init.cap.max_recv_wr = 0;
	init.recv_cq = f.cq;
	assert_int_equal(roost_qp_create(f.ctx, f.pd, &init, &qp), -EINVAL);
	init.recv_cq = NULL;
	init.hash.fields = 1u << 4; /* of TCP */
	assert_int_equal(roost_qp_create(f.ctx, f.pd, &init, &qp), -EINVAL);
	init.hash.fields = 0;
	assert_int_equal(roost_qp_create(f.ctx, f.pd, &init, &qp), 0);
	assert_int_equal(fixture_recv(qp, &(struct roost_recv_wr){ 0 }),
			 -EINVAL);
	assert_int_equal(roost_ind_table_destroy(table), -EBUSY);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_ind_table_destroy(table), 0);
	assert_int_equal(roost_wq_destroy(wqs[0], NULL), 0);
	assert_int_equal(roost_wq_destroy(wqs[1], NULL), 0);
}

/* ---- the hash --------------------------------------------------------- */

/* The key, and the sums for addresses alone, of Microsoft's "Verifying the
 * RSS Hash Calculation".
 */
static const struct roost_hash known = {
	.key = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
		 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
		 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
		 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa },
};

#define V4(k, l, m, n)                                                         \
	{                                                                      \
		.b = { [10] = 0xff, 0xff, k, l, m, n }                         \
	}

static const struct {
	struct roost_gid src, dst;
	bool ipv6;
	uint32_t hash;
} addresses[] = {
	{ V4(66, 9, 149, 187), V4(161, 142, 100, 80), false, 0x323e8fc2 },
	{ V4(199, 92, 111, 2), V4(65, 69, 140, 83), false, 0xd718262a },
	{ V4(24, 19, 198, 95), V4(12, 22, 207, 184), false, 0xd2d0a5de },
	{ { .b = { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, [15] = 7 } },
	  { .b = { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0, 3, [15] = 1 } },
	  true,
	  0x2cc18cd5 },
};

/* The sum as its definition has it: a bit of input, a window of the key. */
static uint32_t toeplitz(const uint8_t *key, const uint8_t *in, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t bit = 0; bit < 8 * bytes; bit++)
		for (size_t i = 0; i < 32 && in[bit / 8] >> (7 - bit % 8) & 1;
		     i++) {
			size_t at = bit + i;

			if (key[at / 8] >> (7 - at % 8) & 1)
				sum ^= 1u << (31 - i);
		}
	return sum;
}

/* A table as large as they can be, every place another WQ. */
#define PLACES (1u << ROOST_IND_TABLE_LOG_MAX)
static struct roost_wq *places[PLACES];

static unsigned int pick(const struct roost_ind_table *table, uint32_t fields,
			 const struct roost_frame *frame)
{
	const struct roost_hashed hashed = {
		.src_ip = frame->sgid.b + (frame->ipv6 ? 0 : 12),
		.dst_ip = frame->dgid.b + (frame->ipv6 ? 0 : 12),
		.src_port = frame->udp_src,
		.dst_port = ROOST_UDP_PORT,
		.ip_version = frame->ipv6 ? 6 : 4,
		.l4 = IPPROTO_UDP,
	};
	struct roost_hash hash = known;
	const struct roost_wq *wq;
	unsigned int i = 0;

	hash.fields = fields;
	wq = roost_ind_table_pick(table, &hash, &hashed);
	while (places[i] != wq)
		i++;
	return i;
}

static struct roost_ind_table *large_table(void)
{
	struct roost_ind_table *table;

	for (unsigned int i = 0; i < PLACES; i++)
		places[i] = new_wq(f.cq);
	assert_int_equal(roost_ind_table_create(f.ctx, places,
						ROOST_IND_TABLE_LOG_MAX,
						&table),
			 0);
	return table;
}

static void large_table_free(struct roost_ind_table *table)
{
	assert_int_equal(roost_ind_table_destroy(table), 0);
	for (unsigned int i = 0; i < PLACES; i++)
		assert_int_equal(roost_wq_destroy(places[i], NULL), 0);
}

static void ind_table_pick__known_sums(void **state)
{
	struct roost_ind_table *table = large_table();
	const uint32_t both = ROOST_HASH_SRC_IPV4 | ROOST_HASH_DST_IPV4 |
			      ROOST_HASH_SRC_IPV6 | ROOST_HASH_DST_IPV6;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		const struct roost_frame frame = {
			.ipv6 = addresses[i].ipv6,
			.sgid = addresses[i].src,
			.dgid = addresses[i].dst,
		};

		assert_int_equal(pick(table, both, &frame),
				 addresses[i].hash & (PLACES - 1));
		assert_int_equal(pick(table, 0, &frame), 0);
	}
	large_table_free(table);
}

/* Every set of fields, against the definition. */
static void ind_table_pick__every_field(void **state)
{
	struct roost_ind_table *table = large_table();

	for (uint32_t bits = 0; bits < 16; bits++) {
		const struct roost_frame frame = {
			.sgid = addresses[0].src,
			.dgid = addresses[0].dst,
			.udp_src = 0xc123,
		};
		const struct {
			uint32_t field;
			const uint8_t *bytes;
			size_t len;
		} parts[] = {
			{ ROOST_HASH_SRC_IPV4, frame.sgid.b + 12, 4 },
			{ ROOST_HASH_DST_IPV4, frame.dgid.b + 12, 4 },
			{ ROOST_HASH_SRC_PORT_UDP, (uint8_t[]){ 0xc1, 0x23 },
			  2 },
			{ ROOST_HASH_DST_PORT_UDP,
			  (uint8_t[]){ 4791 >> 8, 4791 & 0xff }, 2 },
		};
		uint8_t in[12];
		uint32_t fields = 0;
		size_t len = 0;

		for (unsigned int i = 0; i < 4; i++) {
			if (!(bits >> i & 1))
				continue;
			fields |= parts[i].field;
			memcpy(in + len, parts[i].bytes, parts[i].len);
			len += parts[i].len;
		}
		assert_int_equal(pick(table, fields, &frame),
				 toeplitz(known.key, in, len) & (PLACES - 1));
	}
	large_table_free(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wq_create__within_the_limits),
		TEST(wq_modify__allowed),
		TEST(wq_recv__in_each_state),
		TEST(ind_table__holds_its_wqs),
		TEST(ind_table_pick__known_sums),
		TEST(ind_table_pick__every_field),
	};

	return cmocka_run_group_tests_name("engine-wq", tests, NULL, NULL);
}
