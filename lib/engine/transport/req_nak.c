/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Requests that are refused or not answered: NAKs, missing responses, timeouts.
 */

#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/core/route.h"
#include "lib/engine/sched/sched.h"

/* The error that each NAK gives the oldest request (the codes of IBTA table
 * 46).
 */
static const uint8_t nak_errors[ROOST_NAK_KINDS] = {
	[ROOST_NAK_INV_REQ & ROOST_AETH_VALUE_MASK] = ROOST_QPE_PEER_INVALID,
	[ROOST_NAK_REM_ACCESS & ROOST_AETH_VALUE_MASK] = ROOST_QPE_PEER_ACCESS,
	[ROOST_NAK_REM_OP & ROOST_AETH_VALUE_MASK] = ROOST_QPE_PEER_OPERATION,
};

/* What was sent before or meanwhile may be lost, and no peer is to blame. */
static bool is_still(const struct roost_qp *qp)
{
	return qp->dev->ports[qp->path.port_index].is_still &&
	       !qp->path.loopback;
}

/* Use up one retry. code: the reason; pkt: the packet that showed it, or NULL.
 * Returns false when no retry was left and the QP failed. A QP that migrates to
 * its alternate path has all its retries again.
 */
static bool spend_retry(struct roost_worker *w, struct roost_qp *qp,
			enum roost_qp_error_code code,
			const struct roost_pkt *pkt)
{
	if (is_still(qp))
		return true;
	if (qp->req.retry_left == 0) {
		if (roost_mig_fail_over(w, qp))
			return true;
		if (qp->mig.state == ROOST_MIG_ARMED)
			code = ROOST_QPE_NO_ALTERNATE;
		roost_req_fail(w, qp, code, pkt);
		return false;
	}
	qp->req.retry_left--;
	return true;
}

/* The responder misses the NAK's PSN. */
static void sequence_nak(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt, bool progress)
{
	/* The QP has gone back to this PSN, or farther, already. */
	if (roost_psn_diff(qp->req.next_psn, pkt->psn) <= 0)
		return;
	if (!progress && !spend_retry(w, qp, ROOST_QPE_LOST_AGAIN, pkt))
		return;
	roost_window_lost(qp, ROOST_SHARE_SENDS);
	roost_req_go_back(w, qp, pkt->psn);
	roost_req_set_timer(w, qp);
}

/* The responder has no receive WQE for the NAK's PSN: wait, then send it again.
 */
static void rnr_nak(struct roost_worker *w, struct roost_qp *qp,
		    const struct roost_pkt *pkt, uint8_t timer_code)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait)
		return;
	if (qp->attr.rnr_retry != 7) {
		if (req->rnr_left == 0) {
			roost_req_fail(w, qp, ROOST_QPE_PEER_NOT_READY, pkt);
			return;
		}
		req->rnr_left--;
	}
	/* The packet did arrive, so the retries for earlier losses are
	 * restored.
	 */
	req->retry_left = qp->attr.retry_cnt;
	roost_req_go_back(w, qp, pkt->psn);
	req->rnr_wait = true;
	roost_timer_cancel(&req->timer);
	roost_timer_set(&w->timers, &req->timer,
			w->now_ns + roost_rnr_timer_ns(timer_code));
}

