/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SLOTS_H
#define ROOST_ENGINE_CORE_SLOTS_H

/*
 * Slots of send queues that go from one queue to the next one. Each slot is a
 * cache line that a post writes. Of thousands of QPs that send bursts in turn,
 * each would write its burst to lines that are in no cache, and drive out those
 * of others. So the worker takes the slots of a queue that has sent a burst and
 * is empty, and the next queue of that size that is posted to and has none gets
 * them: the last ones that were used, which are in the cache.
 *
 * Every queue is created with slots, so there are as many free ones here as
 * there are queues without. For lib/engine only. Hot: no allocation, system
 * call or log.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/queue.h"

/* Fewer requests that are done at once are no burst: to take the slots and to
 * get others costs as much as it saves.
 */
#define ROOST_SLOTS_BURST 8u
/* Queues that have sent a burst and whose completions were not polled. Of more,
 * the oldest keep their slots.
 */
#define ROOST_SLOTS_EMPTIED 4u
/* Sizes of a queue, by its power of two. */
#define ROOST_SLOTS_SIZES 16u

/* Of a worker. Zero-filled at first. */
struct roost_slots {
	struct roost_spin lock;
	/* Under lock. By size: free slots, each of which begins with a pointer
	 * to the next ones.
	 */
	void *free[ROOST_SLOTS_SIZES];
	/* Holder of the turn. */
	struct roost_queue *emptied[ROOST_SLOTS_EMPTIED];
	uint32_t next; /* place of the next one there */
};

/* Give slots to a queue that has none. Thread: holder of the queue's lock, or
 * nobody else knows the queue.
 */
void roost_slots_take(struct roost_slots *slots, struct roost_queue *q);

/* A burst of the queue is done, and it is empty: take its slots once its
 * completions were polled. Holder of the turn.
 */
void roost_slots_emptied(struct roost_slots *slots, struct roost_queue *q);

/* The queue will be destroyed. Holder of the turn. */
void roost_slots_forget(struct roost_slots *slots, const struct roost_queue *q);

#endif
