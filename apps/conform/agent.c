/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/conform/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ibv_modify_qp() and its like return the error. */
static bool done(int err)
{
	if (err != 0)
		errno = err;
	return err == 0;
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	if (list == NULL)
		return NULL;
	errno = ENODEV;
	for (int i = 0; list[i] != NULL && context == NULL; i++) {
		if (name == NULL ||
		    strcmp(name, ibv_get_device_name(list[i])) == 0)
			context = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	return context;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && gid->raw[1] == 0x80;
}

/* Returns the index of the first GID of RoCE v2 that is of that kind; -1: there
 * is none.
 */
static int find_gid(const struct agent *a,
		    bool (*is_of_kind)(const union ibv_gid *gid))
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;

	if (!done(ibv_query_port(a->context, a->port, &port)))
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(a->context, a->port, (uint32_t)i, &entry,
				     0) != 0)
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    is_of_kind(&entry.gid))
			return i;
	}
	errno = EADDRNOTAVAIL;
	return -1;
}

static bool choose_gids(struct agent *a)
{
	if (a->gid_index < 0)
		a->gid_index = find_gid(a, is_ipv4);
	if (a->gid_index < 0 ||
	    ibv_query_gid(a->context, a->port, a->gid_index, &a->gid) != 0)
		return false;
	a->gid6_index = find_gid(a, is_link_local);
	return a->gid6_index < 0 ||
	       ibv_query_gid(a->context, a->port, a->gid6_index, &a->gid6) == 0;
}

bool agent_open(struct agent *a, const char *device, uint8_t port,
		int gid_index)
{
	int flags;

	*a = (struct agent){ .port = port, .gid_index = gid_index };
	a->context = open_named(device);
	if (a->context == NULL)
		return false;
	if (!choose_gids(a))
		return false;
	flags = fcntl(a->context->async_fd, F_GETFL);
	if (fcntl(a->context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return false;
	a->pd = ibv_alloc_pd(a->context);
	return a->pd != NULL;
}

#define INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR                                                                    \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |        \
	 IBV_QP_RQ_PSN)
#define RTS (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* What ibv_modify_qp() needs for each state. */
static const struct mask {
	int init, rtr, rts;
} masks[] = {
	[IBV_QPT_RC] = { INIT | IBV_QP_ACCESS_FLAGS,
			 RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 RTS | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_UC] = { INIT | IBV_QP_ACCESS_FLAGS, RTR, RTS },
	[IBV_QPT_UD] = { INIT | IBV_QP_QKEY, IBV_QP_STATE, RTS },
	[IBV_QPT_XRC_SEND] = { INIT | IBV_QP_ACCESS_FLAGS, RTR,
			       RTS | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY |
				       IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_XRC_RECV] = { INIT | IBV_QP_ACCESS_FLAGS,
			       RTR | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER,
			       RTS },
};

bool agent_knows(enum ibv_qp_type type)
{
	return (size_t)type < sizeof(masks) / sizeof(masks[0]) &&
	       masks[type].init != 0;
}

static bool to_init(struct agent *a, const struct agent_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = a->port,
		.qkey = peer->qkey,
		.qp_access_flags = peer->access,
	};

	return done(ibv_modify_qp(a->qp, &attr, masks[peer->type].init));
}

/* The way to the peer; sgid_index is -1 where the device has no GID for it. */
static struct ibv_ah_attr way_to(const struct agent *a,
				 const union ibv_gid *gid, int *sgid_index)
{
	*sgid_index = is_ipv4(gid) ? a->gid_index : a->gid6_index;
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = a->port,
		.grh = { .dgid = *gid,
			 .sgid_index = (uint8_t)*sgid_index,
			 .hop_limit = 64 },
	};
}

static bool to_rtr(struct agent *a, const struct agent_peer *peer)
{
	int sgid_index;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = peer->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->rq_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = peer->rnr_timer,
		.ah_attr = way_to(a, &peer->gid, &sgid_index),
	};

	if (sgid_index < 0) {
		errno = EADDRNOTAVAIL;
		return false;
	}
	if (peer->type == IBV_QPT_UD) {
		a->ah = ibv_create_ah(a->pd, &attr.ah_attr);
		if (a->ah == NULL)
			return false;
	}
	return done(ibv_modify_qp(a->qp, &attr, masks[peer->type].rtr));
}

bool agent_connect(struct agent *a, const struct agent_peer *peer)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = AGENT_WR_MAX,
			 .max_recv_wr = AGENT_WR_MAX,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = peer->type,
	};

	if (a->qp != NULL) {
		errno = EBUSY;
		return false;
	}
	a->cq = ibv_create_cq(a->context, 2 * AGENT_WR_MAX, NULL, NULL, 0);
	if (a->cq == NULL)
		return false;
	init.send_cq = a->cq;
	init.recv_cq = a->cq;
	a->qp = peer->type < IBV_QPT_XRC_SEND
			? ibv_create_qp(a->pd, &init)
			: agent_xrc_create(&a->xrc, a->pd, &init);
	return a->qp != NULL && to_init(a, peer) && to_rtr(a, peer);
}

bool agent_ready(struct agent *a, const struct agent_sender *sender)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = sender->sq_psn,
		.timeout = sender->timeout,
		.retry_cnt = sender->retry_cnt,
		.rnr_retry = sender->rnr_retry,
		.max_rd_atomic = 1,
	};

	a->timeout = sender->timeout;
	return done(ibv_modify_qp(a->qp, &attr, masks[a->qp->qp_type].rts));
}

