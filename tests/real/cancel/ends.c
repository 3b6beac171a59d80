/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A pair of QPs, and an 8-byte WRITE from one to the other. */

#include <string.h>

#include "tests/real/cancel/cancel.h"

struct cancel_end cancel_ends[2];
static uint64_t memory[2];

static void find_gid(struct cancel_end *end)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (end->gid_index = 0;; end->gid_index++) {
		cancel_check(ibv_query_gid(end->context, 1, end->gid_index,
					   &end->gid) == 0,
			     "a port without an IPv4 address");
		if (memcmp(&end->gid, mapped, sizeof(mapped)) == 0)
			return;
	}
}

struct ibv_qp *cancel_new_qp(struct cancel_end *end)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = CANCEL_DEPTH,
			 .max_recv_wr = CANCEL_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	return ibv_create_qp(end->pd, &init);
}

static void open_end(struct cancel_end *end, struct ibv_device *device,
		     int number)
{
	end->context = ibv_open_device(device);
	cancel_check(end->context, "ibv_open_device");
	find_gid(end);
	end->pd = ibv_alloc_pd(end->context);
	cancel_check(end->pd, "ibv_alloc_pd");
	end->channel = ibv_create_comp_channel(end->context);
	cancel_check(end->channel, "ibv_create_comp_channel");
	end->cq = ibv_create_cq(end->context, 4 * CANCEL_DEPTH, NULL,
				end->channel, 0);
	cancel_check(end->cq, "ibv_create_cq");
	end->mr = ibv_reg_mr(end->pd, &memory[number], sizeof(memory[number]),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	cancel_check(end->mr, "ibv_reg_mr");
	end->qp = cancel_new_qp(end);
	cancel_check(end->qp, "ibv_create_qp");
}

int cancel_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

int cancel_to_rts(struct ibv_qp *qp, const struct cancel_end *from,
		  const struct cancel_end *to, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .grh = { .dgid = to->gid,
				      .sgid_index = (uint8_t)from->gid_index,
				      .hop_limit = 2 },
			     .is_global = 1,
			     .port_num = 1 },
	};
	int ret = ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER);

	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 16;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	return ret ? ret
		   : ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

/* From cancel_ends[0] to cancel_ends[1]. */
int cancel_post_write(struct ibv_qp *qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&memory[0],
			       .length = sizeof(memory[0]),
			       .lkey = cancel_ends[0].mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)&memory[1],
			     .rkey = cancel_ends[1].mr->rkey },
	};

	return ibv_post_send(qp, &wr, &bad);
}

static void connect_ends(void)
{
	for (int i = 0; i < 2; i++)
		cancel_check(cancel_to_init(cancel_ends[i].qp) == 0, "to INIT");
	for (int i = 0; i < 2; i++)
		cancel_check(cancel_to_rts(cancel_ends[i].qp, &cancel_ends[i],
					   &cancel_ends[1 - i],
					   cancel_ends[1 - i].qp->qp_num) == 0,
			     "to RTS");
}

static void close_end(struct cancel_end *end)
{
	cancel_check(ibv_destroy_qp(end->qp) == 0, "ibv_destroy_qp");
	cancel_check(ibv_dereg_mr(end->mr) == 0, "ibv_dereg_mr");
	cancel_check(ibv_destroy_cq(end->cq) == 0, "ibv_destroy_cq");
	cancel_check(ibv_destroy_comp_channel(end->channel) == 0,
		     "ibv_destroy_comp_channel");
	cancel_check(ibv_dealloc_pd(end->pd) == 0, "ibv_dealloc_pd");
	cancel_check(ibv_close_device(end->context) == 0, "ibv_close_device");
}

void cancel_open_ends(void)
{
	struct ibv_device **list;
	int nb;

	list = ibv_get_device_list(&nb);
	cancel_check(list && nb > 0, "ibv_get_device_list");
	open_end(&cancel_ends[0], list[0], 0);
	open_end(&cancel_ends[1], list[nb - 1], 1);
	ibv_free_device_list(list);
	connect_ends();
}

void cancel_close_ends(void)
{
	close_end(&cancel_ends[0]);
	close_end(&cancel_ends[1]);
}
