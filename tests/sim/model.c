/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "tests/sim/model.h"

#define SETTLE_ROUND_NS (50 * SIM_US)
#define SETTLE_ROUNDS_MAX 1000000

struct model_tally model_tally;

uint32_t model_below(struct model *m, uint32_t limit)
{
	return (uint32_t)sim_random_below(&m->sim->rng, limit);
}

uint32_t model_len(struct model *m, uint32_t max_bytes)
{
	static const struct {
		uint32_t per_mille, max_bytes;
	} rows[] = {
		{ 40, 0 },     { 500, 64 },   { 300, 1000 },
		{ 140, 5000 }, { 19, 65536 }, { 1, 4u << 20 },
	};
	uint32_t dice = model_below(m, 1000), i = 0;

	while (dice >= rows[i].per_mille)
		dice -= rows[i++].per_mille;
	if (rows[i].max_bytes < max_bytes)
		max_bytes = rows[i].max_bytes;
	return model_below(m, max_bytes + 1);
}

struct model_list model_gather(struct model *m, uint32_t len_bytes)
{
	struct model_list list = { .nb = 1 + model_below(m, MODEL_SGES),
				   .len_bytes = len_bytes };
	uint32_t left = len_bytes;

	if (len_bytes == 0 && model_below(m, 2))
		list.nb = 0;
	for (uint32_t i = 0; i < list.nb; i++) {
		uint32_t n = i + 1 == list.nb ? left : model_below(m, left + 1);

		list.part[i].data = m->pool.data +
				    model_below(m, m->pool.len_bytes - n + 1);
		list.part[i].len_bytes = n;
		left -= n;
	}
	return list;
}

void model_copy_out(const struct model_list *from, uint8_t *to)
{
	for (uint32_t i = 0; i < from->nb; i++) {
		memcpy(to, from->part[i].data, from->part[i].len_bytes);
		to += from->part[i].len_bytes;
	}
}

bool model_is(const struct model_list *from, const uint8_t *there)
{
	for (uint32_t i = 0; i < from->nb; i++) {
		if (memcmp(there, from->part[i].data,
			   from->part[i].len_bytes) != 0)
			return false;
		there += from->part[i].len_bytes;
	}
	return true;
}

bool model_all(const uint8_t *p, size_t len_bytes, uint8_t byte)
{
	return len_bytes == 0 ||
	       (p[0] == byte && memcmp(p, p + 1, len_bytes - 1) == 0);
}

uint32_t model_sges(const struct sim_end *end, const struct model_list *list,
		    struct roost_sge *sges)
{
	for (uint32_t i = 0; i < list->nb; i++)
		sges[i] = (struct roost_sge){
			.addr = (uintptr_t)list->part[i].data,
			.len_bytes = list->part[i].len_bytes,
			.lkey = roost_mr_lkey(end->mr),
		};
	return list->nb;
}

/* ---- receive buffers ----------------------------------------------------- */

/* One buffer, cut anywhere. */
static void add_receive(struct model *m, struct model_rq *rq, uint32_t slot)
{
	struct sim_slice s = rq->slot[slot];
	struct model_list list = { .nb = 1 + model_below(m, MODEL_SGES) };
	struct roost_sge sges[MODEL_SGES];
	struct roost_recv_wr wr = { .wr_id = slot, .sges = sges };
	uint32_t at = 0;

	memset(s.data, SIM_BLANK_BYTE, s.len_bytes);
	for (uint32_t i = 0; i < list.nb; i++) {
		uint32_t left = s.len_bytes - at;

		list.part[i].data = s.data + at;
		list.part[i].len_bytes =
			i + 1 == list.nb ? left : model_below(m, left + 1);
		at += list.part[i].len_bytes;
	}
	wr.nb_sges = model_sges(rq->end, &list, sges);
	wr.wr_id |= (uint64_t)(rq - m->rqs) << 32;
	assert_int_equal(rq->srq != NULL ? roost_srq_recv_add(rq->srq, &wr)
					 : roost_qp_recv_add(rq->qp, &wr),
			 0);
}

void model_refill(struct model *m, struct model_rq *rq, bool all)
{
	uint32_t n =
		all ? rq->nb_unposted : model_below(m, rq->nb_unposted + 1);

	if (rq->srq != NULL)
		roost_srq_recv_begin(rq->srq);
	else
		roost_qp_recv_begin(rq->qp);
	for (; n > 0; n--)
		add_receive(m, rq, rq->unposted[--rq->nb_unposted]);
	if (rq->srq != NULL)
		roost_srq_recv_end(rq->srq);
	else
		roost_qp_recv_end(rq->qp);
}

