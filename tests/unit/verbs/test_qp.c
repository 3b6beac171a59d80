/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "qp_world.h"

static void create_qp__fills_what_the_program_reads(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	assert_non_null(qp);
	assert_ptr_equal(qp->context, c);
	assert_ptr_equal(qp->qp_context, &scq);
	assert_ptr_equal(qp->pd, pd);
	assert_ptr_equal(qp->send_cq, scq);
	assert_ptr_equal(qp->recv_cq, rcq);
	assert_null(qp->srq);
	assert_int_equal(qp->qp_num, 0x123456);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(qp->qp_type, IBV_QPT_RC);
	/* what it really has comes back */
	assert_int_equal(attr.cap.max_send_wr, 11);
	assert_int_equal(attr.cap.max_inline_data, 64);
	assert_int_equal(attr.cap.max_recv_sge, 4);
	assert_int_equal(fake.qp_init.type, ROOST_QPT_RC);
	assert_true(fake.qp_init.sq_sig_all);
	assert_ptr_equal(fake.qp_init.owner, qp);
	assert_null(ibv_qp_to_qp_ex(qp));
	assert_int_equal(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0),
			 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void create_qp__types(void **state)
{
	static const struct {
		int type;
		int error;
		enum roost_qp_type engine;
	} rows[] = {
		{ IBV_QPT_RC, 0, ROOST_QPT_RC },
		{ IBV_QPT_UC, 0, ROOST_QPT_UC },
		{ IBV_QPT_UD, 0, ROOST_QPT_UD },
		{ IBV_QPT_XRC_SEND, 0, ROOST_QPT_XRC_INI },
		/* without a domain */
		{ IBV_QPT_XRC_RECV, EINVAL, 0 },
		{ IBV_QPT_DRIVER, EOPNOTSUPP, 0 },
		{ 0, EINVAL, 0 },
		{ 1000, EINVAL, 0 },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_qp_init_attr attr = rc_attr();
		struct ibv_qp *qp;

		attr.qp_type = (enum ibv_qp_type)rows[i].type;
		errno = 0;
		qp = ibv_create_qp(pd, &attr);
		assert_int_equal(errno, rows[i].error);
		assert_int_equal(qp == NULL, rows[i].error != 0);
		if (qp) {
			assert_int_equal(fake.qp_init.type, rows[i].engine);
			assert_int_equal(qp->qp_type, rows[i].type);
			ibv_destroy_qp(qp);
		} else {
			assert_int_equal(attr.cap.max_send_wr, 10);
		}
	}
	assert_int_equal(fake.qps, 0);
}

static struct ibv_srq *create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 } };

	return ibv_create_srq(pd, &attr);
}

static void create_qp__on_an_srq(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };
	struct ibv_srq *srq = create_srq();

	for (size_t i = 0; i < NB(types); i++) {
		struct ibv_qp_init_attr attr = rc_attr(), got;
		struct ibv_qp_attr qp_attr;
		struct ibv_qp *qp;

		attr.qp_type = types[i];
		attr.srq = srq;
		qp = ibv_create_qp(pd, &attr);
		assert_non_null(qp);
		assert_ptr_equal(qp->srq, srq);
		assert_non_null(fake.qp_init.srq);
		ibv_query_qp(qp, &qp_attr, IBV_QP_STATE, &got);
		assert_ptr_equal(got.srq, srq);
		ibv_destroy_qp(qp);
	}
	ibv_destroy_srq(srq);
}

/* An XRC SRQ is named by packets, not by QPs. */
static void create_qp__not_on_an_xrc_srq(void **state)
{
	struct ibv_xrcd *xrcd = open_xrcd(c);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = rcq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(c, &srq_attr);
	struct ibv_qp_init_attr attr = rc_attr();
	struct ibv_qp *qp;

	attr.srq = srq;
	assert_null_errno(ibv_create_qp(pd, &attr), EINVAL);
	/* an initiator receives nothing, whatever it is given */
	attr.qp_type = IBV_QPT_XRC_SEND;
	qp = ibv_create_qp(pd, &attr);
	assert_non_null(qp);
	assert_null(qp->srq);
	assert_null(qp->recv_cq);
	assert_null(fake.qp_init.srq);
	assert_null(fake.qp_init.recv_cq);
	assert_non_null(fake.qp_init.send_cq);
	ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
	ibv_close_xrcd(xrcd);
}

