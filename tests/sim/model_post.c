/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "tests/sim/model.h"

#define INLINE_MAX_BYTES 256u
/* This many in a row may be unsignaled. */
#define SIGNAL_EVERY 16u
#define EIGHT 8u

bool model_has_room(const struct model_qp *q)
{
	/* One is kept for the end, see model_settle(). */
	return q->nb_posted - q->nb_done < MODEL_WRS - 1 &&
	       q->nb_msgs - q->peer->nb_received < MODEL_MSGS / 2;
}

struct model_wr *model_wr_next(struct model_qp *q)
{
	struct model_wr *wr = &q->wrs[q->nb_posted % MODEL_WRS];

	assert_true(q->nb_posted - q->nb_done < MODEL_WRS);
	*wr = (struct model_wr){ .landing_from = q->landing_used };
	return wr;
}

/* Signaled by chance, or because too many before were not. */
static bool draw_signaled(const struct model_qp *q)
{
	return model_below(q->model, 3) == 0 ||
	       q->nb_posted % SIGNAL_EVERY == SIGNAL_EVERY - 1;
}

void model_add(struct model_qp *q, struct model_wr *wr,
	       struct roost_send_wr *post, const struct model_list *from)
{
	const struct model_list *list = wr->to.nb > 0 ? &wr->to : from;
	struct roost_sge sges[MODEL_SGES];

	wr->opcode = (uint8_t)post->opcode;
	post->wr_id =
		1ull << 63 | (uint64_t)(q - q->model->qps) << 32 | q->nb_posted;
	post->sges = sges;
	post->nb_sges = model_sges(q->qp->end, list, sges);
	post->flags |= wr->signaled ? ROOST_SEND_SIGNALED : 0;
	assert_int_equal(roost_qp_send_add(q->qp->qp, post), 0);
	q->nb_posted++;
	model_tally.posted[q->qp->conf.type][post->opcode]++;
	model_tally.bytes += list->len_bytes;
	model_tally.fenced += (post->flags & ROOST_SEND_FENCE) != 0;
	model_tally.inlined += (post->flags & ROOST_SEND_INLINE) != 0;
}

struct model_msg *model_expect(struct model_qp *q,
			       const struct model_list *from,
			       enum roost_wr_opcode opcode)
{
	struct model_msg *msg = &q->peer->msgs[q->nb_msgs++ % MODEL_MSGS];

	*msg = (struct model_msg){ .from = *from, .opcode = (uint8_t)opcode };
	return msg;
}

/* ---- the landing of READs and atomics ------------------------------------ */

static uint64_t landing_free(const struct model_qp *q)
{
	uint64_t from = q->landing_used;

	if (q->nb_done != q->nb_posted)
		from = q->wrs[q->nb_done % MODEL_WRS].landing_from;
	return q->landing.len_bytes - (q->landing_used - from);
}

/* A piece with its guards, in one piece; false: no room now. */
static bool land(struct model_qp *q, uint32_t len_bytes,
		 struct sim_slice *slice)
{
	uint32_t whole = len_bytes + 2 * SIM_GUARD_BYTES;
	uint32_t at = (uint32_t)(q->landing_used % q->landing.len_bytes);
	uint32_t skip = at + whole > q->landing.len_bytes
				? q->landing.len_bytes - at
				: 0;

	if (landing_free(q) < (uint64_t)whole + skip)
		return false;
	q->landing_used += skip;
	at = skip != 0 ? 0 : at;
	slice->data = q->landing.data + at + SIM_GUARD_BYTES;
	slice->len_bytes = len_bytes;
	memset(q->landing.data + at, SIM_GUARD_BYTE, whole);
	memset(slice->data, SIM_BLANK_BYTE, len_bytes);
	q->landing_used += whole;
	return true;
}

static bool land_list(struct model_qp *q, uint32_t len_bytes, uint32_t nb,
		      struct model_list *to)
{
	uint64_t before = q->landing_used;
	uint32_t left = len_bytes;

