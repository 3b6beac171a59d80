/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The QP of an id: made, and moved as the connection goes. All through the
 * calls of libibverbs, as any program would.
 */

#include <string.h>

#include <rdma/rdma_verbs.h>

#include "cm/rdmacm/rdmacm.h"
#include "lib/verbs/map.h"

/* ---- attributes --------------------------------------------------------- */

/* Without a connection: the attributes that the port and the type of QP need.
 */
static void plain_attr(const struct roost_rdmacm_id *id,
		       struct ibv_qp_attr *attr, int *mask)
{
	attr->pkey_index = id->path.pkey_index;
	attr->port_num = id->path.port_num;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (roost_rdmacm_is_ud(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
}

/* As rdma_init_qp_attr(). Under id->call. */
static int init_attr(struct roost_rdmacm_id *id, struct ibv_qp_attr *attr,
		     int *mask)
{
	const enum ibv_qp_state state = attr->qp_state;
	struct roost_qp_attr engine = { 0 };
	enum roost_qp_state to;
	uint32_t engine_mask;
	int ret;

	if (roost_map_qp_state(state, &to))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	if (!id->begun || roost_rdmacm_is_ud(id)) {
		plain_attr(id, attr, mask);
		return 0;
	}
	engine.state = to;
	ret = roost_cm_conn_qp_attr(id->conn, to, &engine, &engine_mask);
	if (ret)
		return ret;
	roost_unmap_qp_attr(&engine, attr);
	/* Both masks have the same bits. rdma_cm does not handle alternate
	 * paths, and a peer's alternate path would need a resolution.
	 */
	*mask = (int)engine_mask & ~(IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
	/* The first PSN is the same in both directions. */
	if (to == ROOST_QPS_RTR)
		attr->rq_psn = id->starting_psn;
	if ((*mask & IBV_QP_TIMEOUT) && id->ack_timeout_set)
		attr->timeout = id->ack_timeout;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *rdma, struct ibv_qp_attr *qp_attr,
		      int *qp_attr_mask)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_bound(id);

	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave(id, init_attr(id, qp_attr, qp_attr_mask));
}

/* ---- states ------------------------------------------------------------- */

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return -ibv_modify_qp(qp, attr, mask);
}

int roost_rdmacm_qp_to_rtr(struct roost_rdmacm_id *id, uint8_t resources)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, ret;

	if (!id->id.qp)
		return 0;
	/* INIT again: the access rights of the peer are known only now. */
	ret = init_attr(id, &attr, &mask);
	if (ret == 0)
		ret = modify(id->id.qp, &attr, mask);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	ret = init_attr(id, &attr, &mask);
	if (ret)
		return ret;
	if (resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = resources;
	return modify(id->id.qp, &attr, mask);
}

int roost_rdmacm_qp_to_rts(struct roost_rdmacm_id *id, uint8_t depth)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int mask, ret;

	if (!id->id.qp)
		return 0;
	ret = init_attr(id, &attr, &mask);
	if (ret)
		return ret;
	if (depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = depth;
	return modify(id->id.qp, &attr, mask);
}

int roost_rdmacm_qp_to_err(struct roost_rdmacm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return id->id.qp ? modify(id->id.qp, &attr, IBV_QP_STATE) : 0;
}

/* Ready for receives; a datagram QP for sends, too. */
/* The connection cannot be: say so to the peer. */
void roost_rdmacm_give_up(struct roost_rdmacm_id *id)
{
	roost_rdmacm_qp_to_err(id);
	roost_cm_reject(id->conn, ROOST_CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL,
			0);
}

int roost_rdmacm_mc_joined(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_mc *mc)
{
	int ret;

	if (!id->id.qp || mc->send_only)
		return 0;
	ret = ibv_attach_mcast(id->id.qp, &mc->mgid, 0);
	mc->attached = ret == 0;
	return -ret;
}

void roost_rdmacm_mc_detach(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_mc *mc)
{
	/* A QP that was destroyed is in no group. */
	if (mc->attached && id->id.qp)
		ibv_detach_mcast(id->id.qp, &mc->mgid, 0);
	mc->attached = false;
}

void roost_rdmacm_mc_leave_all(struct roost_rdmacm_id *id)
{
	struct roost_rdmacm_mc *mc;

	LIST_FOREACH(mc, &id->groups, link)
		roost_rdmacm_mc_detach(id, mc);
}

static int make_ready(struct roost_rdmacm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, ret;

	ret = init_attr(id, &attr, &mask);
	if (ret == 0)
		ret = modify(qp, &attr, mask);
	if (ret || !roost_rdmacm_is_ud(id))
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	ret = modify(qp, &attr, IBV_QP_STATE);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	return modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* ---- completion queues that are the id's -------------------------------- */

static void destroy_cqs(struct rdma_cm_id *id)
{
	/* An XRC receive CQ belongs to the SRQ. */
	if (id->qp_type == IBV_QPT_XRC_RECV && id->srq)
		return;
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	id->recv_cq = NULL;
	id->send_cq = NULL;
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	id->recv_cq_channel = NULL;
	id->send_cq_channel = NULL;
}

static int create_cq(struct rdma_cm_id *id, uint32_t size,
		     struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (!size)
		return 0;
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->verbs, (int)size, id, *channel, 0);
	return *cq ? 0 : -errno;
}

/* A size of 0: the id needs no CQ of that kind. */
static int create_cqs(struct rdma_cm_id *id, uint32_t send_size,
		      uint32_t recv_size)
{
	int ret = create_cq(id, recv_size, &id->recv_cq_channel, &id->recv_cq);

	if (ret == 0)
		ret = create_cq(id, send_size, &id->send_cq_channel,
				&id->send_cq);
	if (ret)
		destroy_cqs(id);
	return ret;
}

/* ---- QP ----------------------------------------------------------------- */

/* Fill in the members that the program left open. */
static int complete_qp_attr(struct roost_rdmacm_id *id,
			    struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *rdma = &id->id;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = rdma->pd;
	} else if (rdma->verbs != attr->pd->context) {
		return -EINVAL;
	}
	if ((rdma->recv_cq && attr->recv_cq &&
	     rdma->recv_cq != attr->recv_cq) ||
	    (rdma->send_cq && attr->send_cq && rdma->send_cq != attr->send_cq))
		return -EINVAL;
	if (rdma->qp_type != IBV_QPT_XRC_RECV ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) && attr->xrcd))
		return 0;
	attr->xrcd = roost_rdmacm_device_xrcd(id->device);
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	return attr->xrcd ? 0 : -errno;
}

