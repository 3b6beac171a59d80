/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_QUEUE_H
#define ROOST_ENGINE_CORE_QUEUE_H

/*
 * A work queue: a ring of fixed slots with free-running indices. The
 * application side owns the slots from the published head to the free end,
 * under the queue's lock; the worker owns the slots before the head, holding
 * the turn.
 *
 * As on hardware, a slot is free again when its completion was polled, not when
 * the completion was made: a program may post until the queue is full and poll
 * then, and a CQ with room for its queues is never overrun.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engine/core/spin.h"
#include <roost/types.h>

struct roost_arena;
struct roost_cq;

struct roost_queue {
	/* NULL: none while it is empty, see slots.h. Writer: under lock, while
	 * the worker has nothing to read there.
	 */
	_Atomic(uint8_t *) slots;
	uint32_t stride_bytes;
	uint32_t mask;         /* slots - 1 */
	_Atomic uint32_t head; /* published; release, pairs with the worker */
	_Atomic uint32_t tail; /* slots before are done; writer: worker */
	uint32_t added;        /* under lock: head to be */
	_Atomic uint32_t free_end; /* slots before are free again; writer: under
				    * lock */
	/* The CQ of the completions; NULL: a slot is free as soon as it is
	 * done.
	 */
	struct roost_cq *cq;
	struct roost_spin lock;
	/* Place in the CQ of the newest completion: when it was polled, all
	 * completions of this queue were.
	 */
	_Atomic uint32_t newest;
};

struct roost_recv_wr;

struct roost_recv_wqe {
	uint32_t nb_sges;
	uint32_t len_bytes; /* room in all sges */
	uint64_t wr_id;
	struct roost_sge sges[];
};

static inline uint8_t *roost_queue_slots(const struct roost_queue *q)
{
	return atomic_load_explicit(&q->slots, memory_order_relaxed);
}

static inline void roost_queue_set_slots(struct roost_queue *q, void *slots)
{
	atomic_store_explicit(&q->slots, slots, memory_order_relaxed);
}

static inline void *roost_queue_at(const struct roost_queue *q, uint32_t index)
{
	return roost_queue_slots(q) +
	       (size_t)(index & q->mask) * q->stride_bytes;
}

static inline uint32_t roost_queue_count(const struct roost_queue *q)
{
	return atomic_load_explicit(&q->head, memory_order_acquire) -
	       atomic_load_explicit(&q->tail, memory_order_acquire);
}

static inline uint32_t roost_queue_free_end(const struct roost_queue *q)
{
	return atomic_load_explicit(&q->free_end, memory_order_relaxed);
}

static inline size_t roost_recv_wqe_bytes(uint32_t nb_sges)
{
	return sizeof(struct roost_recv_wqe) +
	       nb_sges * sizeof(struct roost_sge);
}

/* Place in the CQ of the completion of a slot that is done. The place is stored
 * in the first word of the slot, in a cache line that the worker has just used.
 * Writer: holder of the turn.
 */
static inline _Atomic uint32_t *roost_queue_place(const struct roost_queue *q,
						  uint32_t index)
{
	return (_Atomic uint32_t *)roost_queue_at(q, index);
}

/* slots: a power of two; arena and cq may be NULL. Returns 0, -ENOMEM. */
int roost_queue_create(struct roost_queue *q, struct roost_arena *arena,
		       uint32_t slots, size_t slot_bytes, struct roost_cq *cq);
void roost_queue_destroy(struct roost_queue *q, struct roost_arena *arena);
/* Forget all posted requests; their completions have left the CQ already.
 * Holder of the turn.
 */
void roost_queue_clear(struct roost_queue *q);

/* The slot at index is done, and its completion is this entry of the CQ. The
 * caller moves tail afterwards. Holder of the turn.
 */
static inline void roost_queue_done(struct roost_queue *q, uint32_t index,
				    uint32_t entry)
{
	atomic_store_explicit(roost_queue_place(q, index), entry,
			      memory_order_relaxed);
	atomic_store_explicit(&q->newest, entry, memory_order_relaxed);
}

/* As roost_queue_done(), for a slot without a completion; entry:
 * roost_cq_no_entry().
 */
static inline void roost_queue_done_silently(struct roost_queue *q,
					     uint32_t index, uint32_t entry)
{
	atomic_store_explicit(roost_queue_place(q, index), entry,
			      memory_order_relaxed);
}

/* Wait until no thread is posting. The requests of threads that were posting
 * are published then, and threads that post later see what the caller stored
 * before.
 */
void roost_queue_wait(struct roost_queue *q);

/* Posting: lock, add, then publish what was added. */
void roost_queue_begin(struct roost_queue *q);
/* True if the application's side has no free slot, even after looking which
 * slots are free again.
 */
bool roost_queue_stays_full(struct roost_queue *q, uint32_t max_wr);
static inline bool roost_queue_is_full(struct roost_queue *q, uint32_t max_wr)
{
	return q->added - roost_queue_free_end(q) >= max_wr &&
	       roost_queue_stays_full(q, max_wr);
}
/* Was every completion of the slots that are done polled? Under lock. */
bool roost_queue_is_polled(struct roost_queue *q);
/* Returns whether anything was added. */
bool roost_queue_end(struct roost_queue *q);

/* Add a receive request. Returns 0, -EINVAL (sges), -ENOMEM (full). */
int roost_queue_add_recv(struct roost_queue *q, uint32_t max_wr,
			 uint32_t max_sge, const struct roost_recv_wr *wr);
/* Sum of the lengths, -EINVAL: more than the 2^31 of a message. */
static inline int roost_sge_total(const struct roost_sge *sges,
				  uint32_t nb_sges, uint32_t *len_bytes)
{
	uint64_t total = 0;

	if (__builtin_expect(nb_sges == 1, 1)) {
		*len_bytes = sges->len_bytes;
		return *len_bytes > 1u << 31 ? -EINVAL : 0;
	}
	for (uint32_t i = 0; i < nb_sges; i++)
		total += sges[i].len_bytes;
	if (total > 1ull << 31)
		return -EINVAL;
	*len_bytes = (uint32_t)total;
	return 0;
}

#endif
