/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a QP or WQ that is reset or destroyed leaves in its CQs: completions
 * that nobody has polled are taken out, and the rest keep their order. Entries
 * that an open poll has shown stay.
 *
 * Slots of queues are free when their completions were polled (queue.h), so the
 * places that are on record for the entries which move are changed with them.
 * Posting threads may read these meanwhile. They find neither the old nor the
 * new place polled: the consumers are locked out. Those that were polled may be
 * posted to. No post of a send writes where the place was; posts of receives
 * do, and wait.
 */

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"

/* Whose entries go. */
struct owner {
	uint32_t num;
	bool is_wq; /* WQs have numbers of their own */
};

static bool is_of(const struct roost_cqe *cqe, const struct owner *owner)
{
	return cqe->qpn == owner->num && cqe->of_wq == owner->is_wq;
}

/* A walk along the entries that nobody was shown. */
struct walk {
	const struct roost_cq *cq;
	const struct owner *owner;
	uint32_t begin, end;
	uint32_t at;
	uint32_t nb_gone; /* of those before at */
};

static void rewind_walk(struct walk *walk)
{
	walk->at = walk->begin;
	walk->nb_gone = 0;
}

/* Where the entry at this place will be; a place that is polled stays. */
static uint32_t moved(struct walk *walk, uint32_t place)
{
	if (place - walk->begin >= walk->end - walk->begin)
		return place;
	/* The places of a queue ascend, but for those of long ago. */
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
		if (user->wq != NULL)
			move_places_of_receives(walk, &user->wq->queue);
		else if (user == &user->qp->send_user)
			move_places(walk, &user->qp->sq);
		else
			move_places_of_receives(walk, &user->qp->rq);
	}
}

/* Returns the place behind those that stay. */
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
}

/* Returns false: another thread polls the CQ in the open. */
static bool try_clean(struct roost_cq *cq, const struct owner *owner)
{
	if (cq == NULL)
		return true;
	/* The thread itself does, and what it was not shown may go. */
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
