/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Sending, receiving and waiting of datagram rsockets. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/dgram.h"
#include "cm/rsocket/stream.h" /* the cursor */

#define BATCH 16

/* True if the header has the address that the packet came from. */
static bool is_true(const struct sockaddr_storage *from, const uint8_t *grh)
{
	const struct sockaddr_in *sin = (const void *)from;
	const struct sockaddr_in6 *sin6 = (const void *)from;

	if (from->ss_family == AF_INET6)
		return grh[0] >> 4 == 6 &&
		       memcmp(grh + 8, &sin6->sin6_addr, 16) == 0;
	return grh[0] >> 4 != 6 && memcmp(grh + 32, &sin->sin_addr, 4) == 0;
}

/* Whether it is kept; otherwise its buffer is to be posted again. */
static bool take_received(struct roost_rs_dgram *dg, struct roost_rs_uqp *uqp,
			  struct ibv_wc *wc)
{
	struct roost_rs_dmsg *msg = &uqp->msgs[(uint32_t)wc->wr_id];
	struct ibv_grh *grh = (void *)msg->data;
	int header;

	if (wc->status != IBV_WC_SUCCESS || wc->byte_len < ROOST_RS_GRH_BYTES)
		return false;
	header = roost_rs_dgram_get(&msg->from, msg->data + ROOST_RS_GRH_BYTES,
				    wc->byte_len - ROOST_RS_GRH_BYTES);
	if (header < 0 || !is_true(&msg->from, msg->data))
		return false;
	roost_rs_dest_learn(uqp, dg, &msg->from, wc, grh);
	if (!roost_rs_dgram_wants(dg, &msg->from))
		return false;
	msg->data += ROOST_RS_GRH_BYTES + (uint32_t)header;
	msg->length_bytes =
		wc->byte_len - ROOST_RS_GRH_BYTES - (uint32_t)header;
	STAILQ_INSERT_TAIL(&dg->received, msg, link);
	return true;
}

static bool take_completions(struct roost_rs_dgram *dg,
			     struct roost_rs_uqp *uqp)
{
	struct ibv_wc wcs[BATCH];
	bool any = false;
	int nb;

	while ((nb = ibv_poll_cq(uqp->cq, BATCH, wcs)) > 0) {
		any = true;
		for (int i = 0; i < nb; i++) {
			const uint32_t index = (uint32_t)wcs[i].wr_id;

			if (wcs[i].wr_id >> 32 == ROOST_RS_WR_DATA)
				uqp->send_free[uqp->nb_send_free++] = index;
			else if (!take_received(dg, uqp, &wcs[i]))
				(void)roost_rs_uqp_post_recv(uqp, index);
		}
	}
	return any;
}

void roost_rs_dgram_progress(struct roost_rs *rs)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	struct roost_rs_uqp *uqp;
	bool any = false;

	LIST_FOREACH(uqp, &dg->uqps, link)
		any |= take_completions(dg, uqp);
	if (any)
		roost_rs_notify(rs);
}

void roost_rs_dgram_arm(struct roost_rs *rs)
{
	struct roost_rs_uqp *uqp;

	LIST_FOREACH(uqp, &roost_rs_dgram(rs)->uqps, link) {
		if (!uqp->armed && ibv_req_notify_cq(uqp->cq, 0) == 0)
			uqp->armed = true;
	}
}

void roost_rs_dgram_drain(struct roost_rs *rs)
{
	struct roost_rs_uqp *uqp;
	struct ibv_cq *cq;
	void *context;
	int state;

	/* ibv_get_cq_event() is a cancellation point, and a lock is held. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	LIST_FOREACH(uqp, &roost_rs_dgram(rs)->uqps, link) {
		if (!uqp->armed ||
		    ibv_get_cq_event(uqp->channel, &cq, &context) != 0)
			continue;
		ibv_ack_cq_events(cq, 1);
		uqp->armed = false;
		/* Other sleeping threads relied on this arming, which is used
		 * up: wake them.
		 */
		roost_rs_notify(rs);
	}
	pthread_setcancelstate(state, NULL);
}

int roost_rs_dgram_wait_fd(struct roost_rs *rs)
{
	return roost_rs_dgram(rs)->epoll_fd;
}

bool roost_rs_dgram_all_sent(struct roost_rs *rs)
{
	struct roost_rs_uqp *uqp;

	if (roost_rs_dgram(rs)->nb_held > 0)
		return false;
	LIST_FOREACH(uqp, &roost_rs_dgram(rs)->uqps, link) {
		if (uqp->nb_send_free < rs->sizes.send_wr)
			return false;
	}
	return true;
}

/* True if a datagram to dest can be sent, held or refused now. */
static bool is_decided(const struct roost_rs_dgram *dg,
		       const struct roost_rs_dest *dest)
{
	if (!dest || !dg->writable)
		return true;
	switch (dest->state) {
	case ROOST_RS_DEST_RESOLVING:
		return roost_rs_dest_holds(dest);
	case ROOST_RS_DEST_ASKING:
		return dest->by_side;
	case ROOST_RS_DEST_READY:
		return dest->uqp->nb_send_free > 0;
	case ROOST_RS_DEST_HEARD:
	case ROOST_RS_DEST_FAILED:
		break;
	}
	return true;
}

