/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: push, publish and poll. No allocation, system call, log, and no lock
 * but the consumers' own; an event costs one write to an eventfd.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lib/engine/core/cq_push.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/workers.h"

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
	if (!c)
		return -ENOMEM;
	*c = (struct roost_cq){
		.ctx = ctx,
		.mask = rte_align32pow2(cqe) - 1,
		.lock = ROOST_SPIN_INIT,
		.produce_lock = ROOST_SPIN_INIT,
	};
	c->ring = ring_alloc(c->mask + 1);
	if (!c->ring) {
		free(c);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < ROOST_DEV_WORKERS_MAX; i++)
		c->parts[i].cq = c;
	LIST_INIT(&c->senders);
	LIST_INIT(&c->receivers);
	LIST_INIT(&c->wqs);
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

static bool is_overrun(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->overrun, memory_order_relaxed);
}

/* Take the CQ off the list of overrun.c. Under users_lock. */
static void forget_overrun(struct roost_cq *cq)
{
	struct roost_dev *dev = cq->ctx->dev;

	if (!is_overrun(cq))
		return;
	roost_spin_lock(&dev->overruns.lock);
	if (cq->in_overruns)
		LIST_REMOVE(cq, overrun_link);
	cq->in_overruns = false;
	roost_spin_unlock(&dev->overruns.lock);
}

/* Each worker publishes what it has pushed: one turn after the other. */
static void publish_all(struct roost_cq *cq)
{
	struct roost_dev *dev = cq->ctx->dev;

	for (unsigned int i = 0; i < dev->nb_workers; i++)
		if (roost_cq_is_dirty(cq, i))
			roost_worker_turn_settle(dev->workers[i]);
}

void roost_cq_settle(struct roost_cq *cq)
{
	bool withheld;

	roost_spin_lock(&cq->produce_lock);
	withheld = cq->withheld;
	roost_spin_unlock(&cq->produce_lock);
	if (withheld)
		publish_all(cq);
}

