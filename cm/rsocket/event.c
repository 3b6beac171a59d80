/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Events of the connection manager, by state of the stream. */

#include <errno.h>

#include "cm/rsocket/stream.h"

#define EVENTS (RDMA_CM_EVENT_TIMEWAIT_EXIT + 1)
#define TRIES_MAX 6

/* Work for a child after its own lock is released. */
enum outcome {
	DONE,
	ESTABLISHED,
	DROPPED,
};

/* In: family lock and st's lock held. */
struct step {
	enum outcome (*take)(struct roost_rs_stream *st,
			     const struct rdma_cm_event *event);
};

static int error_of(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return ENODEV;
	if (event->status < 0)
		return -event->status;
	return event->event == RDMA_CM_EVENT_UNREACHABLE ? ETIMEDOUT
							 : ECONNABORTED;
}

static enum outcome fail(struct roost_rs_stream *st,
			 const struct rdma_cm_event *event)
{
	roost_rs_stream_fail(st, error_of(event));
	return DONE;
}

static enum outcome fail_unless_ok(struct roost_rs_stream *st, int ret)
{
	if (ret < 0)
		roost_rs_stream_fail(st, -ret);
	return DONE;
}

static enum outcome addr_resolved(struct roost_rs_stream *st,
				  const struct rdma_cm_event *event)
{
	(void)event;
	st->nb_tries = 0;
	return fail_unless_ok(st, roost_rs_stream_ask_route(st));
}

static enum outcome addr_error(struct roost_rs_stream *st,
			       const struct rdma_cm_event *event)
{
	if (event->status != -ETIMEDOUT || st->nb_tries >= TRIES_MAX)
		return fail(st, event);
	return fail_unless_ok(st, roost_rs_stream_ask_addr(st));
}

static enum outcome route_resolved(struct roost_rs_stream *st,
				   const struct rdma_cm_event *event)
{
	(void)event;
	return fail_unless_ok(st, roost_rs_stream_send_req(st));
}

static enum outcome route_error(struct roost_rs_stream *st,
				const struct rdma_cm_event *event)
{
	if (event->status != -ETIMEDOUT || st->nb_tries >= TRIES_MAX)
		return fail(st, event);
	return fail_unless_ok(st, roost_rs_stream_ask_route(st));
}

static void connected(struct roost_rs_stream *st)
{
	st->state = ROOST_RS_CONNECTED;
	st->readable = true;
	st->writable = true;
	roost_rs_notify(&st->rs);
	/* The second half of the buffer goes to the peer. */
	roost_rs_stream_progress(&st->rs);
}

static enum outcome rep_received(struct roost_rs_stream *st,
				 const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct roost_rs_hello hello;
	int ret = roost_rs_hello_get(&hello, param->private_data,
				     param->private_data_len);

	if (ret < 0) {
		roost_rs_stream_fail(st, -ret);
		return DONE;
	}
	roost_rs_ep_meet(st, &hello);
	connected(st);
	return DONE;
}

static enum outcome accepted(struct roost_rs_stream *st,
			     const struct rdma_cm_event *event)
{
	(void)event;
	connected(st);
	/* The listener's options are the child's. */
	if (st->rs.so_flags >> SO_KEEPALIVE & 1)
		roost_rs_stream_keepalive_start(st);
	return ESTABLISHED;
}

static enum outcome drop(struct roost_rs_stream *st,
			 const struct rdma_cm_event *event)
{
	(void)st;
	(void)event;
	return DROPPED;
}

static enum outcome disconnected(struct roost_rs_stream *st,
				 const struct rdma_cm_event *event)
{
	(void)event;
	/* Data that came before this event is in the CQ. */
	roost_rs_stream_progress(&st->rs);
	if (st->state != ROOST_RS_FAILED)
		roost_rs_stream_hang_up(st, false);
	(void)rdma_disconnect(st->id);
	return DONE;
}

/* The peer was connected: its RTU is late or lost, but not what it has sent. */
static enum outcome accepted_and_left(struct roost_rs_stream *st,
				      const struct rdma_cm_event *event)
{
	(void)accepted(st, event);
	(void)disconnected(st, event);
	return ESTABLISHED;
}

static enum outcome hang_up(struct roost_rs_stream *st,
			    const struct rdma_cm_event *event)
{
	(void)event;
	roost_rs_stream_hang_up(st, false);
	return DONE;
}

static const struct step steps[ROOST_RS_STATES][EVENTS] = {
	[ROOST_RS_ADDR] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = { addr_resolved },
		[RDMA_CM_EVENT_ADDR_ERROR] = { addr_error },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { fail },
	},
	[ROOST_RS_ROUTE] = {
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = { route_resolved },
		[RDMA_CM_EVENT_ROUTE_ERROR] = { route_error },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { fail },
	},
	[ROOST_RS_CONNECTING] = {
		[RDMA_CM_EVENT_ESTABLISHED] = { rep_received },
		[RDMA_CM_EVENT_REJECTED] = { fail },
		[RDMA_CM_EVENT_UNREACHABLE] = { fail },
		[RDMA_CM_EVENT_CONNECT_ERROR] = { fail },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { fail },
	},
	[ROOST_RS_REQUESTED] = {
		[RDMA_CM_EVENT_REJECTED] = { drop },
		[RDMA_CM_EVENT_CONNECT_ERROR] = { drop },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { drop },
	},
	[ROOST_RS_ACCEPTING] = {
		[RDMA_CM_EVENT_ESTABLISHED] = { accepted },
		[RDMA_CM_EVENT_REJECTED] = { drop },
		[RDMA_CM_EVENT_UNREACHABLE] = { drop },
		[RDMA_CM_EVENT_CONNECT_ERROR] = { drop },
		[RDMA_CM_EVENT_DISCONNECTED] = { accepted_and_left },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { drop },
	},
	[ROOST_RS_CONNECTED] = {
		[RDMA_CM_EVENT_DISCONNECTED] = { disconnected },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { fail },
	},
	[ROOST_RS_DISCONNECTED] = {
		[RDMA_CM_EVENT_DISCONNECTED] = { disconnected },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { hang_up },
	},
	[ROOST_RS_FAILED] = {
		[RDMA_CM_EVENT_DISCONNECTED] = { disconnected },
	},
};

struct roost_rs_after roost_rs_stream_event(struct roost_rs_cm *cm,
					    const struct rdma_cm_event *event)
{
	struct roost_rs_stream *st = roost_rs_stream(cm->rs);
	struct roost_rs_after after = { NULL, NULL };
	struct roost_rs_family failed = TAILQ_HEAD_INITIALIZER(failed);
	enum outcome outcome = DONE;

	roost_rs_family_lock();
	pthread_mutex_lock(&st->rs.lock);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (st->state == ROOST_RS_LISTENING)
			after = roost_rs_child_request(st, event);
		else
			after.destroy = event->id;
	} else if ((unsigned int)event->event < EVENTS &&
		   steps[st->state][event->event].take) {
		outcome = steps[st->state][event->event].take(st, event);
	}
	pthread_mutex_unlock(&st->rs.lock);

	if (outcome == ESTABLISHED)
		roost_rs_child_established(st);
	else if (outcome == DROPPED)
		after.put = roost_rs_child_drop(st, &failed);
	roost_rs_family_unlock();
	/* Their ids have no events: the one at hand is another's. */
	roost_rs_child_put_all(&failed);
	return after;
}
