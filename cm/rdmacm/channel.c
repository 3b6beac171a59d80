/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Event channels: waiting threads, waiting events, and acks. lib/event waits
 * and counts; the data of an event waits in its source.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm/rdmacm/newer.h"
#include "cm/rdmacm/rdmacm.h"

/* Events that fit a channel at once; more wait in their sources. */
#define CHANNEL_EVENTS 256

static struct roost_rdmacm_channel *channel_of(struct rdma_event_channel *rdma)
{
	return (struct roost_rdmacm_channel *)rdma;
}

/* ---- sources ------------------------------------------------------------ */

int roost_rdmacm_source_new(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_mc *mc,
			    struct roost_rdmacm_channel *channel,
			    struct roost_rdmacm_source **source)
{
	struct roost_rdmacm_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->id = id;
	s->mc = mc;
	s->refs = 1;
	STAILQ_INIT(&s->waiting);
	roost_event_source_init(&s->ev, channel->channel, s);
	*source = s;
	return 0;
}

static void source_unref(struct roost_rdmacm_source *source)
{
	if (atomic_fetch_sub(&source->refs, 1) == 1)
		free(source);
}

struct roost_rdmacm_events
roost_rdmacm_source_end(struct roost_rdmacm_source *source)
{
	struct roost_rdmacm_events waiting = STAILQ_HEAD_INITIALIZER(waiting);

	pthread_mutex_lock(&source->id->lock);
	STAILQ_CONCAT(&waiting, &source->waiting);
	pthread_mutex_unlock(&source->id->lock);
	roost_event_source_fini(&source->ev);
	source_unref(source);
	return waiting;
}

/* ---- events ------------------------------------------------------------- */

struct roost_rdmacm_event *roost_rdmacm_event_new(struct roost_rdmacm_id *id,
						  enum rdma_cm_event_type type,
						  int status)
{
	struct roost_rdmacm_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->process = roost_process();
	e->event.id = &id->id;
	e->event.event = type;
	e->event.status = status;
	return e;
}

static void event_free(struct roost_rdmacm_event *e)
{
	if (e->child) {
		roost_rdmacm_id_quit(e->child);
		roost_rdmacm_id_free(e->child);
	}
	free(e);
}

void roost_rdmacm_events_free(struct roost_rdmacm_events *events)
{
	struct roost_rdmacm_event *e;

	while ((e = STAILQ_FIRST(events))) {
		STAILQ_REMOVE_HEAD(events, link);
		event_free(e);
	}
}

void roost_rdmacm_push(struct roost_rdmacm_id *id, struct roost_rdmacm_mc *mc,
		       struct roost_rdmacm_event *event)
{
	struct roost_rdmacm_source *source;

	pthread_mutex_lock(&id->lock);
	source = mc ? mc->source : id->source;
	if (!id->quiet && source) {
		STAILQ_INSERT_TAIL(&source->waiting, event, link);
		roost_event_raise(&source->ev, 0);
		event = NULL;
	}
	pthread_mutex_unlock(&id->lock);
	if (event)
		event_free(event);
}

int roost_rdmacm_tell(struct roost_rdmacm_id *id, enum rdma_cm_event_type type,
		      int status)
{
	struct roost_rdmacm_event *e = roost_rdmacm_event_new(id, type, status);

	if (!e)
		return -ENOMEM;
	roost_rdmacm_push(id, NULL, e);
	return 0;
}

int rdma_write_cm_event(struct rdma_cm_id *rdma, enum rdma_cm_event_type type,
			int status, uint64_t arg)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct roost_rdmacm_event *e;
	int ret;

	if ((int)type != ROOST_RDMACM_USER &&
	    (int)type != ROOST_RDMACM_INTERNAL)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter_last(id);
	if (ret)
		return roost_rdmacm_result(ret);
	e = roost_rdmacm_event_new(id, type, status);
	if (!e)
		return roost_rdmacm_leave(id, -ENOMEM);
	memcpy(&e->event.param, &arg, sizeof(arg));
	roost_rdmacm_push(id, NULL, e);
	return roost_rdmacm_leave(id, 0);
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct roost_rdmacm_event *e = (struct roost_rdmacm_event *)event;
	struct roost_rdmacm_source *source;

	if (!event)
		return roost_rdmacm_result(-EINVAL);
	if (roost_rdmacm_is_dead(e->process)) {
		free(e);
		return 0;
	}
	source = e->source;
	event_free(e);
	/* Whoever waits for it may then free the id. */
	roost_event_ack(&source->ev, 1);
	source_unref(source);
	return 0;
}

