/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: the peer's requests, one packet at a time through a chain of stages.
 * No allocation, system call (but for an event), log or lock.
 *
 * A stage returns a fault; the table says what a fault means for the peer, the
 * receive WQE, the QP and the application.
 */

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/srq_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/sched/sched.h"

#define NO_EVENT (-1)
/* Requests that came early, executed at a time. */
#define HELD_BURST 32u

/* Faults that bring a QP to ERR. The error gives the status of the receive WQE
 * in use; SUCCESS: it is flushed.
 */
static const struct {
	uint8_t syndrome;
	uint8_t error; /* enum roost_qp_error_code */
	int8_t event;
} fatal[ROOST_FAULT_COUNT] = {
	[ROOST_FAULT_ORDER] = { ROOST_NAK_INV_REQ, ROOST_QPE_REQUEST_ORDER,
				ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_NOT_ALLOWED] = { ROOST_NAK_INV_REQ, ROOST_QPE_NOT_ALLOWED,
				      ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_LENGTH] = { ROOST_NAK_INV_REQ, ROOST_QPE_REQUEST_LENGTH,
				 ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_OPERAND] = { ROOST_NAK_INV_REQ, ROOST_QPE_OPERAND,
				  ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_TOO_MANY] = { ROOST_NAK_INV_REQ,
				   ROOST_QPE_TOO_MANY_FETCHES,
				   ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_XRC_SRQ] = { ROOST_NAK_INV_REQ, ROOST_QPE_XRC_SRQ,
				  ROOST_EVENT_QP_REQ_ERR },
	[ROOST_FAULT_ACCESS] = { ROOST_NAK_REM_ACCESS, ROOST_QPE_REMOTE_KEY,
				 ROOST_EVENT_QP_ACCESS_ERR },
	[ROOST_FAULT_INVALIDATE] = { ROOST_NAK_REM_ACCESS,
				     ROOST_QPE_INVALIDATE_KEY,
				     ROOST_EVENT_QP_ACCESS_ERR },
	[ROOST_FAULT_TOO_LONG] = { ROOST_NAK_INV_REQ, ROOST_QPE_RECEIVE_LENGTH,
				   NO_EVENT },
	[ROOST_FAULT_RECV_PROT] = { ROOST_NAK_REM_OP, ROOST_QPE_RECEIVE_MEMORY,
				    NO_EVENT },
	[ROOST_FAULT_CQ] = { ROOST_NAK_REM_OP, ROOST_QPE_CQ_OVERRUN,
			     ROOST_EVENT_QP_FATAL },
};

void roost_resp_reset(struct roost_qp *qp, struct roost_psn expected_psn)
{
	roost_recv_release(qp);
	roost_resp_let_go(qp->worker, qp);
	qp->resp = (struct roost_responder){
		.expected_psn = expected_psn,
		.rd_atomics = qp->resp.rd_atomics,
		.rd_atomic_room = qp->resp.rd_atomic_room,
		.rd_atomic_size = qp->attr.max_dest_rd_atomic,
	};
}

void roost_resp_silence(struct roost_worker *w, struct roost_qp *qp)
{
	qp->resp.nb_rd_atomics = 0;
	qp->resp.nb_rd_atomics_pending = 0;
	qp->resp.owed = false;
	qp->resp.ended = 0;
	roost_resp_let_go(w, qp);
	roost_worker_unlink_qp(w, qp);
}

/* ---- stages ----------------------------------------------------------- */

static enum roost_fault check_psn(const struct roost_qp *qp,
				  const struct roost_pkt *pkt)
{
	int32_t ahead = roost_psn_diff(pkt->psn, qp->resp.expected_psn);

	if (ahead == 0)
		return ROOST_FAULT_NONE;
	return ahead > 0 ? ROOST_FAULT_GAP : ROOST_FAULT_DUPLICATE;
}

/* First and only begin a message; middle and last go on with it. */
static enum roost_fault check_sequence(const struct roost_qp *qp,
				       const struct roost_pkt *pkt)
{
	bool begins = pkt->info->flags & ROOST_OPF_FIRST;

	if (begins != (qp->resp.in_op == ROOST_OP_NONE))
		return ROOST_FAULT_ORDER;
	if (!begins && qp->resp.in_op != pkt->info->op)
		return ROOST_FAULT_ORDER;
	return ROOST_FAULT_NONE;
}

static __rte_always_inline enum roost_fault
run_stages(struct roost_worker *w, struct roost_qp *qp,
	   const struct roost_pkt *pkt)
{
	enum roost_fault fault = check_sequence(qp, pkt);

	if (fault == ROOST_FAULT_NONE)
		fault = roost_resp_check(qp, pkt);
	if (fault == ROOST_FAULT_NONE)
		fault = roost_resp_execute(w, qp, pkt);
	return fault;
}

