/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/tour/tour.h"

static void srq__limit_is_told_once(void **state)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_sge into;
	struct ibv_recv_wr recv = { .sg_list = &into, .num_sge = 1 }, *bad;
	struct ibv_async_event e;
	struct tour_pair p;

	(void)state;
	attr.srq = ibv_create_srq(tour.pd, &srq_attr);
	p = tour_pair_connected(attr);
	for (int i = 0; i < 3; i++) {
		into = tour_sge(tour.peer + 64 * i, 64);
		assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	}
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_LIMIT), 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

		assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
		tour_completion(tour.rcq);
	}
	e = tour_event(IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(e.element.srq, attr.srq);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_query_srq(attr.srq, &limit), 0);
	assert_int_equal(limit.srq_limit, 0);
	/* more room, with a receive in it */
	limit.max_wr = 64;
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_MAX_WR), 0);
	for (int i = 0; i < 63; i++)
		assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), ENOMEM);
	assert_int_equal(ibv_destroy_srq(attr.srq), EBUSY);
	tour_pair_part(p);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
}

static struct ibv_xrcd *open_xrcd(int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(tour.context, &attr);
}

/* The SRQ is made with one opening of the domain, the target with another. */
static void xrc__by_two_openings_of_a_domain(void **state)
{
	int fd = open("/tmp", O_RDONLY);
	struct ibv_xrcd *one = open_xrcd(fd, O_CREAT);
	struct ibv_xrcd *two = open_xrcd(fd, 0);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = tour.pd,
		.xrcd = one,
		.cq = tour.rcq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(tour.context, &srq_attr);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_XRC_SEND);
	struct ibv_qp *ini = ibv_create_qp_ex(tour.context, &attr), *tgt,
		      *handle;
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = one,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_sge from = tour_sge(tour.buf, 8),
		       into = tour_sge(tour.peer, 64);
	struct ibv_recv_wr recv = { .sg_list = &into, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	(void)state;
	assert_non_null(srq);
	attr = tour_init_attr(IBV_QPT_XRC_RECV);
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = two;
	tgt = ibv_create_qp_ex(tour.context, &attr);
	assert_non_null(tgt);
	tour_connect(tgt, ini->qp_num);
	tour_connect(ini, tgt->qp_num);
	open_attr.qp_num = tgt->qp_num;
	handle = ibv_open_qp(tour.context, &open_attr);
	assert_non_null(handle);
	/* who created it goes, the target stays */
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_int_equal(ibv_get_srq_num(srq, &wr.qp_type.xrc.remote_srqn), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	memcpy(tour.buf, "abcdefgh", 8);
	assert_int_equal(tour_done(ini, &wr), IBV_WC_SUCCESS);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.qp_num, handle->qp_num);
	assert_memory_equal(tour.peer, "abcdefgh", 8);
	assert_int_equal(ibv_close_xrcd(one), EBUSY);
	assert_int_equal(ibv_destroy_qp(handle), 0);
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(one), 0);
	assert_int_equal(ibv_close_xrcd(two), 0);
	close(fd);
}

const struct CMUnitTest tour_srq[] = {
	TOUR_TEST(srq__limit_is_told_once),
	TOUR_TEST(xrc__by_two_openings_of_a_domain),
	{ 0 },
};
