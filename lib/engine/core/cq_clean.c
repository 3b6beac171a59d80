/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Cleaning CQs when a QP or WQ is reset or destroyed: its completions that were
 * not polled are removed, and the other entries keep their order. Entries that
 * an open poll (roost_cq_poll_begin) has shown stay.
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

/* Returns false: another thread is between poll_begin and poll_end. */
static bool try_clean(struct roost_cq *cq, const struct owner *owner)
{
	if (!cq)
		return true;
	/* This thread polls the CQ; entries that it was not shown may be
	 * removed.
	 */
	if (roost_cq_polled_by_us(cq)) {
		clean(cq, owner);
		return true;
	}
	if (!roost_spin_try(&cq->lock))
		return false;
	clean(cq, owner);
	roost_spin_unlock(&cq->lock);
	return true;
}

bool roost_qp_clean_cqs(struct roost_qp *qp)
{
	const struct owner owner = { .num = qp->qpn };
	struct roost_cq *cq;

	roost_dev_publish(qp->dev);
	if (qp->type != ROOST_QPT_XRC_TGT)
		return try_clean(qp->send_cq, &owner) &&
		       try_clean(qp->recv_cq, &owner);
	LIST_FOREACH(cq, &qp->dev->xrc_cqs, xrc_link)
		if (!try_clean(cq, &owner))
			return false;
	return true;
}

bool roost_wq_clean_cq(struct roost_wq *wq)
{
	const struct owner owner = { .num = wq->num, .is_wq = true };

	roost_dev_publish(wq->pd->ctx->dev);
	return try_clean(wq->cq, &owner);
}
