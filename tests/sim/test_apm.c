/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Automatic path migration: from one port to the other, and no byte differs. */

#include "tests/sim/migrate.h"

/* ---- states ----------------------------------------------------------- */

static void apm__arms_when_both_are_ready(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_qp_attr attr;

	sim_pair(sim, NULL, &a, &b);
	migrate_rearm(a, 2);
	attr = migrate_query(a);
	assert_int_equal(attr.path_mig_state, ROOST_MIG_REARM);
	assert_int_equal(attr.alt_port_num, 2);
	assert_int_equal(attr.alt_timeout, MIGRATE_ALT_TIMEOUT);
	assert_memory_equal(&attr.alt_av.dgid, &b->end->ports[1].gid, 16);
	/* The peer says nothing yet. */
	migrate_traffic(a, b, 3);
	sim_run(sim);
	migrate_expect_state(a, ROOST_MIG_REARM);
	migrate_expect_state(b, ROOST_MIG_MIGRATED);
	migrate_rearm(b, 2);
	migrate_expect_state(b, ROOST_MIG_REARM);
	migrate_traffic(a, b, 3);
	sim_run(sim);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	sim_expect_all_good(a, b);
	assert_int_equal(sim->link2.nb_log[SIM_A], 0);
	migrate_expect_events(a, b, 0);
	sim_free(sim);
}

/* A world with a pair that is ready to migrate. */
static struct sim *armed(const struct sim_qp_conf *conf, struct sim_qp **a,
			 struct sim_qp **b)
{
	struct sim *sim = sim_new();

	sim_pair(sim, conf, a, b);
	migrate_arm(*a, *b, 2);
	return sim;
}

/* Each of the pair has migrated once, and is on the second link now. */
static void expect_migrated(struct sim_qp *a, struct sim_qp *b)
{
	struct sim *sim = a->sim;
	struct roost_qp_attr attr = migrate_query(a);
	size_t before = sim->link.nb_log[SIM_A] + sim->link.nb_log[SIM_B];

	migrate_expect_events(a, b, 1);
	assert_int_equal(attr.path_mig_state, ROOST_MIG_MIGRATED);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(attr.av.port_num, 2);
	assert_memory_equal(&attr.av.dgid,
			    a->conf.ipv6 ? &b->end->ports[1].gid6
					 : &b->end->ports[1].gid,
			    16);
	assert_int_equal(attr.alt_port_num, 0);
	assert_int_equal(attr.timeout, MIGRATE_ALT_TIMEOUT);
	migrate_expect_state(b, ROOST_MIG_MIGRATED);
	migrate_traffic(a, b, 5);
	sim_run(sim);
	assert_int_equal(sim->link.nb_log[SIM_A] + sim->link.nb_log[SIM_B],
			 before);
	assert_true(sim->link2.nb_log[SIM_A] > 0);
	sim_expect_all_good(a, b);
	migrate_expect_events(a, b, 1);
}

/* ---- why a QP migrates ------------------------------------------------ */

static int ask(struct sim_qp *qp, enum roost_mig_state state)
{
	struct roost_qp_attr attr = { .path_mig_state = state };

	return roost_qp_modify(qp->qp, &attr, ROOST_QP_PATH_MIG_STATE);
}

/* Nobody sends anything: an acknowledgement tells the peer. */
static void apm__by_request_when_idle(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = armed(NULL, &a, &b);

	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	expect_migrated(a, b);
	sim_free(sim);
}

