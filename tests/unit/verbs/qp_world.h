/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_QP_WORLD_H
#define ROOST_TEST_VERBS_QP_WORLD_H

/*
 * What a QP needs in a test: roost0, a PD, two CQs; and an RC QP's attributes.
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *scq, *rcq;

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	scq = ibv_create_cq(c, 1, NULL, NULL, 0);
	rcq = ibv_create_cq(c, 1, NULL, NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	ibv_destroy_cq(rcq);
	ibv_destroy_cq(scq);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static struct ibv_qp_init_attr rc_attr(void)
{
	return (struct ibv_qp_init_attr){
		.qp_context = &scq,
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = {
			.max_send_wr = 10,
			.max_recv_wr = 20,
			.max_send_sge = 3,
			.max_recv_sge = 4,
			.max_inline_data = 5,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

#endif