static void create_qp__xrc_target_has_no_pd_and_no_cq(void **state)
{
	struct ibv_xrcd *xrcd = open_xrcd(c);
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = &xrcd,
		.send_cq = scq,
		.recv_cq = rcq,
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(c, &attr);

	assert_non_null(qp);
	assert_int_equal(fake.qp_init.type, ROOST_QPT_XRC_TGT);
	assert_non_null(fake.qp_init.xrcd);
	assert_null(fake.qp_init.send_cq);
	assert_null(fake.qp_init.recv_cq);
	assert_null(fake.last_pd);
	assert_null(qp->pd);
	assert_null(qp->send_cq);
	assert_ptr_equal(qp->qp_context, &xrcd);
	/* what the program gave is left to it */
	assert_ptr_equal(attr.send_cq, scq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	attr.xrcd = NULL;
	assert_null_errno(ibv_create_qp_ex(c, &attr), EINVAL);
	ibv_close_xrcd(xrcd);
}

static void create_qp__the_engines_errors(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();

	fake.fail_call = "roost_qp_create";
	fake.fail_rc = -EINVAL;
	assert_null_errno(ibv_create_qp(pd, &attr), EINVAL);
}

static void create_qp__without_cqs_passes_none(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();
	struct ibv_qp *qp;

	attr.send_cq = NULL;
	attr.recv_cq = NULL;
	qp = ibv_create_qp(pd, &attr);
	assert_null(fake.qp_init.send_cq);
	assert_null(fake.qp_init.recv_cq);
	ibv_destroy_qp(qp);
}

static const struct {
	struct ibv_qp_init_attr_ex attr;
	bool pd;
	int error;
} masks[] = {
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD }, true, 0 },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD }, false, EINVAL },
	{ { .comp_mask = 0 }, true, EINVAL },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS },
	  true,
	  0 },
	/* of UD */
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	    .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
	  true,
	  EINVAL },
	/* flags without the mask are not looked at */
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD,
	    .create_flags = IBV_QP_CREATE_SCATTER_FCS },
	  true,
	  0 },
	/* of raw packets */
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	    .create_flags = IBV_QP_CREATE_SCATTER_FCS },
	  true,
	  EOPNOTSUPP },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	    .create_flags = IBV_QP_CREATE_CVLAN_STRIPPING },
	  true,
	  EOPNOTSUPP },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	    .create_flags = IBV_QP_CREATE_SOURCE_QPN },
	  true,
	  EOPNOTSUPP },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	    .create_flags = IBV_QP_CREATE_PCI_WRITE_END_PADDING },
	  true,
	  EOPNOTSUPP },
	/* a domain is of no use to RC, and does no harm */
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD },
	  true,
	  0 },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH },
	  true,
	  EINVAL },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | 1 << 7 }, true, EOPNOTSUPP },
	{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE },
	  true,
	  EINVAL },
	{ { .comp_mask =
		    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER },
	  true,
	  EOPNOTSUPP },
};

static void create_qp_ex__masks(void **state)
{
	for (size_t i = 0; i < NB(masks); i++) {
		const struct ibv_qp_init_attr rc = rc_attr();
		struct ibv_qp_init_attr_ex attr = masks[i].attr;
		struct verbs_context *v = verbs_get_ctx(c);
		struct ibv_qp *qp;

		attr.send_cq = rc.send_cq;
		attr.recv_cq = rc.recv_cq;
		attr.cap = rc.cap;
		attr.qp_type = rc.qp_type;
		attr.pd = masks[i].pd ? pd : NULL;
		errno = 0;
		qp = v->create_qp_ex(c, &attr);
		assert_int_equal(errno, masks[i].error);
		assert_int_equal(qp == NULL, masks[i].error != 0);
		if (qp)
			ibv_destroy_qp(qp);
	}
}

static void create_qp_ex__ud_may_be_deaf_to_itself(void **state)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = scq,
		.recv_cq = rcq,
		.qp_type = IBV_QPT_UD,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = ibv_create_qp_ex(c, &attr);
	assert_false(fake.qp_init.block_self_mcast);
	ibv_destroy_qp(qp);
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	qp = ibv_create_qp_ex(c, &attr);
	assert_true(fake.qp_init.block_self_mcast);
	ibv_destroy_qp(qp);
}

static void destroy_qp__refused_changes_nothing(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	fake.fail_call = "roost_qp_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_qp(qp), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void ece__no_option_of_connectx(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_ece ece = { 1, 2, 3 };

	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ece.vendor_id, 0x15b3);
	assert_int_equal(ece.options, 0);
	assert_int_equal(ece.comp_mask, 0);
	/* what a peer wishes is reduced to what is common: nothing */
	ece.options = 0x20000003;
	assert_int_equal(ibv_set_ece(qp, &ece), 0);
	assert_int_equal(ece.options, 0);
	ece.comp_mask = 1;
	assert_errno(ibv_set_ece(qp, &ece), EINVAL);
	/* NCCL goes on without ECE after this error, and after no other */
	ece = (struct ibv_ece){ .vendor_id = 0x14e4, .options = 1 };
	assert_errno(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	ece = (struct ibv_ece){ .options = 1 };
	assert_errno(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ece.vendor_id, 0x15b3);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_qp__fills_what_the_program_reads),
		TEST(create_qp__types),
		TEST(create_qp__on_an_srq),
		TEST(create_qp__not_on_an_xrc_srq),
		TEST(create_qp__xrc_target_has_no_pd_and_no_cq),
		TEST(create_qp__the_engines_errors),
		TEST(create_qp__without_cqs_passes_none),
		TEST(create_qp_ex__masks),
		TEST(create_qp_ex__ud_may_be_deaf_to_itself),
		TEST(destroy_qp__refused_changes_nothing),
		TEST(ece__no_option_of_connectx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
