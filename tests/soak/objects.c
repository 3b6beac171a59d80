/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/soak/objects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
/* 1 s and 7 retries, and 268 ms before a path is given up. */
#define TIMEOUT 18
#define MIGRATE_TIMEOUT 16

static const enum ibv_qp_type types[KIND_COUNT][2] = {
	/* client, server */
	[KIND_RC] = { IBV_QPT_RC, IBV_QPT_RC },
	[KIND_MIGRATE] = { IBV_QPT_RC, IBV_QPT_RC },
	[KIND_UC] = { IBV_QPT_UC, IBV_QPT_UC },
	[KIND_UD] = { IBV_QPT_UD, IBV_QPT_UD },
	[KIND_XRC] = { IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV },
};

/* ---- receives ------------------------------------------------------------ */

uint8_t *slot_at(struct session *s, unsigned int slot)
{
	return s->buf + SOAK_RECEIVES + slot * SOAK_SLOT_BYTES;
}

bool slot_post(struct session *s, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)slot_at(s, slot), SOAK_SLOT_BYTES,
			       s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	switch (slot_kind(slot)) {
	case KIND_RC:
	case KIND_MIGRATE:
		return ibv_post_srq_recv(s->srq, &wr, &bad) == 0;
	case KIND_XRC:
		return !s->xrc_srq ||
		       ibv_post_srq_recv(s->xrc_srq, &wr, &bad) == 0;
	case KIND_UC:
	case KIND_UD:
	case KIND_COUNT:
		break;
	}
	return ibv_post_recv(s->qps[slot_kind(slot)], &wr, &bad) == 0;
}

static bool post_slots(struct session *s)
{
	for (unsigned int i = 0; i < KIND_COUNT * SOAK_SLOTS; i++)
		if (slot_kind(i) == KIND_MIGRATE || s->qps[slot_kind(i)])
			if (!slot_post(s, i))
				return false;
	return true;
}

bool objects_sleep(struct session *s, int ms)
{
	struct pollfd pollfd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&pollfd, 1, ms) != 1 ||
	    ibv_get_cq_event(s->channel, &cq, &context) != 0)
		return false;
	ibv_ack_cq_events(cq, 1);
	/* What came before the CQ is armed is polled behind it. */
	return ibv_req_notify_cq(cq, 0) == 0;
}

/* ---- addresses ----------------------------------------------------------- */

static void ip_to_gid(const uint8_t ip[4], union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, ip, 4);
}

/* The first IPv4 address. Returns its place, or -1. */
static int own_gid(struct session *s, uint8_t port, union ibv_gid *gid)
{
	union ibv_gid mapped;

	for (int i = 0; ibv_query_gid(s->id->verbs, port, i, gid) == 0; i++) {
		ip_to_gid(gid->raw + 12, &mapped);
		if (memcmp(&mapped, gid, sizeof(mapped)) == 0)
			return i;
	}
	return -1;
}

static bool address_to(struct session *s, uint8_t port, const uint8_t ip[4],
		       struct ibv_ah_attr *ah)
{
	union ibv_gid mine;
	const int index = own_gid(s, port, &mine);

	*ah = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = port,
		.grh = { .sgid_index = (uint8_t)index, .hop_limit = 64 },
	};
	ip_to_gid(ip, &ah->grh.dgid);
	return index >= 0;
}

static const uint8_t *peer_ip(struct session *s)
{
	const struct sockaddr_in *in = (void *)rdma_get_peer_addr(s->id);

	return (const uint8_t *)&in->sin_addr;
}

/* 239.1.x.y, of the server's UD QP. */
static void group_ip(struct session *s, uint8_t ip[4])
{
	ip[0] = 239;
	ip[1] = 1;
	ip[2] = (uint8_t)(s->group_qpn >> 8);
	ip[3] = (uint8_t)s->group_qpn;
}

/* ---- making -------------------------------------------------------------- */

