/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: what the peer answers. No allocation, system call, log or lock. */

#include <rte_branch_prediction.h>

#include "lib/engine/transport/req_priv.h"
#include "lib/engine/sched/sched.h"

/* So many responses that were kept are taken at a time. */
#define TAKEN_MAX 32u

/* Process an AETH for an unacknowledged PSN. */
static void acknowledge(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt)
{
	bool progress = !roost_psn_eq(pkt->psn, qp->req.oldest_unacked_psn);
	struct roost_psn until = pkt->psn;
	bool all_there;

	switch (pkt->syndrome & ROOST_AETH_TYPE_MASK) {
	case ROOST_AETH_ACK:
		until = roost_psn_add(pkt->psn, 1);
		break;
	case ROOST_AETH_RNR_NAK:
	case ROOST_AETH_NAK:
		/* A NAK acknowledges all PSNs before its own. */
		break;
	default:
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	all_there = roost_req_advance(w, qp, ROOST_SHARE_SENDS, until);
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	if (!all_there) {
		if ((pkt->syndrome & ROOST_AETH_TYPE_MASK) != ROOST_AETH_ACK ||
		    !roost_req_passed(w, qp, until))
			roost_req_response_gap(w, qp);
	} else if ((pkt->syndrome & ROOST_AETH_TYPE_MASK) != ROOST_AETH_ACK)
		roost_req_nak(w, qp, pkt, progress);
}

/* The first answer says whether the peer can repeat selectively. A NAK without
 * the bit says nothing: it may be for a packet before those that offer it.
 */
static void negotiate(struct roost_requester *req, const struct roost_pkt *pkt)
{
	if (pkt->selective)
		req->selective = ROOST_SELECTIVE_ON;
	else if (pkt->info->op != ROOST_OP_ACK ||
		 (pkt->syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_ACK)
		req->selective = ROOST_SELECTIVE_OFF;
}

void roost_req_keeps_next(struct roost_worker *w, struct roost_qp *qp)
{
	for (unsigned int i = 0; qp->req.keeps; i++) {
		struct roost_held *held;
		struct roost_psn psn;

		if (i == TAKEN_MAX) {
			roost_worker_want_send(w, qp);
			return;
		}
		held = roost_req_take_kept(qp, &psn);
		if (held) {
			roost_req_response_receive(w, qp, &held->pkt);
			roost_held_put(&w->store, held);
		} else if (!roost_psn_eq(psn, qp->req.oldest_unacked_psn)) {
			roost_req_advance(w, qp, ROOST_SHARE_SENDS, psn);
		} else {
			return;
		}
	}
}

void roost_req_receive(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt)
{
	/* A valid response is for a PSN that was sent and is not acknowledged
	 * yet.
	 */
	if (roost_psn_diff(pkt->psn, qp->req.oldest_unacked_psn) < 0 ||
	    roost_psn_diff(pkt->psn, qp->req.end_psn) >= 0) {
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	if (unlikely(qp->req.selective == ROOST_SELECTIVE_OFFERED))
		negotiate(&qp->req, pkt);
	if (pkt->info->op == ROOST_OP_ACK)
		acknowledge(w, qp, pkt);
	else
		roost_req_response_receive(w, qp, pkt);
	if (unlikely(qp->req.keeps))
		roost_req_keeps_next(w, qp);
}
