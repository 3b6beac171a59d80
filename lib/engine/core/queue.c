/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: posting. No allocation but at create, no system call or log; one lock
 * per queue.
 */

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/arena.h"
#include "lib/engine/core/cq_priv.h"
#include <roost/qp.h>
#include "lib/engine/core/queue.h"

static size_t slots_bytes(const struct roost_queue *q)
{
	return ((size_t)q->mask + 1) * q->stride_bytes;
}

int roost_queue_create(struct roost_queue *q, struct roost_arena *arena,
		       uint32_t slots, size_t slot_bytes, struct roost_cq *cq)
{
	*q = (struct roost_queue){
		.mask = slots - 1,
		.cq = cq,
		.stride_bytes = (uint32_t)RTE_ALIGN_CEIL(slot_bytes, 16u),
		.lock = ROOST_SPIN_INIT,
		.newest = cq != NULL ? roost_cq_no_entry(cq) : 0,
	};
	roost_queue_set_slots(q, roost_arena_alloc(arena, slots_bytes(q)));
	return !roost_queue_slots(q) ? -ENOMEM : 0;
}

void roost_queue_destroy(struct roost_queue *q, struct roost_arena *arena)
{
	roost_arena_free(arena, roost_queue_slots(q), slots_bytes(q));
	roost_queue_set_slots(q, NULL);
}

void roost_queue_clear(struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	atomic_store(&q->tail, atomic_load(&q->head));
	atomic_store(&q->free_end, atomic_load(&q->head));
	if (q->cq)
		atomic_store(&q->newest, roost_cq_no_entry(q->cq));
	roost_spin_unlock(&q->lock);
}

void roost_queue_wait(struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	roost_spin_unlock(&q->lock);
}

void roost_queue_begin(struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	q->added = atomic_load_explicit(&q->head, memory_order_relaxed);
}

/* The end of the slots that are done and whose completions were polled.
 * Computed only when the queue seems full.
 */
static uint32_t reclaim(struct roost_queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	uint32_t end = roost_queue_free_end(q);

	/* A completion newer than tail does not matter: it is polled later. */
	if (!q->cq ||
	    roost_cq_is_polled(q->cq,
			       atomic_load_explicit(&q->newest,
						    memory_order_relaxed)))
		end = tail;
	while (end != tail &&
	       roost_cq_is_polled(
		       q->cq, atomic_load_explicit(roost_queue_place(q, end),
						   memory_order_relaxed)))
		end++;
	atomic_store_explicit(&q->free_end, end, memory_order_relaxed);
	return end;
}

bool roost_queue_stays_full(struct roost_queue *q, uint32_t max_wr)
{
	return q->added - reclaim(q) >= max_wr;
}

bool roost_queue_is_polled(struct roost_queue *q)
{
	return reclaim(q) ==
	       atomic_load_explicit(&q->tail, memory_order_relaxed);
}

bool roost_queue_end(struct roost_queue *q)
{
	bool any = q->added !=
		   atomic_load_explicit(&q->head, memory_order_relaxed);

	atomic_store_explicit(&q->head, q->added, memory_order_release);
	roost_spin_unlock(&q->lock);
	return any;
}

int roost_queue_add_recv(struct roost_queue *q, uint32_t max_wr,
			 uint32_t max_sge, const struct roost_recv_wr *wr)
{
	struct roost_recv_wqe *wqe;
	uint32_t len_bytes;
	int ret;

	if (wr->nb_sges > max_sge)
		return -EINVAL;
	ret = roost_sge_total(wr->sges, wr->nb_sges, &len_bytes);
	if (ret)
		return ret;
	if (roost_queue_is_full(q, max_wr))
		return -ENOMEM;
	wqe = roost_queue_at(q, q->added);
	wqe->wr_id = wr->wr_id;
	wqe->nb_sges = wr->nb_sges;
	wqe->len_bytes = len_bytes;
	if (likely(wr->nb_sges == 1))
		wqe->sges[0] = wr->sges[0];
	else if (wr->nb_sges > 0)
		memcpy(wqe->sges, wr->sges, wr->nb_sges * sizeof(wr->sges[0]));
	q->added++;
	return 0;
}
