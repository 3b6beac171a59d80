/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Protection domains, thread domains and parent domains. The last two say how a
 * program will use its objects. They are accepted and change nothing: an
 * uncontended lock costs next to nothing, and queues are in memory of the
 * library.
 */

#include <stdlib.h>

#include "lib/verbs/shim.h"

#define PARENT_MASK                                                            \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |                              \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

ROOST_VERBS_LATEST(ibv_alloc_pd, "IBVERBS_1.1");
struct ibv_pd *roost_ibv_alloc_pd(struct ibv_context *context)
{
	struct roost_verbs_pd *pd;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_null(-EIO);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return roost_verbs_null(-ENOMEM);
	ret = roost_pd_alloc(roost_verbs_context(context)->ctx, &pd->pd);
	if (ret) {
		free(pd);
		return roost_verbs_null(ret);
	}
	pd->ibv.context = context;
	pd->ibv.handle = roost_pd_handle(pd->pd);
	roost_verbs_object_add(context, ROOST_VERBS_PD, &pd->ibv, &pd->object);
	return &pd->ibv;
}

/* The engine frees a real PD; for a parent domain only the references are
 * released.
 */
static int end(struct roost_verbs_pd *pd)
{
	if (atomic_load(&pd->refs) & ~ROOST_VERBS_PD_LEAVES)
		return -EBUSY;
	if (!pd->parent)
		return roost_pd_dealloc(pd->pd);
	if (pd->td)
		atomic_fetch_sub(&pd->td->refs, 1);
	roost_verbs_pd_release(&pd->parent->ibv);
	return 0;
}

void roost_verbs_pd_leave(struct roost_verbs_pd *pd)
{
	end(pd);
	free(pd);
}

/* Programs may do so before they destroy what they made with it: the kernel is
 * not asked.
 */
void ibv_unimport_pd(struct ibv_pd *ibv)
{
	struct roost_verbs_pd *pd = roost_verbs_pd(ibv);

	if (roost_verbs_is_dead(ibv->context)) {
		roost_verbs_dead_destroy(pd);
		return;
	}
	roost_verbs_object_del(ibv->context, &pd->object);
	if (atomic_fetch_or(&pd->refs, ROOST_VERBS_PD_LEAVES) == 0)
		roost_verbs_pd_leave(pd);
}

ROOST_VERBS_LATEST(ibv_dealloc_pd, "IBVERBS_1.1");
int roost_ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct roost_verbs_pd *pd = roost_verbs_pd(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_destroy(pd);
	ret = end(pd);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &pd->object);
	free(pd);
	return 0;
}

struct ibv_pd *roost_verbs_pd_like(struct ibv_context *context,
				   struct roost_verbs_pd *parent,
				   struct ibv_td *td)
{
	struct roost_verbs_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		roost_verbs_pd_release(&parent->ibv);
		return roost_verbs_null(-ENOMEM);
	}
	pd->ibv.context = context;
	pd->ibv.handle = parent->ibv.handle;
	pd->pd = parent->pd;
	pd->parent = parent;
	pd->td = (struct roost_verbs_td *)td;
	if (pd->td)
		atomic_fetch_add(&pd->td->refs, 1);
	roost_verbs_object_add(context, ROOST_VERBS_PD, &pd->ibv, &pd->object);
	return &pd->ibv;
}

/* The allocators of attr are never asked: no memory of theirs is needed. */
struct ibv_pd *
roost_verbs_alloc_parent_domain(struct ibv_context *context,
				struct ibv_parent_domain_init_attr *attr)
{
	struct roost_verbs_pd *parent;

	if (!attr->pd || attr->pd->context != context ||
	    (attr->td && attr->td->context != context) ||
	    attr->comp_mask & ~(uint32_t)PARENT_MASK)
		return roost_verbs_null(-EINVAL);
	parent = roost_verbs_pd(attr->pd);
	if (parent->parent)
		parent = parent->parent;
	roost_verbs_pd_hold(&parent->ibv);
	return roost_verbs_pd_like(context, parent, attr->td);
}

struct ibv_td *roost_verbs_alloc_td(struct ibv_context *context,
				    struct ibv_td_init_attr *attr)
{
	struct roost_verbs_td *td;

	if (attr->comp_mask)
		return roost_verbs_null(-EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return roost_verbs_null(-ENOMEM);
	td->ibv.context = context;
	roost_verbs_object_add(context, ROOST_VERBS_TD, &td->ibv, &td->object);
	return &td->ibv;
}

int roost_verbs_dealloc_td(struct ibv_td *ibv)
{
	struct roost_verbs_td *td = (struct roost_verbs_td *)ibv;

	if (atomic_load(&td->refs))
		return roost_verbs_result(-EBUSY);
	roost_verbs_object_del(ibv->context, &td->object);
	free(td);
	return 0;
}
