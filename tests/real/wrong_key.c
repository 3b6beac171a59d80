/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Two RC QPs of one device; one WRITEs with a key that the other has not given
 * out. What it is told goes to stdout; it stays until it is killed, so that
 * somebody can look at what is left.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/real/user.h"

#define WRONG_KEY 0x12345678u

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	user_check(qp != NULL, "ibv_create_qp");
	user_check(user_to_init(qp, IBV_ACCESS_REMOTE_WRITE) == 0, "INIT");
	return qp;
}

/* The address is not in the region either. */
static void write_with_wrong_key(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = 8,
			       .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = 0x1000, .rkey = WRONG_KEY },
	};
	struct ibv_send_wr *bad;

	user_check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

static void take(struct ibv_cq *cq, const struct ibv_qp *failed)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	user_check(n == 1, "ibv_poll_cq");
	printf("%s status %d vendor_err 0x%02x\n",
	       wc.qp_num == failed->qp_num ? "requester" : "responder",
	       wc.status, wc.vendor_err);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad;
	struct ibv_context *context;
	static char memory[4096];
	struct ibv_qp *a, *b;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;

	user_check(list != NULL && list[0] != NULL, "no device");
	context = ibv_open_device(list[0]);
	user_check(context != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	user_check(pd != NULL && cq != NULL, "PD and CQ");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	user_check(mr != NULL, "ibv_reg_mr");
	a = make_qp(pd, cq);
	b = make_qp(pd, cq);
	user_join(a, b);
	user_join(b, a);
	user_check(ibv_post_recv(b, &recv, &bad) == 0, "ibv_post_recv");
	write_with_wrong_key(a, mr);
	for (int i = 0; i < 2; i++)
		take(cq, a);
	printf("requester 0x%x responder 0x%x\n", a->qp_num, b->qp_num);
	fflush(stdout);
	for (;;)
		pause();
}
