/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The UD QP of a local address, and its buffers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "cm/rsocket/dgram.h"
#include "cm/rsocket/stream.h" /* the cursor */

#define RECV_BYTES (ROOST_RS_GRH_BYTES + ROOST_RS_DGRAM_BYTES)

/* Limit the numbers of requests to max_wr and to the configured buffer sizes.
 */
static void fit(struct roost_rs_dgram *dg, uint32_t max_wr)
{
	struct roost_rs_sizes *sizes = &dg->rs.sizes;
	uint32_t send_wr = sizes->send_bytes / ROOST_RS_DGRAM_BYTES;
	uint32_t recv_wr = sizes->recv_bytes / ROOST_RS_DGRAM_BYTES;

	if (send_wr < sizes->send_wr)
		sizes->send_wr = (uint16_t)(send_wr > 0 ? send_wr : 1);
	if (recv_wr < sizes->recv_wr)
		sizes->recv_wr = (uint16_t)(recv_wr > 0 ? recv_wr : 1);
	if (sizes->send_wr > max_wr)
		sizes->send_wr = (uint16_t)max_wr;
	if (sizes->recv_wr > max_wr)
		sizes->recv_wr = (uint16_t)max_wr;
}

static int bind_id(struct roost_rs_uqp *uqp,
		   const struct sockaddr_storage *local)
{
	struct sockaddr_storage addr = *local;

	/* Only to find the device: the rsocket's port is in the headers. */
	roost_rs_port_set(&addr, 0);
	if (rdma_create_id(roost_rs_service_channel(), &uqp->id, &uqp->cm,
			   RDMA_PS_UDP) != 0) {
		uqp->id = NULL;
		return -errno;
	}
	if (rdma_bind_addr(uqp->id, (struct sockaddr *)&addr) != 0)
		return -errno;
	return uqp->id->verbs != NULL ? 0 : -ENODEV;
}

