/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Path migration: what is refused, what must not move anything, and the types
 * beside RC.
 */

#include <errno.h>
#include <string.h>

#include "tests/sim/migrate.h"
#include "tests/sim/raw.h"

static uint64_t strangers(struct sim *sim, int side)
{
	return sim_counters(sim, side)->drops[ROOST_DROP_SRC_ADDR];
}

/* The next SEND to qp, from where flow says. */
static void forge_send(struct sim_qp *qp, const struct roost_flow *flow,
		       bool migreq, uint32_t psn)
{
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.migreq = migreq,
		.ackreq = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};

	sim_forge_on(qp, flow, &bth, NULL, 0);
	sim_turn(qp->sim);
	sim_poll(qp->sim);
}

/* ---- peers that know nothing of it ------------------------------------ */

/* Soft-RoCE says 0 in every packet, hardware 1. */
static void rules__migrated_ignores_the_bit(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_qp_attr none = { .path_mtu = 0 };
	struct roost_flow flow;

	sim_pair(sim, NULL, &a, &b);
	b->no_data_check = true;
	/* Loaded, but never asked for. */
	assert_int_equal(migrate_load(b, 2, &none, 0), 0);
	flow = sim_flow_to(b);
	for (uint32_t i = 0; i < 10; i++) {
		sim_recv(b, 10);
		forge_send(b, &flow, i % 2, a->sq_psn + i);
		sim_expect_recv(b, i, ROOST_WC_SUCCESS);
		migrate_expect_state(b, ROOST_MIG_MIGRATED);
	}
	/* And its addresses are those of a stranger. */
	flow.sgid = a->end->ports[1].gid;
	forge_send(b, &flow, true, a->sq_psn + 10);
	assert_int_equal(strangers(sim, SIM_B), 1);
	migrate_expect_events(a, b, 0);
	assert_int_equal(sim->link2.nb_log[SIM_B], 0);
	sim_free(sim);
}

/* We would, the peer would not: never armed, and the QP fails as ever. */
static void rules__peer_never_rearms(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	uint32_t i;

	sim_pair(sim, NULL, &a, &b);
	migrate_rearm(a, 2);
	migrate_traffic(a, b, 5);
	sim_run(sim);
	migrate_expect_state(a, ROOST_MIG_REARM);
	migrate_silence(&sim->link);
	i = sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, i, ROOST_WC_RETRY_EXC_ERR);
	migrate_expect_events(a, b, 0);
	sim_free(sim);
}

/* ---- refused ---------------------------------------------------------- */

/* The peer migrates to where we do not know it: once is told. */
static void rules__unknown_path(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_flow flow;
	uint32_t psn;

	sim_pair(sim, NULL, &a, &b);
	migrate_arm(a, b, 2);
	psn = migrate_query(b).rq_psn;
	flow = sim_flow_to(b);
	flow.sgid.b[15] = 77;
	/* A stranger, and one that guesses at the QPN. */
	forge_send(b, &flow, false, psn);
	forge_send(b, &flow, true, psn + 100000);
	assert_int_equal(b->async[ROOST_EVENT_PATH_MIG_ERR], 0);
	forge_send(b, &flow, true, psn);
	forge_send(b, &flow, true, psn);
	assert_int_equal(b->async[ROOST_EVENT_PATH_MIG_ERR], 1);
	assert_int_equal(strangers(sim, SIM_B), 4);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	assert_int_equal(migrate_query(b).rq_psn, psn);
	migrate_traffic(a, b, 3);
	sim_run(sim);
	sim_expect_all_good(a, b);
	/* Armed again, told again. */
	migrate_arm(a, b, 2);
	forge_send(b, &flow, true, migrate_query(b).rq_psn);
	assert_int_equal(b->async[ROOST_EVENT_PATH_MIG_ERR], 2);
	sim_free(sim);
}

/* What the peer sent before it was ready may come after what it sent then: it
 * is taken, and tells nothing.
 */
static void rules__late_bit_on_the_primary_path(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_flow flow;
	uint32_t psn, i;

	sim_pair(sim, NULL, &a, &b);
	migrate_arm(a, b, 2);
	b->no_data_check = true;
	psn = migrate_query(b).rq_psn;
	flow = sim_flow_to(b);
	i = sim_recv(b, 10);
	forge_send(b, &flow, true, psn - 1);
	forge_send(b, &flow, true, psn);
	sim_expect_recv(b, i, ROOST_WC_SUCCESS);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	migrate_expect_events(a, b, 0);
	sim_free(sim);
}

