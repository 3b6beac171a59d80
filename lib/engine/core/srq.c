/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/queue.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"

static int open_domain(struct roost_ctx *ctx, struct roost_xrc_domain *domain,
		       struct roost_xrcd **xrcd)
{
	struct roost_xrcd *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->ctx = ctx;
	x->domain = domain;
	atomic_fetch_add(&domain->openings, 1);
	atomic_fetch_add(&ctx->refs, 1);
	*xrcd = x;
	return 0;
}

int roost_xrcd_open(struct roost_ctx *ctx, struct roost_xrcd **xrcd)
{
	struct roost_xrc_domain *domain = calloc(1, sizeof(*domain));
	int ret;

	if (!domain)
		return -ENOMEM;
	ret = open_domain(ctx, domain, xrcd);
	if (ret)
		free(domain);
	return ret;
}

int roost_xrcd_share(struct roost_ctx *ctx, struct roost_xrcd *with,
		     struct roost_xrcd **xrcd)
{
	return open_domain(ctx, with->domain, xrcd);
}

int roost_xrcd_close(struct roost_xrcd *xrcd)
{
	if (atomic_load(&xrcd->refs) != 0)
		return -EBUSY;
	atomic_fetch_sub(&xrcd->ctx->refs, 1);
	if (atomic_fetch_sub(&xrcd->domain->openings, 1) == 1)
		free(xrcd->domain);
	free(xrcd);
	return 0;
}

static bool init_valid(const struct roost_ctx *ctx,
		       const struct roost_srq_init *init)
{
	const struct roost_dev_limits *limits = roost_dev_limits(ctx->dev);

	if ((init->xrcd && init->xrcd->ctx != ctx) ||
	    (init->cq && init->cq->ctx != ctx))
		return false;
	if (init->max_wr == 0 || init->max_wr > limits->max_qp_wr ||
	    init->max_sge > limits->max_sge)
		return false;
	return (!init->xrcd) == (!init->cq);
}

/* Of an XRC SRQ, to which QPs of any worker may complete. */
static void join_cq(struct roost_srq *srq)
{
	struct roost_dev *dev = srq->pd->ctx->dev;
	struct roost_cq *cq = srq->cq;

	atomic_fetch_add(&cq->refs, 1);
	pthread_mutex_lock(&dev->users_lock);
	roost_worker_turn_take(dev->workers[0]);
	LIST_INSERT_HEAD(&cq->srqs, srq, cq_link);
	roost_worker_turn_leave(dev->workers[0]);
	if (!cq->of_xrc)
		LIST_INSERT_HEAD(&dev->xrc_cqs, cq, xrc_link);
	cq->of_xrc = true;
	roost_cq_join_all(cq);
	pthread_mutex_unlock(&dev->users_lock);
}

static void leave_cq(struct roost_srq *srq)
{
	struct roost_dev *dev = srq->pd->ctx->dev;

	pthread_mutex_lock(&dev->users_lock);
	roost_worker_turn_take(dev->workers[0]);
	LIST_REMOVE(srq, cq_link);
	roost_worker_turn_leave(dev->workers[0]);
	roost_cq_leave_all(srq->cq);
	pthread_mutex_unlock(&dev->users_lock);
	atomic_fetch_sub(&srq->cq->refs, 1);
}

int roost_srq_create(struct roost_pd *pd, struct roost_srq_init *init,
		     struct roost_srq **srq)
{
	struct roost_dev *dev = pd->ctx->dev;
	struct roost_srq *s;

