/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The life of an id: made, moved from channel to channel, destroyed.
 */

#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/random.h"
#include "cm/rdmacm/rdmacm.h"

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
	id->starting_psn = roost_rdmacm_random() & 0xffffff;
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
	if (id->lookups)
		id->lookups->end(id->lookups, false);
	id->lookups = NULL;
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
	if (id->lookups)
		id->lookups->end(id->lookups, true);
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
		roost_event_raise(&fresh->ev, 0);
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