void roost_req_nak(struct roost_worker *w, struct roost_qp *qp,
		   const struct roost_pkt *pkt, bool progress)
{
	uint8_t code = pkt->syndrome & ROOST_AETH_VALUE_MASK;

	roost_flight_note(qp, ROOST_FLIGHT_NAK_RECEIVED, pkt->syndrome,
			  pkt->psn.v);
	if ((pkt->syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_RNR_NAK) {
		roost_count(w, qp, rnr_naks_received);
		rnr_nak(w, qp, pkt, code);
		return;
	}
	if (code >= ROOST_NAK_KINDS) {
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	roost_count(w, qp, naks_received_of[code]);
	if (pkt->syndrome == ROOST_NAK_PSN_SEQ)
		sequence_nak(w, qp, pkt, progress);
	else
		roost_req_fail(w, qp, nak_errors[code], pkt);
}

/* A response behind oldest_unacked_psn arrived, so the response at
 * oldest_unacked_psn is lost. Further responses say the same; they are dropped
 * until a response makes progress or the timer runs out.
 */
void roost_req_response_gap(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->response_gap || req->rnr_wait ||
	    roost_psn_diff(req->next_psn, req->oldest_unacked_psn) <= 0) {
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	roost_count(w, qp, missing_responses);
	roost_flight_note(qp, ROOST_FLIGHT_RESPONSE_GAP, 0,
			  req->oldest_unacked_psn.v);
	if (!spend_retry(w, qp, ROOST_QPE_RESPONSE_LOST, NULL))
		return;
	req->response_gap = true;
	roost_window_lost(qp, roost_share_kind_of(
				      roost_req_wqe(qp, roost_req_tail(qp))));
	roost_req_go_back(w, qp, req->oldest_unacked_psn);
}

/* The probe timeout ran out; see req_timer.c. */
static void probe(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	bool goes_back;

	roost_count(w, qp, adaptive_retransmits);
	roost_flight_note(qp, ROOST_FLIGHT_PROBE, 0, req->oldest_unacked_psn.v);
	goes_back = !roost_req_probe(w, qp);
	req->nb_probes++;
	if (goes_back) {
		qp->dev->cc->on_probe(&req->cwnd);
		roost_req_go_back(w, qp, req->oldest_unacked_psn);
	}
	roost_req_set_timer(w, qp);
}

/* The QP is about to fail: print a line for the user, if the peer never
 * answered. A peer that answered before has a user who sees its failure.
 */
static void tell_silence(const struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;
	const struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_ACK,
		.sgid = qp->path.sgid,
		.dgid = qp->path.dgid,
		.dest_qpn = qp->dest_qpn,
		.path_mtu_bytes =
			roost_mtu_bytes((enum roost_mtu)qp->attr.path_mtu),
		.tries = qp->attr.retry_cnt + 1u,
		.tried_ns = req->timeout_ns * (qp->attr.retry_cnt + 1u),
	};

	if (!qp->path.loopback && qp->mig.state != ROOST_MIG_ARMED &&
	    roost_psn_eq(req->oldest_unacked_psn, roost_psn(qp->attr.sq_psn)))
		roost_dev_tell_unreached(qp->dev,
					 (uint8_t)(qp->path.port_index + 1),
					 &what);
}

static void note_timeout(struct roost_qp *qp)
{
	roost_flight_note(qp, ROOST_FLIGHT_TIMEOUT, 0,
			  qp->req.oldest_unacked_psn.v);
	if (roost_qp_port_is_down(qp))
		roost_flight_note(qp, ROOST_FLIGHT_PORT_DOWN,
				  (uint8_t)(qp->path.port_index + 1), 0);
}

void roost_req_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait) {
		req->rnr_wait = false;
		roost_worker_want_send(w, qp);
		return;
	}
	/* roost_req_go_on() sets the timer again. */
	if (is_still(qp))
		return;
	if (roost_req_settle(w, qp, qp->score) ||
	    (req->keeps && roost_req_settle(w, qp, &qp->answers->score)))
		return;
	if (w->now_ns < req->timeout_at_ns) {
		probe(w, qp);
		return;
	}
	roost_count(w, qp, timeouts);
	note_timeout(qp);
	if (qp->req.retry_left == 0)
		tell_silence(qp);
	if (!spend_retry(w, qp, ROOST_QPE_NO_ANSWER, NULL))
		return;
	req->response_gap = false;
	qp->dev->cc->on_timeout(&req->cwnd);
	roost_req_go_back(w, qp, req->oldest_unacked_psn);
}

void roost_req_go_on(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait || !roost_req_has_unacked(qp))
		return;
	req->response_gap = false;
	req->nb_probes = 0;
	req->timeout_at_ns = w->now_ns + req->timeout_ns;
	roost_req_set_timer(w, qp);
	roost_req_go_back(w, qp, req->oldest_unacked_psn);
}
