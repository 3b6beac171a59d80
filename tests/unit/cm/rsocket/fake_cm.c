/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The rdma_cm half of the fake device. */

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "fake.h"

#define PRIVATE_BYTES 196

struct id {
	LIST_ENTRY(id) link;
	struct rdma_cm_id ibv;
	struct id *peer;
	bool listens;
	bool is_open; /* the other end's answer has arrived */
	unsigned int nb_unacked;
	struct rdma_conn_param param;
	struct ibv_sa_path_rec path;
};

struct event {
	STAILQ_ENTRY(event) link;
	struct rdma_cm_event ibv;
	uint8_t data[PRIVATE_BYTES];
};

struct channel {
	struct rdma_event_channel ibv;
	STAILQ_HEAD(, event) events;
};

static LIST_HEAD(, id) ids;
static struct fake_wish wishes;
static in_port_t next_port = 40000;

static struct id *id_of(struct rdma_cm_id *ibv)
{
	return (struct id *)((uint8_t *)ibv - offsetof(struct id, ibv));
}

void fake_wish(struct fake_wish wish)
{
	fake_lock();
	wishes = wish;
	fake_unlock();
}

static struct event *raise(struct rdma_cm_id *id, struct rdma_cm_id *listener,
			   enum rdma_cm_event_type type, int status,
			   const struct rdma_conn_param *param)
{
	struct rdma_cm_id *to = listener != NULL ? listener : id;
	struct channel *channel = (struct channel *)to->channel;
	struct event *event = calloc(1, sizeof(*event));

	event->ibv.id = id;
	event->ibv.listen_id = listener;
	event->ibv.event = type;
	event->ibv.status = status;
	if (param != NULL) {
		event->ibv.param.conn = *param;
		/* As real ones: full size, padded with zeros. */
		if (param->private_data_len > 0)
			memcpy(event->data, param->private_data,
			       param->private_data_len);
		event->ibv.param.conn.private_data = event->data;
		event->ibv.param.conn.private_data_len =
			listener != NULL ? 56 : PRIVATE_BYTES;
	}
	STAILQ_INSERT_TAIL(&channel->events, event, link);
	eventfd_write(channel->ibv.fd, 1);
	return event;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	STAILQ_INIT(&channel->events);
	channel->ibv.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return &channel->ibv;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
}

/* Whose destruction waits for the ack: as rdma-core, a request's listener. */
static struct id *counted(const struct event *event)
{
	return id_of(event->ibv.listen_id != NULL ? event->ibv.listen_id
						  : event->ibv.id);
}

int rdma_get_cm_event(struct rdma_event_channel *ibv,
		      struct rdma_cm_event **out)
{
	struct channel *channel = (struct channel *)ibv;
	struct event *event;
	eventfd_t value;

	if (eventfd_read(ibv->fd, &value) != 0)
		return -1;
	fake_lock();
	event = STAILQ_FIRST(&channel->events);
	if (event != NULL) {
		STAILQ_REMOVE_HEAD(&channel->events, link);
		counted(event)->nb_unacked++;
	}
	fake_unlock();
	if (event == NULL) {
		errno = EAGAIN;
		return -1;
	}
	*out = &event->ibv;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *ibv)
{
	struct event *event =
		(struct event *)((uint8_t *)ibv - offsetof(struct event, ibv));

	fake_lock();
	counted(event)->nb_unacked--;
	fake_unlock();
	free(event);
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out,
		   void *context, enum rdma_port_space ps)
{
	struct id *id = calloc(1, sizeof(*id));

	fake_lock();
	id->ibv.channel = channel;
	id->ibv.context = context;
	id->ibv.ps = ps;
	LIST_INSERT_HEAD(&ids, id, link);
	fake_counts()->ids++;
	fake_unlock();
	*out = &id->ibv;
	return 0;
}

static void purge(struct rdma_cm_id *id)
{
	struct channel *channel = (struct channel *)id->channel;
	struct event *event;
	struct event *next;

	for (event = STAILQ_FIRST(&channel->events); event != NULL;
	     event = next) {
		next = STAILQ_NEXT(event, link);
		if (event->ibv.id != id)
			continue;
		STAILQ_REMOVE(&channel->events, event, event, link);
		free(event);
	}
}

static void hang_up(struct id *id)
{
	if (id->peer == NULL)
		return;
	raise(&id->peer->ibv, NULL,
	      id->is_open ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_REJECTED,
	      0, NULL);
	id->peer->peer = NULL;
	id->peer = NULL;
}

int rdma_destroy_id(struct rdma_cm_id *ibv)
{
	struct id *id = id_of(ibv);

	fake_lock();
	hang_up(id);
	purge(ibv);
	/* Waits for acks, as the real one does. */
	while (id->nb_unacked > 0) {
		fake_unlock();
		usleep(100);
		fake_lock();
	}
	LIST_REMOVE(id, link);
	fake_counts()->ids--;
	fake_unlock();
	free(id);
	return 0;
}

static in_port_t *port_of(struct sockaddr_storage *addr)
{
	return &((struct sockaddr_in *)(void *)addr)->sin_port;
}

