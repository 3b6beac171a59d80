/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The two retry counters and their timers. */

#include "tests/sim/sim.h"

/* Timers have a resolution: they fire up to this much later. */
#define TICK_NS 8192u

/* ---- local ACK timeout ---------------------------------------------- */

static void exhaust(uint8_t timeout, uint8_t retry_cnt)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	uint64_t timeout_ns = 4096ull << timeout, took_ns;
	uint64_t tries = retry_cnt + 1u;
	struct sim_qp *a, *b;

	sim->turn_ns = 1;
	sim->link.faults[SIM_A].carrier_off = true;
	conf.timeout = timeout;
	conf.retry_cnt = retry_cnt;
	sim_pair(sim, &conf, &a, &b);
	sim_recv(a, 10);
	sim_send(a, 2000);
	sim_send(a, 10);
	took_ns = sim->now_ns;
	sim_run(sim);
	took_ns = a->sends.wr[0].cqe.timestamp_ns - took_ns;
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(a, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	assert_in_range(took_ns, tries * timeout_ns,
			tries * timeout_ns + TICK_NS);
	/* All three packets, then the first one: the window is one packet. */
	assert_int_equal(sim->link.nb_log[SIM_A], 3 + retry_cnt);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, tries);
	sim_free(sim);
}

static void retry__exhausted_after_retry_cnt_plus_one(void **state)
{
	for (uint8_t retry_cnt = 0; retry_cnt <= 7; retry_cnt++) {
		exhaust(1, retry_cnt);
		exhaust(8, retry_cnt);
		exhaust(14, retry_cnt);
	}
	exhaust(31, 0);
	exhaust(25, 7);
}

static void retry__timeout_zero_never(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.timeout = 0;
	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, &conf, &a, &b);
	sim_recv(b, 10);
	sim_send(a, 10);
	sim_run_for(sim, 3600 * SIM_S);
	sim_expect_send_open(a, 0);
	assert_int_equal(sim->link.nb_log[SIM_A], 1);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	assert_true(sim_is_busy(&sim->ends[SIM_A]));
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	sim_poll(sim);
	sim_expect_send(a, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	sim_free(sim);
}

/* What was acknowledged gives the full number of tries to what was not. */
static bool lose_but_every_third(struct sim *sim, int side,
				 const struct roost_pkt *pkt, void *arg)
{
	unsigned int *n = arg;

	(void)sim;
	return side != SIM_A || !(pkt->info->flags & ROOST_OPF_REQUEST) ||
	       ++*n % 3 == 0;
}

static void retry__progress_resets_the_counter(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	unsigned int n = 0;

	conf.retry_cnt = 2;
	sim_pair(sim, &conf, &a, &b);
	sim->link.filter = lose_but_every_third;
	sim->link.filter_arg = &n;
	for (int i = 0; i < 10; i++) {
		sim_recv(b, 10);
		sim_send(a, 10);
		sim_run(sim);
	}
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 20);
	sim_free(sim);
}

/* So does a receiver that is not ready: it got the packet. Here each second
 * time that the first packet is sent, it is lost.
 */
static bool lose_first_at_times(struct sim *sim, int side,
				const struct roost_pkt *pkt, void *arg)
{
	unsigned int *n = arg;

	(void)sim;
	if (side != SIM_A || !(pkt->info->flags & ROOST_OPF_FIRST))
		return true;
	return ++*n % 2 == 0;
}

static void retry__not_ready_resets_the_counter(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	unsigned int n = 0;

	conf.retry_cnt = 1;
	sim_pair(sim, &conf, &a, &b);
	sim->link.filter = lose_first_at_times;
	sim->link.filter_arg = &n;
	sim_send(a, 4000);
	sim_run_for(sim, 50 * SIM_MS);
	assert_true(sim_counters(sim, SIM_B)->rnr_naks_sent > 10);
	sim_recv(b, 4000);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* The time runs for the oldest packet, whatever is sent after it. */
static void retry__later_sends_do_not_postpone(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	uint64_t timeout_ns = 4096ull << 8, start_ns;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.retry_cnt = 2;
	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, &conf, &a, &b);
	start_ns = sim->now_ns;
	for (int i = 0; i < 20; i++) {
		sim_send(a, 10);
		sim_run_for(sim, timeout_ns / 3);
	}
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	assert_in_range(a->sends.wr[0].cqe.timestamp_ns - start_ns,
			3 * timeout_ns, 3 * (timeout_ns + 2 * TICK_NS));
	sim_free(sim);
}

/* Sequence NAKs without progress count as tries too. */
static bool lose_first_psn(struct sim *sim, int side,
			   const struct roost_pkt *pkt, void *arg)
{
	const struct sim_qp *a = arg;

	(void)sim;
	return side != SIM_A || pkt->psn.v != a->sq_psn;
}

static void retry__naks_without_progress_exhaust(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.retry_cnt = 3;
	sim_pair(sim, &conf, &a, &b);
	sim->link.filter = lose_first_psn;
	sim->link.filter_arg = a;
	sim_recv(b, 4096);
	sim_send(a, 4096);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	sim_expect_recv_open(b, 0);
	/* One NAK for the gap, however often it was seen. */
	assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 1);
	assert_true(sim_counters(sim, SIM_B)->drops[ROOST_DROP_OUT_OF_ORDER] >
		    0);
	sim_free(sim);
}

