/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Creating and destroying streams, their states for poll(2), and their options.
 */

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/stream.h"

static short events_connected(struct roost_rs_stream *st)
{
	short events = 0;

	if (st->ep.recv_bytes > 0 || !st->readable)
		events |= POLLIN | POLLRDNORM;
	if (!st->readable)
		events |= POLLRDHUP;
	if (roost_rs_stream_is_writable(st) || !st->writable)
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static short stream_events(struct roost_rs *rs, short asked)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	const short both = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
	short events = 0;

	switch (st->state) {
	case ROOST_RS_LISTENING:
		if (!TAILQ_EMPTY(&st->established))
			events = POLLIN | POLLRDNORM;
		break;
	case ROOST_RS_CONNECTED:
		events = events_connected(st);
		break;
	case ROOST_RS_DISCONNECTED:
		/* Data before a hang-up: some programs stop at a hang-up. */
		events = POLLIN | POLLRDNORM | POLLRDHUP;
		if (st->ep.recv_bytes == 0)
			events |= POLLHUP;
		else
			events |= POLLOUT | POLLWRNORM;
		break;
	case ROOST_RS_FAILED:
		events = both | POLLRDHUP | POLLERR;
		break;
	case ROOST_RS_INIT:
	case ROOST_RS_BOUND:
	case ROOST_RS_ADDR:
	case ROOST_RS_ROUTE:
	case ROOST_RS_CONNECTING:
	case ROOST_RS_REQUESTED:
	case ROOST_RS_ACCEPTING:
	case ROOST_RS_STATES:
		break;
	}
	return (short)(events & (asked | POLLHUP | POLLERR));
}

static int stream_local(struct roost_rs *rs, struct sockaddr_storage *addr)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	*addr = st->id->route.addr.src_storage;
	/* Not bound yet: nothing but the family is known. */
	if (addr->ss_family != AF_INET && addr->ss_family != AF_INET6)
		addr->ss_family = rs->family;
	return 0;
}

static int stream_peer(struct roost_rs *rs, struct sockaddr_storage *addr)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	if (st->state < ROOST_RS_CONNECTED)
		return -ENOTCONN;
	*addr = st->id->route.addr.dst_storage;
	return 0;
}

static bool stream_sizable(struct roost_rs *rs)
{
	return !roost_rs_stream(rs)->ep.channel;
}

static int set_keepalive(struct roost_rs_stream *st, bool on)
{
	if (on)
		roost_rs_stream_keepalive_start(st);
	else
		roost_rs_timer_clear(&st->keepalive);
	return 0;
}

static int set_route(struct roost_rs_stream *st, const void *value,
		     socklen_t length)
{
	void *route = malloc(length);

	if (!route)
		return -ENOMEM;
	memcpy(route, value, length);
	free(st->route);
	st->route = route;
	st->route_length = length;
	return 0;
}

static int set_id(struct roost_rs_stream *st, int name, const void *value)
{
	int on = *(const int *)value != 0;

	return rdma_set_option(st->id, RDMA_OPTION_ID, name, &on, sizeof(on)) ==
			       0
		       ? 0
		       : -errno;
}

/* lock held; value has the length that option.c's table asks for. */
static int stream_set_option(struct roost_rs *rs, int level, int name,
			     const void *value, socklen_t length)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	/* Once there is an address it can only be remembered, as sockets do. */
	if (level == SOL_SOCKET && name == SO_REUSEADDR)
		return st->state == ROOST_RS_INIT
			       ? set_id(st, RDMA_OPTION_ID_REUSEADDR, value)
			       : 0;
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)
		return set_id(st, RDMA_OPTION_ID_AFONLY, value);
	if (level == SOL_SOCKET && name == SO_KEEPALIVE)
		return set_keepalive(st, *(const int *)value != 0);
	if (level == IPPROTO_TCP && name == TCP_KEEPIDLE)
		return set_keepalive(st, st->keepalive.period_ns != 0);
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return set_route(st, value, length);
	return 0;
}

static void stream_free(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	roost_rs_timer_clear(&st->keepalive);
	if (st->id) {
		/* Without an endpoint there is nothing to disconnect. */
		if (st->ep.channel)
			(void)rdma_disconnect(st->id);
		roost_rs_map_free_all(st);
		roost_rs_ep_destroy(st);
		rdma_destroy_id(st->id);
	}
	free(st->route);
	roost_rs_fini(rs);
	free(st);
}

static const struct roost_rs_ops stream_ops = {
	.bind = roost_rs_stream_bind,
	.connect = roost_rs_stream_connect,
	.send = roost_rs_stream_send,
	.recv = roost_rs_stream_recv,
	.shutdown = roost_rs_stream_shutdown,
	.close = roost_rs_stream_close,
	.free = stream_free,
	.local = stream_local,
	.peer = stream_peer,
	.sizable = stream_sizable,
	.set_option = stream_set_option,
	.progress = roost_rs_stream_progress,
	.events = stream_events,
	.arm = roost_rs_stream_arm,
	.drain = roost_rs_stream_drain,
	.wait_fd = roost_rs_stream_wait_fd,
};

struct roost_rs_stream *roost_rs_stream_alloc(sa_family_t family)
{
	struct roost_rs_stream *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	roost_rs_init(&st->rs, &stream_ops, SOCK_STREAM, family);
	st->cm.rs = &st->rs;
	st->cm.event = roost_rs_stream_event;
	st->keepalive.rs = &st->rs;
	st->keepalive.due = roost_rs_stream_keepalive;
	TAILQ_INIT(&st->requested);
	TAILQ_INIT(&st->accepting);
	TAILQ_INIT(&st->established);
	TAILQ_INIT(&st->maps);
	return st;
}

int roost_rs_stream_create(sa_family_t family, struct roost_rs **out)
{
	struct roost_rs_stream *st = roost_rs_stream_alloc(family);
	int ret;

	if (!st)
		return -ENOMEM;
	if (rdma_create_id(roost_rs_service_channel(), &st->id, &st->cm,
			   RDMA_PS_TCP) != 0) {
		ret = -errno;
		st->id = NULL;
		roost_rs_put(&st->rs);
		return ret;
	}
	*out = &st->rs;
	return 0;
}
