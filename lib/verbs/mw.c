/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Memory windows. A window of type 1 is bound by ibv_bind_mw(), which makes
 * its next key; one of type 2 by a send request with a key of the program's.
 */

#include <assert.h>
#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

static_assert((int)IBV_MW_TYPE_1 == 1 && (int)IBV_MW_TYPE_2 == 2,
	      "window types are numbered as in the engine");

struct ibv_mw *roost_verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct roost_verbs_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return roost_verbs_null(-ENOMEM);
	ret = roost_mw_alloc(roost_verbs_pd(pd)->pd, type, &mw->mw);
	if (ret) {
		free(mw);
		return roost_verbs_null(ret);
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.rkey = roost_mw_rkey(mw->mw);
	mw->ibv.handle = mw->ibv.rkey;
	mw->ibv.type = type;
	roost_verbs_pd_hold(pd);
	roost_verbs_object_add(pd->context, ROOST_VERBS_MW, &mw->ibv,
			       &mw->object);
	return &mw->ibv;
}

int roost_verbs_dealloc_mw(struct ibv_mw *ibv)
{
	struct roost_verbs_mw *mw = roost_verbs_mw(ibv);
	int ret;

	ret = roost_mw_dealloc(mw->mw);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_pd_release(ibv->pd);
	roost_verbs_object_del(ibv->context, &mw->object);
	free(mw);
	return 0;
}

int roost_verbs_map_bind(struct ibv_mw *mw, enum ibv_mw_type type,
			 uint32_t rkey, const struct ibv_mw_bind_info *info,
			 struct roost_mw_bind *bind)
{
	if (!mw || mw->type != type ||
	    (info->mr && roost_verbs_mr(info->mr)->is_alias))
		return -EINVAL;
	*bind = (struct roost_mw_bind){
		.mw = roost_verbs_mw(mw)->mw,
		.mr = info->mr ? roost_verbs_mr(info->mr)->mr : NULL,
		.addr = info->addr,
		.len_bytes = info->length,
		.rkey = rkey,
	};
	return roost_map_access(info->mw_access_flags, &bind->access);
}

/* verbs.h has looked at the type and the PD. Length 0 unbinds. */
int roost_verbs_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw,
			struct ibv_mw_bind *bind)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	struct roost_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = ROOST_WR_BIND_MW,
	};
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	int ret;

	ret = roost_map_send_flags(bind->send_flags, &wr.flags);
	if (ret == 0)
		ret = roost_verbs_map_bind(mw, IBV_MW_TYPE_1, rkey,
					   &bind->bind_info, &wr.bind);
	if (ret)
		return roost_verbs_result(ret);
	roost_qp_send_begin(qp->qp);
	ret = roost_qp_send_add(qp->qp, &wr);
	if (ret == 0)
		mw->rkey = rkey;
	roost_device_send_end(qp->device, qp->qp);
	return roost_verbs_result(ret);
}
