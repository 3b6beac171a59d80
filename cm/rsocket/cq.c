/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Completions of a stream, and the credits that they give. */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cm/rsocket/stream.h"

#define BATCH 16

/* lock held; ctrl_free_wr is not 0. */
static int post_ctrl(struct roost_rs_stream *st, enum roost_rs_wr kind,
		     struct roost_rs_write *write)
{
	int ret;

	write->wr_id = roost_rs_wr_id(kind, 0);
	ret = roost_rs_ep_post_write(st, write);
	if (ret < 0) {
		roost_rs_stream_fail(st, -ret);
		return ret;
	}
	st->ep.ctrl_free_wr--;
	return 0;
}

int roost_rs_ctrl_send(struct roost_rs_stream *st, enum roost_rs_ctrl ctrl)
{
	/* A keepalive needs no message: the ack of nothing is the answer. */
	struct roost_rs_write write = {
		.has_msg = ctrl != ROOST_RS_CTRL_KEEPALIVE,
		.msg = roost_rs_msg(ROOST_RS_OP_CTRL, ctrl),
	};

	return post_ctrl(st,
			 ctrl == ROOST_RS_CTRL_DISCONNECT ? ROOST_RS_WR_BYE
							  : ROOST_RS_WR_CTRL,
			 &write);
}

/* Write the half that is free again into the peer's next slot. */
static void describe_half(struct roost_rs_stream *st,
			  struct roost_rs_write *write, struct ibv_sge *sge)
{
	struct roost_rs_ep *ep = &st->ep;
	const uint32_t half = ep->recv_ring_bytes / 2;
	const struct roost_rs_slot slot = {
		.addr = (uintptr_t)ep->recv_ring + ep->recv_give_at,
		.key = ep->recv_mr->rkey,
		.length_bytes = half,
	};
	/* In its place in line until the request before it has completed. */
	uint8_t *buf = ep->send_mem + ep->ctrl_next * ROOST_RS_SLOT_BYTES;

	roost_rs_slot_put(buf, &slot, ep->big_endian);
	ep->ctrl_next = (ep->ctrl_next + 1) % ROOST_RS_CTRL_WR;
	*sge = (struct ibv_sge){
		.addr = (uintptr_t)buf,
		.length = ROOST_RS_SLOT_BYTES,
		.lkey = ep->send_mr->lkey,
	};
	write->sges = sge;
	write->nb_sges = 1;
	write->length_bytes = ROOST_RS_SLOT_BYTES;
	write->addr =
		ep->slots_addr + (uint64_t)ep->peer_slot * ROOST_RS_SLOT_BYTES;
	write->key = ep->slots_key;
	ep->peer_slot = (ep->peer_slot + 1) % ep->nb_slots;
	ep->recv_read_bytes -= half;
	ep->recv_give_at = ep->recv_give_at == 0 ? half : 0;
}

/* Give back read bytes and credits, once that is worth a message. */
static void give_credits(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;
	const bool half_free = ep->recv_read_bytes >= ep->recv_ring_bytes / 2;
	const uint16_t nb_wr = st->rs.sizes.recv_wr;
	struct ibv_sge sge;
	struct roost_rs_write write = {
		.has_msg = true,
		.msg = roost_rs_msg(ROOST_RS_OP_CREDIT,
				    (uint16_t)(ep->recv_seq + nb_wr)),
	};

	if (st->state != ROOST_RS_CONNECTED || ep->ctrl_free_wr == 0)
		return;
	if (!half_free && (int16_t)(ep->recv_seq - ep->recv_told) < 0)
		return;
	ep->recv_told = (uint16_t)(ep->recv_seq + nb_wr / 2);
	if (half_free)
		describe_half(st, &write, &sge);
	(void)post_ctrl(st, ROOST_RS_WR_CTRL, &write);
}

static void take_data(struct roost_rs_stream *st, uint32_t bytes)
{
	struct roost_rs_ep *ep = &st->ep;
	const uint32_t nb_max = st->rs.sizes.recv_wr;

	/* More than was offered: the peer does not keep to the protocol. */
	if (bytes > ep->recv_ring_bytes - ep->recv_bytes ||
	    ep->nb_msgs == nb_max) {
		roost_rs_stream_fail(st, EPROTO);
		return;
	}
	ep->msgs[(ep->msgs_head + ep->nb_msgs) % nb_max] = bytes;
	ep->nb_msgs++;
	ep->recv_bytes += bytes;
}

static void take_ctrl(struct roost_rs_stream *st, uint32_t ctrl)
{
	if (ctrl == ROOST_RS_CTRL_DISCONNECT)
		roost_rs_stream_hang_up(st, false);
	else if (ctrl == ROOST_RS_CTRL_SHUTDOWN && !st->writable)
		roost_rs_stream_hang_up(st, true);
	else if (ctrl == ROOST_RS_CTRL_SHUTDOWN)
		st->readable = false;
}

