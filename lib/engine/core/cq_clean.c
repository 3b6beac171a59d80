/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Cleaning CQs when a QP or WQ is reset or destroyed: its completions that were
 * not polled are removed, and the other entries keep their order. Entries that
 * an open poll (roost_cq_poll_begin) has shown stay.
 *
 * The turn of the QP's worker is enough where no other worker completes to the
 * CQ, and where the CQ has no such entry. To remove one from a CQ that workers
 * share takes all turns: the others have places of completions in hand.
 *
 * A slot of a queue is free when its completion was polled (queue.h), so the
 * recorded places of all entries that move are changed, too. Posting threads
 * may read these places meanwhile. They find neither the old nor the new place
 * polled, because the consumers are locked out. Slots whose completions were
 * polled before may be posted to. Posting a send does not write the word that
 * held the place; posting a receive does, and waits for the queue's lock.
 */

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/core/wq_priv.h"

/* The object whose entries are removed. */
struct owner {
	uint32_t num;
	bool is_wq; /* WQs have numbers of their own */
};

static bool is_of(const struct roost_cqe *cqe, const struct owner *owner)
{
	return cqe->qpn == owner->num && cqe->of_wq == owner->is_wq;
}

/* A walk along the entries that no poll has shown. */
struct walk {
	const struct roost_cq *cq;
	const struct owner *owner;
	uint32_t begin, end;
	uint32_t at;
	uint32_t nb_gone; /* removed entries before at */
};

static void rewind_walk(struct walk *walk)
{
	walk->at = walk->begin;
	walk->nb_gone = 0;
}

/* The new place of an entry; a place that was polled does not change. */
static uint32_t moved(struct walk *walk, uint32_t place)
{
	if (place - walk->begin >= walk->end - walk->begin)
		return place;
	/* The places of a queue ascend, except old ones that were polled. */
	if (place - walk->begin < walk->at - walk->begin)
		rewind_walk(walk);
	for (; walk->at != place; walk->at++)
		walk->nb_gone +=
			is_of(&walk->cq->ring[walk->at & walk->cq->mask],
			      walk->owner);
	return place - walk->nb_gone;
}

static void move_places(struct walk *walk, struct roost_queue *q)
{
	uint32_t tail = atomic_load(&q->tail);

	rewind_walk(walk);
	for (uint32_t i = roost_queue_free_end(q); i != tail; i++) {
		_Atomic uint32_t *place = roost_queue_place(q, i);

		atomic_store_explicit(place, moved(walk, atomic_load(place)),
				      memory_order_relaxed);
	}
	atomic_store(&q->newest, moved(walk, atomic_load(&q->newest)));
}

static void move_places_of_receives(struct walk *walk, struct roost_queue *q)
{
	roost_spin_lock(&q->lock);
	move_places(walk, q);
	roost_spin_unlock(&q->lock);
}

static void move_users(struct walk *walk)
{
	struct roost_cq_user *user;

	LIST_FOREACH(user, &walk->cq->users, link) {
		if (user->wq)
			move_places_of_receives(walk, &user->wq->queue);
		else if (user == &user->qp->send_user)
			move_places(walk, &user->qp->sq);
		else
			move_places_of_receives(walk, &user->qp->rq);
	}
}

/* Returns the place behind the entries that stay. */
static uint32_t compact(struct walk *walk)
{
	struct roost_cqe *ring = walk->cq->ring;
	uint32_t mask = walk->cq->mask, to = walk->begin;

	for (uint32_t i = walk->begin; i != walk->end; i++)
		if (!is_of(&ring[i & mask], walk->owner))
			ring[to++ & mask] = ring[i & mask];
	return to;
}

static bool has_any(const struct walk *walk)
{
	for (uint32_t i = walk->begin; i != walk->end; i++)
		if (is_of(&walk->cq->ring[i & walk->cq->mask], walk->owner))
			return true;
	return false;
}

