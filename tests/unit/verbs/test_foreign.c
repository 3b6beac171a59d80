/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Objects of another device, or of another context of the same one, where a
 * call takes several: EINVAL, and nothing holds them afterwards. The shim on
 * the real engine.
 */

#include <fcntl.h>

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "real_engine.h"
#include "tests/cmocka.h"

/* What a program has of one context. */
struct world {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_td *td;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct ibv_mw *mw1, *mw2;
	struct ibv_ah *ah;
	struct ibv_qp *rc, *ud; /* in RTS */
};

static uint8_t memory[4096];
static struct world a, b; /* a is ours, b is foreign */

static struct ibv_wq *wq_of(const struct world *ctx, const struct world *pd,
			    const struct world *cq)
{
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = 1,
					 .max_sge = 1,
					 .pd = pd->pd,
					 .cq = cq->cq };

	return ibv_create_wq(ctx->c, &attr);
}

static struct ibv_rwq_ind_table *table_of(const struct world *ctx,
					  struct ibv_wq *wq)
{
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq };

	return ibv_create_rwq_ind_table(ctx->c, &attr);
}

static struct ibv_qp *qp_of(const struct world *pd, const struct world *send,
			    const struct world *recv, struct ibv_srq *srq,
			    enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = send->cq,
		.recv_cq = recv->cq,
		.srq = srq,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd->pd, &attr);
}

static struct ibv_ah_attr address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	const struct roost_gid gid = REAL_ENGINE_GID;

	memcpy(attr.grh.dgid.raw, gid.b, sizeof(gid.b));
	return attr;
}

static struct ibv_qp *in_rts(const struct world *w, enum ibv_qp_type type)
{
	struct ibv_qp *qp = qp_of(w, w, w, NULL, type);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .path_mtu = IBV_MTU_1024,
				    .ah_attr = address() };
	bool ud = type == IBV_QPT_UD;
	int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		  IBV_QP_MIN_RNR_TIMER;
	int rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC;

	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | (ud ? 0 : rtr)),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN |
					       (ud ? 0 : rts)),
			 0);
	return qp;
}

static struct world world_open(unsigned int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1,
						   .max_sge = 1 } };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct ibv_td_init_attr td = { 0 };
	struct ibv_ah_attr av = address();
	struct world w;

	real_engine_next = device;
	w.c = ibv_open_device(list[0]);
	assert_non_null(w.c);
	ibv_free_device_list(list);
	assert_non_null(w.pd = ibv_alloc_pd(w.c));
	assert_non_null(w.channel = ibv_create_comp_channel(w.c));
	assert_non_null(w.cq = ibv_create_cq(w.c, 64, NULL, w.channel, 0));
	assert_non_null(w.srq = ibv_create_srq(w.pd, &srq));
	assert_non_null(w.xrcd = ibv_open_xrcd(w.c, &xrcd));
	assert_non_null(w.td = ibv_alloc_td(w.c, &td));
	assert_non_null(w.wq = wq_of(&w, &w, &w));
	assert_non_null(w.table = table_of(&w, w.wq));
	assert_non_null(w.dm = ibv_alloc_dm(w.c, &dm));
	assert_non_null(
		w.mr = ibv_reg_mr(w.pd, memory, sizeof(memory),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	assert_non_null(w.mw1 = ibv_alloc_mw(w.pd, IBV_MW_TYPE_1));
	assert_non_null(w.mw2 = ibv_alloc_mw(w.pd, IBV_MW_TYPE_2));
	assert_non_null(w.ah = ibv_create_ah(w.pd, &av));
	w.rc = in_rts(&w, IBV_QPT_RC);
	w.ud = in_rts(&w, IBV_QPT_UD);
	return w;
}

/* Each of these is EBUSY if something still holds it. */
static void world_close(const struct world *w)
{
	assert_int_equal(ibv_destroy_qp(w->ud), 0);
	assert_int_equal(ibv_destroy_qp(w->rc), 0);
	assert_int_equal(ibv_destroy_ah(w->ah), 0);
	assert_int_equal(ibv_dealloc_mw(w->mw2), 0);
	assert_int_equal(ibv_dealloc_mw(w->mw1), 0);
	assert_int_equal(ibv_dereg_mr(w->mr), 0);
	assert_int_equal(ibv_free_dm(w->dm), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(w->table), 0);
	assert_int_equal(ibv_destroy_wq(w->wq), 0);
	assert_int_equal(ibv_dealloc_td(w->td), 0);
	assert_int_equal(ibv_close_xrcd(w->xrcd), 0);
	assert_int_equal(ibv_destroy_srq(w->srq), 0);
	assert_int_equal(ibv_destroy_cq(w->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(w->channel), 0);
	assert_int_equal(ibv_dealloc_pd(w->pd), 0);
	assert_int_equal(ibv_close_device(w->c), 0);
}

#define REFUSED(call)                                                          \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, EINVAL);                               \
	} while (0)

static void refused_qps(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = b.xrcd,
	};
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = b.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *target;

	REFUSED(qp_of(&a, &b, &a, NULL, IBV_QPT_RC));
	REFUSED(qp_of(&a, &a, &b, NULL, IBV_QPT_RC));
	REFUSED(qp_of(&a, &b, &b, NULL, IBV_QPT_UD));
	REFUSED(qp_of(&a, &a, &a, b.srq, IBV_QPT_RC));
	REFUSED(qp_of(&a, &b, &a, NULL, IBV_QPT_XRC_SEND));
	REFUSED(ibv_create_qp_ex(a.c, &attr));
	/* A target of the domain's own context, opened from another. */
	assert_non_null(target = ibv_create_qp_ex(b.c, &attr));
	open_attr.qp_num = target->qp_num;
	REFUSED(ibv_open_qp(a.c, &open_attr));
	assert_int_equal(ibv_destroy_qp(target), 0);
	attr = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = a.pd,
		.rwq_ind_tbl = b.table,
	};
	REFUSED(ibv_create_qp_ex(a.c, &attr));
	attr.rwq_ind_tbl = a.table;
	attr.pd = b.pd;
	REFUSED(ibv_create_qp_ex(a.c, &attr));
}

