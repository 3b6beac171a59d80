/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A port that stands still, as while the daemon of a shared port is started
 * again: what was on its way is lost, and no retry is spent.
 */

#include <errno.h>

#include "tests/sim/common.h"

static const enum roost_wr_opcode ops[] = {
	ROOST_WR_SEND,
	ROOST_WR_WRITE,
	ROOST_WR_READ,
	ROOST_WR_FETCH_ADD,
};
#define NB_OPS (sizeof(ops) / sizeof(ops[0]))

static struct sim_qp_conf conf_of(uint8_t timeout, uint8_t retry_cnt)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.timeout = timeout;
	conf.retry_cnt = retry_cnt;
	return conf;
}

/* The daemon dies, with all that is in it. */
static void die(struct sim *sim, bool is_told)
{
	for (int side = 0; side < 2; side++) {
		sim->link.faults[side].carrier_off = true;
		if (!is_told)
			continue;
		sim->link.faults[side].takes_none = true;
		roost_port_set_still(sim->ends[side].dev, 1, true, sim->now_ns);
	}
}

static void come_back(struct sim *sim, bool is_told)
{
	for (int side = 0; side < 2; side++) {
		sim->link.faults[side].carrier_off = false;
		sim->link.faults[side].takes_none = false;
		if (is_told)
			roost_port_set_still(sim->ends[side].dev, 1, false,
					     sim->now_ns);
	}
}

static void do_all(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv(b, 20000); /* for the SEND */
	for (unsigned int i = 0; i < NB_OPS; i++)
		sim_do_op(a, ops[i], i == NB_OPS - 1 ? 8 : 20000);
}

/* Both ends have requests in flight. Returns true if all came to a good end. */
static bool die_for(uint64_t ns, uint8_t timeout, uint8_t retry_cnt,
		    bool is_told)
{
	struct sim_qp_conf conf = conf_of(timeout, retry_cnt);
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t timeouts;
	bool good;

	sim_pair(sim, &conf, &a, &b);
	do_all(a, b);
	do_all(b, a);
	sim_run(sim);
	sim_expect_all_good(a, b);
	/* Somewhere within. */
	do_all(a, b);
	do_all(b, a);
	sim_run_for(sim, 1 + sim_below(sim, 20 * (uint32_t)SIM_US));
	die(sim, is_told);
	do_all(a, b);
	sim_run_for(sim, ns);
	timeouts = sim_counters(sim, SIM_A)->timeouts +
		   sim_counters(sim, SIM_B)->timeouts;
	come_back(sim, is_told);
	do_all(b, a);
	sim_run(sim);
	good = roost_qp_state(a->qp) == ROOST_QPS_RTS &&
	       roost_qp_state(b->qp) == ROOST_QPS_RTS;
	if (is_told) {
		assert_int_equal(timeouts, 0);
		sim_expect_all_good(a, b);
		sim_check_counter(a);
		sim_check_counter(b);
	}
	sim_free(sim);
	return good;
}

static void still__costs_no_completion(void **state)
{
	static const uint64_t durations_ns[] = { 300 * SIM_MS, 3 * SIM_S,
						 60 * SIM_S };

	for (unsigned int i = 0; i < 3; i++) {
		assert_true(die_for(durations_ns[i], 14, 1, true));
		assert_true(die_for(durations_ns[i], 14, 0, true));
		assert_true(die_for(durations_ns[i], 9, 0, true));
		/* It has no timer. */
		assert_true(die_for(durations_ns[i], 0, 0, true));
	}
}

/* The engine is not told: it is a peer that does not answer. */
static void still__untold_it_is_an_error(void **state)
{
	assert_false(die_for(300 * SIM_MS, 14, 1, false));
	assert_false(die_for(3 * SIM_S, 14, 1, false));
}

static bool lose_the_first(struct sim *sim, int side,
			   const struct roost_pkt *pkt, void *arg)
{
	const struct roost_psn *first = arg;

	return side != SIM_A || !roost_psn_eq(pkt->psn, *first);
}

/* The port sends again, and some frames are lost still: refusals of what comes
 * behind them spend no retry either.
 */