static void clean(struct roost_cq *cq, const struct owner *owner)
{
	struct walk walk = {
		.cq = cq,
		.owner = owner,
		.begin = atomic_load(&cq->shown),
		.end = cq->produced,
	};

	if (!has_any(&walk))
		return;
	move_users(&walk);
	cq->produced = compact(&walk);
	atomic_store_explicit(&cq->published, cq->produced,
			      memory_order_release);
	/* Places that events told of have other entries now. */
	atomic_store_explicit(&cq->told_shown, walk.begin - 1,
			      memory_order_relaxed);
	atomic_store_explicit(&cq->solicited_end, cq->produced,
			      memory_order_relaxed);
}

/* The same without the turns of others that complete there. Only the entries
 * that are not published are read under the lock for which a worker would wait:
 * those of one iteration. The published ones stay, while the consumers are
 * locked out. An owner that is no user, as XRC targets are, has no other ones
 * in a CQ that is not shared.
 */
static bool has_any_unstopped(struct roost_cq *cq, const struct owner *owner)
{
	struct walk fresh = { .cq = cq, .owner = owner };
	struct walk old = fresh;
	bool found = false;

	old.begin = atomic_load(&cq->shown);
	old.end = atomic_load(&cq->published);
	if (roost_cq_is_shared(cq)) {
		roost_spin_lock(&cq->produce_lock);
		fresh.begin = atomic_load(&cq->published);
		fresh.end = cq->produced;
		found = has_any(&fresh);
		roost_spin_unlock(&cq->produce_lock);
		old.end = fresh.begin;
	}
	return found || has_any(&old);
}

/* True if nobody but this worker completes to the CQ. */
static bool is_of_one(const struct roost_cq *cq, const struct roost_worker *w)
{
	return !roost_cq_is_shared(cq) &&
	       (roost_cq_workers(cq) & ~(1u << w->index)) == 0;
}

/* Whose completions go, and what is taken for that: the turn, or all turns. */
struct cleaning {
	struct owner owner;
	struct roost_worker *worker;
	bool all_turns;
};

/* The consumers are locked out. */
static enum roost_cleaned clean_or_not(struct roost_cq *cq,
				       const struct cleaning *how)
{
	if (how->all_turns || is_of_one(cq, how->worker))
		clean(cq, &how->owner);
	else if (has_any_unstopped(cq, &how->owner))
		return ROOST_CLEAN_SHARED;
	return ROOST_CLEANED;
}

static enum roost_cleaned try_clean(struct roost_cq *cq,
				    const struct cleaning *how)
{
	enum roost_cleaned cleaned;

	if (!cq)
		return ROOST_CLEANED;
	/* This thread polls the CQ; entries that it was not shown may be
	 * removed.
	 */
	if (roost_cq_polled_by_us(cq))
		return clean_or_not(cq, how);
	if (!roost_spin_try(&cq->lock))
		return ROOST_CLEAN_POLLED;
	cleaned = clean_or_not(cq, how);
	roost_spin_unlock(&cq->lock);
	return cleaned;
}

static void publish(const struct cleaning *how)
{
	if (how->all_turns)
		roost_dev_publish(how->worker->dev);
	else
		roost_worker_publish(how->worker);
}

enum roost_cleaned roost_qp_clean_cqs(struct roost_qp *qp, bool all_turns)
{
	const struct cleaning how = {
		.owner.num = qp->qpn,
		.worker = qp->worker,
		.all_turns = all_turns,
	};
	enum roost_cleaned cleaned = ROOST_CLEANED;
	struct roost_cq *cq;

	publish(&how);
	if (qp->type != ROOST_QPT_XRC_TGT) {
		cleaned = try_clean(qp->send_cq, &how);
		return cleaned != ROOST_CLEANED ? cleaned
						: try_clean(qp->recv_cq, &how);
	}
	LIST_FOREACH(cq, &qp->dev->xrc_cqs, xrc_link)
		if (cleaned == ROOST_CLEANED)
			cleaned = try_clean(cq, &how);
	return cleaned;
}

enum roost_cleaned roost_wq_clean_cq(struct roost_wq *wq, bool all_turns)
{
	const struct cleaning how = {
		.owner = { .num = wq->num, .is_wq = true },
		.worker = wq->worker,
		.all_turns = all_turns,
	};

	publish(&how);
	return try_clean(wq->cq, &how);
}
