/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Shared receive queues, basic and XRC. Posting to them is in post.c.
 */

#include <stdlib.h>

#include "lib/verbs/shim.h"

#define XRC_MASK (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)

static void init_ibv(struct roost_verbs_srq *srq, struct ibv_pd *pd,
		     void *srq_context)
{
	struct ibv_srq *ibv = &srq->ibv;

	ibv->context = pd->context;
	ibv->srq_context = srq_context;
	ibv->pd = pd;
	ibv->handle = roost_srq_num(srq->srq);
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	roost_verbs_pd_hold(pd);
	roost_verbs_object_add(pd->context, ROOST_VERBS_SRQ, ibv, &srq->object);
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, enum ibv_srq_type type,
				  struct roost_srq_init *init,
				  void *srq_context, struct ibv_srq_attr *attr)
{
	struct roost_verbs_srq *srq;
	int ret;

	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return roost_verbs_null(-ENOMEM);
	init->max_wr = attr->max_wr;
	init->max_sge = attr->max_sge;
	init->owner = srq;
	ret = roost_srq_create(roost_verbs_pd(pd)->pd, init, &srq->srq);
	if (ret) {
		free(srq);
		return roost_verbs_null(ret);
	}
	srq->type = type;
	init_ibv(srq, pd, srq_context);
	attr->max_wr = init->max_wr;
	attr->max_sge = init->max_sge;
	return &srq->ibv;
}

ROOST_VERBS_LATEST(ibv_create_srq, "IBVERBS_1.1");
struct ibv_srq *roost_ibv_create_srq(struct ibv_pd *pd,
				     struct ibv_srq_init_attr *attr)
{
	struct roost_srq_init init = { 0 };

	return create_srq(pd, IBV_SRQT_BASIC, &init, attr->srq_context,
			  &attr->attr);
}

/* Tag matching is not supported, as a type and as a part. */
static int check_ex(const struct ibv_context *context,
		    const struct ibv_srq_init_attr_ex *attr,
		    enum ibv_srq_type type)
{
	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED ||
	    attr->comp_mask & IBV_SRQ_INIT_ATTR_TM || type == IBV_SRQT_TM)
		return -EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return -EINVAL;
	if (type == IBV_SRQT_BASIC)
		return 0;
	if (type != IBV_SRQT_XRC || (attr->comp_mask & XRC_MASK) != XRC_MASK ||
	    !attr->xrcd || !attr->cq)
		return -EINVAL;
	return 0;
}

struct ibv_srq *roost_verbs_create_srq_ex(struct ibv_context *context,
					  struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE
					 ? attr->srq_type
					 : IBV_SRQT_BASIC;
	struct roost_srq_init init = { 0 };
	int ret;

	ret = check_ex(context, attr, type);
	if (ret)
		return roost_verbs_null(ret);
	if (type == IBV_SRQT_XRC) {
		init.xrcd = roost_verbs_xrcd(attr->xrcd)->xrcd;
		init.cq = roost_verbs_cq(attr->cq)->cq;
	}
	return create_srq(attr->pd, type, &init, attr->srq_context,
			  &attr->attr);
}

static int modify(struct roost_srq *srq, const struct ibv_srq_attr *attr,
		  unsigned int mask)
{
	const uint32_t *limit = mask & IBV_SRQ_LIMIT ? &attr->srq_limit : NULL;

	if (mask & ~(unsigned int)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return -EINVAL;
	/* Both at once, so that a failure changes nothing. */
	if (mask & IBV_SRQ_MAX_WR)
		return roost_srq_resize(srq, attr->max_wr, limit);
	return limit ? roost_srq_set_limit(srq, *limit) : 0;
}

ROOST_VERBS_LATEST(ibv_modify_srq, "IBVERBS_1.1");
int roost_ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			 int mask)
{
	if (roost_verbs_is_dead(srq->context))
		return roost_verbs_result(-EIO);
	return roost_verbs_result(
		modify(roost_verbs_srq(srq)->srq, attr, (unsigned int)mask));
}

ROOST_VERBS_LATEST(ibv_query_srq, "IBVERBS_1.1");
int roost_ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (roost_verbs_is_dead(srq->context))
		return roost_verbs_result(-EIO);
	roost_srq_query(roost_verbs_srq(srq)->srq, &attr->max_wr,
			&attr->max_sge, &attr->srq_limit);
	return 0;
}

int roost_verbs_get_srq_num(struct ibv_srq *ibv, uint32_t *num)
{
	struct roost_verbs_srq *srq = roost_verbs_srq(ibv);

	if (srq->type != IBV_SRQT_XRC)
		return roost_verbs_result(-EINVAL);
	*num = roost_srq_num(srq->srq);
	return 0;
}

ROOST_VERBS_LATEST(ibv_destroy_srq, "IBVERBS_1.1");
int roost_ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct roost_verbs_srq *srq = roost_verbs_srq(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_destroy(srq);
	ret = roost_srq_destroy(srq->srq, NULL);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_pd_release(ibv->pd);
	roost_verbs_object_del(ibv->context, &srq->object);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(srq);
	return 0;
}