static void apm__by_request_in_traffic(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = armed(NULL, &a, &b);

	migrate_traffic(a, b, 50);
	sim_run_for(sim, 20 * SIM_US);
	sim_expect_send_open(a, a->sends.count - 1);
	assert_int_equal(ask(b, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	expect_migrated(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

static void apm__both_ask(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = armed(NULL, &a, &b);

	migrate_traffic(a, b, 50);
	sim_run_for(sim, 20 * SIM_US);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);
	assert_int_equal(ask(b, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	expect_migrated(a, b);
	sim_free(sim);
}

/* The wire goes silent in mid-traffic. */
static void apm__by_retries(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (conf.retry_cnt = 0; conf.retry_cnt <= 7; conf.retry_cnt++) {
		struct sim_qp *a, *b;
		struct sim *sim = armed(&conf, &a, &b);
		uint64_t start_ns;

		migrate_traffic(a, b, 50);
		sim_run_for(sim, 20 * SIM_US);
		sim_expect_send_open(a, a->sends.count - 1);
		migrate_silence(&sim->link);
		start_ns = sim->now_ns;
		sim_run(sim);
		/* (retry_cnt + 1) timeouts of the primary path. */
		assert_in_range(sim->now_ns - start_ns,
				(conf.retry_cnt + 1u) * SIM_MS,
				(conf.retry_cnt + 3u) * 2 * SIM_MS);
		expect_migrated(a, b);
		sim_free(sim);
	}
}

/* One direction is enough to fail, whoever notices. */
static void apm__one_way_is_silent(void **state)
{
	for (int side = 0; side < 2; side++) {
		struct sim_qp *a, *b;
		struct sim *sim = armed(NULL, &a, &b);

		migrate_traffic(a, b, 50);
		sim_run_for(sim, 20 * SIM_US);
		sim->link.faults[side].carrier_off = true;
		sim_run(sim);
		expect_migrated(a, b);
		sim_free(sim);
	}
}

static void port_down(struct sim *sim, int side, uint8_t num)
{
	roost_port_set_link(sim->ends[side].dev, num, ROOST_PORT_DOWN, 9000, 0);
}

/* At once: no timeout is waited for, on either side. */
static void apm__by_port_down(void **state)
{
	for (int side = 0; side < 2; side++) {
		struct sim_qp *a, *b;
		struct sim *sim = armed(NULL, &a, &b);

		migrate_traffic(a, b, 50);
		sim_run_for(sim, 20 * SIM_US);
		sim_expect_send_open(a, a->sends.count - 1);
		migrate_silence(&sim->link);
		port_down(sim, side, 1);
		sim_run(sim);
		assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
		assert_int_equal(sim_counters(sim, SIM_B)->timeouts, 0);
		expect_migrated(a, b);
		sim_free(sim);
	}
}

/* The port that is not used, or a QP that is not ready: nothing happens. */
static void apm__port_down_of_others(void **state)
{
	struct sim_qp *a, *b, *c, *d;
	struct sim *sim = armed(NULL, &a, &b);

	sim_pair(sim, NULL, &c, &d);
	port_down(sim, SIM_A, 2);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	/* Nowhere to go to. */
	port_down(sim, SIM_A, 1);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(c, ROOST_MIG_MIGRATED);
	sim_run(sim);
	migrate_expect_events(a, b, 0);
	migrate_expect_events(c, d, 0);
	sim_free(sim);
}

/* ---- faults around it ------------------------------------------------- */

static uint32_t below(struct sim *sim, uint32_t limit)
{
	return (uint32_t)sim_random_below(&sim->rng, limit);
}

/* Loss, doubling, reordering and every request, and the link fails, or the
 * port, or somebody asks, at any time.
 */
static void run_world(uint64_t seed)
{
	struct sim *sim = sim_new_seeded(seed);
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_faults faults = {
		.drop_ppm = below(sim, 2) * below(sim, 20000),
		.dup_ppm = below(sim, 2) * below(sim, 50000),
		.corrupt_ppm = below(sim, 2) * below(sim, 10000),
		.reorder_pkts = below(sim, 2) * below(sim, 65),
		.delay_ns = below(sim, 20000),
		.jitter_ns = below(sim, 2) * below(sim, 20000),
		.drop_nth = -1,
	};
	struct sim_qp *a, *b;

	conf.mtu = ROOST_MTU_256 + below(sim, 5);
	conf.timeout = 11;
	conf.ipv6 = below(sim, 2);
	sim_pair(sim, &conf, &a, &b);
	migrate_set_faults(sim, &faults);
	migrate_mix(a, b, 30);
	migrate_rearm(a, 2);
	migrate_mix(a, b, 30);
	migrate_rearm(b, 2);
	migrate_mix(a, b, 30);
	sim_run(sim);
	migrate_traffic(a, b, 2);
	sim_run(sim);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	migrate_mix(a, b, 60);
	switch (below(sim, 3)) {
	case 0:
		migrate_silence(&sim->link);
		break;
	case 1:
		port_down(sim, (int)below(sim, 2), 1);
		break;
	default:
		assert_int_equal(ask(below(sim, 2) ? a : b, ROOST_MIG_MIGRATED),
				 0);
		break;
	}
	migrate_mix(a, b, 60);
	sim_run(sim);
	migrate_traffic(a, b, 2);
	sim_run(sim);
	expect_migrated(a, b);
	sim_check_counter(a);
	sim_check_counter(b);
	sim_free(sim);
}

static void apm__every_byte_arrives(void **state)
{
	for (uint64_t i = 0; i < 100; i++)
		run_world(sim_seed() * 1000 + i);
}

/* There and back, and again, under traffic. */
static void apm__again_and_again(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();

	sim_pair(sim, NULL, &a, &b);
	for (uint8_t i = 1; i <= 10; i++) {
		struct sim_link *from = i % 2 ? &sim->link : &sim->link2;

		migrate_arm(a, b, i % 2 ? 2 : 1);
		migrate_traffic(a, b, 40);
		sim_run_for(sim, 20 * SIM_US);
		migrate_silence(from);
		sim_run(sim);
		sim_expect_all_good(a, b);
		migrate_expect_events(a, b, i);
		migrate_restore(from);
	}
	sim_free(sim);
}

/* The peer was not ready in time: its own word was lost, ours was not. */
static void apm__peer_is_still_rearming(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();

	sim_pair(sim, NULL, &a, &b);
	migrate_rearm(a, 2);
	migrate_rearm(b, 2);
	sim->link.faults[SIM_A].carrier_off = true;
	sim_recv(a, 100);
	sim_send(b, 100);
	sim_run_for(sim, 100 * SIM_US);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(b, ROOST_MIG_REARM);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	expect_migrated(a, b);
	sim_free(sim);
}

static void apm__alternate_is_dead_too(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = armed(NULL, &a, &b);
	uint32_t i;

	migrate_silence(&sim->link);
	migrate_silence(&sim->link2);
	i = sim_send(a, 100);
	sim_run(sim);
	sim_expect_send(a, i, ROOST_WC_RETRY_EXC_ERR);
	assert_int_equal(a->async[ROOST_EVENT_PATH_MIG], 1);
	assert_true(sim->link2.nb_log[SIM_A] >= 8);
	sim_free(sim);
	/* Known to be dead: nothing is tried. */
	sim = armed(NULL, &a, &b);
	migrate_silence(&sim->link);
	port_down(sim, SIM_A, 2);
	i = sim_send(a, 100);
	sim_run(sim);
	sim_expect_send(a, i, ROOST_WC_RETRY_EXC_ERR);
	assert_int_equal(a->async[ROOST_EVENT_PATH_MIG], 0);
	assert_int_equal(a->async[ROOST_EVENT_PATH_MIG_ERR], 1);
	assert_int_equal(sim->link2.nb_log[SIM_A], 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(apm__arms_when_both_are_ready),
	cmocka_unit_test(apm__by_request_when_idle),
	cmocka_unit_test(apm__by_request_in_traffic),
	cmocka_unit_test(apm__both_ask),
	cmocka_unit_test(apm__by_retries),
	cmocka_unit_test(apm__one_way_is_silent),
	cmocka_unit_test(apm__by_port_down),
	cmocka_unit_test(apm__port_down_of_others),
	cmocka_unit_test(apm__every_byte_arrives),
	cmocka_unit_test(apm__again_and_again),
	cmocka_unit_test(apm__peer_is_still_rearming),
	cmocka_unit_test(apm__alternate_is_dead_too),
};

SIM_MAIN("sim-apm", tests)
