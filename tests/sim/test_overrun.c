/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A CQ that gets more completions than it has room for. */

#include <errno.h>

#include "tests/sim/raw.h"

#define ENTRIES 4

static struct roost_cq *small_cq(struct sim *sim, int side)
{
	struct roost_cq *cq;

	assert_int_equal(roost_cq_create(sim->ends[side].ctx, ENTRIES, NULL,
					 &sim->ends[side], &cq),
			 0);
	assert_int_equal(roost_cq_entries(cq), ENTRIES);
	return cq;
}

/* What fits is there; then an error, for ever. */
static void assert_overrun(struct sim *sim, struct roost_cq *cq)
{
	struct roost_cqe cqes[2 * ENTRIES];
	int n = roost_cq_poll(cq, 2 * ENTRIES, cqes);

	assert_int_equal(n, ENTRIES);
	for (int i = 0; i < n; i++)
		sim_wr_complete(sim, &cqes[i]);
	assert_int_equal(roost_cq_poll(cq, 1, cqes), -EIO);
	assert_int_equal(roost_cq_poll(cq, 1, cqes), -EIO);
}

/* The receive CQ of two QPs: both fail, the other CQ of the device does not. */
static void overrun__of_receives(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b, *c, *d, *e, *f;
	struct roost_cq *cq = small_cq(sim, SIM_B);

	a = sim_qp_new(sim, SIM_A, NULL);
	c = sim_qp_new(sim, SIM_A, NULL);
	conf.cq = cq;
	b = sim_qp_new(sim, SIM_B, &conf);
	d = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(a, b);
	sim_connect(c, d);
	sim_pair(sim, NULL, &e, &f);
	sim->nobody_polls = true;
	for (int i = 0; i < ENTRIES + 3; i++) {
		sim_recv(b, 10);
		sim_send(a, 10);
		sim_recv(f, 10);
		sim_send(e, 10);
	}
	sim_recv(d, 10);
	sim_run(sim);
	assert_int_equal(sim->ends[SIM_B].other_async[ROOST_EVENT_CQ_ERR], 1);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	assert_int_equal(roost_qp_state(d->qp), ROOST_QPS_ERR);
	assert_int_equal(b->async[ROOST_EVENT_QP_FATAL], 1);
	assert_int_equal(d->async[ROOST_EVENT_QP_FATAL], 1);
	assert_overrun(sim, cq);
	sim->nobody_polls = false;
	sim_run(sim);
	sim_expect_all_good(e, f);
	sim_expect_recv(b, ENTRIES - 1, ROOST_WC_SUCCESS);
	sim_expect_recv_open(b, ENTRIES);
	/* A later error is not told again, nor stops the QPs from going. */
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	sim_qp_destroy(b);
	sim_qp_destroy(d);
	assert_int_equal(sim->ends[SIM_B].other_async[ROOST_EVENT_CQ_ERR], 1);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	sim_free(sim);
}

static void overrun__of_sends(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_cq *cq = small_cq(sim, SIM_A);

	conf.cq = cq;
	a = sim_qp_new(sim, SIM_A, &conf);
	b = sim_qp_new(sim, SIM_B, NULL);
	sim_connect(a, b);
	sim->nobody_polls = true;
	for (int i = 0; i < ENTRIES + 1; i++) {
		sim_recv(b, 10);
		sim_send(a, 10);
	}
	sim_run(sim);
	assert_int_equal(sim->ends[SIM_A].other_async[ROOST_EVENT_CQ_ERR], 1);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	assert_int_equal(a->async[ROOST_EVENT_QP_FATAL], 1);
	assert_overrun(sim, cq);
	sim->nobody_polls = false;
	sim_poll(sim);
	sim_expect_send(a, ENTRIES - 1, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, ENTRIES);
	sim_qp_destroy(a);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	sim_free(sim);
}

/* Full to the last entry is not overrun. */
static void overrun__exactly_full(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_cq *cq = small_cq(sim, SIM_B);

	conf.cq = cq;
	a = sim_qp_new(sim, SIM_A, NULL);
	b = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(a, b);
	for (int round = 0; round < 10; round++) {
		sim->nobody_polls = true;
		for (int i = 0; i < ENTRIES; i++) {
			sim_recv(b, 10);
			sim_send(a, 10);
		}
		sim_run(sim);
		sim->nobody_polls = false;
		sim_poll(sim);
	}
	sim_expect_all_good(a, b);
	assert_int_equal(sim->ends[SIM_B].other_async[ROOST_EVENT_CQ_ERR], 0);
	sim_qp_destroy(b);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	sim_free(sim);
}

/* ---- queues and their CQ ------------------------------------------------- */

