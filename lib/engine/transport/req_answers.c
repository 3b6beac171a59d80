/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Responses to READs and atomics that came behind one that is missing. They are
 * copied, and have no effect: when those before them have come they are taken
 * in the order of their PSNs, as all others are (req_rd_atomic.c). The ones
 * that are lost alone are asked for again: a READ of these packets, or the
 * atomic. Any responder answers that, because it is a duplicate, or a part of
 * one.
 *
 * Hot while packets are lost: no allocation but from the worker's store, no
 * system call, log or lock.
 */

#include <string.h>

#include <rte_common.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"

static struct roost_held **place_of(struct roost_answers *answers,
				    struct roost_psn psn)
{
	return &answers->held[psn.v % ROOST_SPAN_PKTS];
}

static void discard(struct roost_worker *w, struct roost_held **place)
{
	if (!*place)
		return;
	roost_held_put(&w->store, *place);
	*place = NULL;
}

void roost_req_let_go(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_answers *answers = qp->answers;

	if (!answers)
		return;
	for (uint32_t i = 0; i < ROOST_SPAN_PKTS; i++)
		discard(w, &answers->held[i]);
	qp->req.spared_pkts -=
		(uint16_t)(answers->score.nb_received + answers->score.nb_lost);
	roost_answers_put(&w->store, answers);
	qp->answers = NULL;
	qp->req.keeps = false;
}

static struct roost_score *open_answers(struct roost_worker *w,
					struct roost_qp *qp)
{
	/* It goes back, and asks for all of them again. */
	if (!w->dev->selective_repeat || qp->req.rnr_wait ||
	    !roost_psn_eq(qp->req.next_psn, qp->req.end_psn))
		return NULL;
	if (!qp->answers) {
		qp->answers = roost_answers_get(&w->store);
		if (!qp->answers)
			return NULL;
		roost_score_begin(&qp->answers->score,
				  qp->req.oldest_unacked_psn);
		qp->req.keeps = true;
	}
	return &qp->answers->score;
}

/* What of the PSNs before psn is no response has arrived over there. */
static void pass(struct roost_worker *w, struct roost_qp *qp,
		 struct roost_psn psn)
{
	struct roost_score *score = &qp->answers->score;
	struct roost_psn at = score->top_psn;
	uint32_t index = roost_req_index_of(qp, at);

	for (; roost_psn_diff(at, psn) < 0; index++) {
		const struct roost_send_wqe *wqe = roost_req_wqe(qp, index);
		struct roost_psn end = roost_psn_add(wqe->last_psn, 1);

		if (roost_psn_diff(end, psn) > 0)
			end = psn;
		if (roost_req_is_rd_atomic(wqe)) {
			if (roost_psn_diff(end, at) > 0)
				at = end;
			continue;
		}
		for (; roost_psn_diff(at, end) < 0; at = roost_psn_add(at, 1))
			roost_score_received(w, qp, score, at);
	}
	roost_score_raise_top(score, psn);
}

static void judge(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_score *score = &qp->answers->score;

	roost_score_raise_front(score);
	roost_score_judge(w, qp, score, score->base_psn);
	/* The probe timeout starts anew. */
	roost_req_set_timer(w, qp);
	roost_share_count(w, qp, false);
	roost_worker_want_send(w, qp);
}

static bool is_in_span(const struct roost_score *score, struct roost_psn psn)
{
	return roost_psn_diff(psn, score->base_psn) < (int32_t)ROOST_SPAN_PKTS;
}

bool roost_req_passed(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_psn psn)
{
	struct roost_score *score = open_answers(w, qp);

	if (!score)
		return false;
	if (is_in_span(score, psn)) {
		pass(w, qp, psn);
		judge(w, qp);
	}
	return true;
}

static void put(struct roost_worker *w, struct roost_qp *qp,
		const struct roost_pkt *pkt)
{
	struct roost_score *score = &qp->answers->score;
	struct roost_held *held;

	if (pkt->payload_len_bytes > ROOST_HELD_PAYLOAD_MAX)
		return;
	held = roost_held_get(&w->store);
	if (!held)
		return;
	held->pkt = *pkt;
	held->pkt.payload = held->payload;
	memcpy(held->payload, pkt->payload, pkt->payload_len_bytes);
	*place_of(qp->answers, pkt->psn) = held;
	roost_score_received(w, qp, score, pkt->psn);
	/* FLUSH and ATOMIC_WRITE have the same response. */
	if (roost_req_wqe(qp, roost_req_index_of(qp, pkt->psn))->opcode ==
	    ROOST_WR_READ)
		qp->asked_pkts--;
}

bool roost_req_keep(struct roost_worker *w, struct roost_qp *qp,
		    const struct roost_pkt *pkt)
{
	bool first = !qp->req.keeps;
	struct roost_score *score = open_answers(w, qp);

	if (!score)
		return false;
	if (first) {
		roost_count(w, qp, missing_responses);
		roost_flight_note(qp, ROOST_FLIGHT_RESPONSE_GAP, 0,
				  qp->req.oldest_unacked_psn.v);
	}
	if (!is_in_span(score, pkt->psn) ||
	    roost_bit_test(score->received, pkt->psn)) {
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return true;
	}
	pass(w, qp, pkt->psn);
	roost_score_raise_top(score, roost_psn_add(pkt->psn, 1));
	put(w, qp, pkt);
	judge(w, qp);
	return true;
}

struct roost_held *roost_req_take_kept(struct roost_qp *qp,
				       struct roost_psn *psn)
{
	const struct roost_score *score = &qp->answers->score;
	struct roost_held **place, *held;

	*psn = qp->req.oldest_unacked_psn;
	for (; roost_psn_diff(*psn, score->top_psn) < 0 &&
	       roost_bit_test(score->received, *psn);
	     *psn = roost_psn_add(*psn, 1)) {
		place = place_of(qp->answers, *psn);
		held = *place;
		*place = NULL;
		if (held)
			return held;
	}
	return NULL;
}

void roost_req_keeps_advance(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_psn psn = qp->answers->score.base_psn;

	/* Those that came again meanwhile, from the peer itself. */
	for (uint32_t i = 0; i < ROOST_SPAN_PKTS &&
			     !roost_psn_eq(psn, qp->req.oldest_unacked_psn);
	     i++, psn = roost_psn_add(psn, 1))
		discard(w, place_of(qp->answers, psn));
	if (!roost_score_advance(w, qp, &qp->answers->score))
		roost_req_let_go(w, qp);
	else if (qp->answers->score.nb_lost != 0)
		roost_worker_want_send(w, qp);
}

bool roost_req_probe_answers(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_score *score = open_answers(w, qp);
	struct roost_psn psn = qp->req.oldest_unacked_psn, end_psn;

	if (!score)
		return false;
	qp->req.rtt_sent_ns = 0;
	end_psn = roost_req_read_part_end(roost_req_wqe(qp, roost_req_tail(qp)),
					  psn);
	for (; roost_psn_diff(psn, end_psn) < 0 && is_in_span(score, psn) &&
	       !roost_bit_test(score->received, psn);
	     psn = roost_psn_add(psn, 1))
		roost_score_probe(qp, score, psn);
	score->front_psn = qp->req.oldest_unacked_psn;
	roost_worker_want_send(w, qp);
	return true;
}
