/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: the peer's requests, one packet at a time through a chain of stages.
 * No allocation, system call (but for an event), log or lock.
 *
 * A stage returns a fault; the table says what a fault means for the peer, the
 * receive WQE, the QP and the application.
 */

#include "lib/engine/mr_priv.h"
#include "lib/engine/qp_priv.h"
#include "lib/engine/worker_priv.h"

enum fault {
	FAULT_NONE,
	FAULT_GAP,       /* ahead of the expected PSN */
	FAULT_DUPLICATE, /* behind it */
	FAULT_RNR,       /* no receive WQE */
	FAULT_INV_REQ,   /* opcode sequence, packet length */
	FAULT_TOO_LONG,  /* the message is longer than the receive WQE */
	FAULT_RECV_PROT, /* the receive WQE's own memory is wrong */
	FAULT_COUNT,
};

#define NO_EVENT (-1)
#define NO_WC (-1)

static const struct {
	uint8_t syndrome;
	int8_t wc_status; /* of the receive WQE in use; NO_WC: it is flushed */
	int8_t event;
} fatal[FAULT_COUNT] = {
	[FAULT_INV_REQ] = { ROOST_NAK_INV_REQ, NO_WC, ROOST_EVENT_QP_REQ_ERR },
	[FAULT_TOO_LONG] = { ROOST_NAK_INV_REQ, ROOST_WC_LOC_LEN_ERR,
			     NO_EVENT },
	[FAULT_RECV_PROT] = { ROOST_NAK_REM_OP, ROOST_WC_LOC_PROT_ERR,
			      NO_EVENT },
};

void roost_resp_reset(struct roost_qp *qp, struct roost_psn expected_psn)
{
	qp->resp = (struct roost_responder){ .expected_psn = expected_psn };
}

/* The receive WQE in use, or to be used next; NULL: none is posted. */
static const struct roost_recv_wqe *recv_wqe(struct roost_qp *qp)
{
	uint32_t tail =
		atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&qp->rq.head, memory_order_acquire))
		return NULL;
	return roost_queue_at(&qp->rq, tail);
}

static void complete_recv(struct roost_worker *w, struct roost_qp *qp,
			  const struct roost_pkt *pkt,
			  enum roost_wc_status status)
{
	uint32_t tail =
		atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
	const struct roost_recv_wqe *wqe = roost_queue_at(&qp->rq, tail);
	struct roost_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qpn = qp->qpn,
		.src_qpn = qp->dest_qpn,
		.byte_len = qp->resp.offset_bytes,
		.status = (uint8_t)status,
		.opcode = ROOST_WC_RECV,
		.solicited = pkt->solicited || status != ROOST_WC_SUCCESS,
	};

	if (status == ROOST_WC_SUCCESS &&
	    pkt->info->hdrs & 1u << ROOST_HDR_IMMDT) {
		cqe.flags |= ROOST_WC_WITH_IMM;
		cqe.imm_be = pkt->imm_be;
	}
	roost_cq_push(w, qp->recv_cq, &cqe);
	atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
}

/* ---- stages ----------------------------------------------------------- */

static enum fault check_psn(const struct roost_qp *qp,
			    const struct roost_pkt *pkt)
{
	int32_t ahead = roost_psn_diff(pkt->psn, qp->resp.expected_psn);

	if (ahead == 0)
		return FAULT_NONE;
	return ahead > 0 ? FAULT_GAP : FAULT_DUPLICATE;
}

/* First and only begin a message; middle and last go on with it. */
static enum fault check_sequence(const struct roost_qp *qp,
				 const struct roost_pkt *pkt)
{
	bool begins = pkt->info->flags & ROOST_OPF_FIRST;

	if (pkt->info->op != ROOST_OP_SEND)
		return FAULT_INV_REQ;
	if (begins != (qp->resp.in_op == ROOST_OP_NONE))
		return FAULT_INV_REQ;
	if (!begins && qp->resp.in_op != pkt->info->op)
		return FAULT_INV_REQ;
	return FAULT_NONE;
}

static enum fault check_resources(struct roost_qp *qp)
{
	return recv_wqe(qp) == NULL ? FAULT_RNR : FAULT_NONE;
}

/* First and middle are full, a last is not empty, none is more than full. */
static enum fault check_length(struct roost_qp *qp, const struct roost_pkt *pkt)
{
	uint32_t len = pkt->payload_len_bytes;
	bool first = pkt->info->flags & ROOST_OPF_FIRST;
	bool last = pkt->info->flags & ROOST_OPF_LAST;

	if (last ? len > qp->mtu_bytes : len != qp->mtu_bytes)
		return FAULT_INV_REQ;
	if (last && !first && len == 0)
		return FAULT_INV_REQ;
	if (len > recv_wqe(qp)->len_bytes - (first ? 0 : qp->resp.offset_bytes))
		return FAULT_TOO_LONG;
	return FAULT_NONE;
}

