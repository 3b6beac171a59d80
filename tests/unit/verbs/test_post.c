/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_qp *qp;

static int setup(void **state)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	(void)state;
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	qp = ibv_create_qp(pd, &attr);
	fake.helps = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

/* n requests, each naming the next; wr_id counts from 0. */
static void chain_sends(struct ibv_send_wr *wr, int n)
{
	memset(wr, 0, (size_t)n * sizeof(*wr));
	for (int i = 0; i < n; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
}

static void post_send__one_doorbell_per_list(void **state)
{
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge sge[2] = {
		{ .addr = 0x1000, .length = 10, .lkey = 7 },
		{ .addr = 0x2000, .length = 20, .lkey = 8 },
	};

	(void)state;
	chain_sends(wr, 3);
	wr[0].sg_list = sge;
	wr[0].num_sge = 2;
	wr[0].send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	wr[1].opcode = IBV_WR_SEND_WITH_IMM;
	wr[1].imm_data = 0x01020304;
	wr[2].opcode = IBV_WR_RDMA_WRITE;
	wr[2].wr.rdma.remote_addr = 0x9000;
	wr[2].wr.rdma.rkey = 99;
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(fake.send_begins, 1);
	assert_int_equal(fake.send_ends, 1);
	assert_int_equal(fake.helps, 1);
	assert_int_equal(fake.nb_sends, 3);
	assert_int_equal(fake.sends[0].wr.nb_sges, 2);
	assert_true(fake.sends[0].sges[1].addr == 0x2000);
	assert_int_equal(fake.sends[0].sges[1].len_bytes, 20);
	assert_int_equal(fake.sends[0].sges[1].lkey, 8);
	assert_int_equal(fake.sends[0].wr.flags,
			 ROOST_SEND_SIGNALED | ROOST_SEND_SOLICITED);
	assert_int_equal(fake.sends[1].wr.opcode, ROOST_WR_SEND_IMM);
	assert_int_equal(fake.sends[1].wr.imm_be, 0x01020304);
	assert_int_equal(fake.sends[2].wr.opcode, ROOST_WR_WRITE);
	assert_true(fake.sends[2].wr.remote_addr == 0x9000);
	assert_int_equal(fake.sends[2].wr.rkey, 99);
}

static void post_send__stops_at_the_bad_one(void **state)
{
	struct ibv_send_wr wr[4], *bad = NULL;

	(void)state;
	chain_sends(wr, 4);
	fake.fail_wr = 2;
	assert_errno(ibv_post_send(qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(fake.nb_sends, 2);
	assert_int_equal(fake.send_ends, 1);
	assert_int_equal(fake.send_aborts, 0);
	assert_int_equal(fake.helps, 1);
}

static void post_send__what_cannot_be_translated(void **state)
{
	static const struct {
		int opcode;
		unsigned int flags;
		int num_sge;
		int error;
	} rows[] = {
		{ IBV_WR_TSO, 0, 0, EOPNOTSUPP },
		{ IBV_WR_DRIVER1, 0, 0, EOPNOTSUPP },
		{ 12, 0, 0, EINVAL },
		{ 77, 0, 0, EINVAL },
		{ -1, 0, 0, EINVAL },
		{ IBV_WR_SEND, IBV_SEND_IP_CSUM, 0, EINVAL },
		{ IBV_WR_SEND, 1 << 20, 0, EINVAL },
		{ IBV_WR_SEND, 0, -1, EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_send_wr wr[2], *bad = NULL;

		fake.nb_sends = 0;
		chain_sends(wr, 2);
		wr[1].opcode = (enum ibv_wr_opcode)rows[i].opcode;
		wr[1].send_flags = rows[i].flags;
		wr[1].num_sge = rows[i].num_sge;
		assert_errno(ibv_post_send(qp, wr, &bad), rows[i].error);
		assert_ptr_equal(bad, &wr[1]);
		assert_int_equal(fake.nb_sends, 1);
	}
}

static void post_recv__list_and_bad_one(void **state)
{
	struct ibv_sge sge = { .addr = 0x3000, .length = 30, .lkey = 3 };
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 2, .next = &wr[2] },
		{ .wr_id = 3 },
	}, *bad = NULL;

	(void)state;
	assert_int_equal(ibv_post_recv(qp, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(fake.nb_recvs, 3);
	assert_int_equal(fake.recvs[0].wr.wr_id, 1);
	assert_true(fake.recvs[0].sges[0].addr == 0x3000);
	assert_int_equal(fake.recv_begins, 1);
	assert_int_equal(fake.recv_ends, 1);

	fake.nb_recvs = 0;
	fake.fail_wr = 1;
	assert_errno(ibv_post_recv(qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(fake.nb_recvs, 1);
	assert_int_equal(fake.recv_ends, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(post_send__one_doorbell_per_list),
		TEST(post_send__stops_at_the_bad_one),
		TEST(post_send__what_cannot_be_translated),
		TEST(post_recv__list_and_bad_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
