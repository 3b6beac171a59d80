/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: posting. No system call or log, one allocation in the life of a queue;
 * one lock per queue.
 */

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/ahead.h"
#include "lib/engine/core/arena.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/qp_priv.h"
#include "lib/engine/transport/raw_priv.h"
#include "lib/engine/core/probe.h"

#define SEND_FLAGS_KNOWN                                                       \
	(ROOST_SEND_FENCE | ROOST_SEND_SIGNALED | ROOST_SEND_SOLICITED |       \
	 ROOST_SEND_INLINE)

/* States in which send requests may be posted; in ERR and SQE they complete
 * flushed, in SQD they wait (IBTA 10.3.1).
 */
#define SEND_STATES                                                            \
	(1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD | 1u << ROOST_QPS_SQE |     \
	 1u << ROOST_QPS_ERR)
#define RECV_STATES (~(1u << ROOST_QPS_RESET))

/* Doorbell batching: the largest request that may wait (its payload costs less
 * than sending it alone), and the number of requests in flight from which it
 * waits: then the first acknowledgement is near, and a program that waits for
 * it comes to poll.
 */
#define SMALL_BYTES 1024u
#define BUSY_REQUESTS 16u

/* ---- send queue ------------------------------------------------------- */

void roost_qp_send_begin(struct roost_qp *qp)
{
	/* Before the lock, which waits for its own line and lets nothing
	 * overtake it.
	 */
	if (roost_ahead_pays(qp->worker))
		roost_ahead_qp(qp, ROOST_LINES_SEND);
	roost_queue_begin(&qp->sq);
	if (unlikely(!roost_queue_slots(&qp->sq)))
		roost_slots_take(&qp->worker->idle_slots, &qp->sq);
}

/* Check the length against the opcode, the QP type and inline data. */
static int check_length(const struct roost_qp *qp,
			const struct roost_wr_info *info,
			const struct roost_send_wr *wr, uint32_t *len_bytes)
{
	int ret;

	if (wr->nb_sges > qp->cap.max_send_sge)
		return -EINVAL;
	ret = roost_sge_total(wr->sges, wr->nb_sges, len_bytes);
	if (ret)
		return ret;
	if (wr->opcode == ROOST_WR_FLUSH)
		*len_bytes = wr->flush_len_bytes;
	if (info->len_bytes != 0 && *len_bytes != info->len_bytes)
		return -EINVAL;
	if (wr->flags & ROOST_SEND_INLINE &&
	    (*len_bytes > qp->cap.max_inline_bytes ||
	     info->response == ROOST_OP_ATOMIC_ACK ||
	     wr->opcode == ROOST_WR_READ || wr->opcode == ROOST_WR_FLUSH))
		return -EINVAL;
	return 0;
}

/* Both are found by number later, in the tables of the QP's device. */
static bool bind_valid(const struct roost_qp *qp,
		       const struct roost_mw_bind *bind)
{
	return bind->mw && bind->mw->pd->ctx == qp->pd->ctx &&
	       (!bind->mr || bind->mr->pd->ctx == qp->pd->ctx);
}

static int check_send(const struct roost_qp *qp, const struct roost_send_wr *wr,
		      uint32_t *len_bytes)
{
	const struct roost_wr_info *info;
	int ret;

	if (!(SEND_STATES & 1u << roost_qp_state_get(qp)))
		return -EINVAL;
	if (wr->opcode >= ROOST_WR_OPCODE_COUNT)
		return -EINVAL;
	info = &roost_wr_infos[wr->opcode];
	if (!(info->qp_types & 1u << qp->type))
		return -EINVAL;
	if (wr->flags &
	    ~(uint32_t)(qp->type == ROOST_QPT_RAW
				? SEND_FLAGS_KNOWN | ROOST_SEND_IP_CSUM
				: SEND_FLAGS_KNOWN))
		return -EINVAL;
	/* The contents of an AH are valid for its device, and for programs of
	 * its PD.
	 */
	if (qp->type == ROOST_QPT_UD &&
	    (!wr->ah || wr->ah->pd != qp->pd || wr->dest_qpn > 0xffffff))
		return -EINVAL;
	if (info->kind == ROOST_WR_KIND_RD_ATOMIC &&
	    qp->attr.max_rd_atomic == 0)
		return -EINVAL;
	if (wr->opcode == ROOST_WR_BIND_MW && !bind_valid(qp, &wr->bind))
		return -EINVAL;
	ret = check_length(qp, info, wr, len_bytes);
	return ret == 0 && qp->type == ROOST_QPT_RAW
		       ? roost_raw_check(qp, wr, *len_bytes)
		       : ret;
}

