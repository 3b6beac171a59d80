/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Protection domains and memory regions.
 */

#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

ROOST_VERBS_LATEST(ibv_alloc_pd, "IBVERBS_1.1");
struct ibv_pd *roost_ibv_alloc_pd(struct ibv_context *context)
{
	struct roost_verbs_pd *pd;
	int rc;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return roost_verbs_null(-ENOMEM);
	rc = roost_pd_alloc(roost_verbs_context(context)->ctx, &pd->pd);
	if (rc) {
		free(pd);
		return roost_verbs_null(rc);
	}
	pd->ibv.context = context;
	pd->ibv.handle = roost_pd_handle(pd->pd);
	return &pd->ibv;
}

ROOST_VERBS_LATEST(ibv_dealloc_pd, "IBVERBS_1.1");
int roost_ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct roost_verbs_pd *pd = roost_verbs_pd(ibv);
	int rc;

	rc = roost_pd_dealloc(pd->pd);
	if (rc)
		return roost_verbs_result(rc);
	free(pd);
	return 0;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     uint64_t iova, unsigned int access)
{
	struct roost_verbs_mr *mr;
	uint32_t engine_access;
	int rc;

	rc = roost_map_access(access, &engine_access);
	if (rc)
		return roost_verbs_null(rc);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return roost_verbs_null(-ENOMEM);
	rc = roost_mr_reg(roost_verbs_pd(pd)->pd, addr, length, iova,
			  engine_access, &mr->mr);
	if (rc) {
		free(mr);
		return roost_verbs_null(rc);
	}
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.lkey = roost_mr_lkey(mr->mr);
	mr->ibv.rkey = roost_mr_rkey(mr->mr);
	mr->ibv.handle = mr->ibv.lkey;
	return &mr->ibv;
}

ROOST_VERBS_LATEST(ibv_reg_mr, "IBVERBS_1.1");
struct ibv_mr *roost_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				int access)
{
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *(ibv_reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t iova, int access)
{
	return reg_mr(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	return reg_mr(pd, addr, length, iova, access);
}

ROOST_VERBS_LATEST(ibv_dereg_mr, "IBVERBS_1.1");
int roost_ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct roost_verbs_mr *mr = (struct roost_verbs_mr *)ibv;
	int rc;

	rc = roost_mr_dereg(mr->mr);
	if (rc)
		return roost_verbs_result(rc);
	free(mr);
	return 0;
}
