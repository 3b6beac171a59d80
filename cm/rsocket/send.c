/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Sending on a stream: through the ring, into the peer's buffer. */

#include <errno.h>
#include <string.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/stream.h"

/*
 * Maximum of bytes in one request: the peer can read the beginning of a large
 * message while the rest is copied, and no message starves the others.
 */
#define PIECE_BYTES 16384u

size_t roost_rs_iov_bytes(const struct iovec *iov, int nb_iov)
{
	size_t bytes = 0;

	for (int i = 0; i < nb_iov; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* The next piece that lies in one iovec, of at most max bytes; not 0. */
static uint8_t *cursor_next(struct roost_rs_cursor *cursor, size_t max,
			    size_t *bytes)
{
	uint8_t *at;

	while (cursor->offset == cursor->iov->iov_len) {
		cursor->iov++;
		cursor->nb_iov--;
		cursor->offset = 0;
	}
	at = (uint8_t *)cursor->iov->iov_base + cursor->offset;
	*bytes = cursor->iov->iov_len - cursor->offset;
	if (*bytes > max)
		*bytes = max;
	cursor->offset += *bytes;
	return at;
}

void roost_rs_cursor_read(struct roost_rs_cursor *cursor, void *to,
			  size_t length_bytes)
{
	uint8_t *out = to;
	size_t bytes;

	for (; length_bytes > 0; length_bytes -= bytes, out += bytes) {
		const void *at = cursor_next(cursor, length_bytes, &bytes);

		memcpy(out, at, bytes);
	}
}

void roost_rs_cursor_write(struct roost_rs_cursor *cursor, const void *from,
			   size_t length_bytes)
{
	const uint8_t *in = from;
	size_t bytes;

	for (; length_bytes > 0; length_bytes -= bytes, in += bytes) {
		void *at = cursor_next(cursor, length_bytes, &bytes);

		memcpy(at, in, bytes);
	}
}

int roost_rs_ring_take(struct roost_rs_stream *st, uint32_t length_bytes,
		       struct ibv_sge sges[2])
{
	struct roost_rs_ep *ep = &st->ep;
	const uint32_t to_end = ep->send_ring_bytes - ep->send_at;
	const uint32_t first = length_bytes < to_end ? length_bytes : to_end;

	sges[0] = (struct ibv_sge){
		.addr = (uintptr_t)ep->send_ring + ep->send_at,
		.length = first,
		.lkey = ep->send_mr->lkey,
	};
	ep->send_at += first;
	if (ep->send_at == ep->send_ring_bytes)
		ep->send_at = 0;
	if (first == length_bytes)
		return 1;
	sges[1] = (struct ibv_sge){
		.addr = (uintptr_t)ep->send_ring,
		.length = length_bytes - first,
		.lkey = ep->send_mr->lkey,
	};
	ep->send_at = length_bytes - first;
	return 2;
}

/*
 * Take the peer's next buffer when the last one is full. The peer's write
 * becomes visible in ascending order, so a non-zero length means that the rest
 * of the slot is there. The peer does not write a slot again before its buffer
 * is full.
 */
static void adopt_slot(struct roost_rs_ep *ep)
{
	volatile struct roost_rs_slot *slot = &ep->slots[ep->slot_next];
	uint32_t length;

	if (ep->buf.length_bytes != 0)
		return;
	length = __atomic_load_n(&slot->length_bytes, __ATOMIC_ACQUIRE);
	if (length == 0)
		return;
	ep->buf.addr = slot->addr;
	ep->buf.key = slot->key;
	ep->buf.length_bytes = length;
	slot->length_bytes = 0;
	ep->slot_next = (ep->slot_next + 1) % ROOST_RS_SLOTS;
}

bool roost_rs_stream_can_send(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;

	if (!st->writable || ep->send_free_wr == 0 ||
	    ep->send_free_bytes == 0 || ep->send_seq == ep->send_limit)
		return false;
	adopt_slot(ep);
	return ep->buf.length_bytes != 0;
}

bool roost_rs_stream_is_writable(struct roost_rs_stream *st)
{
	return roost_rs_stream_can_send(st) &&
	       st->ep.send_free_bytes >= ROOST_RS_LOW_WATER_BYTES;
}

static bool send_is_decided(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return !st->writable || roost_rs_stream_can_send(st);
}

/* send_lock and lock held: waits until can_send; -errno when the connection has
 * ended.
 */
static int wait_send(struct roost_rs_stream *st, bool nonblock)
{
	int ret = roost_rs_block(&st->rs, send_is_decided, nonblock);

	return ret == 0 && !st->writable ? -ECONNRESET : ret;
}

static uint32_t piece_bytes(const struct roost_rs_stream *st, size_t left)
{
	uint32_t bytes = PIECE_BYTES;

	if (left < bytes)
		bytes = (uint32_t)left;
	if (st->ep.send_free_bytes < bytes)
		bytes = st->ep.send_free_bytes;
	if (st->ep.buf.length_bytes < bytes)
		bytes = st->ep.buf.length_bytes;
	return bytes;
}

/* send_lock and lock held; the latter is given up to copy. */
static int send_piece(struct roost_rs_stream *st,
		      struct roost_rs_cursor *cursor, uint32_t bytes)
{
	struct roost_rs_ep *ep = &st->ep;
	struct ibv_sge sges[2];
	struct roost_rs_write write = {
		.sges = sges,
		.length_bytes = bytes,
		.addr = ep->buf.addr,
		.key = ep->buf.key,
		.has_msg = true,
		.msg = roost_rs_msg(ROOST_RS_OP_DATA, bytes),
		.wr_id = roost_rs_wr_id(ROOST_RS_WR_DATA, bytes),
	};
	int ret;

	write.nb_sges = roost_rs_ring_take(st, bytes, sges);
	ep->send_free_bytes -= bytes;
	pthread_mutex_unlock(&st->rs.lock);
	for (int i = 0; i < write.nb_sges; i++)
		roost_rs_cursor_read(cursor, (void *)(uintptr_t)sges[i].addr,
				     sges[i].length);
	pthread_mutex_lock(&st->rs.lock);
	if (!st->writable)
		return -ECONNRESET;

	ep->buf.addr += bytes;
	ep->buf.length_bytes -= bytes;
	ep->send_seq++;
	ep->send_free_wr--;
	ret = roost_rs_ep_post_write(st, &write);
	if (ret < 0)
		roost_rs_stream_fail(st, -ret);
	return ret;
}

/* send_lock and lock held. */
static ssize_t send_all(struct roost_rs_stream *st, const struct iovec *iov,
			int nb_iov, bool nonblock)
{
	struct roost_rs_cursor cursor = { .iov = iov, .nb_iov = nb_iov };
	const size_t all = roost_rs_iov_bytes(iov, nb_iov);
	size_t left = all;
	int ret = roost_rs_stream_ready(st, nonblock);

	if (ret == 0)
		ret = roost_rs_map_flush(st, nonblock);
	while (ret == 0 && left > 0) {
		uint32_t bytes;

		ret = wait_send(st, nonblock);
		if (ret < 0)
			break;
		bytes = piece_bytes(st, left);
		ret = send_piece(st, &cursor, bytes);
		if (ret == 0)
			left -= bytes;
	}
	return ret < 0 && left == all ? roost_rs_stream_cause(st, ret)
				      : (ssize_t)(all - left);
}

ssize_t roost_rs_stream_send(struct roost_rs *rs, const struct iovec *iov,
			     int nb_iov, int flags, const struct sockaddr *to,
			     socklen_t to_length)
{
	ssize_t ret;

	if (to || to_length != 0)
		return -EISCONN;
	roost_rs_lock(rs, &rs->send_lock);
	ret = send_all(roost_rs_stream(rs), iov, nb_iov,
		       roost_rs_nonblock(rs, flags));
	roost_rs_unlock(rs);
	return ret;
}