	if (!init_valid(pd->ctx, init))
		return -EINVAL;
	s = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*s), 64u));
	if (!s)
		return -ENOMEM;
	init->max_wr = rte_align32pow2(init->max_wr);
	*s = (struct roost_srq){
		.pd = pd,
		.xrcd = init->xrcd,
		.cq = init->cq,
		.max_wr = init->max_wr,
		.max_sge = init->max_sge,
		.shared = dev->nb_workers > 1,
		.take_lock = ROOST_SPIN_INIT,
	};
	if (roost_queue_create(&s->queue, NULL, s->max_wr,
			       roost_recv_wqe_bytes(s->max_sge), NULL) != 0) {
		free(s);
		return -ENOMEM;
	}
	roost_event_source_init(&s->async, pd->ctx->async, init->owner);
	if (s->xrcd) {
		join_cq(s);
		/* Its packets may come from here on. */
		if (roost_idmap_add(&dev->srqs, s, &s->num) != 0) {
			leave_cq(s);
			roost_queue_destroy(&s->queue, NULL);
			free(s);
			return -ENOMEM;
		}
		atomic_fetch_add(&s->xrcd->refs, 1);
	}
	atomic_fetch_add(&pd->refs, 1);
	s->handle = atomic_fetch_add(&dev->next_srq_handle, 1);
	pthread_mutex_lock(&dev->all.lock);
	LIST_INSERT_HEAD(&dev->all.srqs, s, all_link);
	pthread_mutex_unlock(&dev->all.lock);
	*srq = s;
	return 0;
}

struct roost_qp *roost_srq_taker(struct roost_srq *srq,
				 const struct roost_worker *w)
{
	struct roost_taken *taken;

	if (srq->shared)
		roost_spin_lock(&srq->take_lock);
	LIST_FOREACH(taken, &srq->takers, link)
		if (taken->qp->worker == w)
			break;
	if (srq->shared)
		roost_spin_unlock(&srq->take_lock);
	return taken ? taken->qp : NULL;
}

/* An XRC SRQ, which no worker finds any more: forget its WQEs that QPs use, and
 * publish its completions, before its CQ may be another worker's alone.
 */
static void release_takers(struct roost_srq *srq, struct roost_worker *w)
{
	struct roost_qp *qp;

	roost_worker_turn_take(w);
	while ((qp = roost_srq_taker(srq, w)) != NULL)
		roost_recv_release(qp);
	w->settle(w);
	roost_worker_turn_leave(w);
}

int roost_srq_destroy(struct roost_srq *srq, uint64_t *async_acked)
{
	struct roost_dev *dev = srq->pd->ctx->dev;
	uint64_t acked;

	if (atomic_load(&srq->refs) != 0)
		return -EBUSY;
	if (srq->xrcd) {
		roost_idmap_del(&dev->srqs, srq->num);
		roost_dev_turns_pass(dev);
		for (unsigned int i = 0; i < dev->nb_workers; i++)
			release_takers(srq, dev->workers[i]);
		leave_cq(srq);
	}
	roost_async_pass(dev);
	acked = roost_event_source_fini(&srq->async);
	pthread_mutex_lock(&dev->all.lock);
	LIST_REMOVE(srq, all_link);
	pthread_mutex_unlock(&dev->all.lock);
	if (async_acked)
		*async_acked = acked;
	if (srq->xrcd)
		atomic_fetch_sub(&srq->xrcd->refs, 1);
	atomic_fetch_sub(&srq->pd->refs, 1);
	roost_queue_destroy(&srq->queue, NULL);
	free(srq);
	return 0;
}

uint32_t roost_srq_num(const struct roost_srq *srq)
{
	return srq->num;
}

struct roost_event_source *roost_srq_async_source(struct roost_srq *srq)
{
	return &srq->async;
}

int roost_srq_set_limit(struct roost_srq *srq, uint32_t limit)
{
	if (limit > srq->max_wr)
		return -EINVAL;
	atomic_store(&srq->limit, limit);
	return 0;
}

/* No thread posts, and no worker takes. In this order: a worker waits for
 * take_lock, but not for a thread that posts.
 */
static void hold_all(struct roost_srq *srq)
{
	if (!srq->shared)
		roost_worker_turn_take(srq->pd->ctx->dev->workers[0]);
	roost_spin_lock(&srq->queue.lock);
	if (srq->shared)
		roost_spin_lock(&srq->take_lock);
}

