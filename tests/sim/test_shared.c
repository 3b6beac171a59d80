/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Devices that have the same addresses: clients of a shared port. */

#include "tests/sim/raw.h"

#define QKEY 0x11111111u

static void shared__connected_over_the_port(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct sim *sim = sim_new_sharing();
		struct sim_qp *a, *b;

		conf.ipv6 = ipv6;
		a = sim_qp_new(sim, SIM_A, &conf);
		b = sim_qp_new(sim, SIM_B, &conf);
		sim_connect(a, b);
		sim->link.faults[SIM_A].drop_ppm = 10000;
		for (int i = 0; i < 100; i++) {
			uint32_t len =
				(uint32_t)sim_random_below(&sim->rng, 100000);

			sim_recv(b, len);
			sim_recv(a, len);
			sim_send(a, len);
			sim_send(b, len);
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(sim_counters(sim, SIM_A)->loopback_pkts, 0);
		sim_free(sim);
	}
}

/* QPs of one device need no port, though the address is that of others. */
static void shared__own_qps_do_not_leave_the_device(void **state)
{
	struct sim *sim = sim_new_sharing();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_A, NULL);

	sim_connect(a, b);
	for (int i = 0; i < 10; i++) {
		sim_recv(b, 10000);
		sim_send(a, 10000);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	sim_free(sim);
}

/* An AH does not say for which QP: all leave by the port. */
static void shared__datagrams_from_the_own_address(void **state)
{
	struct sim *sim = sim_new_sharing();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL);
	struct sim_qp *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = raw_ah(a->end, &a->end->gid);
	struct sim_slice out = raw_random(sim, 100);
	struct sim_slice in = raw_blank(sim, 140);
	struct roost_cqe cqe;

	raw_recv(b, 2, in);
	raw_send(a,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .ah = ah,
			 .dest_qpn = b->qpn,
			 .qkey = QKEY,
		 },
		 out);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	cqe = raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.src_qpn, a->qpn);
	assert_memory_equal(in.data + 40, out.data, 100);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(shared__connected_over_the_port),
	cmocka_unit_test(shared__own_qps_do_not_leave_the_device),
	cmocka_unit_test(shared__datagrams_from_the_own_address),
};

SIM_MAIN("sim-shared", tests)
