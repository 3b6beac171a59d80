/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "lib/engine/qp_priv.h"
#include "lib/engine/worker_priv.h"

/* A send WQE has at least this room for inline data: it costs nothing. */
#define INLINE_MIN_BYTES 64u

static bool type_supported(enum roost_qp_type type)
{
	return type == ROOST_QPT_RC;
}

static int queue_create(struct roost_queue *q, uint32_t slots,
			size_t slot_bytes)
{
	q->lock = (struct roost_spin)ROOST_SPIN_INIT;
	q->mask = slots - 1;
	q->stride_bytes = (uint32_t)RTE_ALIGN_CEIL(slot_bytes, 16u);
	q->slots = aligned_alloc(64,
				 RTE_ALIGN_CEIL((size_t)slots * q->stride_bytes,
						64u));
	return q->slots == NULL ? -ENOMEM : 0;
}

/* Round what was asked for up to what the queues have anyway. */
static int check_cap(const struct roost_dev_limits *limits,
		     struct roost_qp_cap *cap)
{
	if (cap->max_send_wr > limits->max_qp_wr ||
	    cap->max_recv_wr > limits->max_qp_wr ||
	    cap->max_send_sge > limits->max_sge ||
	    cap->max_recv_sge > limits->max_sge ||
	    cap->max_inline_bytes > limits->max_inline_bytes)
		return -EINVAL;
	if (cap->max_send_wr > 0)
		cap->max_send_wr = rte_align32pow2(cap->max_send_wr);
	if (cap->max_recv_wr > 0)
		cap->max_recv_wr = rte_align32pow2(cap->max_recv_wr);
	cap->max_inline_bytes =
		RTE_MAX(RTE_MAX(cap->max_inline_bytes, INLINE_MIN_BYTES),
			cap->max_send_sge * (uint32_t)sizeof(struct roost_sge));
	return 0;
}

static int create_queues(struct roost_qp *qp)
{
	const struct roost_qp_cap *cap = &qp->cap;
	int rc;

	rc = queue_create(&qp->sq, RTE_MAX(cap->max_send_wr, 1u),
			  sizeof(struct roost_send_wqe) +
				  cap->max_inline_bytes);
	if (rc != 0)
		return rc;
	rc = queue_create(&qp->rq, RTE_MAX(cap->max_recv_wr, 1u),
			  sizeof(struct roost_recv_wqe) +
				  cap->max_recv_sge * sizeof(struct roost_sge));
	if (rc != 0)
		free(qp->sq.slots);
	return rc;
}

/* The CQs know their QPs, for the day that one overruns. */
static void join_cqs(struct roost_qp *qp)
{
	struct roost_worker *w = qp->dev->worker;

	qp->send_user.qp = qp;
	qp->recv_user.qp = qp;
	atomic_fetch_add(&qp->send_cq->refs, 1);
	atomic_fetch_add(&qp->recv_cq->refs, 1);
	roost_worker_turn_take(w);
	LIST_INSERT_HEAD(&qp->send_cq->users, &qp->send_user, link);
	LIST_INSERT_HEAD(&qp->recv_cq->users, &qp->recv_user, link);
	roost_worker_turn_release(w);
}

int roost_qp_create(struct roost_pd *pd, struct roost_qp_init *init,
		    struct roost_qp **qp)
{
	struct roost_dev *dev = pd->ctx->dev;
	struct roost_qp *q;
	int rc;

	if (!type_supported(init->type))
		return -EOPNOTSUPP;
	if (init->send_cq == NULL || init->recv_cq == NULL)
		return -EINVAL;
	rc = check_cap(roost_dev_limits(dev), &init->cap);
	if (rc != 0)
		return rc;
	q = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*q), 64u));
	if (q == NULL)
		return -ENOMEM;
	*q = (struct roost_qp){
		.type = (uint8_t)init->type,
		.sq_sig_all = init->sq_sig_all,
		.dev = dev,
		.pd = pd,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.cap = init->cap,
		.owner = init->owner,
	};
	rc = create_queues(q);
	if (rc != 0)
		goto free_qp;
	roost_event_source_init(&q->async, pd->ctx->async, init->owner);
	pthread_mutex_init(&q->modify_lock, NULL);
	join_cqs(q);
	rc = roost_idmap_add(&dev->qps, q, &q->qpn);
	if (rc != 0)
		goto leave_cqs;
	atomic_fetch_add(&pd->refs, 1);
	*qp = q;
	return 0;
leave_cqs:
	roost_worker_turn_take(dev->worker);
	LIST_REMOVE(&q->send_user, link);
	LIST_REMOVE(&q->recv_user, link);
	roost_worker_turn_release(dev->worker);
	atomic_fetch_sub(&q->send_cq->refs, 1);
	atomic_fetch_sub(&q->recv_cq->refs, 1);
	pthread_mutex_destroy(&q->modify_lock);
	free(q->rq.slots);
	free(q->sq.slots);
free_qp:
	free(q);
	return rc == -ENOSPC ? -ENOMEM : rc;
}

int roost_qp_destroy(struct roost_qp *qp, uint64_t *async_acked)
{
	struct roost_dev *dev = qp->dev;
	uint64_t acked;

	roost_idmap_del(&dev->qps, qp->qpn);
	roost_worker_turn_take(dev->worker);
	roost_worker_settle(dev->worker, qp);
	roost_worker_forget_qp(dev->worker, qp);
	LIST_REMOVE(&qp->send_user, link);
	LIST_REMOVE(&qp->recv_user, link);
	roost_worker_publish(dev->worker);
	roost_worker_turn_release(dev->worker);
	acked = roost_event_source_fini(&qp->async);
	if (async_acked != NULL)
		*async_acked = acked;
	roost_path_release(dev, &qp->path);
	atomic_fetch_sub(&qp->send_cq->refs, 1);
	atomic_fetch_sub(&qp->recv_cq->refs, 1);
	atomic_fetch_sub(&qp->pd->refs, 1);
	pthread_mutex_destroy(&qp->modify_lock);
	free(qp->rq.slots);
	free(qp->sq.slots);
	free(qp);
	return 0;
}

uint32_t roost_qp_num(const struct roost_qp *qp)
{
	return qp->qpn;
}

enum roost_qp_state roost_qp_state(const struct roost_qp *qp)
{
	return roost_qp_state_get(qp);
}

struct roost_event_source *roost_qp_async_source(struct roost_qp *qp)
{
	return &qp->async;
}

void roost_qp_query(struct roost_qp *qp, struct roost_qp_attr *attr,
		    struct roost_qp_init *init)
{
	pthread_mutex_lock(&qp->modify_lock);
	roost_worker_turn_take(qp->dev->worker);
	*attr = qp->attr;
	attr->state = roost_qp_state_get(qp);
	attr->cur_state = attr->state;
	attr->sq_psn = qp->req.next_psn.v;
	attr->rq_psn = qp->resp.expected_psn.v;
	attr->sq_draining =
		attr->state == ROOST_QPS_SQD && roost_req_has_unacked(qp);
	attr->cap = qp->cap;
	roost_worker_turn_release(qp->dev->worker);
	pthread_mutex_unlock(&qp->modify_lock);
	*init = (struct roost_qp_init){
		.type = (enum roost_qp_type)qp->type,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.cap = qp->cap,
		.sq_sig_all = qp->sq_sig_all,
		.owner = qp->owner,
	};
}
