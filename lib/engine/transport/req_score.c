/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot while packets are lost: which packets of a requester were received, are
 * lost or were sent again. No allocation but from the worker's store, no system
 * call, log or lock.
 *
 * A packet that is missing is lost when packets that were sent
 * roost_qp.reorder_pkts later have arrived, or when it is still missing after a
 * part of the round-trip time and one that was sent later has arrived (as RACK,
 * RFC 8985). It is sent again, and its place in the order of sending is a new
 * one then: that of the next new packet. Packets that were sent again with no
 * new one between them share it; that one of them has arrived says nothing of
 * the others, which may stand behind it in a queue. If a packet that was sent
 * again arrives before packets that were sent earlier than its repetition, it
 * was only late, and the threshold grows.
 */

#include <rte_common.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"

/* The least threshold (RFC 8985, 6.2), the most, and after so many rounds of
 * losses without a packet that was late only it is halved.
 */
#define REORDER_MIN_PKTS 3u
#define REORDER_MAX_PKTS 128u
#define REORDER_ROUNDS 16u

/* The least time that a packet behind which others arrived may be late. */
#define SETTLE_MIN_NS 10000u

void roost_req_forget(struct roost_worker *w, struct roost_qp *qp)
{
	if (!qp->score)
		return;
	qp->req.spared_pkts -=
		(uint16_t)(qp->score->nb_received + qp->score->nb_lost);
	roost_score_put(&w->store, qp->score);
	qp->score = NULL;
	qp->req.lost = false;
}

void roost_score_begin(struct roost_score *score, struct roost_psn psn)
{
	score->base_psn = psn;
	score->front_psn = psn;
	score->top_psn = psn;
	score->latest_psn = roost_psn_sub(psn, 1);
	score->round_psn = psn;
}

struct roost_score *roost_score_open(struct roost_worker *w,
				     struct roost_qp *qp)
{
	struct roost_score *score = qp->score;

	if (score)
		return score;
	score = roost_score_get(&w->store);
	if (!score)
		return NULL;
	roost_score_begin(score, qp->req.oldest_unacked_psn);
	qp->score = score;
	return score;
}

static struct roost_psn order_of(const struct roost_score *score,
				 struct roost_psn psn)
{
	if (!roost_bit_test(score->again, psn))
		return psn;
	return roost_psn(score->again_psn[psn.v % ROOST_SPAN_PKTS]);
}

static void not_again(struct roost_score *score, struct roost_psn psn)
{
	if (!roost_bit_test(score->again, psn))
		return;
	roost_bit_clear(score->again, psn);
	score->nb_again--;
}

/* ---- reordering ------------------------------------------------------- */

static uint32_t threshold(const struct roost_qp *qp)
{
	return RTE_MAX(qp->reorder_pkts, REORDER_MIN_PKTS);
}

/* A packet that was sent again has arrived. Packets from before that which have
 * not arrived say that it is the first one, which was late.
 */
static void learn(struct roost_worker *w, struct roost_qp *qp,
		  struct roost_psn psn)
{
	const struct roost_score *score = qp->score;
	int32_t ahead = roost_psn_diff(order_of(score, psn), score->top_psn);
	int32_t late = roost_psn_diff(score->top_psn, psn);

	if (ahead <= (int32_t)REORDER_MIN_PKTS)
		return;
	roost_count(w, qp, spurious_pkts);
	qp->reorder_rounds = 0;
	if (late > (int32_t)threshold(qp))
		qp->reorder_pkts =
			(uint16_t)RTE_MIN((uint32_t)late, REORDER_MAX_PKTS);
}

static void new_round(struct roost_qp *qp)
{
	if (++qp->reorder_rounds < REORDER_ROUNDS)
		return;
	qp->reorder_rounds = 0;
	qp->reorder_pkts /= 2;
}

/* ---- what has arrived ------------------------------------------------- */

void roost_score_received(struct roost_worker *w, struct roost_qp *qp,
			  struct roost_score *score, struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;
	struct roost_psn order = order_of(score, psn);

	if (roost_bit_test(score->lost, psn)) {
		roost_bit_clear(score->lost, psn);
		score->nb_lost--;
	} else {
		req->spared_pkts++;
	}
	/* Responses that were asked for again come before those behind them. */
	if (roost_bit_test(score->again, psn) && score == qp->score)
		learn(w, qp, psn);
	else if (req->rtt_sent_ns != 0 && roost_psn_eq(psn, req->rtt_psn))
		roost_rtt_sample(req, w->now_ns);
	roost_bit_set(score->received, psn);
	score->nb_received++;
	if (roost_psn_diff(order, score->latest_psn) > 0)
		score->latest_psn = order;
}

void roost_score_raise_top(struct roost_score *score, struct roost_psn psn)
{
	if (roost_psn_diff(psn, score->top_psn) > 0)
		score->top_psn = psn;
}

void roost_score_raise_front(struct roost_score *score)
{
	while (roost_psn_diff(score->front_psn, score->top_psn) < 0 &&
	       roost_bit_test(score->received, score->front_psn))
		score->front_psn = roost_psn_add(score->front_psn, 1);
}