static void copy_inline(uint8_t *to, const struct roost_sge *sges,
			uint32_t nb_sges)
{
	for (uint32_t i = 0; i < nb_sges; i++) {
		memcpy(to, (const void *)(uintptr_t)sges[i].addr,
		       sges[i].len_bytes);
		to += sges[i].len_bytes;
	}
}

static void fill_bind(struct roost_mw_bind_wqe *bind,
		      const struct roost_send_wr *wr)
{
	*bind = (struct roost_mw_bind_wqe){
		.addr = wr->bind.addr,
		.len_bytes = wr->bind.len_bytes,
		.access = wr->bind.access,
		.rkey = wr->bind.rkey,
		.mw_id = wr->bind.mw->id,
		.mr_key = wr->bind.mr != NULL ? wr->bind.mr->key : 0,
	};
}

static void fill_target(const struct roost_qp *qp, struct roost_send_wqe *wqe,
			const struct roost_send_wr *wr)
{
	if (qp->type == ROOST_QPT_UD) {
		roost_ah_get(wr->ah);
		wqe->ud.ah = wr->ah;
		wqe->ud.qpn = wr->dest_qpn;
		wqe->ud.qkey = wr->qkey;
	} else {
		wqe->remote.va = wr->remote_addr;
		wqe->remote.rkey = wr->rkey;
		wqe->remote.flush_type = wr->flush_type;
		wqe->remote.flush_level = wr->flush_level;
	}
}

/* SGEs, or inline data. */
static size_t data_bytes(const struct roost_send_wr *wr, uint32_t len_bytes)
{
	return wr->flags & ROOST_SEND_INLINE
		       ? len_bytes
		       : wr->nb_sges * sizeof(wr->sges[0]);
}

/* True if data of the request lies in spill. */
static bool is_spilled(const struct roost_send_wr *wr, uint32_t len_bytes)
{
	return data_bytes(wr, len_bytes) > ROOST_WQE_NEAR_BYTES ||
	       roost_wr_infos[wr->opcode].response == ROOST_OP_ATOMIC_ACK ||
	       wr->opcode == ROOST_WR_BIND_MW || wr->opcode == ROOST_WR_TSO;
}

/* The first request that needs it is posted. Under the lock of sq. */
static __rte_noinline int make_spill(struct roost_qp *qp)
{
	qp->spill = roost_arena_alloc(&qp->dev->arena, roost_qp_spill_size(qp));
	return !qp->spill ? -ENOMEM : 0;
}

/* Fill the part of a request behind its head. */
static void fill_data(const struct roost_qp *qp, struct roost_send_wqe *wqe,
		      const struct roost_send_wr *wr,
		      const struct roost_wr_info *info, uint32_t len_bytes)
{
	bool is_inline = wr->flags & ROOST_SEND_INLINE;
	bool is_atomic = info->response == ROOST_OP_ATOMIC_ACK;
	size_t bytes = data_bytes(wr, len_bytes);
	uint8_t *to = wqe->near;

	if (is_atomic) {
		wqe->atomic.swap_add = wr->swap_add;
		wqe->atomic.compare = wr->compare;
	}
	wqe->flags = (uint8_t)wr->flags;
	if (is_atomic || bytes > sizeof(wqe->near)) {
		wqe->flags = (uint8_t)(wr->flags | ROOST_WQE_SPILLED);
		to = roost_wqe_spill(qp, wqe);
	}
	if (wr->opcode == ROOST_WR_BIND_MW)
		fill_bind(roost_wqe_spill(qp, wqe), wr);
	else if (is_inline)
		copy_inline(to, wr->sges, wr->nb_sges);
	else if (bytes > 0)
		memcpy(to, wr->sges, bytes);
}