	*to = (struct model_list){ .len_bytes = len_bytes };
	for (uint32_t i = 0; i < nb; i++) {
		uint32_t n =
			i + 1 == nb ? left : model_below(q->model, left + 1);

		if (!land(q, n, &to->part[i])) {
			q->landing_used = before;
			return false;
		}
		to->nb++;
		left -= n;
	}
	return true;
}

/* ---- where in the target ------------------------------------------------- */

/* A READ that is not known to be done, of any of these bytes. */
static bool may_be_read(const struct model_qp *q, uint32_t at, uint32_t len)
{
	for (uint32_t i = q->nb_done; i != q->nb_posted; i++) {
		const struct model_wr *wr = &q->wrs[i % MODEL_WRS];

		if (wr->opcode == ROOST_WR_READ && wr->at_bytes < at + len &&
		    at < wr->at_bytes + wr->len_bytes)
			return true;
	}
	return false;
}

struct place {
	uint32_t at, len;
};

/* Somewhere in the target, or in what the window shows of it. */
static struct place draw_place(struct model_qp *q, bool eight,
			       struct roost_send_wr *post)
{
	struct model *m = q->model;
	struct place in = { 0, q->target.len_bytes }, p;
	uint32_t rkey = roost_mr_rkey(q->mr);

	if (q->window.state == MODEL_BOUND && model_below(m, 2)) {
		in = (struct place){ q->window.at_bytes, q->window.len_bytes };
		rkey = q->window.key;
		model_tally.through_window++;
	}
	p.len = eight ? EIGHT : model_len(m, in.len);
	p.at = in.at + model_below(m, in.len - p.len + 1);
	if (eight)
		p.at = in.at + model_below(m, in.len / EIGHT) * EIGHT;
	post->remote_addr = q->iova + p.at;
	post->rkey = rkey;
	return p;
}

static void set_flags(struct model_qp *q, struct roost_send_wr *post,
		      uint32_t inline_bytes)
{
	struct model *m = q->model;

	if (model_below(m, 8) == 0)
		post->flags |= ROOST_SEND_FENCE;
	if (model_below(m, 8) == 0)
		post->flags |= ROOST_SEND_SOLICITED;
	if (inline_bytes <= INLINE_MAX_BYTES && model_below(m, 4) == 0)
		post->flags |= ROOST_SEND_INLINE;
}

/* ---- one of each --------------------------------------------------------- */

const struct model_rq *model_xrc_queue(struct model_qp *q,
				       struct roost_send_wr *post)
{
	struct model *m = q->model;
	const struct model_rq *rq;

	if (q->qp->conf.type != ROOST_QPT_XRC_INI)
		return NULL;
	do {
		rq = &m->rqs[model_below(m, m->nb_rqs)];
	} while (rq->srq == NULL || roost_srq_num(rq->srq) == 0 ||
		 rq->end != q->peer->qp->end);
	post->xrc_srqn = roost_srq_num(rq->srq);
	return rq;
}

static void expect(struct model_qp *q, const struct model_list *from,
		   const struct roost_send_wr *post, const struct model_rq *rq)
{
	struct model_msg *msg = model_expect(q, from, post->opcode);

	msg->imm_be = post->imm_be;
	msg->solicited = post->flags & ROOST_SEND_SOLICITED;
	msg->srq = rq != NULL ? rq->srq : NULL;
}

