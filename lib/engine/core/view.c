/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/core/view.h"

#include <string.h>

#include "lib/engine/core/share.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/core/view_priv.h"
#include "lib/engine/core/worker_base.h"

static void look_begin(struct roost_dev *dev)
{
	pthread_mutex_lock(&dev->all.lock);
}

static void look_end(struct roost_dev *dev)
{
	pthread_mutex_unlock(&dev->all.lock);
}

/* ---- QPs ---------------------------------------------------------------- */

/* True of the share of its READs, as long as it has some. */
static bool reads(const struct roost_qp *qp)
{
	return qp->asked_pkts != 0 ||
	       (qp->waits_for && qp->waits_for->kind == ROOST_SHARE_READS);
}

void roost_view_qp(struct roost_qp *qp, struct roost_qp_view *v)
{
	const struct roost_share *share =
		qp->shares[reads(qp) ? ROOST_SHARE_READS : ROOST_SHARE_SENDS]
			.share;
	const struct roost_port *port = &qp->dev->ports[qp->path.port_index];

	*v = (struct roost_qp_view){
		.qpn = qp->qpn,
		.type = (enum roost_qp_type)qp->type,
		.state = roost_qp_state_get(qp),
		.worker = qp->worker->index,
		.port_num = qp->attr.port_num,
		.dest_qpn = qp->dest_qpn,
		.mtu_bytes = qp->mtu_bytes,
		.pkey = qp->pkey,
		.next_psn = qp->req.next_psn.v,
		.oldest_unacked_psn = qp->req.oldest_unacked_psn.v,
		.expected_psn = qp->resp.expected_psn.v,
		.sends_posted = roost_queue_count(&qp->sq),
		.recvs_posted = roost_queue_count(&qp->rq),
		.cwnd_pkts = qp->req.cwnd.pkts,
		.share_waits = qp->waits_for != NULL,
		.srtt_ns = qp->req.pto_ns != 0 ? qp->req.srtt_ns : 0,
		.cc_rate_kbps = qp->pacer ? qp->pacer->dcqcn.rate_kbps : 0,
		.retries_left = qp->req.retry_left,
		.rnr_retries_left = qp->req.rnr_left,
		.retries = qp->attr.retry_cnt,
		.rnr_retries = qp->attr.rnr_retry,
		.timeout_ns = qp->req.timeout_ns,
		.waits_rnr = qp->req.rnr_wait,
		.qkey = qp->attr.qkey,
		.executed = qp->resp.msn != 0,
		.answered = !roost_psn_eq(qp->req.oldest_unacked_psn,
					  roost_psn(qp->attr.sq_psn)),
	};
	roost_flight_states(qp, v->flight.states);
	if (qp->trouble) {
		v->error = qp->trouble->error;
		v->counters = qp->trouble->counters;
		memcpy(v->flight.events, qp->trouble->events,
		       sizeof(v->flight.events));
	}
	if (qp->path.valid) {
		v->sgid = qp->path.sgid;
		v->dgid = qp->path.dgid;
		if (!qp->path.loopback)
			v->port_mtu_bytes =
				roost_mtu_bytes(roost_port_active_mtu(port));
	}
	if (share && share->nb_qps >= ROOST_SHARE_MIN_QPS) {
		v->share_cwnd_pkts = share->cwnd.pkts;
		v->share_flight_pkts = share->flight_pkts;
		v->share_qps = share->nb_qps;
	}
	/* A dying one's CQs and SRQ may be gone. */
	if (qp->dying)
		return;
	if (qp->send_cq) {
		v->send_cq = qp->send_cq->handle;
		v->send_cq_overrun = qp->send_cq->overrun;
	}
	if (qp->recv_cq) {
		v->recv_cq = qp->recv_cq->handle;
		v->recv_cq_overrun = qp->recv_cq->overrun;
	}
	if (qp->srq)
		v->srq = qp->srq->handle;
}