int roost_cq_destroy(struct roost_cq *cq, uint64_t *comp_acked,
		     uint64_t *async_acked)
{
	struct roost_dev *dev = cq->ctx->dev;
	uint64_t comp, async;

	if (atomic_load(&cq->refs) != 0)
		return -EBUSY;
	/* It has no users: no worker has anything to publish here afterwards,
	 * nor is about to.
	 */
	publish_all(cq);
	roost_dev_turns_pass(dev);
	pthread_mutex_lock(&dev->users_lock);
	forget_overrun(cq);
	if (cq->of_xrc)
		LIST_REMOVE(cq, xrc_link);
	pthread_mutex_unlock(&dev->users_lock);
	roost_async_pass(dev);
	comp = roost_event_source_fini(&cq->comp);
	async = roost_event_source_fini(&cq->async);
	pthread_mutex_lock(&dev->all.lock);
	LIST_REMOVE(cq, all_link);
	pthread_mutex_unlock(&dev->all.lock);
	if (comp_acked)
		*comp_acked = comp;
	if (async_acked)
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

/* No worker writes entries, and nobody polls. In this order: a thread between
 * poll_begin and poll_end may wait for the turn. Returns the worker whose turn
 * is taken, or NULL: only produce_lock keeps workers out, or there are none.
 */
static struct roost_worker *hold_ring(struct roost_cq *cq)
{
	struct roost_dev *dev = cq->ctx->dev;
	struct roost_worker *w = NULL;
	uint32_t workers;

	roost_spin_lock(&cq->lock);
	pthread_mutex_lock(&dev->users_lock);
	workers = atomic_load(&cq->workers);
	if (workers != 0 && !roost_cq_is_shared(cq)) {
		w = dev->workers[__builtin_ctz(workers)];
		roost_worker_turn_take(w);
	}
	roost_spin_lock(&cq->produce_lock);
	return w;
}

static void let_go_of_ring(struct roost_cq *cq, struct roost_worker *w)
{
	roost_spin_unlock(&cq->produce_lock);
	if (w)
		roost_worker_turn_leave(w);
	pthread_mutex_unlock(&cq->ctx->dev->users_lock);
	roost_spin_unlock(&cq->lock);
}

int roost_cq_resize(struct roost_cq *cq, uint32_t cqe)
{
	struct roost_worker *w;
	uint32_t entries, consumed, count;
	struct roost_cqe *ring;
	int ret = 0;

	if (cqe == 0 || cqe > roost_dev_limits(cq->ctx->dev)->max_cqe)
		return -EINVAL;
	entries = rte_align32pow2(cqe);
	ring = ring_alloc(entries);
	if (!ring)
		return -ENOMEM;
	w = hold_ring(cq);
	consumed = atomic_load(&cq->consumed);
	count = cq->produced - consumed;
	if (count > entries) {
		ret = -EINVAL;
	} else {
		struct roost_cqe *old = cq->ring;

		for (uint32_t i = consumed; i != cq->produced; i++)
			ring[i & (entries - 1)] = old[i & cq->mask];
		cq->ring = ring;
		cq->mask = entries - 1;
		ring = old;
	}
	let_go_of_ring(cq, w);
	free(ring);
	return ret;
}

/* ---- users -------------------------------------------------------------- */

static bool is_several(uint32_t workers)
{
	return (workers & (workers - 1)) != 0;
}

/* One worker alone has users: it may be pushing an entry without the lock. */
static void begin_sharing(struct roost_cq *cq, unsigned int worker)
{
	struct roost_worker *w = cq->ctx->dev->workers[worker];

	atomic_store(&cq->shared, true);
	roost_worker_turn_take(w);
	cq->parts[worker].open = false;
	roost_worker_turn_leave(w);
}

void roost_cq_join(struct roost_cq *cq, unsigned int worker)
{
	uint32_t workers = atomic_load(&cq->workers) | 1u << worker;

	if (cq->nb_users[worker]++ != 0)
		return;
	atomic_store(&cq->workers, workers);
	if (!is_several(workers) || roost_cq_is_shared(cq))
		return;
	begin_sharing(cq,
		      (unsigned int)__builtin_ctz(workers & ~(1u << worker)));
}

/* One worker's users are left. The CQ stays shared if another worker has
 * entries to publish still: only the next one that leaves comes here again.
 */
static void end_sharing(struct roost_cq *cq, unsigned int worker)
{
	struct roost_dev *dev = cq->ctx->dev;
	bool needed;

	roost_worker_turn_take(dev->workers[worker]);
	roost_spin_lock(&cq->produce_lock);
	needed = cq->withheld;
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		needed |= i != worker && roost_cq_is_dirty(cq, i);
	roost_spin_unlock(&cq->produce_lock);
	atomic_store(&cq->shared, needed);
	roost_worker_turn_leave(dev->workers[worker]);
}

void roost_cq_leave(struct roost_cq *cq, unsigned int worker)
{
	uint32_t workers = atomic_load(&cq->workers) & ~(1u << worker);

	if (--cq->nb_users[worker] != 0)
		return;
	atomic_store(&cq->workers, workers);
	if (workers != 0 && !is_several(workers) && roost_cq_is_shared(cq))
		end_sharing(cq, (unsigned int)__builtin_ctz(workers));
}

void roost_cq_join_all(struct roost_cq *cq)
{
	for (unsigned int i = 0; i < cq->ctx->dev->nb_workers; i++)
		roost_cq_join(cq, i);
}

void roost_cq_leave_all(struct roost_cq *cq)
{
	for (unsigned int i = 0; i < cq->ctx->dev->nb_workers; i++)
		roost_cq_leave(cq, i);
}

uint32_t roost_cq_workers(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->workers, memory_order_relaxed);
}

/* ---- producer --------------------------------------------------------- */

static void make_dirty(struct roost_worker *w, struct roost_cq *cq,
		       uint32_t first, bool shared)
{
	struct roost_cq_part *part = &cq->parts[w->index];

	if (roost_cq_is_dirty(cq, w->index))
		return;
	atomic_store_explicit(&part->dirty, true, memory_order_relaxed);
	part->open = !shared;
	part->first = first;
	TAILQ_INSERT_TAIL(&w->dirty_cqs, part, dirty_link);
}

struct roost_cqe *roost_cq_push_slow(struct roost_worker *w,
				     struct roost_cq *cq, uint32_t *place)
{
	struct roost_cqe *cqe = &w->lost_cqe;
	bool shared = roost_cq_is_shared(cq);
	uint32_t first;