static int post_send(struct sim_qp *qp, bool signaled)
{
	struct roost_send_wr wr = {
		.opcode = ROOST_WR_SEND,
		.flags = signaled ? ROOST_SEND_SIGNALED : 0,
	};
	int rc;

	roost_qp_send_begin(qp->qp);
	rc = roost_qp_send_add(qp->qp, &wr);
	roost_qp_send_end(qp->qp);
	return rc;
}

static int post_recv(struct sim_qp *qp)
{
	struct roost_recv_wr wr = { .wr_id = 0 };
	int rc;

	roost_qp_recv_begin(qp->qp);
	rc = roost_qp_recv_add(qp->qp, &wr);
	roost_qp_recv_end(qp->qp);
	return rc;
}

static void small_cq_end(struct sim_qp *qp)
{
	struct roost_cq *cq = qp->conf.cq;

	sim_qp_destroy(qp);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
}

/* A program posts until the queue is full, and polls then: a CQ that has room
 * for the queue is never overrun.
 */
static void overrun__not_by_a_full_queue(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_cqe cqe;

	conf.cq = small_cq(sim, SIM_A);
	conf.max_send_wr = ENTRIES;
	a = sim_qp_new(sim, SIM_A, &conf);
	conf.cq = small_cq(sim, SIM_B);
	conf.max_recv_wr = ENTRIES;
	b = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(a, b);
	sim->nobody_polls = true;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < ENTRIES - (round > 0) * (ENTRIES - 1);
		     i++) {
			assert_int_equal(post_recv(b), 0);
			assert_int_equal(post_send(a, true), 0);
		}
		sim_run(sim);
		assert_int_equal(post_send(a, true), -ENOMEM);
		assert_int_equal(post_recv(b), -ENOMEM);
		assert_int_equal(roost_cq_poll(a->conf.cq, 1, &cqe), 1);
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
		assert_int_equal(roost_cq_poll(b->conf.cq, 1, &cqe), 1);
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
	}
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	small_cq_end(a);
	small_cq_end(b);
	sim_free(sim);
}

/* A program may post while it goes through the entries of an extended CQ. */
static void overrun__a_shown_entry_is_polled(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	const struct roost_cqe *cqe;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.cq = small_cq(sim, SIM_A);
	conf.max_send_wr = 2;
	a = sim_qp_new(sim, SIM_A, &conf);
	b = sim_qp_new(sim, SIM_B, NULL);
	sim_connect(a, b);
	sim->nobody_polls = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(post_recv(b), 0);
		assert_int_equal(post_send(a, true), 0);
	}
	sim_run(sim);
	assert_int_equal(post_send(a, true), -ENOMEM);
	assert_int_equal(roost_cq_poll_begin(conf.cq, &cqe), 0);
	assert_int_equal(post_send(a, true), 0);
	assert_int_equal(post_send(a, true), -ENOMEM);
	assert_int_equal(roost_cq_poll_next(conf.cq, &cqe), 0);
	assert_int_equal(post_send(a, true), 0);
	roost_cq_poll_end(conf.cq);
	assert_int_equal(post_send(a, true), -ENOMEM);
	small_cq_end(a);
	sim_free(sim);
}

/* What has no completion waits for none. */
static void overrun__unsignaled_is_free_when_done(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.max_send_wr = ENTRIES;
	sim_pair(sim, &conf, &a, &b);
	sim->nobody_polls = true;
	for (int i = 0; i < 3 * ENTRIES; i++) {
		assert_int_equal(post_recv(b), 0);
		assert_int_equal(post_send(a, false), 0);
		sim_run(sim);
	}
	sim_free(sim);
}

/* ---- the CQ of an XRC SRQ
 * --------------------------------------------- */

#define TARGETS 3

struct xrc {
	struct sim *sim;
	struct roost_xrcd *xrcd;
	struct roost_cq *cq;
	struct roost_srq *srq, *other; /* other completes elsewhere */
	struct sim_qp *ini[TARGETS], *tgt[TARGETS];
};

static struct roost_srq *xrc_srq(struct xrc *x, struct roost_cq *cq)
{
	struct sim_end *b = &x->sim->ends[SIM_B];
	struct roost_srq_init init = {
		.max_wr = 64,
		.max_sge = 1,
		.xrcd = x->xrcd,
		.cq = cq,
		.owner = b,
	};
	struct roost_srq *srq;

	assert_int_equal(roost_srq_create(b->pd, &init, &srq), 0);
	for (uint64_t i = 0; i < 16; i++)
		raw_srq_recv(b, srq, i, raw_blank(x->sim, 3000));
	return srq;
}