/* ---- receiver not ready --------------------------------------------- */

static void retry__rnr_exhausted(void **state)
{
	static const uint8_t retries[] = { 0, 1, 3, 6 };

	for (size_t i = 0; i < sizeof(retries); i++) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		conf.rnr_retry = retries[i];
		sim_pair(sim, &conf, &a, &b);
		sim_send(a, 10);
		sim_send(a, 10);
		sim_run(sim);
		sim_expect_send(a, 0, ROOST_WC_RNR_RETRY_EXC_ERR);
		sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
		assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
		/* The responder's state does not change. */
		assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
		assert_int_equal(sim_counters(sim, SIM_B)->rnr_naks_sent,
				 retries[i] + 1u);
		assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
		assert_int_equal(
			sim_counters(sim, SIM_B)->drops[ROOST_DROP_RNR_WAIT],
			retries[i] + 1u);
		sim_free(sim);
	}
}

static void retry__rnr_seven_is_for_ever(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.rnr_retry = 7;
	sim_pair(sim, &conf, &a, &b);
	sim_send(a, 10);
	sim_run_for(sim, 100 * SIM_MS);
	sim_expect_send_open(a, 0);
	assert_true(sim_counters(sim, SIM_B)->rnr_naks_sent > 1000);
	sim_recv(b, 10);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

/* Three are enough when the receive comes after three; and the next message
 * has three of its own.
 */
static void retry__rnr_three_then_ready(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.rnr_retry = 3;
	conf.min_rnr_timer = 14; /* 1.28 ms */
	sim_pair(sim, &conf, &a, &b);
	for (uint32_t i = 1; i <= 5; i++) {
		sim_send(a, 3000);
		sim_run_for(sim, 3 * SIM_MS);
		sim_recv(b, 3000);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(sim_counters(sim, SIM_B)->rnr_naks_sent,
				 3 * i);
	}
	sim_free(sim);
}

/* Some receives, then none: the ones that fit complete, the rest waits. */
static void retry__rnr_in_the_middle_of_a_burst(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 5; i++)
		sim_recv(b, 2500);
	for (int i = 0; i < 20; i++)
		sim_send(a, 2500);
	sim_run_for(sim, SIM_MS);
	sim_expect_send(a, 4, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 5);
	for (int i = 5; i < 20; i++)
		sim_recv(b, 2500);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* IBTA table 45, in units of 10 us. */
static const uint32_t rnr_10us[32] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static void retry__rnr_timer_is_honoured(void **state)
{
	for (uint8_t code = 0; code < 32; code++) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		uint64_t wait_ns;
		struct sim_qp *a, *b;

		sim->turn_ns = 1;
		sim->link.faults[SIM_B].delay_ns = 0;
		conf.rnr_retry = 1;
		conf.min_rnr_timer = code;
		/* Much shorter: must not fire meanwhile. */
		conf.timeout = 1;
		sim_pair(sim, &conf, &a, &b);
		sim_send(a, 10);
		sim_run(sim);
		sim_expect_send(a, 0, ROOST_WC_RNR_RETRY_EXC_ERR);
		assert_int_equal(sim->link.nb_log[SIM_A], 2);
		assert_int_equal(sim->link.log[SIM_B][0].syndrome,
				 ROOST_AETH_RNR_NAK | code);
		wait_ns = sim->link.log[SIM_A][1].at_ns -
			  sim->link.log[SIM_B][0].at_ns;
		assert_in_range(wait_ns, rnr_10us[code] * 10000ull,
				rnr_10us[code] * 10000ull + TICK_NS + SIM_US);
		assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
		sim_free(sim);
	}
}

/* An RNR NAK that is lost is made up for by the ACK timeout. */
static void retry__rnr_nak_lost(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim->link.faults[SIM_B].drop_nth = 0;
	sim_pair(sim, NULL, &a, &b);
	sim_send(a, 5000);
	sim_run_for(sim, 100 * SIM_US);
	sim_recv(b, 5000);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 1);
	assert_int_equal(sim_counters(sim, SIM_B)->rnr_naks_sent, 1);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(retry__exhausted_after_retry_cnt_plus_one),
	cmocka_unit_test(retry__timeout_zero_never),
	cmocka_unit_test(retry__progress_resets_the_counter),
	cmocka_unit_test(retry__not_ready_resets_the_counter),
	cmocka_unit_test(retry__later_sends_do_not_postpone),
	cmocka_unit_test(retry__naks_without_progress_exhaust),
	cmocka_unit_test(retry__rnr_exhausted),
	cmocka_unit_test(retry__rnr_seven_is_for_ever),
	cmocka_unit_test(retry__rnr_three_then_ready),
	cmocka_unit_test(retry__rnr_in_the_middle_of_a_burst),
	cmocka_unit_test(retry__rnr_timer_is_honoured),
	cmocka_unit_test(retry__rnr_nak_lost),
};

SIM_MAIN("sim-retry", tests)
