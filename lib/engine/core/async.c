/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An async event becomes visible after all completions that happened before it.
 * So a worker holds its events back until it has published its completions. If
 * another worker still holds back entries of a shared CQ (cq_priv.h), maybe
 * entries of this worker too, the events wait until each worker has published
 * once more, one after the other: then every completion from before them is
 * published. The control thread is woken to see to that.
 *
 * With several workers all held events are under late.lock, as an SRQ's may
 * come from any of them.
 */

#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/probe.h"

static_assert(ROOST_EVENT_COUNT <= ROOST_EVENT_TYPES_MAX, "types of a source");

void roost_async_raise(struct roost_worker *w,
		       struct roost_event_source *source,
		       enum roost_async_event type)
{
	struct roost_dev *dev = w->dev;

	ROOST_PROBE(event, type);
	if (dev->nb_workers == 1) {
		roost_event_hold(&w->held_events, source, type);
		return;
	}
	roost_spin_lock(&dev->late.lock);
	roost_event_hold(&w->held_events, source, type);
	roost_spin_unlock(&dev->late.lock);
}

/* Raise the events of w, or leave them to tell_round(): other events wait
 * already, or a CQ has entries held back. Returns whether they are late.
 */
static bool raise_or_leave(struct roost_worker *w)
{
	struct roost_dev *dev = w->dev;
	bool late;

	roost_spin_lock(&dev->late.lock);
	late = !TAILQ_EMPTY(&dev->late.events) ||
	       atomic_load(&dev->late.nb_withheld_cqs) != 0;
	if (late)
		TAILQ_CONCAT(&dev->late.events, &w->held_events, held_link);
	else
		roost_event_batch_raise(&w->held_events);
	roost_spin_unlock(&dev->late.lock);
	return late;
}

static void ask_for_round(struct roost_dev *dev)
{
	atomic_store(&dev->late.any, true);
	roost_dev_service_wake(dev);
}

void roost_async_tell(struct roost_worker *w)
{
	if (TAILQ_EMPTY(&w->held_events))
		return;
	if (w->dev->nb_workers == 1) {
		roost_event_batch_raise(&w->held_events);
		return;
	}
	if (raise_or_leave(w))
		ask_for_round(w->dev);
}

void roost_async_tell_late(struct roost_dev *dev)
{
	roost_spin_lock(&dev->late.lock);
	roost_event_batch_raise(&dev->late.events);
	roost_spin_unlock(&dev->late.lock);
}

static bool has_late(struct roost_dev *dev)
{
	bool late;

	roost_spin_lock(&dev->late.lock);
	late = !TAILQ_EMPTY(&dev->late.events);
	roost_spin_unlock(&dev->late.lock);
	return late;
}

/* Raise the late events that there are now. The others of a worker stay behind
 * them meanwhile, as the list is not empty. Workers that raise events wait for
 * the lock, so it is held for one source at a time. Who raises one more of a
 * source that is in the list does not know that it is late.
 */
static void tell_round(struct roost_dev *dev)
{
	struct roost_event_source mark = { 0 };
	bool left = true, others = false;

	pthread_mutex_lock(&dev->late.telling);
	roost_spin_lock(&dev->late.lock);
	roost_event_batch_close(&dev->late.events, &mark);
	roost_spin_unlock(&dev->late.lock);
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_worker_turn_settle(dev->workers[i]);
	while (left) {
		roost_spin_lock(&dev->late.lock);
		left = roost_event_batch_raise_due(&dev->late.events, &mark);
		others = !TAILQ_EMPTY(&dev->late.events);
		roost_spin_unlock(&dev->late.lock);
	}
	pthread_mutex_unlock(&dev->late.telling);
	if (others)
		ask_for_round(dev);
}

void roost_async_pass(struct roost_dev *dev)
{
	roost_dev_turns_pass(dev);
	if (has_late(dev))
		tell_round(dev);
}

static uint64_t run(void *arg, uint64_t now_ns __attribute__((unused)))
{
	struct roost_dev *dev = arg;

	if (atomic_exchange(&dev->late.any, false))
		tell_round(dev);
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
