/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames that arrive in another order, twice, changed, or in small portions. */

#include "tests/sim/sim.h"

#define MSGS 64

/* Messages of all sizes in both directions; all must arrive. */
static void talk(const struct sim_faults *faults,
		 const struct sim_qp_conf *conf, struct sim **world)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_set_faults(sim, faults);
	sim_pair(sim, conf, &a, &b);
	for (int i = 0; i < MSGS; i++) {
		uint32_t to_b = (uint32_t)sim_random_below(&sim->rng, 40000);
		uint32_t to_a = (uint32_t)sim_random_below(&sim->rng, 3000);

		sim_recv(b, to_b + 1);
		sim_recv(a, to_a + 1);
		sim_send(a, to_b);
		sim_send(b, to_a);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	*world = sim;
}

static void order__reorder_distance_64(void **state)
{
	const struct sim_faults faults = {
		.reorder_pkts = 64,
		.delay_ns = 2 * SIM_US,
		.drop_nth = -1,
	};
	struct sim *sim;

	talk(&faults, NULL, &sim);
	assert_true(sim_counters(sim, SIM_B)->out_of_order > 0);
	sim_free(sim);
}

static void order__jitter(void **state)
{
	const struct sim_faults faults = {
		.jitter_ns = 50 * SIM_US,
		.drop_nth = -1,
	};
	struct sim *sim;

	talk(&faults, NULL, &sim);
	sim_free(sim);
}

static void order__ten_percent_duplicates(void **state)
{
	const struct sim_faults faults = {
		.dup_ppm = 100000,
		.delay_ns = 2 * SIM_US,
		.drop_nth = -1,
	};
	struct sim *sim;

	talk(&faults, NULL, &sim);
	assert_true(sim->link.nb_dup[SIM_A] > 0);
	/* Each duplicate was seen for what it is, and nothing was repeated. A
	 * doubled request is acknowledged again, and nobody needs that ACK.
	 */
	assert_in_range(sim_counters(sim, SIM_B)->drops[ROOST_DROP_DUPLICATE],
			1, sim->link.nb_dup[SIM_A]);
	assert_in_range(
		sim_counters(sim, SIM_B)->drops[ROOST_DROP_UNEXPECTED_RESPONSE],
		0, sim->link.nb_dup[SIM_A] + sim->link.nb_dup[SIM_B]);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	sim_free(sim);
}

/* Where a flipped bit may be noticed. The Ethernet header has no check of its
 * own in the frame, and what is masked out of the ICRC may change.
 */
static uint64_t noticed(const struct roost_dev_counters *c, unsigned int punted)
{
	return c->drops[ROOST_DROP_LENGTH] + c->drops[ROOST_DROP_IP_HEADER] +
	       c->drops[ROOST_DROP_FRAGMENT] + c->drops[ROOST_DROP_NOT_OURS] +
	       c->drops[ROOST_DROP_SRC_ADDR] + c->drops[ROOST_DROP_ICRC] +
	       punted;
}

static void order__one_bit_in_one_percent(void **state)
{
	const struct sim_faults faults = {
		.corrupt_ppm = 10000,
		.delay_ns = 2 * SIM_US,
		.drop_nth = -1,
	};
	struct sim *sim;
	uint64_t n;

	talk(&faults, NULL, &sim);
	assert_true(sim->link.nb_corrupt[SIM_A] > 0);
	n = noticed(sim_counters(sim, SIM_B), sim->ends[SIM_B].nb_punted);
	assert_true(n > 0);
	assert_true(n <= sim->link.nb_corrupt[SIM_A]);
	assert_true(sim_counters(sim, SIM_B)->drops[ROOST_DROP_ICRC] > 0);
	/* Nothing gets past the ICRC that a later check would stop. */
	for (int i = ROOST_DROP_TVER; i < ROOST_DROP_OUT_OF_ORDER; i++)
		assert_int_equal(sim_counters(sim, SIM_B)->drops[i], 0);
	sim_free(sim);
}

