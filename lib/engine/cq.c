/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: push, publish and poll. No allocation, system call, log, and no lock
 * but the consumers' own; an event costs one write to an eventfd.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "lib/engine/cq_priv.h"
#include "lib/engine/worker.h"
#include "lib/engine/worker_priv.h"

static struct roost_cqe *ring_alloc(uint32_t entries)
{
	return aligned_alloc(64,
			     RTE_ALIGN_CEIL(entries * sizeof(struct roost_cqe),
					    64u));
}

int roost_cq_create(struct roost_ctx *ctx, uint32_t cqe,
		    struct roost_channel *channel, void *owner,
		    struct roost_cq **cq)
{
	struct roost_cq *c;

	if (cqe == 0 || cqe > roost_dev_limits(ctx->dev)->max_cqe)
		return -EINVAL;
	c = aligned_alloc(64, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	*c = (struct roost_cq){
		.ctx = ctx,
		.mask = rte_align32pow2(cqe) - 1,
		.lock = ROOST_SPIN_INIT,
	};
	c->ring = ring_alloc(c->mask + 1);
	if (c->ring == NULL) {
		free(c);
		return -ENOMEM;
	}
	LIST_INIT(&c->users);
	LIST_INIT(&c->srqs);
	roost_event_source_init(&c->comp, channel, owner);
	roost_event_source_init(&c->async, ctx->async, owner);
	atomic_fetch_add(&ctx->refs, 1);
	c->handle = atomic_fetch_add(&ctx->dev->next_cq_handle, 1);
	pthread_mutex_lock(&ctx->dev->all.lock);
	LIST_INSERT_HEAD(&ctx->dev->all.cqs, c, all_link);
	pthread_mutex_unlock(&ctx->dev->all.lock);
	*cq = c;
	return 0;
}

void roost_cq_ignore_overrun(struct roost_cq *cq)
{
	cq->ignore_overrun = true;
}

int roost_cq_destroy(struct roost_cq *cq, uint64_t *comp_acked,
		     uint64_t *async_acked)
{
	struct roost_worker *w = cq->ctx->dev->worker;
	uint64_t comp, async;

	if (atomic_load(&cq->refs) != 0)
		return -EBUSY;
	roost_worker_turn_take(w);
	if (cq->dirty)
		roost_worker_forget_cq(w, cq);
	roost_worker_turn_release(w);
	comp = roost_event_source_fini(&cq->comp);
	async = roost_event_source_fini(&cq->async);
	pthread_mutex_lock(&cq->ctx->dev->all.lock);
	LIST_REMOVE(cq, all_link);
	pthread_mutex_unlock(&cq->ctx->dev->all.lock);
	if (comp_acked != NULL)
		*comp_acked = comp;
	if (async_acked != NULL)
		*async_acked = async;
	atomic_fetch_sub(&cq->ctx->refs, 1);
	free(cq->ring);
	free(cq);
	return 0;
}

uint32_t roost_cq_entries(const struct roost_cq *cq)
{
	return cq->mask + 1;
}

struct roost_event_source *roost_cq_comp_source(struct roost_cq *cq)
{
	return &cq->comp;
}

struct roost_event_source *roost_cq_async_source(struct roost_cq *cq)
{
	return &cq->async;
}

int roost_cq_resize(struct roost_cq *cq, uint32_t cqe)
{
	struct roost_worker *w = cq->ctx->dev->worker;
	uint32_t entries, consumed, count;
	struct roost_cqe *ring;
	int rc = 0;

	if (cqe == 0 || cqe > roost_dev_limits(cq->ctx->dev)->max_cqe)
		return -EINVAL;
	entries = rte_align32pow2(cqe);
	ring = ring_alloc(entries);
	if (ring == NULL)
		return -ENOMEM;
	/* In this order: who polls in the open may wait for the turn. */
	roost_spin_lock(&cq->lock);
	roost_worker_turn_take(w);
	consumed = atomic_load(&cq->consumed);
	count = cq->produced - consumed;
	if (count > entries) {
		rc = -EINVAL;
	} else {
		struct roost_cqe *old = cq->ring;

		for (uint32_t i = consumed; i != cq->produced; i++)
			ring[i & (entries - 1)] = old[i & cq->mask];
		cq->ring = ring;
		cq->mask = entries - 1;
		ring = old;
	}
	roost_worker_turn_release(w);
	roost_spin_unlock(&cq->lock);
	free(ring);
	return rc;
}

/* ---- producer --------------------------------------------------------- */

uint32_t roost_cq_push(struct roost_worker *w, struct roost_cq *cq,
		       const struct roost_cqe *cqe)
{
	uint32_t place = roost_cq_no_entry(cq);
	struct roost_cqe *slot;

	if (cq->overrun)
		return place;
	if (cq->produced -
		    atomic_load_explicit(&cq->consumed, memory_order_acquire) >
	    cq->mask) {
		if (cq->ignore_overrun)
			return place;
		cq->overrun = true;
	} else {
		place = cq->produced++;
		slot = &cq->ring[place & cq->mask];
		*slot = *cqe;
		slot->timestamp_ns = w->now_ns;
		cq->solicited |= cqe->solicited;
	}
	if (!cq->dirty) {
		cq->dirty = true;
		TAILQ_INSERT_TAIL(&w->dirty_cqs, cq, dirty_link);
	}
	return place;
}

/*
 * No event is lost between arming and adding. The consumer writes armed, then
 * reads published (it must poll once more after arming); here published is
 * written, then armed is read; each side has a full barrier between the two.
 * So either the consumer's poll sees the entry, or we see that it armed.
 * Without a channel there is nowhere to put an event, and nothing to be lost.
 */
void roost_cq_publish(struct roost_cq *cq)
{
	uint32_t fits =
		cq->solicited ? ROOST_CQ_ARMED_SOLICITED : ROOST_CQ_ARMED_ANY;

	cq->solicited = false;
	atomic_store_explicit(&cq->published, cq->produced,
			      memory_order_release);
	if (cq->comp.channel != NULL)
		atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&cq->armed, memory_order_relaxed) < fits)
		return;
	if (atomic_exchange(&cq->armed, ROOST_CQ_UNARMED) != ROOST_CQ_UNARMED)
		roost_event_raise(&cq->comp, ROOST_EVENT_COMPLETION, 0);
}