static void refused_queues(void)
{
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = a.pd,
		.xrcd = b.xrcd,
		.cq = a.cq,
	};
	struct ibv_parent_domain_init_attr domain = { .pd = b.pd };
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};

	REFUSED(ibv_create_srq_ex(a.c, &srq));
	srq.xrcd = a.xrcd;
	srq.cq = b.cq;
	REFUSED(ibv_create_srq_ex(a.c, &srq));
	srq.cq = a.cq;
	srq.pd = b.pd;
	REFUSED(ibv_create_srq_ex(a.c, &srq));
	REFUSED(wq_of(&a, &a, &b));
	REFUSED(wq_of(&a, &b, &a));
	REFUSED(wq_of(&a, &b, &b));
	REFUSED(table_of(&a, b.wq));
	REFUSED(ibv_create_cq(a.c, 1, NULL, b.channel, 0));
	assert_non_null(cq.parent_domain =
				ibv_alloc_parent_domain(b.c, &domain));
	REFUSED(ibv_create_cq_ex(a.c, &cq));
	assert_int_equal(ibv_dealloc_pd(cq.parent_domain), 0);
	REFUSED(ibv_alloc_parent_domain(a.c, &domain));
	domain.pd = a.pd;
	domain.td = b.td;
	REFUSED(ibv_alloc_parent_domain(a.c, &domain));
}

static void refused_memory(void)
{
	struct ibv_mw_bind bind = {
		.bind_info = { .mr = b.mr,
			       .addr = (uintptr_t)memory,
			       .length = 64 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = a.mw2,
			     .rkey = ibv_inc_rkey(a.mw2->rkey),
			     .bind_info = bind.bind_info },
	}, *bad;

	REFUSED(ibv_reg_dm_mr(a.pd, b.dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	assert_int_equal(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL,
				      0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	/* verbs.h itself looks at the PDs of these two. */
	assert_int_equal(ibv_bind_mw(a.rc, a.mw1, &bind), EPERM);
	assert_int_equal(ibv_bind_mw(a.rc, b.mw1, &bind), EINVAL);
	assert_int_equal(ibv_post_send(a.rc, &wr, &bad), EINVAL);
	wr.bind_mw.mw = b.mw2;
	assert_int_equal(ibv_post_send(a.rc, &wr, &bad), EINVAL);
	wr.bind_mw.bind_info.mr = a.mr;
	assert_int_equal(ibv_post_send(a.rc, &wr, &bad), EINVAL);
}

static void refused_datagrams(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .wr.ud = { .ah = b.ah, .remote_qpn = 2 } };
	struct ibv_pd *pd = ibv_alloc_pd(a.c);
	struct ibv_ah_attr av = address();
	struct ibv_send_wr *bad;
	struct ibv_ah *ah;

	assert_int_equal(ibv_post_send(a.ud, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	/* Of the same context, but another PD. */
	assert_non_null(ah = ibv_create_ah(pd, &av));
	wr.wr.ud.ah = ah;
	assert_int_equal(ibv_post_send(a.ud, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void refused(unsigned int device)
{
	a = world_open(0);
	b = world_open(device);
	refused_qps();
	refused_queues();
	refused_memory();
	refused_datagrams();
	world_close(&a);
	world_close(&b);
}

static void foreign__device(void **state)
{
	refused(1);
}

static void foreign__context(void **state)
{
	refused(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign__device),
		cmocka_unit_test(foreign__context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
