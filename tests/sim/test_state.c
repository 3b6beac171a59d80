/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* QPs that change state while there is work: flush, reset, drain, destroy. */

#include "tests/sim/sim.h"

/* ---- ERR ------------------------------------------------------------ */

static void state__err_flushes_everything_once(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 100; i++) {
		sim_recv(a, 10);
		/* An unsignalled request is flushed with a completion too. */
		sim_send_msg(a,
			     &(struct sim_msg){
				     .opcode = ROOST_WR_SEND,
				     .flags = i % 2 ? ROOST_SEND_SIGNALED : 0,
				     .nb_sges = 1,
				     .sge_len_bytes = { 3000 },
			     });
	}
	/* Some are on their way, some not begun. */
	sim_turn(sim);
	assert_in_range(sim->link.nb_log[SIM_A], 1, 299);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	sim_poll(sim);
	for (uint32_t i = 0; i < 100; i++) {
		sim_expect_send(a, i, ROOST_WC_WR_FLUSH_ERR);
		sim_expect_recv(a, i, ROOST_WC_WR_FLUSH_ERR);
	}
	/* The program asked for it: that is no event. */
	assert_int_equal(a->async[ROOST_EVENT_QP_FATAL], 0);
	sim_run_for(sim, SIM_S);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	sim_free(sim);
}

static void state__posts_to_err_are_flushed(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		sim_send(a, 10);
		sim_recv(a, 10);
		if (i % 100 == 99)
			sim_turn(sim);
	}
	sim_run(sim);
	for (uint32_t i = 0; i < 1000; i++) {
		sim_expect_send(a, i, ROOST_WC_WR_FLUSH_ERR);
		sim_expect_recv(a, i, ROOST_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	sim_free(sim);
}

/* Only receives: nothing else rings for them. */
static void state__receives_posted_to_err_are_flushed(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	sim_run(sim);
	sim_recv(a, 10);
	assert_true(roost_worker_has_work(sim->ends[SIM_A].worker));
	sim_run(sim);
	sim_expect_recv(a, 0, ROOST_WC_WR_FLUSH_ERR);
	sim_free(sim);
}

/* The peer of a QP in ERR gets no answer at all. */
static void state__err_does_not_answer(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 10);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	sim_expect_recv(b, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QP_STATE],
			 8);
	sim_free(sim);
}

/* ---- RESET ---------------------------------------------------------- */

/* What a test knows of a queue before RESET is void after it. */
static void forget_posted(struct sim_qp *qp)
{
	qp->sends.completed = qp->sends.count;
	qp->recvs.completed = qp->recvs.count;
	if (qp->peer != NULL)
		qp->peer->match = qp->sends.count;
}

static void state__reset_and_connect_again(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int round = 0; round < 20; round++) {
		uint32_t recv, send;

		/* Left behind half way, in flight and unbegun. */
		for (int i = 0; i < 50; i++) {
			sim_recv(b, 5000);
			sim_recv(a, 5000);
			sim_send(a, 5000);
		}
		sim_run_for(sim, sim_random_below(&sim->rng, 20 * SIM_US));
		sim_poll(sim);
		assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
		assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
		sim_poll(sim);
		forget_posted(a);
		forget_posted(b);
		a->sq_psn = (uint32_t)sim_random_below(&sim->rng, 1u << 24);
		/* Frames of the old connection still arrive. */
		sim_connect(a, b);
		recv = sim_recv(b, 3000);
		send = sim_send(a, 3000);
		sim_run(sim);
		sim_expect_send(a, send, ROOST_WC_SUCCESS);
		sim_expect_recv(b, recv, ROOST_WC_SUCCESS);
	}
	sim_free(sim);
}

static void state__reset_completes_nothing(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, NULL, &a, &b);
	sim_recv(a, 10);
	sim_send(a, 10);
	sim_turn(sim);
	sim_send(a, 10);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	sim_run_for(sim, SIM_S);
	sim_expect_send_open(a, 0);
	sim_expect_send_open(a, 1);
	sim_expect_recv_open(a, 0);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	sim_free(sim);
}