/* In spill: SGEs, and the header behind them. */
static __rte_noinline void fill_tso(const struct roost_qp *qp,
				    struct roost_send_wqe *wqe,
				    const struct roost_send_wr *wr)
{
	const size_t bytes = wr->nb_sges * sizeof(wr->sges[0]);
	uint8_t *to = roost_wqe_spill(qp, wqe);

	wqe->tso.header_bytes = wr->tso.header_bytes;
	wqe->tso.mss_bytes = wr->tso.mss_bytes;
	wqe->flags = (uint8_t)(wr->flags | ROOST_WQE_SPILLED);
	if (bytes > 0)
		memcpy(to, wr->sges, bytes);
	memcpy(to + bytes, wr->tso.header, wr->tso.header_bytes);
}

/* Most requests: a SEND or a WRITE of an RC QP, of one SGE, that fits the cache
 * line of its slot.
 */
static __rte_always_inline bool is_plain(const struct roost_qp *qp,
					 const struct roost_send_wr *wr)
{
	return qp->type == ROOST_QPT_RC && wr->nb_sges == 1 &&
	       (wr->opcode == ROOST_WR_SEND || wr->opcode == ROOST_WR_WRITE) &&
	       !(wr->flags & ~(uint32_t)SEND_FLAGS_KNOWN) &&
	       (!(wr->flags & ROOST_SEND_INLINE) ||
		wr->sges->len_bytes <= ROOST_WQE_NEAR_BYTES);
}

/* Up to ROOST_WQE_NEAR_BYTES; no byte behind them is read. */
static __rte_always_inline void copy_near(uint8_t *to, const uint8_t *from,
					  uint32_t len_bytes)
{
	uint64_t low, high;

	if (len_bytes < sizeof(low)) {
		memcpy(to, from, len_bytes);
		return;
	}
	memcpy(&low, from, sizeof(low));
	memcpy(&high, from + len_bytes - sizeof(high), sizeof(high));
	memcpy(to, &low, sizeof(low));
	memcpy(to + len_bytes - sizeof(high), &high, sizeof(high));
}

/* As roost_qp_send_add(), of a plain request: the same checks, as far as it can
 * fail them.
 */
static __rte_always_inline int add_plain(struct roost_qp *qp,
					 const struct roost_send_wr *wr)
{
	const struct roost_sge *sge = wr->sges;
	const uint32_t len_bytes = sge->len_bytes;
	struct roost_send_wqe *wqe;

	if (!(SEND_STATES & 1u << roost_qp_state_get(qp)) ||
	    qp->cap.max_send_sge == 0 || len_bytes > 1u << 31)
		return -EINVAL;
	if (wr->flags & ROOST_SEND_INLINE &&
	    len_bytes > qp->cap.max_inline_bytes)
		return -EINVAL;
	if (roost_queue_is_full(&qp->sq, qp->cap.max_send_wr))
		return -ENOMEM;
	wqe = roost_queue_at(&qp->sq, qp->sq.added++);
	wqe->wr_id = wr->wr_id;
	wqe->len_bytes = len_bytes;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)wr->flags;
	wqe->remote.va = wr->remote_addr;
	wqe->remote.rkey = wr->rkey;
	wqe->nb_sges = !(wr->flags & ROOST_SEND_INLINE);
	if (wqe->nb_sges != 0)
		memcpy(wqe->near, sge, sizeof(*sge));
	else
		copy_near(wqe->near, (const void *)(uintptr_t)sge->addr,
			  len_bytes);
	ROOST_PROBE(post_send, qp->qpn, wr->wr_id, wqe->opcode, len_bytes);
	return 0;
}

