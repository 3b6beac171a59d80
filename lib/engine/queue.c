/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: posting. No allocation but at create, no system call or log; one lock
 * per queue.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "lib/engine/cq_priv.h"
#include "lib/engine/qp.h"
#include "lib/engine/queue.h"

/* What stands before the slots: the places. */
static size_t places_bytes(const struct roost_queue *q)
{
	return q->cq == NULL ? 0
			     : RTE_ALIGN_CEIL(((size_t)q->mask + 1) *
						      sizeof(uint32_t),
					      64u);
}

int roost_queue_create(struct roost_queue *q, uint32_t slots, size_t slot_bytes,
		       struct roost_cq *cq)
{
	uint8_t *memory;

	*q = (struct roost_queue){
		.mask = slots - 1,
		.cq = cq,
		.stride_bytes = (uint32_t)RTE_ALIGN_CEIL(slot_bytes, 16u),
		.lock = ROOST_SPIN_INIT,
		.newest = cq != NULL ? roost_cq_no_entry(cq) : 0,
	};
	memory = aligned_alloc(
		64,
		places_bytes(q) +
			RTE_ALIGN_CEIL((size_t)slots * q->stride_bytes, 64u));
	if (memory == NULL)
		return -ENOMEM;
	q->slots = memory + places_bytes(q);
	for (uint32_t i = 0; cq != NULL && i < slots; i++)
		atomic_init(roost_queue_place(q, i), q->newest);
	return 0;
}

void roost_queue_destroy(struct roost_queue *q)
{
	if (q->slots != NULL)
		free(q->slots - places_bytes(q));
	q->slots = NULL;
}

void roost_queue_clear(struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	q->free_end = atomic_load(&q->head);
	atomic_store(&q->tail, q->free_end);
	if (q->cq != NULL)
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

/* Slots that are done, and whose completions were polled. Looked at when the
 * queue seems full only.
 */
static void reclaim(struct roost_queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);

	/* What is newer than tail does not matter: it is polled later. */
	if (q->cq == NULL ||
	    roost_cq_is_polled(q->cq,
			       atomic_load_explicit(&q->newest,
						    memory_order_relaxed))) {
		q->free_end = tail;
		return;
	}
	while (q->free_end != tail &&
	       roost_cq_is_polled(
		       q->cq,
		       atomic_load_explicit(roost_queue_place(q, q->free_end),
					    memory_order_relaxed)))
		q->free_end++;
}

bool roost_queue_stays_full(struct roost_queue *q, uint32_t max_wr)
{
	reclaim(q);
	return q->added - q->free_end >= max_wr;
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
	int rc;

	if (wr->nb_sges > max_sge)
		return -EINVAL;
	rc = roost_sge_total(wr->sges, wr->nb_sges, &len_bytes);
	if (rc != 0)
		return rc;
	if (roost_queue_is_full(q, max_wr))
		return -ENOMEM;
	wqe = roost_queue_at(q, q->added);
	wqe->wr_id = wr->wr_id;
	wqe->nb_sges = wr->nb_sges;
	wqe->len_bytes = len_bytes;
	if (wr->nb_sges > 0)
		memcpy(wqe->sges, wr->sges, wr->nb_sges * sizeof(wr->sges[0]));
	q->added++;
	return 0;
}
