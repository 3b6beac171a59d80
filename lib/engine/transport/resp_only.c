/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot: the plain request of one packet, which small messages are: a SEND into
 * the one SGE of a receive WQE of the QP's own queue, or a WRITE into a region.
 * The conditions are those of roost_resp_check(), and the effects those of
 * roost_resp_execute(), without the calls and the questions that other
 * requests need. All that is not as plain goes that way, faults too.
 */

#include <rte_branch_prediction.h>

#include "lib/engine/core/copy.h"
#include "lib/engine/core/cq_push.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/resp_priv.h"

/* The memory that the payload goes to; NULL: it cannot be found by the key
 * alone, or is not simply there.
 */
static __rte_always_inline uint8_t *memory_of(const struct roost_qp *qp,
					      uint32_t key, uint64_t va,
					      uint32_t len_bytes,
					      uint32_t access)
{
	const struct roost_mr *mr = roost_idmap_get(&qp->dev->mrs, key);
	uint32_t rights;

	if (unlikely(!mr))
		return NULL;
	rights = roost_mr_rights(mr);
	if (unlikely(!roost_mr_allows(mr, rights, qp->pd, va, len_bytes,
				      access) ||
		     rights & (ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_BAD)))
		return NULL;
	return roost_mr_at(mr, va);
}

static __rte_always_inline void complete(struct roost_worker *w,
					 struct roost_qp *qp,
					 const struct roost_recv_wqe *wqe,
					 const struct roost_pkt *pkt)
{
	struct roost_queue *rq = &qp->rq;
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint64_t wr_id = wqe->wr_id;
	uint32_t place;
	struct roost_cqe *cqe = roost_cq_push_begin(w, qp->recv_cq, &place);

	*cqe = (struct roost_cqe){
		.wr_id = wr_id,
		.qpn = qp->qpn,
		.src_qpn = qp->dest_qpn,
		.byte_len = pkt->payload_len_bytes,
		.status = ROOST_WC_SUCCESS,
		.opcode = ROOST_WC_RECV,
		.solicited = pkt->solicited,
		.vlan_tci = pkt->vlan_tci,
	};
	roost_cq_push_end(w, qp->recv_cq, cqe);
	w->acks_first = true;
	roost_queue_done(rq, tail, place);
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
}

static __rte_always_inline bool receive_send(struct roost_worker *w,
					     struct roost_qp *qp,
					     const struct roost_pkt *pkt)
{
	struct roost_queue *rq = &qp->rq;
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	const struct roost_recv_wqe *wqe = roost_queue_at(rq, tail);
	uint32_t len_bytes = pkt->payload_len_bytes;
	const struct roost_sge *sge;
	uint8_t *to;

	if (qp->srq ||
	    tail == atomic_load_explicit(&rq->head, memory_order_acquire))
		return false;
	sge = wqe->sges;
	if (wqe->nb_sges != 1 || len_bytes > sge->len_bytes)
		return false;
	to = memory_of(qp, sge->lkey, sge->addr, len_bytes,
		       ROOST_ACCESS_LOCAL_WRITE);
	if (unlikely(!to))
		return false;
	if (unlikely(roost_copy(to, pkt->payload, len_bytes)))
		roost_place_faulted(qp->dev, sge->lkey, true);
	complete(w, qp, wqe, pkt);
	return true;
}

static __rte_always_inline bool receive_write(struct roost_qp *qp,
					      const struct roost_pkt *pkt)
{
	uint32_t len_bytes = pkt->payload_len_bytes;
	uint8_t *to;

	if (!(qp->attr.access & ROOST_ACCESS_REMOTE_WRITE) ||
	    pkt->dma_len_bytes != len_bytes)
		return false;
	to = memory_of(qp, pkt->rkey, pkt->va, len_bytes,
		       ROOST_ACCESS_REMOTE_WRITE);
	if (unlikely(!to))
		return false;
	if (unlikely(roost_copy_ascending(to, pkt->payload, len_bytes)))
		roost_place_faulted(qp->dev, pkt->rkey, true);
	return true;
}

bool roost_resp_only(struct roost_worker *w, struct roost_qp *qp,
		     const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	bool done;

	if (qp->type != ROOST_QPT_RC || resp->in_op != ROOST_OP_NONE ||
	    pkt->payload_len_bytes == 0 ||
	    pkt->payload_len_bytes > qp->mtu_bytes)
		return false;
	if (pkt->opcode == ROOST_OPCODE_RC_SEND_ONLY)
		done = receive_send(w, qp, pkt);
	else if (pkt->opcode == ROOST_OPCODE_RC_WRITE_ONLY)
		done = receive_write(qp, pkt);
	else
		return false;
	if (done)
		resp->msn = (resp->msn + 1) & 0xffffff;
	return done;
}
