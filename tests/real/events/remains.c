/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * RESET and destroy take the completions of a QP that nobody has polled out of
 * its CQs, so a CQ with room for its queues has that room, round after round.
 */

#include "tests/real/events/events.h"

#define ROUNDS 1000
#define NB_WRS 4
#define OTHER_ID 77

/* A CQ, as an extended one too, with room for two rounds and not for three. */
struct shelf {
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;
	struct tour_pair other; /* its end b completes here, too */
};

static struct ibv_qp *qp_on(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_qp *qp;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp_ex(tour.context, &attr);
	assert_non_null(qp);
	return qp;
}

static struct shelf shelf_open(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 * NB_WRS + 1,
					    .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct shelf s = { .ex = ibv_create_cq_ex(tour.context, &attr) };

	assert_non_null(s.ex);
	s.cq = ibv_cq_ex_to_cq(s.ex);
	s.other.a = qp_on(tour.scq);
	s.other.b = qp_on(s.cq);
	tour_connect(s.other.a, s.other.b->qp_num);
	tour_connect(s.other.b, s.other.a->qp_num);
	return s;
}

static void shelf_close(struct shelf *s)
{
	struct ibv_async_event e;

	/* No CQ_ERR, nor QP_FATAL. */
	if (readable(tour.context->async_fd, 0)) {
		assert_int_equal(ibv_get_async_event(tour.context, &e), 0);
		fail_msg("%s", ibv_event_type_str(e.event_type));
	}
	tour_pair_part(s->other);
	assert_int_equal(ibv_destroy_cq(s->cq), 0);
}

static void to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* Receives and sends that are flushed, and between them one of the other QP. */
static void fill(struct shelf *s, struct ibv_qp *qp)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	struct ibv_recv_wr other = { .wr_id = OTHER_ID };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };

	tour_connect(qp, qp->qp_num);
	for (int i = 0; i < NB_WRS; i++)
		assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
	to(qp, IBV_QPS_ERR);
	assert_int_equal(ibv_post_recv(s->other.b, &other, &bad), 0);
	assert_int_equal(tour_done(s->other.a, &send), IBV_WC_SUCCESS);
	for (int i = 0; i < NB_WRS; i++)
		tour_post(qp, &(struct ibv_send_wr){ .opcode = IBV_WR_SEND });
}

/* What is left is of the other. */
static void expect_other(struct shelf *s)
{
	const struct ibv_wc wc = tour_completion(s->cq);
	struct ibv_wc more;

	assert_int_equal(wc.wr_id, OTHER_ID);
	assert_int_equal(wc.qp_num, s->other.b->qp_num);
	assert_int_equal(ibv_poll_cq(s->cq, 1, &more), 0);
}

static void expect_other_ex(struct shelf *s)
{
	struct ibv_poll_cq_attr attr = { 0 };
	const int64_t until_ns = tour_now_ns() + TOUR_TIMEOUT_NS;
	int rc;

	while ((rc = ibv_start_poll(s->ex, &attr)) == ENOENT)
		assert_true(tour_now_ns() < until_ns);
	assert_int_equal(rc, 0);
	assert_int_equal(s->ex->wr_id, OTHER_ID);
	assert_int_equal(ibv_wc_read_qp_num(s->ex), s->other.b->qp_num);
	assert_int_equal(ibv_next_poll(s->ex), ENOENT);
	ibv_end_poll(s->ex);
}

/* ---- the tests ---------------------------------------------------------- */

static void remains__of_a_reset_qp(void **state)
{
	struct shelf s = shelf_open();
	struct ibv_qp *qp = qp_on(s.cq);

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		fill(&s, qp);
		to(qp, IBV_QPS_RESET);
		if (round % 2 == 0)
			expect_other(&s);
		else
			expect_other_ex(&s);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	shelf_close(&s);
}

static void remains__of_a_destroyed_qp(void **state)
{
	struct shelf s = shelf_open();

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct ibv_qp *qp = qp_on(s.cq);

		fill(&s, qp);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		if (round % 2 == 0)
			expect_other(&s);
		else
			expect_other_ex(&s);
	}
	shelf_close(&s);
}

/* By the thread that polls, in the middle of it. */
static void remains__in_an_open_poll(void **state)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct shelf s = shelf_open();

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct ibv_qp *qp = qp_on(s.cq);

		fill(&s, qp);
		assert_int_equal(ibv_start_poll(s.ex, &attr), 0);
		assert_int_equal(ibv_wc_read_qp_num(s.ex), qp->qp_num);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_next_poll(s.ex), 0);
		assert_int_equal(ibv_wc_read_qp_num(s.ex), s.other.b->qp_num);
		assert_int_equal(ibv_next_poll(s.ex), ENOENT);
		ibv_end_poll(s.ex);
	}
	shelf_close(&s);
}

const struct CMUnitTest events_remains[] = {
	TOUR_TEST(remains__of_a_reset_qp),
	TOUR_TEST(remains__of_a_destroyed_qp),
	TOUR_TEST(remains__in_an_open_poll),
	{ 0 },
};