bool agent_modify(struct agent *a, struct ibv_qp_attr *attr, int mask)
{
	return done(ibv_modify_qp(a->qp, attr, IBV_QP_STATE | mask));
}

bool agent_rearm(struct agent *a, const union ibv_gid *gid)
{
	int sgid_index;
	struct ibv_qp_attr attr = {
		.alt_ah_attr = way_to(a, gid, &sgid_index),
		.alt_port_num = a->port,
		.alt_timeout = a->timeout,
		.path_mig_state = IBV_MIG_REARM,
	};
	struct ibv_device_attr device;

	if (!done(ibv_query_device(a->context, &device)))
		return false;
	if (sgid_index < 0 ||
	    !(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG)) {
		errno = EOPNOTSUPP;
		return false;
	}
	if (!done(ibv_modify_qp(a->qp, &attr,
				IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE))) {
		/* Linux refuses every second path of RoCE so. */
		if (errno == EINVAL)
			errno = EOPNOTSUPP;
		return false;
	}
	return true;
}

bool agent_migrate(struct agent *a)
{
	struct ibv_qp_attr attr = { .path_mig_state = IBV_MIG_MIGRATED };

	return done(ibv_modify_qp(a->qp, &attr, IBV_QP_PATH_MIG_STATE));
}

bool agent_attach(struct agent *a, const union ibv_gid *group)
{
	if (a->is_member) {
		errno = EBUSY;
		return false;
	}
	a->group = *group;
	a->is_member = done(ibv_attach_mcast(a->qp, group, 0));
	return a->is_member;
}

bool agent_detach(struct agent *a)
{
	a->is_member = false;
	return done(ibv_detach_mcast(a->qp, &a->group, 0));
}

struct agent_mr *agent_register(struct agent *a, size_t bytes,
				unsigned int access)
{
	struct agent_mr *m = &a->mrs[a->nb_mrs];

	if (a->nb_mrs == AGENT_MRS || bytes == 0 || bytes > AGENT_MR_MAX) {
		errno = EINVAL;
		return NULL;
	}
	m->memory = calloc(1, bytes);
	if (m->memory == NULL)
		return NULL;
	m->mr = ibv_reg_mr(a->pd, m->memory, bytes, access);
	if (m->mr == NULL) {
		free(m->memory);
		return NULL;
	}
	m->bytes = bytes;
	a->nb_mrs++;
	return m;
}

bool agent_receive(struct agent *a, const struct agent_mr *m, size_t offset,
		   uint32_t bytes, uint32_t lkey, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)m->memory + offset,
			       .length = bytes,
			       .lkey = lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return done(a->xrc.srq != NULL
			    ? ibv_post_srq_recv(a->xrc.srq, &wr, &bad)
			    : ibv_post_recv(a->qp, &wr, &bad));
}

bool agent_window(struct agent *a)
{
	if (a->mw != NULL) {
		errno = EBUSY;
		return false;
	}
	a->mw = ibv_alloc_mw(a->pd, IBV_MW_TYPE_2);
	return a->mw != NULL;
}

bool agent_bind(struct agent *a, const struct agent_mr *m, size_t offset,
		size_t bytes, unsigned int access)
{
	uint32_t rkey = ibv_inc_rkey(a->mw->rkey);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = a->mw,
			.rkey = rkey,
			.bind_info = { .mr = m->mr,
				       .addr = (uintptr_t)m->memory + offset,
				       .length = bytes,
				       .mw_access_flags = access },
		},
	};

	if (!agent_post(a, &wr))
		return false;
	a->mw->rkey = rkey;
	return true;
}

bool agent_post(struct agent *a, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return done(ibv_post_send(a->qp, wr, &bad));
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int agent_poll(struct agent *a, struct ibv_wc *wc, int ms)
{
	int64_t end_ms = now_ms() + ms;
	int n = ibv_poll_cq(a->cq, 1, wc);

	while (n == 0 && now_ms() < end_ms) {
		poll(NULL, 0, 1);
		n = ibv_poll_cq(a->cq, 1, wc);
	}
	return n < 0 ? -1 : n;
}

int agent_event(struct agent *a, int ms)
{
	struct pollfd fd = { .fd = a->context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, ms) != 1 ||
	    ibv_get_async_event(a->context, &event) != 0)
		return -1;
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

int agent_state(struct agent *a)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!done(ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init)))
		return -1;
	return (int)attr.qp_state;
}

void agent_reset(struct agent *a)
{
	/* A QP in a group is not destroyed: EBUSY. */
	agent_cm_reset(&a->cm);
	if (a->is_member)
		agent_detach(a);
	/* Bound, it holds the QP: Soft-RoCE's destruction waits 10 s for it. */
	if (a->mw != NULL)
		ibv_dealloc_mw(a->mw);
	a->mw = NULL;
	if (a->qp != NULL)
		ibv_destroy_qp(a->qp);
	agent_xrc_reset(&a->xrc);
	if (a->cq != NULL)
		ibv_destroy_cq(a->cq);
	if (a->ah != NULL)
		ibv_destroy_ah(a->ah);
	a->ah = NULL;
	a->qp = NULL;
	a->cq = NULL;
	while (a->nb_mrs > 0) {
		struct agent_mr *m = &a->mrs[--a->nb_mrs];

		ibv_dereg_mr(m->mr);
		free(m->memory);
	}
	while (agent_event(a, 0) >= 0)
		;
}
