/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/real/user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void user_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

int user_to_init(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

int user_to_rtr(struct ibv_qp *qp, uint32_t dest_qpn,
		const struct ibv_ah_attr *ah, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = *ah,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

int user_to_rts(struct ibv_qp *qp, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = psn,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

void user_connect_to(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t qpn)
{
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.grh = { .dgid = *gid, .sgid_index = 1, .hop_limit = 64 },
		.port_num = 1,
	};

	user_check(user_to_rtr(qp, qpn, &ah, 1) == 0 && user_to_rts(qp, 1) == 0,
		   "connect");
}

void user_join(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };

	ah.grh.hop_limit = 1;
	user_check(ibv_query_gid(qp->context, 1, 0, &ah.grh.dgid) == 0,
		   "ibv_query_gid");
	user_check(user_to_rtr(qp, peer->qp_num, &ah, 7) == 0, "RTR");
	user_check(user_to_rts(qp, 7) == 0, "RTS");
}

void user_open(struct user_end *end, bool with_channel)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);

	user_check(list && list[0], "ibv_get_device_list");
	end->ctx = ibv_open_device(list[0]);
	user_check(end->ctx != NULL, "ibv_open_device");
	end->pd = ibv_alloc_pd(end->ctx);
	user_check(end->pd != NULL, "ibv_alloc_pd");
	end->channel = NULL;
	if (with_channel) {
		end->channel = ibv_create_comp_channel(end->ctx);
		user_check(end->channel != NULL, "ibv_create_comp_channel");
	}
	end->cq = ibv_create_cq(end->ctx, 8, NULL, end->channel, 0);
	user_check(end->cq != NULL, "ibv_create_cq");
	attr.send_cq = attr.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &attr);
	user_check(end->qp != NULL, "ibv_create_qp");
	ibv_free_device_list(list);
}

void user_close(struct user_end *end, struct ibv_mr *mr)
{
	user_check(ibv_destroy_qp(end->qp) == 0 && ibv_dereg_mr(mr) == 0 &&
			   ibv_destroy_cq(end->cq) == 0 &&
			   (!end->channel ||
			    ibv_destroy_comp_channel(end->channel) == 0) &&
			   ibv_dealloc_pd(end->pd) == 0 &&
			   ibv_close_device(end->ctx) == 0,
		   "close");
}
