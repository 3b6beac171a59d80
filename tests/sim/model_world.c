/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "tests/sim/model.h"

#define POOL_BYTES (4u << 20)
#define XRC_SRQS 3u
#define SLOTS_MIN 4u
#define IN_ORDER_BYTES 65536u
#define HEADER_BYTES 8u

/* Bad, but not so bad that eight tries in a row might fail. Long READs do not
 * go with packets out of order: what is asked for again from each gap on would
 * be more than the link carries.
 */
static void draw_faults(struct model *m)
{
	bool in_order = m->target_bytes > IN_ORDER_BYTES || model_below(m, 2);

	for (int side = 0; side < 2; side++)
		m->sim->link.faults[side] = (struct sim_faults){
			.drop_ppm = model_below(m, 2) * model_below(m, 30000),
			.dup_ppm = model_below(m, 2) * model_below(m, 50000),
			.corrupt_ppm = model_below(m, 2) * model_below(m, 5000),
			.reorder_pkts = in_order ? 0 : model_below(m, 65),
			.delay_ns = model_below(m, 20000),
			.jitter_ns = in_order ? 0 : model_below(m, 20000),
			.drop_nth = -1,
			.take_max = (uint16_t)(model_below(m, 2) *
					       model_below(m, 32)),
		};
}

static struct sim_qp_conf draw_conf(struct model *m, enum roost_qp_type type)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.type = type;
	conf.mtu = ROOST_MTU_256 + model_below(m, 5);
	conf.max_send_wr = MODEL_WRS;
	conf.max_recv_wr = MODEL_SLOTS_MAX;
	conf.sq_psn = model_below(m, 2)
			      ? -1
			      : 0xffff00 + (int64_t)model_below(m, 256);
	conf.timeout = (uint8_t)(10 + model_below(m, 5));
	conf.min_rnr_timer = (uint8_t)(1 + model_below(m, 10));
	conf.rd_atomic = (uint8_t)(1 + model_below(m, 16));
	conf.sig_all = false;
	conf.ipv6 = model_below(m, 2);
	return conf;
}

/* ---- receive buffers ----------------------------------------------------- */

static struct model_rq *rq_new(struct model *m, struct sim_end *end)
{
	struct model_rq *rq = &m->rqs[m->nb_rqs++];

	assert_true(m->nb_rqs <= MODEL_RQS_MAX);
	*rq = (struct model_rq){ .end = end };
	rq->nb = SLOTS_MIN + model_below(m, MODEL_SLOTS_MAX - SLOTS_MIN + 1);
	for (uint32_t i = 0; i < rq->nb; i++) {
		rq->slot[i] =
			sim_arena_take(m->sim, m->recv_bytes + MODEL_GRH_BYTES);
		rq->unposted[i] = i;
	}
	rq->nb_unposted = rq->nb;
	return rq;
}

static struct model_rq *srq_new(struct model *m, struct sim_end *end,
				struct roost_xrcd *xrcd)
{
	struct model_rq *rq = rq_new(m, end);
	struct roost_srq_init init = {
		.max_wr = MODEL_SLOTS_MAX,
		.max_sge = MODEL_SGES,
		.xrcd = xrcd,
		.cq = xrcd != NULL ? end->cq : NULL,
		.owner = end,
	};

	assert_int_equal(roost_srq_create(end->pd, &init, &rq->srq), 0);
	return rq;
}

/* Each side has one SRQ for whoever wants it, and some in its XRC domain. */
static void make_srqs(struct model *m)
{
	for (int side = 0; side < 2; side++) {
		struct sim_end *end = &m->sim->ends[side];

		srq_new(m, end, NULL);
		assert_int_equal(roost_xrcd_open(end->ctx, &m->xrcd[side]), 0);
		for (unsigned int i = 0; i < XRC_SRQS; i++)
			srq_new(m, end, m->xrcd[side]);
	}
}

/* ---- QPs ----------------------------------------------------------------- */

static struct model_qp *qp_new(struct model *m, int side,
			       const struct sim_qp_conf *from)
{
	struct model_qp *q = &m->qps[m->nb_qps++];
	struct sim_qp_conf conf = *from;
	struct model_rq *rq = NULL;
	bool xrc = conf.type == ROOST_QPT_XRC_INI ||
		   conf.type == ROOST_QPT_XRC_TGT;

	/* The SRQ of this side is the first that was made for it. */
	if (!xrc && conf.type != ROOST_QPT_UC && model_below(m, 3) == 0)
		rq = &m->rqs[(uint32_t)side * (1 + XRC_SRQS)];
	if (rq != NULL)
		conf.srq = rq->srq;
	if (conf.type == ROOST_QPT_XRC_TGT)
		conf.xrcd = m->xrcd[side];
	q->model = m;
	q->qp = sim_qp_new(m->sim, side, &conf);
	if (!xrc && rq == NULL) {
		rq = rq_new(m, q->qp->end);
		rq->qp = q->qp->qp;
		rq->lossy = conf.type == ROOST_QPT_UC;
	}
	q->rq = rq;
	return q;
}

