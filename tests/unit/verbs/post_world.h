/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_POST_WORLD_H
#define ROOST_TEST_VERBS_POST_WORLD_H

/*
 * A program's objects on the real engine, and QPs in any state: what the tests
 * of posting share. Included by one file of a test program.
 */

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "real_engine.h"
#include "tests/cmocka.h"

#define NB(a) (sizeof(a) / sizeof((a)[0]))

/* What the queues of the tests hold. Powers of two, as they really are. */
#define WRS 8
#define SGES 2
#define INLINE_MAX 64

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_xrcd *xrcd;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static struct ibv_mw *mw1, *mw2;
static uint8_t memory[4096];

static struct ibv_ah_attr address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	const struct roost_gid gid = REAL_ENGINE_GID;

	memcpy(attr.grh.dgid.raw, gid.b, sizeof(gid.b));
	return attr;
}

static int setup(void **state)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = WRS, .max_sge = SGES },
	};
	struct ibv_ah_attr ah_attr = address();
	struct ibv_device **list = ibv_get_device_list(NULL);

	c = ibv_open_device(list[0]);
	assert_non_null(c);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(c);
	cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	srq = ibv_create_srq(pd, &srq_attr);
	xrcd = ibv_open_xrcd(c, &xrcd_attr);
	ah = ibv_create_ah(pd, &ah_attr);
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw1 = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	mw2 = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	assert_non_null(srq);
	assert_non_null(xrcd);
	assert_non_null(ah);
	assert_non_null(mr);
	assert_non_null(mw1);
	assert_non_null(mw2);
	return 0;
}

/* Also: everything can be ended. */
static int teardown(void **state)
{
	assert_int_equal(ibv_dealloc_mw(mw2), 0);
	assert_int_equal(ibv_dealloc_mw(mw1), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(c), 0);
	return 0;
}

/* ---- QPs ------------------------------------------------------------------
 */

static struct ibv_qp *create(enum ibv_qp_type type, struct ibv_srq *with)
{
	const bool xrc = type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = with,
		.cap = {
			.max_send_wr = WRS,
			.max_recv_wr = WRS,
			.max_send_sge = SGES,
			.max_recv_sge = SGES,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp;

	if (xrc)
		attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	else
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	qp = ibv_create_qp_ex(c, &attr);
	assert_non_null(qp);
	return qp;
}

#define CONNECTED                                                              \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESPONDER (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define REQUESTER                                                              \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* What each type needs on its way up. */
static const struct {
	enum ibv_qp_type type;
	int init, rtr, rts;
} ways[] = {
	{ IBV_QPT_RC, IBV_QP_ACCESS_FLAGS, CONNECTED | RESPONDER,
	  REQUESTER | IBV_QP_SQ_PSN },
	{ IBV_QPT_UC, IBV_QP_ACCESS_FLAGS, CONNECTED, IBV_QP_SQ_PSN },
	{ IBV_QPT_UD, IBV_QP_QKEY, 0, IBV_QP_SQ_PSN },
	{ IBV_QPT_XRC_SEND, IBV_QP_ACCESS_FLAGS, CONNECTED,
	  REQUESTER | IBV_QP_SQ_PSN },
	{ IBV_QPT_XRC_RECV, IBV_QP_ACCESS_FLAGS, CONNECTED | RESPONDER,
	  IBV_QP_TIMEOUT | IBV_QP_SQ_PSN },
};

static void move(struct ibv_qp *qp, enum ibv_qp_state state, int mask,
		 uint8_t rd_atomic)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x55,
		.ah_attr = address(),
		.max_rd_atomic = rd_atomic,
		.max_dest_rd_atomic = 1,
		.port_num = 1,
		.qkey = 0x11,
	};

	assert_int_equal(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE), 0);
}

static void raise_to(struct ibv_qp *qp, enum ibv_qp_state state,
		     uint8_t rd_atomic)
{
	size_t i = 0;

	while (ways[i].type != qp->qp_type)
		i++;
	if (state == IBV_QPS_RESET)
		return;
	if (state == IBV_QPS_ERR) {
		move(qp, state, 0, 0);
		return;
	}
	move(qp, IBV_QPS_INIT, ways[i].init | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	     0);
	if (state >= IBV_QPS_RTR)
		move(qp, IBV_QPS_RTR, ways[i].rtr, 0);
	if (state >= IBV_QPS_RTS)
		move(qp, IBV_QPS_RTS, ways[i].rts, rd_atomic);
	if (state >= IBV_QPS_SQD)
		move(qp, IBV_QPS_SQD, 0, 0);
}

static struct ibv_qp *ready(enum ibv_qp_type type)
{
	struct ibv_qp *qp = create(type, NULL);

	raise_to(qp, IBV_QPS_RTS, 1);
	return qp;
}

static struct ibv_sge sges[SGES + 1];

/* A request that a QP of this type takes. */
static struct ibv_send_wr good(enum ibv_qp_type type)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	memset(sges, 0, sizeof(sges));
	if (type == IBV_QPT_UD)
		wr.wr.ud.ah = ah;
	return wr;
}

/* How many more the send queue takes. */
static int room(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = good(qp->qp_type), *bad;
	int n = 0;

	while (ibv_post_send(qp, &wr, &bad) == 0)
		n++;
	assert_int_equal(errno, ENOMEM);
	return n;
}

#endif
