/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Asking again by the time that answers take, long before the timeout. */

#include "tests/sim/sim.h"

#define DELAY_NS (5 * SIM_US)
#define WARM_UP 20u
#define TIMEOUT_NS (4096ull << 14)
/* Far less than the timeout, and more than some tries. */
#define SOON_NS (2 * SIM_MS)
#define TRIES_MAX 20u

static struct sim *pair_of(uint8_t timeout, struct sim_qp **a,
			   struct sim_qp **b)
{
	struct sim_faults faults = { .delay_ns = DELAY_NS, .drop_nth = -1 };
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();

	conf.timeout = timeout;
	sim_set_faults(sim, &faults);
	sim_pair(sim, &conf, a, b);
	for (unsigned int i = 0; i < WARM_UP; i++) {
		sim_recv(*b, 100);
		sim_send(*a, 100);
		sim_run(sim);
	}
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	return sim;
}

static struct sim *open_pair(struct sim_qp **a, struct sim_qp **b)
{
	return pair_of(14, a, b);
}

/* Run; it went well, soon, and without the timer that counts. */
static void finish_soon(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	uint64_t begin_ns = sim->now_ns;

	sim_run(sim);
	assert_true(sim->now_ns - begin_ns < SOON_NS);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_true(sim_counters(sim, SIM_A)->adaptive_retransmits > 0);
	sim_expect_all_good(a, b);
}

static void adaptive__the_last_packet_is_lost(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);

	sim->link.faults[SIM_A].drop_nth = (int64_t)sim->link.nb_log[SIM_A] + 2;
	sim_recv(b, 3000);
	sim_send(a, 3000);
	finish_soon(sim, a, b);
	sim_free(sim);
}

static void adaptive__the_last_ack_is_lost(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);

	sim->link.faults[SIM_B].drop_nth = (int64_t)sim->link.nb_log[SIM_B];
	sim_recv(b, 10);
	sim_send(a, 10);
	finish_soon(sim, a, b);
	assert_int_equal(b->recvs.wr[WARM_UP].nb_completions, 1);
	sim_free(sim);
}

static void adaptive__the_last_of_a_read_is_lost(void **state)
{
	const struct sim_msg read = { .opcode = ROOST_WR_READ,
				      .flags = ROOST_SEND_SIGNALED,
				      .nb_sges = 1,
				      .sge_len_bytes = { 5000 } };
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);

	sim->link.faults[SIM_B].drop_nth = (int64_t)sim->link.nb_log[SIM_B] + 4;
	sim_send_msg(a, &read);
	finish_soon(sim, a, b);
	sim_free(sim);
}

struct twice {
	struct roost_psn psn;
	unsigned int nb_lost;
};

static bool lose_twice(struct sim *sim, int side, const struct roost_pkt *pkt,
		       void *arg)
{
	struct twice *twice = arg;

	(void)sim;
	if (side != SIM_A || !roost_psn_eq(pkt->psn, twice->psn) ||
	    twice->nb_lost == 2)
		return true;
	twice->nb_lost++;
	return false;
}

/* The receiver says once that it misses something, and then nothing. */
static void adaptive__what_was_sent_again_is_lost_again(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);
	struct twice twice = { .psn = roost_psn_add(a->top_psn, 1) };

	sim->link.filter = lose_twice;
	sim->link.filter_arg = &twice;
	sim_recv(b, 20000);
	sim_send(a, 20000);
	finish_soon(sim, a, b);
	assert_int_equal(twice.nb_lost, 2);
	sim_free(sim);
}

/* When the QP fails is not touched; and who is gone is not asked for ever. */
static void adaptive__a_dead_peer_fails_when_it_should(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);
	uint64_t begin_ns = sim->now_ns;
	size_t before = sim->link.nb_log[SIM_A];

	sim->link.faults[SIM_A].carrier_off = true;
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, WARM_UP, ROOST_WC_RETRY_EXC_ERR);
	assert_in_range(a->sends.wr[WARM_UP].cqe.timestamp_ns - begin_ns,
			8 * TIMEOUT_NS, 8 * TIMEOUT_NS + 10 * SIM_MS / 100);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 8);
	assert_in_range(sim->link.nb_log[SIM_A] - before, 9, 8 + TRIES_MAX);
	sim_free(sim);
}

struct outage {
	struct roost_psn last_psn;
	uint64_t end_ns;
	bool lost_after;
};

/* Nothing arrives, and afterwards the last packet is lost once more. */
static bool lose_all_for_a_time(struct sim *sim, int side,
				const struct roost_pkt *pkt, void *arg)
{
	struct outage *outage = arg;

	(void)side;
	if (sim->now_ns < outage->end_ns)
		return false;
	if (outage->lost_after || !roost_psn_eq(pkt->psn, outage->last_psn))
		return true;
	outage->lost_after = true;
	return false;
}

/* As while a daemon between both ends is started again: it takes at most as
 * long again, whatever the timeout, until all have arrived.
 */
static void outage_of(uint64_t ns, uint8_t timeout)
{
	struct sim_qp *a, *b;
	struct sim *sim = pair_of(timeout, &a, &b);
	struct outage outage = { .end_ns = sim->now_ns + ns };

	outage.last_psn = roost_psn_add(a->top_psn, 19);
	sim->link.filter = lose_all_for_a_time;
	sim->link.filter_arg = &outage;
	sim_recv(b, 20000);
	sim_send(a, 20000);
	sim_run(sim);
	assert_true(outage.lost_after);
	sim_expect_all_good(a, b);
	assert_true(a->sends.wr[WARM_UP].cqe.timestamp_ns - outage.end_ns <
		    ns + SOON_NS);
	sim_free(sim);
}

static void adaptive__an_outage_costs_at_most_as_much_again(void **state)
{
	for (uint64_t ns = 100 * SIM_MS; ns <= 400 * SIM_MS; ns += 20 * SIM_MS)
		for (uint8_t timeout = 14; timeout <= 22; timeout++)
			outage_of(ns, timeout);
	outage_of(3 * SIM_S, 21);
}

/* Nothing is lost, the peer only takes its time: data arrive once, and the
 * window is as it was.
 */
static void adaptive__a_slow_peer_is_no_loss(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&a, &b);
	size_t before;

	sim->link.faults[SIM_B].delay_ns = SIM_MS;
	sim_recv(b, 100 * 1024);
	sim_send(a, 100 * 1024);
	sim_run(sim);
	assert_true(sim_counters(sim, SIM_A)->adaptive_retransmits > 0);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_expect_all_good(a, b);
	/* By now it is known what answers take. */
	before = sim_counters(sim, SIM_A)->adaptive_retransmits;
	for (unsigned int i = 0; i < 10; i++) {
		sim_recv(b, 100 * 1024);
		sim_send(a, 100 * 1024);
		sim_run(sim);
	}
	assert_in_range(sim_counters(sim, SIM_A)->adaptive_retransmits - before,
			0, 20);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adaptive__the_last_packet_is_lost),
		cmocka_unit_test(adaptive__the_last_ack_is_lost),
		cmocka_unit_test(adaptive__the_last_of_a_read_is_lost),
		cmocka_unit_test(adaptive__what_was_sent_again_is_lost_again),
		cmocka_unit_test(adaptive__a_dead_peer_fails_when_it_should),
		cmocka_unit_test(
			adaptive__an_outage_costs_at_most_as_much_again),
		cmocka_unit_test(adaptive__a_slow_peer_is_no_loss),
	};

	return sim_main(argc, argv, "adaptive", tests,
			sizeof(tests) / sizeof(tests[0]));
}
