/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: posting. No allocation, system call or log; one lock per queue. */

#include <errno.h>

#include "lib/engine/qp_priv.h"
#include "lib/engine/worker_priv.h"

#define SEND_FLAGS_KNOWN                                                       \
	(ROOST_SEND_FENCE | ROOST_SEND_SIGNALED | ROOST_SEND_SOLICITED |       \
	 ROOST_SEND_INLINE)

/* States in which send requests may be posted; in ERR they complete flushed,
 * in SQD they wait (IBTA 10.3.1).
 */
#define SEND_STATES                                                            \
	(1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD | 1u << ROOST_QPS_SQE |     \
	 1u << ROOST_QPS_ERR)
#define RECV_STATES (~(1u << ROOST_QPS_RESET))

static bool is_full(const struct roost_queue *q, uint32_t max_wr)
{
	return q->added -
		       atomic_load_explicit(&q->tail, memory_order_acquire) >=
	       max_wr;
}

static void begin(struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	q->added = atomic_load_explicit(&q->head, memory_order_relaxed);
}

/* Sum of the lengths; more than 2^31 does not fit a message. */
static int total_length(const struct roost_sge *sges, uint32_t nb_sges,
			uint32_t *len_bytes)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < nb_sges; i++)
		total += sges[i].len_bytes;
	if (total > 1ull << 31)
		return -EINVAL;
	*len_bytes = (uint32_t)total;
	return 0;
}

/* ---- send queue ------------------------------------------------------- */

void roost_qp_send_begin(struct roost_qp *qp)
{
	begin(&qp->sq);
}

static void copy_inline(struct roost_send_wqe *wqe,
			const struct roost_sge *sges, uint32_t nb_sges)
{
	uint8_t *to = wqe->inline_data;

	for (uint32_t i = 0; i < nb_sges; i++) {
		memcpy(to, (const void *)(uintptr_t)sges[i].addr,
		       sges[i].len_bytes);
		to += sges[i].len_bytes;
	}
	wqe->nb_sges = 0;
}

static int check_send(const struct roost_qp *qp, const struct roost_send_wr *wr,
		      uint32_t *len_bytes)
{
	const struct roost_wr_info *info = roost_wr_info(wr->opcode);
	int rc;

	if (!(SEND_STATES & 1u << roost_qp_state_get(qp)))
		return -EINVAL;
	if (info == NULL || !(info->qp_types & 1u << qp->type))
		return -EINVAL;
	if (wr->flags & ~(uint32_t)SEND_FLAGS_KNOWN)
		return -EINVAL;
	if (wr->nb_sges > qp->cap.max_send_sge)
		return -EINVAL;
	rc = total_length(wr->sges, wr->nb_sges, len_bytes);
	if (rc != 0)
		return rc;
	if (wr->flags & ROOST_SEND_INLINE &&
	    *len_bytes > qp->cap.max_inline_bytes)
		return -EINVAL;
	return 0;
}

int roost_qp_send_add(struct roost_qp *qp, const struct roost_send_wr *wr)
{
	struct roost_send_wqe *wqe;
	uint32_t len_bytes;
	int rc;

	rc = check_send(qp, wr, &len_bytes);
	if (rc != 0)
		return rc;
	if (is_full(&qp->sq, qp->cap.max_send_wr))
		return -ENOMEM;
	wqe = roost_queue_at(&qp->sq, qp->sq.added);
	wqe->wr_id = wr->wr_id;
	wqe->remote_addr = wr->remote_addr;
	wqe->rkey = wr->rkey;
	wqe->imm_be = wr->imm_be;
	wqe->len_bytes = len_bytes;
	wqe->nb_sges = wr->nb_sges;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)wr->flags;
	if (wr->flags & ROOST_SEND_INLINE)
		copy_inline(wqe, wr->sges, wr->nb_sges);
	else if (wr->nb_sges > 0)
		memcpy(wqe->sges, wr->sges, wr->nb_sges * sizeof(wr->sges[0]));
	qp->sq.added++;
	return 0;
}

void roost_qp_send_end(struct roost_qp *qp)
{
	bool any = qp->sq.added !=
		   atomic_load_explicit(&qp->sq.head, memory_order_relaxed);

	atomic_store_explicit(&qp->sq.head, qp->sq.added, memory_order_release);
	roost_spin_unlock(&qp->sq.lock);
	if (any)
		roost_worker_ring(qp->dev->worker, qp);
}

void roost_qp_send_abort(struct roost_qp *qp)
{
	roost_spin_unlock(&qp->sq.lock);
}

/* ---- receive queue ---------------------------------------------------- */

void roost_qp_recv_begin(struct roost_qp *qp)
{
	begin(&qp->rq);
}

int roost_qp_recv_add(struct roost_qp *qp, const struct roost_recv_wr *wr)
{
	struct roost_recv_wqe *wqe;
	uint32_t len_bytes;
	int rc;

	if (!(RECV_STATES & 1u << roost_qp_state_get(qp)) ||
	    wr->nb_sges > qp->cap.max_recv_sge)
		return -EINVAL;
	rc = total_length(wr->sges, wr->nb_sges, &len_bytes);
	if (rc != 0)
		return rc;
	if (is_full(&qp->rq, qp->cap.max_recv_wr))
		return -ENOMEM;
	wqe = roost_queue_at(&qp->rq, qp->rq.added);
	wqe->wr_id = wr->wr_id;
	wqe->nb_sges = wr->nb_sges;
	wqe->len_bytes = len_bytes;
	if (wr->nb_sges > 0)
		memcpy(wqe->sges, wr->sges, wr->nb_sges * sizeof(wr->sges[0]));
	qp->rq.added++;
	return 0;
}

void roost_qp_recv_end(struct roost_qp *qp)
{
	atomic_store_explicit(&qp->rq.head, qp->rq.added, memory_order_release);
	roost_spin_unlock(&qp->rq.lock);
	/* The responder looks at head by itself; only a QP in ERR must be told
	 * to flush. Pairs with the fence in roost_qp_to_err().
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		roost_worker_ring(qp->dev->worker, qp);
}