/* ---- channels ----------------------------------------------------------- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct roost_rdmacm_channel *ch;
	int ret = roost_rdmacm_init();

	if (ret)
		return roost_rdmacm_null(ret);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return roost_rdmacm_null(-ENOMEM);
	ret = roost_channel_create(CHANNEL_EVENTS, &ch->channel);
	if (ret) {
		if (ret == -EMFILE)
			fprintf(stderr,
				"roost: no CM event channel: %s; let the "
				"process have more (ulimit -n)\n",
				strerror(EMFILE));
		free(ch);
		return roost_rdmacm_null(ret);
	}
	ch->process = roost_process();
	ch->rdma.fd = roost_channel_fd(ch->channel);
	pthread_mutex_init(&ch->lock, NULL);
	LIST_INIT(&ch->ids);
	return &ch->rdma;
}

void roost_rdmacm_channel_add(struct roost_rdmacm_channel *channel,
			      struct roost_rdmacm_id *id)
{
	pthread_mutex_lock(&channel->lock);
	LIST_INSERT_HEAD(&channel->ids, id, channel_link);
	pthread_mutex_unlock(&channel->lock);
	pthread_mutex_lock(&id->lock);
	id->channel = channel;
	id->id.channel = &channel->rdma;
	pthread_mutex_unlock(&id->lock);
}

void roost_rdmacm_channel_remove(struct roost_rdmacm_id *id)
{
	struct roost_rdmacm_channel *channel = id->channel;

	pthread_mutex_lock(&channel->lock);
	LIST_REMOVE(id, channel_link);
	pthread_mutex_unlock(&channel->lock);
	pthread_mutex_lock(&id->lock);
	id->channel = NULL;
	pthread_mutex_unlock(&id->lock);
}

/* End a source whose events will not be acked. */
static void source_orphan(struct roost_rdmacm_source *source)
{
	struct roost_rdmacm_events waiting;

	roost_event_source_abandon(&source->ev);
	waiting = roost_rdmacm_source_end(source);
	roost_rdmacm_events_free(&waiting);
}

/*
 * The channel of the id is destroyed before the id: the id does nothing any
 * more, and every call returns EBADF, as on Linux where the file is closed.
 */
static void orphan(struct roost_rdmacm_id *id)
{
	struct roost_rdmacm_source *source;
	struct roost_rdmacm_mc *mc;

	roost_rdmacm_id_quit(id);
	roost_rdmacm_channel_remove(id);
	pthread_mutex_lock(&id->lock);
	source = id->source;
	id->source = NULL;
	pthread_mutex_unlock(&id->lock);
	source_orphan(source);
	while ((mc = LIST_FIRST(&id->groups))) {
		LIST_REMOVE(mc, link);
		source_orphan(mc->source);
		free(mc);
	}
}

void rdma_destroy_event_channel(struct rdma_event_channel *rdma)
{
	struct roost_rdmacm_channel *channel = channel_of(rdma);
	struct roost_rdmacm_id *id;

	if (roost_rdmacm_is_dead(channel->process)) {
		close(rdma->fd);
		free(channel);
		return;
	}
	while ((id = LIST_FIRST(&channel->ids)))
		orphan(id);
	/* As in Linux, a thread that waits for an event waits for ever, and
	 * what it needs stays: rping ends so, with a thread in a call.
	 */
	if (atomic_load(&channel->readers) > 0)
		return;
	roost_channel_destroy(channel->channel);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}
