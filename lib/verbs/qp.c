/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Queue pairs: life cycle. Posting is in post.c and qp_ex.c, sharing XRC
 * targets in open_qp.c.
 */

#include <stdatomic.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"
#include "lib/wire/frame.h"

#define INIT_MASK                                                              \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |                         \
	 IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |     \
	 IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |               \
	 IBV_QP_INIT_ATTR_MAX_TSO_HEADER)

/* ---- create ---------------------------------------------------------------
 */

static struct roost_cq *engine_cq(struct ibv_cq *cq)
{
	return cq ? roost_verbs_cq(cq)->cq : NULL;
}

/* One flag is for UD, two are for raw packets without a table, whose WQs have
 * their own.
 */
static int map_create_flags(const struct ibv_qp_init_attr_ex *attr,
			    struct roost_qp_init *init)
{
	const uint32_t raw =
		IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SCATTER_FCS;
	uint32_t flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS
				 ? attr->create_flags
				 : 0;

	if (flags & ~(raw | IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) ||
	    (flags & raw && (init->type != ROOST_QPT_RAW ||
			     attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)))
		return -EOPNOTSUPP;
	if (flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB &&
	    init->type != ROOST_QPT_UD)
		return -EINVAL;
	init->block_self_mcast = flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	if (flags & IBV_QP_CREATE_CVLAN_STRIPPING)
		init->store_flags |= ROOST_STORE_STRIP_CVLAN;
	if (flags & IBV_QP_CREATE_SCATTER_FCS)
		init->store_flags |= ROOST_STORE_FCS;
	return 0;
}

/* Take the objects from attr that a QP of this type uses, and set the others to
 * NULL there, so that the program does not see them in the QP.
 */
static int map_parts(struct ibv_qp_init_attr_ex *attr,
		     struct roost_qp_init *init)
{
	switch (init->type) {
	case ROOST_QPT_XRC_TGT:
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)
			return -EINVAL;
		init->xrcd = roost_verbs_xrcd(attr->xrcd)->xrcd;
		attr->send_cq = NULL;
		/* fall through */
	case ROOST_QPT_XRC_INI:
		attr->recv_cq = NULL;
		attr->srq = NULL;
		break;
	case ROOST_QPT_RC:
	case ROOST_QPT_UC:
	case ROOST_QPT_UD:
	case ROOST_QPT_RAW:
		if (!attr->srq)
			break;
		if (roost_verbs_srq(attr->srq)->type != IBV_SRQT_BASIC)
			return -EINVAL;
		init->srq = roost_verbs_srq(attr->srq)->srq;
		break;
	case ROOST_QPT_COUNT:
		return -EINVAL;
	}
	init->send_cq = engine_cq(attr->send_cq);
	init->recv_cq = engine_cq(attr->recv_cq);
	return 0;
}

/* A table needs a hash and a hash needs a table; the kernel's rules. */
static int map_spread(const struct ibv_qp_init_attr_ex *attr,
		      struct roost_qp_init *init)
{
	const uint32_t mask = attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE |
						 IBV_QP_INIT_ATTR_RX_HASH);

	if (mask == 0)
		return 0;
	if (mask != (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH) ||
	    !attr->rwq_ind_tbl)
		return -EINVAL;
	if (init->type != ROOST_QPT_UD && init->type != ROOST_QPT_RAW)
		return -EOPNOTSUPP;
	if (init->type == ROOST_QPT_UD &&
	    attr->rx_hash_conf.rx_hash_fields_mask & ROOST_HASH_TCP)
		return -EOPNOTSUPP;
	init->ind_table = roost_verbs_ind_table(attr->rwq_ind_tbl)->table;
	return roost_verbs_map_hash(&attr->rx_hash_conf, &init->hash);
}

static int map_tso(const struct ibv_qp_init_attr_ex *attr,
		   struct roost_qp_init *init)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER))
		return 0;
	if (init->type != ROOST_QPT_RAW)
		return -EOPNOTSUPP;
	if (attr->max_tso_header > ROOST_TSO_MAX_HEADER_BYTES)
		return -EINVAL;
	init->max_tso_header_bytes = attr->max_tso_header;
	return 0;
}

static int map_init(struct ibv_qp_init_attr_ex *attr, struct ibv_pd *pd,
		    struct roost_qp_init *init)
{
	int ret;