/* What comes doubled or too early arms nothing. */
static void rules__only_what_is_in_sequence_arms(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_flow flow;
	uint32_t psn, i;

	sim_pair(sim, NULL, &a, &b);
	migrate_rearm(b, 2);
	b->no_data_check = true;
	psn = a->sq_psn;
	flow = sim_flow_to(b);
	forge_send(b, &flow, false, psn - 1);
	forge_send(b, &flow, false, psn + 1);
	sim_forge_ack(b, ROOST_AETH_ACK, b->sq_psn);
	sim_turn(sim);
	migrate_expect_state(b, ROOST_MIG_REARM);
	i = sim_recv(b, 10);
	forge_send(b, &flow, false, psn);
	sim_expect_recv(b, i, ROOST_WC_SUCCESS);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	sim_free(sim);
}

/* ---- what the application may ask for --------------------------------- */

static int ask(struct sim_qp *qp, enum roost_mig_state state)
{
	struct roost_qp_attr attr = { .path_mig_state = state };

	return roost_qp_modify(qp->qp, &attr, ROOST_QP_PATH_MIG_STATE);
}

static void rules__states_to_ask_for(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	struct roost_qp_attr none = { .path_mtu = 0 };

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);    /* it is */
	assert_int_equal(ask(a, ROOST_MIG_REARM), -EINVAL); /* where to? */
	assert_int_equal(ask(a, ROOST_MIG_ARMED), -EINVAL);
	assert_int_equal(ask(a, ROOST_MIG_COUNT), -EINVAL);
	a->rearmed = true;
	assert_int_equal(migrate_load(a, 2, &none, 0), 0);
	migrate_expect_state(a, ROOST_MIG_MIGRATED);
	assert_int_equal(ask(a, ROOST_MIG_ARMED), -EINVAL);
	assert_int_equal(ask(a, ROOST_MIG_REARM), 0);
	assert_int_equal(ask(a, ROOST_MIG_REARM), 0);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), -EINVAL);
	assert_int_equal(ask(a, ROOST_MIG_ARMED), -EINVAL);
	migrate_rearm(b, 2);
	migrate_traffic(a, b, 2);
	sim_run(sim);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	assert_int_equal(ask(a, ROOST_MIG_ARMED), -EINVAL);
	/* Only a QP in RTS migrates. */
	assert_int_equal(sim_qp_to(a, ROOST_QPS_SQD), 0);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), -EINVAL);
	/* What was loaded is forgotten with everything else. */
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	migrate_expect_state(a, ROOST_MIG_MIGRATED);
	assert_int_equal(sim_qp_to_init(a), 0);
	assert_int_equal(sim_qp_to_rtr(a), 0);
	assert_int_equal(sim_qp_to_rts(a), 0);
	assert_int_equal(ask(a, ROOST_MIG_REARM), -EINVAL);
	sim_free(sim);
}

static int load(struct sim_qp *qp, const struct roost_qp_attr *attr)
{
	return roost_qp_modify(qp->qp, attr, ROOST_QP_ALT_PATH);
}

static void rules__paths_to_load(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct roost_qp_attr good = { .path_mtu = 0 }, bad;
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();

	conf.mtu = ROOST_MTU_4096;
	sim_pair(sim, &conf, &a, &b);
	assert_int_equal(migrate_load(a, 2, &good, 0), 0);
	bad = good;
	bad.alt_port_num = 3;
	bad.alt_av.port_num = 3;
	assert_int_equal(load(a, &bad), -EINVAL);
	bad = good;
	bad.alt_port_num = 1; /* but not the address vector */
	assert_int_equal(load(a, &bad), -EINVAL);
	bad = good;
	bad.alt_timeout = 32;
	assert_int_equal(load(a, &bad), -EINVAL);
	bad = good;
	bad.alt_pkey_index = 1; /* an empty entry */
	assert_int_equal(load(a, &bad), -EINVAL);
	bad = good;
	bad.alt_av.sgid_index = 9;
	assert_int_equal(load(a, &bad), -EINVAL);
	/* The path MTU stays, so it must fit there. */
	roost_port_set_link(a->end->dev, 2, ROOST_PORT_ACTIVE, 1500, 0);
	assert_int_equal(load(a, &good), -EINVAL);
	assert_int_equal(migrate_query(a).alt_port_num, 2);
	/* The same port, by another route. */
	assert_int_equal(migrate_load(a, 1, &good, 0), 0);
	sim_free(sim);
}

/* Along the same addresses: the bit alone makes the peer follow. */
static void rules__alternate_of_the_same_addresses(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();

	sim_pair(sim, NULL, &a, &b);
	migrate_arm(a, b, 1);
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	migrate_traffic(a, b, 3);
	sim_run(sim);
	sim_expect_all_good(a, b);
	migrate_expect_events(a, b, 1);
	assert_int_equal(sim->link2.nb_log[SIM_A], 0);
	sim_free(sim);
}

