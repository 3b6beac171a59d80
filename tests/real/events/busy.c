/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What is in use is not destroyed, and goes on as if nothing had been asked. */

#include "tests/real/events/events.h"

static void busy__channel_of_a_cq(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	assert_int_equal(ibv_destroy_comp_channel(l.channel), EBUSY);
	line_ring(&l);
	line_get(&l);
	ibv_ack_cq_events(l.cq, 1);
	line_close(&l);
}

static void busy__cq_of_a_qp(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	assert_int_equal(ibv_destroy_cq(tour.scq), EBUSY);
	assert_int_equal(ibv_destroy_cq(tour.rcq), EBUSY);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	tour_pair_part(p);
}

static void busy__srq_of_a_qp(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct tour_pair p;

	(void)state;
	attr.srq = ibv_create_srq(tour.pd, &srq_attr);
	p = tour_pair_connected(attr);
	assert_int_equal(ibv_destroy_srq(attr.srq), EBUSY);
	assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	tour_pair_part(p);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
}

static void busy__pd(void **state)
{
	struct ibv_ah_attr ah_attr = tour_to_ourselves();
	struct ibv_pd *pd = ibv_alloc_pd(tour.context);
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_UD);
	struct ibv_mr *mr = ibv_reg_mr(pd, tour.buf, 64, 0);
	struct ibv_ah *ah = ibv_create_ah(pd, &ah_attr);
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_qp *qp;

	(void)state;
	attr.pd = pd;
	qp = ibv_create_qp_ex(tour.context, &attr);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void busy__mr_of_a_window(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mw *mw = ibv_alloc_mw(tour.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = tour.mr,
			.addr = (uintptr_t)tour.peer,
			.length = 64,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};

	(void)state;
	assert_int_equal(ibv_bind_mw(p.b, mw, &bind), 0);
	assert_int_equal(tour_completion(tour.scq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(tour.mr), EBUSY);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, mw->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	tour_pair_part(p);
}

static void busy__xrcd_of_an_srq(void **state)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = tour.pd,
		.cq = tour.rcq,
	};
	struct ibv_srq *srq;

	(void)state;
	attr.xrcd = ibv_open_xrcd(tour.context, &xrcd_attr);
	srq = ibv_create_srq_ex(tour.context, &attr);
	assert_non_null(srq);
	assert_int_equal(ibv_close_xrcd(attr.xrcd), EBUSY);
	assert_int_equal(ibv_destroy_cq(tour.rcq), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(attr.xrcd), 0);
}

static void busy__qp_of_a_group(void **state)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 5 } };
	struct ibv_qp *qp = tour_datagrams(0);

	(void)state;
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void busy__wq_of_a_table_of_a_qp(void **state)
{
	struct ibv_wq *wq = wq_new(tour.rcq, 4);
	struct ibv_rwq_ind_table *table = wq_table(&wq, 0);
	struct ibv_qp *qp = wq_qp(table, 0);

	(void)state;
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), EBUSY);
	assert_int_equal(ibv_destroy_cq(tour.rcq), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

const struct CMUnitTest events_busy[] = {
	TOUR_TEST(busy__channel_of_a_cq),
	TOUR_TEST(busy__cq_of_a_qp),
	TOUR_TEST(busy__srq_of_a_qp),
	TOUR_TEST(busy__pd),
	TOUR_TEST(busy__mr_of_a_window),
	TOUR_TEST(busy__xrcd_of_an_srq),
	TOUR_TEST(busy__qp_of_a_group),
	TOUR_TEST(busy__wq_of_a_table_of_a_qp),
	{ 0 },
};
