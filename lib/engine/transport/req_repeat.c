/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot while packets are lost: selective repeat, the requester's side. No
 * allocation but from the worker's store, no system call, log or lock.
 *
 * The peer reports which packets behind a gap it holds; the score (req_score.c)
 * says what is lost. That alone is sent again (req.c).
 *
 * A report completes nothing; only acknowledgements do. Whatever is unusual
 * (RNR NAKs, timeouts, responses that are missing) forgets the score and goes
 * back.
 */

#include <endian.h>
#include <string.h>

#include "lib/engine/transport/req_priv.h"
#include "lib/engine/sched/sched.h"

bool roost_req_settle(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_score *score)
{
	if (!score || score->settle_at_ns == 0 ||
	    w->now_ns < score->settle_at_ns)
		return false;
	score->settle_at_ns = 0;
	roost_score_judge(w, qp, score, score->settle_psn);
	qp->req.lost = qp->score && qp->score->nb_lost != 0;
	if (score->nb_lost != 0)
		roost_worker_want_send(w, qp);
	roost_req_set_timer(w, qp);
	return true;
}

/* ---- reports ---------------------------------------------------------- */

static uint32_t report_word(const struct roost_pkt *pkt, uint32_t i)
{
	uint32_t word;

	memcpy(&word, pkt->payload + i * sizeof(word), sizeof(word));
	return le32toh(word);
}

/* What it says can be true: of packets that were sent. *end_psn: behind the
 * highest that it has.
 */
static bool is_plausible(const struct roost_qp *qp, const struct roost_pkt *pkt,
			 struct roost_psn *end_psn)
{
	const struct roost_requester *req = &qp->req;
	uint32_t nb = pkt->payload_len_bytes / 4u, last;

	if (roost_psn_diff(pkt->psn, req->oldest_unacked_psn) < 0 ||
	    roost_psn_diff(pkt->psn, req->end_psn) >= 0 || nb == 0 ||
	    pkt->payload_len_bytes % 4 != 0 ||
	    nb > ROOST_REPORT_MAX_BITS / 32 || pkt->pad_bytes != 0)
		return false;
	last = report_word(pkt, nb - 1);
	if (last == 0)
		return false;
	*end_psn = roost_psn_add(pkt->psn,
				 1 + 32 * nb - (uint32_t)__builtin_clz(last));
	return roost_psn_diff(*end_psn, req->end_psn) <= 0;
}

static void take_report(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt, struct roost_psn end_psn)
{
	struct roost_score *score = qp->score;
	const struct roost_psn limit_psn =
		roost_psn_add(score->base_psn, ROOST_SPAN_PKTS);
	struct roost_psn psn = score->front_psn;

	/* A long READ takes more PSNs than a score has. */
	if (roost_psn_diff(end_psn, limit_psn) > 0)
		end_psn = limit_psn;
	roost_score_raise_top(score, end_psn);
	for (; roost_psn_diff(psn, pkt->psn) < 0 &&
	       roost_psn_diff(psn, end_psn) < 0;
	     psn = roost_psn_add(psn, 1))
		if (!roost_bit_test(score->received, psn))
			roost_score_received(w, qp, score, psn);
	psn = roost_psn_add(pkt->psn, 1);
	for (uint32_t i = 0; i < pkt->payload_len_bytes / 4u; i++) {
		uint32_t bits = report_word(pkt, i);
		int32_t left = roost_psn_diff(end_psn, psn);

		if (left <= 0)
			break;
		if (left < 32)
			bits &= (1u << left) - 1;
		bits &= ~roost_bits_at(score->received, psn);
		for (; bits != 0; bits &= bits - 1)
			roost_score_received(
				w, qp, score,
				roost_psn_add(psn,
					      (uint32_t)__builtin_ctz(bits)));
		psn = roost_psn_add(psn, 32);
	}
	roost_score_raise_front(score);
}

enum roost_drop roost_req_report(struct roost_worker *w, struct roost_qp *qp,
				 const struct roost_pkt *pkt)
{
	struct roost_requester *req = &qp->req;
	struct roost_psn end_psn;
	uint32_t before;

	if (req->selective != ROOST_SELECTIVE_ON ||
	    !is_plausible(qp, pkt, &end_psn))
		return ROOST_DROP_UNEXPECTED_RESPONSE;
	roost_count(w, qp, reports_received);
	/* It goes back, and sends all of them again. */
	if (req->rnr_wait || !roost_psn_eq(req->next_psn, req->end_psn))
		return ROOST_DROP_NONE;
	if (!roost_score_open(w, qp)) {
		req->selective = ROOST_SELECTIVE_OFF;
		roost_req_go_back(w, qp, req->oldest_unacked_psn);
		return ROOST_DROP_NONE;
	}
	before = qp->score->nb_received;
	take_report(w, qp, pkt, end_psn);
	roost_score_judge(w, qp, qp->score, qp->score->base_psn);
	req->lost = qp->score->nb_lost != 0;
	/* The probe timeout starts anew. */
	if (qp->score->nb_received != before || qp->score->settle_at_ns != 0)
		roost_req_set_timer(w, qp);
	roost_worker_want_send(w, qp);
	return ROOST_DROP_NONE;
}

/* ---- probes ----------------------------------------------------------- */

bool roost_req_probe(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	struct roost_psn last_psn = roost_psn_sub(req->end_psn, 1);

	if (req->nb_probes >= 2 || !roost_psn_eq(req->next_psn, req->end_psn))
		return false;
	if (roost_req_is_rd_atomic(roost_req_wqe(qp, roost_req_tail(qp))))
		return roost_req_probe_answers(w, qp);
	if (req->selective != ROOST_SELECTIVE_ON ||
	    roost_psn_diff(req->end_psn, req->oldest_unacked_psn) >
		    (int32_t)ROOST_SPAN_PKTS ||
	    !roost_score_open(w, qp))
		return false;
	req->rtt_sent_ns = 0;
	roost_score_probe(qp, qp->score, req->oldest_unacked_psn);
	qp->score->front_psn = req->oldest_unacked_psn;
	if (!roost_bit_test(qp->score->received, last_psn))
		roost_score_probe(qp, qp->score, last_psn);
	req->lost = true;
	roost_worker_want_send(w, qp);
	return true;
}
