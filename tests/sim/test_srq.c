/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Shared receive queues and XRC. */

#include <errno.h>
#include <string.h>

#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define SIGNALED ROOST_SEND_SIGNALED

static void send(struct sim_qp *qp, uint64_t wr_id, uint32_t srqn,
		 struct sim_slice slice)
{
	raw_send(qp,
		 (struct roost_send_wr){
			 .wr_id = wr_id,
			 .opcode = ROOST_WR_SEND,
			 .flags = SIGNALED,
			 .xrc_srqn = srqn,
		 },
		 slice);
}

/* ---- basic --------------------------------------------------------------- */

/* Two QPs take from one queue, each message the oldest WQE. */
static void srq__order(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with;
	struct sim *sim = sim_new();
	struct roost_srq *srq = sim_srq_new(&sim->ends[SIM_B], NULL, 64);
	struct sim_qp *a[2], *b[2];
	struct sim_slice in[20], out[20];

	sim->nobody_polls = true;
	for (int i = 0; i < 2; i++) {
		with = conf;
		with.srq = srq;
		a[i] = sim_qp_new(sim, SIM_A, &conf);
		b[i] = sim_qp_new(sim, SIM_B, &with);
		sim_connect(a[i], b[i]);
	}
	for (uint64_t i = 0; i < 20; i++) {
		in[i] = raw_blank(sim, 3000);
		out[i] = raw_random(sim, 2500);
		raw_srq_recv(&sim->ends[SIM_B], srq, i, in[i]);
	}
	for (uint64_t i = 0; i < 20; i++) {
		struct roost_cqe cqe;

		send(a[i % 2], i, 0, out[i]);
		sim_run(sim);
		cqe = raw_expect(sim->ends[SIM_B].cq, i, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.qpn, b[i % 2]->qpn);
		assert_memory_equal(in[i].data, out[i].data, 2500);
		raw_assert_blank(in[i], 2500);
	}
	/* Empty: not ready, until one is posted. */
	send(a[0], 100, 0, out[0]);
	sim_run_for(sim, 5 * SIM_US);
	assert_true(sim_counters(sim, SIM_B)->rnr_naks_sent > 0);
	raw_srq_recv(&sim->ends[SIM_B], srq, 100, raw_blank(sim, 3000));
	sim_run(sim);
	raw_expect(sim->ends[SIM_B].cq, 100, ROOST_WC_SUCCESS);
	assert_int_equal(roost_srq_destroy(srq, NULL), -EBUSY);
	sim_qp_destroy(b[0]);
	sim_qp_destroy(b[1]);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

static uint32_t limit_events(struct sim *sim)
{
	sim_poll(sim);
	return sim->ends[SIM_B].other_async[ROOST_EVENT_SRQ_LIMIT_REACHED];
}

static void srq__limit_is_told_once(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with = conf;
	struct sim *sim = sim_new();
	struct roost_srq *srq = sim_srq_new(&sim->ends[SIM_B], NULL, 16);
	uint32_t max_wr, max_sge, limit;
	struct sim_qp *a, *b;

	sim->nobody_polls = true;
	with.srq = srq;
	a = sim_qp_new(sim, SIM_A, &conf);
	b = sim_qp_new(sim, SIM_B, &with);
	sim_connect(a, b);
	assert_int_equal(roost_srq_set_limit(srq, 17), -EINVAL);
	assert_int_equal(roost_srq_set_limit(srq, 8), 0);
	for (uint64_t i = 0; i < 16; i++)
		raw_srq_recv(&sim->ends[SIM_B], srq, i, raw_blank(sim, 10));
	for (uint64_t i = 0; i < 14; i++) {
		send(a, i, 0, raw_random(sim, 10));
		sim_run(sim);
		/* Eight left is not below eight. */
		assert_int_equal(limit_events(sim), i < 8 ? 0 : 1);
	}
	roost_srq_query(srq, &max_wr, &max_sge, &limit);
	assert_int_equal(limit, 0);
	assert_int_equal(roost_srq_set_limit(srq, 2), 0);
	send(a, 50, 0, raw_random(sim, 10));
	sim_run(sim);
	assert_int_equal(limit_events(sim), 2);
	sim_qp_destroy(b);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

/* A QP in ERR gives back what it took from the queue, and no more. */
static void srq__last_wqe_reached(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with = conf;
	struct sim *sim = sim_new();
	struct roost_srq *srq = sim_srq_new(&sim->ends[SIM_B], NULL, 16);
	struct sim_qp *a, *b;

	sim->nobody_polls = true;
	with.srq = srq;
	a = sim_qp_new(sim, SIM_A, &conf);
	b = sim_qp_new(sim, SIM_B, &with);
	sim_connect(a, b);
	for (uint64_t i = 0; i < 3; i++)
		raw_srq_recv(&sim->ends[SIM_B], srq, i, raw_blank(sim, 3000));
	/* The end of a message does not come. */
	sim->link.faults[SIM_A].drop_nth = 2;
	sim->link.faults[SIM_B].carrier_off = true;
	send(a, 0, 0, raw_random(sim, 3000));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect_nothing(b->end->cq);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	raw_expect(b->end->cq, 0, ROOST_WC_WR_FLUSH_ERR);
	raw_expect_nothing(b->end->cq);
	sim_poll(sim);
	assert_int_equal(b->async[ROOST_EVENT_QP_LAST_WQE_REACHED], 1);
	/* Idempotent. */
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	sim_poll(sim);
	assert_int_equal(b->async[ROOST_EVENT_QP_LAST_WQE_REACHED], 1);
	sim_qp_destroy(b);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

static void srq__resize(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with = conf;
	struct sim *sim = sim_new();
	struct roost_srq *srq = sim_srq_new(&sim->ends[SIM_B], NULL, 8);
	struct roost_recv_wr wr = { .wr_id = 1 };
	struct sim_qp *a, *b;
	uint64_t posted = 0, taken = 0;

	sim->nobody_polls = true;
	with.srq = srq;
	a = sim_qp_new(sim, SIM_A, &conf);
	b = sim_qp_new(sim, SIM_B, &with);
	sim_connect(a, b);
	for (int round = 0; round < 20; round++) {
		static const uint32_t sizes[] = { 8, 64, 16, 32, 128 };
		uint32_t size = sizes[round % 5];

		assert_int_equal(roost_srq_resize(srq, size, NULL), 0);
		while (posted - taken < size)
			raw_srq_recv(&sim->ends[SIM_B], srq, posted++,
				     raw_blank(sim, 10));
		roost_srq_recv_begin(srq);
		assert_int_equal(roost_srq_recv_add(srq, &wr), -ENOMEM);
		roost_srq_recv_end(srq);
		/* Fewer than are posted. */
		assert_int_equal(roost_srq_resize(srq, size / 2, NULL),
				 -EINVAL);
		while (posted - taken > 5) {
			send(a, 0, 0, raw_random(sim, 10));
			sim_run(sim);
			raw_expect(a->end->cq, 0, ROOST_WC_SUCCESS);
			raw_expect(b->end->cq, taken++, ROOST_WC_SUCCESS);
		}
	}
	assert_int_equal(roost_srq_resize(srq, 0, NULL), -EINVAL);
	sim_qp_destroy(b);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

/* The armed limit must stay one that can be kept (IBTA 11.2.3.3). */
static void srq__resize_below_the_limit(void **state)
{
	struct sim *sim = sim_new();
	struct roost_srq *srq = sim_srq_new(&sim->ends[SIM_B], NULL, 64);
	const uint32_t none = 0, nine = 9, eight = 8;
	uint32_t max_wr, max_sge, limit;

	sim->nobody_polls = true;
	assert_int_equal(roost_srq_set_limit(srq, 32), 0);
	assert_int_equal(roost_srq_resize(srq, 16, NULL), -EINVAL);
	assert_int_equal(roost_srq_resize(srq, 8, &nine), -EINVAL);
	roost_srq_query(srq, &max_wr, &max_sge, &limit);
	assert_int_equal(max_wr, 64);
	assert_int_equal(limit, 32);
	assert_int_equal(roost_srq_resize(srq, 32, NULL), 0);
	roost_srq_query(srq, &max_wr, &max_sge, &limit);
	assert_int_equal(max_wr, 32);
	assert_int_equal(limit, 32);
	assert_int_equal(roost_srq_resize(srq, 8, &eight), 0);
	roost_srq_query(srq, &max_wr, &max_sge, &limit);
	assert_int_equal(max_wr, 8);
	assert_int_equal(limit, 8);
	assert_int_equal(roost_srq_resize(srq, 4, &none), 0);
	roost_srq_query(srq, &max_wr, &max_sge, &limit);
	assert_int_equal(limit, 0);
	assert_int_equal(limit_events(sim), 0);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

/* What a QP took from the queue is gone with its completion; the rest of the
 * queue is for the others, whose completions stay.
 */
static void srq__reset_leaves_no_completions(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with = conf;
	struct sim *sim = sim_new();
	struct sim_end *end = &sim->ends[SIM_B];
	struct roost_srq *srq = sim_srq_new(end, NULL, 8);
	struct sim_slice out = raw_random(sim, 100);
	struct sim_qp *a[2], *b[2];

	sim->nobody_polls = true;
	with.srq = srq;
	for (int i = 0; i < 2; i++) {
		a[i] = sim_qp_new(sim, SIM_A, &conf);
		b[i] = sim_qp_new(sim, SIM_B, &with);
		sim_connect(a[i], b[i]);
	}
	for (uint64_t i = 0; i < 6; i++)
		raw_srq_recv(end, srq, i, raw_blank(sim, 100));
	for (int i = 0; i < 4; i++) {
		send(a[i % 2], 1, 0, out);
		sim_run(sim);
	}
	assert_int_equal(sim_qp_to(b[0], ROOST_QPS_RESET), 0);
	raw_expect(end->cq, 1, ROOST_WC_SUCCESS);
	send(a[1], 1, 0, out);
	sim_run(sim);
	raw_expect(end->cq, 3, ROOST_WC_SUCCESS);
	raw_expect(end->cq, 4, ROOST_WC_SUCCESS);
	assert_int_equal(roost_cq_poll(end->cq, 1, &(struct roost_cqe){ 0 }),
			 0);
	for (int i = 0; i < 2; i++)
		sim_qp_destroy(b[i]);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

/* ---- XRC ----------------------------------------------------------------- */

struct xrc {
	struct sim *sim;
	struct roost_xrcd *xrcd;
	struct roost_srq *srq;
	struct sim_qp *ini, *tgt;
};

static struct xrc xrc_open(void)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct xrc x = { .sim = sim_new() };
	struct sim_end *b = &x.sim->ends[SIM_B];

	x.sim->nobody_polls = true;
	assert_int_equal(roost_xrcd_open(b->ctx, &x.xrcd), 0);
	x.srq = sim_srq_new(b, x.xrcd, 64);
	conf.type = ROOST_QPT_XRC_INI;
	x.ini = sim_qp_new(x.sim, SIM_A, &conf);
	conf.type = ROOST_QPT_XRC_TGT;
	conf.xrcd = x.xrcd;
	x.tgt = sim_qp_new(x.sim, SIM_B, &conf);
	sim_connect(x.ini, x.tgt);
	return x;
}

static void xrc_close(struct xrc *x)
{
	if (x->srq != NULL)
		assert_int_equal(roost_srq_destroy(x->srq, NULL), 0);
	assert_int_equal(roost_xrcd_close(x->xrcd), -EBUSY);
	sim_qp_destroy(x->tgt);
	assert_int_equal(roost_xrcd_close(x->xrcd), 0);
	sim_free(x->sim);
}

/* Everything an initiator can ask for, to two SRQs through one target. */
static void xrc__every_request(void **state)
{
	struct xrc x = xrc_open();
	struct sim *sim = x.sim;
	struct sim_end *b = &sim->ends[SIM_B];
	struct roost_srq *other = sim_srq_new(b, x.xrcd, 16);
	struct sim_slice out = raw_random(sim, 3000), in = raw_blank(sim, 3000);
	struct sim_slice in2 = raw_blank(sim, 3000);
	struct sim_slice there = raw_blank(sim, 3000);
	struct sim_slice back = raw_blank(sim, 3000), eight;
	struct roost_cqe cqe;
	uint64_t v = 5;
	struct roost_send_wr wr = {
		.wr_id = 2,
		.opcode = ROOST_WR_WRITE_IMM,
		.flags = SIGNALED,
		.imm_be = 99,
		.remote_addr = (uintptr_t)there.data,
		.rkey = roost_mr_rkey(b->mr),
		.swap_add = 3,
	};

	assert_int_not_equal(roost_srq_num(x.srq), 0);
	assert_int_not_equal(roost_srq_num(x.srq), roost_srq_num(other));
	raw_srq_recv(b, x.srq, 10, in);
	raw_srq_recv(b, other, 20, in2);
	raw_srq_recv(b, other, 21, raw_blank(sim, 10));
	send(x.ini, 1, roost_srq_num(other), out);
	send(x.ini, 1, roost_srq_num(x.srq), out);
	sim_run(sim);
	raw_expect(x.ini->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(x.ini->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(b->cq, 20, ROOST_WC_SUCCESS);
	cqe = raw_expect(b->cq, 10, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.qpn, x.tgt->qpn);
	assert_memory_equal(in.data, out.data, 3000);
	assert_memory_equal(in2.data, out.data, 3000);
	wr.xrc_srqn = roost_srq_num(other);
	raw_send(x.ini, wr, out);
	wr.opcode = ROOST_WR_READ;
	raw_send(x.ini, wr, back);
	sim_run(sim);
	raw_expect(b->cq, 21, ROOST_WC_SUCCESS);
	raw_expect(x.ini->end->cq, 2, ROOST_WC_SUCCESS);
	raw_expect(x.ini->end->cq, 2, ROOST_WC_SUCCESS);
	assert_memory_equal(there.data, out.data, 3000);
	assert_memory_equal(back.data, out.data, 3000);
	sim->arena_used = (sim->arena_used + 7) & ~7ul;
	there = raw_blank(sim, 8);
	eight = raw_blank(sim, 8);
	memcpy(there.data, &v, 8);
	wr.remote_addr = (uintptr_t)there.data;
	wr.opcode = ROOST_WR_FETCH_ADD;
	raw_send(x.ini, wr, eight);
	sim_run(sim);
	raw_expect(x.ini->end->cq, 2, ROOST_WC_SUCCESS);
	assert_memory_equal(eight.data, &v, 8);
	v = 8;
	assert_memory_equal(there.data, &v, 8);
	assert_int_equal(roost_srq_destroy(other, NULL), 0);
	xrc_close(&x);
}

/* The CQ is the SRQ's, and the completions are the target's: they go with it,
 * although the SRQ went before.
 */
static void xrc__a_target_leaves_no_completions(void **state)
{
	for (int round = 0; round < 4; round++) {
		struct xrc x = xrc_open();
		struct sim_end *b = &x.sim->ends[SIM_B];
		struct sim_slice out = raw_random(x.sim, 3000);
		struct sim_qp *c, *d;

		sim_pair(x.sim, NULL, &c, &d);
		for (uint64_t i = 0; i < 3; i++) {
			raw_srq_recv(b, x.srq, 10 + i, raw_blank(x.sim, 3000));
			raw_recv(d, 20 + i, raw_blank(x.sim, 3000));
			send(x.ini, 1, roost_srq_num(x.srq), out);
			send(c, 1, 0, out);
			sim_run(x.sim);
		}
		if (round % 2 == 0) {
			assert_int_equal(roost_srq_destroy(x.srq, NULL), 0);
			x.srq = NULL;
		}
		if (round < 2)
			assert_int_equal(sim_qp_to(x.tgt, ROOST_QPS_RESET), 0);
		else
			assert_int_equal(sim_qp_to(d, ROOST_QPS_RESET), 0);
		for (uint64_t i = 0; i < 3; i++)
			raw_expect(b->cq, (round < 2 ? 20 : 10) + i,
				   ROOST_WC_SUCCESS);
		assert_int_equal(roost_cq_poll(b->cq, 1,
					       &(struct roost_cqe){ 0 }),
				 0);
		xrc_close(&x);
	}
}

/* A number that is none, or of another domain: NAK, and the target is in ERR.
 */
static void wrong_number(bool other_domain)
{
	struct xrc x = xrc_open();
	struct sim_end *b = &x.sim->ends[SIM_B];
	struct roost_xrcd *xrcd;
	struct roost_srq *srq;
	struct sim_slice in = raw_blank(x.sim, 100);

	assert_int_equal(roost_xrcd_open(b->ctx, &xrcd), 0);
	srq = sim_srq_new(b, xrcd, 4);
	raw_srq_recv(b, srq, 1, in);
	send(x.ini, 1, other_domain ? roost_srq_num(srq) : 0x123456,
	     raw_random(x.sim, 100));
	sim_run(x.sim);
	raw_expect(x.ini->end->cq, 1, ROOST_WC_REM_INV_REQ_ERR);
	raw_expect_nothing(b->cq);
	raw_assert_blank(in, 0);
	assert_int_equal(roost_qp_state(x.tgt->qp), ROOST_QPS_ERR);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	assert_int_equal(roost_xrcd_close(xrcd), 0);
	xrc_close(&x);
}

static void xrc__wrong_srq(void **state)
{
	wrong_number(false);
	wrong_number(true);
}

/* A domain that was opened twice is one. */
static void xrc__shared_domain(void **state)
{
	struct xrc x = xrc_open();
	struct sim_end *b = &x.sim->ends[SIM_B];
	struct roost_xrcd *again;
	struct roost_srq *srq;

	assert_int_equal(roost_xrcd_share(b->ctx, x.xrcd, &again), 0);
	srq = sim_srq_new(b, again, 4);
	raw_srq_recv(b, srq, 7, raw_blank(x.sim, 100));
	send(x.ini, 1, roost_srq_num(srq), raw_random(x.sim, 100));
	sim_run(x.sim);
	raw_expect(b->cq, 7, ROOST_WC_SUCCESS);
	assert_int_equal(roost_xrcd_close(again), -EBUSY);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	assert_int_equal(roost_xrcd_close(again), 0);
	xrc_close(&x);
}

/* The SRQ is destroyed while a message for it is coming in. */
static void xrc__srq_goes_during_a_message(void **state)
{
	struct xrc x = xrc_open();
	struct sim_end *b = &x.sim->ends[SIM_B];

	raw_srq_recv(b, x.srq, 7, raw_blank(x.sim, 3000));
	x.sim->link.faults[SIM_A].drop_nth = 2;
	x.sim->link.faults[SIM_B].carrier_off = true;
	send(x.ini, 1, roost_srq_num(x.srq), raw_random(x.sim, 3000));
	sim_run_for(x.sim, 10 * SIM_US);
	assert_int_equal(roost_srq_destroy(x.srq, NULL), 0);
	x.srq = NULL;
	x.sim->link.faults[SIM_B].carrier_off = false;
	sim_run(x.sim);
	raw_expect(x.ini->end->cq, 1, ROOST_WC_REM_INV_REQ_ERR);
	raw_expect_nothing(b->cq);
	assert_int_equal(roost_qp_state(x.tgt->qp), ROOST_QPS_ERR);
	xrc_close(&x);
}

/* Requests to an initiator, and answers to a target, are for nobody. */
static void xrc__roles(void **state)
{
	static const uint8_t zeros[64];
	struct xrc x = xrc_open();

	for (unsigned int op = 0; op < 0x18; op++) {
		uint8_t opcode = (uint8_t)(ROOST_SERVICE_XRC << 5 | op);
		const struct roost_opcode_info *info = &roost_opcodes[opcode];
		bool request = info->flags & ROOST_OPF_REQUEST;
		struct sim_qp *qp = request ? x.ini : x.tgt;
		struct roost_bth bth = {
			.opcode = opcode,
			.pkey = 0xffff,
			.dest_qpn = qp->qpn,
			.psn = roost_psn(qp->peer->sq_psn),
			.ackreq = true,
		};
		uint64_t before;
		int side = qp->end->side;

		if (info->op == ROOST_OP_NONE)
			continue;
		before = sim_counters(x.sim, side)->drops[ROOST_DROP_QP_TYPE];
		sim_forge(qp, &bth, zeros, info->hdr_len_bytes - ROOST_BTH_LEN);
		sim_turn(x.sim);
		assert_int_equal(
			sim_counters(x.sim, side)->drops[ROOST_DROP_QP_TYPE],
			before + 1);
	}
	assert_int_equal(x.sim->link.nb_log[SIM_A], 0);
	assert_int_equal(x.sim->link.nb_log[SIM_B], 0);
	xrc_close(&x);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(srq__order),
	cmocka_unit_test(srq__limit_is_told_once),
	cmocka_unit_test(srq__last_wqe_reached),
	cmocka_unit_test(srq__reset_leaves_no_completions),
	cmocka_unit_test(srq__resize),
	cmocka_unit_test(srq__resize_below_the_limit),
	cmocka_unit_test(xrc__every_request),
	cmocka_unit_test(xrc__a_target_leaves_no_completions),
	cmocka_unit_test(xrc__wrong_srq),
	cmocka_unit_test(xrc__shared_domain),
	cmocka_unit_test(xrc__srq_goes_during_a_message),
	cmocka_unit_test(xrc__roles),
};

SIM_MAIN("sim-srq", tests)
