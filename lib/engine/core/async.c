/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Async events follow the publication of every completion that happened before
 * them. So a worker holds them back until it has published. Where another
 * worker still withholds entries of a CQ that they share (cq_priv.h), maybe
 * some of ours, the events wait until somebody has all turns: then nothing is
 * unpublished. The control thread is asked to see to that.
 */

#include "lib/engine/core/worker_base.h"

void roost_async_raise(struct roost_worker *w,
		       struct roost_event_source *source,
		       enum roost_async_event type)
{
	roost_event_hold(&w->held_events, source, type);
}

/* Behind those that are late already, or late themselves? Then they are. */
static bool is_late(struct roost_worker *w)
{
	struct roost_dev *dev = w->dev;
	bool late;

	if (dev->nb_workers == 1)
		return false;
	roost_spin_lock(&dev->late.lock);
	late = !TAILQ_EMPTY(&dev->late.events) ||
	       atomic_load(&dev->late.nb_withheld_cqs) != 0;
	if (late)
		TAILQ_CONCAT(&dev->late.events, &w->held_events, held_link);
	roost_spin_unlock(&dev->late.lock);
	return late;
}

void roost_async_tell(struct roost_worker *w)
{
	if (TAILQ_EMPTY(&w->held_events))
		return;
	if (!is_late(w)) {
		roost_event_batch_raise(&w->held_events);
		return;
	}
	atomic_store(&w->dev->late.any, true);
	roost_dev_service_wake(w->dev);
}

/* Who has all turns needs no lock. */
void roost_async_tell_late(struct roost_dev *dev)
{
	roost_event_batch_raise(&dev->late.events);
}

static uint64_t run(void *arg, uint64_t now_ns __attribute__((unused)))
{
	struct roost_dev *dev = arg;

	if (!atomic_exchange(&dev->late.any, false))
		return UINT64_MAX;
	roost_dev_turns_take(dev);
	roost_dev_turns_release(dev);
	return UINT64_MAX;
}

void roost_async_init(struct roost_dev *dev)
{
	TAILQ_INIT(&dev->late.events);
	dev->late.service = (struct roost_dev_service){
		.run = run,
		.arg = dev,
	};
	if (dev->nb_workers > 1)
		TAILQ_INSERT_TAIL(&dev->services, &dev->late.service, link);
}
