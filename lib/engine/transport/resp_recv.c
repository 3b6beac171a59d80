/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: where a message lands. */

#include "lib/engine/core/cq_push.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"

static uint32_t tail_of(const struct roost_queue *q)
{
	return atomic_load_explicit(&q->tail, memory_order_relaxed);
}

static bool is_empty(const struct roost_queue *q)
{
	return tail_of(q) ==
	       atomic_load_explicit(&q->head, memory_order_acquire);
}

/* The SRQ of the message; for XRC, the packet names it. */
static struct roost_srq *srq_of(struct roost_qp *qp,
				const struct roost_pkt *pkt)
{
	if (qp->type == ROOST_QPT_XRC_TGT)
		return roost_srq_find(qp->dev, pkt->xrc_srqn);
	return qp->srq;
}

const struct roost_recv_wqe *roost_recv_wqe(struct roost_qp *qp,
					    const struct roost_pkt *pkt)
{
	struct roost_srq *srq;

	if (qp->resp.recv_srq)
		return &qp->taken->wqe;
	if (qp->type != ROOST_QPT_XRC_TGT && !qp->srq)
		return is_empty(&qp->rq)
			       ? NULL
			       : roost_queue_at(&qp->rq, tail_of(&qp->rq));
	srq = srq_of(qp, pkt);
	if (!srq || !roost_srq_take(srq, qp))
		return NULL;
	qp->resp.recv_srq = srq;
	return &qp->taken->wqe;
}

/* The WQE in use is done, and its completion has this place. */
static __rte_always_inline void finish(struct roost_worker *w,
				       struct roost_qp *qp, uint32_t place)
{
	w->acks_first |= roost_qp_is_reliable(qp);
	if (qp->resp.recv_srq) {
		roost_recv_release(qp);
	} else {
		roost_queue_done(&qp->rq, tail_of(&qp->rq), place);
		atomic_store_explicit(&qp->rq.tail, tail_of(&qp->rq) + 1,
				      memory_order_release);
	}
}

void roost_recv_complete_raw(struct roost_worker *w, struct roost_qp *qp,
			     struct roost_cqe *cqe)
{
	cqe->wr_id = roost_recv_wqe_in_use(qp)->wr_id;
	cqe->qpn = qp->qpn;
	if (cqe->status != ROOST_WC_SUCCESS) {
		cqe->solicited = true;
		cqe->vendor_err = roost_qp_error_code(qp);
	}
	finish(w, qp, roost_cq_push(w, roost_recv_cq(qp), cqe));
}

void roost_recv_complete(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt,
			 enum roost_wc_status status)
{
	const struct roost_recv_wqe *wqe = roost_recv_wqe_in_use(qp);
	bool write = pkt->info->op == ROOST_OP_WRITE;
	struct roost_cq *cq = roost_recv_cq(qp);
	uint32_t place;
	struct roost_cqe *cqe = roost_cq_push_begin(w, cq, &place);

	*cqe = (struct roost_cqe){
		.wr_id = wqe->wr_id,
		.qpn = qp->qpn,
		.src_qpn =
			qp->type == ROOST_QPT_UD ? pkt->src_qpn : qp->dest_qpn,
		.byte_len = qp->resp.offset_bytes,
		.status = (uint8_t)status,
		.opcode = write ? ROOST_WC_RECV_WRITE_IMM : ROOST_WC_RECV,
		.solicited = pkt->solicited,
		.vlan_tci = pkt->vlan_tci,
	};
	if (status != ROOST_WC_SUCCESS) {
		cqe->solicited = true;
		cqe->vendor_err = roost_qp_error_code(qp);
	}
	if (qp->type == ROOST_QPT_UD) {
		cqe->flags |= ROOST_WC_GRH;
		cqe->sl = roost_datagram_sl(pkt);
	}
	if (pkt->info->hdrs & ROOST_HDR_BIT(IMMDT)) {
		cqe->flags |= ROOST_WC_WITH_IMM;
		cqe->imm_be = pkt->imm_be;
	} else if (pkt->info->hdrs & ROOST_HDR_BIT(IETH)) {
		cqe->flags |= ROOST_WC_WITH_INV;
		cqe->imm_be = pkt->inv_rkey;
	}
	roost_cq_push_end(w, cq, cqe);
	finish(w, qp, place);
	/* The CQ of an XRC SRQ does not know the QP, to fail it. */
	if (cq->overrun && qp->type == ROOST_QPT_XRC_TGT)
		roost_qp_end(qp, ROOST_QPE_CQ_OVERRUN, ROOST_EVENT_QP_FATAL);
}