/* A SEND may end the window: by its own opcode, or by what it tells. */
static void post_send(struct model_qp *q, enum roost_wr_opcode opcode)
{
	struct model *m = q->model;
	struct roost_send_wr post = { .opcode = opcode,
				      .imm_be = model_below(m, UINT32_MAX) };
	struct model_list from = model_gather(m, model_len(m, m->recv_bytes));
	struct model_wr *wr = model_wr_next(q);
	const struct model_rq *rq = model_xrc_queue(q, &post);
	bool end = q->window.state == MODEL_BOUND && model_below(m, 8) == 0;

	set_flags(q, &post, from.len_bytes);
	if (end) {
		/* What was asked for through it must have been answered. */
		post.flags |= ROOST_SEND_FENCE;
		q->window.state = MODEL_CLOSING;
		if (model_below(m, 2)) {
			post.opcode = ROOST_WR_SEND_INV;
			post.imm_be = q->window.key;
		}
	}
	wr->signaled = draw_signaled(q);
	expect(q, &from, &post, rq);
	if (end && post.opcode != ROOST_WR_SEND_INV)
		q->peer->msgs[(q->nb_msgs - 1) % MODEL_MSGS].invalidate_here =
			true;
	model_add(q, wr, &post, &from);
}

static void post_write(struct model_qp *q, enum roost_wr_opcode opcode)
{
	struct model *m = q->model;
	bool eight = opcode == ROOST_WR_ATOMIC_WRITE;
	struct roost_send_wr post = { .opcode = opcode,
				      .imm_be = model_below(m, UINT32_MAX) };
	struct place p = draw_place(q, eight, &post);
	struct model_list from = model_gather(m, p.len);
	struct model_wr *wr = model_wr_next(q);
	const struct model_rq *rq = model_xrc_queue(q, &post);

	set_flags(q, &post, p.len);
	if (may_be_read(q, p.at, p.len))
		post.flags |= ROOST_SEND_FENCE;
	wr->signaled = draw_signaled(q);
	model_copy_out(&from, q->shadow + p.at);
	if (opcode == ROOST_WR_WRITE_IMM)
		expect(q, &from, &post, rq);
	model_add(q, wr, &post, &from);
}

static void post_read(struct model_qp *q)
{
	struct model *m = q->model;
	struct roost_send_wr post = { .opcode = ROOST_WR_READ };
	struct place p = draw_place(q, false, &post);
	struct model_wr *wr = model_wr_next(q);

	model_xrc_queue(q, &post);
	if (!land_list(q, p.len, 1 + model_below(m, MODEL_SGES), &wr->to))
		return;
	wr->at_bytes = p.at;
	wr->len_bytes = p.len;
	wr->expected = malloc(p.len + 1);
	assert_non_null(wr->expected);
	memcpy(wr->expected, q->shadow + p.at, p.len);
	wr->signaled = draw_signaled(q);
	set_flags(q, &post, UINT32_MAX);
	model_add(q, wr, &post, NULL);
}

static void post_atomic(struct model_qp *q, enum roost_wr_opcode opcode)
{
	struct model *m = q->model;
	struct roost_send_wr post = {
		.opcode = opcode,
		.swap_add = sim_random(&m->sim->rng),
	};
	struct place p = draw_place(q, true, &post);
	struct model_wr *wr = model_wr_next(q);
	uint64_t result;

	model_xrc_queue(q, &post);
	if (!land_list(q, EIGHT, 1, &wr->to))
		return;
	memcpy(&wr->orig, q->shadow + p.at, EIGHT);
	wr->expected = (uint8_t *)&wr->orig;
	post.compare = wr->orig + model_below(m, 2);
	result = wr->orig + post.swap_add;
	if (opcode == ROOST_WR_CMP_SWAP)
		result = post.compare == wr->orig ? post.swap_add : wr->orig;
	memcpy(q->shadow + p.at, &result, EIGHT);
	set_flags(q, &post, UINT32_MAX);
	if (may_be_read(q, p.at, EIGHT))
		post.flags |= ROOST_SEND_FENCE;
	wr->signaled = draw_signaled(q);
	model_add(q, wr, &post, NULL);
}

