/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Groups. Joining a group sends no request: an IP group is a RoCEv2 group, and
 * the port reports its membership when the first QP is attached.
 */

#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"

#define MULTICAST_QPN 0xffffff
/* As Linux sends to groups: across routers for IPv4 only. */
#define HOP_LIMIT_V4 64
#define HOP_LIMIT_V6 1

/* A group may also be given by its GID; nothing else is, here. */
static socklen_t group_len(const struct sockaddr *addr)
{
	if (addr && addr->sa_family == AF_IB)
		return sizeof(struct sockaddr_ib);
	return roost_rdmacm_addr_len(addr);
}

static struct roost_gid group_gid(const struct sockaddr *addr)
{
	struct roost_gid gid;

	if (addr->sa_family != AF_IB)
		return roost_rdmacm_addr_gid(addr);
	memcpy(gid.b, &((const struct sockaddr_ib *)addr)->sib_addr, 16);
	return gid;
}

static struct roost_rdmacm_event *join_event(struct roost_rdmacm_id *id,
					     const struct roost_rdmacm_mc *mc)
{
	struct roost_rdmacm_event *e =
		roost_rdmacm_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ud_param *ud;
	struct roost_gid mgid;

	if (!e)
		return NULL;
	ud = &e->event.param.ud;
	memcpy(mgid.b, mc->mgid.raw, 16);
	roost_rdmacm_id_show_ah(id, &mgid, &ud->ah_attr);
	ud->ah_attr.grh.hop_limit =
		roost_gid_is_v4(&mgid) ? HOP_LIMIT_V4 : HOP_LIMIT_V6;
	ud->private_data = mc->context;
	ud->qp_num = MULTICAST_QPN;
	ud->qkey = RDMA_UDP_QKEY;
	return e;
}

static int join(struct roost_rdmacm_id *id, const struct sockaddr *addr,
		bool send_only, void *context)
{
	const struct roost_gid gid = group_gid(addr);
	struct roost_rdmacm_event *e;
	struct roost_rdmacm_mc *mc;
	int ret = -ENOMEM;

	if (!id->device || !roost_rdmacm_is_ud(id) ||
	    !(roost_gid_is_multicast(&gid) || roost_gid_is_zero(&gid)))
		return -EINVAL;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -ENOMEM;
	memcpy(&mc->addr, addr, group_len(addr));
	memcpy(mc->mgid.raw, gid.b, 16);
	mc->send_only = send_only;
	mc->context = context;
	e = join_event(id, mc);
	if (!e)
		goto err_mc;
	ret = roost_rdmacm_source_new(id, mc, id->channel, &mc->source);
	if (ret)
		goto err_event;
	LIST_INSERT_HEAD(&id->groups, mc, link);
	roost_rdmacm_push(id, mc, e);
	return 0;
err_event:
	free(e);
err_mc:
	free(mc);
	return ret;
}

static int join_as(struct rdma_cm_id *rdma, const struct sockaddr *addr,
		   bool send_only, void *context)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret;

	if (!group_len(addr))
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_JOIN);
	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave_complete(id,
					   join(id, addr, send_only, context));
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
			void *context)
{
	return join_as(id, addr, false, context);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id,
			   struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	const uint32_t needed =
		RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return roost_rdmacm_result(-ENOTSUP);
	if (attr->comp_mask != needed ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return roost_rdmacm_result(-EINVAL);
	return join_as(id, attr->addr,
		       attr->join_flags ==
			       RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		       context);
}

int rdma_leave_multicast(struct rdma_cm_id *rdma, struct sockaddr *addr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	const socklen_t len = group_len(addr);
	struct roost_rdmacm_events waiting;
	struct roost_rdmacm_mc *mc;
	int ret;

	if (!len)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter_last(id);
	if (ret)
		return roost_rdmacm_result(ret);
	LIST_FOREACH(mc, &id->groups, link)
		if (memcmp(&mc->addr, addr, len) == 0)
			break;
	if (!mc)
		return roost_rdmacm_leave(id, -EADDRNOTAVAIL);
	LIST_REMOVE(mc, link);
	roost_rdmacm_mc_detach(id, mc);
	pthread_mutex_unlock(&id->call);
	/* In synchronous mode the event of the join is the id's still. */
	if (id->sync && rdma->event &&
	    ((struct roost_rdmacm_event *)rdma->event)->source == mc->source) {
		rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	waiting = roost_rdmacm_source_end(mc->source);
	roost_rdmacm_events_free(&waiting);
	free(mc);
	return 0;
}
