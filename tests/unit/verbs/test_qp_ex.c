/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_qp *qp;
static struct ibv_qp_ex *x;

static struct ibv_qp *create(uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = send_ops,
	};

	return ibv_create_qp_ex(c, &attr);
}

static int setup(void **state)
{
	(void)state;
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	qp = create(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	assert_non_null(qp);
	x = ibv_qp_to_qp_ex(qp);
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

static void create__only_operations_that_exist(void **state)
{
	(void)state;
	assert_ptr_equal(x, qp);
	for (int bit = 0; bit < 64; bit++) {
		const uint64_t op = UINT64_C(1) << bit;

		if (op == IBV_QP_EX_WITH_SEND ||
		    op == IBV_QP_EX_WITH_SEND_WITH_IMM)
			continue;
		assert_null_errno(create(op), EOPNOTSUPP);
	}
}

static void wr__no_call_is_null(void **state)
{
	const size_t first = offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp);

	(void)state;
	for (size_t at = first; at < sizeof(*x); at += sizeof(void *))
		assert_non_null(*(void **)((char *)x + at));
}

static void wr_send__one_request(void **state)
{
	(void)state;
	ibv_wr_start(x);
	x->wr_id = 42;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(x);
	assert_int_equal(fake.nb_sends, 0);
	ibv_wr_set_sge(x, 5, 0x1000, 64);
	assert_int_equal(fake.nb_sends, 1);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.send_begins, 1);
	assert_int_equal(fake.send_ends, 1);
	assert_int_equal(fake.helps, 1);
	assert_int_equal(fake.sends[0].wr.wr_id, 42);
	assert_int_equal(fake.sends[0].wr.opcode, ROOST_WR_SEND);
	assert_int_equal(fake.sends[0].wr.flags, ROOST_SEND_SIGNALED);
	assert_int_equal(fake.sends[0].wr.nb_sges, 1);
	assert_true(fake.sends[0].sges[0].addr == 0x1000);
	assert_int_equal(fake.sends[0].sges[0].len_bytes, 64);
	assert_int_equal(fake.sends[0].sges[0].lkey, 5);
}

/* ibv_rc_pingpong -N sets the flag and then gives an ordinary element. */
static void wr_set_sge__inline_flag_means_nothing(void **state)
{
	(void)state;
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 5, 0x1000, 64);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.sends[0].wr.flags, ROOST_SEND_SIGNALED);
}

static void wr__batch_with_every_setter(void **state)
{
	char a[] = "abc", b[] = "defg";
	struct ibv_data_buf bufs[2] = { { a, 3 }, { b, 4 } };
	struct ibv_sge sges[2] = { { 0x1, 2, 3 }, { 0x4, 5, 6 } };

	(void)state;
	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_sge_list(x, 2, sges);
	ibv_wr_send_imm(x, 0x11223344);
	ibv_wr_set_inline_data(x, a, 3);
	ibv_wr_send(x);
	ibv_wr_set_inline_data_list(x, 2, bufs);
	ibv_wr_send(x); /* no data at all */
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.nb_sends, 4);
	assert_int_equal(fake.sends[0].wr.nb_sges, 2);
	assert_int_equal(fake.sends[0].wr.flags, 0);
	assert_int_equal(fake.sends[0].sges[1].lkey, 6);
	assert_int_equal(fake.sends[1].wr.opcode, ROOST_WR_SEND_IMM);
	assert_int_equal(fake.sends[1].wr.imm_be, 0x11223344);
	assert_int_equal(fake.sends[1].wr.flags, ROOST_SEND_INLINE);
	assert_true(fake.sends[1].sges[0].addr == (uintptr_t)a);
	assert_int_equal(fake.sends[2].wr.nb_sges, 2);
	assert_int_equal(fake.sends[2].sges[1].len_bytes, 4);
	assert_int_equal(fake.sends[3].wr.nb_sges, 0);
	assert_int_equal(fake.send_ends, 1);
}

static void wr_complete__first_error_and_nothing_posted(void **state)
{
	(void)state;
	fake.fail_wr = 1;
	x->wr_flags = 0;
	ibv_wr_start(x);
	for (int i = 0; i < 3; i++) {
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
	}
	assert_errno(ibv_wr_complete(x), ENOMEM);
	assert_int_equal(fake.send_aborts, 1);
	assert_int_equal(fake.send_ends, 0);

	/* and the next batch begins afresh */
	fake.fail_wr = -1;
	ibv_wr_start(x);
	ibv_wr_send(x);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.nb_sends, 1);
}

static void wr_complete__bad_flag(void **state)
{
	(void)state;
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 1, 0, 1);
	assert_errno(ibv_wr_complete(x), EINVAL);
	assert_int_equal(fake.nb_sends, 0);
}

static void wr_set_inline__too_much(void **state)
{
	struct ibv_data_buf bufs[65] = { 0 };

	(void)state;
	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_inline_data_list(x, 65, bufs);
	assert_errno(ibv_wr_complete(x), EINVAL);
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_inline_data(x, bufs, (size_t)UINT32_MAX + 1);
	assert_errno(ibv_wr_complete(x), EINVAL);
}

static void wr_abort__forgets(void **state)
{
	(void)state;
	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 1, 0, 1);
	ibv_wr_send(x);
	ibv_wr_abort(x);
	assert_int_equal(fake.send_aborts, 1);
	assert_int_equal(fake.send_ends, 0);
	assert_int_equal(fake.nb_sends, 0);
}

static void call_unsupported(int which)
{
	static struct ibv_mw_bind_info info;

	switch (which) {
	case 0:
		ibv_wr_atomic_cmp_swp(x, 0, 0, 0, 0);
		break;
	case 1:
		ibv_wr_atomic_fetch_add(x, 0, 0, 0);
		break;
	case 2:
		ibv_wr_atomic_write(x, 0, 0, &info);
		break;
	case 3:
		ibv_wr_bind_mw(x, NULL, 0, &info);
		break;
	case 4:
		ibv_wr_local_inv(x, 0);
		break;
	case 5:
		ibv_wr_rdma_read(x, 0, 0);
		break;
	case 6:
		ibv_wr_rdma_write(x, 0, 0);
		break;
	case 7:
		ibv_wr_rdma_write_imm(x, 0, 0, 0);
		break;
	case 8:
		ibv_wr_send_inv(x, 0);
		break;
	case 9:
		ibv_wr_send_tso(x, NULL, 0, 0);
		break;
	case 10:
		ibv_wr_set_ud_addr(x, NULL, 0, 0);
		break;
	case 11:
		ibv_wr_set_xrc_srqn(x, 0);
		break;
	}
}

static void wr__unsupported_ends_the_batch(void **state)
{
	(void)state;
	x->wr_flags = 0;
	for (int which = 0; which < 12; which++) {
		ibv_wr_start(x);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
		call_unsupported(which);
		ibv_wr_set_sge(x, 1, 0, 1);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
		assert_errno(ibv_wr_complete(x), EOPNOTSUPP);
		assert_int_equal(fake.nb_sends, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__only_operations_that_exist),
		TEST(wr__no_call_is_null),
		TEST(wr_send__one_request),
		TEST(wr_set_sge__inline_flag_means_nothing),
		TEST(wr__batch_with_every_setter),
		TEST(wr_complete__first_error_and_nothing_posted),
		TEST(wr_complete__bad_flag),
		TEST(wr_set_inline__too_much),
		TEST(wr_abort__forgets),
		TEST(wr__unsupported_ends_the_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
