/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* QPs of one device that talk to each other: nothing goes over the wire. */

#include <string.h>

#include "tests/sim/raw.h"

static struct sim *world(const struct sim_qp_conf *conf, struct sim_qp **a,
			 struct sim_qp **b)
{
	struct sim *sim = sim_new();

	*a = sim_qp_new(sim, SIM_A, conf);
	*b = sim_qp_new(sim, SIM_A, conf);
	sim_connect(*a, *b);
	return sim;
}

static void assert_nothing_sent(struct sim *sim)
{
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	assert_true(sim_counters(sim, SIM_A)->loopback_pkts > 0);
	assert_int_equal(sim->ends[SIM_A].neigh_refs, 0);
}

static void loopback__both_ways(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct sim_qp *a, *b;
		struct sim *sim;

		conf.ipv6 = ipv6;
		sim = world(&conf, &a, &b);
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
		assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
		assert_nothing_sent(sim);
		sim_free(sim);
	}
}

/* More packets than the queue to ourselves holds. */
static void loopback__many_qps(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *qps[40];

	conf.mtu = ROOST_MTU_256;
	conf.timeout = 16;
	for (int i = 0; i < 40; i++)
		qps[i] = sim_qp_new(sim, SIM_A, &conf);
	for (int i = 0; i < 40; i += 2)
		sim_connect(qps[i], qps[i + 1]);
	for (int n = 0; n < 10; n++) {
		for (int i = 0; i < 40; i++) {
			sim_recv(qps[i ^ 1], 20000);
			sim_send(qps[i], 20000);
		}
	}
	sim_run(sim);
	for (int i = 0; i < 40; i += 2)
		sim_expect_all_good(qps[i], qps[i + 1]);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	assert_nothing_sent(sim);
	sim_free(sim);
}

static void loopback__a_qp_to_itself(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);

	sim_qp_join(a, a);
	assert_int_equal(sim_qp_to_init(a), 0);
	assert_int_equal(sim_qp_to_rtr(a), 0);
	assert_int_equal(sim_qp_to_rts(a), 0);
	for (int i = 0; i < 50; i++) {
		sim_recv(a, 10000);
		sim_send(a, 10000);
	}
	sim_run(sim);
	sim_expect_all_good(a, a);
	sim_free(sim);
}

static void loopback__receiver_not_ready(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a, *b;
	struct sim *sim;

	conf.rnr_retry = 3;
	sim = world(&conf, &a, &b);
	sim_send(a, 10);
	sim_run_for(sim, 15 * SIM_US);
	sim_recv(b, 10);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, 1, ROOST_WC_RNR_RETRY_EXC_ERR);
	assert_nothing_sent(sim);
	sim_free(sim);
}

static void loopback__errors(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = world(NULL, &a, &b);

	sim_recv(b, 9);
	sim_recv(b, 9);
	sim_send(a, 10);
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_REM_INV_REQ_ERR);
	sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(b, 0, ROOST_WC_LOC_LEN_ERR);
	sim_expect_recv(b, 1, ROOST_WC_WR_FLUSH_ERR);
	assert_nothing_sent(sim);
	sim_free(sim);
}

static void loopback__peer_destroyed(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a, *b;
	struct sim *sim;

	conf.retry_cnt = 2;
	sim = world(&conf, &a, &b);
	for (int i = 0; i < 20; i++) {
		sim_recv(b, 20000);
		sim_send(a, 20000);
	}
	/* One iteration: packets wait in the queue to ourselves. */
	assert_true(roost_worker_turn_try(sim->ends[SIM_A].worker));
	roost_worker_iterate(sim->ends[SIM_A].worker, sim->now_ns);
	roost_worker_turn_release(sim->ends[SIM_A].worker);
	assert_true(sim_counters(sim, SIM_A)->loopback_pkts > 0);
	sim_qp_destroy(b);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	sim_expect_send(a, 19, ROOST_WC_WR_FLUSH_ERR);
	assert_nothing_sent(sim);
	sim_free(sim);
}

/* A request from outside with our own address, and all numbers right. */
static void forge_own(struct sim_qp *to, uint8_t opcode, const void *deth,
		      size_t len)
{
	const struct sim_port *port = &to->end->ports[0];
	struct roost_flow flow = {
		.sgid = port->gid,
		.dgid = port->gid,
		.hop_limit = 64,
		.udp_src = 0xc123,
	};
	const struct roost_bth bth = {
		.opcode = opcode,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = to->qpn,
		.psn = roost_psn(to->peer != NULL ? to->peer->sq_psn : 0),
	};
	uint8_t frame[ROOST_FRAME_OVERHEAD_MAX];
	struct roost_hdr_template t;
	size_t at;

	memcpy(flow.src_mac, port->mac, 6);
	memcpy(flow.dst_mac, port->mac, 6);
	roost_hdr_template_init(&t, &flow);
	at = roost_hdr_emit(&t, frame, &bth, len);
	memcpy(frame + at, deth, len);
	roost_frame_seal(&t, frame, at + len);
	sim_link_put(to->sim, SIM_B, frame, at + len + ROOST_ICRC_LEN);
	sim_run(to->sim);
}

/* Ours is the voice that comes from inside only. */
static void loopback__not_from_outside(void **state)
{
	const uint64_t *drops;
	struct sim_qp *a, *b;
	struct sim *sim = world(NULL, &a, &b);
	struct sim_qp *ud;
	uint8_t deth[8];

	sim_recv(b, 100);
	forge_own(b, ROOST_OPCODE_RC_SEND_ONLY, deth, 0);
	drops = sim_counters(sim, SIM_A)->drops;
	assert_int_equal(drops[ROOST_DROP_SRC_ADDR], 1);
	ud = raw_ud(sim, SIM_A, NULL);
	roost_deth_put(deth, ud->conf.qkey, 0x1234);
	raw_recv(ud, 1, raw_blank(sim, 1000));
	forge_own(ud, ROOST_OPCODE_UD_SEND_ONLY, deth, sizeof(deth));
	drops = sim_counters(sim, SIM_A)->drops;
	assert_int_equal(drops[ROOST_DROP_SRC_ADDR], 2);
	raw_expect_nothing(ud->end->cq);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(loopback__both_ways),
	cmocka_unit_test(loopback__many_qps),
	cmocka_unit_test(loopback__a_qp_to_itself),
	cmocka_unit_test(loopback__receiver_not_ready),
	cmocka_unit_test(loopback__errors),
	SIM_TEST_ONE_WORKER(loopback__peer_destroyed),
	cmocka_unit_test(loopback__not_from_outside),
};

SIM_MAIN("sim-loopback", tests)