	ret = roost_map_qp_type(attr->qp_type, &init->type);
	if (ret == 0 && attr->comp_mask & ~(uint32_t)INIT_MASK)
		ret = -EOPNOTSUPP;
	if (ret == 0 && !pd && init->type != ROOST_QPT_XRC_TGT)
		ret = -EINVAL;
	if (ret == 0 && init->type == ROOST_QPT_RAW && !roost_verbs_may_raw())
		ret = -EPERM;
	if (ret == 0)
		ret = map_create_flags(attr, init);
	if (ret == 0)
		ret = map_parts(attr, init);
	if (ret == 0)
		ret = map_spread(attr, init);
	if (ret == 0)
		ret = map_tso(attr, init);
	init->sq_sig_all = attr->sq_sig_all != 0;
	roost_map_qp_cap(&attr->cap, &init->cap);
	return ret;
}

/* attr is changed: cap to the QP's real values, unused objects to NULL. */
static struct ibv_qp *create_qp(struct ibv_context *context, struct ibv_pd *pd,
				struct ibv_qp_init_attr_ex *attr)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	struct roost_qp_init init = { 0 };
	bool ex = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct roost_verbs_qp *qp;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_null(-EIO);
	ret = map_init(attr, pd, &init);
	if (ret)
		return roost_verbs_null(ret);
	if (init.type == ROOST_QPT_XRC_TGT)
		pd = NULL;
	qp = calloc(1, ex ? sizeof(*qp) : ROOST_VERBS_PLAIN_QP_BYTES);
	if (!qp)
		return roost_verbs_null(-ENOMEM);
	qp->device = c->device;
	init.owner = &qp->ibv.ex.qp_base;
	if (ex) {
		ret = roost_verbs_qp_ex_init(qp, init.type,
					     attr->send_ops_flags);
		if (ret)
			goto err_free;
	}
	ret = roost_qp_create(c->ctx, pd ? roost_verbs_pd(pd)->pd : NULL, &init,
			      &qp->qp);
	if (ret)
		goto err_free;
	if (init.xrcd) {
		ret = roost_verbs_target_new(qp, roost_verbs_xrcd(attr->xrcd));
		if (ret)
			goto err_destroy;
	}
	roost_verbs_qp_init_ibv(qp, context, pd, attr);
	roost_unmap_qp_cap(&init.cap, &attr->cap);
	return &qp->ibv.ex.qp_base;

err_destroy:
	roost_qp_destroy(qp->qp, NULL);
err_free:
	roost_verbs_qp_memory_free(qp);
	return roost_verbs_null(ret);
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

	qp = create_qp(pd->context, pd, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

struct ibv_qp *roost_verbs_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex ex = *attr;
	struct ibv_qp *qp;

	qp = create_qp(context,
		       attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL,
		       &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);

	return qp->has_ex ? &qp->ibv.ex : NULL;
}

ROOST_VERBS_LATEST(ibv_destroy_qp, "IBVERBS_1.1");
int roost_ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_qp_destroy(ibv);
	if (qp->target)
		return roost_verbs_result(roost_verbs_target_close(qp));
	ret = roost_qp_destroy(qp->qp, NULL);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &qp->object);
	roost_verbs_qp_free(qp);
	return 0;
}

/* ---- modify ---------------------------------------------------------------
 */

#define TOLD_MTUS (ROOST_MTU_4096 + 1)
#define TELL_AGAIN_S 60

/* Print each pair of MTUs once a minute, because the peer of an accepting
 * program chooses the path MTU.
 */
static bool may_tell_mtu(enum roost_mtu asked, enum roost_mtu active)
{
	static _Atomic int64_t next_s[TOLD_MTUS][TOLD_MTUS];
	_Atomic int64_t *next;
	struct timespec now;
	int64_t due_s;

	if (asked >= TOLD_MTUS || active >= TOLD_MTUS)
		return false;
	next = &next_s[asked][active];
	due_s = atomic_load(next);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return due_s <= now.tv_sec &&
	       atomic_compare_exchange_strong(next, &due_s,
					      now.tv_sec + TELL_AGAIN_S);
}

/* Print a line for a path MTU that is too large for the port: a frequent
 * mistake, and EINVAL does not explain it.
 */
static void tell_mtu(struct roost_verbs_qp *qp,
		     const struct roost_qp_attr *attr, uint32_t mask)
{
	struct ibv_context *context = qp->ibv.ex.qp_base.context;
	struct roost_port_attr port;
	struct roost_qp_init init;
	struct roost_qp_attr now;
	uint8_t port_num;

	if (!(mask & ROOST_QP_PATH_MTU))
		return;
	roost_qp_query(qp->qp, &now, &init);
	port_num = mask & ROOST_QP_AV ? attr->av.port_num : now.port_num;
	if (roost_port_query(roost_verbs_dev(context), port_num, &port) ||
	    attr->path_mtu <= port.active_mtu ||
	    !may_tell_mtu(attr->path_mtu, port.active_mtu))
		return;
	fprintf(stderr,
		"roost: %s: path MTU %u does not fit the port, whose MTU "
		"allows %u; raise the interface's MTU to %u or ask for a "
		"smaller path MTU\n",
		context->device->name, roost_mtu_bytes(attr->path_mtu),
		port.active_mtu < ROOST_MTU_256
			? 0
			: roost_mtu_bytes(port.active_mtu),
		roost_mtu_bytes(attr->path_mtu) + ROOST_IP_OVERHEAD_MAX);
}