void roost_dev_view_qps(struct roost_dev *dev,
			void (*each)(void *arg, const struct roost_qp_view *qp),
			void *arg)
{
	struct roost_qp_view view;
	struct roost_qp *qp;

	look_begin(dev);
	LIST_FOREACH(qp, &dev->all.qps, all_link) {
		roost_worker_turn_take(qp->worker);
		roost_view_qp(qp, &view);
		roost_worker_turn_leave(qp->worker);
		roost_event_source_query(&qp->async, &view.async);
		each(arg, &view);
	}
	look_end(dev);
}

/* ---- workers ------------------------------------------------------------ */

void roost_dev_view_workers(
	struct roost_dev *dev,
	void (*each)(void *arg, const struct roost_worker_view *worker),
	void *arg)
{
	struct roost_worker_view view;

	look_begin(dev);
	for (uint32_t i = 0; i < dev->nb_workers; i++) {
		view.number = i;
		view.qps = dev->all.nb_qps[i];
		roost_worker_counters(dev->workers[i], &view.counters);
		each(arg, &view);
	}
	look_end(dev);
}

void roost_dev_view_drops(struct roost_dev *dev,
			  struct roost_last_drop drops[ROOST_DROPS_MAX])
{
	memset(drops, 0, sizeof(drops[0]) * ROOST_DROPS_MAX);
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		struct roost_worker *w = dev->workers[i];

		roost_worker_turn_take(w);
		for (unsigned int r = 0; r < ROOST_DROPS_MAX; r++)
			if (w->last_drops[r].at_ns > drops[r].at_ns)
				drops[r] = w->last_drops[r];
		roost_worker_turn_leave(w);
	}
}

/* ---- CQs ---------------------------------------------------------------- */

static enum roost_armed armed_of(const struct roost_cq *cq)
{
	switch ((enum roost_cq_armed)atomic_load(&cq->armed)) {
	case ROOST_CQ_ARMED_SOLICITED:
		return ROOST_ARMED_SOLICITED;
	case ROOST_CQ_ARMED_ANY:
		return ROOST_ARMED_ANY;
	case ROOST_CQ_UNARMED:
		break;
	}
	return ROOST_ARMED_NOT;
}

void roost_dev_view_cqs(struct roost_dev *dev,
			void (*each)(void *arg, const struct roost_cq_view *cq),
			void *arg)
{
	struct roost_cq_view view;
	struct roost_cq *cq;
	uint32_t consumed;

	look_begin(dev);
	LIST_FOREACH(cq, &dev->all.cqs, all_link) {
		/* Not resized meanwhile. */
		pthread_mutex_lock(&dev->users_lock);
		consumed = atomic_load(&cq->consumed);
		view = (struct roost_cq_view){
			.handle = cq->handle,
			.entries = cq->mask + 1,
			.waiting = atomic_load(&cq->published) - consumed,
			.users = atomic_load(&cq->refs),
			.armed = armed_of(cq),
			.overrun = cq->overrun,
		};
		pthread_mutex_unlock(&dev->users_lock);
		roost_event_source_query(&cq->comp, &view.comp);
		roost_event_source_query(&cq->async, &view.async);
		view.finishing = view.comp.finishing || view.async.finishing;
		each(arg, &view);
	}
	look_end(dev);
}

/* ---- SRQs --------------------------------------------------------------- */

void roost_dev_view_srqs(struct roost_dev *dev,
			 void (*each)(void *arg,
				      const struct roost_srq_view *srq),
			 void *arg)
{
	struct roost_srq_view view;
	struct roost_srq *srq;

	look_begin(dev);
	LIST_FOREACH(srq, &dev->all.srqs, all_link) {
		/* Not resized meanwhile. */
		roost_spin_lock(&srq->queue.lock);
		view = (struct roost_srq_view){
			.handle = srq->handle,
			.number = srq->num,
			.max_wr = srq->max_wr,
			.posted = roost_queue_count(&srq->queue),
			.limit = atomic_load(&srq->limit),
			.users = atomic_load(&srq->refs),
		};
		roost_spin_unlock(&srq->queue.lock);
		roost_event_source_query(&srq->async, &view.async);
		each(arg, &view);
	}
	look_end(dev);
}

