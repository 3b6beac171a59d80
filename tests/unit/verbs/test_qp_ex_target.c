/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests that name their target: UD and XRC. */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_qp *qp;
static struct ibv_qp_ex *x;

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	return 0;
}

static int teardown(void **state)
{
	ibv_destroy_qp(qp);
	qp = NULL;
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static void create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	if (qp)
		ibv_destroy_qp(qp);
	qp = ibv_create_qp_ex(c, &attr);
	assert_non_null(qp);
	x = ibv_qp_to_qp_ex(qp);
	x->wr_flags = 0;
}

static struct ibv_ah *create_ah(void)
{
	struct ibv_ah_attr attr = { .port_num = 1 };

	return ibv_create_ah(pd, &attr);
}

static void wr_set_ud_addr__before_or_after_the_data(void **state)
{
	struct ibv_ah *ah = create_ah();
	struct ibv_sge sges[2] = { { 0x1, 2, 3 }, { 0x4, 5, 6 } };

	create(IBV_QPT_UD);
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_ud_addr(x, ah, 0x12, 0x34);
	assert_int_equal(fake.nb_sends, 0);
	ibv_wr_set_sge(x, 7, 0x1000, 8);
	assert_int_equal(fake.nb_sends, 1);
	ibv_wr_send_imm(x, 5);
	ibv_wr_set_sge_list(x, 2, sges);
	/* the list is the program's again */
	memset(sges, 0xee, sizeof(sges));
	assert_int_equal(fake.nb_sends, 1);
	ibv_wr_set_ud_addr(x, ah, 0x56, 0x78);
	assert_int_equal(fake.nb_sends, 2);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_non_null(fake.sends[0].wr.ah);
	assert_int_equal(fake.sends[0].wr.dest_qpn, 0x12);
	assert_int_equal(fake.sends[0].wr.qkey, 0x34);
	assert_int_equal(fake.sends[0].sges[0].lkey, 7);
	assert_int_equal(fake.sends[1].wr.dest_qpn, 0x56);
	assert_int_equal(fake.sends[1].wr.imm_be, 5);
	assert_int_equal(fake.sends[1].wr.nb_sges, 2);
	assert_int_equal(fake.sends[1].sges[0].addr, 1);
	assert_int_equal(fake.sends[1].sges[1].lkey, 6);
	ibv_destroy_ah(ah);
}

static void wr_set_ud_addr__after_inline_data(void **state)
{
	struct ibv_ah *ah = create_ah();
	char a[] = "abc", b[] = "defg";
	struct ibv_data_buf bufs[2] = { { a, 3 }, { b, 4 } };

	create(IBV_QPT_UD);
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_inline_data_list(x, 2, bufs);
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	ibv_wr_set_ud_addr(x, ah, 0, 0);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.sends[0].wr.flags, ROOST_SEND_INLINE);
	assert_int_equal(fake.sends[0].data_len, 7);
	assert_memory_equal(fake.sends[0].data, "abcdefg", 7);
	ibv_destroy_ah(ah);
}

static void wr_set_ud_addr__too_much_data_before_it(void **state)
{
	static uint8_t much[1025];
	static struct ibv_sge sges[33];
	struct ibv_ah *ah = create_ah();

	create(IBV_QPT_UD);
	for (int i = 0; i < 2; i++) {
		ibv_wr_start(x);
		ibv_wr_send(x);
		if (i == 0)
			ibv_wr_set_inline_data(x, much, sizeof(much));
		else
			ibv_wr_set_sge_list(x, NB(sges), sges);
		ibv_wr_set_ud_addr(x, ah, 0, 0);
		assert_errno(ibv_wr_complete(x), EINVAL);
	}
	ibv_destroy_ah(ah);
}

static void wr__a_request_without_its_target_is_none(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UD,
						  IBV_QPT_XRC_SEND };

	for (size_t i = 0; i < NB(types); i++) {
		create(types[i]);
		ibv_wr_start(x);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
		assert_errno(ibv_wr_complete(x), EINVAL);
		assert_int_equal(fake.nb_sends, 0);
		/* nor when another begins behind it */
		ibv_wr_start(x);
		ibv_wr_send(x);
		ibv_wr_send(x);
		assert_errno(ibv_wr_complete(x), EINVAL);
	}
}

static void wr_set_xrc_srqn__before_or_after_the_data(void **state)
{
	create(IBV_QPT_XRC_SEND);
	ibv_wr_start(x);
	ibv_wr_rdma_write(x, 1, 2);
	ibv_wr_set_xrc_srqn(x, 0x11);
	ibv_wr_set_sge(x, 1, 0, 1);
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 1, 0, 1);
	ibv_wr_set_xrc_srqn(x, 0x22);
	/* what stays at home has no target */
	ibv_wr_local_inv(x, 3);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.nb_sends, 3);
	assert_int_equal(fake.sends[0].wr.xrc_srqn, 0x11);
	assert_int_equal(fake.sends[1].wr.xrc_srqn, 0x22);
	assert_int_equal(fake.sends[2].wr.opcode, ROOST_WR_LOCAL_INV);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wr_set_ud_addr__before_or_after_the_data),
		TEST(wr_set_ud_addr__after_inline_data),
		TEST(wr_set_ud_addr__too_much_data_before_it),
		TEST(wr__a_request_without_its_target_is_none),
		TEST(wr_set_xrc_srqn__before_or_after_the_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
