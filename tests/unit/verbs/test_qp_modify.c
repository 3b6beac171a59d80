/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <unistd.h>

#include "qp_world.h"

static void modify_qp__passes_what_the_mask_names(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

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

/* Only then may it have something to send; a turn that receives would take
 * messages of the CM from the thread that waits for them.
 */
static void modify_qp__sends_in_rts_and_receives_nothing(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { 0 };

	fake.helps = 0;
	fake.pushes = 0;
	for (enum ibv_qp_state to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
		attr.qp_state = to;
		assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(fake.pushes, to >= IBV_QPS_RTS);
	}
	assert_int_equal(fake.helps, 0);
	ibv_destroy_qp(qp);
}

/* What programs written for RC give to both ends of XRC. */
static void modify_qp__ignores_the_other_half_of_xrc(void **state)
{
	const int all = IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
			IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	struct ibv_xrcd *xrcd = open_xrcd(c);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	static const struct {
		enum ibv_qp_type type;
		uint32_t mask;
	} rows[] = {
		{ IBV_QPT_RC, ROOST_QP_STATE | ROOST_QP_MAX_DEST_RD_ATOMIC |
				      ROOST_QP_MIN_RNR_TIMER |
				      ROOST_QP_MAX_QP_RD_ATOMIC |
				      ROOST_QP_RETRY_CNT | ROOST_QP_RNR_RETRY },
		{ IBV_QPT_XRC_SEND, ROOST_QP_STATE | ROOST_QP_MAX_QP_RD_ATOMIC |
					    ROOST_QP_RETRY_CNT |
					    ROOST_QP_RNR_RETRY },
		{ IBV_QPT_XRC_RECV, ROOST_QP_STATE |
					    ROOST_QP_MAX_DEST_RD_ATOMIC |
					    ROOST_QP_MIN_RNR_TIMER },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_qp_init_attr_ex init = {
			.send_cq = scq,
			.recv_cq = rcq,
			.qp_type = rows[i].type,
			.comp_mask =
				IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD,
			.pd = pd,
			.xrcd = xrcd,
		};
		struct ibv_qp *qp = ibv_create_qp_ex(c, &init);

		assert_int_equal(ibv_modify_qp(qp, &attr, all), 0);
		assert_int_equal(fake.qp_mask, rows[i].mask);
		ibv_destroy_qp(qp);
	}
	ibv_close_xrcd(xrcd);
}

/* What a call writes to stderr. */
static void modify_told(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			int error, char *told, size_t size)
{
	int saved = dup(2), pipes[2];
	ssize_t len;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], 2);
	close(pipes[1]);
	assert_errno(ibv_modify_qp(qp, attr, mask), error);
	dup2(saved, 2);
	close(saved);
	len = read(pipes[0], told, size - 1);
	told[len > 0 ? len : 0] = '\0';
	close(pipes[0]);
}