static bool make_xrc(struct session *s)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = SOAK_SLOTS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.cq = s->cq,
	};
	uint32_t number;

	s->xrcd = ibv_open_xrcd(s->id->verbs, &domain);
	attr.xrcd = s->xrcd;
	s->xrc_srq = s->xrcd ? ibv_create_srq_ex(s->id->verbs, &attr) : NULL;
	if (!s->xrc_srq || ibv_get_srq_num(s->xrc_srq, &number) != 0)
		return false;
	s->mine.srqn_be = htonl(number);
	return true;
}

static bool to_init(struct session *s, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = s->id->port_num,
				    .qkey = SOAK_QKEY,
				    .qp_access_flags = ACCESS };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (qp->qp_type == IBV_QPT_UD
					      ? IBV_QP_QKEY
					      : IBV_QP_ACCESS_FLAGS)) == 0;
}

static bool make_qp(struct session *s, enum kind kind)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = SOAK_SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = types[kind][s->is_server],
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s->pd,
	};

	if (attr.qp_type == IBV_QPT_RC)
		attr.srq = s->srq;
	if (attr.qp_type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = s->xrcd;
	}
	if (kind == KIND_RC) {
		if (rdma_create_qp_ex(s->id, &attr) != 0)
			return false;
		s->qps[kind] = s->id->qp;
	} else {
		s->qps[kind] = ibv_create_qp_ex(s->id->verbs, &attr);
		if (!s->qps[kind] || !to_init(s, s->qps[kind]))
			return false;
	}
	s->mine.qpns_be[kind] = htonl(s->qps[kind]->qp_num);
	return true;
}

static bool make_queues(struct session *s)
{
	struct ibv_context *context = s->id->verbs;
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 2 * SOAK_SLOTS,
						   .max_sge = 1 } };

	s->pd = ibv_alloc_pd(context);
	s->channel = ibv_create_comp_channel(context);
	s->buf = calloc(1, SOAK_BYTES);
	if (!s->pd || !s->channel || !s->buf)
		return false;
	s->cq = ibv_create_cq(context, 256, s, s->channel, 0);
	s->srq = ibv_create_srq(s->pd, &srq);
	s->mr = ibv_reg_mr(s->pd, s->buf, SOAK_BYTES, ACCESS);
	return s->cq && s->srq && s->mr && ibv_req_notify_cq(s->cq, 0) == 0;
}

static void fill_card(struct session *s)
{
	struct ibv_device_attr attr;
	union ibv_gid gid;

	s->mine.addr_be = htobe64((uintptr_t)s->buf);
	s->mine.rkey_be = htonl(s->mr->rkey);
	if (ibv_query_device(s->id->verbs, &attr) == 0 &&
	    attr.phys_port_cnt > 1 && own_gid(s, 2, &gid) >= 0)
		memcpy(s->mine.second_ip_be, gid.raw + 12, 4);
}

bool session_open(struct session *s, bool plain)
{
	if (!make_queues(s))
		return false;
	fill_card(s);
	if (s->is_server && !plain && !make_xrc(s))
		return false;
	for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
		if (kind == KIND_MIGRATE && !s->mine.second_ip_be[0])
			continue;
		if ((kind == KIND_RC || !plain) && !make_qp(s, kind))
			return false;
	}
	return post_slots(s);
}

/* ---- connecting ---------------------------------------------------------- */