int roost_qp_send_add(struct roost_qp *qp, const struct roost_send_wr *wr)
{
	struct roost_send_wqe *wqe;
	uint32_t len_bytes;
	int ret;

	if (is_plain(qp, wr))
		return add_plain(qp, wr);
	ret = check_send(qp, wr, &len_bytes);
	if (ret)
		return ret;
	if (roost_queue_is_full(&qp->sq, qp->cap.max_send_wr))
		return -ENOMEM;
	if (unlikely(!qp->spill) && is_spilled(wr, len_bytes) &&
	    make_spill(qp) != 0)
		return -ENOMEM;
	wqe = roost_queue_at(&qp->sq, qp->sq.added);
	wqe->wr_id = wr->wr_id;
	wqe->imm_be = wr->imm_be;
	wqe->xrc_srqn = wr->xrc_srqn;
	wqe->len_bytes = len_bytes;
	wqe->nb_sges = wr->flags & ROOST_SEND_INLINE ? 0 : (uint8_t)wr->nb_sges;
	wqe->opcode = (uint8_t)wr->opcode;
	if (unlikely(wr->opcode == ROOST_WR_TSO)) {
		fill_tso(qp, wqe, wr);
	} else {
		fill_target(qp, wqe, wr);
		fill_data(qp, wqe, wr, &roost_wr_infos[wr->opcode], len_bytes);
	}
	qp->sq.added++;
	ROOST_PROBE(post_send, qp->qpn, wr->wr_id, wqe->opcode, len_bytes);
	return 0;
}

bool roost_qp_send_can_wait(const struct roost_qp *qp, uint32_t waiting)
{
	const struct roost_queue *sq = &qp->sq;
	uint32_t head = atomic_load_explicit(&sq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	const struct roost_send_wqe *wqe = roost_queue_at(sq, head);

	return sq->added - head == 1 && wqe->len_bytes <= SMALL_BYTES &&
	       head - tail >= BUSY_REQUESTS + waiting;
}

void roost_qp_send_end(struct roost_qp *qp)
{
	if (roost_queue_end(&qp->sq))
		roost_worker_ring(qp->worker, qp);
}

void roost_qp_send_end_in_turn(struct roost_qp *qp)
{
	if (roost_queue_end(&qp->sq))
		roost_worker_look_at(qp->worker, qp);
}

void roost_qp_send_abort(struct roost_qp *qp)
{
	uint32_t head = atomic_load(&qp->sq.head);

	if (qp->type == ROOST_QPT_UD)
		for (uint32_t i = head; i != qp->sq.added; i++) {
			struct roost_send_wqe *wqe = roost_queue_at(&qp->sq, i);

			roost_ah_put(wqe->ud.ah);
		}
	qp->sq.added = head;
	roost_queue_end(&qp->sq);
}

/* ---- receive queues --------------------------------------------------- */

void roost_qp_recv_begin(struct roost_qp *qp)
{
	roost_queue_begin(&qp->rq);
}

int roost_qp_recv_add(struct roost_qp *qp, const struct roost_recv_wr *wr)
{
	int ret;

	if (!(RECV_STATES & 1u << roost_qp_state_get(qp)) || qp->srq ||
	    qp->ind_table || qp->type == ROOST_QPT_XRC_INI ||
	    qp->type == ROOST_QPT_XRC_TGT)
		return -EINVAL;
	ret = roost_queue_add_recv(&qp->rq, qp->cap.max_recv_wr,
				   qp->cap.max_recv_sge, wr);
	if (ret == 0)
		ROOST_PROBE(post_recv, qp->qpn, wr->wr_id);
	return ret;
}

void roost_qp_recv_end(struct roost_qp *qp)
{
	/* The responder reads head by itself; only a QP in ERR must be told to
	 * flush. The state is read while the queue is locked: roost_qp_to_err()
	 * waits for the lock, which makes a fence unnecessary here.
	 */
	bool in_err = roost_qp_state_get(qp) == ROOST_QPS_ERR;

	roost_queue_end(&qp->rq);
	if (in_err)
		roost_worker_ring(qp->worker, qp);
}

void roost_srq_recv_begin(struct roost_srq *srq)
{
	roost_queue_begin(&srq->queue);
}

int roost_srq_recv_add(struct roost_srq *srq, const struct roost_recv_wr *wr)
{
	return roost_queue_add_recv(&srq->queue, srq->max_wr, srq->max_sge, wr);
}

void roost_srq_recv_end(struct roost_srq *srq)
{
	roost_queue_end(&srq->queue);
}