static void still__losses_are_not_counted(void **state)
{
	struct sim_qp_conf conf = conf_of(14, 0);
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_psn first;

	sim_pair(sim, &conf, &a, &b);
	first = roost_psn(a->sq_psn);
	roost_port_set_still(a->end->dev, 1, true, sim->now_ns);
	sim->link.filter = lose_the_first;
	sim->link.filter_arg = &first;
	for (int i = 0; i < 4; i++) {
		sim_recv(b, 100);
		sim_send(a, 100);
	}
	sim_run_for(sim, 10 * SIM_MS);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	sim->link.filter = NULL;
	roost_port_set_still(a->end->dev, 1, false, sim->now_ns);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Afterwards there are as many retries as before. */
static void still__all_retries_are_left(void **state)
{
	struct sim_qp_conf conf = conf_of(14, 3);
	const uint64_t timeout_ns = 4096ull << 14;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	die(sim, false);
	sim_recv(b, 100);
	sim_send(a, 100);
	/* One is spent. */
	sim_run_for(sim, timeout_ns + timeout_ns / 2);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 1);
	die(sim, true);
	sim_run_for(sim, 20 * timeout_ns);
	come_back(sim, true);
	die(sim, false);
	/* Its timer begins anew. */
	sim_run_for(sim, timeout_ns - timeout_ns / 4);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 1);
	sim_run_for(sim, timeout_ns);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 2);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	come_back(sim, false);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* The peer is no client of the daemon: its retries and time count. */
static void still__at_one_end(void **state)
{
	struct sim_qp_conf conf = conf_of(14, 7);
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	sim->link.faults[SIM_A].takes_none = true;
	sim->link.faults[SIM_B].carrier_off = true;
	roost_port_set_still(sim->ends[SIM_A].dev, 1, true, sim->now_ns);
	do_all(a, b);
	do_all(b, a);
	sim_run_for(sim, 300 * SIM_MS);
	sim->link.faults[SIM_A].takes_none = false;
	sim->link.faults[SIM_B].carrier_off = false;
	roost_port_set_still(sim->ends[SIM_A].dev, 1, false, sim->now_ns);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_in_range(sim_counters(sim, SIM_B)->timeouts, 1, 5);
	sim_free(sim);
}

/* No worker turns all the time for frames that nobody takes. */
static void still__nobody_polls_for_it(void **state)
{
	struct sim_qp_conf conf = conf_of(1, 7);
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t looks_ns;

	sim_pair(sim, &conf, &a, &b);
	die(sim, true);
	roost_port_set_still(a->end->dev, 2, true, sim->now_ns);
	for (int i = 0; i < 20; i++) {
		sim_recv(b, 60000);
		sim_send(a, 60000);
	}
	sim_run_for(sim, 100 * SIM_MS);
	looks_ns = roost_worker_next_deadline_ns(a->end->worker);
	sim_run_for(sim, looks_ns + SIM_US - sim->now_ns);
	assert_true(roost_worker_next_deadline_ns(a->end->worker) >=
		    looks_ns + SIM_MS);
	come_back(sim, true);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* The other port goes on, with its time. */
static void still__only_that_port(void **state)
{
	struct sim *sim = sim_new();
	struct roost_dev *dev = sim->ends[SIM_A].dev;
	const uint64_t begin_ns = sim->now_ns;

	assert_int_equal(roost_dev_still_ns(dev, begin_ns), 0);
	roost_port_set_still(dev, 1, true, begin_ns);
	assert_false(roost_dev_is_still(dev));
	roost_port_set_still(dev, 2, true, begin_ns + 100);
	assert_true(roost_dev_is_still(dev));
	roost_port_set_still(dev, 2, true, begin_ns + 150); /* nothing */
	assert_int_equal(roost_dev_still_ns(dev, begin_ns + 200), 100);
	roost_port_set_still(dev, 1, false, begin_ns + 300);
	assert_false(roost_dev_is_still(dev));
	assert_int_equal(roost_dev_still_ns(dev, begin_ns + 500), 200);
	roost_port_set_still(dev, 1, true, begin_ns + 600);
	roost_port_set_still(dev, 2, false, begin_ns + 700);
	roost_port_set_still(dev, 1, false, begin_ns + 800);
	assert_int_equal(roost_dev_still_ns(dev, begin_ns + 900), 300);
	sim_free(sim);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(still__costs_no_completion),
		cmocka_unit_test(still__untold_it_is_an_error),
		cmocka_unit_test(still__losses_are_not_counted),
		cmocka_unit_test(still__all_retries_are_left),
		cmocka_unit_test(still__at_one_end),
		SIM_TEST_ONE_WORKER(still__nobody_polls_for_it),
		cmocka_unit_test(still__only_that_port),
	};

	return sim_main(argc, argv, "still", tests,
			sizeof(tests) / sizeof(tests[0]));
}
