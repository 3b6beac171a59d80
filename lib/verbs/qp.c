/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Queue pairs: life cycle. Posting is in post.c and qp_ex.c.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"
#include "lib/wire/frame.h"

#define INIT_MASK                                                              \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |                 \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* Fill what programs see. */
static void init_ibv(struct roost_verbs_qp *qp, struct ibv_pd *pd,
		     const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->ibv.qp_base;

	ibv->context = pd->context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->qp_num = roost_qp_num(qp->qp);
	ibv->handle = ibv->qp_num;
	ibv->state = IBV_QPS_RESET;
	ibv->qp_type = attr->qp_type;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

static struct roost_cq *engine_cq(struct ibv_cq *cq)
{
	return cq ? roost_verbs_cq(cq)->cq : NULL;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd,
				struct ibv_qp_init_attr_ex *attr)
{
	struct roost_qp_init init = {
		.send_cq = engine_cq(attr->send_cq),
		.recv_cq = engine_cq(attr->recv_cq),
		.sq_sig_all = attr->sq_sig_all != 0,
	};
	struct roost_verbs_qp *qp;
	int rc;

	/* There is no way to make an SRQ: the pointer is not one of ours. */
	if (attr->srq)
		return roost_verbs_null(-EOPNOTSUPP);
	rc = roost_map_qp_type(attr->qp_type, &init.type);
	if (rc)
		return roost_verbs_null(rc);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return roost_verbs_null(-ENOMEM);
	init.owner = qp;
	roost_map_qp_cap(&attr->cap, &init.cap);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		rc = roost_verbs_qp_ex_init(qp, attr->send_ops_flags);
		if (rc)
			goto err_free;
	}
	rc = roost_qp_create(roost_verbs_pd(pd)->pd, &init, &qp->qp);
	if (rc)
		goto err_free;
	qp->device = roost_verbs_context(pd->context)->device;
	init_ibv(qp, pd, attr);
	roost_unmap_qp_cap(&init.cap, &attr->cap);
	return &qp->ibv.qp_base;

err_free:
	free(qp);
	return roost_verbs_null(rc);
}

ROOST_VERBS_LATEST(ibv_create_qp, "IBVERBS_1.1");
struct ibv_qp *roost_ibv_create_qp(struct ibv_pd *pd,
				   struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
	struct ibv_qp *qp;

	qp = create_qp(pd, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

struct ibv_qp *roost_verbs_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	(void)context;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return roost_verbs_null(attr->qp_type == IBV_QPT_XRC_RECV
						? -EOPNOTSUPP
						: -EINVAL);
	if (attr->comp_mask & ~(uint32_t)INIT_MASK)
		return roost_verbs_null(-EOPNOTSUPP);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return roost_verbs_null(-EOPNOTSUPP);
	return create_qp(attr->pd, attr);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);

	return qp->has_ex ? &qp->ibv : NULL;
}

ROOST_VERBS_LATEST(ibv_destroy_qp, "IBVERBS_1.1");
int roost_ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	int rc;

	rc = roost_qp_destroy(qp->qp, NULL);
	if (rc)
		return roost_verbs_result(rc);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(qp);
	return 0;
}

/* The one cause of EINVAL that lies outside of the program: say it. */
static void explain_path_mtu(struct roost_verbs_qp *qp,
			     const struct roost_qp_attr *attr, uint32_t mask)
{
	struct roost_dev *dev = roost_device_dev(qp->device);
	uint8_t port_num = mask & ROOST_QP_AV ? attr->av.port_num : 1;
	struct roost_port_attr port;

	if (!(mask & ROOST_QP_PATH_MTU) || attr->path_mtu > ROOST_MTU_4096 ||
	    roost_port_query(dev, port_num, &port) != 0 ||
	    attr->path_mtu <= port.active_mtu)
		return;
	fprintf(stderr,
		"roost: %s: path MTU %u does not fit port %u, whose MTU has "
		"room for %u; raise that MTU to %u or ask for less\n",
		roost_dev_name(dev), roost_mtu_bytes(attr->path_mtu), port_num,
		port.active_mtu == 0 ? 0 : roost_mtu_bytes(port.active_mtu),
		roost_mtu_bytes(attr->path_mtu) + ROOST_IP_OVERHEAD_MAX);
}

ROOST_VERBS_LATEST(ibv_modify_qp, "IBVERBS_1.1");
int roost_ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
			int attr_mask)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	struct roost_qp_attr engine_attr;
	uint32_t mask;
	int rc;

	rc = roost_map_qp_attr(attr, attr_mask, &engine_attr, &mask);
	if (rc == 0)
		rc = roost_qp_modify(qp->qp, &engine_attr, mask);
	if (rc == -EINVAL)
		explain_path_mtu(qp, &engine_attr, mask);
	if (rc)
		return roost_verbs_result(rc);
	if (attr_mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	/* The new state may have something to send. */
	roost_device_help(qp->device);
	return 0;
}

/* Everything is answered, whatever attr_mask says: that is allowed, and
 * programs rely on it.
 */
ROOST_VERBS_LATEST(ibv_query_qp, "IBVERBS_1.1");
int roost_ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
		       int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct roost_qp_attr engine_attr;
	struct roost_qp_init init;

	(void)attr_mask;
	roost_qp_query(roost_verbs_qp(ibv)->qp, &engine_attr, &init);
	roost_unmap_qp_attr(&engine_attr, attr);
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.qp_type = roost_unmap_qp_type(init.type),
		.sq_sig_all = init.sq_sig_all,
	};
	roost_unmap_qp_cap(&init.cap, &init_attr->cap);
	ibv->state = attr->qp_state;
	return 0;
}

/* 1 would promise that a buffer fills from its start, for every operation. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
			       uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}