static void lose(struct roost_qp *qp, struct roost_score *score,
		 struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;

	/* It was sent after the last time that cwnd was reduced. */
	if (roost_psn_diff(order_of(score, psn), score->round_psn) >= 0) {
		roost_window_lost(qp, score == qp->score ? ROOST_SHARE_SENDS
							 : ROOST_SHARE_READS);
		score->round_psn = req->end_psn;
		new_round(qp);
	}
	if (roost_psn_eq(psn, req->rtt_psn))
		req->rtt_sent_ns = 0;
	not_again(score, psn);
	roost_bit_set(score->lost, psn);
	score->nb_lost++;
	req->spared_pkts++;
}

/* Of the packets from front_psn to top_psn: those that are missing and are not
 * known to be lost, from a PSN on; 32 of them.
 */
static uint32_t missing_at(const struct roost_score *score,
			   struct roost_psn psn)
{
	int32_t left = roost_psn_diff(score->top_psn, psn);
	uint32_t bits = ~(roost_bits_at(score->received, psn) |
			  roost_bits_at(score->lost, psn));

	return left < 32 ? bits & ((1u << left) - 1) : bits;
}

void roost_score_judge(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_score *score, struct roost_psn limit_psn)
{
	const int32_t late = (int32_t)threshold(qp);
	struct roost_psn psn = score->front_psn;
	bool open = false;

	for (; roost_psn_diff(psn, score->top_psn) < 0;
	     psn = roost_psn_add(psn, 32)) {
		uint32_t bits = missing_at(score, psn);

		for (; bits != 0; bits &= bits - 1) {
			struct roost_psn one =
				roost_psn_add(psn,
					      (uint32_t)__builtin_ctz(bits));
			int32_t behind = roost_psn_diff(score->latest_psn,
							order_of(score, one));

			if (behind >= late ||
			    (behind > 0 && roost_psn_diff(one, limit_psn) < 0))
				lose(qp, score, one);
			else
				open |= behind > 0;
		}
	}
	if (!open) {
		score->settle_at_ns = 0;
	} else if (score->settle_at_ns == 0) {
		uint64_t wait_ns = late > (int32_t)REORDER_MIN_PKTS
					   ? qp->req.srtt_ns
					   : qp->req.srtt_ns / 4;

		score->settle_psn = score->top_psn;
		score->settle_at_ns =
			w->now_ns + RTE_MAX(wait_ns, SETTLE_MIN_NS);
	}
}

/* ---- acknowledgements ------------------------------------------------- */

bool roost_score_advance(struct roost_worker *w, struct roost_qp *qp,
			 struct roost_score *score)
{
	struct roost_requester *req = &qp->req;
	struct roost_psn psn = score->base_psn;

	if (roost_psn_diff(req->oldest_unacked_psn, psn) >=
	    (int32_t)ROOST_SPAN_PKTS)
		return false;
	roost_score_raise_top(score, req->oldest_unacked_psn);
	for (; !roost_psn_eq(psn, req->oldest_unacked_psn);
	     psn = roost_psn_add(psn, 1)) {
		if (!roost_bit_test(score->received, psn))
			roost_score_received(w, qp, score, psn);
		roost_bit_clear(score->received, psn);
		score->nb_received--;
		req->spared_pkts--;
		not_again(score, psn);
	}
	score->base_psn = psn;
	if (roost_psn_diff(score->front_psn, psn) < 0)
		score->front_psn = psn;
	if (score->nb_received + score->nb_lost + score->nb_again == 0)
		return false;
	roost_score_raise_front(score);
	roost_score_judge(w, qp, score, score->base_psn);
	return true;
}

/* ---- sending again ---------------------------------------------------- */

bool roost_score_first_lost(const struct roost_score *score,
			    struct roost_psn *psn)
{
	for (uint32_t i = 0; i < ROOST_SPAN_PKTS; i += 32) {
		uint32_t bits;

		*psn = roost_psn_add(score->base_psn, i);
		bits = roost_bits_at(score->lost, *psn);
		if (bits == 0)
			continue;
		*psn = roost_psn_add(*psn, (uint32_t)__builtin_ctz(bits));
		return true;
	}
	return false;
}

void roost_score_sent_again(struct roost_worker *w, struct roost_qp *qp,
			    struct roost_score *score, struct roost_psn psn,
			    struct roost_psn next_psn)
{
	for (; roost_psn_diff(psn, next_psn) < 0 &&
	       roost_psn_diff(psn, score->base_psn) < (int32_t)ROOST_SPAN_PKTS;
	     psn = roost_psn_add(psn, 1)) {
		if (roost_bit_test(score->received, psn))
			continue;
		if (roost_bit_test(score->lost, psn)) {
			roost_bit_clear(score->lost, psn);
			score->nb_lost--;
			qp->req.spared_pkts--;
		}
		if (!roost_bit_test(score->again, psn)) {
			roost_bit_set(score->again, psn);
			score->nb_again++;
		}
		score->again_psn[psn.v % ROOST_SPAN_PKTS] = qp->req.end_psn.v;
	}
	roost_count(w, qp, resent_pkts);
}

/* ---- probes ----------------------------------------------------------- */

void roost_score_probe(struct roost_qp *qp, struct roost_score *score,
		       struct roost_psn psn)
{
	if (roost_bit_test(score->lost, psn))
		return;
	if (roost_bit_test(score->received, psn)) {
		roost_bit_clear(score->received, psn);
		score->nb_received--;
	} else {
		qp->req.spared_pkts++;
	}
	not_again(score, psn);
	roost_bit_set(score->lost, psn);
	score->nb_lost++;
}
