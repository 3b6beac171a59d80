/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An async event becomes visible after all completions that happened before it.
 * So a worker holds its events back until it has published its completions. If
 * another worker still holds back entries of a shared CQ (cq_priv.h), maybe
 * entries of this worker too, the events wait until a thread holds all turns:
 * then every completion is published. The control thread is woken to take all
 * turns.
 */

#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/probe.h"

static_assert(ROOST_EVENT_COUNT <= ROOST_EVENT_TYPES_MAX, "types of a source");

void roost_async_raise(struct roost_worker *w,
		       struct roost_event_source *source,
		       enum roost_async_event type)
{
	ROOST_PROBE(event, type);
	roost_event_hold(&w->held_events, source, type);
}

/* Returns true when the events of w have to wait for all turns: other events
 * wait already, or a CQ has entries held back. The events of w are moved to
 * late.events then.
 */
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

void roost_async_tell_late(struct roost_dev *dev)
{
	struct roost_event_batch batch = TAILQ_HEAD_INITIALIZER(batch);

	roost_spin_lock(&dev->late.lock);
	TAILQ_CONCAT(&batch, &dev->late.events, held_link);
	roost_spin_unlock(&dev->late.lock);
	roost_event_batch_raise(&batch);
}

void roost_async_pass(struct roost_dev *dev)
{
	bool late;

	roost_spin_lock(&dev->late.lock);
	late = !TAILQ_EMPTY(&dev->late.events);
	roost_spin_unlock(&dev->late.lock);
	if (!late) {
		/* Who has them in hand, to raise them, holds all turns. */
		roost_dev_turns_pass(dev);
		return;
	}
	roost_dev_turns_take(dev);
	roost_dev_turns_release(dev);
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
