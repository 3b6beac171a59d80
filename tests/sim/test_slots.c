/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Slots that go from one send queue to the next (lib/engine/core/slots.h). */

#include <errno.h>

#include "lib/engine/core/ahead.h"
#include "tests/sim/sim.h"

#define NB_PAIRS 12u
#define DEPTH 32u
#define BURST 20u
#define ROUNDS 5u

static const struct sim_msg write_msg = {
	.opcode = ROOST_WR_WRITE,
	.flags = ROOST_SEND_SIGNALED,
	.nb_sges = 1,
	.sge_len_bytes = { 40 },
};

/* A world in which a QP of side A is one of many. */
struct crowd {
	struct sim *sim;
	struct roost_qp *idle[ROOST_QPS_COLD];
	struct sim_qp *a[NB_PAIRS], *b[NB_PAIRS];
};

static void crowd_open(struct crowd *c)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	c->sim = sim_new();
	c->sim->turn_ns = 2 * SIM_US;
	for (unsigned int i = 0; i < ROOST_QPS_COLD; i++) {
		struct sim_end *end = &c->sim->ends[SIM_A];
		struct roost_qp_init init = {
			.send_cq = end->cq,
			.recv_cq = end->cq,
			.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1 },
		};

		assert_int_equal(roost_qp_create(end->ctx, end->pd, &init,
						 &c->idle[i]),
				 0);
	}
	conf.max_send_wr = DEPTH;
	for (unsigned int i = 0; i < NB_PAIRS; i++)
		sim_pair(c->sim, &conf, &c->a[i], &c->b[i]);
}

static void crowd_close(struct crowd *c)
{
	for (unsigned int i = 0; i < NB_PAIRS; i++) {
		sim_expect_all_good(c->a[i], c->b[i]);
		sim_check_guards(c->b[i]);
	}
	for (unsigned int i = 0; i < ROOST_QPS_COLD; i++)
		assert_int_equal(roost_qp_destroy(c->idle[i], NULL), 0);
	sim_free(c->sim);
}

static void send_burst(struct sim_qp *qp, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sim_send_msg(qp, &write_msg);
}

static unsigned int nb_with_slots(const struct crowd *c)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < NB_PAIRS; i++)
		nb += roost_queue_slots(&c->a[i]->qp->sq) != NULL;
	return nb;
}

/* All QPs send bursts in turn, with the slots of a few. */
static void slots__go_round(void **state)
{
	struct crowd c;

	(void)state;
	crowd_open(&c);
	assert_int_equal(nb_with_slots(&c), NB_PAIRS);
	for (unsigned int i = 0; i < ROUNDS * NB_PAIRS; i++) {
		send_burst(c.a[i % NB_PAIRS], BURST);
		sim_run(c.sim);
		sim_poll(c.sim);
	}
	assert_true(nb_with_slots(&c) <= ROOST_SLOTS_EMPTIED);
	crowd_close(&c);
}

/* Bursts that overlap, of which some packets are lost. */
static void slots__of_many_at_once(void **state)
{
	struct crowd c;

	(void)state;
	crowd_open(&c);
	c.sim->link.faults[SIM_A].drop_ppm = 20000;
	c.sim->link.faults[SIM_B].drop_ppm = 20000;
	for (unsigned int i = 0; i < 40 * NB_PAIRS; i++) {
		struct sim_qp *qp =
			c.a[sim_random_below(&c.sim->rng, NB_PAIRS)];

		while (sim_random_below(&c.sim->rng, 30) != 0 &&
		       sim_try_send(qp, &write_msg) == 0)
			;
		sim_run_for(c.sim, sim_random_below(&c.sim->rng, 20 * SIM_US));
		if (sim_random_below(&c.sim->rng, 3) == 0)
			sim_poll(c.sim);
	}
	sim_run(c.sim);
	sim_poll(c.sim);
	crowd_close(&c);
}

/* A slot is free when its completion was polled, not earlier and not later:
 * a queue whose completions wait keeps its slots.
 */
static void slots__stay_until_polled(void **state)
{
	struct roost_cqe cqe;
	struct sim_qp *full;
	struct crowd c;

	(void)state;
	crowd_open(&c);
	full = c.a[0];
	c.sim->nobody_polls = true;
	send_burst(full, DEPTH);
	sim_run(c.sim);
	for (unsigned int i = 1; i < NB_PAIRS; i++) {
		send_burst(c.a[i], BURST);
		sim_run(c.sim);
	}
	assert_int_equal(nb_with_slots(&c), NB_PAIRS);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(sim_try_send(full, &write_msg), -ENOMEM);
		assert_int_equal(roost_cq_poll(c.sim->ends[SIM_A].cq, 1, &cqe),
				 1);
		sim_wr_complete(c.sim, &cqe);
		assert_int_equal(sim_try_send(full, &write_msg), 0);
	}
	c.sim->nobody_polls = false;
	sim_run(c.sim);
	sim_poll(c.sim);
	crowd_close(&c);
}

/* With slots and without, in every order, while others have none. */
static void slots__of_destroyed(void **state)
{
	struct crowd c;

	(void)state;
	crowd_open(&c);
	for (unsigned int i = 0; i < NB_PAIRS; i++) {
		send_burst(c.a[i], BURST);
		sim_run(c.sim);
		sim_poll(c.sim);
	}
	assert_true(nb_with_slots(&c) < NB_PAIRS);
	for (unsigned int i = 0; i < NB_PAIRS; i += 3) {
		sim_expect_all_good(c.a[i], c.b[i]);
		sim_qp_destroy(c.a[i]);
		sim_qp_destroy(c.b[i]);
	}
	for (unsigned int i = 1; i < NB_PAIRS; i += 3) {
		assert_int_equal(sim_qp_to(c.a[i], ROOST_QPS_RESET), 0);
		assert_int_equal(sim_qp_to(c.b[i], ROOST_QPS_RESET), 0);
		sim_connect(c.a[i], c.b[i]);
		send_burst(c.a[i], DEPTH);
		send_burst(c.a[i + 1], DEPTH);
	}
	sim_run(c.sim);
	sim_poll(c.sim);
	for (unsigned int i = 1; i < NB_PAIRS; i++)
		if (i % 3 != 0)
			sim_expect_all_good(c.a[i], c.b[i]);
	for (unsigned int i = 0; i < ROOST_QPS_COLD; i++)
		assert_int_equal(roost_qp_destroy(c.idle[i], NULL), 0);
	sim_free(c.sim);
}

static const struct CMUnitTest tests[] = {
	SIM_TEST_ONE_WORKER(slots__go_round),
	SIM_TEST_ONE_WORKER(slots__of_many_at_once),
	SIM_TEST_ONE_WORKER(slots__stay_until_polled),
	SIM_TEST_ONE_WORKER(slots__of_destroyed),
};

SIM_MAIN("sim-slots", tests)