static void modify_qp__tells_that_the_mtu_does_not_fit(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = {
		.path_mtu = IBV_MTU_4096,
		.ah_attr = { .port_num = 1 },
	};
	char told[512];

	/* the fake's port has an active MTU of 1024 */
	fake.fail_call = "roost_qp_modify";
	fake.fail_rc = -EINVAL;
	modify_told(qp, &attr, IBV_QP_PATH_MTU | IBV_QP_AV, EINVAL, told,
		    sizeof(told));
	assert_string_equal(
		told, "roost: roost0: path MTU 4096 does not fit the port, "
		      "whose MTU allows 1024; raise the interface's MTU to "
		      "4184 or ask for a smaller path MTU\n");
	/* once: who accepts may be asked for it again and again */
	modify_told(qp, &attr, IBV_QP_PATH_MTU | IBV_QP_AV, EINVAL, told,
		    sizeof(told));
	assert_string_equal(told, "");
	/* the port that the QP is on */
	fake.qp_attr.port_num = 1;
	attr.ah_attr.port_num = 0;
	attr.path_mtu = IBV_MTU_2048;
	modify_told(qp, &attr, IBV_QP_PATH_MTU, EINVAL, told, sizeof(told));
	assert_non_null(strstr(told, "path MTU 2048"));
	assert_non_null(strstr(told, "to 2136 or"));
	fake.port.active_mtu = (enum roost_mtu)0;
	modify_told(qp, &attr, IBV_QP_PATH_MTU, EINVAL, told, sizeof(told));
	assert_non_null(strstr(told, "allows 0;"));

	/* it fits, it is not in question, it is another error, no such port */
	fake.port.active_mtu = ROOST_MTU_2048;
	modify_told(qp, &attr, IBV_QP_PATH_MTU, EINVAL, told, sizeof(told));
	assert_string_equal(told, "");
	attr.path_mtu = IBV_MTU_4096;
	modify_told(qp, &attr, IBV_QP_AV, EINVAL, told, sizeof(told));
	assert_string_equal(told, "");
	modify_told(qp, &attr, IBV_QP_PATH_MTU | IBV_QP_AV, EINVAL, told,
		    sizeof(told));
	assert_string_equal(told, "");
	fake.fail_rc = -ETIMEDOUT;
	modify_told(qp, &attr, IBV_QP_PATH_MTU, ETIMEDOUT, told, sizeof(told));
	assert_string_equal(told, "");
	fake.fail_call = NULL;
	ibv_destroy_qp(qp);
}

static void modify_qp_rate_limit__is_an_attribute(void **state)
{
	struct ibv_qp_init_attr init = rc_attr();
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = 5000,
		.max_burst_sz = 4096,
		.typical_pkt_sz = 1024,
	};

	assert_int_equal(ibv_modify_qp_rate_limit(qp, &attr), 0);
	assert_int_equal(fake.qp_mask, ROOST_QP_RATE_LIMIT);
	assert_int_equal(fake.qp_attr.rate_limit_kbps, 5000);
	attr.comp_mask = 1;
	assert_errno(ibv_modify_qp_rate_limit(qp, &attr), EINVAL);
	fake.fail_call = "roost_qp_modify";
	fake.fail_rc = -EINVAL;
	attr.comp_mask = 0;
	assert_errno(ibv_modify_qp_rate_limit(qp, &attr), EINVAL);
	fake.fail_call = NULL;
	ibv_destroy_qp(qp);
}

static void query_qp__answers_everything(void **state)
{
	struct ibv_qp_init_attr init = rc_attr(), got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	fake.qp_attr = (struct roost_qp_attr){
		.state = ROOST_QPS_ERR,
		.path_mtu = ROOST_MTU_2048,
		.dest_qpn = 9,
	};
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(attr.dest_qp_num, 9);
	assert_ptr_equal(got.qp_context, &scq);
	assert_ptr_equal(got.send_cq, scq);
	assert_ptr_equal(got.recv_cq, rcq);
	assert_int_equal(got.cap.max_inline_data, 64);
	assert_int_equal(got.qp_type, IBV_QPT_RC);
	assert_int_equal(got.sq_sig_all, 1);
	ibv_destroy_qp(qp);
}

/* As in rdma-core: UCX counts on the state that its own modify has set. */
static void query_qp__keeps_a_state_that_was_not_asked_for(void **state)
{
	struct ibv_qp_init_attr init = rc_attr(), got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	fake.qp_attr.state = ROOST_QPS_ERR;
	assert_int_equal(ibv_query_qp(qp, &attr, ~IBV_QP_STATE, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &got), 0);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	ibv_destroy_qp(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modify_qp__passes_what_the_mask_names),
		TEST(modify_qp__errors_change_nothing),
		TEST(modify_qp__sends_in_rts_and_receives_nothing),
		TEST(modify_qp__ignores_the_other_half_of_xrc),
		TEST(modify_qp__tells_that_the_mtu_does_not_fit),
		TEST(modify_qp_rate_limit__is_an_attribute),
		TEST(query_qp__answers_everything),
		TEST(query_qp__keeps_a_state_that_was_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
