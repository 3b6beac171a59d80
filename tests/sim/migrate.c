/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/sim/migrate.h"

int migrate_load(struct sim_qp *qp, uint8_t port_num,
		 struct roost_qp_attr *attr, uint32_t mask)
{
	const struct sim_port *to = &qp->peer->end->ports[port_num - 1];

	attr->alt_port_num = port_num;
	attr->alt_timeout = MIGRATE_ALT_TIMEOUT;
	attr->alt_av = (struct roost_av){
		.is_global = true,
		.port_num = port_num,
		.dgid = qp->conf.ipv6 ? to->gid6 : to->gid,
		.sgid_index = qp->conf.ipv6 ? 1 : 0,
		.hop_limit = 64,
	};
	return roost_qp_modify(qp->qp, attr, ROOST_QP_ALT_PATH | mask);
}

void migrate_rearm(struct sim_qp *qp, uint8_t port_num)
{
	struct roost_qp_attr attr = { .path_mig_state = ROOST_MIG_REARM };

	qp->rearmed = true;
	assert_int_equal(migrate_load(qp, port_num, &attr,
				      ROOST_QP_PATH_MIG_STATE),
			 0);
}

void migrate_arm(struct sim_qp *a, struct sim_qp *b, uint8_t port_num)
{
	migrate_rearm(a, port_num);
	migrate_rearm(b, port_num);
	migrate_traffic(a, b, 2);
	sim_run(a->sim);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(b, ROOST_MIG_ARMED);
}

struct roost_qp_attr migrate_query(struct sim_qp *qp)
{
	struct roost_qp_init init;
	struct roost_qp_attr attr;

	roost_qp_query(qp->qp, &attr, &init);
	return attr;
}

void migrate_expect_state(struct sim_qp *qp, enum roost_mig_state state)
{
	assert_int_equal(migrate_query(qp).path_mig_state, state);
}

void migrate_expect_events(struct sim_qp *a, struct sim_qp *b, uint32_t nb)
{
	sim_poll(a->sim);
	assert_int_equal(a->async[ROOST_EVENT_PATH_MIG], nb);
	assert_int_equal(b->async[ROOST_EVENT_PATH_MIG], nb);
	assert_int_equal(a->async[ROOST_EVENT_PATH_MIG_ERR], 0);
	assert_int_equal(b->async[ROOST_EVENT_PATH_MIG_ERR], 0);
}

void migrate_traffic(struct sim_qp *a, struct sim_qp *b, int nb)
{
	for (int i = 0; i < nb; i++) {
		uint32_t len = (uint32_t)sim_random_below(&a->sim->rng, 20000);

		sim_recv(b, len);
		sim_send(a, len);
		sim_recv(a, len);
		sim_send(b, len);
	}
}

static void post_any(struct sim_qp *qp)
{
	static const enum roost_wr_opcode opcodes[] = {
		ROOST_WR_SEND, ROOST_WR_WRITE,     ROOST_WR_READ,
		ROOST_WR_READ, ROOST_WR_FETCH_ADD,
	};
	struct sim *sim = qp->sim;
	struct sim_msg msg = {
		.opcode = opcodes[sim_random_below(&sim->rng, 5)],
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges = 1,
		.sge_len_bytes = { 8 },
		.swap_add = 1,
	};

	if (msg.opcode != ROOST_WR_FETCH_ADD)
		msg.sge_len_bytes[0] =
			(uint32_t)sim_random_below(&sim->rng, 10000);
	if (sim_try_send(qp, &msg) == 0 && msg.opcode == ROOST_WR_SEND)
		sim_recv(qp->peer, msg.sge_len_bytes[0]);
}

void migrate_mix(struct sim_qp *a, struct sim_qp *b, int nb)
{
	struct sim *sim = a->sim;

	for (int i = 0; i < nb; i++) {
		post_any(sim_random_below(&sim->rng, 2) ? a : b);
		if (sim_random_below(&sim->rng, 4) == 0)
			sim_run_for(sim, sim_random_below(&sim->rng, 50000));
	}
}

void migrate_silence(struct sim_link *link)
{
	link->faults[SIM_A].carrier_off = true;
	link->faults[SIM_B].carrier_off = true;
}

void migrate_restore(struct sim_link *link)
{
	link->faults[SIM_A].carrier_off = false;
	link->faults[SIM_B].carrier_off = false;
}

void migrate_set_faults(struct sim *sim, const struct sim_faults *faults)
{
	for (int side = 0; side < 2; side++) {
		sim->link.faults[side] = *faults;
		sim->link2.faults[side] = *faults;
	}
}
