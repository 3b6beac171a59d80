/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The turns of all workers of a device, for changes of data that every worker
 * may read. They are always taken in the order of the workers' numbers, so that
 * two threads that take all of them do not deadlock.
 */

#include "lib/engine/core/worker_base.h"

void roost_dev_turns_pass(struct roost_dev *dev)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_worker_turn_pass(dev->workers[i], 0, NULL);
}

void roost_worker_turn_settle(struct roost_worker *w)
{
	roost_worker_turn_take(w);
	w->settle(w);
	roost_async_tell(w);
	roost_worker_turn_leave(w);
}

void roost_dev_turns_take(struct roost_dev *dev)
{
	pthread_mutex_lock(&dev->late.telling);
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_worker_turn_take(dev->workers[i]);
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		dev->workers[i]->settle(dev->workers[i]);
	roost_async_tell_late(dev);
}

void roost_dev_turns_release(struct roost_dev *dev)
{
	for (unsigned int i = dev->nb_workers; i-- > 0;)
		roost_worker_turn_leave(dev->workers[i]);
	pthread_mutex_unlock(&dev->late.telling);
}

static void add(struct roost_dev_counters *sum,
		const struct roost_dev_counters *c)
{
	const uint64_t *from = (const uint64_t *)c;
	uint64_t *to = (uint64_t *)sum;

	_Static_assert(sizeof(*c) % sizeof(*from) == 0,
		       "nothing but counters of one size");
	for (size_t i = 0; i < sizeof(*c) / sizeof(*from); i++)
		to[i] += from[i];
}

void roost_worker_counters(struct roost_worker *w, struct roost_dev_counters *c)
{
	roost_worker_turn_take(w);
	*c = w->counters;
	roost_worker_turn_leave(w);
}

void roost_dev_counters(struct roost_dev *dev, struct roost_dev_counters *c)
{
	struct roost_dev_counters one;

	*c = (struct roost_dev_counters){ 0 };
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		roost_worker_counters(dev->workers[i], &one);
		add(c, &one);
	}
	c->gone_reads = atomic_load(&dev->gone_reads);
	c->gone_writes = atomic_load(&dev->gone_writes);
}
