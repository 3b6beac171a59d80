/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <unistd.h>

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *scq, *rcq;

static int setup(void **state)
{
	(void)state;
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	scq = ibv_create_cq(c, 1, NULL, NULL, 0);
	rcq = ibv_create_cq(c, 1, NULL, NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake.fail_call = NULL;
	ibv_destroy_cq(rcq);
	ibv_destroy_cq(scq);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static struct ibv_qp_init_attr rc_attr(void)
{
	return (struct ibv_qp_init_attr){
		.qp_context = &scq,
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = {
			.max_send_wr = 10,
			.max_recv_wr = 20,
			.max_send_sge = 3,
			.max_recv_sge = 4,
			.max_inline_data = 5,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

static void create_qp__fills_what_the_program_reads(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	(void)state;
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
	} rows[] = {
		{ IBV_QPT_RC, 0 },
		{ IBV_QPT_UC, EOPNOTSUPP },
		{ IBV_QPT_UD, EOPNOTSUPP },
		{ IBV_QPT_RAW_PACKET, EOPNOTSUPP },
		{ IBV_QPT_XRC_SEND, EOPNOTSUPP },
		{ IBV_QPT_XRC_RECV, EOPNOTSUPP },
		{ IBV_QPT_DRIVER, EOPNOTSUPP },
		{ 0, EINVAL },
		{ 1000, EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_qp_init_attr attr = rc_attr();
		struct ibv_qp *qp;

		attr.qp_type = (enum ibv_qp_type)rows[i].type;
		errno = 0;
		qp = ibv_create_qp(pd, &attr);
		assert_int_equal(errno, rows[i].error);
		assert_int_equal(qp == NULL, rows[i].error != 0);
		if (qp)
			ibv_destroy_qp(qp);
		else
			assert_int_equal(attr.cap.max_send_wr, 10);
	}
}

static void create_qp__no_srq_and_the_engines_errors(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();

	(void)state;
	attr.srq = (struct ibv_srq *)&attr;
	assert_null_errno(ibv_create_qp(pd, &attr), EOPNOTSUPP);
	attr.srq = NULL;
	fake.fail_call = "roost_qp_create";
	fake.fail_rc = -EINVAL;
	assert_null_errno(ibv_create_qp(pd, &attr), EINVAL);
}

static void create_qp__without_cqs_passes_none(void **state)
{
	struct ibv_qp_init_attr attr = rc_attr();
	struct ibv_qp *qp;

	(void)state;
	attr.send_cq = NULL;
	attr.recv_cq = NULL;
	qp = ibv_create_qp(pd, &attr);
	assert_null(fake.qp_init.send_cq);
	assert_null(fake.qp_init.recv_cq);
	ibv_destroy_qp(qp);
}

static void create_qp_ex__masks(void **state)
{
	static const struct {
		struct ibv_qp_init_attr_ex attr;
		bool pd;
		int error;
	} rows[] = {
		{ { .comp_mask = IBV_QP_INIT_ATTR_PD }, true, 0 },
		{ { .comp_mask = IBV_QP_INIT_ATTR_PD }, false, EINVAL },
		{ { .comp_mask = 0 }, true, EINVAL },
		{ { .comp_mask = IBV_QP_INIT_ATTR_PD |
				 IBV_QP_INIT_ATTR_CREATE_FLAGS },
		  true,
		  0 },
		{ { .comp_mask =
			    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		    .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
		  true,
		  EOPNOTSUPP },
		{ { .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD },
		  true,
		  EOPNOTSUPP },
		{ { .comp_mask =
			    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE },
		  true,
		  EOPNOTSUPP },
		{ { .comp_mask = IBV_QP_INIT_ATTR_PD |
				 IBV_QP_INIT_ATTR_MAX_TSO_HEADER },
		  true,
		  EOPNOTSUPP },
	};

	(void)state;
	for (size_t i = 0; i < NB(rows); i++) {
		const struct ibv_qp_init_attr rc = rc_attr();
		struct ibv_qp_init_attr_ex attr = rows[i].attr;
		struct verbs_context *v = verbs_get_ctx(c);
		struct ibv_qp *qp;

		attr.send_cq = rc.send_cq;
		attr.recv_cq = rc.recv_cq;
		attr.cap = rc.cap;
		attr.qp_type = rc.qp_type;
		attr.pd = rows[i].pd ? pd : NULL;
		errno = 0;
		qp = v->create_qp_ex(c, &attr);
		assert_int_equal(errno, rows[i].error);
		assert_int_equal(qp == NULL, rows[i].error != 0);
		if (qp)
			ibv_destroy_qp(qp);
	}
}

static void modify_qp__passes_what_the_mask_names(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	(void)state;
	memset(&attr, 0xee, sizeof(attr));
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.pkey_index = 0;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PORT |
					       IBV_QP_PKEY_INDEX |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(fake.qp_mask, ROOST_QP_STATE | ROOST_QP_PORT |
					       ROOST_QP_PKEY_INDEX |
					       ROOST_QP_ACCESS_FLAGS);
	assert_int_equal(fake.qp_attr.state, ROOST_QPS_INIT);
	assert_int_equal(fake.qp_attr.access, ROOST_ACCESS_REMOTE_WRITE);
	assert_int_equal(qp->state, IBV_QPS_INIT);
	ibv_destroy_qp(qp);
}

static void modify_qp__errors_change_nothing(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	(void)state;
	fake.fail_call = "roost_qp_modify";
	fake.fail_rc = -ETIMEDOUT;
	assert_errno(ibv_modify_qp(qp, &attr, IBV_QP_STATE), ETIMEDOUT);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	fake.fail_call = NULL;
	assert_errno(ibv_modify_qp(qp, &attr, 1 << 30), EINVAL);
	attr.qp_state = IBV_QPS_UNKNOWN;
	assert_errno(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	assert_int_equal(fake.qp_mask, 0);
	ibv_destroy_qp(qp);
}

/* What the process writes to stderr while call() runs. */
static size_t capture_stderr(void (*call)(struct ibv_qp *), struct ibv_qp *qp,
			     char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	assert_non_null(file);
	fflush(stderr);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	call(qp);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	fclose(file);
	return len;
}

static void ask_for_4096(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.ah_attr = { .port_num = 1 },
	};

	assert_errno(ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV),
		     EINVAL);
}

static void modify_qp__explains_a_path_mtu_that_does_not_fit(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	char text[512];

	(void)state;
	fake.fail_call = "roost_qp_modify";
	fake.fail_rc = -EINVAL;
	fake.port.active_mtu = ROOST_MTU_1024;
	capture_stderr(ask_for_4096, qp, text, sizeof(text));
	assert_string_equal(
		text,
		"roost: roost0: path MTU 4096 does not fit port 1, whose "
		"MTU has room for 1024; raise that MTU to 4184 or ask for "
		"less\n");
	fake.port.active_mtu = ROOST_MTU_4096;
	assert_int_equal(capture_stderr(ask_for_4096, qp, text, sizeof(text)),
			 0);
	fake.fail_call = NULL;
	ibv_destroy_qp(qp);
}

static void query_qp__answers_everything(void **state)
{
	struct ibv_qp_init_attr init = rc_attr(), got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	(void)state;
	fake.qp_attr = (struct roost_qp_attr){
		.state = ROOST_QPS_ERR,
		.path_mtu = ROOST_MTU_2048,
		.dest_qpn = 9,
	};
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(attr.dest_qp_num, 9);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	assert_ptr_equal(got.qp_context, &scq);
	assert_ptr_equal(got.send_cq, scq);
	assert_ptr_equal(got.recv_cq, rcq);
	assert_int_equal(got.cap.max_inline_data, 64);
	assert_int_equal(got.qp_type, IBV_QPT_RC);
	assert_int_equal(got.sq_sig_all, 1);
	ibv_destroy_qp(qp);
}

static void destroy_qp__refused_changes_nothing(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	(void)state;
	fake.fail_call = "roost_qp_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_qp(qp), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_qp__fills_what_the_program_reads),
		TEST(create_qp__types),
		TEST(create_qp__no_srq_and_the_engines_errors),
		TEST(create_qp__without_cqs_passes_none),
		TEST(create_qp_ex__masks),
		TEST(modify_qp__passes_what_the_mask_names),
		TEST(modify_qp__errors_change_nothing),
		TEST(modify_qp__explains_a_path_mtu_that_does_not_fit),
		TEST(query_qp__answers_everything),
		TEST(destroy_qp__refused_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
