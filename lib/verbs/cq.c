/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Completion queues. Hot: poll_cq. No allocation, system call, log or lock
 * besides the engine's.
 */

#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/private.h"
#include "lib/verbs/shim.h"

/* Completions taken from the engine at a time; a stack array. */
#define POLL_BURST 16

ROOST_VERBS_LATEST(verbs_init_cq, "IBVERBS_PRIVATE_34");
void roost_verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context,
			 struct ibv_comp_channel *channel, void *cq_context)
{
	cq->context = context;
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->comp_events_completed = 0;
	cq->async_events_completed = 0;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	if (channel) {
		pthread_mutex_lock(&channel->context->mutex);
		channel->refcnt++;
		pthread_mutex_unlock(&channel->context->mutex);
	}
}

ROOST_VERBS_PRIVATE(verbs_init_cq)

static void fini_cq(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;

	if (channel) {
		pthread_mutex_lock(&channel->context->mutex);
		channel->refcnt--;
		pthread_mutex_unlock(&channel->context->mutex);
	}
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
}

struct roost_verbs_cq *
roost_verbs_cq_new(struct ibv_context *context,
		   const struct ibv_cq_init_attr_ex *attr)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	struct roost_channel *channel = NULL;
	struct roost_verbs_cq *cq;
	int ret;

	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors ||
	    (attr->channel && attr->channel->context != context))
		return roost_verbs_null(-EINVAL);
	if (attr->channel)
		channel =
			((struct roost_verbs_channel *)attr->channel)->channel;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return roost_verbs_null(-ENOMEM);
	ret = roost_cq_create(c->ctx, attr->cqe, channel, cq, &cq->cq);
	if (ret) {
		free(cq);
		return roost_verbs_null(ret);
	}
	cq->device = c->device;
	verbs_init_cq(ibv_cq_ex_to_cq(&cq->ibv), context, attr->channel,
		      attr->cq_context);
	cq->ibv.cqe = (int)roost_cq_entries(cq->cq);
	roost_verbs_object_add(context, ROOST_VERBS_CQ, &cq->ibv, &cq->object);
	return cq;
}

ROOST_VERBS_LATEST(ibv_create_cq, "IBVERBS_1.1");
struct ibv_cq *roost_ibv_create_cq(struct ibv_context *context, int cqe,
				   void *cq_context,
				   struct ibv_comp_channel *channel,
				   int comp_vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct roost_verbs_cq *cq;

	if (roost_verbs_is_dead(context))
		return roost_verbs_null(-EIO);
	if (cqe < 1)
		return roost_verbs_null(-EINVAL);
	cq = roost_verbs_cq_new(context, &attr);
	return cq ? ibv_cq_ex_to_cq(&cq->ibv) : NULL;
}

ROOST_VERBS_LATEST(ibv_resize_cq, "IBVERBS_1.1");
int roost_ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct roost_verbs_cq *cq = roost_verbs_cq(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_result(-EIO);
	ret = cqe < 1 ? -EINVAL : roost_cq_resize(cq->cq, (uint32_t)cqe);
	if (ret)
		return roost_verbs_result(ret);
	ibv->cqe = (int)roost_cq_entries(cq->cq);
	return 0;
}

ROOST_VERBS_LATEST(ibv_destroy_cq, "IBVERBS_1.1");
int roost_ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct roost_verbs_cq *cq = roost_verbs_cq(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_destroy(cq);
	ret = roost_cq_destroy(cq->cq, NULL, NULL);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &cq->object);
	fini_cq(ibv);
	if (cq->parent_domain)
		roost_verbs_pd_release(&cq->parent_domain->ibv);
	free(cq);
	return 0;
}

/*
 * Moderation asks a device to save interrupts. Here an event costs one write
 * to an eventfd, and only when the program has armed the CQ since the last
 * one: there is nothing to save, and completions are not held back.
 */
int roost_verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	(void)cq;
	if (attr->attr_mask >= IBV_CQ_ATTR_RESERVED)
		return roost_verbs_result(-EINVAL);
	return 0;
}

static int take(struct roost_verbs_cq *cq, int n, struct ibv_wc *wc)
{
	struct roost_cqe cqes[POLL_BURST];
	int taken = 0;

	while (taken < n) {
		const int want =
			n - taken < POLL_BURST ? n - taken : POLL_BURST;
		const int got = roost_cq_poll(cq->cq, (unsigned int)want, cqes);

		for (int i = 0; i < got; i++)
			roost_unmap_cqe(&cqes[i], &wc[taken + i]);
		if (got < 0)
			return taken ? taken : got;
		taken += got;
		if (got < want)
			break;
	}
	return taken;
}

/* If the CQ is empty, the calling thread takes the worker's turn, and polls
 * again.
 */
int roost_verbs_poll_cq(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct roost_verbs_cq *cq = roost_verbs_cq(ibv);
	int taken;

	taken = take(cq, n, wc);
	if (taken > 0)
		roost_device_send_batched(cq->device);
	else if (taken == 0 && roost_device_help_cq(cq->device, cq->cq))
		taken = take(cq, n, wc);
	return taken;
}

int roost_verbs_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct roost_verbs_cq *cq = roost_verbs_cq(ibv);

	roost_cq_arm(cq->cq, solicited_only);
	roost_cq_remind(cq->cq, solicited_only);
	roost_device_expect(cq->device);
	return 0;
}