static void post_flush(struct model_qp *q)
{
	struct roost_send_wr post = { .opcode = ROOST_WR_FLUSH,
				      .flush_type = 1 };
	struct place p = draw_place(q, false, &post);
	struct model_list nothing = { 0 };
	struct model_wr *wr = model_wr_next(q);

	post.flush_len_bytes = p.len;
	wr->signaled = draw_signaled(q);
	model_add(q, wr, &post, &nothing);
}

void model_post(struct model_qp *q)
{
	static const enum roost_wr_opcode opcodes[] = {
		ROOST_WR_WRITE,     ROOST_WR_WRITE,        ROOST_WR_WRITE_IMM,
		ROOST_WR_SEND,      ROOST_WR_SEND_IMM,     ROOST_WR_READ,
		ROOST_WR_READ,      ROOST_WR_CMP_SWAP,     ROOST_WR_FETCH_ADD,
		ROOST_WR_FETCH_ADD, ROOST_WR_ATOMIC_WRITE, ROOST_WR_FLUSH,
	};
	bool xrc = q->qp->conf.type == ROOST_QPT_XRC_INI;
	enum roost_wr_opcode opcode =
		opcodes[model_below(q->model, xrc ? 10 : 12)];

	if (opcode == ROOST_WR_READ)
		post_read(q);
	else if (opcode == ROOST_WR_CMP_SWAP || opcode == ROOST_WR_FETCH_ADD)
		post_atomic(q, opcode);
	else if (opcode == ROOST_WR_FLUSH)
		post_flush(q);
	else if (opcode == ROOST_WR_SEND || opcode == ROOST_WR_SEND_IMM)
		post_send(q, opcode);
	else
		post_write(q, opcode);
}

/* ---- windows ------------------------------------------------------------- */

/* Post what the owner of the memory, the peer, has to do. */
static void post_local(struct model_qp *owner, struct roost_send_wr *post)
{
	struct model_list nothing = { 0 };
	struct model_wr *wr;

	roost_qp_send_begin(owner->qp->qp);
	wr = model_wr_next(owner);
	wr->signaled = true;
	model_add(owner, wr, post, &nothing);
	roost_qp_send_end(owner->qp->qp);
}

void model_window(struct model_qp *q)
{
	struct model *m = q->model;
	struct model_window *w = &q->window;
	struct roost_send_wr post = { .opcode = ROOST_WR_LOCAL_INV };

	if (w->mw == NULL || !model_has_room(q->peer))
		return;
	if (w->state == MODEL_INVALIDATE) {
		w->state = MODEL_INVALIDATING;
		post.imm_be = w->key;
		post_local(q->peer, &post);
	} else if (w->state == MODEL_NO_WINDOW && model_below(m, 4) == 0) {
		w->state = MODEL_BINDING;
		w->at_bytes = EIGHT * model_below(m, q->target.len_bytes / 16);
		w->len_bytes =
			EIGHT + model_below(m, q->target.len_bytes / 2 - EIGHT);
		w->key = (roost_mw_rkey(w->mw) & ~0xffu) |
			 ((roost_mw_rkey(w->mw) + 1) & 0xff);
		post.opcode = ROOST_WR_BIND_MW;
		post.bind = (struct roost_mw_bind){
			.mw = w->mw,
			.mr = q->mr,
			.addr = q->iova + w->at_bytes,
			.len_bytes = w->len_bytes,
			.access = ROOST_ACCESS_REMOTE_WRITE |
				  ROOST_ACCESS_REMOTE_READ |
				  ROOST_ACCESS_REMOTE_ATOMIC |
				  ROOST_ACCESS_FLUSH_GLOBAL,
			.rkey = w->key,
		};
		post_local(q->peer, &post);
	}
}

/* q was the owner who had it to do. */
void model_window_done(struct model_qp *q, uint8_t opcode)
{
	if (opcode == ROOST_WR_BIND_MW)
		q->peer->window.state = MODEL_BOUND;
	else if (opcode == ROOST_WR_LOCAL_INV)
		q->peer->window.state = MODEL_NO_WINDOW;
}
