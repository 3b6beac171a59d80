/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot, see slots.h. */

#include "lib/engine/core/slots.h"

#include <string.h>

static void **free_of(struct roost_slots *slots, const struct roost_queue *q)
{
	return &slots->free[__builtin_popcount(q->mask)];
}

void roost_slots_take(struct roost_slots *slots, struct roost_queue *q)
{
	void **top = free_of(slots, q);
	void *own;

	roost_spin_lock(&slots->lock);
	own = *top;
	memcpy(top, own, sizeof(*top));
	roost_spin_unlock(&slots->lock);
	roost_queue_set_slots(q, own);
}

/* Holder of the queue's lock, too. Returns false: another thread is here. */
static bool give(struct roost_slots *slots, struct roost_queue *q)
{
	void **top = free_of(slots, q);
	void *own = roost_queue_slots(q);

	if (!roost_spin_try(&slots->lock))
		return false;
	roost_queue_set_slots(q, NULL);
	memcpy(own, top, sizeof(*top));
	*top = own;
	roost_spin_unlock(&slots->lock);
	return true;
}

/* Returns false: to be looked at again, for its completions were not polled. A
 * queue that is posted to will be told again.
 */
static bool is_settled(struct roost_slots *slots, struct roost_queue *q)
{
	bool settled = true;

	if (!roost_spin_try(&q->lock))
		return true;
	if (roost_queue_count(q) == 0)
		settled = roost_queue_is_polled(q) && give(slots, q);
	roost_spin_unlock(&q->lock);
	return settled;
}

void roost_slots_emptied(struct roost_slots *slots, struct roost_queue *q)
{
	for (unsigned int i = 0; i < ROOST_SLOTS_EMPTIED; i++) {
		if (slots->emptied[i] == q)
			slots->emptied[i] = NULL;
		if (slots->emptied[i] && is_settled(slots, slots->emptied[i]))
			slots->emptied[i] = NULL;
	}
	slots->emptied[slots->next++ % ROOST_SLOTS_EMPTIED] = q;
}

void roost_slots_forget(struct roost_slots *slots, const struct roost_queue *q)
{
	for (unsigned int i = 0; i < ROOST_SLOTS_EMPTIED; i++)
		if (slots->emptied[i] == q)
			slots->emptied[i] = NULL;
}
