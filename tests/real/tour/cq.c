/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/tour/tour.h"

static void cq_ex__timestamps_are_of_the_raw_clock(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 8,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(tour.context, &cq_attr);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_values_ex before = { .comp_mask =
						IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_values_ex after = before;
	struct ibv_poll_cq_attr poll_attr = { 0 };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_RDMA_WRITE };
	const int64_t until = tour_now_ns() + TOUR_TIMEOUT_NS;
	struct timespec wall;
	int64_t at, wall_at;
	struct tour_pair p;
	int rc;

	(void)state;
	attr.send_cq = ibv_cq_ex_to_cq(cq);
	p = tour_pair_connected(attr);
	assert_int_equal(ibv_query_rt_values_ex(tour.context, &before), 0);
	tour_post(p.a, &wr);
	do
		rc = ibv_start_poll(cq, &poll_attr);
	while (rc == ENOENT && tour_now_ns() < until);
	assert_int_equal(rc, 0);
	assert_int_equal(ibv_query_rt_values_ex(tour.context, &after), 0);
	clock_gettime(CLOCK_REALTIME, &wall);
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	assert_int_equal(ibv_wc_read_qp_num(cq), p.a->qp_num);
	at = (int64_t)ibv_wc_read_completion_ts(cq);
	assert_true(at >= before.raw_clock.tv_nsec);
	assert_true(at <= after.raw_clock.tv_nsec);
	wall_at = (int64_t)ibv_wc_read_completion_wallclock_ns(cq);
	at = wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec;
	assert_true(wall_at <= at && wall_at > at - TOUR_TIMEOUT_NS);
	ibv_end_poll(cq);
	tour_pair_part(p);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

/* Eight sends for a CQ of two: the rest is lost, and nothing else happens. */
static void cq_ex__overrun_is_ignored(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 2,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct ibv_cq *cq =
		ibv_cq_ex_to_cq(ibv_create_cq_ex(tour.context, &cq_attr));
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp_attr;
	struct tour_pair p;

	(void)state;
	attr.send_cq = cq;
	p = tour_pair_connected(attr);
	for (int i = 0; i < 8; i++)
		tour_post(p.a, &wr);
	tour_silence(tour.rcq);
	assert_int_equal(tour_completion(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(tour_completion(cq).status, IBV_WC_SUCCESS);
	tour_silence(cq);
	assert_int_equal(ibv_query_qp(p.a, &qp_attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(qp_attr.qp_state, IBV_QPS_RTS);
	tour_post(p.a, &wr);
	assert_int_equal(tour_completion(cq).status, IBV_WC_SUCCESS);
	tour_pair_part(p);
	ibv_destroy_cq(cq);
}

static void cq__overrun_is_told(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(tour.context, 2, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_async_event e;
	struct tour_pair p;

	(void)state;
	attr.send_cq = cq;
	p = tour_pair_connected(attr);
	for (int i = 0; i < 8; i++)
		tour_post(p.a, &wr);
	tour_silence(tour.rcq);
	e = tour_event(IBV_EVENT_CQ_ERR);
	assert_ptr_equal(e.element.cq, cq);
	ibv_ack_async_event(&e);
	for (int i = 0; i < 2; i++) {
		e = tour_event(IBV_EVENT_QP_FATAL);
		ibv_ack_async_event(&e);
	}
	tour_pair_part(p);
	ibv_destroy_cq(cq);
}

const struct CMUnitTest tour_cq[] = {
	TOUR_TEST(cq_ex__timestamps_are_of_the_raw_clock),
	TOUR_TEST(cq_ex__overrun_is_ignored),
	TOUR_TEST(cq__overrun_is_told),
	{ 0 },
};