	if (shared)
		roost_spin_lock(&cq->produce_lock);
	*place = roost_cq_no_entry(cq);
	if (is_overrun(cq))
		return cqe;
	if (cq->produced -
		    atomic_load_explicit(&cq->consumed, memory_order_acquire) <=
	    cq->mask) {
		first = cq->produced++;
		*place = first;
		cqe = &cq->ring[first & cq->mask];
	} else if (!cq->ignore_overrun) {
		atomic_store_explicit(&cq->overrun, true, memory_order_relaxed);
		/* The place behind all entries. */
		first = cq->produced;
	} else {
		return cqe;
	}
	make_dirty(w, cq, first, shared);
	return cqe;
}

uint32_t roost_cq_push(struct roost_worker *w, struct roost_cq *cq,
		       const struct roost_cqe *cqe)
{
	uint32_t place;
	struct roost_cqe *slot = roost_cq_push_begin(w, cq, &place);

	*slot = *cqe;
	roost_cq_push_end(w, cq, slot);
	return place;
}

/* Under produce_lock: the entries before this one are published now, or may
 * be.
 */
static uint32_t publishable(const struct roost_cq *cq)
{
	uint32_t end = cq->produced;

	for (unsigned int i = 0; i < cq->ctx->dev->nb_workers; i++)
		if (roost_cq_is_dirty(cq, i) &&
		    (int32_t)(cq->parts[i].first - end) < 0)
			end = cq->parts[i].first;
	return end;
}

/* Note whether entries wait for another worker. Under produce_lock. */
static void withhold(struct roost_cq *cq, bool some)
{
	if (cq->withheld == some)
		return;
	cq->withheld = some;
	atomic_fetch_add(&cq->ctx->dev->late.nb_withheld_cqs, some ? 1u : -1u);
}

/* Before the entries are published: cleaning moves entries that are. */
static inline void tell_solicited(struct roost_cq *cq, uint32_t fits,
				  uint32_t end)
{
	if (cq->comp.channel && fits == ROOST_CQ_ARMED_SOLICITED)
		atomic_store_explicit(&cq->solicited_end, end,
				      memory_order_relaxed);
}

/* Returns the lowest arming (enum roost_cq_armed) that raises an event. */
static __rte_noinline uint32_t publish_shared(struct roost_cq *cq,
					      struct roost_cq_part *part)
{
	uint32_t fits = ROOST_CQ_ARMED_ANY, begin, end;

	roost_spin_lock(&cq->produce_lock);
	atomic_store_explicit(&part->dirty, false, memory_order_relaxed);
	begin = atomic_load_explicit(&cq->published, memory_order_relaxed);
	end = publishable(cq);
	if (begin == end && !is_overrun(cq))
		fits = ROOST_CQ_ARMED_ANY + 1;
	for (uint32_t i = begin; i != end; i++)
		if (cq->ring[i & cq->mask].solicited)
			fits = ROOST_CQ_ARMED_SOLICITED;
	cq->solicited = false;
	tell_solicited(cq, fits, end);
	atomic_store_explicit(&cq->published, end, memory_order_release);
	withhold(cq, end != cq->produced);
	roost_spin_unlock(&cq->produce_lock);
	return fits;
}

/* Raise the event of an arming, unless another thread does. */
static void raise_once(struct roost_cq *cq)
{
	if (atomic_exchange(&cq->armed, ROOST_CQ_UNARMED) == ROOST_CQ_UNARMED)
		return;
	atomic_store_explicit(&cq->told_end, atomic_load(&cq->published),
			      memory_order_relaxed);
	atomic_store_explicit(&cq->told_shown, atomic_load(&cq->shown),
			      memory_order_relaxed);
	roost_event_raise(&cq->comp, ROOST_EVENT_COMPLETION);
}

/*
 * No event is lost between arming and adding. The consumer writes armed, then
 * reads published (it must poll once more after arming); here published is
 * written, then armed is read; each side has a full barrier between the two.
 * So either the consumer's poll sees the entry, or we see that it armed.
 * Without a channel there is nowhere to put an event, and nothing to be lost.
 */