static void order__everything_at_once(void **state)
{
	const struct sim_faults faults = {
		.drop_ppm = 20000,
		.dup_ppm = 20000,
		.corrupt_ppm = 10000,
		.reorder_pkts = 16,
		.delay_ns = 5 * SIM_US,
		.jitter_ns = 5 * SIM_US,
		.drop_nth = -1,
		.take_max = 7,
	};
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim;

	conf.sq_psn = 0xfffff0;
	talk(&faults, &conf, &sim);
	sim_free(sim);
	conf.ipv6 = true;
	talk(&faults, &conf, &sim);
	sim_free(sim);
}

/* A port that takes three frames at a time holds everything up, no more. */
static void order__port_takes_little(void **state)
{
	const struct sim_faults faults = {
		.take_max = 3,
		.delay_ns = 2 * SIM_US,
		.drop_nth = -1,
	};
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim;

	conf.timeout = 14;
	talk(&faults, &conf, &sim);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	sim_free(sim);
}

/* A message and something to send come in one iteration: the answer goes first,
 * though it could wait. A program that sleeps on events knows which of two
 * completions comes first by that.
 */
static void order__answer_before_data(void **state)
{
	struct sim *sim = sim_new();
	const struct sim_sent *sent = NULL;
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim->link.faults[SIM_A].delay_ns = SIM_US;
	sim_recv(b, 10);
	sim_send(a, 10);
	roost_worker_iterate(sim->ends[SIM_A].worker, sim->now_ns);
	sim->now_ns += 2 * SIM_US;
	sim_recv(a, 10);
	sim_send(b, 10);
	roost_worker_iterate(sim->ends[SIM_B].worker, sim->now_ns);
	assert_int_equal(sim->link.nb_log[SIM_B], 2);
	sent = sim->link.log[SIM_B];
	assert_int_equal(sent[0].opcode, ROOST_OPCODE_RC_ACK);
	assert_int_equal(sent[1].opcode, ROOST_OPCODE_RC_SEND_ONLY);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Of so many messages that come at once, when does the one ACK leave? Returns
 * the iteration.
 */
static unsigned int iterations_to_ack(unsigned int nb_msgs,
				      enum roost_wr_opcode opcode)
{
	const struct sim_msg msg = {
		.opcode = opcode,
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges = 1,
		.sge_len_bytes = { 10 },
	};
	struct sim *sim = sim_new();
	unsigned int n = 0;
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (unsigned int i = 0; i < nb_msgs; i++) {
		if (opcode == ROOST_WR_SEND)
			sim_recv(b, 10);
		sim_send_msg(a, &msg);
	}
	roost_worker_iterate(sim->ends[SIM_A].worker, sim->now_ns);
	assert_int_equal(sim->link.nb_log[SIM_A], nb_msgs);
	sim->now_ns += 10 * SIM_US;
	while (sim->link.nb_log[SIM_B] == 0 && n < 3) {
		roost_worker_iterate(sim->ends[SIM_B].worker, sim->now_ns);
		n++;
	}
	assert_int_equal(sim->link.nb_log[SIM_B], 1);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
	return n;
}

/* More may come behind one WRITE; who sends many waits for room, and a program
 * waits for what it receives.
 */
static void order__a_stream_is_answered_at_once(void **state)
{
	assert_int_equal(iterations_to_ack(1, ROOST_WR_WRITE), 2);
	assert_int_equal(iterations_to_ack(4, ROOST_WR_WRITE), 2);
	assert_int_equal(iterations_to_ack(8, ROOST_WR_WRITE), 1);
	assert_int_equal(iterations_to_ack(16, ROOST_WR_WRITE), 1);
	assert_int_equal(iterations_to_ack(1, ROOST_WR_SEND), 1);
	assert_int_equal(iterations_to_ack(4, ROOST_WR_SEND), 1);
}

static const struct CMUnitTest tests[] = {
	SIM_TEST_ONE_WORKER(order__answer_before_data),
	SIM_TEST_ONE_WORKER(order__a_stream_is_answered_at_once),
	cmocka_unit_test(order__reorder_distance_64),
	cmocka_unit_test(order__jitter),
	cmocka_unit_test(order__ten_percent_duplicates),
	cmocka_unit_test(order__one_bit_in_one_percent),
	cmocka_unit_test(order__everything_at_once),
	cmocka_unit_test(order__port_takes_little),
};

SIM_MAIN("sim-order", tests)