/* ---- consumers -------------------------------------------------------- */

void roost_cq_arm(struct roost_cq *cq, bool solicited_only)
{
	uint32_t want =
		solicited_only ? ROOST_CQ_ARMED_SOLICITED : ROOST_CQ_ARMED_ANY;
	uint32_t have = atomic_load(&cq->armed);

	while (have < want &&
	       !atomic_compare_exchange_weak(&cq->armed, &have, want))
		;
	/* Pairs with the fence of publish. */
	atomic_thread_fence(memory_order_seq_cst);
}

/* Looked at before published, so that what was in time is polled first. */
static bool has_failed(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->overrun_told, memory_order_acquire);
}

/* Nothing to be polled, and none of the CQ's last errors to be told? Seen
 * without the lock: a program that polls finds nothing, most of the time, and
 * may well be told so as of a moment ago.
 */
static bool is_idle(const struct roost_cq *cq)
{
	bool failed = has_failed(cq);

	return !failed &&
	       atomic_load_explicit(&cq->shown, memory_order_relaxed) ==
		       atomic_load_explicit(&cq->published,
					    memory_order_acquire);
}

int roost_cq_poll(struct roost_cq *cq, unsigned int n, struct roost_cqe *cqes)
{
	uint32_t first, available;
	bool failed;

	if (is_idle(cq))
		return 0;
	roost_spin_lock(&cq->lock);
	failed = has_failed(cq);
	first = atomic_load_explicit(&cq->consumed, memory_order_relaxed);
	available = atomic_load_explicit(&cq->published, memory_order_acquire) -
		    first;
	if (available == 0) {
		roost_spin_unlock(&cq->lock);
		return n > 0 && failed ? -EIO : 0;
	}
	if (n > available)
		n = available;
	for (unsigned int i = 0; i < n; i++)
		cqes[i] = cq->ring[(first + i) & cq->mask];
	atomic_store_explicit(&cq->consumed, first + n, memory_order_release);
	atomic_store_explicit(&cq->shown, first + n, memory_order_release);
	roost_spin_unlock(&cq->lock);
	return (int)n;
}

/* The entry behind those that were shown, while the lock is held. */
static bool show(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	uint32_t next = atomic_load_explicit(&cq->shown, memory_order_relaxed);

	if (next == atomic_load_explicit(&cq->published, memory_order_acquire))
		return false;
	*cqe = &cq->ring[next & cq->mask];
	atomic_store_explicit(&cq->shown, next + 1, memory_order_release);
	return true;
}

int roost_cq_poll_begin(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	bool failed;

	if (is_idle(cq))
		return -ENOENT;
	roost_spin_lock(&cq->lock);
	failed = has_failed(cq);
	if (show(cq, cqe))
		return 0;
	roost_spin_unlock(&cq->lock);
	return failed ? -EIO : -ENOENT;
}

int roost_cq_poll_next(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	return show(cq, cqe) ? 0 : -ENOENT;
}

void roost_cq_poll_end(struct roost_cq *cq)
{
	atomic_store_explicit(&cq->consumed,
			      atomic_load_explicit(&cq->shown,
						   memory_order_relaxed),
			      memory_order_release);
	roost_spin_unlock(&cq->lock);
}