void roost_cq_publish(struct roost_cq *cq, struct roost_cq_part *part)
{
	uint32_t fits;

	part->open = false;
	if (roost_cq_is_shared(cq)) {
		fits = publish_shared(cq, part);
	} else {
		fits = cq->solicited ? ROOST_CQ_ARMED_SOLICITED
				     : ROOST_CQ_ARMED_ANY;
		atomic_store_explicit(&part->dirty, false,
				      memory_order_relaxed);
		cq->solicited = false;
		tell_solicited(cq, fits, cq->produced);
		atomic_store_explicit(&cq->published, cq->produced,
				      memory_order_release);
	}
	if (cq->comp.channel)
		atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&cq->armed, memory_order_relaxed) >= fits)
		raise_once(cq);
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

void roost_cq_remind(struct roost_cq *cq, bool solicited_only)
{
	uint32_t end, solicited, shown;

	if (!cq->comp.channel)
		return;
	end = atomic_load_explicit(&cq->published, memory_order_relaxed);
	solicited =
		atomic_load_explicit(&cq->solicited_end, memory_order_relaxed);
	/* It is told first. */
	if (solicited_only && (int32_t)(solicited - end) < 0)
		end = solicited;
	shown = atomic_load_explicit(&cq->shown, memory_order_relaxed);
	if ((int32_t)(end - shown) <= 0)
		return;
	if ((int32_t)(atomic_load_explicit(&cq->told_end,
					   memory_order_relaxed) -
		      end) < 0 ||
	    atomic_load_explicit(&cq->told_shown, memory_order_relaxed) !=
		    shown)
		raise_once(cq);
}

/* Read before published, so that entries from before the overrun are polled
 * first.
 */
static bool has_failed(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->overrun_told, memory_order_acquire);
}

/* True if there is no entry to poll, and no overrun to report. Read without the
 * lock: most polls find nothing, and an answer that is a moment old is correct.
 */
static bool is_idle(const struct roost_cq *cq)
{
	bool failed = has_failed(cq);

	return !failed &&
	       atomic_load_explicit(&cq->shown, memory_order_relaxed) ==
		       atomic_load_explicit(&cq->published,
					    memory_order_acquire);
}

/* Entries that are shown next are as they were made. */
static __rte_noinline void unmove(struct roost_cq *cq, uint32_t first,
				  uint32_t n)
{
	for (; n > 0 && cq->nb_moved > 0; n--, cq->nb_moved--) {
		struct roost_cqe *cqe = &cq->ring[first++ & cq->mask];

		cqe->vendor_err = roost_cqe_code(cqe);
	}
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
	if (unlikely(cq->nb_moved != 0))
		unmove(cq, first, n);
	for (unsigned int i = 0; i < n; i++)
		cqes[i] = cq->ring[(first + i) & cq->mask];
	atomic_store_explicit(&cq->consumed, first + n, memory_order_release);
	roost_cq_set_shown(cq, first + n);
	roost_spin_unlock(&cq->lock);
	return (int)n;
}

/* Show the next entry, while the lock is held. */
static bool show(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	uint32_t next = atomic_load_explicit(&cq->shown, memory_order_relaxed);

	if (next == atomic_load_explicit(&cq->published, memory_order_acquire))
		return false;
	if (unlikely(cq->nb_moved != 0))
		unmove(cq, next, 1);
	*cqe = &cq->ring[next & cq->mask];
	roost_cq_set_shown(cq, next + 1);
	return true;
}

int roost_cq_poll_begin(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	bool failed;

	if (is_idle(cq))
		return -ENOENT;
	roost_spin_lock(&cq->lock);
	failed = has_failed(cq);
	if (show(cq, cqe)) {
		atomic_store_explicit(&cq->poller, pthread_self(),
				      memory_order_relaxed);
		return 0;
	}
	roost_spin_unlock(&cq->lock);
	return failed ? -EIO : -ENOENT;
}

int roost_cq_poll_next(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	return show(cq, cqe) ? 0 : -ENOENT;
}

void roost_cq_poll_end(struct roost_cq *cq)
{
	atomic_store_explicit(&cq->poller, 0, memory_order_relaxed);
	atomic_store_explicit(&cq->consumed,
			      atomic_load_explicit(&cq->shown,
						   memory_order_relaxed),
			      memory_order_release);
	roost_spin_unlock(&cq->lock);
}