static int create_qp(struct roost_rdmacm_id *id,
		     struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *rdma = &id->id;
	struct ibv_qp *qp;
	int ret;

	if (rdma->qp || !rdma->verbs)
		return -EINVAL;
	ret = complete_qp_attr(id, attr);
	if (ret)
		return ret;
	ret = create_cqs(
		rdma,
		attr->send_cq || rdma->send_cq ? 0 : attr->cap.max_send_wr,
		attr->recv_cq || rdma->recv_cq ? 0 : attr->cap.max_recv_wr);
	if (ret)
		return ret;
	if (!attr->send_cq)
		attr->send_cq = rdma->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = rdma->recv_cq;
	if (rdma->srq && !attr->srq)
		attr->srq = rdma->srq;
	qp = ibv_create_qp_ex(rdma->verbs, attr);
	if (!qp) {
		ret = -errno;
		goto err_cqs;
	}
	/* The device has no option that the peer's choice could change. */
	ibv_query_ece(qp, &id->local_ece);
	ret = make_ready(id, qp);
	if (ret)
		goto err_qp;
	/* An XRC target has none, and its SRQs will want one. */
	if (qp->pd)
		rdma->pd = qp->pd;
	rdma->qp = qp;
	return 0;
err_qp:
	ibv_destroy_qp(qp);
err_cqs:
	destroy_cqs(rdma);
	return ret;
}

int rdma_create_qp_ex(struct rdma_cm_id *rdma, struct ibv_qp_init_attr_ex *attr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter(id);

	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave(id, create_qp(id, attr));
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	int ret;

	/* The one begins as the other does; comp_mask lies in its padding. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd ? pd : id->pd;
	ret = rdma_create_qp_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_cqs(id);
}

/* ---- SRQ ---------------------------------------------------------------- */

static int complete_xrc_srq_attr(struct roost_rdmacm_id *id,
				 struct ibv_srq_init_attr_ex *attr)
{
	int ret;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = roost_rdmacm_device_xrcd(id->device);
		if (!attr->xrcd)
			return -errno;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		ret = create_cqs(&id->id, 0, attr->attr.max_wr);
		if (ret)
			return ret;
		attr->cq = id->id.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

static int create_srq(struct roost_rdmacm_id *id,
		      struct ibv_srq_init_attr_ex *attr)
{
	struct rdma_cm_id *rdma = &id->id;
	int ret;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || !rdma->verbs)
		return -EINVAL;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = rdma->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (attr->srq_type == IBV_SRQT_XRC) {
		ret = complete_xrc_srq_attr(id, attr);
		if (ret)
			return ret;
	}
	rdma->srq = ibv_create_srq_ex(rdma->verbs, attr);
	if (!rdma->srq) {
		ret = -errno;
		destroy_cqs(rdma);
		return ret;
	}
	if (!rdma->pd)
		rdma->pd = attr->pd;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *rdma,
		       struct ibv_srq_init_attr_ex *attr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter(id);

	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave(id, create_srq(id, attr));
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
		    struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	int ret;

	/* As in rdma_create_qp(). */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type =
		id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	ret = rdma_create_srq_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	destroy_cqs(id);
}