static enum fault execute(struct roost_qp *qp, const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	const struct roost_recv_wqe *wqe = recv_wqe(qp);

	if (pkt->info->flags & ROOST_OPF_FIRST)
		resp->offset_bytes = 0;
	if (roost_sge_scatter(qp->dev, qp->pd, wqe->sges, wqe->nb_sges,
			      resp->offset_bytes, pkt->payload,
			      pkt->payload_len_bytes) != ROOST_SGE_OK)
		return FAULT_RECV_PROT;
	resp->offset_bytes += pkt->payload_len_bytes;
	return FAULT_NONE;
}

/* The packet was executed: on to the next. */
static void advance(struct roost_worker *w, struct roost_qp *qp,
		    const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;

	resp->expected_psn = roost_psn_add(resp->expected_psn, 1);
	resp->behind = ROOST_DROP_NONE;
	resp->in_op = pkt->info->op;
	if (pkt->info->flags & ROOST_OPF_LAST) {
		resp->in_op = ROOST_OP_NONE;
		resp->msn = (resp->msn + 1) & 0xffffff;
		complete_recv(w, qp, pkt, ROOST_WC_SUCCESS);
	}
	if (pkt->ackreq)
		roost_ack_owe(w, qp, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
			      pkt->psn);
}

/* ---- faults ----------------------------------------------------------- */

/* One NAK per gap; then silence until the expected packet comes. */
static void gap(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->resp.behind != ROOST_DROP_NONE) {
		roost_worker_drop(w, qp->resp.behind);
		return;
	}
	qp->resp.behind = ROOST_DROP_OUT_OF_ORDER;
	roost_ack_owe(w, qp, ROOST_NAK_PSN_SEQ, qp->resp.expected_psn);
}

/* Each time that the expected packet comes and finds no receive WQE. */
static void receiver_not_ready(struct roost_worker *w, struct roost_qp *qp)
{
	qp->resp.behind = ROOST_DROP_RNR_WAIT;
	roost_ack_owe(w, qp,
		      (uint8_t)(ROOST_AETH_RNR_NAK | qp->attr.min_rnr_timer),
		      qp->resp.expected_psn);
}

/* Not executed again, but acknowledged: the peer missed our answer. */
static void duplicate(struct roost_worker *w, struct roost_qp *qp,
		      const struct roost_pkt *pkt)
{
	roost_worker_drop(w, ROOST_DROP_DUPLICATE);
	if (pkt->info->op == ROOST_OP_SEND || pkt->info->op == ROOST_OP_WRITE)
		roost_ack_owe(w, qp, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
			      roost_psn_sub(qp->resp.expected_psn, 1));
}

static void fail(struct roost_worker *w, struct roost_qp *qp,
		 const struct roost_pkt *pkt, enum fault fault)
{
	if (fatal[fault].wc_status != NO_WC)
		complete_recv(w, qp, pkt,
			      (enum roost_wc_status)fatal[fault].wc_status);
	roost_qp_to_err(w, qp, fatal[fault].event);
	/* After the QP left all lists: the NAK still goes out. */
	roost_ack_owe(w, qp, fatal[fault].syndrome, pkt->psn);
}

static void handle(struct roost_worker *w, struct roost_qp *qp,
		   const struct roost_pkt *pkt, enum fault fault)
{
	switch (fault) {
	case FAULT_NONE:
		advance(w, qp, pkt);
		break;
	case FAULT_GAP:
		gap(w, qp);
		break;
	case FAULT_DUPLICATE:
		duplicate(w, qp, pkt);
		break;
	case FAULT_RNR:
		receiver_not_ready(w, qp);
		break;
	case FAULT_INV_REQ:
	case FAULT_TOO_LONG:
	case FAULT_RECV_PROT:
		fail(w, qp, pkt, fault);
		break;
	case FAULT_COUNT:
		break;
	}
}

void roost_resp_receive(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt)
{
	enum fault fault;

	if (!qp->resp.comm_est && roost_qp_state_get(qp) == ROOST_QPS_RTR) {
		qp->resp.comm_est = true;
		roost_event_raise(&qp->async, ROOST_EVENT_COMM_EST, 0);
	}
	fault = check_psn(qp, pkt);
	if (fault == FAULT_NONE)
		fault = check_sequence(qp, pkt);
	if (fault == FAULT_NONE)
		fault = check_resources(qp);
	if (fault == FAULT_NONE)
		fault = check_length(qp, pkt);
	if (fault == FAULT_NONE)
		fault = execute(qp, pkt);
	handle(w, qp, pkt, fault);
}