static void take_msg(struct roost_rs_stream *st, const struct ibv_wc *wc)
{
	const uint32_t msg = be32toh(wc->imm_data);

	if (!(wc->wc_flags & IBV_WC_WITH_IMM))
		return;
	switch (roost_rs_msg_op(msg)) {
	case ROOST_RS_OP_DATA:
		take_data(st, roost_rs_msg_data(msg));
		break;
	case ROOST_RS_OP_CREDIT:
		st->ep.send_limit = (uint16_t)roost_rs_msg_data(msg);
		break;
	case ROOST_RS_OP_IOMAP:
		/* The entry is in memory; it took one of our credits. */
		st->ep.recv_seq++;
		break;
	case ROOST_RS_OP_CTRL:
		take_ctrl(st, roost_rs_msg_data(msg));
		break;
	default:
		break;
	}
}

static int error_of(enum ibv_wc_status status)
{
	if (status == IBV_WC_RETRY_EXC_ERR)
		return ETIMEDOUT;
	return status == IBV_WC_WR_FLUSH_ERR ? ECONNRESET : EIO;
}

static void take_completion(struct roost_rs_stream *st, const struct ibv_wc *wc)
{
	struct roost_rs_ep *ep = &st->ep;

	switch ((enum roost_rs_wr)(wc->wr_id >> 32)) {
	case ROOST_RS_WR_RECV:
		if (wc->status == IBV_WC_SUCCESS)
			take_msg(st, wc);
		break;
	case ROOST_RS_WR_DATA:
		ep->send_free_wr++;
		ep->send_free_bytes += (uint32_t)wc->wr_id;
		break;
	case ROOST_RS_WR_CTRL:
		ep->ctrl_free_wr++;
		break;
	case ROOST_RS_WR_BYE:
		ep->ctrl_free_wr++;
		roost_rs_stream_hang_up(st, false);
		break;
	}
	if (wc->status != IBV_WC_SUCCESS && st->state == ROOST_RS_CONNECTED)
		roost_rs_stream_fail(st, error_of(wc->status));
}

/* Whether there were completions. */
static bool take_completions(struct roost_rs_stream *st)
{
	const uint64_t recv_id = roost_rs_wr_id(ROOST_RS_WR_RECV, 0);
	struct ibv_wc wcs[BATCH];
	bool any = false;
	int nb;

	while ((nb = ibv_poll_cq(st->ep.cq, BATCH, wcs)) > 0) {
		unsigned int nb_recv = 0;
		int ret;

		any = true;
		for (int i = 0; i < nb; i++) {
			take_completion(st, &wcs[i]);
			if (wcs[i].wr_id == recv_id &&
			    wcs[i].status == IBV_WC_SUCCESS)
				nb_recv++;
		}
		/* A peer that reads may have sent credits that it waits for. */
		if (st->state != ROOST_RS_CONNECTED && !st->peer_reads)
			continue;
		ret = roost_rs_ep_post_recv(st, nb_recv);
		if (ret < 0 && st->state == ROOST_RS_CONNECTED)
			roost_rs_stream_fail(st, -ret);
	}
	if (nb < 0 && st->state == ROOST_RS_CONNECTED)
		roost_rs_stream_fail(st, EIO);
	return any;
}

void roost_rs_stream_progress(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	/* Before ESTABLISHED, received messages wait in the CQ. */
	if (!st->ep.cq || st->state < ROOST_RS_CONNECTED)
		return;
	give_credits(st);
	if (take_completions(st)) {
		give_credits(st);
		roost_rs_notify(rs);
	}
}

void roost_rs_stream_arm(struct roost_rs *rs)
{
	struct roost_rs_ep *ep = &roost_rs_stream(rs)->ep;

	if (!ep->cq || ep->armed)
		return;
	if (ibv_req_notify_cq(ep->cq, 0) == 0)
		ep->armed = true;
}

void roost_rs_stream_drain(struct roost_rs *rs)
{
	struct roost_rs_ep *ep = &roost_rs_stream(rs)->ep;
	struct ibv_cq *cq;
	void *context;
	int state;

	if (!ep->cq)
		return;
	/* ibv_get_cq_event() is a cancellation point, and a lock is held. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (ibv_get_cq_event(ep->channel, &cq, &context) == 0) {
		ibv_ack_cq_events(cq, 1);
		ep->armed = false;
		/* Other sleeping threads relied on this arming, which is used
		 * up: wake them.
		 */
		roost_rs_notify(rs);
	}
	pthread_setcancelstate(state, NULL);
}

int roost_rs_stream_wait_fd(struct roost_rs *rs)
{
	const struct roost_rs_ep *ep = &roost_rs_stream(rs)->ep;

	return ep->channel ? ep->channel->fd : -1;
}
