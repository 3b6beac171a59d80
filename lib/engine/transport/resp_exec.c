/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: execution of requests. No allocation, system call, log or lock. */

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/copy.h"
#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"

#define MESSAGE_MAX_BYTES (1u << 31)

/* The highest selectivity level: the whole region. */
#define FLUSH_LEVEL_REGION 1u

/* The memory of a key from the peer. For an XRC request, the SRQ in its header
 * gives the PD.
 */
static void *remote(struct roost_qp *qp, uint32_t key, uint64_t va,
		    uint64_t len_bytes, uint32_t access)
{
	return roost_mr_remote(qp->worker, qp->resp.pd, qp->qpn, key, va,
			       len_bytes, len_bytes, access);
}

/* As remote(), in a suspect region. */
static bool suspect(struct roost_qp *qp, uint32_t key, uint64_t va,
		    uint64_t len_bytes, uint32_t access,
		    struct roost_place *place)
{
	return roost_place_remote(qp->worker, qp->resp.pd, qp->qpn, key, va,
				  len_bytes, access, place);
}

/* As remote(), for a word. *gone: it is not there, and that is counted. */
static void *remote_word(struct roost_qp *qp, const struct roost_pkt *pkt,
			 uint32_t access, bool *gone)
{
	void *at = remote(qp, pkt->rkey, pkt->va, sizeof(uint64_t), access);
	struct roost_place place;

	*gone = false;
	if (likely(at != NULL) ||
	    !suspect(qp, pkt->rkey, pkt->va, sizeof(uint64_t), access, &place))
		return at;
	*gone = !roost_place_has_word(&place);
	return place.host;
}

/* True if the peer may access the whole range, and its first touch_bytes are
 * present. Of a message, each packet checks the presence of its own part of the
 * memory only.
 */
static bool may_access(struct roost_qp *qp, uint32_t key, uint64_t va,
		       uint64_t len_bytes, uint64_t touch_bytes,
		       uint32_t access)
{
	return roost_mr_remote_may(qp->worker, qp->resp.pd, qp->qpn, key, va,
				   len_bytes, touch_bytes, access);
}

/* ---- checks ----------------------------------------------------------- */

static enum roost_fault check_send(struct roost_qp *qp,
				   const struct roost_pkt *pkt)
{
	const struct roost_recv_wqe *wqe = roost_recv_wqe(qp, pkt);
	bool first = pkt->info->flags & ROOST_OPF_FIRST;

	if (!wqe)
		return ROOST_FAULT_RNR;
	if (!roost_packet_length_ok(qp, pkt))
		return ROOST_FAULT_LENGTH;
	if (pkt->payload_len_bytes >
	    wqe->len_bytes - (first ? 0 : qp->resp.offset_bytes))
		return ROOST_FAULT_TOO_LONG;
	if (pkt->info->hdrs & ROOST_HDR_BIT(IETH) &&
	    !roost_mw_may_invalidate(qp->dev, qp->resp.pd, qp->qpn,
				     pkt->inv_rkey))
		return ROOST_FAULT_INVALIDATE;
	return ROOST_FAULT_NONE;
}

/* The RETH of the first packet speaks for the whole message. */
static enum roost_fault check_write(struct roost_qp *qp,
				    const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	bool first = pkt->info->flags & ROOST_OPF_FIRST;
	bool last = pkt->info->flags & ROOST_OPF_LAST;
	uint32_t total = first ? pkt->dma_len_bytes : resp->dma_len_bytes;
	uint32_t left = total - (first ? 0 : resp->offset_bytes);

	if (pkt->info->flags & ROOST_OPF_RWQE && !roost_recv_wqe(qp, pkt))
		return ROOST_FAULT_RNR;
	if (total > MESSAGE_MAX_BYTES || !roost_packet_length_ok(qp, pkt))
		return ROOST_FAULT_LENGTH;
	if (last ? pkt->payload_len_bytes != left
		 : pkt->payload_len_bytes >= left)
		return ROOST_FAULT_LENGTH;
	if (first && total > 0 &&
	    !may_access(qp, pkt->rkey, pkt->va, total, 0,
			ROOST_ACCESS_REMOTE_WRITE))
		return ROOST_FAULT_ACCESS;
	return ROOST_FAULT_NONE;
}