static void check_guards(struct sim_slice s)
{
	assert_true(model_all(s.data - SIM_GUARD_BYTES, SIM_GUARD_BYTES,
			      SIM_GUARD_BYTE));
	assert_true(model_all(s.data + s.len_bytes, SIM_GUARD_BYTES,
			      SIM_GUARD_BYTE));
}

/* ---- completions --------------------------------------------------------- */

static struct model_qp *qp_of(struct model *m, const struct sim_end *end,
			      uint32_t qpn)
{
	for (unsigned int i = 0; i < m->nb_qps; i++)
		if (m->qps[i].qp->end == end && m->qps[i].qp->qpn == qpn)
			return &m->qps[i];
	fail_msg("a completion of nobody's QP");
	return NULL;
}

/* What a message did to the window of its sender. */
static void window_message(struct model_qp *q, const struct model_msg *msg)
{
	struct model_window *w = &q->peer->window;

	if (msg->opcode == ROOST_WR_SEND_INV)
		w->state = MODEL_NO_WINDOW;
	else if (msg->invalidate_here)
		w->state = MODEL_INVALIDATE;
	model_tally.invalidated += msg->opcode == ROOST_WR_SEND_INV;
}

static void received(struct model_qp *q, const struct roost_cqe *cqe,
		     const struct model_rq *rq, struct sim_slice slot)
{
	const struct model_msg *msg = &q->msgs[q->nb_received % MODEL_MSGS];
	bool write = msg->opcode == ROOST_WR_WRITE_IMM;
	bool imm = write || msg->opcode == ROOST_WR_SEND_IMM;
	bool inv = msg->opcode == ROOST_WR_SEND_INV;
	uint32_t len = write ? 0 : msg->from.len_bytes;

	assert_true(q->nb_received < q->peer->nb_msgs);
	q->nb_received++;
	assert_int_equal(cqe->opcode,
			 write ? ROOST_WC_RECV_WRITE_IMM : ROOST_WC_RECV);
	assert_int_equal(cqe->flags, imm   ? ROOST_WC_WITH_IMM
				     : inv ? ROOST_WC_WITH_INV
					   : 0);
	if (imm || inv)
		assert_int_equal(cqe->imm_be, msg->imm_be);
	assert_int_equal(cqe->byte_len, msg->from.len_bytes);
	assert_int_equal(cqe->src_qpn, q->peer->qp->qpn);
	assert_int_equal(cqe->solicited, msg->solicited);
	assert_ptr_equal(rq->srq, msg->srq != NULL
					  ? msg->srq
					  : (q->rq ? q->rq->srq : NULL));
	if (!write)
		assert_true(model_is(&msg->from, slot.data));
	if (!rq->lossy)
		assert_true(model_all(slot.data + len, slot.len_bytes - len,
				      SIM_BLANK_BYTE));
	window_message(q, msg);
}

static void take_receive(struct model *m, struct sim_end *end,
			 const struct roost_cqe *cqe)
{
	struct model_rq *rq = &m->rqs[cqe->wr_id >> 32 & 0xff];
	uint32_t slot = (uint32_t)cqe->wr_id;
	struct model_qp *q = qp_of(m, end, cqe->qpn);
	enum roost_qp_type type = q->qp->conf.type;

	assert_int_equal(cqe->status, ROOST_WC_SUCCESS);
	assert_true(slot < rq->nb);
	if (type == ROOST_QPT_UC || type == ROOST_QPT_UD)
		model_received_lossy(q, cqe, rq->slot[slot]);
	else
		received(q, cqe, rq, rq->slot[slot]);
	check_guards(rq->slot[slot]);
	model_tally.received[type]++;
	assert_true(rq->nb_unposted < rq->nb);
	rq->unposted[rq->nb_unposted++] = slot;
}

/* What a READ or an atomic brought. */
static void check_brought(const struct model_wr *wr)
{
	const uint8_t *expected = wr->expected;

	for (uint32_t i = 0; i < wr->to.nb; i++) {
		struct sim_slice s = wr->to.part[i];

		assert_memory_equal(s.data, expected, s.len_bytes);
		check_guards(s);
		expected += s.len_bytes;
	}
}

