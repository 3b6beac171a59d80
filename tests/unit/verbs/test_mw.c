/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char buf[64];

static int setup(void **state)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	c = open_roost0();
	pd = ibv_alloc_pd(c);
	cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_MW_BIND);
	fake.helps = 0;
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	ibv_dereg_mr(mr);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static void alloc_mw__fills_what_the_program_reads(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	assert_non_null(mw);
	assert_ptr_equal(mw->context, c);
	assert_ptr_equal(mw->pd, pd);
	assert_int_equal(mw->rkey, 0x12345fff);
	assert_int_equal(mw->type, IBV_MW_TYPE_2);
	assert_int_equal(fake.mw_type, 2);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	assert_int_equal(fake.mw_type, 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(fake.mws, 0);
	fake.fail_call = "roost_mw_alloc";
	fake.fail_rc = -EINVAL;
	assert_null_errno(ibv_alloc_mw(pd, (enum ibv_mw_type)3), EINVAL);
}

static void bind_mw__posts_with_the_next_key(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.wr_id = 9,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = mr,
			.addr = 0x1000,
			.length = 32,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ,
		},
	};
	const struct roost_send_wr *wr = &fake.sends[0].wr;

	assert_int_equal(ibv_bind_mw(qp, mw, &bind), 0);
	/* only the low byte moves, and wraps */
	assert_int_equal(mw->rkey, 0x12345f00);
	assert_int_equal(fake.nb_sends, 1);
	assert_int_equal(fake.helps, 1);
	assert_int_equal(wr->wr_id, 9);
	assert_int_equal(wr->opcode, ROOST_WR_BIND_MW);
	assert_int_equal(wr->flags, ROOST_SEND_SIGNALED);
	assert_non_null(wr->bind.mw);
	assert_non_null(wr->bind.mr);
	assert_int_equal(wr->bind.addr, 0x1000);
	assert_int_equal(wr->bind.len_bytes, 32);
	assert_int_equal(wr->bind.access, ROOST_ACCESS_REMOTE_READ);
	assert_int_equal(wr->bind.rkey, 0x12345f00);
	ibv_dealloc_mw(mw);
}

static void bind_mw__without_a_region_unbinds(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 9 };

	assert_int_equal(ibv_bind_mw(qp, mw, &bind), 0);
	assert_null(fake.sends[0].wr.bind.mr);
	assert_int_equal(fake.sends[0].wr.bind.len_bytes, 0);
	ibv_dealloc_mw(mw);
}

static void bind_mw__errors_keep_the_key(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw *mw2 = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_pd *other = ibv_alloc_pd(c);
	struct ibv_mw *foreign = ibv_alloc_mw(other, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = { .mr = mr, .length = 1 } };
	struct ibv_mw_bind bad;

	assert_int_equal(ibv_bind_mw(qp, mw2, &bind), EINVAL);
	assert_int_equal(ibv_bind_mw(qp, foreign, &bind), EPERM);
	bad = bind;
	bad.bind_info.mr = NULL;
	assert_int_equal(ibv_bind_mw(qp, mw, &bad), EINVAL);
	bad = bind;
	bad.send_flags = 1 << 20;
	assert_errno(ibv_bind_mw(qp, mw, &bad), EINVAL);
	bad = bind;
	bad.bind_info.mw_access_flags = 1 << 12;
	assert_errno(ibv_bind_mw(qp, mw, &bad), EINVAL);
	assert_int_equal(fake.send_begins, 0);
	fake.fail_wr = 0;
	assert_errno(ibv_bind_mw(qp, mw, &bind), ENOMEM);
	assert_int_equal(fake.send_ends, 1);
	assert_int_equal(mw->rkey, 0x12345fff);
	ibv_dealloc_mw(foreign);
	ibv_dealloc_pd(other);
	ibv_dealloc_mw(mw2);
	ibv_dealloc_mw(mw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alloc_mw__fills_what_the_program_reads),
		TEST(bind_mw__posts_with_the_next_key),
		TEST(bind_mw__without_a_region_unbinds),
		TEST(bind_mw__errors_keep_the_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