static void let_go_all(struct roost_srq *srq)
{
	if (srq->shared)
		roost_spin_unlock(&srq->take_lock);
	roost_spin_unlock(&srq->queue.lock);
	if (!srq->shared)
		roost_worker_turn_leave(srq->pd->ctx->dev->workers[0]);
}

int roost_srq_resize(struct roost_srq *srq, uint32_t max_wr,
		     const uint32_t *limit)
{
	struct roost_dev *dev = srq->pd->ctx->dev;
	struct roost_queue *q = &srq->queue;
	struct roost_queue next;
	uint32_t slots, limit_then;
	int ret = 0;

	if (max_wr == 0 || max_wr > roost_dev_limits(dev)->max_qp_wr)
		return -EINVAL;
	slots = rte_align32pow2(max_wr);
	ret = roost_queue_create(&next, NULL, slots,
				 roost_recv_wqe_bytes(srq->max_sge), NULL);
	if (ret)
		return ret;
	hold_all(srq);
	limit_then = limit != NULL ? *limit : atomic_load(&srq->limit);
	if (roost_queue_count(q) > slots || limit_then > max_wr) {
		ret = -EINVAL;
	} else {
		uint8_t *old = roost_queue_slots(q);
		const uint32_t old_mask = q->mask;

		for (uint32_t i = atomic_load(&q->tail);
		     i != atomic_load(&q->head); i++)
			memcpy(roost_queue_at(&next, i), roost_queue_at(q, i),
			       q->stride_bytes);
		roost_queue_set_slots(q, roost_queue_slots(&next));
		q->mask = next.mask;
		srq->max_wr = slots;
		roost_queue_set_slots(&next, old);
		next.mask = old_mask;
		atomic_store(&srq->limit, limit_then);
	}
	let_go_all(srq);
	roost_queue_destroy(&next, NULL);
	return ret;
}

void roost_srq_query(struct roost_srq *srq, uint32_t *max_wr, uint32_t *max_sge,
		     uint32_t *limit)
{
	*max_wr = srq->max_wr;
	*max_sge = srq->max_sge;
	*limit = atomic_load(&srq->limit);
}

struct roost_srq *roost_srq_find(struct roost_dev *dev, uint32_t num)
{
	return roost_idmap_get(&dev->srqs, num);
}

static bool take(struct roost_srq *srq, struct roost_qp *qp)
{
	struct roost_queue *q = &srq->queue;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	const struct roost_recv_wqe *wqe = roost_queue_at(q, tail);
	uint32_t left =
		atomic_load_explicit(&q->head, memory_order_acquire) - tail;
	uint32_t limit;

	if (left == 0)
		return false;
	memcpy(&qp->taken->wqe, wqe, roost_recv_wqe_bytes(wqe->nb_sges));
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	LIST_INSERT_HEAD(&srq->takers, qp->taken, link);
	limit = atomic_load_explicit(&srq->limit, memory_order_relaxed);
	/* Disarmed before the event can be read, unless it is another limit
	 * meanwhile.
	 */
	if (limit != 0 && left - 1 < limit &&
	    atomic_compare_exchange_strong(&srq->limit, &limit, 0))
		roost_async_raise(qp->worker, &srq->async,
				  ROOST_EVENT_SRQ_LIMIT_REACHED);
	return true;
}

bool roost_srq_take(struct roost_srq *srq, struct roost_qp *qp)
{
	bool taken;

	if (!srq->shared)
		return take(srq, qp);
	roost_spin_lock(&srq->take_lock);
	taken = take(srq, qp);
	roost_spin_unlock(&srq->take_lock);
	return taken;
}

void roost_srq_release(struct roost_srq *srq, struct roost_qp *qp)
{
	if (srq->shared)
		roost_spin_lock(&srq->take_lock);
	LIST_REMOVE(qp->taken, link);
	if (srq->shared)
		roost_spin_unlock(&srq->take_lock);
}