static void state__err_then_reset_then_rts(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint32_t i, j;

	sim_pair(sim, NULL, &a, &b);
	/* No receive: RNR wait, a timer is running. */
	sim_send(a, 10);
	sim_run_for(sim, 100 * SIM_US);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	forget_posted(a);
	sim_connect(a, b);
	i = sim_recv(b, 100000);
	j = sim_send(a, 100000);
	sim_run(sim);
	sim_expect_recv(b, i, ROOST_WC_SUCCESS);
	sim_expect_send(a, j, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* ---- destroy -------------------------------------------------------- */

/* At any moment, at either end: no crash, no leak, and the other end fails. */
static void state__destroy_with_packets_in_flight(void **state)
{
	for (uint64_t us = 0; us < 20; us++) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b, *c, *d;
		bool kill_sender = us % 2;

		sim_pair(sim, NULL, &a, &b);
		/* Others go on. */
		sim_pair(sim, NULL, &c, &d);
		for (int i = 0; i < 10; i++) {
			sim_recv(b, 9000);
			sim_send(a, 9000);
			sim_recv(d, 9000);
			sim_send(c, 9000);
		}
		sim_run_for(sim, us * SIM_US / 2);
		sim_qp_destroy(kill_sender ? a : b);
		sim_run(sim);
		sim_expect_all_good(c, d);
		if (!kill_sender)
			sim_expect_send(a, 9, ROOST_WC_WR_FLUSH_ERR);
		assert_int_equal(
			sim_counters(sim, SIM_B)->drops[ROOST_DROP_QPN] > 0,
			!kill_sender);
		sim_free(sim);
	}
}

/* A doorbell was rung, and nobody has looked at it yet. */
static void state__destroy_right_after_post(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b, *c, *d;

	sim_pair(sim, NULL, &a, &b);
	sim_pair(sim, NULL, &c, &d);
	sim_recv(d, 10);
	sim_send(a, 10);
	sim_send(c, 10);
	sim_qp_destroy(a);
	sim_run(sim);
	sim_expect_all_good(c, d);
	sim_free(sim);
}

/* ---- what is owed -------------------------------------------------- */

static void iterate_once(struct sim *sim, int side)
{
	struct roost_worker *w = sim->ends[side].worker;

	assert_true(roost_worker_turn_try(w));
	roost_worker_iterate(w, sim->now_ns);
	roost_worker_turn_release(w);
	sim_poll(sim);
}

static void leave_reset(struct sim_qp *qp)
{
	assert_int_equal(sim_qp_to(qp, ROOST_QPS_RESET), 0);
}

static void leave_err(struct sim_qp *qp)
{
	assert_int_equal(sim_qp_to(qp, ROOST_QPS_ERR), 0);
}

/* The program has its message and is content: it goes before an iteration has
 * sent the acknowledgement. The sender must not suffer for it.
 */
static void state__what_is_owed_goes_out_first(void **state)
{
	void (*const leave[])(struct sim_qp *) = { leave_reset, leave_err,
						   sim_qp_destroy };

	for (size_t i = 0; i < 3; i++) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		sim_pair(sim, NULL, &a, &b);
		sim_recv(b, 10);
		sim_send(a, 10);
		iterate_once(sim, SIM_A);
		sim->now_ns += 10 * SIM_US;
		iterate_once(sim, SIM_B);
		sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
		leave[i](b);
		sim_run(sim);
		sim_expect_send(a, 0, ROOST_WC_SUCCESS);
		assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
		sim_free(sim);
	}
}

/* The same when the QP fails by itself: what was received before, and told to
 * the program, was received.
 */
static void state__what_is_owed_goes_out_before_failure(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim->link.faults[SIM_B].drop_nth = 0;
	sim_recv(b, 10);
	sim_send(b, 10);
	sim_send(a, 10);
	iterate_once(sim, SIM_B);
	iterate_once(sim, SIM_A);
	sim->now_ns += 10 * SIM_US;
	iterate_once(sim, SIM_B);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_forge_ack(b, ROOST_NAK_REM_OP, b->sq_psn);
	iterate_once(sim, SIM_B);
	sim_expect_send(b, 0, ROOST_WC_REM_OP_ERR);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* A program may have seen the message, and posted, before the iteration that
 * took it comes to its end.
 */
static void state__nothing_overtakes_what_is_owed(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(a, 10);
	sim_recv(b, 10);
	sim_send(a, 10);
	iterate_once(sim, SIM_A);
	sim->now_ns += 10 * SIM_US;
	sim_send(b, 10);
	iterate_once(sim, SIM_B);
	assert_int_equal(sim->link.nb_log[SIM_B], 2);
	assert_int_equal(sim->link.log[SIM_B][0].opcode, ROOST_OPCODE_RC_ACK);
	assert_int_equal(sim->link.log[SIM_B][1].opcode,
			 ROOST_OPCODE_RC_SEND_ONLY);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* The acknowledgement of a WRITE leaves together with what a program that polls
 * its memory posts at once.
 */
static void state__reply_and_answer_leave_together(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(a, 10);
	sim_send_msg(a, &(struct sim_msg){ .opcode = ROOST_WR_WRITE,
					   .flags = ROOST_SEND_SIGNALED,
					   .nb_sges = 1,
					   .sge_len_bytes = { 10 } });
	iterate_once(sim, SIM_A);
	sim->now_ns += 10 * SIM_US;
	iterate_once(sim, SIM_B);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	sim_send(b, 10);
	iterate_once(sim, SIM_B);
	assert_int_equal(sim->link.nb_log[SIM_B], 2);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- SQD ------------------------------------------------------------ */

static int to_sqd(struct sim_qp *qp, bool notify)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_SQD,
		.en_sqd_async_notify = notify,
	};

	return roost_qp_modify(qp->qp, &attr,
			       ROOST_QP_STATE | ROOST_QP_EN_SQD_ASYNC_NOTIFY);
}

static bool is_draining(struct sim_qp *qp)
{
	struct roost_qp_attr attr;
	struct roost_qp_init init;

	roost_qp_query(qp->qp, &attr, &init);
	return attr.sq_draining;
}

/* What has begun is finished, what has not begun waits. */
static void state__sqd_drains(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 40; i++) {
		sim_recv(b, 50000);
		sim_send(a, 50000);
	}
	sim_turn(sim);
	assert_int_equal(to_sqd(a, true), 0);
	assert_true(is_draining(a));
	sim_poll(sim);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
	assert_false(is_draining(a));
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 39);
	assert_true(roost_psn_diff(a->top_psn, roost_psn(a->sq_psn)) % 49 == 0);
	/* Posts wait too, and receives go on. */
	sim_recv(b, 10);
	sim_send(a, 10);
	sim_recv(a, 10);
	sim_send(b, 10);
	sim_run_for(sim, SIM_S);
	sim_expect_recv(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(b, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 40);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
	sim_free(sim);
}