/* The packet was executed: on to the next. */
static __rte_always_inline void advance(struct roost_worker *w,
					struct roost_qp *qp,
					const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	uint32_t psns = roost_op_is_rd_atomic(pkt->info->op)
				? roost_rd_atomic_psns(qp, pkt)
				: 1;

	resp->expected_psn = roost_psn_add(resp->expected_psn, psns);
	resp->behind = ROOST_DROP_NONE;
	if (unlikely(pkt->selective))
		resp->selective = w->dev->selective_repeat;
	resp->in_op = pkt->info->op;
	if (pkt->info->flags & ROOST_OPF_LAST)
		resp->in_op = ROOST_OP_NONE;
	if (pkt->ackreq && roost_qp_is_reliable(qp) &&
	    !roost_op_is_rd_atomic(pkt->info->op))
		roost_ack_owe(w, qp, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
			      pkt->psn);
}

/* ---- faults ----------------------------------------------------------- */

/* A peer that goes back N gets one NAK per gap. Later packets are held, or
 * dropped, until the expected packet comes.
 */
static void gap(struct roost_worker *w, struct roost_qp *qp,
		const struct roost_pkt *pkt)
{
	bool held;

	roost_count(w, qp, out_of_order);
	held = roost_resp_hold(w, qp, pkt, roost_rd_atomic_psns(qp, pkt));
	if (qp->resp.selective && qp->resp.holds) {
		if (!held)
			roost_worker_drop(w, ROOST_DROP_OUT_OF_ORDER);
		roost_resp_owe_report(w, qp);
		return;
	}
	if (qp->resp.behind != ROOST_DROP_NONE) {
		if (!held)
			roost_worker_drop(w, qp->resp.behind);
		return;
	}
	qp->resp.behind = ROOST_DROP_OUT_OF_ORDER;
	roost_ack_owe(w, qp, ROOST_NAK_PSN_SEQ, qp->resp.expected_psn);
}

/* Called each time that the expected packet comes and finds no receive WQE. */
static void receiver_not_ready(struct roost_worker *w, struct roost_qp *qp)
{
	qp->resp.behind = ROOST_DROP_RNR_WAIT;
	roost_ack_owe(w, qp,
		      (uint8_t)(ROOST_AETH_RNR_NAK | qp->attr.min_rnr_timer),
		      qp->resp.expected_psn);
}

/* Never executed twice: acknowledged again, or answered from the record. */
static void duplicate(struct roost_worker *w, struct roost_qp *qp,
		      const struct roost_pkt *pkt)
{
	roost_count(w, qp, duplicates);
	if (roost_op_is_rd_atomic(pkt->info->op)) {
		if (!roost_rd_atomic_replay(w, qp, pkt))
			roost_worker_drop(w, ROOST_DROP_DUPLICATE);
		return;
	}
	roost_worker_drop(w, ROOST_DROP_DUPLICATE);
	roost_ack_owe(w, qp, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
		      roost_psn_sub(qp->resp.expected_psn, 1));
}

static void fail(struct roost_worker *w, struct roost_qp *qp,
		 const struct roost_pkt *pkt, enum roost_fault fault)
{
	enum roost_qp_error_code error = fatal[fault].error;
	uint8_t status = roost_qp_error_infos[error].wc_status;
	uint8_t syndrome = roost_qp_is_reliable(qp) ? fatal[fault].syndrome : 0;

	roost_resp_blame(w, qp, error, syndrome, pkt);
	if (status != ROOST_WC_SUCCESS)
		roost_recv_complete(w, qp, pkt, (enum roost_wc_status)status);
	roost_qp_to_err(w, qp, fatal[fault].event);
	/* An earlier answer may have failed inside roost_qp_to_err(): its NAK
	 * is owed already.
	 */
	if (syndrome != 0 && qp->resp.ended == 0)
		roost_resp_end(w, qp, syndrome, pkt->psn);
}

static __rte_always_inline void handle(struct roost_worker *w,
				       struct roost_qp *qp,
				       const struct roost_pkt *pkt,
				       enum roost_fault fault)
{
	if (fault == ROOST_FAULT_NONE)
		advance(w, qp, pkt);
	else if (fault == ROOST_FAULT_GAP)
		gap(w, qp, pkt);
	else if (fault == ROOST_FAULT_DUPLICATE)
		duplicate(w, qp, pkt);
	else if (fault == ROOST_FAULT_RNR)
		receiver_not_ready(w, qp);
	else
		fail(w, qp, pkt, fault);
}

void roost_resp_go_on(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_held *held;

	for (unsigned int n = 0; n < HELD_BURST; n++) {
		held = roost_resp_take_next(w, qp);
		if (!held)
			break;
		handle(w, qp, &held->pkt, run_stages(w, qp, &held->pkt));
		roost_held_put(&w->store, held);
		/* Not executed, and the QP may be in ERR. */
		if (qp->resp.behind != ROOST_DROP_NONE)
			break;
	}
	roost_resp_catch_up(w, qp);
	/* No receive WQE: the peer goes back, and sends all of them again. */
	if (qp->resp.behind == ROOST_DROP_RNR_WAIT)
		roost_resp_let_go(w, qp);
	if (!qp->resp.holds)
		return;
	if (roost_resp_holds_next(qp))
		roost_worker_want_ack(w, qp);
	else if (qp->resp.selective)
		roost_resp_owe_report(w, qp);
}