static void xrc_open(struct xrc *x)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_end *b;

	x->sim = sim_new();
	x->sim->nobody_polls = true;
	b = &x->sim->ends[SIM_B];
	assert_int_equal(roost_xrcd_open(b->ctx, &x->xrcd), 0);
	x->cq = small_cq(x->sim, SIM_B);
	x->srq = xrc_srq(x, x->cq);
	x->other = xrc_srq(x, b->cq);
	for (int i = 0; i < TARGETS; i++) {
		conf.type = ROOST_QPT_XRC_INI;
		conf.xrcd = NULL;
		x->ini[i] = sim_qp_new(x->sim, SIM_A, &conf);
		conf.type = ROOST_QPT_XRC_TGT;
		conf.xrcd = x->xrcd;
		x->tgt[i] = sim_qp_new(x->sim, SIM_B, &conf);
		sim_connect(x->ini[i], x->tgt[i]);
	}
}

static void xrc_close(struct xrc *x)
{
	for (int i = 0; i < TARGETS; i++)
		sim_qp_destroy(x->tgt[i]);
	assert_int_equal(roost_srq_destroy(x->srq, NULL), 0);
	assert_int_equal(roost_srq_destroy(x->other, NULL), 0);
	assert_int_equal(roost_xrcd_close(x->xrcd), 0);
	assert_int_equal(roost_cq_destroy(x->cq, NULL, NULL), 0);
	sim_free(x->sim);
}

static void xrc_send(struct xrc *x, int i, struct roost_srq *srq,
		     uint32_t len_bytes)
{
	raw_send(x->ini[i],
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .xrc_srqn = roost_srq_num(srq),
		 },
		 raw_random(x->sim, len_bytes));
}

/*
 * The target whose message had no room fails, and the one that is in
 * the middle of a message for it. A third one goes on as long as it has
 * nothing to do with that SRQ.
 */
static void overrun__of_an_xrc_srq(void **state)
{
	struct xrc x;
	struct sim_end *b;

	xrc_open(&x);
	b = &x.sim->ends[SIM_B];
	/* The end of a message does not come. */
	x.sim->link.faults[SIM_A].drop_nth = 2;
	x.sim->link.faults[SIM_B].carrier_off = true;
	xrc_send(&x, 1, x.srq, 3000);
	sim_run_for(x.sim, 10 * SIM_US);
	x.sim->link.faults[SIM_A].carrier_off = true;
	sim_qp_to(x.ini[1], ROOST_QPS_ERR);
	raw_expect(x.ini[1]->end->cq, 1, ROOST_WC_WR_FLUSH_ERR);
	x.sim->link.faults[SIM_A].carrier_off = false;
	x.sim->link.faults[SIM_B].carrier_off = false;
	for (int i = 0; i < ENTRIES + 1; i++) {
		xrc_send(&x, 0, x.srq, 10);
		sim_run(x.sim);
		raw_expect(x.ini[0]->end->cq, 1, ROOST_WC_SUCCESS);
	}
	sim_poll(x.sim);
	assert_int_equal(b->other_async[ROOST_EVENT_CQ_ERR], 1);
	assert_int_equal(b->other_async[ROOST_EVENT_SRQ_ERR], 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(roost_qp_state(x.tgt[i]->qp), ROOST_QPS_ERR);
		assert_int_equal(x.tgt[i]->async[ROOST_EVENT_QP_FATAL], 1);
	}
	xrc_send(&x, 2, x.other, 10);
	sim_run(x.sim);
	raw_expect(x.ini[2]->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(b->cq, 0, ROOST_WC_SUCCESS);
	assert_int_equal(roost_qp_state(x.tgt[2]->qp), ROOST_QPS_RTS);
	xrc_send(&x, 2, x.srq, 10);
	sim_run(x.sim);
	raw_expect(x.ini[2]->end->cq, 1, ROOST_WC_REM_OP_ERR);
	sim_poll(x.sim);
	assert_int_equal(roost_qp_state(x.tgt[2]->qp), ROOST_QPS_ERR);
	assert_int_equal(x.tgt[2]->async[ROOST_EVENT_QP_FATAL], 1);
	assert_int_equal(b->other_async[ROOST_EVENT_SRQ_ERR], 1);
	xrc_close(&x);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(overrun__not_by_a_full_queue),
	cmocka_unit_test(overrun__a_shown_entry_is_polled),
	cmocka_unit_test(overrun__unsignaled_is_free_when_done),
	cmocka_unit_test(overrun__of_receives),
	cmocka_unit_test(overrun__of_sends),
	cmocka_unit_test(overrun__exactly_full),
	cmocka_unit_test(overrun__of_an_xrc_srq),
};

SIM_MAIN("sim-overrun", tests)