static bool connect_one(struct session *s, enum kind kind)
{
	struct ibv_qp *qp = s->qps[kind];
	const bool ud = kind == KIND_UD, rc = kind != KIND_UC && !ud;
	const bool armed = kind == KIND_MIGRATE;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = ntohl(s->peer.qpns_be[kind]),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.alt_port_num = 2,
		.alt_timeout = MIGRATE_TIMEOUT,
	};

	if (!address_to(s, s->id->port_num, peer_ip(s), &attr.ah_attr) ||
	    (armed &&
	     !address_to(s, 2, s->peer.second_ip_be, &attr.alt_ah_attr)))
		return false;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE |
				  (ud ? 0
				      : IBV_QP_AV | IBV_QP_PATH_MTU |
						   IBV_QP_DEST_QPN |
						   IBV_QP_RQ_PSN) |
				  (rc ? IBV_QP_MAX_DEST_RD_ATOMIC |
						   IBV_QP_MIN_RNR_TIMER
				      : 0) |
				  (armed ? IBV_QP_ALT_PATH : 0)) != 0)
		return false;
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout =
					     armed ? MIGRATE_TIMEOUT : TIMEOUT,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1,
				     .path_mig_state = IBV_MIG_REARM };
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN |
				     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						      IBV_QP_RNR_RETRY |
						      IBV_QP_MAX_QP_RD_ATOMIC
					 : 0) |
				     (armed ? IBV_QP_PATH_MIG_STATE : 0)) == 0;
}

static bool connect_group(struct session *s)
{
	struct ibv_ah_attr ah;
	uint8_t ip[4];

	s->group_qpn =
		ntohl((s->is_server ? s->mine : s->peer).qpns_be[KIND_UD]);
	group_ip(s, ip);
	if (!address_to(s, s->id->port_num, ip, &ah))
		return false;
	if (s->is_server)
		return ibv_attach_mcast(s->qps[KIND_UD], &ah.grh.dgid, 0) == 0;
	s->group_ah = ibv_create_ah(s->pd, &ah);
	return s->group_ah != NULL;
}

bool session_meet(struct session *s, const void *private_data, size_t len)
{
	struct ibv_ah_attr ah;

	if (len < sizeof(s->peer))
		return false;
	memcpy(&s->peer, private_data, sizeof(s->peer));
	for (enum kind kind = KIND_RC + 1; kind < KIND_COUNT; kind++)
		if (s->qps[kind] && !connect_one(s, kind))
			return false;
	if (!s->qps[KIND_UD])
		return true;
	if (!address_to(s, s->id->port_num, peer_ip(s), &ah))
		return false;
	s->ah = ibv_create_ah(s->pd, &ah);
	return s->ah && connect_group(s);
}

/* ---- the end ------------------------------------------------------------- */

static void must_end(const char *what, int rc)
{
	if (rc == 0)
		return;
	fprintf(stderr, "soak: %s: %s\n", what, strerror(rc));
	exit(1);
}

static void leave_group(struct session *s)
{
	union ibv_gid gid;
	uint8_t ip[4];

	group_ip(s, ip);
	ip_to_gid(ip, &gid);
	if (s->is_server && s->group_qpn && s->qps[KIND_UD])
		(void)ibv_detach_mcast(s->qps[KIND_UD], &gid, 0);
}

void session_close(struct session *s)
{
	leave_group(s);
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	for (enum kind kind = KIND_RC + 1; kind < KIND_COUNT; kind++)
		if (s->qps[kind])
			must_end("ibv_destroy_qp",
				 ibv_destroy_qp(s->qps[kind]));
	if (s->ah)
		must_end("ibv_destroy_ah", ibv_destroy_ah(s->ah));
	if (s->group_ah)
		must_end("ibv_destroy_ah", ibv_destroy_ah(s->group_ah));
	if (s->xrc_srq)
		must_end("ibv_destroy_srq", ibv_destroy_srq(s->xrc_srq));
	if (s->xrcd)
		must_end("ibv_close_xrcd", ibv_close_xrcd(s->xrcd));
	if (s->srq)
		must_end("ibv_destroy_srq", ibv_destroy_srq(s->srq));
	if (s->cq)
		must_end("ibv_destroy_cq", ibv_destroy_cq(s->cq));
	if (s->channel)
		must_end("ibv_destroy_comp_channel",
			 ibv_destroy_comp_channel(s->channel));
	if (s->mr)
		must_end("ibv_dereg_mr", ibv_dereg_mr(s->mr));
	if (s->pd)
		must_end("ibv_dealloc_pd", ibv_dealloc_pd(s->pd));
	free(s->buf);
	if (s->id)
		must_end("rdma_destroy_id", rdma_destroy_id(s->id));
}
