/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A program may end the moment it has a receive completion, by a signal too: no
 * completion is visible before the port has the acknowledgement.
 */

#include "tests/sim/raw.h"

#define PAIRS 40
#define MSGS 16
#define WRITE_BYTES 65536u
#define STEPS_MAX 200000

/* A sends messages to B, which writes to A and has a slow port. */
struct world {
	struct sim *sim;
	struct sim_qp *a[PAIRS], *b[PAIRS];
	int nb_acked[PAIRS]; /* messages; the port has the ACK */
	int nb_received[PAIRS];
	unsigned int nb_writes; /* of B */
};

/* Every message is one packet. */
static bool look(struct sim *sim, int side, const struct roost_pkt *pkt,
		 void *arg)
{
	struct world *world = arg;

	(void)sim;
	for (int i = 0; side == SIM_B && i < PAIRS; i++)
		if (pkt->info->op == ROOST_OP_ACK &&
		    pkt->dest_qpn == world->a[i]->qpn)
			world->nb_acked[i] =
				1 +
				roost_psn_diff(pkt->psn,
					       roost_psn(world->a[i]->sq_psn));
	return true;
}

static struct world world_new(void)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct world world = { .sim = sim_new() };

	conf.timeout = 0;
	conf.max_recv_wr = MSGS;
	conf.max_send_wr = MSGS;
	world.sim->nobody_polls = true;
	for (int i = 0; i < PAIRS; i++)
		sim_pair(world.sim, &conf, &world.a[i], &world.b[i]);
	return world;
}

static void write_back(struct world *world, int i)
{
	struct sim_slice from = raw_blank(world->sim, WRITE_BYTES);
	struct sim_slice to = raw_blank(world->sim, WRITE_BYTES);

	raw_send(world->b[i],
		 (struct roost_send_wr){
			 .opcode = ROOST_WR_WRITE,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = (uintptr_t)to.data,
			 .rkey = roost_mr_rkey(world->a[i]->end->mr),
		 },
		 from);
	world->nb_writes++;
}

static void post_all(struct world *world)
{
	for (int i = 0; i < PAIRS; i++) {
		for (int n = 0; n < MSGS; n++)
			raw_recv(world->b[i], (uint64_t)i,
				 raw_blank(world->sim, 64));
		for (int n = 0; n < MSGS; n++)
			raw_send(world->a[i],
				 (struct roost_send_wr){
					 .opcode = ROOST_WR_SEND,
					 .flags = ROOST_SEND_SIGNALED,
				 },
				 raw_random(world->sim, 64));
		write_back(world, i);
	}
}

/* Returns how many receive completions there were. */
static int poll(struct world *world)
{
	struct roost_cqe cqe;
	int n = 0;

	while (roost_cq_poll(world->sim->ends[SIM_A].cq, 1, &cqe) == 1)
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
	while (roost_cq_poll(world->sim->ends[SIM_B].cq, 1, &cqe) == 1) {
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
		if (cqe.opcode != ROOST_WC_RECV) {
			world->nb_writes--;
			continue;
		}
		n++;
		if (++world->nb_received[cqe.wr_id] >
		    world->nb_acked[cqe.wr_id])
			fail_msg("message %d of pair %d is visible, and %d are "
				 "acknowledged",
				 world->nb_received[cqe.wr_id], (int)cqe.wr_id,
				 world->nb_acked[cqe.wr_id]);
	}
	return n;
}

/* take_max: see struct sim_faults; stops: now and then it takes nothing. */
static void receive_all(uint16_t take_max, bool stops)
{
	struct world world = world_new();
	struct sim_faults *faults = &world.sim->link.faults[SIM_B];
	int nb_received = 0;

	world.sim->link.filter = look;
	world.sim->link.filter_arg = &world;
	post_all(&world);
	faults->take_max = take_max;
	for (int step = 0; nb_received < PAIRS * MSGS; step++) {
		assert_in_range(step, 0, STEPS_MAX);
		faults->takes_none =
			stops && sim_random_chance(&world.sim->rng, 700000);
		sim_run_for(world.sim, SIM_US);
		nb_received += poll(&world);
	}
	faults->takes_none = false;
	faults->take_max = 0;
	sim_run(world.sim);
	poll(&world);
	assert_int_equal(world.nb_writes, 0);
	sim_free(world.sim);
}

static void acked__before_a_receive_completes(void **state)
{
	receive_all(0, false);
	receive_all(0, true);
	receive_all(1, false);
	receive_all(1, true);
	receive_all(7, true);
}

/* What waits for a port that sends nothing for good is not lost with it. */
static void acked__port_is_down(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_end *end = &sim->ends[SIM_B];
	struct sim_qp *a, *b;

	conf.timeout = 0;
	sim_pair(sim, &conf, &a, &b);
	sim->nobody_polls = true;
	raw_recv(b, 7, raw_blank(sim, 64));
	raw_send(a, (struct roost_send_wr){ .opcode = ROOST_WR_SEND },
		 raw_random(sim, 64));
	sim->link.faults[SIM_B].takes_none = true;
	sim_run_for(sim, SIM_MS);
	raw_expect_nothing(end->cq);
	roost_port_set_link(end->dev, 1, ROOST_PORT_DOWN, 9000, 0);
	raw_expect(end->cq, 7, ROOST_WC_SUCCESS);
	raw_recv(b, 8, raw_blank(sim, 64));
	raw_send(a, (struct roost_send_wr){ .opcode = ROOST_WR_SEND },
		 raw_random(sim, 64));
	sim_run_for(sim, SIM_MS);
	raw_expect(end->cq, 8, ROOST_WC_SUCCESS);
	sim->link.faults[SIM_B].takes_none = false;
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(acked__before_a_receive_completes),
	cmocka_unit_test(acked__port_is_down),
};

SIM_MAIN("sim-acked", tests)
