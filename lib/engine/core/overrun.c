/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An overrun CQ raises CQ_ERR, and every QP and WQ that completes to it fails.
 * They may belong to any worker. So a worker does this by itself only in a
 * device with one worker; otherwise the control thread does it, in a turn of
 * one worker after the other.
 */

#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"

/* XRC targets have no CQ: a target that has a WQE of an SRQ in use fails now,
 * another one when a message for it comes (roost_resp_check).
 */
static void fail_takers(struct roost_worker *w, struct roost_srq *srq)
{
	struct roost_qp *qp;

	while ((qp = roost_srq_taker(srq, w)) != NULL) {
		w->transport->end(qp, ROOST_QPE_CQ_OVERRUN,
				  ROOST_EVENT_QP_FATAL);
		roost_recv_release(qp);
	}
}

static void fail_qp(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->worker == w)
		w->transport->end(qp, ROOST_QPE_CQ_OVERRUN,
				  ROOST_EVENT_QP_FATAL);
}

/* Those of the worker; the first one's turn tells of the CQ, too. Holder of the
 * turn, and of users_lock if there are other workers.
 */
static void fail_users(struct roost_worker *w, struct roost_cq *cq)
{
	struct roost_srq *srq;
	struct roost_qp *qp;
	struct roost_wq *wq;

	if (w->index == 0) {
		cq->overrun_told = true;
		roost_async_raise(w, &cq->async, ROOST_EVENT_CQ_ERR);
	}
	LIST_FOREACH(qp, &cq->senders, send_cq_link)
		fail_qp(w, qp);
	LIST_FOREACH(qp, &cq->receivers, recv_cq_link)
		fail_qp(w, qp);
	LIST_FOREACH(wq, &cq->wqs, cq_link)
		if (wq->worker == w)
			roost_wq_fail(w, wq, ROOST_QPE_CQ_OVERRUN);
	LIST_FOREACH(srq, &cq->srqs, cq_link) {
		if (w->index == 0)
			roost_async_raise(w, &srq->async, ROOST_EVENT_SRQ_ERR);
		fail_takers(w, srq);
	}
}

/* What has room is published first. */
static void fail_all(struct roost_dev *dev, struct roost_cq *cq)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_worker_turn_settle(dev->workers[i]);
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		struct roost_worker *w = dev->workers[i];

		roost_worker_turn_take(w);
		fail_users(w, cq);
		roost_worker_publish(w);
		roost_worker_turn_leave(w);
	}
}

static struct roost_cq *next(struct roost_dev *dev)
{
	struct roost_cq *cq;

	roost_spin_lock(&dev->overruns.lock);
	cq = LIST_FIRST(&dev->overruns.cqs);
	if (cq) {
		LIST_REMOVE(cq, overrun_link);
		cq->in_overruns = false;
	}
	roost_spin_unlock(&dev->overruns.lock);
	return cq;
}

/* A CQ in the list is alive: destroying a CQ takes it off the list, under
 * users_lock. Flushing may overrun another CQ, which is in the list then.
 */
static uint64_t run(void *arg, uint64_t now_ns __attribute__((unused)))
{
	struct roost_dev *dev = arg;
	struct roost_cq *cq;

	if (!atomic_exchange(&dev->overruns.any, false))
		return UINT64_MAX;
	pthread_mutex_lock(&dev->users_lock);
	while ((cq = next(dev)) != NULL)
		if (!cq->overrun_told)
			fail_all(dev, cq);
	pthread_mutex_unlock(&dev->users_lock);
	return UINT64_MAX;
}

void roost_overruns_init(struct roost_dev *dev)
{
	dev->overruns.service = (struct roost_dev_service){
		.run = run,
		.arg = dev,
	};
	if (dev->nb_workers > 1)
		TAILQ_INSERT_TAIL(&dev->services, &dev->overruns.service, link);
}

void roost_overrun_tell(struct roost_dev *dev, struct roost_cq *cq)
{
	if (dev->nb_workers == 1) {
		fail_users(dev->workers[0], cq);
		return;
	}
	roost_spin_lock(&dev->overruns.lock);
	if (!cq->in_overruns)
		LIST_INSERT_HEAD(&dev->overruns.cqs, cq, overrun_link);
	cq->in_overruns = true;
	roost_spin_unlock(&dev->overruns.lock);
	atomic_store(&dev->overruns.any, true);
	roost_dev_service_wake(dev);
}