/* Placement types and selectivity levels that A19.4.1 does not reserve. */
static bool flush_known(const struct roost_pkt *pkt)
{
	return pkt->flush_type != 0 &&
	       !(pkt->flush_type &
		 ~(ROOST_FLUSH_GLOBAL | ROOST_FLUSH_PERSISTENT)) &&
	       pkt->flush_level <= FLUSH_LEVEL_REGION;
}

static enum roost_fault check_rd_atomic(struct roost_qp *qp,
					const struct roost_pkt *pkt)
{
	uint32_t access = roost_resp_access(pkt);
	uint64_t len = sizeof(uint64_t), touch = 0;

	if (!roost_rd_atomic_has_room(qp))
		return ROOST_FAULT_TOO_MANY;
	if (pkt->info->op == ROOST_OP_FLUSH && !flush_known(pkt))
		return ROOST_FAULT_OPERAND;
	/* A FLUSH of a whole region has no valid address and length. */
	if (pkt->info->op == ROOST_OP_FLUSH &&
	    pkt->flush_level == FLUSH_LEVEL_REGION)
		return roost_mr_remote_key(qp->dev, qp->resp.pd, qp->qpn,
					   pkt->rkey, access)
			       ? ROOST_FAULT_NONE
			       : ROOST_FAULT_ACCESS;
	if (pkt->info->op == ROOST_OP_READ_REQ ||
	    pkt->info->op == ROOST_OP_FLUSH) {
		len = pkt->dma_len_bytes;
		if (len > MESSAGE_MAX_BYTES)
			return ROOST_FAULT_LENGTH;
	} else if (pkt->va % len != 0) {
		return ROOST_FAULT_OPERAND;
	}
	if (pkt->info->op == ROOST_OP_ATOMIC_WRITE &&
	    (pkt->payload_len_bytes != len || pkt->dma_len_bytes != len))
		return ROOST_FAULT_LENGTH;
	/* A READ that cannot begin is refused before requests behind it are
	 * executed.
	 */
	if (pkt->info->op == ROOST_OP_READ_REQ)
		touch = RTE_MIN(len, (uint64_t)qp->mtu_bytes);
	if (len > 0 && !may_access(qp, pkt->rkey, pkt->va, len, touch, access))
		return ROOST_FAULT_ACCESS;
	return ROOST_FAULT_NONE;
}

/* The PD whose memory the peer may access: the QP's, or that of the SRQ in an
 * XRC packet (IBTA A14.4).
 */
static enum roost_fault find_pd(struct roost_qp *qp,
				const struct roost_pkt *pkt)
{
	const struct roost_srq *srq;

	qp->resp.pd = qp->pd;
	if (qp->type != ROOST_QPT_XRC_TGT)
		return ROOST_FAULT_NONE;
	srq = roost_srq_find(qp->dev, pkt->xrc_srqn);
	if (!srq || srq->xrcd->domain != qp->taken->xrcd->domain)
		return ROOST_FAULT_XRC_SRQ;
	qp->resp.pd = srq->pd;
	if (srq->cq->overrun && (pkt->info->op == ROOST_OP_SEND ||
				 pkt->info->flags & ROOST_OPF_RWQE))
		return ROOST_FAULT_CQ;
	return ROOST_FAULT_NONE;
}

enum roost_fault roost_resp_check(struct roost_qp *qp,
				  const struct roost_pkt *pkt)
{
	enum roost_fault fault = find_pd(qp, pkt);
	uint32_t access = roost_resp_access(pkt);

	if (fault != ROOST_FAULT_NONE)
		return fault;
	if ((qp->attr.access & access) != access)
		return ROOST_FAULT_NOT_ALLOWED;
	if (pkt->info->op == ROOST_OP_SEND)
		return check_send(qp, pkt);
	if (pkt->info->op == ROOST_OP_WRITE)
		return check_write(qp, pkt);
	return check_rd_atomic(qp, pkt);
}

