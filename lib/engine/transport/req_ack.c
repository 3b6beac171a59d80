/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: progress of our requests. No allocation, system call, log or lock. */

#include <rte_branch_prediction.h>

#include "lib/engine/core/ahead.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"

static struct roost_psn later(struct roost_psn a, struct roost_psn b)
{
	return roost_psn_diff(a, b) >= 0 ? a : b;
}

/* Of the RD/atomics before psn, what has not been answered. */
static void count_asked(struct roost_qp *qp, struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;

	req->nb_rd_atomics = 0;
	qp->asked_pkts = 0;
	for (uint32_t i = roost_req_tail(qp); i != req->started_index; i++) {
		const struct roost_send_wqe *wqe = roost_req_wqe(qp, i);
		struct roost_psn from =
			later(wqe->first_psn, req->oldest_unacked_psn);
		struct roost_psn end = roost_psn_add(wqe->last_psn, 1);

		if (roost_psn_diff(from, psn) >= 0)
			break;
		if (roost_psn_diff(end, psn) > 0)
			end = psn;
		if (roost_req_is_rd_atomic(wqe) &&
		    roost_psn_diff(end, from) > 0)
			roost_req_count_asked(qp, wqe, from, end);
	}
}

/* Continue sending at psn. */
static void send_from(struct roost_qp *qp, struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;

	roost_req_forget(qp->worker, qp);
	roost_req_let_go(qp->worker, qp);
	req->next_psn = psn;
	qp->resumed_psn = psn;
	req->send_index = roost_req_index_of(qp, psn);
	count_asked(qp, psn);
}

void roost_req_go_back(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn)
{
	roost_count(w, qp, retransmits);
	qp->req.rtt_sent_ns = 0;
	send_from(qp, psn);
	roost_worker_want_send(w, qp);
}

void roost_req_progress(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->response_gap = false;
	if (unlikely(qp->score != NULL)) {
		if (!roost_score_advance(w, qp, qp->score))
			roost_req_forget(w, qp);
		else
			req->lost = qp->score->nb_lost != 0;
	}
	if (unlikely(req->keeps))
		roost_req_keeps_advance(w, qp);
	if (req->rtt_sent_ns != 0 &&
	    roost_psn_diff(req->oldest_unacked_psn, req->rtt_psn) > 0)
		roost_rtt_sample(req, w->now_ns);
	/* Packets that are sent again give no sample, but the peer is there. */
	if (unlikely(req->nb_probes > ROOST_PROBES_KEPT))
		req->nb_probes = ROOST_PROBES_KEPT;
	if (roost_psn_diff(req->oldest_unacked_psn, req->next_psn) > 0) {
		/* The acknowledged PSN is beyond the PSN that the QP went back
		 * to, and beyond a packet that could not be made again.
		 */
		send_from(qp, req->oldest_unacked_psn);
		req->rnr_wait = false;
		req->fault = false;
	}
	roost_req_arm_timer(w, qp);
	roost_share_count(w, qp, false);
	/* A request that is posted from here on rings the doorbell. */
	if (req->send_index !=
	    atomic_load_explicit(&qp->sq.head, memory_order_acquire))
		roost_worker_want_send(w, qp);
}

/* As roost_complete_send(), of a success that is often without completion. */
static inline void complete(struct roost_worker *w, struct roost_qp *qp,
			    uint32_t index, const struct roost_send_wqe *wqe)
{
	if (likely(!(wqe->flags & ROOST_SEND_SIGNALED) && !qp->sq_sig_all &&
		   qp->type != ROOST_QPT_UD))
		roost_queue_done_silently(&qp->sq, index,
					  roost_cq_no_entry(qp->send_cq));
	else
		roost_complete_send(w, qp, index, ROOST_WC_SUCCESS);
}

/* Complete the WQEs that are done. Returns the first PSN that is not done: psn,
 * or the PSN of a missing response, of which a part may have come.
 */
static struct roost_psn complete_until(struct roost_worker *w,
				       struct roost_qp *qp,
				       struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;
	const uint32_t first = roost_req_tail(qp);
	uint32_t tail = first;

	for (; tail != req->started_index; tail++) {
		const struct roost_send_wqe *wqe = roost_req_wqe(qp, tail);
		bool rd_atomic = roost_req_is_rd_atomic(wqe);

		if (rd_atomic && !wqe->responded &&
		    roost_psn_diff(wqe->first_psn, psn) < 0) {
			struct roost_psn missing =
				later(wqe->first_psn, req->oldest_unacked_psn);

			if (roost_psn_diff(missing, psn) < 0)
				psn = missing;
			break;
		}
		if (roost_psn_diff(wqe->last_psn, psn) >= 0)
			break;
		complete(w, qp, tail, wqe);
	}
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	if (unlikely(tail - first >= ROOST_SLOTS_BURST) &&
	    roost_ahead_pays(w) && roost_queue_count(&qp->sq) == 0)
		roost_slots_emptied(&w->idle_slots, &qp->sq);
	return psn;
}

bool roost_req_advance(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_share_kind kind, struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;
	struct roost_psn reached = complete_until(w, qp, psn);
	int32_t acked_pkts = roost_psn_diff(reached, req->oldest_unacked_psn);

	if (acked_pkts > 0) {
		roost_window_acked(qp, kind, (uint32_t)acked_pkts);
		req->oldest_unacked_psn = reached;
		roost_req_progress(w, qp);
	}
	roost_req_check_fault(w, qp);
	roost_req_check_drained(w, qp);
	return roost_psn_eq(reached, psn);
}

void roost_req_fail(struct roost_worker *w, struct roost_qp *qp,
		    enum roost_qp_error_code code, const struct roost_pkt *pkt)
{
	uint32_t tail = roost_req_tail(qp);

	roost_req_blame(w, qp, code, pkt);
	roost_complete_send(
		w, qp, tail,
		(enum roost_wc_status)roost_qp_error_infos[code].wc_status);
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	if (roost_qp_is_reliable(qp))
		roost_qp_to_err(w, qp, -1);
	else
		roost_qp_to_sqe(w, qp);
}

void roost_req_check_fault(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->req.fault && qp->req.fault_index == roost_req_tail(qp))
		roost_req_fail(w, qp, qp->req.fault_code, NULL);
}

void roost_req_check_drained(struct roost_worker *w, struct roost_qp *qp)
{
	if (!qp->drain_asked || roost_req_is_draining(qp))
		return;
	qp->drain_asked = false;
	roost_async_raise(w, &qp->async, ROOST_EVENT_SQ_DRAINED);
}
