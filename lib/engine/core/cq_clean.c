/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Cleaning CQs when a QP or WQ is reset or destroyed: its completions that were
 * not polled are removed, and the other entries keep their order. Entries that
 * an open poll (roost_cq_poll_begin) has shown stay.
 *
 * No worker takes part. The object completes nothing any more, and what it
 * completed is published, so it is among the entries that belong to the
 * consumers, and they are locked out. The entries that stay move towards the
 * newer ones, over those that are removed, and the room that this makes is
 * given back at the end of the polled ones.
 *
 * A slot of a queue is free when its completion was polled (queue.h), and
 * remembers the place at which that was added. So an entry that moves takes
 * with it by how much it has moved: above the code in its vendor_err. Polling
 * takes that off again (roost_cq_unmove).
 */

#include <rte_common.h>

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

/* Copy an entry nb_places on, or leave it where it is. Returns whether it is
 * now, or was before, an entry that has moved.
 */
static bool move(struct roost_cq *cq, uint32_t from, uint32_t nb_places)
{
	struct roost_cqe *to = &cq->ring[(from + nb_places) & cq->mask];
	uint32_t moved;

	if (nb_places == 0)
		return roost_cqe_moved(&cq->ring[from & cq->mask]) != 0;
	*to = cq->ring[from & cq->mask];
	moved = RTE_MIN(roost_cqe_moved(to) + nb_places, ROOST_CQE_MAX);
	to->vendor_err = (moved << ROOST_CQE_MOVED_SHIFT) | roost_cqe_code(to);
	return true;
}

/* A worker may have published more meanwhile, and told of that. */
static void tell_solicited(struct roost_cq *cq, uint32_t end)
{
	uint32_t told = atomic_load(&cq->solicited_end);

	while ((int32_t)(told - end) < 0 &&
	       !atomic_compare_exchange_weak(&cq->solicited_end, &told, end))
		;
}

/* The consumers are locked out. */
static void clean(struct roost_cq *cq, const struct owner *owner)
{
	uint32_t begin = atomic_load(&cq->shown);
	uint32_t end = atomic_load(&cq->published);
	bool in_poll = atomic_load(&cq->consumed) != begin;
	uint32_t nb_gone = 0, nb_moved = 0;

	for (uint32_t i = end; i-- != begin;)
		if (is_of(&cq->ring[i & cq->mask], owner))
			nb_gone++;
		else
			nb_moved += move(cq, i, nb_gone);
	if (nb_gone == 0)
		return;
	cq->nb_moved = nb_moved;
	roost_cq_set_shown(cq, begin + nb_gone);
	/* An open poll gives back what it has shown in the end, and this. */
	if (!in_poll)
		atomic_store_explicit(&cq->consumed, begin + nb_gone,
				      memory_order_release);
	/* Places that events told of have other entries now. */
	atomic_store_explicit(&cq->told_shown, begin, memory_order_relaxed);
	tell_solicited(cq, end);
}

/* Returns false: another thread polls the CQ. */
static bool try_clean(struct roost_cq *cq, const struct owner *owner)
{
	if (!cq)
		return true;
	roost_cq_settle(cq);
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
	struct roost_dev *dev = qp->dev;
	bool cleaned = true;
	struct roost_cq *cq;

	if (qp->type != ROOST_QPT_XRC_TGT)
		return try_clean(qp->send_cq, &owner) &&
		       try_clean(qp->recv_cq, &owner);
	pthread_mutex_lock(&dev->users_lock);
	LIST_FOREACH(cq, &dev->xrc_cqs, xrc_link)
		cleaned = cleaned && try_clean(cq, &owner);
	pthread_mutex_unlock(&dev->users_lock);
	return cleaned;
}

bool roost_wq_clean_cq(struct roost_wq *wq)
{
	const struct owner owner = { .num = wq->num, .is_wq = true };

	return try_clean(wq->cq, &owner);
}
