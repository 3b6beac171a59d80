/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Completion channels and asynchronous events. Waiting, waking and counting
 * are lib/event's; the counters in the structs of verbs.h are kept as
 * libibverbs keeps them, for whoever looks.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

/* Events that fit a completion channel at once; more wait in their CQs. */
#define CHANNEL_EVENTS 256

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct roost_verbs_channel *ch;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_null(-EIO);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return roost_verbs_null(-ENOMEM);
	ret = roost_channel_create(CHANNEL_EVENTS, &ch->channel);
	if (ret) {
		if (ret == -EMFILE)
			fprintf(stderr,
				"roost: no completion channel: %s; let the "
				"process have more (ulimit -n)\n",
				strerror(EMFILE));
		free(ch);
		return roost_verbs_null(ret);
	}
	ch->ibv.context = context;
	ch->ibv.fd = roost_channel_fd(ch->channel);
	return &ch->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct roost_verbs_channel *ch = (struct roost_verbs_channel *)ibv;
	int refcnt;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_channel_destroy(ibv);
	pthread_mutex_lock(&ibv->context->mutex);
	refcnt = ibv->refcnt;
	pthread_mutex_unlock(&ibv->context->mutex);
	if (refcnt)
		return roost_verbs_result(-EBUSY);
	roost_channel_destroy(ch->channel);
	free(ch);
	return 0;
}

/* Returns 0, or -1 and errno, as read(2) on the channel's fd would. */
ROOST_VERBS_LATEST(ibv_get_cq_event, "IBVERBS_1.1");
int roost_ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq,
			   void **cq_context)
{
	struct roost_verbs_channel *ch = (struct roost_verbs_channel *)ibv;
	struct roost_event event;
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_minus_one(-EIO);
	roost_device_expect(roost_verbs_context(ibv->context)->device);
	ret = roost_channel_read(ch->channel, &event);
	if (ret) {
		errno = -ret;
		return -1;
	}
	*cq = event.owner;
	*cq_context = (*cq)->cq_context;
	return 0;
}

/*
 * roost_event_ack() comes last in all acks, because a destroy that waits for it
 * may then free the object.
 */
ROOST_VERBS_LATEST(ibv_ack_cq_events, "IBVERBS_1.1");
void roost_ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (nevents == 0 || roost_verbs_is_dead(cq->context))
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_mutex_unlock(&cq->mutex);
	roost_event_ack(roost_cq_comp_source(roost_verbs_cq(cq)->cq), nevents);
}

/* The next event that has a receiver: an event of a handle that the program has
 * closed is acked here.
 */
static int next_async(struct roost_ctx *ctx, struct roost_event *e)
{
	for (;;) {
		const int ret =
			roost_channel_read(roost_ctx_async_channel(ctx), e);

		if (ret || roost_event_scope(roost_unmap_event(e->type)) !=
				   ROOST_EVENT_OF_QP)
			return ret;
		if (roost_verbs_target_is_open(roost_verbs_qp(e->owner)))
			return 0;
		roost_event_ack(e->source, 1);
	}
}

ROOST_VERBS_LATEST(ibv_get_async_event, "IBVERBS_1.1");
int roost_ibv_get_async_event(struct ibv_context *context,
			      struct ibv_async_event *event)
{
	struct roost_event e;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_minus_one(-EIO);
	ret = next_async(roost_verbs_context(context)->ctx, &e);
	if (ret) {
		errno = -ret;
		return -1;
	}
	event->event_type = roost_unmap_event(e.type);
	switch (roost_event_scope(event->event_type)) {
	case ROOST_EVENT_OF_CQ:
		event->element.cq = e.owner;
		break;
	case ROOST_EVENT_OF_QP:
		event->element.qp = e.owner;
		break;
	case ROOST_EVENT_OF_SRQ:
		event->element.srq = e.owner;
		break;
	case ROOST_EVENT_OF_WQ:
		event->element.wq = e.owner;
		break;
	case ROOST_EVENT_OF_PORT:
		event->element.port_num = (int)e.arg;
		break;
	}
	return 0;
}

static void ack_cq(struct ibv_cq *cq)
{
	if (roost_verbs_is_dead(cq->context))
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->async_events_completed++;
	pthread_mutex_unlock(&cq->mutex);
	roost_event_ack(roost_cq_async_source(roost_verbs_cq(cq)->cq), 1);
}

static void ack_qp(struct ibv_qp *qp)
{
	if (roost_verbs_is_dead(qp->context))
		return;
	pthread_mutex_lock(&qp->mutex);
	qp->events_completed++;
	pthread_mutex_unlock(&qp->mutex);
	roost_event_ack(roost_qp_async_source(roost_verbs_qp(qp)->qp), 1);
}

static void ack_srq(struct ibv_srq *srq)
{
	if (roost_verbs_is_dead(srq->context))
		return;
	pthread_mutex_lock(&srq->mutex);
	srq->events_completed++;
	pthread_mutex_unlock(&srq->mutex);
	roost_event_ack(roost_srq_async_source(roost_verbs_srq(srq)->srq), 1);
}

static void ack_wq(struct ibv_wq *wq)
{
	if (roost_verbs_is_dead(wq->context))
		return;
	pthread_mutex_lock(&wq->mutex);
	wq->events_completed++;
	pthread_mutex_unlock(&wq->mutex);
	roost_event_ack(roost_wq_async_source(roost_verbs_wq(wq)->wq), 1);
}

ROOST_VERBS_LATEST(ibv_ack_async_event, "IBVERBS_1.1");
void roost_ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (roost_event_scope(event->event_type)) {
	case ROOST_EVENT_OF_CQ:
		ack_cq(event->element.cq);
		break;
	case ROOST_EVENT_OF_QP:
		ack_qp(event->element.qp);
		break;
	case ROOST_EVENT_OF_SRQ:
		ack_srq(event->element.srq);
		break;
	case ROOST_EVENT_OF_WQ:
		ack_wq(event->element.wq);
		break;
	case ROOST_EVENT_OF_PORT:
		/* A port event has no object that could be destroyed. */
		break;
	}
}