static void finish(struct model_qp *q, struct model_wr *wr)
{
	if (wr->expected != NULL) {
		check_brought(wr);
		if (wr->expected != (uint8_t *)&wr->orig)
			free(wr->expected);
		wr->expected = NULL;
	}
	model_window_done(q, wr->opcode);
	q->nb_done++;
}

static void take_send(struct model *m, const struct roost_cqe *cqe)
{
	struct model_qp *q = &m->qps[cqe->wr_id >> 32 & 0xff];
	uint32_t number = (uint32_t)cqe->wr_id;

	assert_int_equal(cqe->qpn, q->qp->qpn);
	if (cqe->status != ROOST_WC_SUCCESS)
		fail_msg("request %u of a QP of type %d, opcode %u: status %u",
			 number, (int)q->qp->conf.type,
			 q->wrs[number % MODEL_WRS].opcode, cqe->status);
	assert_true(number - q->nb_done < q->nb_posted - q->nb_done);
	/* In order; those left out were not signaled. */
	while (q->nb_done != number) {
		struct model_wr *wr = &q->wrs[q->nb_done % MODEL_WRS];

		assert_false(wr->signaled);
		finish(q, wr);
	}
	assert_true(q->wrs[number % MODEL_WRS].signaled);
	finish(q, &q->wrs[number % MODEL_WRS]);
}

void model_poll(struct model *m)
{
	struct roost_cqe cqes[64];
	int n;

	for (int side = 0; side < 2; side++) {
		struct sim_end *end = &m->sim->ends[side];

		while ((n = roost_cq_poll(end->cq, 64, cqes)) > 0) {
			for (int i = 0; i < n; i++) {
				if (cqes[i].wr_id >> 63)
					take_send(m, &cqes[i]);
				else
					take_receive(m, end, &cqes[i]);
			}
		}
	}
}

/* ---- everything is done -------------------------------------------------- */

static bool is_done(const struct model *m)
{
	for (unsigned int i = 0; i < m->nb_qps; i++) {
		const struct model_qp *q = &m->qps[i];
		bool lossy = q->qp->conf.type == ROOST_QPT_UC ||
			     q->qp->conf.type == ROOST_QPT_UD;

		if (q->nb_done != q->nb_posted)
			return false;
		if (!lossy && q->nb_received != q->peer->nb_msgs)
			return false;
	}
	return true;
}

/* A last one that is signaled stands for those that are not. */
static void close_queue(struct model_qp *q)
{
	struct roost_send_wr post = { .opcode = ROOST_WR_WRITE };
	struct model_list nothing = { 0 };
	struct model_wr *wr;

	if (q->nb_done == q->nb_posted ||
	    q->wrs[(q->nb_posted - 1) % MODEL_WRS].signaled)
		return;
	roost_qp_send_begin(q->qp->qp);
	wr = model_wr_next(q);
	wr->signaled = true;
	model_xrc_queue(q, &post);
	if (q->qp->conf.type == ROOST_QPT_UD) {
		post.opcode = ROOST_WR_SEND_IMM;
		post.ah = q->ah;
		post.dest_qpn = 0xfffffe; /* nobody's */
	}
	model_add(q, wr, &post, &nothing);
	roost_qp_send_end(q->qp->qp);
}

void model_settle(struct model *m)
{
	for (unsigned int i = 0; i < m->nb_qps; i++)
		if (m->qps[i].qp->conf.type != ROOST_QPT_XRC_TGT)
			close_queue(&m->qps[i]);
	/* Until the last receive is posted, some may not get ready. */
	for (int rounds = 0; !is_done(m); rounds++) {
		assert_true(rounds < SETTLE_ROUNDS_MAX);
		for (unsigned int i = 0; i < m->nb_rqs; i++)
			model_refill(m, &m->rqs[i], true);
		sim_run_for(m->sim, SETTLE_ROUND_NS);
		model_poll(m);
	}
	sim_run(m->sim);
	model_poll(m);
	for (unsigned int i = 0; i < m->nb_qps; i++) {
		struct model_qp *q = &m->qps[i];

		if (q->target.data == NULL)
			continue;
		if (q->qp->conf.type == ROOST_QPT_UC)
			model_settle_lossy(q);
		assert_memory_equal(q->target.data, q->shadow,
				    q->target.len_bytes);
		check_guards(q->target);
	}
}
