/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Reading an event, and its action: devices are taken, QPs moved and attached,
 * and the members of the id are filled in. As in rdma-core's library,
 * on the program's thread.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/newer.h"
#include "cm/rdmacm/rdmacm.h"

#define FULL_PKEY 0xffff
/* Before a thread sleeps: some 10 us, in which a peer that is at work answers,
 * and which a sleep and a wake cost, too.
 */
#define LOOKS 50u

/* ---- what the program sees ---------------------------------------------- */

int roost_rdmacm_id_show_device(struct roost_rdmacm_id *id)
{
	int ret;

	if (!id->device || id->held)
		return 0;
	ret = roost_rdmacm_device_hold(id->device);
	if (ret)
		return ret;
	id->held = true;
	id->id.verbs = id->device->verbs;
	id->id.pd = id->device->pd;
	id->id.port_num = id->path.port_num;
	id->id.route.addr.addr.ibaddr.pkey = htobe16(FULL_PKEY);
	return 0;
}

void roost_rdmacm_id_show_addr(struct roost_rdmacm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;

	memcpy(&addr->src_storage, &id->src, sizeof(id->src));
	memcpy(&addr->dst_storage, &id->dst, sizeof(id->dst));
	memcpy(addr->addr.ibaddr.sgid.raw, id->path.sgid.b, 16);
	memcpy(addr->addr.ibaddr.dgid.raw, id->path.dgid.b, 16);
}

/* Set the id's address to the source of its path. Under id->call. */
static void take_source(struct roost_rdmacm_id *id)
{
	roost_rdmacm_addr_make(&id->src, id->src.ss_family, &id->path.sgid,
			       id->claim.port);
}

void roost_rdmacm_id_show_ah(const struct roost_rdmacm_id *id,
			     const struct roost_gid *dgid,
			     struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid.raw, dgid->b, 16);
	attr->grh.sgid_index = id->path.sgid_index;
	attr->grh.flow_label = id->path.flow_label;
	attr->grh.hop_limit = id->path.hop_limit;
	attr->grh.traffic_class = id->path.traffic_class;
	attr->sl = id->path.sl;
	attr->static_rate = id->path.rate;
	attr->is_global = 1;
	attr->port_num = id->path.port_num;
}

/* Fill in the path of the id as a path record. Under id->call. Returns 0,
 * -ENOMEM.
 */
static int show_route(struct roost_rdmacm_id *id)
{
	const struct roost_cm_path *path = &id->path;
	struct ibv_sa_path_rec *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return -ENOMEM;
	memcpy(rec->dgid.raw, path->dgid.b, 16);
	memcpy(rec->sgid.raw, path->sgid.b, 16);
	rec->flow_label = htobe32(path->flow_label);
	rec->hop_limit = path->hop_limit;
	rec->traffic_class = path->traffic_class;
	rec->reversible = 1;
	rec->numb_path = 1;
	rec->pkey = htobe16(path->pkey);
	rec->sl = path->sl;
	/* 2: exactly. */
	rec->mtu_selector = 2;
	rec->mtu = (uint8_t)path->mtu;
	rec->rate_selector = 2;
	rec->rate = path->rate;
	rec->packet_life_time_selector = 2;
	rec->packet_life_time = path->packet_lifetime;
	free(id->id.route.path_rec);
	id->id.route.path_rec = rec;
	id->id.route.num_paths = 1;
	return 0;
}

int roost_rdmacm_answer(struct roost_rdmacm_id *id)
{
	int ret = roost_rdmacm_qp_to_rtr(id, RDMA_MAX_RESP_RES);

	if (ret == 0)
		ret = roost_rdmacm_qp_to_rts(id, RDMA_MAX_INIT_DEPTH);
	if (ret == 0)
		ret = roost_cm_establish(id->conn, NULL, 0);
	if (ret)
		roost_rdmacm_give_up(id);
	return ret;
}

/* ---- actions ------------------------------------------------------------ */

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
		take_source(id);
	roost_rdmacm_id_show_addr(id);
	return true;
}

static bool route_resolved(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_event *e)
{
	const int ret = show_route(id);

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
		ret = show_route(child);
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
	[ROOST_RDMACM_ADDRINFO_RESOLVED] = plain,
	[ROOST_RDMACM_ADDRINFO_ERROR] = plain,
	[ROOST_RDMACM_USER] = plain,
	[ROOST_RDMACM_INTERNAL] = plain,
};