static void on_device(struct rdma_cm_id *id)
{
	id->verbs = fake_context();
	id->pd = fake_pd();
	id->port_num = 1;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct sockaddr_storage *local = &id->route.addr.src_storage;
	struct id *other;
	int ret = 0;

	fake_lock();
	memcpy(local, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
	LIST_FOREACH(other, &ids, link) {
		if (&other->ibv != id && *port_of(local) != 0 &&
		    other->ibv.ps == id->ps && other->listens &&
		    *port_of(&other->ibv.route.addr.src_storage) ==
			    *port_of(local))
			ret = EADDRINUSE;
	}
	if (*port_of(local) == 0)
		*port_of(local) = htons(next_port++);
	on_device(id);
	fake_unlock();
	errno = ret;
	return ret == 0 ? 0 : -1;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)backlog;
	fake_lock();
	id_of(id)->listens = true;
	fake_unlock();
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return *port_of(&id->route.addr.src_storage);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src,
		      struct sockaddr *dst, int timeout_ms)
{
	struct sockaddr_storage *local = &id->route.addr.src_storage;
	const socklen_t length = dst->sa_family == AF_INET
					 ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6);

	assert(timeout_ms > 0);
	fake_lock();
	memcpy(&id->route.addr.dst_storage, dst, length);
	if (src != NULL)
		memcpy(local, src, length);
	else if (local->ss_family == AF_UNSPEC)
		memcpy(local, dst, length);
	if (*port_of(local) == 0 || src == NULL)
		*port_of(local) = htons(next_port++);
	on_device(id);
	if (wishes.slow_addrs > 0) {
		wishes.slow_addrs--;
	} else if (wishes.addr_timeouts > 0) {
		wishes.addr_timeouts--;
		raise(id, NULL, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, NULL);
	} else {
		raise(id, NULL, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	}
	fake_unlock();
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	assert(timeout_ms > 0);
	fake_lock();
	id->route.path_rec = &id_of(id)->path;
	id->route.path_rec->mtu = IBV_MTU_1024;
	id->route.num_paths = 1;
	if (wishes.route_timeouts > 0) {
		wishes.route_timeouts--;
		raise(id, NULL, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, NULL);
	} else {
		raise(id, NULL, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	}
	fake_unlock();
	return 0;
}

static struct id *listener_of(const struct id *id)
{
	struct sockaddr_storage to = id->ibv.route.addr.dst_storage;
	struct id *other;

	LIST_FOREACH(other, &ids, link) {
		if (other->listens && other->ibv.ps == id->ibv.ps &&
		    *port_of(&other->ibv.route.addr.src_storage) ==
			    *port_of(&to))
			return other;
	}
	return NULL;
}

int rdma_connect(struct rdma_cm_id *ibv, struct rdma_conn_param *param)
{
	struct id *id = id_of(ibv);
	struct rdma_cm_id *child;
	struct id *listener;

	fake_lock();
	listener = listener_of(id);
	if (listener == NULL) {
		raise(ibv, NULL,
		      ibv->ps == RDMA_PS_UDP ? RDMA_CM_EVENT_UNREACHABLE
					     : RDMA_CM_EVENT_REJECTED,
		      ibv->ps == RDMA_PS_UDP ? 1 : 8, NULL);
		goto unlock;
	}
	rdma_create_id(listener->ibv.channel, &child, listener->ibv.context,
		       ibv->ps);
	on_device(child);
	child->route.addr.src_storage = ibv->route.addr.dst_storage;
	child->route.addr.dst_storage = ibv->route.addr.src_storage;
	id_of(child)->peer = id;
	id->peer = id_of(child);
	raise(child, &listener->ibv, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param);
unlock:
	fake_unlock();
	return 0;
}

int rdma_accept(struct rdma_cm_id *ibv, struct rdma_conn_param *param)
{
	struct id *id = id_of(ibv);
	struct id *active = id->peer;
	struct event *event;
	int ret = 0;

	fake_lock();
	if (active == NULL) {
		errno = EINVAL;
		ret = -1;
	} else if (ibv->ps == RDMA_PS_UDP) {
		event = raise(&active->ibv, NULL, RDMA_CM_EVENT_ESTABLISHED, 0,
			      NULL);
		event->ibv.param.ud.qp_num = param->qp_num;
		event->ibv.param.ud.qkey = RDMA_UDP_QKEY;
		active->peer = NULL;
		id->peer = NULL;
	} else if (wishes.lost_accepts > 0) {
		wishes.lost_accepts--;
	} else {
		fake_qp_join(ibv->qp, active->ibv.qp);
		id->is_open = true;
		active->is_open = true;
		if (wishes.lost_rtus > 0)
			wishes.lost_rtus--;
		else
			raise(ibv, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
		raise(&active->ibv, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, param);
	}
	fake_unlock();
	return ret;
}

int rdma_reject(struct rdma_cm_id *ibv, const void *data, uint8_t length)
{
	struct id *id = id_of(ibv);

	(void)data;
	(void)length;
	fake_lock();
	if (id->peer != NULL) {
		raise(&id->peer->ibv, NULL, RDMA_CM_EVENT_REJECTED, 28, NULL);
		id->peer->peer = NULL;
		id->peer = NULL;
	}
	fake_unlock();
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	fake_lock();
	if (id->qp != NULL)
		fake_qp_error(id->qp);
	hang_up(id_of(id));
	fake_unlock();
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value,
		    size_t length)
{
	(void)value;
	(void)length;
	if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH) {
		fake_lock();
		raise(id, NULL, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
		fake_unlock();
	}
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	(void)pd;
	fake_lock();
	id->qp = fake_qp_create(attr);
	fake_unlock();
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	fake_lock();
	fake_qp_destroy(id->qp);
	id->qp = NULL;
	fake_unlock();
}

void fake_remove_device(void)
{
	struct id *id;

	fake_lock();
	LIST_FOREACH(id, &ids, link)
		raise(&id->ibv, NULL, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL);
	fake_unlock();
}