static int modify(struct roost_verbs_qp *qp, const struct roost_qp_attr *attr,
		  uint32_t mask)
{
	int ret;

	ret = roost_qp_modify(qp->qp, attr, mask);
	if (ret == -EINVAL)
		tell_mtu(qp, attr, mask);
	/* What was posted before is sent in RTS. */
	if (ret == 0 &&
	    (!(mask & ROOST_QP_STATE) || attr->state == ROOST_QPS_RTS))
		roost_device_push(qp->device, qp->qp);
	return ret;
}

/* Programs give both ends of XRC the attributes of an RC QP. The attributes
 * that an end does not have are ignored, as the kernel does.
 */
static uint32_t ignored(enum ibv_qp_type type)
{
	if (type == IBV_QPT_XRC_SEND)
		return ROOST_QP_MAX_DEST_RD_ATOMIC | ROOST_QP_MIN_RNR_TIMER;
	if (type == IBV_QPT_XRC_RECV)
		return ROOST_QP_MAX_QP_RD_ATOMIC | ROOST_QP_RETRY_CNT |
		       ROOST_QP_RNR_RETRY;
	return 0;
}

ROOST_VERBS_LATEST(ibv_modify_qp, "IBVERBS_1.1");
int roost_ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
			int attr_mask)
{
	struct roost_qp_attr engine_attr;
	uint32_t mask;
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_result(-EIO);
	ret = roost_map_qp_attr(attr, attr_mask, &engine_attr, &mask);
	if (ret == 0)
		ret = modify(roost_verbs_qp(ibv), &engine_attr,
			     mask & ~ignored(ibv->qp_type));
	if (ret)
		return roost_verbs_result(ret);
	if (attr_mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	return 0;
}

/* The burst sizes are hints; the engine ignores them. */
int roost_verbs_modify_qp_rate_limit(struct ibv_qp *ibv,
				     struct ibv_qp_rate_limit_attr *attr)
{
	const struct roost_qp_attr engine_attr = {
		.rate_limit_kbps = attr->rate_limit,
	};

	if (attr->comp_mask)
		return roost_verbs_result(-EINVAL);
	return roost_verbs_result(
		modify(roost_verbs_qp(ibv), &engine_attr, ROOST_QP_RATE_LIMIT));
}

/* All attributes are returned, whatever attr_mask says: that is allowed, and
 * programs rely on it. The QP's state as the program sees it changes only if
 * the mask asks for the state.
 */
ROOST_VERBS_LATEST(ibv_query_qp, "IBVERBS_1.1");
int roost_ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
		       int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct roost_qp_attr engine_attr;
	struct roost_qp_init init;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_result(-EIO);
	roost_qp_query(roost_verbs_qp(ibv)->qp, &engine_attr, &init);
	roost_unmap_qp_attr(&engine_attr, attr);
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.qp_type = roost_unmap_qp_type(init.type),
		.sq_sig_all = init.sq_sig_all,
	};
	roost_unmap_qp_cap(&init.cap, &init_attr->cap);
	if (attr_mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	return 0;
}

/* Returning 1 would promise that a buffer is filled from its start, for every
 * operation.
 */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
			       uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/* ---- extended connection establishment (ECE) ----------------------------- */

/*
 * ECE negotiates the options of a vendor. Roost negotiates ConnectX's, with
 * none of the options on: that is what ConnectX understands, where it fails for
 * the name of any other vendor (NCCL then gives up). So both ends of a
 * connection find that no option is common.
 */
#define ECE_VENDOR_ID 0x15b3u

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (roost_verbs_is_dead(qp->context))
		return roost_verbs_result(-EIO);
	*ece = (struct ibv_ece){ .vendor_id = ECE_VENDOR_ID };
	return 0;
}

/* ece is in and out: what is accepted of the options comes back. */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (roost_verbs_is_dead(qp->context))
		return roost_verbs_result(-EIO);
	if (ece->comp_mask)
		return roost_verbs_result(-EINVAL);
	if (ece->vendor_id != ECE_VENDOR_ID)
		return roost_verbs_result(-EOPNOTSUPP);
	ece->options = 0;
	return 0;
}
