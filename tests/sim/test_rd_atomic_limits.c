/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* How many READs and atomics at a time: changed while the QP works. */

#include "lib/engine/core/qp_priv.h"
#include "tests/sim/sim.h"

static int modify_sqd(struct sim_qp *qp, uint32_t mask, uint8_t n)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_SQD,
		.max_rd_atomic = n,
		.max_dest_rd_atomic = n,
	};

	return roost_qp_modify(qp->qp, &attr, ROOST_QP_STATE | mask);
}

/* Drain, change, and go on. */
static void set(struct sim_qp *qp, uint32_t mask, uint8_t n)
{
	struct roost_qp_attr attr;
	struct roost_qp_init init;

	assert_int_equal(sim_qp_to(qp, ROOST_QPS_SQD), 0);
	sim_run(qp->sim);
	assert_int_equal(modify_sqd(qp, mask, n), 0);
	roost_qp_query(qp->qp, &attr, &init);
	if (mask == ROOST_QP_MAX_QP_RD_ATOMIC)
		assert_int_equal(attr.max_rd_atomic, n);
	else
		assert_int_equal(attr.max_dest_rd_atomic, n);
	assert_int_equal(sim_qp_to(qp, ROOST_QPS_RTS), 0);
}

static void post(struct sim_qp *qp, enum roost_wr_opcode opcode, uint32_t len)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = opcode,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { len },
				 .swap_add = 1,
			 });
}

/* The most requests that the responder had to answer at once. */
static bool count_requests(struct sim *sim, int side,
			   const struct roost_pkt *pkt, void *arg)
{
	int *open = arg;

	(void)sim;
	if (side == SIM_A && pkt->info->op == ROOST_OP_READ_REQ)
		open[0]++;
	else if (side == SIM_B && pkt->info->op == ROOST_OP_READ_RESP &&
		 pkt->info->flags & ROOST_OPF_LAST)
		open[0]--;
	if (open[0] > open[1])
		open[1] = open[0];
	return true;
}

/* More after the change than before it: no NAK, and all of them at once. */
static void rd_atomic_limits__grows_and_shrinks(void **state)
{
	static const uint8_t sizes[] = { 16, 2, 7, 1, 16, 3 };
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.rd_atomic = 1;
	sim_pair(sim, &conf, &a, &b);
	for (size_t i = 0; i < sizeof(sizes); i++) {
		int open[2] = { 0 };

		/* Between the two, the requester has never more. */
		if (i == 0 || sizes[i] > sizes[i - 1])
			set(b, ROOST_QP_MAX_DEST_RD_ATOMIC, sizes[i]);
		set(a, ROOST_QP_MAX_QP_RD_ATOMIC, sizes[i]);
		set(b, ROOST_QP_MAX_DEST_RD_ATOMIC, sizes[i]);
		sim->link.filter = count_requests;
		sim->link.filter_arg = open;
		for (int k = 0; k < 40; k++) {
			post(a, ROOST_WR_READ, 700);
			if (k % 3 == 0)
				post(a, ROOST_WR_FETCH_ADD, 8);
		}
		sim_run(sim);
		assert_true(open[1] <= sizes[i]);
		if (sizes[i] > 4)
			assert_true(open[1] > 4);
		sim->link.filter = NULL;
	}
	sim_expect_all_good(a, b);
	sim_check_counter(a);
	sim_free(sim);
}

/* What was executed before the change is not executed again after it. */
static void rd_atomic_limits__record_stays(void **state)
{
	for (uint8_t n = 2; n <= 16; n += 7) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		conf.rd_atomic = 4;
		sim_pair(sim, &conf, &a, &b);
		for (int i = 0; i < 5; i++)
			post(a, ROOST_WR_FETCH_ADD, 8);
		sim_run(sim);
		/* Two are executed, and their answers lost. */
		sim->link.faults[SIM_B].carrier_off = true;
		post(a, ROOST_WR_FETCH_ADD, 8);
		post(a, ROOST_WR_FETCH_ADD, 8);
		sim_run_for(sim, 20 * SIM_US);
		assert_int_equal(sim_qp_to(b, ROOST_QPS_SQD), 0);
		assert_int_equal(modify_sqd(b, ROOST_QP_MAX_DEST_RD_ATOMIC, n),
				 0);
		sim->link.faults[SIM_B].carrier_off = false;
		sim_run(sim);
		sim_check_counter(a);
		assert_int_equal(a->sends.completed, 7);
		assert_int_equal(sim_qp_to(b, ROOST_QPS_RTS), 0);
		sim_expect_all_good(a, b);
		sim_free(sim);
	}
}

/* None are allowed any more: what was posted fails, what was sent goes on. */
static void rd_atomic_limits__none(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	post(a, ROOST_WR_READ, 5000);
	sim_run_for(sim, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_SQD), 0);
	post(a, ROOST_WR_READ, 5000);
	assert_int_equal(modify_sqd(a, ROOST_QP_MAX_QP_RD_ATOMIC, 0), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_run(sim);
	sim_expect_send(a, 1, ROOST_WC_LOC_QP_OP_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	sim_free(sim);
}

/*
 * Once around the circle of PSNs, two requests of the same PSN are on record.
 * The peer means the new one.
 */
static void rd_atomic_limits__same_psn_again(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_psn psn;

	sim_pair(sim, NULL, &a, &b);
	psn = a->qp->req.next_psn;
	post(a, ROOST_WR_FETCH_ADD, 8);
	sim_run(sim);
	/* As if 2^24 - 1 packets had gone without a response of their own. */
	a->qp->req.next_psn = psn;
	a->qp->req.end_psn = psn;
	a->qp->req.oldest_unacked_psn = psn;
	b->qp->resp.expected_psn = psn;
	sim->link.faults[SIM_B].carrier_off = true;
	post(a, ROOST_WR_FETCH_ADD, 8);
	sim_run_for(sim, 20 * SIM_US);
	sim->link.faults[SIM_B].carrier_off = false;
	sim_run(sim);
	/* The world compares what came back, too. */
	sim_check_counter(a);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rd_atomic_limits__grows_and_shrinks),
	cmocka_unit_test(rd_atomic_limits__record_stays),
	cmocka_unit_test(rd_atomic_limits__none),
	cmocka_unit_test(rd_atomic_limits__same_psn_again),
};

SIM_MAIN("sim-rd-atomic-limits", tests)
