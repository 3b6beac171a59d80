/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <poll.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "tests/real/fault/scenes.h"

#define WAIT_MS 1000

struct scene {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qps[2];
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	union ibv_gid gid;
	uint64_t memory[2];
};

static bool open_first(struct scene *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list)
		return false;
	s->context = list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	return s->context && ibv_query_gid(s->context, 1, 1, &s->gid) == 0;
}

static bool create(struct scene *s)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4,
						   .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_ah_attr ah = {
		.grh = { .dgid = s->gid, .sgid_index = 1, .hop_limit = 1 },
		.is_global = 1,
		.port_num = 1,
	};

	s->pd = ibv_alloc_pd(s->context);
	s->channel = ibv_create_comp_channel(s->context);
	if (!s->pd || !s->channel)
		return false;
	s->cq = ibv_create_cq(s->context, 16, NULL, s->channel, 0);
	s->srq = ibv_create_srq(s->pd, &srq);
	s->mr = ibv_reg_mr(s->pd, s->memory, sizeof(s->memory),
			   IBV_ACCESS_LOCAL_WRITE);
	s->ah = ibv_create_ah(s->pd, &ah);
	init.send_cq = init.recv_cq = s->cq;
	for (int i = 0; s->cq && i < 2; i++)
		s->qps[i] = ibv_create_qp(s->pd, &init);
	return s->cq && s->srq && s->mr && s->ah && s->qps[0] && s->qps[1];
}

static bool connect_qp(struct scene *s, struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .grh = { .dgid = s->gid,
				      .sgid_index = 1,
				      .hop_limit = 1 },
			     .is_global = 1,
			     .port_num = 1 },
	};

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* By events, to its end. Returns how many were good, of two. */
static int complete(struct scene *s)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_wc wc[2];
	struct ibv_cq *cq;
	void *context;
	int nb = 0, good = 0, n;

	for (int i = 0; nb < 2 && i < 4; i++) {
		if (ibv_req_notify_cq(s->cq, 0))
			return good;
		while ((n = ibv_poll_cq(s->cq, 2, wc)) > 0) {
			for (int k = 0; k < n; k++)
				good += wc[k].status == IBV_WC_SUCCESS;
			nb += n;
		}
		if (nb < 2 && poll(&fd, 1, WAIT_MS) == 1 &&
		    ibv_get_cq_event(s->channel, &cq, &context) == 0)
			ibv_ack_cq_events(cq, 1);
	}
	return good;
}

static bool talk(struct scene *s)
{
	struct ibv_sge sges[2];
	struct ibv_recv_wr *bad_recv,
		recv = { .sg_list = &sges[1], .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = { .sg_list = &sges[0],
					       .num_sge = 1,
					       .opcode = IBV_WR_SEND };

	for (int i = 0; i < 2; i++)
		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)&s->memory[i],
			.length = sizeof(s->memory[i]),
			.lkey = s->mr->lkey,
		};
	s->memory[0] = 20260101;
	return connect_qp(s, s->qps[0], s->qps[1]->qp_num) &&
	       connect_qp(s, s->qps[1], s->qps[0]->qp_num) &&
	       ibv_post_recv(s->qps[1], &recv, &bad_recv) == 0 &&
	       ibv_post_send(s->qps[0], &send, &bad_send) == 0 &&
	       complete(s) == 2 && s->memory[1] == s->memory[0];
}

/* Each of these may be refused, but only where there is nothing to destroy. */
static bool end(struct scene *s)
{
	bool good = true;

	for (int i = 0; i < 2; i++)
		good &= !s->qps[i] || ibv_destroy_qp(s->qps[i]) == 0;
	good &= !s->ah || ibv_destroy_ah(s->ah) == 0;
	good &= !s->mr || ibv_dereg_mr(s->mr) == 0;
	good &= !s->srq || ibv_destroy_srq(s->srq) == 0;
	good &= !s->cq || ibv_destroy_cq(s->cq) == 0;
	good &= !s->channel || ibv_destroy_comp_channel(s->channel) == 0;
	good &= !s->pd || ibv_dealloc_pd(s->pd) == 0;
	good &= !s->context || ibv_close_device(s->context) == 0;
	return good;
}

bool scene_verbs(const char *address)
{
	struct scene s = { 0 };
	bool good = open_first(&s) && create(&s) && talk(&s);

	(void)address;
	return end(&s) && good;
}