/* ---- other types ------------------------------------------------------ */

static void uc_traffic(struct sim_qp *qp, int nb)
{
	for (int i = 0; i < nb; i++) {
		const struct sim_msg msg = {
			.opcode = ROOST_WR_SEND_IMM,
			.flags = ROOST_SEND_SIGNALED,
			.imm_be = qp->sends.count,
			.nb_sges = 1,
			.sge_len_bytes = { 5000 },
		};

		sim_recv(qp->peer, 5000);
		sim_send_msg(qp, &msg);
	}
	sim_run(qp->sim);
}

/* No acknowledgement tells the peer: the next request does. */
static void rules__uc(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();
	size_t before;

	conf.type = ROOST_QPT_UC;
	sim_pair(sim, &conf, &a, &b);
	migrate_rearm(a, 2);
	migrate_rearm(b, 2);
	uc_traffic(a, 2);
	migrate_expect_state(a, ROOST_MIG_REARM); /* has heard nothing */
	uc_traffic(b, 2);
	migrate_expect_state(a, ROOST_MIG_ARMED);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	before = sim->link.nb_log[SIM_A];
	assert_int_equal(ask(a, ROOST_MIG_MIGRATED), 0);
	sim_run(sim);
	migrate_expect_state(b, ROOST_MIG_ARMED);
	uc_traffic(a, 3);
	uc_traffic(b, 3);
	sim_expect_all_good(a, b);
	migrate_expect_events(a, b, 1);
	assert_int_equal(sim->link.nb_log[SIM_A], before);
	sim_free(sim);
}

static void xrc_write(struct sim_qp *ini, struct roost_srq *srq,
		      struct sim_slice from, struct sim_slice to)
{
	const struct sim_end *there = ini->peer->end;

	raw_send(ini,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_WRITE,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = (uintptr_t)to.data,
			 .rkey = roost_mr_rkey(there->mr),
			 .xrc_srqn = roost_srq_num(srq),
		 },
		 from);
}

/* The initiator sends requests only, the target answers only. */
static void rules__xrc(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_end *b = &sim->ends[SIM_B];
	struct sim_slice from = raw_random(sim, 50000);
	struct sim_slice to = raw_blank(sim, 50000);
	struct roost_srq_init init = { .max_wr = 4, .max_sge = 1, .cq = b->cq };
	struct roost_srq *srq;
	struct sim_qp *ini, *tgt;

	sim->nobody_polls = true;
	assert_int_equal(roost_xrcd_open(b->ctx, &conf.xrcd), 0);
	init.xrcd = conf.xrcd;
	assert_int_equal(roost_srq_create(b->pd, &init, &srq), 0);
	conf.type = ROOST_QPT_XRC_TGT;
	tgt = sim_qp_new(sim, SIM_B, &conf);
	conf.type = ROOST_QPT_XRC_INI;
	conf.xrcd = NULL;
	ini = sim_qp_new(sim, SIM_A, &conf);
	sim_connect(ini, tgt);
	migrate_rearm(ini, 2);
	migrate_rearm(tgt, 2);
	xrc_write(ini, srq, from, to);
	sim_run(sim);
	raw_expect(ini->end->cq, 1, ROOST_WC_SUCCESS);
	migrate_expect_state(ini, ROOST_MIG_ARMED);
	migrate_expect_state(tgt, ROOST_MIG_ARMED);
	memset(to.data, 0, to.len_bytes);
	xrc_write(ini, srq, from, to);
	sim_run_for(sim, 2 * SIM_US);
	migrate_silence(&sim->link);
	sim_run(sim);
	raw_expect(ini->end->cq, 1, ROOST_WC_SUCCESS);
	assert_memory_equal(to.data, from.data, to.len_bytes);
	migrate_expect_events(ini, tgt, 1);
	sim_qp_destroy(tgt);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	assert_int_equal(roost_xrcd_close(init.xrcd), 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rules__migrated_ignores_the_bit),
	cmocka_unit_test(rules__peer_never_rearms),
	cmocka_unit_test(rules__unknown_path),
	cmocka_unit_test(rules__late_bit_on_the_primary_path),
	cmocka_unit_test(rules__only_what_is_in_sequence_arms),
	cmocka_unit_test(rules__states_to_ask_for),
	cmocka_unit_test(rules__paths_to_load),
	cmocka_unit_test(rules__alternate_of_the_same_addresses),
	cmocka_unit_test(rules__uc),
	cmocka_unit_test(rules__xrc),
};

SIM_MAIN("sim-apm-rules", tests)
