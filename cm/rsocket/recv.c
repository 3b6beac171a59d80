/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Receiving on a stream: out of the ring that the peer writes. */

#include <errno.h>

#include "cm/rsocket/stream.h"

static bool recv_is_decided(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return st->ep.recv_bytes > 0 || !st->readable;
}

/* No lock: the peer does not write bytes that were not given back to it. */
static void copy(const struct roost_rs_ep *ep, struct roost_rs_cursor *cursor,
		 uint32_t bytes)
{
	const uint32_t to_end = ep->recv_ring_bytes - ep->recv_at;
	const uint32_t first = bytes < to_end ? bytes : to_end;

	roost_rs_cursor_write(cursor, ep->recv_ring + ep->recv_at, first);
	roost_rs_cursor_write(cursor, ep->recv_ring, bytes - first);
}

/* lock held. A message counts as read with its last byte. */
static void consume(struct roost_rs_stream *st, uint32_t bytes)
{
	struct roost_rs_ep *ep = &st->ep;

	ep->recv_at = (ep->recv_at + bytes) % ep->recv_ring_bytes;
	ep->recv_bytes -= bytes;
	ep->recv_read_bytes += bytes;
	while (ep->nb_msgs > 0 && ep->msgs[ep->msgs_head] <= bytes) {
		bytes -= ep->msgs[ep->msgs_head];
		ep->msgs_head = (ep->msgs_head + 1) % st->rs.sizes.recv_wr;
		ep->nb_msgs--;
		ep->recv_seq++;
	}
	if (bytes > 0)
		ep->msgs[ep->msgs_head] -= bytes;
}

/* recv_lock and lock held. 0: nothing more will come. */
static ssize_t recv_some(struct roost_rs_stream *st,
			 struct roost_rs_cursor *cursor, size_t left, bool peek,
			 bool nonblock)
{
	struct roost_rs_ep *ep = &st->ep;
	uint32_t bytes;
	int ret = roost_rs_block(&st->rs, recv_is_decided, nonblock);

	if (ret < 0)
		return ret;
	if (ep->recv_bytes == 0)
		return 0;
	bytes = left < ep->recv_bytes ? (uint32_t)left : ep->recv_bytes;
	pthread_mutex_unlock(&st->rs.lock);
	copy(ep, cursor, bytes);
	pthread_mutex_lock(&st->rs.lock);
	if (!peek) {
		consume(st, bytes);
		/* The read bytes may be worth a credit message to the peer. */
		roost_rs_stream_progress(&st->rs);
	}
	return (ssize_t)bytes;
}

/* recv_lock and lock held. */
static ssize_t recv_all(struct roost_rs_stream *st, const struct iovec *iov,
			int nb_iov, int flags)
{
	const bool nonblock = roost_rs_nonblock(&st->rs, flags);
	const bool peek = flags & MSG_PEEK;
	struct roost_rs_cursor cursor = { .iov = iov, .nb_iov = nb_iov };
	const size_t all = roost_rs_iov_bytes(iov, nb_iov);
	size_t left = all;
	ssize_t ret = roost_rs_stream_ready(st, nonblock);

	if (ret < 0 || left == 0)
		return ret;
	while (left > 0) {
		ret = recv_some(st, &cursor, left, peek, nonblock);
		if (ret <= 0)
			break;
		left -= (size_t)ret;
		if (peek || !(flags & MSG_WAITALL))
			break;
	}
	return left == all ? roost_rs_stream_cause(st, (int)ret)
			   : (ssize_t)(all - left);
}

ssize_t roost_rs_stream_recv(struct roost_rs *rs, const struct iovec *iov,
			     int nb_iov, int flags,
			     struct sockaddr_storage *from)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	ssize_t ret;

	roost_rs_lock(rs, &rs->recv_lock);
	ret = recv_all(st, iov, nb_iov, flags);
	roost_rs_unlock(rs);
	if (ret >= 0 && from)
		(void)rs->ops->peer(rs, from);
	return ret;
}
