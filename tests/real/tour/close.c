/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/tour/tour.h"

/* Everything of a context goes with it, and nothing of another. */
static void close__with_everything_open(void **state)
{
	const struct tour ours = tour;
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 4 } };
	struct ibv_mw_bind bind = { .bind_info = { .length = 8 } };
	struct tour_pair p;

	(void)state;
	for (int i = 0; i < 3; i++) {
		tour.context = ibv_open_device(ours.context->device);
		assert_non_null(tour.context);
		tour.pd = ibv_alloc_pd(tour.context);
		tour.scq = ibv_create_cq(tour.context, 16, NULL, NULL, 0);
		tour.rcq = ibv_create_cq(tour.context, 16, NULL, NULL, 0);
		p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
		/* a window that is older than its region */
		{
			struct ibv_mw *mw =
				ibv_alloc_mw(tour.pd, IBV_MW_TYPE_1);

			tour.mr = ibv_reg_mr(tour.pd, tour.buf, TOUR_BUF_BYTES,
					     TOUR_ALL_ACCESS);
			bind.bind_info.mr = tour.mr;
			bind.bind_info.addr = (uintptr_t)tour.buf;
			assert_int_equal(ibv_bind_mw(p.a, mw, &bind), 0);
		}
		assert_int_equal(ibv_attach_mcast(tour_datagrams(0), &group, 0),
				 0);
		/* an event that is read and never acked */
		assert_int_equal(tour_write8(p.a, 0, 0), IBV_WC_REM_ACCESS_ERR);
		assert_ptr_equal(tour_event(IBV_EVENT_QP_ACCESS_ERR).element.qp,
				 p.b);
		assert_int_equal(ibv_close_device(tour.context), 0);
	}
	tour = ours;
	p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, tour.mr->rkey),
			 IBV_WC_SUCCESS);
	tour_pair_part(p);
}

const struct CMUnitTest tour_close[] = {
	TOUR_TEST(close__with_everything_open),
	{ 0 },
};
