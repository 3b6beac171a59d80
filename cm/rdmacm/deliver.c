/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Actions when a program reads an event: devices are taken, QPs moved and
 * attached, and the members of the id are filled in. As in rdma-core's library,
 * on the program's thread.
 */

#include <string.h>

#include "cm/rdmacm/rdmacm.h"

/* The status of an event whose action failed; errno has the cause. */
static int failed(int ret)
{
	return roost_rdmacm_result(ret);
}

static bool plain(struct roost_rdmacm_id *id, struct roost_rdmacm_event *e)
{
	(void)id;
	(void)e;
	return true;
}

static bool addr_resolved(struct roost_rdmacm_id *id,
			  struct roost_rdmacm_event *e)
{
	const int ret = roost_rdmacm_id_show_device(id);

	if (ret) {
		e->event.event = RDMA_CM_EVENT_ADDR_ERROR;
		e->event.status = failed(ret);
		return true;
	}
	if (id->claim.any)
		roost_rdmacm_id_take_source(id);
	roost_rdmacm_id_show_addr(id);
	return true;
}

static bool route_resolved(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_event *e)
{
	const int ret = roost_rdmacm_id_show_route(id);

	if (ret) {
		e->event.event = RDMA_CM_EVENT_ROUTE_ERROR;
		e->event.status = failed(ret);
	}
	return true;
}

/* id is the listener. The new id becomes the program's. */
static bool connect_request(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_event *e)
{
	struct roost_rdmacm_id *child = e->child;
	int ret;

	child->id.context = id->id.context;
	ret = roost_rdmacm_id_show_device(child);
	if (ret == 0)
		ret = roost_rdmacm_id_show_route(child);
	if (ret == 0)
		ret = roost_rdmacm_id_attach(child,
					     id->sync ? NULL : id->id.channel);
	if (ret)
		return false;
	roost_rdmacm_id_show_addr(child);
	roost_cm_conn_fetched(child->conn);
	e->child = NULL;
	return true;
}

static bool connect_response(struct roost_rdmacm_id *id,
			     struct roost_rdmacm_event *e)
{
	int ret;

	if (!id->id.qp)
		return true;
	ret = roost_rdmacm_answer(id);
	if (ret == 0) {
		e->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return true;
	}
	e->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	e->event.status = failed(ret);
	id->conn_error = true;
	return true;
}

static bool rejected(struct roost_rdmacm_id *id, struct roost_rdmacm_event *e)
{
	(void)e;
	if (id->conn_error)
		return false;
	roost_rdmacm_qp_to_err(id);
	return true;
}

static bool disconnected(struct roost_rdmacm_id *id,
			 struct roost_rdmacm_event *e)
{
	(void)e;
	return !id->conn_error;
}

/* A connection needs no more data; for a datagram service, fill in how to send
 * to it.
 */
static bool established(struct roost_rdmacm_id *id,
			struct roost_rdmacm_event *e)
{
	if (roost_rdmacm_is_ud(id))
		roost_rdmacm_id_show_ah(id, &id->path.dgid,
					&e->event.param.ud.ah_attr);
	return true;
}

static bool multicast_join(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_event *e)
{
	const int ret = roost_rdmacm_mc_joined(id, e->source->mc);

	if (ret) {
		e->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		e->event.status = failed(ret);
	}
	return true;
}

static bool (*const actions[])(struct roost_rdmacm_id *id,
			       struct roost_rdmacm_event *e) = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = addr_resolved,
	[RDMA_CM_EVENT_ADDR_ERROR] = plain,
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = route_resolved,
	[RDMA_CM_EVENT_ROUTE_ERROR] = plain,
	[RDMA_CM_EVENT_CONNECT_REQUEST] = connect_request,
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = connect_response,
	[RDMA_CM_EVENT_CONNECT_ERROR] = plain,
	[RDMA_CM_EVENT_UNREACHABLE] = plain,
	[RDMA_CM_EVENT_REJECTED] = rejected,
	[RDMA_CM_EVENT_ESTABLISHED] = established,
	[RDMA_CM_EVENT_DISCONNECTED] = disconnected,
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = plain,
	[RDMA_CM_EVENT_MULTICAST_JOIN] = multicast_join,
	[RDMA_CM_EVENT_MULTICAST_ERROR] = plain,
	[RDMA_CM_EVENT_ADDR_CHANGE] = plain,
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = plain,
};

bool roost_rdmacm_deliver(struct roost_rdmacm_event *e)
{
	struct roost_rdmacm_id *id = e->source->id;
	bool report;

	pthread_mutex_lock(&id->call);
	report = actions[e->event.event](id, e);
	pthread_mutex_unlock(&id->call);
	return report;
}
