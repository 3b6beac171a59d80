/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* An endpoint: the QP of a stream, its CQ and its buffers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/stream.h"

#define ALIGN_BYTES 64u

static uint32_t align(uint32_t bytes)
{
	return (bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
}

/* Sizes as the device allows them. */
static int fit(struct roost_rs_stream *st)
{
	struct roost_rs_sizes *sizes = &st->rs.sizes;
	struct ibv_device_attr attr;
	uint32_t max;

	if (ibv_query_device(st->id->verbs, &attr) != 0)
		return -ENODEV;
	max = attr.max_qp_wr > 0 ? (uint32_t)attr.max_qp_wr : 0;
	/* Both complete into one CQ. */
	if (attr.max_cqe > 0 && (uint32_t)attr.max_cqe / 2 < max)
		max = (uint32_t)attr.max_cqe / 2;
	if (max > ROOST_RS_WR_MAX)
		max = ROOST_RS_WR_MAX;
	if (sizes->send_wr > max)
		sizes->send_wr = (uint16_t)max;
	if (sizes->recv_wr > max)
		sizes->recv_wr = (uint16_t)max;
	if (sizes->send_wr < ROOST_RS_WR_MIN)
		sizes->send_wr = ROOST_RS_WR_MIN;
	if (sizes->recv_wr < ROOST_RS_WR_MIN)
		sizes->recv_wr = ROOST_RS_WR_MIN;
	return 0;
}

static int make_cq(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;
	const int nb = st->rs.sizes.send_wr + st->rs.sizes.recv_wr;

	ep->channel = ibv_create_comp_channel(st->id->verbs);
	if (!ep->channel)
		return -errno;
	if (fcntl(ep->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	ep->cq = ibv_create_cq(st->id->verbs, nb, st, ep->channel, 0);
	return ep->cq != NULL ? 0 : -errno;
}

static int make_qp(struct roost_rs_stream *st)
{
	struct roost_rs_sizes *sizes = &st->rs.sizes;
	struct ibv_qp_init_attr attr = {
		.qp_context = st,
		.send_cq = st->ep.cq,
		.recv_cq = st->ep.cq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {
			.max_send_wr = sizes->send_wr,
			.max_recv_wr = sizes->recv_wr,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = sizes->inline_bytes,
		},
	};

	if (rdma_create_qp(st->id, NULL, &attr) != 0)
		return -errno;
	if (attr.cap.max_inline_data < UINT16_MAX)
		sizes->inline_bytes = (uint16_t)attr.cap.max_inline_data;
	return 0;
}

static int make_send_memory(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;
	const uint32_t ctrl_bytes = ROOST_RS_CTRL_WR * ROOST_RS_SLOT_BYTES;

	ep->send_ring_bytes = st->rs.sizes.send_bytes;
	ep->send_mem = calloc(1, ctrl_bytes + ep->send_ring_bytes);
	if (!ep->send_mem)
		return -ENOMEM;
	ep->send_mr = ibv_reg_mr(st->id->pd, ep->send_mem,
				 ctrl_bytes + ep->send_ring_bytes,
				 IBV_ACCESS_LOCAL_WRITE);
	if (!ep->send_mr)
		return -errno;
	ep->send_ring = ep->send_mem + ctrl_bytes;
	ep->send_free_bytes = ep->send_ring_bytes;
	ep->send_free_wr = st->rs.sizes.send_wr - ROOST_RS_CTRL_WR;
	ep->ctrl_free_wr = ROOST_RS_CTRL_WR;
	return 0;
}

static int make_recv_memory(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;
	const uint32_t slots_bytes = ROOST_RS_SLOTS * ROOST_RS_SLOT_BYTES;
	const uint32_t ring_at = align(
		slots_bytes + st->rs.sizes.nb_iomaps * ROOST_RS_IOMAP_BYTES);
	size_t bytes;
	void *mem;

	ep->recv_ring_bytes = (st->rs.sizes.recv_bytes + 1) & ~1u;
	bytes = (size_t)ring_at + ep->recv_ring_bytes;
	ep->msgs = calloc(st->rs.sizes.recv_wr, sizeof(*ep->msgs));
	if (!ep->msgs ||
	    posix_memalign(&mem, ALIGN_BYTES, align((uint32_t)bytes)) != 0)
		return -ENOMEM;
	memset(mem, 0, bytes);
	ep->recv_mem = mem;
	ep->recv_mr =
		ibv_reg_mr(st->id->pd, mem, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!ep->recv_mr)
		return -errno;
	ep->slots = mem;
	ep->iomaps = (void *)(ep->recv_mem + slots_bytes);
	ep->recv_ring = ep->recv_mem + ring_at;
	/* The hello gives the first half; the second is as good as read. */
	ep->recv_give_at = ep->recv_ring_bytes / 2;
	ep->recv_read_bytes = ep->recv_ring_bytes / 2;
	ep->recv_told = st->rs.sizes.recv_wr / 2;
	return 0;
}

int roost_rs_ep_create(struct roost_rs_stream *st)
{
	int ret = fit(st);

	if (ret == 0)
		ret = make_cq(st);
	if (ret == 0)
		ret = make_qp(st);
	if (ret == 0)
		ret = make_send_memory(st);
	if (ret == 0)
		ret = make_recv_memory(st);
	if (ret == 0)
		ret = roost_rs_ep_post_recv(st, st->rs.sizes.recv_wr);
	if (ret < 0)
		roost_rs_ep_destroy(st);
	return ret;
}

void roost_rs_ep_destroy(struct roost_rs_stream *st)
{
	struct roost_rs_ep *ep = &st->ep;

	if (st->id && st->id->qp)
		rdma_destroy_qp(st->id);
	if (ep->cq)
		ibv_destroy_cq(ep->cq);
	if (ep->channel)
		ibv_destroy_comp_channel(ep->channel);
	if (ep->recv_mr)
		ibv_dereg_mr(ep->recv_mr);
	if (ep->send_mr)
		ibv_dereg_mr(ep->send_mr);
	free(ep->recv_mem);
	free(ep->send_mem);
	free(ep->msgs);
	memset(ep, 0, sizeof(*ep));
}

void roost_rs_ep_hello(const struct roost_rs_stream *st,
		       struct roost_rs_hello *hello)
{
	const struct roost_rs_ep *ep = &st->ep;

	*hello = (struct roost_rs_hello){
		.big_endian = roost_rs_big_endian(),
		.has_iomap = true,
		.credits = st->rs.sizes.recv_wr,
		.nb_iomaps = st->rs.sizes.nb_iomaps,
		.slots_addr = (uintptr_t)ep->slots,
		.slots_key = ep->recv_mr->rkey,
		.nb_slots = ROOST_RS_SLOTS,
		.buf.addr = (uintptr_t)ep->recv_ring,
		.buf.key = ep->recv_mr->rkey,
		.buf.length_bytes = ep->recv_ring_bytes / 2,
	};
}

void roost_rs_ep_meet(struct roost_rs_stream *st,
		      const struct roost_rs_hello *hello)
{
	struct roost_rs_ep *ep = &st->ep;

	ep->buf = hello->buf;
	/* The hello stands for the first slot, on both sides. */
	ep->slot_next = 1;
	ep->peer_slot = 1 % hello->nb_slots;
	ep->send_limit = hello->credits;
	ep->big_endian = hello->big_endian;
	ep->slots_addr = hello->slots_addr;
	ep->slots_key = hello->slots_key;
	ep->nb_slots = hello->nb_slots;
	ep->nb_peer_iomaps = hello->nb_iomaps;
}

int roost_rs_ep_post_recv(struct roost_rs_stream *st, unsigned int nb)
{
	struct ibv_recv_wr wr = { .wr_id =
					  roost_rs_wr_id(ROOST_RS_WR_RECV, 0) };
	struct ibv_recv_wr *bad;
	int ret = 0;

	/* Receives of no bytes: the peer writes the data into the ring. */
	while (nb-- > 0 && ret == 0)
		ret = ibv_post_recv(st->id->qp, &wr, &bad);
	return -ret;
}

int roost_rs_ep_post_write(struct roost_rs_stream *st,
			   const struct roost_rs_write *write)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.wr_id = write->wr_id,
		.sg_list = (struct ibv_sge *)write->sges,
		.num_sge = write->nb_sges,
		.opcode = write->has_msg ? IBV_WR_RDMA_WRITE_WITH_IMM
					 : IBV_WR_RDMA_WRITE,
		.wr.rdma.remote_addr = write->addr,
		.wr.rdma.rkey = write->key,
	};

	if (write->has_msg)
		wr.imm_data = htobe32(write->msg);
	if (write->nb_sges > 0 &&
	    write->length_bytes <= st->rs.sizes.inline_bytes)
		wr.send_flags = IBV_SEND_INLINE;
	return -ibv_post_send(st->id->qp, &wr, &bad);
}
