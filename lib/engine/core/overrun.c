/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An overrun CQ raises CQ_ERR, and every QP and WQ that completes to it fails.
 * They may belong to any worker. So a worker does this by itself only in a
 * device with one worker; otherwise the control thread does it, with all turns
 * taken.
 */

#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"

/* XRC targets have no CQ: a target that has a WQE of an SRQ in use fails now,
 * another one when a message for it comes (roost_resp_check). Holder of all
 * turns.
 */
static void fail_users(struct roost_cq *cq)
{
	const struct roost_transport *transport = cq->ctx->dev->transport;
	struct roost_worker *w = cq->ctx->dev->workers[0];
	struct roost_cq_user *user;
	struct roost_srq *srq;

	cq->overrun_told = true;
	roost_async_raise(w, &cq->async, ROOST_EVENT_CQ_ERR);
	LIST_FOREACH(user, &cq->users, link) {
		if (user->qp)
			transport->end(user->qp, ROOST_QPE_CQ_OVERRUN,
				       ROOST_EVENT_QP_FATAL);
		else
			roost_wq_fail(user->wq->worker, user->wq,
				      ROOST_QPE_CQ_OVERRUN);
	}
	LIST_FOREACH(srq, &cq->srqs, cq_link) {
		roost_async_raise(w, &srq->async, ROOST_EVENT_SRQ_ERR);
		while (!LIST_EMPTY(&srq->takers)) {
			struct roost_qp *qp = LIST_FIRST(&srq->takers);

			transport->end(qp, ROOST_QPE_CQ_OVERRUN,
				       ROOST_EVENT_QP_FATAL);
			roost_recv_release(qp);
		}
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

/* A CQ in the list is alive: destroying a CQ takes it off the list, holding a
 * turn. All turns: its users may belong to any worker, and fail together, once
 * in the life of a CQ.
 */
static uint64_t run(void *arg, uint64_t now_ns __attribute__((unused)))
{
	struct roost_dev *dev = arg;
	struct roost_cq *cq;

	if (!atomic_load(&dev->overruns.any))
		return UINT64_MAX;
	roost_dev_turns_take(dev);
	atomic_store(&dev->overruns.any, false);
	while ((cq = next(dev)) != NULL) {
		if (!cq->overrun_told)
			fail_users(cq);
		/* Flushing may have overrun another CQ. */
		roost_dev_publish(dev);
	}
	roost_dev_turns_release(dev);
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
		fail_users(cq);
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
