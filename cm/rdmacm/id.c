/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The life of an id: made, moved from channel to channel, destroyed.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"

#define FULL_PKEY 0xffff

/* ---- state -------------------------------------------------------------- */

enum roost_rdmacm_state roost_rdmacm_id_state(struct roost_rdmacm_id *id)
{
	enum roost_rdmacm_state state;

	pthread_mutex_lock(&id->lock);
	state = id->state;
	pthread_mutex_unlock(&id->lock);
	return state;
}

void roost_rdmacm_id_set_state(struct roost_rdmacm_id *id,
			       enum roost_rdmacm_state state)
{
	pthread_mutex_lock(&id->lock);
	if (id->state != ROOST_RDMACM_REMOVED)
		id->state = state;
	pthread_mutex_unlock(&id->lock);
}

bool roost_rdmacm_id_move(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_state from,
			  enum roost_rdmacm_state to)
{
	bool moved;

	pthread_mutex_lock(&id->lock);
	moved = id->state == from;
	if (moved)
		id->state = to;
	pthread_mutex_unlock(&id->lock);
	return moved;
}

int roost_rdmacm_enter_last(struct roost_rdmacm_id *id)
{
	if (roost_rdmacm_is_dead(id->process))
		return -EIO;
	pthread_mutex_lock(&id->call);
	if (id->channel)
		return 0;
	pthread_mutex_unlock(&id->call);
	return -EBADF;
}

int roost_rdmacm_enter(struct roost_rdmacm_id *id)
{
	int ret = roost_rdmacm_enter_last(id);

	if (ret || roost_rdmacm_id_state(id) != ROOST_RDMACM_REMOVED)
		return ret;
	pthread_mutex_unlock(&id->call);
	return -EIO;
}

int roost_rdmacm_enter_as(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_call call)
{
	int ret = roost_rdmacm_enter(id);

	if (ret)
		return ret;
	ret = roost_rdmacm_state_allows(call, roost_rdmacm_id_state(id));
	if (ret)
		pthread_mutex_unlock(&id->call);
	return ret;
}

int roost_rdmacm_enter_bound(struct roost_rdmacm_id *id)
{
	int ret = roost_rdmacm_enter(id);

	if (ret || id->device)
		return ret;
	pthread_mutex_unlock(&id->call);
	return -EINVAL;
}

int roost_rdmacm_leave(struct roost_rdmacm_id *id, int ret)
{
	pthread_mutex_unlock(&id->call);
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
	return roost_rdmacm_result(event->status > 0 ? -event->status
						     : event->status);
}

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

void roost_rdmacm_id_take_source(struct roost_rdmacm_id *id)
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

/* ---- make --------------------------------------------------------------- */

struct roost_rdmacm_id *roost_rdmacm_id_new(enum rdma_port_space ps,
					    enum ibv_qp_type qp_type,
					    void *context)
{
	struct roost_rdmacm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->process = roost_process();
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	pthread_mutex_init(&id->lock, NULL);
	pthread_mutex_init(&id->call, NULL);
	LIST_INIT(&id->groups);
	/* Fails for so few bytes only before the pool is filled. */
	if (getrandom(&id->starting_psn, sizeof(id->starting_psn), 0) < 0)
		id->starting_psn = 0;
	id->starting_psn &= 0xffffff;
	return id;
}

void roost_rdmacm_id_free(struct roost_rdmacm_id *id)
{
	if (id->held)
		roost_rdmacm_device_put(id->device);
	free(id->id.route.path_rec);
	free(id->connect_data);
	free(id->qp_init_attr);
	pthread_mutex_destroy(&id->lock);
	pthread_mutex_destroy(&id->call);
	free(id);
}

int roost_rdmacm_id_attach(struct roost_rdmacm_id *id,
			   struct rdma_event_channel *channel)
{
	const bool sync = !channel;
	int ret;

	if (sync) {
		channel = rdma_create_event_channel();
		if (!channel)
			return -errno;
	}
	if (roost_rdmacm_is_dead(
		    ((struct roost_rdmacm_channel *)channel)->process))
		return -EIO;
	ret = roost_rdmacm_source_new(id, NULL,
				      (struct roost_rdmacm_channel *)channel,
				      &id->source);
	if (ret) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return ret;
	}
	id->sync = sync;
	roost_rdmacm_channel_add((struct roost_rdmacm_channel *)channel, id);
	return 0;
}

int roost_rdmacm_id_create(struct rdma_event_channel *channel,
			   struct rdma_cm_id **out, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct roost_rdmacm_id *id;
	int ret = roost_rdmacm_init();

	if (ret)
		return ret;
	id = roost_rdmacm_id_new(ps, qp_type, context);
	if (!id)
		return -ENOMEM;
	ret = roost_rdmacm_id_attach(id, channel);
	if (ret) {
		roost_rdmacm_id_free(id);
		return ret;
	}
	*out = &id->id;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_IB:
		return roost_rdmacm_result(roost_rdmacm_id_create(channel, id,
								  context, ps,
								  IBV_QPT_RC));
	case RDMA_PS_UDP:
		return roost_rdmacm_result(roost_rdmacm_id_create(channel, id,
								  context, ps,
								  IBV_QPT_UD));
	case RDMA_PS_IPOIB:
		/* There is no IP over InfiniBand on Ethernet. */
		return roost_rdmacm_result(-EPROTONOSUPPORT);
	}
	return roost_rdmacm_result(-EINVAL);
}

/* ---- end ---------------------------------------------------------------- */

