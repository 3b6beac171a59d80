/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: responses to our requests. No allocation, system call, log or lock. */

#include "lib/engine/qp_priv.h"
#include "lib/engine/worker_priv.h"

/* What a NAK does to the oldest request (the codes of IBTA table 46). */
static const uint8_t nak_status[] = {
	[ROOST_NAK_INV_REQ & ROOST_AETH_VALUE_MASK] = ROOST_WC_REM_INV_REQ_ERR,
	[ROOST_NAK_REM_ACCESS & ROOST_AETH_VALUE_MASK] =
		ROOST_WC_REM_ACCESS_ERR,
	[ROOST_NAK_REM_OP & ROOST_AETH_VALUE_MASK] = ROOST_WC_REM_OP_ERR,
};

/* The WQE whose packets include psn; started_index when psn is behind all. */
static uint32_t index_of_psn(struct roost_qp *qp, struct roost_psn psn)
{
	uint32_t index =
		atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	for (; index != qp->req.started_index; index++) {
		const struct roost_send_wqe *wqe =
			roost_queue_at(&qp->sq, index);

		if (roost_psn_diff(psn, wqe->last_psn) <= 0)
			break;
	}
	return index;
}

void roost_req_go_back(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn)
{
	w->counters.retransmits++;
	qp->req.next_psn = psn;
	qp->req.send_index = index_of_psn(qp, psn);
	roost_worker_want_send(w, qp);
}

void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	bool inflight = roost_req_has_unacked(qp);

	if (inflight != req->inflight) {
		req->inflight = inflight;
		w->nb_inflight_qps += inflight ? 1u : -1u;
	}
	if (req->rnr_wait)
		return;
	if (inflight && req->timeout_ns != 0)
		roost_timer_set(&w->timers, &req->timer,
				w->now_ns + req->timeout_ns);
	else
		roost_timer_cancel(&req->timer);
}

void roost_req_advance(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;
	uint32_t tail =
		atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	if (roost_psn_eq(psn, req->oldest_unacked_psn))
		return;
	req->oldest_unacked_psn = psn;
	while (tail != req->started_index) {
		const struct roost_send_wqe *wqe =
			roost_queue_at(&qp->sq, tail);

		if (roost_psn_diff(wqe->last_psn, psn) >= 0)
			break;
		roost_complete_send(w, qp, wqe, ROOST_WC_SUCCESS);
		tail++;
	}
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	if (roost_psn_diff(psn, req->next_psn) > 0) {
		/* Acknowledged beyond where we went back to. */
		req->next_psn = psn;
		req->send_index = index_of_psn(qp, psn);
		req->rnr_wait = false;
	}
	roost_req_arm_timer(w, qp);
	roost_worker_want_send(w, qp);
	roost_req_check_fault(w, qp);
	roost_req_check_drained(w, qp);
}

void roost_req_fail(struct roost_worker *w, struct roost_qp *qp,
		    enum roost_wc_status status)
{
	uint32_t tail =
		atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	roost_complete_send(w, qp, roost_queue_at(&qp->sq, tail), status);
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	roost_qp_to_err(w, qp, -1);
}

void roost_req_check_fault(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->req.fault &&
	    qp->req.fault_index ==
		    atomic_load_explicit(&qp->sq.tail, memory_order_relaxed))
		roost_req_fail(w, qp, qp->req.fault_status);
}

void roost_req_check_drained(struct roost_worker *w __attribute__((unused)),
			     struct roost_qp *qp)
{
	if (!qp->drain_asked || roost_req_has_unacked(qp) ||
	    qp->req.send_index != qp->req.started_index)
		return;
	qp->drain_asked = false;
	if (qp->attr.en_sqd_async_notify)
		roost_event_raise(&qp->async, ROOST_EVENT_SQ_DRAINED, 0);
}

/* The responder misses psn. */
static void sequence_nak(struct roost_worker *w, struct roost_qp *qp,
			 struct roost_psn psn, bool progress)
{
	struct roost_requester *req = &qp->req;

	/* Going back that far, or farther, already. */
	if (roost_psn_diff(req->next_psn, psn) <= 0)
		return;
	if (!progress) {
		if (req->retry_left == 0) {
			roost_req_fail(w, qp, ROOST_WC_RETRY_EXC_ERR);
			return;
		}
		req->retry_left--;
	}
	roost_req_go_back(w, qp, psn);
}

/* The responder has no receive WQE for psn: wait, then send it again. */
static void rnr_nak(struct roost_worker *w, struct roost_qp *qp,
		    struct roost_psn psn, uint8_t timer_code)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait)
		return;
	if (qp->attr.rnr_retry != 7) {
		if (req->rnr_left == 0) {
			roost_req_fail(w, qp, ROOST_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		req->rnr_left--;
	}
	roost_req_go_back(w, qp, psn);
	req->rnr_wait = true;
	roost_timer_cancel(&req->timer);
	roost_timer_set(&w->timers, &req->timer,
			w->now_ns + roost_rnr_timer_ns(timer_code));
}

static void nak(struct roost_worker *w, struct roost_qp *qp,
		const struct roost_pkt *pkt, bool progress)
{
	uint8_t code = pkt->syndrome & ROOST_AETH_VALUE_MASK;

	if (pkt->syndrome == ROOST_NAK_PSN_SEQ)
		sequence_nak(w, qp, pkt->psn, progress);
	else if (code < sizeof(nak_status))
		roost_req_fail(w, qp, nak_status[code]);
	else
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
}

/* An AETH that fits what is unacknowledged. */
static void acknowledge(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt)
{
	bool progress = !roost_psn_eq(pkt->psn, qp->req.oldest_unacked_psn);

	switch (pkt->syndrome & ROOST_AETH_TYPE_MASK) {
	case ROOST_AETH_ACK:
		roost_req_advance(w, qp, roost_psn_add(pkt->psn, 1));
		return;
	case ROOST_AETH_RNR_NAK:
	case ROOST_AETH_NAK:
		break;
	default:
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	/* A NAK acknowledges all that stands before it. */
	roost_req_advance(w, qp, pkt->psn);
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	if ((pkt->syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_RNR_NAK)
		rnr_nak(w, qp, pkt->psn, pkt->syndrome & ROOST_AETH_VALUE_MASK);
	else
		nak(w, qp, pkt, progress);
}

void roost_req_receive(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt)
{
	/* Only what was sent and is not acknowledged yet can be answered. */
	if (pkt->info->op != ROOST_OP_ACK ||
	    roost_psn_diff(pkt->psn, qp->req.oldest_unacked_psn) < 0 ||
	    roost_psn_diff(pkt->psn, qp->req.end_psn) >= 0) {
		roost_worker_drop(w, ROOST_DROP_UNEXPECTED_RESPONSE);
		return;
	}
	acknowledge(w, qp, pkt);
}

void roost_req_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait) {
		req->rnr_wait = false;
		roost_worker_want_send(w, qp);
		return;
	}
	w->counters.timeouts++;
	if (req->retry_left == 0) {
		roost_req_fail(w, qp, ROOST_WC_RETRY_EXC_ERR);
		return;
	}
	req->retry_left--;
	roost_req_go_back(w, qp, req->oldest_unacked_psn);
}
