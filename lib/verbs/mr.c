/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Memory regions.
 */

#include <assert.h>
#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

struct ibv_mr *roost_verbs_mr_add(struct roost_verbs_mr *mr, struct ibv_pd *pd)
{
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.handle = mr->ibv.lkey;
	roost_verbs_pd_hold(pd);
	roost_verbs_object_add(pd->context, ROOST_VERBS_MR, &mr->ibv,
			       &mr->object);
	return &mr->ibv;
}

static struct ibv_mr *mr_init(struct roost_verbs_mr *mr, struct ibv_pd *pd,
			      void *addr, size_t length)
{
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.lkey = roost_mr_lkey(mr->mr);
	mr->ibv.rkey = roost_mr_rkey(mr->mr);
	return roost_verbs_mr_add(mr, pd);
}

struct ibv_mr *roost_verbs_mr_new(struct ibv_pd *pd, void *addr, size_t length,
				  uint64_t iova, unsigned int access,
				  struct roost_verbs_dm *dm,
				  const struct roost_verbs_mapping *mapping)
{
	struct roost_verbs_mr *mr;
	uint32_t engine_access;
	int ret;

	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	ret = roost_map_access(access, &engine_access);
	if (ret)
		return roost_verbs_null(ret);
	if (mapping && mapping->dmabuf_fd >= 0)
		engine_access |= ROOST_ACCESS_PRESENT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return roost_verbs_null(-ENOMEM);
	ret = roost_mr_reg(roost_verbs_pd(pd)->pd, addr, length, iova,
			   engine_access, &mr->mr);
	if (ret) {
		free(mr);
		return roost_verbs_null(ret);
	}
	mr->dm = dm;
	if (mapping)
		mr->mapping = *mapping;
	return mr_init(mr, pd, addr, length);
}

ROOST_VERBS_LATEST(ibv_reg_mr, "IBVERBS_1.1");
struct ibv_mr *roost_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				int access)
{
	return roost_verbs_mr_new(pd, addr, length, (uintptr_t)addr,
				  (unsigned int)access, NULL, NULL);
}

struct ibv_mr *(ibv_reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t iova, int access)
{
	return roost_verbs_mr_new(pd, addr, length, iova, (unsigned int)access,
				  NULL, NULL);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	return roost_verbs_mr_new(pd, addr, length, iova, access, NULL, NULL);
}

struct ibv_mr *roost_verbs_alloc_null_mr(struct ibv_pd *pd)
{
	struct roost_verbs_mr *mr;
	int ret;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return roost_verbs_null(-ENOMEM);
	ret = roost_mr_alloc_null(roost_verbs_pd(pd)->pd, &mr->mr);
	if (ret) {
		free(mr);
		return roost_verbs_null(ret);
	}
	mr->is_null = true;
	return mr_init(mr, pd, NULL, SIZE_MAX);
}

static_assert(IBV_REREG_MR_CHANGE_TRANSLATION == ROOST_REREG_TRANSLATION &&
		      IBV_REREG_MR_CHANGE_PD == ROOST_REREG_PD &&
		      IBV_REREG_MR_CHANGE_ACCESS == ROOST_REREG_ACCESS,
	      "rereg flags have the same numbers");

static int rereg(struct roost_verbs_mr *mr, unsigned int flags,
		 struct ibv_pd *pd, void *addr, size_t length,
		 unsigned int access)
{
	struct roost_pd *engine_pd = NULL;
	uint32_t engine_access = 0;
	int ret;

	if (roost_verbs_is_dead(mr->ibv.context))
		return -EIO;
	if (mr->dm || mr->mapping.at || mr->is_null || mr->is_alias ||
	    flags & ~(unsigned int)IBV_REREG_MR_FLAGS_SUPPORTED)
		return -EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))
		return -EINVAL;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return -EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		if (!pd || pd->context != mr->ibv.context)
			return -EINVAL;
		engine_pd = roost_verbs_pd(pd)->pd;
	}
	ret = roost_map_access(access, &engine_access);
	if (ret)
		return ret;
	return roost_mr_rereg(mr->mr, flags, engine_pd, addr, length,
			      engine_access);
}

/* Every failure leaves the region unchanged, so of verbs.h's error codes only
 * the first is possible. errno has the cause.
 */
int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	int ret;

	ret = rereg(roost_verbs_mr(ibv), (unsigned int)flags, pd, addr, length,
		    (unsigned int)access);
	if (ret) {
		errno = -ret;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		roost_verbs_pd_hold(pd);
		roost_verbs_pd_release(ibv->pd);
		ibv->pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		ibv->addr = addr;
		ibv->length = length;
	}
	return 0;
}

ROOST_VERBS_LATEST(ibv_dereg_mr, "IBVERBS_1.1");
int roost_ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct roost_verbs_mr *mr = roost_verbs_mr(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context)) {
		roost_verbs_unmap(&mr->mapping);
		return roost_verbs_dead_destroy(mr);
	}
	ret = mr->is_alias ? 0 : roost_mr_dereg(mr->mr);
	if (ret)
		return roost_verbs_result(ret);
	if (mr->dm)
		atomic_fetch_sub(&mr->dm->refs, 1);
	roost_verbs_unmap(&mr->mapping);
	roost_verbs_pd_release(ibv->pd);
	roost_verbs_object_del(ibv->context, &mr->object);
	free(mr);
	return 0;
}

/* Prefetching is complete when the call returns, with IBV_ADVISE_MR_FLAG_FLUSH
 * and without. Advice that must not fault pages in does nothing.
 */
int roost_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			  uint32_t flags, struct ibv_sge *sg_list,
			  uint32_t num_sges)
{
	int ret = 0;

	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || num_sges == 0)
		return roost_verbs_result(-EINVAL);
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE)
		return roost_verbs_result(-ENOTSUP);
	for (uint32_t i = 0; i < num_sges && ret == 0; i++) {
		const struct roost_sge sge = {
			.addr = sg_list[i].addr,
			.len_bytes = sg_list[i].length,
			.lkey = sg_list[i].lkey,
		};

		ret = roost_mr_prefetch(
			roost_verbs_pd(pd)->pd, &sge,
			advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	}
	return roost_verbs_result(ret);
}