/* The peer lost an answer: it gets the answer again, and nothing is executed.
 */
void roost_resp_repeat(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt)
{
	int32_t ahead = roost_psn_diff(pkt->psn, qp->resp.expected_psn);

	if (ahead < 0)
		duplicate(w, qp, pkt);
	else if (ahead == 0)
		roost_ack_owe(w, qp, qp->resp.ended, pkt->psn);
	else
		roost_worker_drop(w, ROOST_DROP_OUT_OF_ORDER);
}

/* ---- unreliable connections ------------------------------------------- */

/* Drop the current message; its receive WQE serves the next one. */
static void drop_message(struct roost_worker *w, struct roost_qp *qp,
			 enum roost_drop reason)
{
	qp->resp.in_op = ROOST_OP_NONE;
	roost_worker_drop(w, reason);
	roost_flight_note(qp, ROOST_FLIGHT_DROP, (uint8_t)reason,
			  qp->resp.expected_psn.v);
}

/* The drop reason of a message that UC gives up. */
static const uint8_t uc_drop[ROOST_FAULT_COUNT] = {
	[ROOST_FAULT_RNR] = ROOST_DROP_RNR_WAIT,
	[ROOST_FAULT_ORDER] = ROOST_DROP_INV_REQUEST,
	[ROOST_FAULT_NOT_ALLOWED] = ROOST_DROP_INV_REQUEST,
	[ROOST_FAULT_LENGTH] = ROOST_DROP_INV_REQUEST,
	[ROOST_FAULT_OPERAND] = ROOST_DROP_INV_REQUEST,
	[ROOST_FAULT_TOO_LONG] = ROOST_DROP_INV_REQUEST,
	[ROOST_FAULT_ACCESS] = ROOST_DROP_ACCESS,
};

/* UC sends no NAK, so a peer could guess keys; this number of wrong ones brings
 * the QP to ERR, as the first one does on a reliable QP.
 */
static void count_wrong_key(struct roost_worker *w, struct roost_qp *qp,
			    const struct roost_pkt *pkt)
{
	if (++qp->resp.nb_wrong_keys != ROOST_UC_WRONG_KEYS_MAX)
		return;
	roost_resp_blame(w, qp, ROOST_QPE_WRONG_KEYS, 0, pkt);
	roost_qp_to_err(w, qp, ROOST_EVENT_QP_ACCESS_ERR);
}

/* UC sends no answer: a lost or wrong packet costs its message, and the next
 * first or only packet starts a new one (IBTA 9.8.3).
 */
static void receive_unreliable(struct roost_worker *w, struct roost_qp *qp,
			       const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	bool begins = pkt->info->flags & ROOST_OPF_FIRST;
	enum roost_fault fault;

	if (!roost_psn_eq(pkt->psn, resp->expected_psn) || begins)
		resp->in_op = ROOST_OP_NONE;
	resp->expected_psn = pkt->psn;
	if (!begins && resp->in_op == ROOST_OP_NONE) {
		resp->expected_psn = roost_psn_add(pkt->psn, 1);
		roost_count(w, qp, out_of_order);
		roost_worker_drop(w, ROOST_DROP_OUT_OF_ORDER);
		return;
	}
	fault = run_stages(w, qp, pkt);
	if (fault == ROOST_FAULT_NONE) {
		advance(w, qp, pkt);
	} else if (fault == ROOST_FAULT_RECV_PROT) {
		fail(w, qp, pkt, fault);
	} else {
		resp->expected_psn = roost_psn_add(pkt->psn, 1);
		drop_message(w, qp, (enum roost_drop)uc_drop[fault]);
		if (fault == ROOST_FAULT_ACCESS)
			count_wrong_key(w, qp, pkt);
	}
}

void roost_resp_receive(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt)
{
	enum roost_fault fault;

	if (!qp->resp.comm_est && roost_qp_state_get(qp) == ROOST_QPS_RTR) {
		qp->resp.comm_est = true;
		roost_async_raise(w, &qp->async, ROOST_EVENT_COMM_EST);
	}
	if (!roost_qp_is_reliable(qp)) {
		receive_unreliable(w, qp, pkt);
		return;
	}
	fault = check_psn(qp, pkt);
	if (fault == ROOST_FAULT_NONE && !roost_resp_only(w, qp, pkt))
		fault = run_stages(w, qp, pkt);
	handle(w, qp, pkt, fault);
	if (unlikely(qp->resp.holds))
		roost_resp_go_on(w, qp);
}
