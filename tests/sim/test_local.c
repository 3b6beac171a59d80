/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests without packets, and requests that cannot be sent. */

#include "tests/sim/common.h"
#include "tests/sim/world.h"

#define SIGNALED ROOST_SEND_SIGNALED
#define READS (ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_READ)

/* Frames of one opcode that a side has sent. */
static unsigned int nb_sent(struct sim *sim, int side, uint8_t opcode)
{
	unsigned int n = 0;

	for (size_t i = 0; i < sim->link.nb_log[side]; i++)
		n += sim->link.log[side][i].opcode == opcode;
	return n;
}

static void bind_msg(struct sim_msg *msg, struct roost_mw *mw,
		     struct sim_qp *qp, struct sim_slice slice, uint8_t tag)
{
	*msg = (struct sim_msg){
		.opcode = ROOST_WR_BIND_MW,
		.flags = SIGNALED,
		.bind = {
			.mw = mw,
			.mr = qp->end->mr,
			.addr = (uintptr_t)slice.data,
			.len_bytes = slice.len_bytes,
			.access = ROOST_ACCESS_REMOTE_WRITE |
				  ROOST_ACCESS_REMOTE_READ,
			.rkey = (roost_mw_rkey(mw) & ~0xffu) | tag,
		},
	};
}

static void local__keeps_the_order(void **state)
{
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 100);
	struct sim_qp *a, *b;
	struct sim_msg msg,
		inv = { .opcode = ROOST_WR_LOCAL_INV, .flags = SIGNALED };
	struct roost_mw *mw;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(roost_mw_alloc(a->end->pd, 2, &mw), 0);
	sim->link.faults[SIM_B].carrier_off = true;
	sim_do_op(a, ROOST_WR_WRITE, 3000);
	for (uint8_t tag = 1; tag < 20; tag++) {
		bind_msg(&msg, mw, a, slice, tag);
		sim_send_msg(a, &msg);
		if (tag % 3 == 0)
			sim_do_op(a, ROOST_WR_READ, 2000);
		inv.imm_be = msg.bind.rkey;
		sim_send_msg(a, &inv);
	}
	sim_do_op(a, ROOST_WR_FETCH_ADD, 8);
	sim_run_for(sim, 10 * SIM_US);
	/* They wait for what stands before them. */
	sim_expect_send_open(a, 1);
	sim->link.faults[SIM_B].carrier_off = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	/* Alone, they need no peer. */
	sim->link.faults[SIM_A].carrier_off = true;
	bind_msg(&msg, mw, a, slice, 77);
	sim_expect_send_open(a, sim_send_msg(a, &msg));
	sim_turn(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(roost_mw_dealloc(mw), 0);
	sim_free(sim);
}

/* A local request that fails does so in its turn. */
static void local_fault(bool in_flight)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct sim_msg inv = { .opcode = ROOST_WR_LOCAL_INV,
			       .flags = SIGNALED,
			       .imm_be = 0xbad };

	sim_pair(sim, NULL, &a, &b);
	if (in_flight) {
		sim_do_op(a, ROOST_WR_WRITE, 3000);
		sim_do_op(a, ROOST_WR_READ, 3000);
	}
	sim_send_msg(a, &inv);
	sim_do_op(a, ROOST_WR_WRITE, 10);
	sim_run(sim);
	if (in_flight) {
		sim_expect_send(a, 0, ROOST_WC_SUCCESS);
		sim_expect_send(a, 1, ROOST_WC_SUCCESS);
	}
	sim_expect_send(a, in_flight ? 2 : 0, ROOST_WC_MW_BIND_ERR);
	sim_expect_send(a, in_flight ? 3 : 1, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	sim_free(sim);
}

static void local__fails_in_its_turn(void **state)
{
	local_fault(false);
	local_fault(true);
}

