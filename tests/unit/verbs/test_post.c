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

	c = open_roost0();
	pd = ibv_alloc_pd(c);
	qp = ibv_create_qp(pd, &attr);
	fake.helps = 0;
	return 0;
}

static int teardown(void **state)
{
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
		{ IBV_WR_DRIVER1, 0, 0, EOPNOTSUPP },
		{ 12, 0, 0, EINVAL },
		{ 77, 0, 0, EINVAL },
		{ -1, 0, 0, EINVAL },
		{ IBV_WR_SEND, 1 << 5, 0, EINVAL },
		{ IBV_WR_SEND, 1 << 20, 0, EINVAL },
		{ IBV_WR_SEND, 0, -1, EINVAL },
	};

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

/* A QP of another type in place of the RC one. */
static void replace_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = { .qp_type = type };

	ibv_destroy_qp(qp);
	qp = ibv_create_qp(pd, &attr);
	assert_non_null(qp);
}

static void post_send__every_opcode_and_its_fields(void **state)
{
	static const struct {
		int opcode;
		enum roost_wr_opcode engine;
		enum {
			PLAIN,
			RDMA,
			SWAP,
			ADD
		} fields;
	} rows[] = {
		{ IBV_WR_SEND, ROOST_WR_SEND, PLAIN },
		{ IBV_WR_SEND_WITH_IMM, ROOST_WR_SEND_IMM, PLAIN },
		{ IBV_WR_SEND_WITH_INV, ROOST_WR_SEND_INV, PLAIN },
		{ IBV_WR_LOCAL_INV, ROOST_WR_LOCAL_INV, PLAIN },
		{ IBV_WR_RDMA_WRITE, ROOST_WR_WRITE, RDMA },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, ROOST_WR_WRITE_IMM, RDMA },
		{ IBV_WR_RDMA_READ, ROOST_WR_READ, RDMA },
		{ IBV_WR_ATOMIC_WRITE, ROOST_WR_ATOMIC_WRITE, RDMA },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, ROOST_WR_CMP_SWAP, SWAP },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, ROOST_WR_FETCH_ADD, ADD },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		const struct roost_send_wr *got = &fake.sends[0].wr;
		struct ibv_send_wr wr, *bad = NULL;

		fake.nb_sends = 0;
		chain_sends(&wr, 1);
		wr.opcode = (enum ibv_wr_opcode)rows[i].opcode;
		wr.invalidate_rkey = 0x55;
		if (rows[i].fields == RDMA) {
			wr.wr.rdma.remote_addr = 0x9000;
			wr.wr.rdma.rkey = 0x77;
		} else if (rows[i].fields != PLAIN) {
			wr.wr.atomic.remote_addr = 0x9000;
			wr.wr.atomic.rkey = 0x77;
			wr.wr.atomic.compare_add = 11;
			wr.wr.atomic.swap = 22;
		}
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		assert_int_equal(got->opcode, rows[i].engine);
		assert_int_equal(got->imm_be, 0x55);
		assert_null(got->ah);
		assert_int_equal(got->xrc_srqn, 0);
		if (rows[i].fields == PLAIN)
			continue;
		assert_int_equal(got->remote_addr, 0x9000);
		assert_int_equal(got->rkey, 0x77);
		if (rows[i].fields == SWAP) {
			assert_int_equal(got->compare, 11);
			assert_int_equal(got->swap_add, 22);
		} else if (rows[i].fields == ADD) {
			assert_int_equal(got->swap_add, 11);
		}
	}
}

static void post_send__datagram(void **state)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	const struct roost_send_wr *got = &fake.sends[0].wr;
	struct ibv_send_wr wr, *bad = NULL;

	replace_qp(IBV_QPT_UD);
	chain_sends(&wr, 1);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0x123;
	wr.wr.ud.remote_qkey = 0x80000001;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_non_null(got->ah);
	assert_int_equal(got->dest_qpn, 0x123);
	assert_int_equal(got->qkey, 0x80000001);
	/* none at all is the engine's to refuse, not a crash */
	fake.nb_sends = 0;
	wr.wr.ud.ah = NULL;
	ibv_post_send(qp, &wr, &bad);
	assert_null(got->ah);
	ibv_destroy_ah(ah);
}

static void post_send__xrc_names_an_srq(void **state)
{
	struct ibv_send_wr wr, *bad = NULL;

	replace_qp(IBV_QPT_XRC_SEND);
	chain_sends(&wr, 1);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = 0x9000;
	wr.qp_type.xrc.remote_srqn = 0x321;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(fake.sends[0].wr.xrc_srqn, 0x321);
	assert_int_equal(fake.sends[0].wr.remote_addr, 0x9000);
}

static void post_send__binds_windows_of_type_2(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw *mw1 = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	const struct roost_send_wr *got = &fake.sends[0].wr;
	struct ibv_send_wr wr, *bad = NULL;
	struct ibv_mr *mr;
	char buf[64];

	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_MW_BIND);
	chain_sends(&wr, 1);
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = 0x1234;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = 0x1000,
		.length = 32,
		.mw_access_flags =
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
	};
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(got->opcode, ROOST_WR_BIND_MW);
	assert_non_null(got->bind.mw);
	assert_non_null(got->bind.mr);
	assert_int_equal(got->bind.addr, 0x1000);
	assert_int_equal(got->bind.len_bytes, 32);
	assert_int_equal(got->bind.access,
			 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_ZERO_BASED);
	assert_int_equal(got->bind.rkey, 0x1234);
	/* the key is the program's to know */
	assert_int_equal(mw->rkey, 0x12345fff);

	wr.bind_mw.mw = mw1;
	assert_errno(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.bind_mw.mw = NULL;
	assert_errno(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.mw_access_flags = 1 << 12;
	assert_errno(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_int_equal(fake.nb_sends, 1);
	ibv_dereg_mr(mr);
	ibv_dealloc_mw(mw1);
	ibv_dealloc_mw(mw);
}

static void post_recv__list_and_bad_one(void **state)
{
	struct ibv_sge sge = { .addr = 0x3000, .length = 30, .lkey = 3 };
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 2, .next = &wr[2] },
		{ .wr_id = 3 },
	}, *bad = NULL;

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

static void post_srq_recv__list_and_bad_one(void **state)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct ibv_sge sge = { .addr = 0x3000, .length = 30, .lkey = 3 };
	struct ibv_recv_wr wr[2] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 2 },
	}, *bad = NULL;

	assert_int_equal(ibv_post_srq_recv(srq, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(fake.nb_recvs, 2);
	assert_int_equal(fake.recvs[0].wr.wr_id, 1);
	assert_true(fake.recvs[0].sges[0].addr == 0x3000);
	assert_int_equal(fake.srq_begins, 1);
	assert_int_equal(fake.srq_ends, 1);

	fake.nb_recvs = 0;
	fake.fail_wr = 1;
	assert_errno(ibv_post_srq_recv(srq, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(fake.srq_ends, 2);
	assert_int_equal(fake.recv_begins, 0);
	ibv_destroy_srq(srq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(post_send__one_doorbell_per_list),
		TEST(post_send__stops_at_the_bad_one),
		TEST(post_send__what_cannot_be_translated),
		TEST(post_send__every_opcode_and_its_fields),
		TEST(post_send__datagram),
		TEST(post_send__xrc_names_an_srq),
		TEST(post_send__binds_windows_of_type_2),
		TEST(post_recv__list_and_bad_one),
		TEST(post_srq_recv__list_and_bad_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