static void reg(struct model_qp *q)
{
	/* Alike modulo eight, or atomics would not be atomic here. */
	q->iova = sim_random(&q->model->sim->rng) >> 1 & ~7ull;
	assert_int_equal(roost_mr_reg(q->peer->qp->end->pd, q->target.data,
				      q->target.len_bytes, q->iova,
				      ROOST_ACCESS_LOCAL_WRITE |
					      ROOST_ACCESS_REMOTE_WRITE |
					      ROOST_ACCESS_REMOTE_READ |
					      ROOST_ACCESS_REMOTE_ATOMIC |
					      ROOST_ACCESS_FLUSH_GLOBAL |
					      ROOST_ACCESS_MW_BIND,
				      &q->mr),
			 0);
}

/* What it needs to ask for things: a target over there, a landing here. */
static void make_requester(struct model_qp *q)
{
	struct model *m = q->model;
	struct sim *sim = m->sim;

	q->headers = sim_arena_take(sim, MODEL_MSGS * HEADER_BYTES);
	if (q->qp->conf.type == ROOST_QPT_UD) {
		q->ah = raw_ah(q->qp->end, q->qp->conf.ipv6
						   ? &q->peer->qp->end->gid6
						   : &q->peer->qp->end->gid);
		return;
	}
	sim->arena_used = (sim->arena_used + 7) & ~7ul;
	q->target = raw_random(sim, m->target_bytes);
	q->shadow = malloc(m->target_bytes);
	assert_non_null(q->shadow);
	memcpy(q->shadow, q->target.data, m->target_bytes);
	q->landing = sim_arena_take(sim, 2 * m->target_bytes + 65536);
	reg(q);
	if (q->qp->conf.type == ROOST_QPT_RC && model_below(m, 2))
		assert_int_equal(roost_mw_alloc(q->peer->qp->end->pd, 2,
						&q->window.mw),
				 0);
}

/* Some talk to their own side. */
static void make_pair(struct model *m, enum roost_qp_type type)
{
	bool xrc = type == ROOST_QPT_XRC_INI;
	int side = (int)model_below(m, 2);
	int other = model_below(m, 8) == 0 ? side : !side;
	struct sim_qp_conf conf = draw_conf(m, type);
	struct model_qp *a = qp_new(m, side, &conf), *b;

	if (xrc)
		conf.type = ROOST_QPT_XRC_TGT;
	b = qp_new(m, other, &conf);
	a->peer = b;
	b->peer = a;
	sim_connect(a->qp, b->qp);
	make_requester(a);
	if (!xrc)
		make_requester(b);
}

struct model *model_new(uint64_t seed)
{
	static const uint32_t recv_bytes[] = { 64, 1000, 5000, 65536 };
	static const uint32_t target_bytes[] = { 4096, 65536, 3u << 20,
						 3u << 20 };
	static const enum roost_qp_type types[] = {
		ROOST_QPT_RC, ROOST_QPT_RC, ROOST_QPT_XRC_INI,
		ROOST_QPT_UC, ROOST_QPT_UD,
	};
	struct model *m = calloc(1, sizeof(*m));
	unsigned int nb_pairs;

	assert_non_null(m);
	m->sim = sim_new_seeded(seed);
	m->sim->nobody_polls = true;
	m->sim->turn_ns = 1 + model_below(m, 5000);
	m->recv_bytes = recv_bytes[model_below(m, 4)];
	m->target_bytes = target_bytes[model_below(m, 4)];
	m->pool = raw_random(m->sim, POOL_BYTES);
	draw_faults(m);
	make_srqs(m);
	nb_pairs = 1 + model_below(m, MODEL_QPS_MAX / 2);
	for (unsigned int i = 0; i < nb_pairs; i++)
		make_pair(m, types[model_below(m, 5)]);
	return m;
}

/* What may go wrong with a QP did not. */
static void check_events(const struct model_qp *q)
{
	for (int type = 0; type < SIM_ASYNC_TYPES; type++)
		if (type != ROOST_EVENT_COMM_EST)
			assert_int_equal(q->qp->async[type], 0);
	assert_int_equal(roost_qp_state(q->qp->qp), ROOST_QPS_RTS);
}

void model_free(struct model *m)
{
	sim_poll(m->sim);
	for (unsigned int i = 0; i < m->nb_qps; i++) {
		struct model_qp *q = &m->qps[i];

		check_events(q);
		if (q->window.mw != NULL)
			assert_int_equal(roost_mw_dealloc(q->window.mw), 0);
		if (q->mr != NULL)
			assert_int_equal(roost_mr_dereg(q->mr), 0);
		if (q->ah != NULL)
			assert_int_equal(roost_ah_destroy(q->ah), 0);
		free(q->shadow);
	}
	for (unsigned int i = 0; i < m->nb_qps; i++)
		sim_qp_destroy(m->qps[i].qp);
	for (unsigned int i = 0; i < m->nb_rqs; i++)
		if (m->rqs[i].srq != NULL)
			assert_int_equal(roost_srq_destroy(m->rqs[i].srq, NULL),
					 0);
	for (int side = 0; side < 2; side++)
		assert_int_equal(roost_xrcd_close(m->xrcd[side]), 0);
	sim_free(m->sim);
	free(m);
}

void model_reregister(struct model_qp *q)
{
	if (q->mr == NULL || q->window.state != MODEL_NO_WINDOW)
		return;
	assert_int_equal(roost_mr_dereg(q->mr), 0);
	reg(q);
}
