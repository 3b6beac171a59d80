/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The states of a stream; binding, listening and the steps of connecting, which
 * event.c takes.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/stream.h"

/* First timeout of an address or route query, in ms; doubled with each try. */
#define ASK_MS 1000
#define BACKLOG_MAX 4096

static bool is_opening(const struct roost_rs_stream *st)
{
	switch (st->state) {
	case ROOST_RS_ADDR:
	case ROOST_RS_ROUTE:
	case ROOST_RS_CONNECTING:
	case ROOST_RS_REQUESTED:
	case ROOST_RS_ACCEPTING:
		return true;
	case ROOST_RS_INIT:
	case ROOST_RS_BOUND:
	case ROOST_RS_LISTENING:
	case ROOST_RS_CONNECTED:
	case ROOST_RS_DISCONNECTED:
	case ROOST_RS_FAILED:
	case ROOST_RS_STATES:
		break;
	}
	return false;
}

void roost_rs_stream_fail(struct roost_rs_stream *st, int error)
{
	st->state = ROOST_RS_FAILED;
	st->readable = false;
	st->writable = false;
	st->peer_reads = false;
	st->rs.error = error;
	roost_rs_notify(&st->rs);
}

void roost_rs_stream_hang_up(struct roost_rs_stream *st, bool peer_reads)
{
	st->state = ROOST_RS_DISCONNECTED;
	st->readable = false;
	st->writable = false;
	st->peer_reads = peer_reads;
	roost_rs_notify(&st->rs);
}

int roost_rs_stream_cause(struct roost_rs_stream *st, int ret)
{
	const int error = -st->rs.error;

	if (error == 0 || (ret != error && ret != 0 && ret != -ECONNRESET))
		return ret;
	st->rs.error = 0;
	return error;
}

static bool is_open(struct roost_rs *rs)
{
	return !is_opening(roost_rs_stream(rs));
}

int roost_rs_stream_ready(struct roost_rs_stream *st, bool nonblock)
{
	if (is_opening(st)) {
		int ret = roost_rs_block(&st->rs, is_open, nonblock);

		if (ret < 0)
			return ret;
	}
	return st->state < ROOST_RS_CONNECTED ? -ENOTCONN : 0;
}

int roost_rs_stream_bind(struct roost_rs *rs, const struct sockaddr *addr,
			 socklen_t length)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	struct sockaddr_storage copy = { 0 };
	int ret = roost_rs_addr_check(addr, length);

	if (ret < 0)
		return ret;
	memcpy(&copy, addr, roost_rs_addr_length(addr));
	pthread_mutex_lock(&rs->lock);
	if (st->state != ROOST_RS_INIT)
		ret = -EINVAL;
	else if (rdma_bind_addr(st->id, (struct sockaddr *)&copy) != 0)
		ret = -errno;
	else
		st->state = ROOST_RS_BOUND;
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

/* lock held. */
static int bind_any(struct roost_rs_stream *st)
{
	struct sockaddr_storage any = { .ss_family = st->rs.family };

	return rdma_bind_addr(st->id, (struct sockaddr *)&any) == 0 ? 0
								    : -errno;
}

int roost_rs_stream_listen(struct roost_rs_stream *st, int backlog)
{
	int ret = 0;

	if (backlog < 0 || backlog > BACKLOG_MAX)
		backlog = BACKLOG_MAX;
	pthread_mutex_lock(&st->rs.lock);
	if (st->state == ROOST_RS_INIT)
		ret = bind_any(st);
	else if (st->state != ROOST_RS_BOUND && st->state != ROOST_RS_LISTENING)
		ret = -EINVAL;
	if (ret == 0) {
		/* As with sockets, the backlog is at least one. */
		st->backlog = backlog == 0 ? 1 : (unsigned int)backlog;
		/* The CM holds no more than the service thread takes over. */
		if (st->state != ROOST_RS_LISTENING &&
		    rdma_listen(st->id, (int)roost_rs_requests_max(st)) != 0)
			ret = -errno;
		else
			st->state = ROOST_RS_LISTENING;
	}
	pthread_mutex_unlock(&st->rs.lock);
	return ret;
}

int roost_rs_stream_ask_addr(struct roost_rs_stream *st)
{
	st->state = ROOST_RS_ADDR;
	return rdma_resolve_addr(st->id, NULL, (struct sockaddr *)&st->peer,
				 ASK_MS << st->nb_tries++) == 0
		       ? 0
		       : -errno;
}

int roost_rs_stream_ask_route(struct roost_rs_stream *st)
{
	int ret;

	st->state = ROOST_RS_ROUTE;
	if (st->route && st->nb_tries == 0) {
		/* The program has one: it counts as the answer. */
		st->nb_tries++;
		ret = rdma_set_option(st->id, RDMA_OPTION_IB,
				      RDMA_OPTION_IB_PATH, st->route,
				      st->route_length);
	} else {
		ret = rdma_resolve_route(st->id, ASK_MS << st->nb_tries++);
	}
	return ret == 0 ? 0 : -errno;
}

int roost_rs_stream_send_req(struct roost_rs_stream *st)
{
	uint8_t data[ROOST_RS_HELLO_BYTES];
	struct roost_rs_hello hello;
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret = roost_rs_ep_create(st);

	if (ret < 0)
		return ret;
	roost_rs_ep_hello(st, &hello);
	roost_rs_hello_put(data, &hello);
	st->state = ROOST_RS_CONNECTING;
	return rdma_connect(st->id, &param) == 0 ? 0 : -errno;
}

/* lock held: the result of a connection attempt that has ended. */
static int outcome(struct roost_rs_stream *st)
{
	int error;

	if (st->state != ROOST_RS_FAILED) {
		if (st->told)
			return -EISCONN;
		st->told = true;
		return 0;
	}
	error = st->rs.error;
	st->rs.error = 0;
	return error != 0 ? -error : -ECONNABORTED;
}

/* lock held. */
static int begin(struct roost_rs_stream *st, const struct sockaddr *addr)
{
	int ret;

	memset(&st->peer, 0, sizeof(st->peer));
	memcpy(&st->peer, addr, roost_rs_addr_length(addr));
	st->nb_tries = 0;
	ret = roost_rs_stream_ask_addr(st);
	if (ret < 0)
		roost_rs_stream_fail(st, -ret);
	return ret;
}

int roost_rs_stream_connect(struct roost_rs *rs, const struct sockaddr *addr,
			    socklen_t length)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	int ret = roost_rs_addr_check(addr, length);
	bool nonblock;

	if (ret < 0)
		return ret;
	pthread_mutex_lock(&rs->lock);
	nonblock = roost_rs_nonblock(rs, 0);
	if (st->state == ROOST_RS_LISTENING) {
		ret = -EOPNOTSUPP;
		goto unlock;
	}
	if (st->state < ROOST_RS_LISTENING) {
		ret = begin(st, addr);
		if (ret == 0 && nonblock)
			ret = -EINPROGRESS;
	} else if (nonblock && is_opening(st)) {
		ret = -EALREADY;
	}
	if (ret == 0)
		ret = roost_rs_block(rs, is_open, nonblock);
	if (ret == 0 || st->state == ROOST_RS_FAILED)
		ret = outcome(st);
unlock:
	pthread_mutex_unlock(&rs->lock);
	return ret;
}