static int make_qp(struct roost_rs_dgram *dg, struct roost_rs_uqp *uqp)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = uqp };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .sq_sig_all = 1 };
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	uint32_t mtu;

	if (ibv_query_device(uqp->id->verbs, &device) != 0 ||
	    ibv_query_port(uqp->id->verbs, uqp->id->port_num, &port) != 0)
		return -ENODEV;
	fit(dg, (uint32_t)device.max_qp_wr);
	mtu = 128u << port.active_mtu;
	uqp->max_bytes =
		mtu < ROOST_RS_DGRAM_BYTES ? mtu : ROOST_RS_DGRAM_BYTES;
	uqp->channel = ibv_create_comp_channel(uqp->id->verbs);
	if (!uqp->channel || fcntl(uqp->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	uqp->cq = ibv_create_cq(uqp->id->verbs,
				dg->rs.sizes.send_wr + dg->rs.sizes.recv_wr,
				uqp, uqp->channel, 0);
	if (!uqp->cq)
		return -errno;
	attr.send_cq = uqp->cq;
	attr.recv_cq = uqp->cq;
	attr.cap.max_send_wr = dg->rs.sizes.send_wr;
	attr.cap.max_recv_wr = dg->rs.sizes.recv_wr;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	attr.cap.max_inline_data = dg->rs.sizes.inline_bytes;
	if (rdma_create_qp(uqp->id, NULL, &attr) != 0)
		return -errno;
	dg->rs.sizes.inline_bytes = (uint16_t)attr.cap.max_inline_data;
	return epoll_ctl(dg->epoll_fd, EPOLL_CTL_ADD, uqp->channel->fd,
			 &event) == 0
		       ? 0
		       : -errno;
}

static int make_memory(struct roost_rs_dgram *dg, struct roost_rs_uqp *uqp)
{
	const uint32_t nb_send = dg->rs.sizes.send_wr;
	const uint32_t nb_recv = dg->rs.sizes.recv_wr;

	uqp->send_mem = calloc(nb_send, ROOST_RS_DGRAM_BYTES);
	uqp->recv_mem = calloc(nb_recv, RECV_BYTES);
	uqp->send_free = calloc(nb_send, sizeof(*uqp->send_free));
	uqp->msgs = calloc(nb_recv, sizeof(*uqp->msgs));
	if (!uqp->send_mem || !uqp->recv_mem || !uqp->send_free || !uqp->msgs)
		return -ENOMEM;
	uqp->send_mr = ibv_reg_mr(uqp->id->pd, uqp->send_mem,
				  (size_t)nb_send * ROOST_RS_DGRAM_BYTES,
				  IBV_ACCESS_LOCAL_WRITE);
	if (!uqp->send_mr)
		return -errno;
	uqp->recv_mr = ibv_reg_mr(uqp->id->pd, uqp->recv_mem,
				  (size_t)nb_recv * RECV_BYTES,
				  IBV_ACCESS_LOCAL_WRITE);
	if (!uqp->recv_mr)
		return -errno;
	for (uint32_t i = 0; i < nb_send; i++)
		uqp->send_free[uqp->nb_send_free++] = i;
	for (uint32_t i = 0; i < nb_recv; i++) {
		int ret;

		uqp->msgs[i].uqp = uqp;
		uqp->msgs[i].index = i;
		ret = roost_rs_uqp_post_recv(uqp, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static struct roost_rs_after ignore(struct roost_rs_cm *cm,
				    const struct rdma_cm_event *event)
{
	(void)cm;
	(void)event;
	return (struct roost_rs_after){ NULL, NULL };
}

int roost_rs_uqp_get(struct roost_rs_dgram *dg,
		     const struct sockaddr_storage *local,
		     struct roost_rs_uqp **out)
{
	struct roost_rs_uqp *uqp;
	int ret;

	LIST_FOREACH(uqp, &dg->uqps, link) {
		if (roost_rs_addr_equal(&uqp->local, local, false)) {
			*out = uqp;
			return 0;
		}
	}
	uqp = calloc(1, sizeof(*uqp));
	if (!uqp)
		return -ENOMEM;
	uqp->cm.rs = &dg->rs;
	uqp->cm.event = ignore;
	uqp->local = *local;
	roost_rs_port_set(&uqp->local, roost_rs_port(&dg->local));
	ret = bind_id(uqp, local);
	if (ret == 0)
		ret = make_qp(dg, uqp);
	if (ret == 0)
		ret = make_memory(dg, uqp);
	if (ret < 0) {
		roost_rs_uqp_free(uqp);
		return ret;
	}
	LIST_INSERT_HEAD(&dg->uqps, uqp, link);
	/* Waiting threads have to arm the new QP's CQ, too. */
	roost_rs_notify(&dg->rs);
	*out = uqp;
	return 0;
}

void roost_rs_uqp_free(struct roost_rs_uqp *uqp)
{
	if (uqp->id && uqp->id->qp)
		rdma_destroy_qp(uqp->id);
	if (uqp->cq)
		ibv_destroy_cq(uqp->cq);
	if (uqp->channel)
		ibv_destroy_comp_channel(uqp->channel);
	if (uqp->recv_mr)
		ibv_dereg_mr(uqp->recv_mr);
	if (uqp->send_mr)
		ibv_dereg_mr(uqp->send_mr);
	if (uqp->id)
		rdma_destroy_id(uqp->id);
	free(uqp->msgs);
	free(uqp->send_free);
	free(uqp->recv_mem);
	free(uqp->send_mem);
	free(uqp);
}

int roost_rs_uqp_post_recv(struct roost_rs_uqp *uqp, uint32_t index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)uqp->recv_mem + (size_t)index * RECV_BYTES,
		.length = RECV_BYTES,
		.lkey = uqp->recv_mr->lkey,
	};
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr wr = {
		.wr_id = roost_rs_wr_id(ROOST_RS_WR_RECV, index),
		.sg_list = &sge,
		.num_sge = 1,
	};

	uqp->msgs[index].data = (uint8_t *)(uintptr_t)sge.addr;
	return -ibv_post_recv(uqp->id->qp, &wr, &bad);
}

ssize_t roost_rs_uqp_send(struct roost_rs_uqp *uqp,
			  const struct roost_rs_dest *dest,
			  const struct iovec *iov, int nb_iov)
{
	const uint32_t index = uqp->send_free[uqp->nb_send_free - 1];
	const size_t bytes = roost_rs_iov_bytes(iov, nb_iov);
	uint8_t *buf = uqp->send_mem + (size_t)index * ROOST_RS_DGRAM_BYTES;
	struct roost_rs_cursor cursor = { .iov = iov, .nb_iov = nb_iov };
	struct ibv_sge sge = { .addr = (uintptr_t)buf,
			       .lkey = uqp->send_mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.wr_id = roost_rs_wr_id(ROOST_RS_WR_DATA, index),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud.ah = dest->ah,
		.wr.ud.remote_qpn = dest->qpn,
		.wr.ud.remote_qkey = RDMA_UDP_QKEY,
	};
	size_t header;
	int ret;

	header = roost_rs_dgram_put(buf, (struct sockaddr *)&uqp->local);
	if (header + bytes > uqp->max_bytes)
		return -EMSGSIZE;
	roost_rs_cursor_read(&cursor, buf + header, bytes);
	sge.length = (uint32_t)(header + bytes);
	if (sge.length <= roost_rs_dgram(uqp->cm.rs)->rs.sizes.inline_bytes)
		wr.send_flags = IBV_SEND_INLINE;
	ret = ibv_post_send(uqp->id->qp, &wr, &bad);
	if (ret)
		return -ret;
	uqp->nb_send_free--;
	return (ssize_t)bytes;
}