void roost_rdmacm_id_quit(struct roost_rdmacm_id *id)
{
	pthread_mutex_lock(&id->call);
	pthread_mutex_lock(&id->lock);
	id->quiet = true;
	pthread_mutex_unlock(&id->lock);
	for (unsigned int i = 0; i < id->nb_listens; i++)
		roost_cm_listener_destroy(id->listens[i].listener);
	id->nb_listens = 0;
	if (id->conn)
		roost_cm_conn_destroy(id->conn);
	id->conn = NULL;
	roost_rdmacm_place_drop(id);
	roost_rdmacm_mc_leave_all(id);
	roost_rdmacm_port_drop(&id->claim);
	pthread_mutex_unlock(&id->call);
}

static int dead_destroy(struct roost_rdmacm_id *id)
{
	free(id->id.event);
	if (id->sync)
		rdma_destroy_event_channel(id->id.channel);
	free(id->id.route.path_rec);
	free(id->connect_data);
	free(id->qp_init_attr);
	free(id);
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *rdma)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct roost_rdmacm_events waiting;
	struct roost_rdmacm_mc *mc;
	struct rdma_event_channel *channel = rdma->channel;
	int ret;

	if (roost_rdmacm_is_dead(id->process))
		return dead_destroy(id);
	ret = roost_rdmacm_enter_last(id);
	if (ret)
		return roost_rdmacm_result(ret);
	pthread_mutex_unlock(&id->call);
	roost_rdmacm_id_quit(id);
	if (rdma->event)
		rdma_ack_cm_event(rdma->event);
	while ((mc = LIST_FIRST(&id->groups))) {
		LIST_REMOVE(mc, link);
		waiting = roost_rdmacm_source_end(mc->source);
		roost_rdmacm_events_free(&waiting);
		free(mc);
	}
	waiting = roost_rdmacm_source_end(id->source);
	roost_rdmacm_events_free(&waiting);
	roost_rdmacm_channel_remove(id);
	if (id->sync)
		rdma_destroy_event_channel(channel);
	roost_rdmacm_id_free(id);
	return 0;
}

/* ---- migrate ------------------------------------------------------------ */

/* *slot: id->source or the source of a group. Waiting events move to fresh. */
static void replace(struct roost_rdmacm_id *id,
		    struct roost_rdmacm_source **slot,
		    struct roost_rdmacm_source *fresh)
{
	struct roost_rdmacm_source *old;
	struct roost_rdmacm_event *e;

	pthread_mutex_lock(&id->lock);
	old = *slot;
	*slot = fresh;
	STAILQ_CONCAT(&fresh->waiting, &old->waiting);
	STAILQ_FOREACH(e, &fresh->waiting, link)
		roost_event_raise(&fresh->ev, 0, 0);
	pthread_mutex_unlock(&id->lock);
}

/* Wait until all events that were read from the old channel are acked. */
static void settle(struct roost_rdmacm_source **olds, size_t nb)
{
	for (size_t i = 0; i < nb; i++)
		roost_rdmacm_source_end(olds[i]);
	free(olds);
}

/* Under id->call. Returns the old sources, *nb of them; NULL: no memory. */
static struct roost_rdmacm_source **
move_sources(struct roost_rdmacm_id *id, struct roost_rdmacm_channel *channel,
	     size_t *nb)
{
	struct roost_rdmacm_source **olds, **fresh;
	struct roost_rdmacm_mc *mc;
	size_t n = 1;

	LIST_FOREACH(mc, &id->groups, link)
		n++;
	olds = calloc(n, sizeof(struct roost_rdmacm_source *));
	fresh = calloc(n, sizeof(struct roost_rdmacm_source *));
	if (!olds || !fresh)
		goto err;
	olds[0] = id->source;
	*nb = 1;
	LIST_FOREACH(mc, &id->groups, link)
		olds[(*nb)++] = mc->source;
	for (size_t i = 0; i < n; i++)
		if (roost_rdmacm_source_new(id, olds[i]->mc, channel,
					    &fresh[i]))
			goto err;
	for (size_t i = 0; i < n; i++) {
		mc = olds[i]->mc;
		replace(id, mc ? &mc->source : &id->source, fresh[i]);
	}
	free(fresh);
	return olds;
err:
	for (size_t i = 0; fresh && i < n; i++)
		if (fresh[i])
			roost_rdmacm_source_end(fresh[i]);
	free(fresh);
	free(olds);
	return NULL;
}

int rdma_migrate_id(struct rdma_cm_id *rdma, struct rdma_event_channel *channel)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct rdma_event_channel *old_channel = rdma->channel;
	const bool was_sync = id->sync, sync = !channel;
	struct roost_rdmacm_source **olds;
	size_t nb;
	int ret;

	if (was_sync && sync)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter(id);
	if (ret)
		return roost_rdmacm_result(ret);
	if (sync)
		channel = rdma_create_event_channel();
	if (!channel)
		return roost_rdmacm_leave(id, -errno);
	if (roost_rdmacm_is_dead(
		    ((struct roost_rdmacm_channel *)channel)->process))
		return roost_rdmacm_leave(id, -EIO);
	olds = move_sources(id, (struct roost_rdmacm_channel *)channel, &nb);
	if (!olds) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return roost_rdmacm_leave(id, -ENOMEM);
	}
	roost_rdmacm_channel_remove(id);
	roost_rdmacm_channel_add((struct roost_rdmacm_channel *)channel, id);
	id->sync = sync;
	pthread_mutex_unlock(&id->call);
	if (was_sync && rdma->event) {
		rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	settle(olds, nb);
	if (was_sync)
		rdma_destroy_event_channel(old_channel);
	return 0;
}