/* ---- execution -------------------------------------------------------- */

static enum roost_fault execute_send(struct roost_qp *qp,
				     const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	const struct roost_recv_wqe *wqe = roost_recv_wqe_in_use(qp);

	if (pkt->info->flags & ROOST_OPF_FIRST)
		resp->offset_bytes = 0;
	if (roost_sge_scatter(qp->dev, roost_recv_pd(qp), wqe->sges,
			      wqe->nb_sges, resp->offset_bytes, pkt->payload,
			      pkt->payload_len_bytes) != ROOST_SGE_OK)
		return ROOST_FAULT_RECV_PROT;
	resp->offset_bytes += pkt->payload_len_bytes;
	if (pkt->info->hdrs & ROOST_HDR_BIT(IETH))
		roost_mw_invalidate(qp->dev, pkt->inv_rkey);
	return ROOST_FAULT_NONE;
}

/* Every packet looks the region up again: it may have been removed since the
 * first one.
 */
static enum roost_fault execute_write(struct roost_qp *qp,
				      const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	struct roost_place place;
	uint8_t *to;

	if (pkt->info->flags & ROOST_OPF_FIRST) {
		resp->offset_bytes = 0;
		resp->dma_len_bytes = pkt->dma_len_bytes;
		resp->va = pkt->va;
		resp->rkey = pkt->rkey;
	}
	if (pkt->payload_len_bytes > 0) {
		to = remote(qp, resp->rkey, resp->va + resp->offset_bytes,
			    pkt->payload_len_bytes, ROOST_ACCESS_REMOTE_WRITE);
		if (unlikely(!to)) {
			if (!suspect(qp, resp->rkey,
				     resp->va + resp->offset_bytes,
				     pkt->payload_len_bytes,
				     ROOST_ACCESS_REMOTE_WRITE, &place))
				return ROOST_FAULT_ACCESS;
			roost_place_put(&place, pkt->payload,
					pkt->payload_len_bytes);
		} else if (unlikely(roost_copy_ascending(
				   to, pkt->payload, pkt->payload_len_bytes))) {
			roost_place_faulted(qp->dev, resp->rkey, true);
		}
		roost_mr_remote_done(qp->worker);
	}
	resp->offset_bytes += pkt->payload_len_bytes;
	return ROOST_FAULT_NONE;
}

static bool is_aligned(const void *at)
{
	return (uintptr_t)at % sizeof(uint64_t) == 0;
}

/* The result of the operation on v. */
static uint64_t atomic_result(const struct roost_pkt *pkt, uint64_t v)
{
	if (pkt->info->op == ROOST_OP_FETCH_ADD)
		return v + pkt->swap_add;
	return v == pkt->compare ? pkt->swap_add : v;
}

/* A region whose iova and memory are not aligned alike cannot use atomic
 * instructions: operations of peers are atomic towards each other only.
 */
static void exchange_unaligned(struct roost_dev *dev, void *at,
			       const struct roost_pkt *pkt, uint64_t *orig,
			       bool *gone)
{
	uint64_t result;

	if (dev->nb_workers > 1)
		roost_spin_lock(&dev->unaligned_lock);
	*gone = roost_guard_copy(orig, at, sizeof(*orig));
	result = atomic_result(pkt, *orig);
	*gone |= roost_copy(at, (const uint8_t *)&result, sizeof(result));
	if (dev->nb_workers > 1)
		roost_spin_unlock(&dev->unaligned_lock);
}

/* Atomic towards this machine's processors, too, except in a region whose iova
 * and memory are not aligned alike: there only towards the peers of the device
 * (IBV_ATOMIC_HCA). *orig: the value before.
 */