/* The memory of a request goes before it is sent again: it fails. */
static void local__memory_goes_before_it_is_sent_again(void **state)
{
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 3000);
	struct sim_slice there = sim_arena_take(sim, 3000);
	struct sim_qp *a, *b;
	struct roost_mr *mr = sim_reg(&sim->ends[SIM_A], slice, READS);
	struct roost_sge sge = { (uintptr_t)slice.data, 3000,
				 roost_mr_lkey(mr) };
	struct roost_send_wr wr = {
		.sges = &sge,
		.nb_sges = 1,
		.opcode = ROOST_WR_WRITE,
		.flags = SIGNALED,
		.remote_addr = (uintptr_t)there.data,
	};
	struct roost_cqe cqes[4];

	sim->nobody_polls = true;
	sim_pair(sim, NULL, &a, &b);
	wr.rkey = roost_mr_rkey(b->end->mr);
	sim->link.faults[SIM_A].carrier_off = true;
	roost_qp_send_begin(a->qp);
	assert_int_equal(roost_qp_send_add(a->qp, &wr), 0);
	roost_qp_send_end(a->qp);
	sim_turn(sim);
	sim_run_for(sim, 10 * SIM_US);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim->link.faults[SIM_A].carrier_off = false;
	sim_run_for(sim, 100 * SIM_MS);
	assert_int_equal(roost_cq_poll(a->end->cq, 4, cqes), 1);
	assert_int_equal(cqes[0].status, ROOST_WC_LOC_PROT_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	sim_free(sim);
}

static bool lose_writes(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg)
{
	(void)sim;
	(void)arg;
	return !(side == SIM_A && pkt->info->op == ROOST_OP_WRITE);
}

/* Two requests: the first is still open when the second meets its fault; both
 * are acknowledged after all.
 */
static void local__fault_is_overtaken_by_the_ack(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 100);
	struct sim_qp *a, *b;
	struct roost_mr *mr = sim_reg(&sim->ends[SIM_A], slice, READS);
	struct sim_msg first = sim_op(ROOST_WR_WRITE, 10);
	struct roost_sge sge = { (uintptr_t)slice.data, 100,
				 roost_mr_lkey(mr) };
	struct roost_send_wr wr = {
		.wr_id = 77,
		.sges = &sge,
		.nb_sges = 1,
		.opcode = ROOST_WR_WRITE,
		.flags = SIGNALED,
	};
	struct sim_slice there = sim_arena_take(sim, 100);
	struct roost_cqe cqes[4];

	conf.timeout = 18;
	sim->nobody_polls = true;
	sim->link.filter = lose_writes;
	sim_pair(sim, &conf, &a, &b);
	wr.remote_addr = (uintptr_t)there.data;
	wr.rkey = roost_mr_rkey(b->end->mr);
	sim_send_msg(a, &first);
	roost_qp_send_begin(a->qp);
	assert_int_equal(roost_qp_send_add(a->qp, &wr), 0);
	roost_qp_send_end(a->qp);
	sim_turn(sim);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
	sim_turn(sim);
	assert_int_equal(roost_cq_poll(a->end->cq, 4, cqes), 0);
	sim_forge_ack(a, 0x1f, a->sq_psn + 1);
	sim_turn(sim);
	assert_int_equal(roost_cq_poll(a->end->cq, 4, cqes), 2);
	assert_int_equal(cqes[1].status, ROOST_WC_SUCCESS);
	/* It is not stuck. */
	sim->link.filter = NULL;
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	sim_do_op(a, ROOST_WR_WRITE, 10);
	sim_turn(sim);
	assert_true(nb_sent(sim, SIM_A, ROOST_OPCODE_RC_WRITE_ONLY) >= 4);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(local__keeps_the_order),
	cmocka_unit_test(local__fails_in_its_turn),
	cmocka_unit_test(local__memory_goes_before_it_is_sent_again),
	cmocka_unit_test(local__fault_is_overtaken_by_the_ack),
};

SIM_MAIN("sim-local", tests)
