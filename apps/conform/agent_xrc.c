/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/conform/agent_xrc.h"

#include <fcntl.h>
#include <stddef.h>

static bool make_target(struct agent_xrc *xrc, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *init)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex queue = {
		.attr = { .max_wr = init->cap.max_recv_wr, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = init->recv_cq,
	};

	xrc->xrcd = ibv_open_xrcd(pd->context, &domain);
	if (xrc->xrcd == NULL)
		return false;
	queue.xrcd = xrc->xrcd;
	xrc->srq = ibv_create_srq_ex(pd->context, &queue);
	return xrc->srq != NULL && ibv_get_srq_num(xrc->srq, &xrc->srqn) == 0;
}

struct ibv_qp *agent_xrc_create(struct agent_xrc *xrc, struct ibv_pd *pd,
				const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = { .qp_type = init->qp_type };

	if (init->qp_type == IBV_QPT_XRC_SEND) {
		ex.comp_mask = IBV_QP_INIT_ATTR_PD;
		ex.pd = pd;
		ex.send_cq = init->send_cq;
		ex.cap.max_send_wr = init->cap.max_send_wr;
		ex.cap.max_send_sge = init->cap.max_send_sge;
	} else {
		if (!make_target(xrc, pd, init))
			return NULL;
		ex.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		ex.xrcd = xrc->xrcd;
	}
	return ibv_create_qp_ex(pd->context, &ex);
}

void agent_xrc_reset(struct agent_xrc *xrc)
{
	if (xrc->srq != NULL)
		ibv_destroy_srq(xrc->srq);
	if (xrc->xrcd != NULL)
		ibv_close_xrcd(xrc->xrcd);
	*xrc = (struct agent_xrc){ .xrcd = NULL };
}