static enum roost_fault
execute_atomic(struct roost_qp *qp, const struct roost_pkt *pkt, uint64_t *orig)
{
	uint32_t fault = 0;
	bool is_gone, gone = false;
	uint64_t *at =
		remote_word(qp, pkt, ROOST_ACCESS_REMOTE_ATOMIC, &is_gone);

	/* A page of an on-demand region may go away at any time. */
	if (!at)
		return ROOST_FAULT_ACCESS;
	if (is_gone) {
		*orig = 0;
	} else if (!is_aligned(at)) {
		exchange_unaligned(qp->dev, at, pkt, orig, &gone);
	} else if (pkt->info->op == ROOST_OP_FETCH_ADD) {
		*orig = roost_guard_add8(at, pkt->swap_add, &fault);
	} else {
		*orig = roost_guard_swap8_if(at, pkt->compare, pkt->swap_add,
					     &fault);
	}
	if (unlikely(fault != 0))
		*orig = 0;
	if (unlikely(fault != 0 || gone))
		roost_place_faulted(qp->dev, pkt->rkey, true);
	roost_mr_remote_done(qp->worker);
	return ROOST_FAULT_NONE;
}

static bool store_unaligned(struct roost_dev *dev, void *at, uint64_t value)
{
	bool gone;

	if (dev->nb_workers > 1)
		roost_spin_lock(&dev->unaligned_lock);
	gone = roost_copy(at, (const uint8_t *)&value, sizeof(value));
	if (dev->nb_workers > 1)
		roost_spin_unlock(&dev->unaligned_lock);
	return gone;
}

static enum roost_fault execute_atomic_write(struct roost_qp *qp,
					     const struct roost_pkt *pkt)
{
	uint32_t fault = 0;
	uint64_t value;
	bool is_gone;
	uint64_t *at =
		remote_word(qp, pkt, ROOST_ACCESS_REMOTE_WRITE, &is_gone);

	if (!at)
		return ROOST_FAULT_ACCESS;
	memcpy(&value, pkt->payload, sizeof(value));
	if (is_aligned(at) && !is_gone)
		roost_guard_swap8(at, value, &fault);
	else if (!is_gone)
		fault = store_unaligned(qp->dev, at, value);
	if (unlikely(fault != 0))
		roost_place_faulted(qp->dev, pkt->rkey, true);
	roost_mr_remote_done(qp->worker);
	return ROOST_FAULT_NONE;
}

static enum roost_fault execute_rd_atomic(struct roost_worker *w,
					  struct roost_qp *qp,
					  const struct roost_pkt *pkt)
{
	enum roost_fault fault = ROOST_FAULT_NONE;
	uint64_t orig = 0;

	/* A READ is executed when it is answered. For FLUSH a fence is enough,
	 * because this thread has stored the data that FLUSH makes visible.
	 */
	if (pkt->info->op == ROOST_OP_CMP_SWAP ||
	    pkt->info->op == ROOST_OP_FETCH_ADD)
		fault = execute_atomic(qp, pkt, &orig);
	else if (pkt->info->op == ROOST_OP_ATOMIC_WRITE)
		fault = execute_atomic_write(qp, pkt);
	else if (pkt->info->op == ROOST_OP_FLUSH)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (fault != ROOST_FAULT_NONE)
		return fault;
	qp->resp.msn = (qp->resp.msn + 1) & 0xffffff;
	roost_rd_atomic_add(w, qp, pkt, orig);
	return ROOST_FAULT_NONE;
}

enum roost_fault roost_resp_execute(struct roost_worker *w, struct roost_qp *qp,
				    const struct roost_pkt *pkt)
{
	struct roost_responder *resp = &qp->resp;
	enum roost_fault fault;

	if (roost_op_is_rd_atomic(pkt->info->op))
		return execute_rd_atomic(w, qp, pkt);
	if (pkt->info->op == ROOST_OP_SEND)
		fault = execute_send(qp, pkt);
	else
		fault = execute_write(qp, pkt);
	if (fault != ROOST_FAULT_NONE || !(pkt->info->flags & ROOST_OPF_LAST))
		return fault;
	resp->msn = (resp->msn + 1) & 0xffffff;
	if (pkt->info->flags & ROOST_OPF_RWQE)
		roost_recv_complete(w, qp, pkt, ROOST_WC_SUCCESS);
	return ROOST_FAULT_NONE;
}
