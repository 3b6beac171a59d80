/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/tour/tour.h"

static void tell(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_sge from = tour_sge(tour.buf, 5);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah,
			   .remote_qpn = qpn,
			   .remote_qkey = TOUR_QKEY },
	};

	memcpy(tour.buf, "hello", 5);
	assert_int_equal(tour_done(qp, &wr), IBV_WC_SUCCESS);
}

static void ud__is_answered(void **state)
{
	struct ibv_ah_attr attr = tour_to_ourselves();
	struct ibv_ah *ah = ibv_create_ah(tour.pd, &attr), *back;
	struct ibv_qp *a = tour_datagrams(0), *b = tour_datagrams(0);
	struct ibv_sge into = tour_sge(tour.peer, 100);
	struct ibv_wc wc;

	(void)state;
	tour_receive(b, &into);
	tell(a, ah, b->qp_num);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.byte_len, TOUR_GRH_BYTES + 5);
	assert_int_equal(wc.src_qp, a->qp_num);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_memory_equal(tour.peer + TOUR_GRH_BYTES, "hello", 5);
	back = ibv_create_ah_from_wc(tour.pd, &wc, (struct ibv_grh *)tour.peer,
				     1);
	assert_non_null(back);
	into = tour_sge(tour.peer + 1000, 100);
	tour_receive(a, &into);
	tell(b, back, wc.src_qp);
	assert_int_equal(tour_completion(tour.rcq).src_qp, b->qp_num);
	assert_memory_equal(tour.peer + 1000 + TOUR_GRH_BYTES, "hello", 5);
	ibv_destroy_ah(back);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
}

static void mcast__members_hear_it(void **state)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_ah_attr attr = tour_to_ourselves();
	struct ibv_qp *a = tour_datagrams(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	struct ibv_qp *b = tour_datagrams(0);
	struct ibv_sge into = tour_sge(tour.peer, 100);
	struct ibv_ah *ah;

	(void)state;
	attr.grh.dgid = group;
	ah = ibv_create_ah(tour.pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_attach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(b, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(b), EBUSY);
	tour_receive(a, &into);
	tour_receive(b, &into);
	/* A does not want to hear itself, B hears */
	tell(a, ah, 0xffffff);
	assert_int_equal(tour_completion(tour.rcq).qp_num, b->qp_num);
	tour_silence(tour.rcq);
	tour_receive(b, &into);
	/* both hear B */
	tell(b, ah, 0xffffff);
	tour_completion(tour.rcq);
	tour_completion(tour.rcq);
	assert_int_equal(ibv_detach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(a, &group, 0), EINVAL);
	assert_int_equal(ibv_detach_mcast(b, &group, 0), 0);
	tour_receive(a, &into);
	tour_receive(b, &into);
	tell(a, ah, 0xffffff);
	tour_silence(tour.rcq);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
}

const struct CMUnitTest tour_datagram_qps[] = {
	TOUR_TEST(ud__is_answered),
	TOUR_TEST(mcast__members_hear_it),
	{ 0 },
};