/* ---- channels ----------------------------------------------------------- */

/* NULL while its CQ is on its last way. */
static struct roost_channel *channel_of(const struct roost_cq *cq)
{
	return __atomic_load_n(&cq->comp.channel, __ATOMIC_RELAXED);
}

/* True if this is the first CQ in the list that uses its channel. */
static bool is_first_of(struct roost_dev *dev, const struct roost_cq *cq,
			const struct roost_channel *channel)
{
	const struct roost_cq *other;

	LIST_FOREACH(other, &dev->all.cqs, all_link)
		if (other == cq || channel_of(other) == channel)
			return other == cq;
	return false;
}

/* Under all.lock: a CQ in the list keeps its channel alive. */
static void view_comp_channel(struct roost_dev *dev,
			      struct roost_channel *channel,
			      struct roost_channel_view *v)
{
	const struct roost_cq *cq;

	*v = (struct roost_channel_view){
		.fd = roost_channel_fd(channel),
		.waiting = roost_channel_waiting(channel),
	};
	LIST_FOREACH(cq, &dev->all.cqs, all_link) {
		if (channel_of(cq) != channel)
			continue;
		v->cqs++;
		v->armed += armed_of(cq) != ROOST_ARMED_NOT;
	}
}

static void
view_async_channels(struct roost_dev *dev,
		    void (*each)(void *arg, const struct roost_channel_view *c),
		    void *arg)
{
	struct roost_channel_view view;
	struct roost_ctx *ctx;

	pthread_mutex_lock(&dev->lock);
	LIST_FOREACH(ctx, &dev->ctxs, link) {
		view = (struct roost_channel_view){
			.fd = roost_channel_fd(ctx->async),
			.is_async = true,
			.waiting = roost_channel_waiting(ctx->async),
		};
		each(arg, &view);
	}
	pthread_mutex_unlock(&dev->lock);
}

void roost_dev_view_channels(struct roost_dev *dev,
			     void (*each)(void *arg,
					  const struct roost_channel_view *c),
			     void *arg)
{
	struct roost_channel_view view;
	struct roost_channel *channel;
	struct roost_cq *cq;

	view_async_channels(dev, each, arg);
	look_begin(dev);
	LIST_FOREACH(cq, &dev->all.cqs, all_link) {
		channel = channel_of(cq);
		if (!channel || !is_first_of(dev, cq, channel))
			continue;
		view_comp_channel(dev, channel, &view);
		each(arg, &view);
	}
	look_end(dev);
}

/* ---- the device --------------------------------------------------------- */

static uint32_t used(struct roost_idmap *map)
{
	uint32_t n;

	roost_spin_lock(&map->lock);
	n = map->nb_used;
	roost_spin_unlock(&map->lock);
	return n;
}

void roost_dev_view(struct roost_dev *dev, struct roost_dev_view *view)
{
	const struct roost_ctx *ctx;
	const struct roost_qp *qp;
	const struct roost_cq *cq;
	const struct roost_srq *srq;

	*view = (struct roost_dev_view){
		.mrs = used(&dev->mrs),
		.mws = used(&dev->mws),
		.removed = roost_dev_failed(dev),
	};
	look_begin(dev);
	LIST_FOREACH(qp, &dev->all.qps, all_link)
		view->qps++;
	LIST_FOREACH(cq, &dev->all.cqs, all_link)
		view->cqs++;
	LIST_FOREACH(srq, &dev->all.srqs, all_link)
		view->srqs++;
	look_end(dev);
	pthread_mutex_lock(&dev->lock);
	LIST_FOREACH(ctx, &dev->ctxs, link)
		view->contexts++;
	pthread_mutex_unlock(&dev->lock);
}