/* Execute the action of an event that was read, and complete its data. Returns
 * false when the program does not get the event.
 */
static bool deliver(struct roost_rdmacm_event *e)
{
	struct roost_rdmacm_id *id = e->source->id;
	bool report;

	pthread_mutex_lock(&id->call);
	report = actions[e->event.event](id, e);
	pthread_mutex_unlock(&id->call);
	return report;
}

/* ---- reading ------------------------------------------------------------ */

/* NULL: it moved to another channel, or is gone. */
static struct roost_rdmacm_event *take(struct roost_rdmacm_source *source)
{
	struct roost_rdmacm_event *e;

	pthread_mutex_lock(&source->id->lock);
	e = STAILQ_FIRST(&source->waiting);
	if (e) {
		STAILQ_REMOVE_HEAD(&source->waiting, link);
		atomic_fetch_add(&source->refs, 1);
		e->source = source;
	}
	pthread_mutex_unlock(&source->id->lock);
	return e;
}

static bool may_sleep(const struct roost_channel *channel)
{
	return (fcntl(roost_channel_fd(channel), F_GETFL) & O_NONBLOCK) == 0;
}

/* If no event waits, look whether one comes; if not, the caller sleeps. One
 * that does not sleep takes what has come, and waits for nothing.
 */
static void look(struct roost_channel *channel)
{
	roost_channel_read_next(channel);
	for (unsigned int looks = 0; !roost_channel_has_event(channel);
	     looks++) {
		if (looks == LOOKS || (looks == 1 && !may_sleep(channel))) {
			roost_rdmacm_expect();
			break;
		}
		roost_rdmacm_serve();
	}
}

/* Returns 0, or -errno. */
static int next_event(struct roost_channel *channel,
		      struct rdma_cm_event **event)
{
	struct roost_event ev;
	struct roost_rdmacm_event *e;
	int ret;

	for (;;) {
		look(channel);
		ret = roost_channel_read(channel, &ev);
		if (ret)
			return ret;
		e = take(ev.owner);
		if (!e) {
			roost_event_ack(ev.source, 1);
			continue;
		}
		if (deliver(e))
			break;
		rdma_ack_cm_event(&e->event);
	}
	*event = &e->event;
	return 0;
}

static void end_reading(void *channel)
{
	atomic_fetch_sub(&((struct roost_rdmacm_channel *)channel)->readers, 1);
}

int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **event)
{
	struct roost_rdmacm_channel *ch =
		(struct roost_rdmacm_channel *)channel;
	int ret;

	if (!channel || !event)
		return roost_rdmacm_result(-EINVAL);
	if (roost_rdmacm_is_dead(ch->process))
		return roost_rdmacm_result(-EIO);
	atomic_fetch_add(&ch->readers, 1);
	pthread_cleanup_push(end_reading, ch);
	ret = next_event(ch->channel, event);
	pthread_cleanup_pop(1);
	return roost_rdmacm_result(ret);
}

int roost_rdmacm_next_event(struct roost_rdmacm_id *id,
			    struct rdma_cm_event **event)
{
	struct rdma_cm_event *e;

	if (id->id.event)
		rdma_ack_cm_event(id->id.event);
	id->id.event = NULL;
	for (;;) {
		if (rdma_get_cm_event(id->id.channel, &e))
			return -1;
		if (e->event != RDMA_CM_EVENT_ADDR_CHANGE)
			break;
		rdma_ack_cm_event(e);
	}
	*event = e;
	return 0;
}

int roost_rdmacm_leave_complete(struct roost_rdmacm_id *id, int ret)
{
	struct rdma_cm_event *event;

	pthread_mutex_unlock(&id->call);
	if (ret || !id->sync)
		return roost_rdmacm_result(ret);
	if (roost_rdmacm_next_event(id, &id->id.event))
		return -1;
	event = id->id.event;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return roost_rdmacm_result(-ENODEV);
	if (event->event == RDMA_CM_EVENT_REJECTED && event->status)
		return roost_rdmacm_result(-ECONNREFUSED);
	/* Its status is no errno value. */
	if ((int)event->event == ROOST_RDMACM_ADDRINFO_ERROR)
		return roost_rdmacm_result(-EADDRNOTAVAIL);
	return roost_rdmacm_result(event->status > 0 ? -event->status
						     : event->status);
}