static void state__sqd_of_an_idle_qp(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(to_sqd(a, true), 0);
	sim_poll(sim);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
	assert_int_equal(to_sqd(b, false), 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(b->async[ROOST_EVENT_SQ_DRAINED], 0);
	sim_free(sim);
}

/* Back in RTS before it was drained: then there is nothing to tell. */
static void state__sqd_left_before_drained(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 50000);
	sim_send(a, 50000);
	sim_turn(sim);
	assert_int_equal(to_sqd(a, true), 0);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 0);
	sim_free(sim);
}

/* Losses are made up for in SQD as well. */
static void state__sqd_retransmits(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim->link.faults[SIM_A].drop_nth = 5;
	sim->link.faults[SIM_B].drop_nth = 0;
	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 20000);
	sim_send(a, 20000);
	sim_turn(sim);
	assert_int_equal(to_sqd(a, true), 0);
	sim_run_for(sim, SIM_S);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
	sim_free(sim);
}

/* Attributes that may change in SQD take effect. */
static void state__sqd_changes_timeout(void **state)
{
	struct roost_qp_attr attr = { .timeout = 4, .retry_cnt = 1 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t took_ns;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 10);
	assert_int_equal(to_sqd(a, false), 0);
	assert_int_equal(roost_qp_modify(a->qp, &attr,
					 ROOST_QP_TIMEOUT | ROOST_QP_RETRY_CNT),
			 0);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim->link.faults[SIM_A].carrier_off = true;
	sim_send(a, 10);
	took_ns = sim->now_ns;
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	took_ns = a->sends.wr[0].cqe.timestamp_ns - took_ns;
	assert_in_range(took_ns, 2 * (4096 << 4), 3 * (4096 << 4));
	sim_free(sim);
}

/* ---- RTR ------------------------------------------------------------ */

/* A QP in RTR receives and answers, and tells so once. */
static void state__comm_est(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_B, NULL);

	sim_qp_join(a, b);
	assert_int_equal(sim_qp_to_init(a), 0);
	assert_int_equal(sim_qp_to_rtr(a), 0);
	assert_int_equal(sim_qp_to_rts(a), 0);
	assert_int_equal(sim_qp_to_init(b), 0);
	/* Receives may be posted from INIT on. */
	for (int i = 0; i < 3; i++)
		sim_recv(b, 5000);
	sim_send(a, 5000);
	sim_run_for(sim, 100 * SIM_US);
	assert_int_equal(b->async[ROOST_EVENT_COMM_EST], 0);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QP_STATE],
			 5);
	assert_int_equal(sim_qp_to_rtr(b), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	assert_int_equal(b->async[ROOST_EVENT_COMM_EST], 1);
	sim_send(a, 5000);
	sim_run(sim);
	assert_int_equal(b->async[ROOST_EVENT_COMM_EST], 1);
	assert_int_equal(sim_qp_to_rts(b), 0);
	sim_send(a, 5000);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(b->async[ROOST_EVENT_COMM_EST], 1);
	assert_int_equal(a->async[ROOST_EVENT_COMM_EST], 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(state__err_flushes_everything_once),
	cmocka_unit_test(state__posts_to_err_are_flushed),
	SIM_TEST_ONE_WORKER(state__receives_posted_to_err_are_flushed),
	cmocka_unit_test(state__err_does_not_answer),
	cmocka_unit_test(state__reset_and_connect_again),
	cmocka_unit_test(state__reset_completes_nothing),
	cmocka_unit_test(state__err_then_reset_then_rts),
	cmocka_unit_test(state__destroy_with_packets_in_flight),
	cmocka_unit_test(state__destroy_right_after_post),
	SIM_TEST_ONE_WORKER(state__what_is_owed_goes_out_first),
	SIM_TEST_ONE_WORKER(state__what_is_owed_goes_out_before_failure),
	SIM_TEST_ONE_WORKER(state__nothing_overtakes_what_is_owed),
	SIM_TEST_ONE_WORKER(state__reply_and_answer_leave_together),
	cmocka_unit_test(state__sqd_drains),
	cmocka_unit_test(state__sqd_of_an_idle_qp),
	cmocka_unit_test(state__sqd_left_before_drained),
	cmocka_unit_test(state__sqd_retransmits),
	cmocka_unit_test(state__sqd_changes_timeout),
	cmocka_unit_test(state__comm_est),
};

SIM_MAIN("sim-state", tests)