static bool send_is_decided(struct roost_rs *rs)
{
	const struct roost_rs_dgram *dg = roost_rs_dgram(rs);

	return is_decided(dg, dg->sending);
}

static bool recv_is_decided(struct roost_rs *rs)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);

	return !STAILQ_EMPTY(&dg->received) || !dg->readable;
}

short roost_rs_dgram_events(struct roost_rs *rs, short asked)
{
	short events = 0;

	if (recv_is_decided(rs))
		events |= POLLIN | POLLRDNORM;
	if (is_decided(roost_rs_dgram(rs), roost_rs_dgram(rs)->to))
		events |= POLLOUT | POLLWRNORM;
	return (short)(events & asked);
}

/* send_lock and lock held: sets sending. */
static int choose(struct roost_rs_dgram *dg, const struct sockaddr *to,
		  socklen_t length)
{
	struct sockaddr_storage addr = { 0 };
	int ret = 0;

	if (!to) {
		dg->sending = dg->peer;
		ret = dg->peer != NULL ? 0 : -EDESTADDRREQ;
	} else {
		ret = roost_rs_addr_check(to, length);
		if (ret < 0)
			return ret;
		memcpy(&addr, to, roost_rs_addr_length(to));
		ret = roost_rs_dgram_bind_any(dg);
		if (ret == 0)
			ret = roost_rs_dest_get(dg, &addr, &dg->sending);
	}
	if (ret == 0)
		dg->to = dg->sending;
	return ret;
}

/* lock held; send_is_decided. */
static ssize_t send_one(struct roost_rs_dgram *dg, const struct iovec *iov,
			int nb_iov, struct roost_rs_dest **dead)
{
	struct roost_rs_dest *dest = dg->sending;

	if (!dg->writable)
		return -EPIPE;
	roost_rs_dest_use(dest);
	roost_rs_dest_seek(dest);
	if (roost_rs_dest_holds(dest))
		return roost_rs_dest_hold(dest, iov, nb_iov);
	if (dest->state == ROOST_RS_DEST_FAILED) {
		*dead = dest;
		return roost_rs_dest_renew(dest);
	}
	if (dest->state == ROOST_RS_DEST_READY)
		return roost_rs_uqp_send(dest->uqp, dest, iov, nb_iov);
	if (roost_rs_iov_bytes(iov, nb_iov) >
	    dest->uqp->max_bytes - ROOST_RS_DGRAM_MAX)
		return -EMSGSIZE;
	return roost_rs_side_send(dg, dest, ROOST_RS_OP_DATA, iov, nb_iov);
}

ssize_t roost_rs_dgram_send(struct roost_rs *rs, const struct iovec *iov,
			    int nb_iov, int flags, const struct sockaddr *to,
			    socklen_t to_length)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	struct roost_rs_dest *dead = NULL;
	ssize_t ret;

	roost_rs_lock(rs, &rs->send_lock);
	ret = choose(dg, to, to_length);
	if (ret == 0)
		ret = roost_rs_block(rs, send_is_decided,
				     roost_rs_nonblock(rs, flags));
	if (ret == 0)
		ret = send_one(dg, iov, nb_iov, &dead);
	dg->sending = NULL;
	roost_rs_unlock(rs);
	if (dead)
		roost_rs_dest_free(dead);
	if (!LIST_EMPTY(&dg->dead_dests))
		roost_rs_dest_reap(dg);
	return ret;
}

static void dmsg_done(struct roost_rs_dgram *dg, struct roost_rs_dmsg *msg)
{
	STAILQ_REMOVE_HEAD(&dg->received, link);
	if (msg->uqp) {
		(void)roost_rs_uqp_post_recv(msg->uqp, msg->index);
		return;
	}
	dg->nb_side_waiting--;
	free(msg);
}

/* lock held; recv_is_decided. */
static ssize_t recv_one(struct roost_rs_dgram *dg, const struct iovec *iov,
			int nb_iov, int flags, struct sockaddr_storage *from)
{
	struct roost_rs_cursor cursor = { .iov = iov, .nb_iov = nb_iov };
	const size_t room = roost_rs_iov_bytes(iov, nb_iov);
	struct roost_rs_dmsg *msg = STAILQ_FIRST(&dg->received);
	size_t bytes;

	if (!msg)
		return 0;
	bytes = msg->length_bytes < room ? msg->length_bytes : room;
	roost_rs_cursor_write(&cursor, msg->data, bytes);
	if (from)
		*from = msg->from;
	if (flags & MSG_TRUNC)
		bytes = msg->length_bytes;
	if (!(flags & MSG_PEEK))
		dmsg_done(dg, msg);
	return (ssize_t)bytes;
}

ssize_t roost_rs_dgram_recv(struct roost_rs *rs, const struct iovec *iov,
			    int nb_iov, int flags,
			    struct sockaddr_storage *from)
{
	ssize_t ret;

	roost_rs_lock(rs, &rs->recv_lock);
	ret = roost_rs_block(rs, recv_is_decided, roost_rs_nonblock(rs, flags));
	if (ret == 0)
		ret = recv_one(roost_rs_dgram(rs), iov, nb_iov, flags, from);
	roost_rs_unlock(rs);
	return ret;
}
