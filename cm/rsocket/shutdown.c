/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The end of a connection, and the sign of life. */

#include <errno.h>
#include <rdma/rdma_cma.h>

#include "cm/rsocket/stream.h"

/* True if the peer may wait for something from this end. */
static bool has_reader(const struct roost_rs_stream *st)
{
	return st->state == ROOST_RS_CONNECTED || st->peer_reads;
}

static bool can_ctrl(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return st->ep.ctrl_free_wr > 0 || !has_reader(st);
}

/* True if the peer has everything that was sent, or never will. */
static bool all_sent(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return !has_reader(st) || st->ep.send_free_wr + st->ep.ctrl_free_wr ==
					  st->rs.sizes.send_wr;
}

/* Wait to the end, also when a signal comes: an unfinished shutdown has no use.
 */
static int wait_for(struct roost_rs_stream *st,
		    bool (*ready)(struct roost_rs *))
{
	int ret;

	do {
		ret = roost_rs_block(&st->rs, ready, false);
	} while (ret == -EINTR);
	return ret;
}

/*
 * lock held. Close one direction or both. Returns true with the message for the
 * peer in *ctrl, if there is one.
 */
static bool give_up(struct roost_rs_stream *st, int how,
		    enum roost_rs_ctrl *ctrl)
{
	const bool was_writable = st->writable;

	if (how != SHUT_WR)
		st->readable = false;
	if (how != SHUT_RD)
		st->writable = false;
	roost_rs_notify(&st->rs);
	/* SHUT_RD sends no message: the peer can still receive from this end.
	 */
	if (st->writable || (!was_writable && st->readable))
		return false;
	*ctrl = st->readable ? ROOST_RS_CTRL_SHUTDOWN
			     : ROOST_RS_CTRL_DISCONNECT;
	return true;
}

int roost_rs_stream_shutdown(struct roost_rs *rs, int how)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	enum roost_rs_ctrl ctrl;
	int ret = 0;

	pthread_mutex_lock(&rs->lock);
	if (st->state < ROOST_RS_CONNECTED) {
		ret = -ENOTCONN;
	} else if (st->state == ROOST_RS_CONNECTED && give_up(st, how, &ctrl)) {
		/* The peer's own SHUTDOWN may come meanwhile. */
		ret = wait_for(st, can_ctrl);
		if (ret == 0 && has_reader(st))
			ret = roost_rs_ctrl_send(st, ctrl);
	}
	/* Another thread's last messages may be on their way, too. */
	if (ret == 0 && !st->writable)
		ret = wait_for(st, all_sent);
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

void roost_rs_stream_close(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	bool is_listener;

	roost_rs_timer_clear(&st->keepalive);
	pthread_mutex_lock(&rs->lock);
	is_listener = st->state == ROOST_RS_LISTENING;
	pthread_mutex_unlock(&rs->lock);
	if (is_listener)
		roost_rs_child_drop_all(st);
	else
		(void)roost_rs_stream_shutdown(rs, SHUT_RDWR);
}

void roost_rs_stream_keepalive_start(struct roost_rs_stream *st)
{
	roost_rs_timer_set(&st->keepalive,
			   (int64_t)st->rs.keepalive_s * 1000000000);
}

void roost_rs_stream_keepalive(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	pthread_mutex_lock(&rs->lock);
	roost_rs_stream_progress(rs);
	if (st->state == ROOST_RS_CONNECTED && st->ep.ctrl_free_wr > 0)
		(void)roost_rs_ctrl_send(st, ROOST_RS_CTRL_KEEPALIVE);
	pthread_mutex_unlock(&rs->lock);
}
