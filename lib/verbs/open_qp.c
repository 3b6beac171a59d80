/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Handles of queue pairs. XRC targets have several: the one that
 * ibv_create_qp_ex() gives, and those that ibv_open_qp() gives to a process
 * that has the domain open. The target lives until its last handle is
 * destroyed.
 *
 * Its async events are reported to the handle that created it. After that
 * handle is destroyed, they are discarded; the handle's memory stays as long as
 * the target.
 */

#include <pthread.h>
#include <stdlib.h>

#include "lib/verbs/shim.h"

#define OPEN_MASK                                                              \
	(IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE)

struct roost_verbs_target {
	LIST_ENTRY(roost_verbs_target) link;
	struct roost_dev *dev;
	uint64_t domain_id;
	struct roost_qp *qp;
	struct roost_verbs_qp *creator;
	bool creator_open;
	uint32_t nb_handles;
};

/* A handle from ibv_open_qp(). */
struct opened {
	struct roost_verbs_qp qp; /* first */
	struct roost_verbs_xrcd *xrcd;
};

static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, roost_verbs_target) targets;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

void roost_verbs_qp_init_ibv(struct roost_verbs_qp *qp,
			     struct ibv_context *context, struct ibv_pd *pd,
			     const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->ibv.ex.qp_base;

	ibv->context = context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->srq = attr->srq;
	ibv->qp_num = roost_qp_num(qp->qp);
	ibv->handle = ibv->qp_num;
	ibv->state = IBV_QPS_RESET;
	ibv->qp_type = attr->qp_type;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	if (pd)
		roost_verbs_pd_hold(pd);
	roost_verbs_object_add(context, ROOST_VERBS_QP, ibv, &qp->object);
}

void roost_verbs_qp_free(struct roost_verbs_qp *qp)
{
	struct ibv_qp *ibv = &qp->ibv.ex.qp_base;

	if (ibv->pd)
		roost_verbs_pd_release(ibv->pd);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	roost_verbs_qp_memory_free(qp);
}

int roost_verbs_target_new(struct roost_verbs_qp *qp,
			   const struct roost_verbs_xrcd *xrcd)
{
	struct roost_verbs_target *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->dev = roost_device_dev(qp->device);
	t->domain_id = xrcd->domain_id;
	t->qp = qp->qp;
	t->creator = qp;
	t->creator_open = true;
	t->nb_handles = 1;
	qp->target = t;
	pthread_mutex_lock(&process.lock);
	LIST_INSERT_HEAD(&process.targets, t, link);
	pthread_mutex_unlock(&process.lock);
	return 0;
}

/* Take another handle of the target with this number. */
static struct roost_verbs_target *take(struct roost_dev *dev,
				       uint64_t domain_id, uint32_t qp_num)
{
	struct roost_verbs_target *t;

	pthread_mutex_lock(&process.lock);
	LIST_FOREACH(t, &process.targets, link)
		if (t->dev == dev && t->domain_id == domain_id &&
		    roost_qp_num(t->qp) == qp_num)
			break;
	if (t)
		t->nb_handles++;
	pthread_mutex_unlock(&process.lock);
	return t;
}

static int check(const struct ibv_context *context,
		 const struct ibv_qp_open_attr *attr)
{
	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return -EOPNOTSUPP;
	if ((attr->comp_mask & OPEN_MASK) != OPEN_MASK || !attr->xrcd ||
	    attr->xrcd->context != context || attr->qp_type != IBV_QPT_XRC_RECV)
		return -EINVAL;
	return 0;
}

struct ibv_qp *roost_verbs_open_qp(struct ibv_context *context,
				   struct ibv_qp_open_attr *attr)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV };
	struct opened *o;
	int ret;

	ret = check(context, attr);
	if (ret)
		return roost_verbs_null(ret);
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		init.qp_context = attr->qp_context;
	o = calloc(1, sizeof(*o));
	if (!o)
		return roost_verbs_null(-ENOMEM);
	o->xrcd = roost_verbs_xrcd(attr->xrcd);
	o->qp.target = take(roost_verbs_dev(context), o->xrcd->domain_id,
			    attr->qp_num);
	if (!o->qp.target) {
		/* The other process may have it: ibv_open_xrcd() told why. */
		ret = o->xrcd->elsewhere ? -EOPNOTSUPP : -EINVAL;
		free(o);
		return roost_verbs_null(ret);
	}
	atomic_fetch_add(&o->xrcd->refs, 1);
	o->qp.qp = o->qp.target->qp;
	o->qp.device = roost_verbs_context(context)->device;
	roost_verbs_qp_init_ibv(&o->qp, context, NULL, &init);
	o->qp.ibv.ex.qp_base.state = IBV_QPS_UNKNOWN;
	return &o->qp.ibv.ex.qp_base;
}

bool roost_verbs_target_is_open(const struct roost_verbs_qp *qp)
{
	bool open;

	if (!qp->target)
		return true;
	pthread_mutex_lock(&process.lock);
	open = qp->target->creator_open;
	pthread_mutex_unlock(&process.lock);
	return open;
}

/* The handle is gone from the program's view. */
static void close_one(struct roost_verbs_qp *qp, bool creator)
{
	struct opened *o = (struct opened *)qp;

	roost_verbs_object_del(qp->ibv.ex.qp_base.context, &qp->object);
	if (creator)
		return;
	atomic_fetch_sub(&o->xrcd->refs, 1);
	roost_verbs_qp_free(qp);
}

/* Not under the lock: the engine waits for acks of events. */
static int close_last(struct roost_verbs_target *t, struct roost_verbs_qp *qp)
{
	struct roost_verbs_qp *creator = t->creator;
	int ret;

	ret = roost_qp_destroy(t->qp, NULL);
	if (ret) {
		pthread_mutex_lock(&process.lock);
		t->nb_handles = 1;
		LIST_INSERT_HEAD(&process.targets, t, link);
		pthread_mutex_unlock(&process.lock);
		return ret;
	}
	close_one(qp, qp == creator);
	roost_verbs_qp_free(creator);
	free(t);
	return 0;
}

int roost_verbs_target_close(struct roost_verbs_qp *qp)
{
	struct roost_verbs_target *t = qp->target;
	bool creator = t->creator == qp, last;

	pthread_mutex_lock(&process.lock);
	last = --t->nb_handles == 0;
	if (last)
		LIST_REMOVE(t, link);
	else if (creator)
		t->creator_open = false;
	pthread_mutex_unlock(&process.lock);
	if (last)
		return close_last(t, qp);
	close_one(qp, creator);
	return 0;
}
