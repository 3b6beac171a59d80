/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Completions of sends, and flushing: when a QP ends, each posted request that
 * will not be executed completes flushed, exactly once.
 */

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/cq_push.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"

/* Returns the place of its completion. */
static uint32_t push_send(struct roost_worker *w, struct roost_qp *qp,
			  const struct roost_send_wqe *wqe,
			  enum roost_wc_status status)
{
	uint32_t place;
	struct roost_cqe *cqe = roost_cq_push_begin(w, qp->send_cq, &place);

	*cqe = (struct roost_cqe){
		.wr_id = wqe->wr_id,
		.qpn = qp->qpn,
		.byte_len = wqe->len_bytes,
		.status = (uint8_t)status,
		.opcode = roost_wqe_info(wqe)->wc_opcode,
	};
	/* An error counts as solicited (man ibv_req_notify_cq). */
	if (status != ROOST_WC_SUCCESS) {
		cqe->solicited = true;
		cqe->vendor_err = roost_qp_error_code(qp);
	}
	roost_cq_push_end(w, qp->send_cq, cqe);
	return place;
}

void roost_complete_send(struct roost_worker *w, struct roost_qp *qp,
			 uint32_t index, enum roost_wc_status status)
{
	const struct roost_send_wqe *wqe = roost_queue_at(&qp->sq, index);

	if (qp->type == ROOST_QPT_UD)
		roost_ah_put(wqe->ud.ah);
	if (status != ROOST_WC_SUCCESS || qp->sq_sig_all ||
	    wqe->flags & ROOST_SEND_SIGNALED)
		roost_queue_done(&qp->sq, index, push_send(w, qp, wqe, status));
	else
		roost_queue_done_silently(&qp->sq, index,
					  roost_cq_no_entry(qp->send_cq));
}

/* Returns true when all are flushed. */
static bool flush_sends(struct roost_worker *w, struct roost_qp *qp)
{
	uint32_t head =
		atomic_load_explicit(&qp->sq.head, memory_order_acquire);
	uint32_t tail =
		atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	for (; tail != head && w->flush_left > 0; tail++, w->flush_left--)
		roost_complete_send(w, qp, tail, ROOST_WC_WR_FLUSH_ERR);
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	/* A QP in SQE goes on from here. */
	qp->req.send_index = tail;
	qp->req.started_index = tail;
	return tail == head;
}

/* Returns the place of its completion. */
static uint32_t flush_recv(struct roost_worker *w, struct roost_qp *qp,
			   const struct roost_recv_wqe *wqe,
			   struct roost_cq *cq)
{
	struct roost_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qpn = qp->qpn,
		.status = ROOST_WC_WR_FLUSH_ERR,
		.vendor_err = roost_qp_error_code(qp),
		.opcode = ROOST_WC_RECV,
		.solicited = true,
	};

	return roost_cq_push(w, cq, &cqe);
}

static bool flush_recvs(struct roost_worker *w, struct roost_qp *qp)
{
	uint32_t head =
		atomic_load_explicit(&qp->rq.head, memory_order_acquire);
	uint32_t tail =
		atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);

	if (qp->resp.recv_srq) {
		flush_recv(w, qp, &qp->taken->wqe, roost_recv_cq(qp));
		roost_recv_release(qp);
	}
	for (; tail != head && w->flush_left > 0; tail++, w->flush_left--)
		roost_queue_done(&qp->rq, tail,
				 flush_recv(w, qp,
					    roost_queue_at(&qp->rq, tail),
					    qp->recv_cq));
	atomic_store_explicit(&qp->rq.tail, tail, memory_order_release);
	return tail == head;
}

void roost_qp_flush(struct roost_worker *w, struct roost_qp *qp)
{
	bool all = flush_sends(w, qp);

	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		all &= flush_recvs(w, qp);
	roost_worker_flush_later(w, qp, !all);
}

void roost_qp_to_err(struct roost_worker *w, struct roost_qp *qp, int event)
{
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	/* Answer everything that was received before. */
	roost_worker_settle(w, qp);
	/* Answering may have failed and moved the QP to ERR already. */
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	atomic_store(&qp->state, ROOST_QPS_ERR);
	roost_flight_state(qp, roost_qp_error_code(qp));
	roost_resp_let_go(w, qp);
	roost_req_forget(w, qp);
	roost_req_let_go(w, qp);
	/* A thread that is posting receives holds the queue's lock. This flush
	 * sees all requests that were posted until now; a later post sees ERR,
	 * and rings the doorbell.
	 */
	roost_queue_wait(&qp->rq);
	roost_worker_unlink_qp(w, qp);
	roost_share_leave(w, qp);
	qp->drain_asked = false;
	/* Answers that could not be sent yet. */
	if (qp->resp.owed || qp->resp.nb_rd_atomics_pending != 0)
		roost_worker_want_ack(w, qp);
	roost_qp_flush(w, qp);
	if (event >= 0)
		roost_async_raise(w, &qp->async, (enum roost_async_event)event);
	if (qp->srq)
		roost_async_raise(w, &qp->async,
				  ROOST_EVENT_QP_LAST_WQE_REACHED);
	roost_failure_note(qp);
}

void roost_qp_to_sqe(struct roost_worker *w, struct roost_qp *qp)
{
	atomic_store(&qp->state, ROOST_QPS_SQE);
	roost_flight_state(qp, roost_qp_error_code(qp));
	roost_failure_note(qp);
	qp->drain_asked = false;
	atomic_thread_fence(memory_order_seq_cst);
	roost_qp_flush(w, qp);
	qp->req.fault = false;
}
