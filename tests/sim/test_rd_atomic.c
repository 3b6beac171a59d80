/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests with a response, where order and time matter. */

#include <string.h>

#include "tests/sim/common.h"
#include "tests/sim/world.h"

#define SIGNALED ROOST_SEND_SIGNALED
#define READS (ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_READ)

static uint64_t drops(struct sim *sim, int side, enum roost_drop reason)
{
	return sim_counters(sim, side)->drops[reason];
}

/* A READ, or a first part of one, as the peer of qp sends it. */
static void forge_read(struct sim_qp *qp, uint32_t psn, uint64_t va,
		       uint32_t rkey, uint32_t len_bytes)
{
	struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_READ_REQ,
		.migreq = true,
		.ackreq = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};
	uint8_t reth[ROOST_RETH_LEN];

	roost_reth_put(reth, va, rkey, len_bytes);
	sim_forge(qp, &bth, reth, sizeof(reth));
}

/* ---- limits and fences --------------------------------------------------- */

struct outstanding {
	unsigned int now, most;
};

static bool count_reads(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg)
{
	struct outstanding *o = arg;

	(void)sim;
	if (side == SIM_A && pkt->info->op == ROOST_OP_READ_REQ)
		o->now++;
	if (side == SIM_B && pkt->info->op == ROOST_OP_READ_RESP &&
	    pkt->info->flags & ROOST_OPF_LAST)
		o->now--;
	if (o->now > o->most)
		o->most = o->now;
	return true;
}

static void rd_atomic__max_is_the_limit(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (conf.rd_atomic = 1; conf.rd_atomic <= 16; conf.rd_atomic++) {
		struct outstanding o = { 0 };
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		sim->link.filter = count_reads;
		sim->link.filter_arg = &o;
		sim_pair(sim, &conf, &a, &b);
		for (int i = 0; i < 50; i++)
			sim_do_op(a, ROOST_WR_READ, 3000);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(o.most, conf.rd_atomic);
		sim_free(sim);
	}
}

/* A fenced request waits for the data of those before; others overtake. */
static void rd_atomic__fence(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct sim_msg msg = sim_op(ROOST_WR_WRITE, 10);

	sim_pair(sim, NULL, &a, &b);
	sim->link.faults[SIM_B].carrier_off = true;
	sim_do_op(a, ROOST_WR_READ, 10);
	sim_send_msg(a, &msg);
	msg.flags |= ROOST_SEND_FENCE;
	sim_send_msg(a, &msg);
	sim_send_msg(a, &msg);
	sim_turn(sim);
	assert_int_equal(sim->link.nb_log[SIM_A], 2);
	sim_run_for(sim, 10 * SIM_US);
	assert_int_equal(sim->link.nb_log[SIM_A], 2);
	sim->link.faults[SIM_B].carrier_off = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- what is lost in the middle ------------------------------------------ */

struct victim {
	uint32_t psn;
	unsigned int left;
};

static bool lose_response(struct sim *sim, int side,
			  const struct roost_pkt *pkt, void *arg)
{
	struct victim *v = arg;

	(void)sim;
	if (side != SIM_B || pkt->psn.v != v->psn || v->left == 0)
		return true;
	v->left--;
	return false;
}

/* It is asked for again from where it is missing, and no earlier. */
static void rd_atomic__response_lost_in_the_middle(void **state)
{
	for (uint32_t k = 0; k < 16; k++) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;
		struct victim v = { .left = 1 };
		size_t n;

		sim_pair(sim, NULL, &a, &b);
		v.psn = (a->sq_psn + k) & ROOST_PSN_MASK;
		sim->link.filter = lose_response;
		sim->link.filter_arg = &v;
		sim_do_op(a, ROOST_WR_READ, 16 * 1024);
		sim_do_op(a, ROOST_WR_READ, 10);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(v.left, 0);
		n = sim->link.nb_log[SIM_A];
		assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
		assert_int_equal(n, 4);
		assert_int_equal(sim->link.log[SIM_A][2].psn.v, v.psn);
		sim_free(sim);
	}
}

/* ---- what comes again ---------------------------------------------------- */

/* Every part of a READ that was answered, as an answer of its own. */
static void rd_atomic__duplicate_read_of_any_part(void **state)
{
	static const uint8_t opcodes[2][2] = {
		{ ROOST_OPCODE_RC_READ_RESP_FIRST,
		  ROOST_OPCODE_RC_READ_RESP_ONLY },
		{ ROOST_OPCODE_RC_READ_RESP_MIDDLE,
		  ROOST_OPCODE_RC_READ_RESP_LAST },
	};
	const uint32_t len = 5000;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	const uint8_t *from;

	sim_pair(sim, NULL, &a, &b);
	sim_do_op(a, ROOST_WR_READ, len);
	sim_run(sim);
	from = a->sends.wr[0].remote.data;
	for (uint32_t at = 0; at < 5; at++)
		for (uint32_t part = 0; at * 1024 + part <= len; part += 500) {
			uint32_t psns = part == 0 ? 1 : (part + 1023) / 1024;
			size_t n = sim->link.nb_log[SIM_B];
			const struct sim_sent *sent;

			forge_read(b, a->sq_psn + at,
				   (uintptr_t)from + at * 1024,
				   roost_mr_rkey(b->end->mr), part);
			sim_turn(sim);
			assert_int_equal(sim->link.nb_log[SIM_B], n + psns);
			sent = &sim->link.log[SIM_B][n];
			for (uint32_t i = 0; i < psns; i++) {
				bool last = i == psns - 1;

				assert_int_equal(sent[i].psn.v,
						 (a->sq_psn + at + i) &
							 ROOST_PSN_MASK);
				assert_int_equal(sent[i].opcode,
						 opcodes[i != 0][last]);
			}
		}
	/* And the slot is free for the next one. */
	sim_do_op(a, ROOST_WR_READ, len);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* A READ comes again while a WRITE is coming in: it is served, and the WRITE
 * goes on.
 */
static void rd_atomic__duplicate_read_inside_a_write(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	const struct sim_wr *wr;
	size_t before;

	conf.timeout = 20;
	sim_pair(sim, &conf, &a, &b);
	sim_do_op(a, ROOST_WR_READ, 3000);
	sim_run(sim);
	wr = &a->sends.wr[0];
	sim_do_op(a, ROOST_WR_WRITE, 100 * 1024);
	sim_run_for(sim, 4 * SIM_US);
	before = sim->link.nb_log[SIM_B];
	forge_read(b, a->sq_psn, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 3000);
	forge_read(b, a->sq_psn + 1, (uintptr_t)wr->remote.data + 1024,
		   roost_mr_rkey(b->end->mr), 3000 - 1024);
	sim_expect_send_open(a, 1);
	sim_turn(sim);
	/* The later one is enough. */
	assert_in_range(sim->link.nb_log[SIM_B], before + 2, before + 6);
	sim_run(sim);
	sim_expect_all_good(a, b);
	/* Another place than the one that was asked for. */
	before = drops(sim, SIM_B, ROOST_DROP_DUPLICATE);
	forge_read(b, a->sq_psn, (uintptr_t)wr->remote.data + 1,
		   roost_mr_rkey(b->end->mr), 3000);
	forge_read(b, a->sq_psn, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 3001);
	forge_read(b, a->sq_psn + 1, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 3000);
	forge_read(b, a->sq_psn, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr) + 1, 3000);
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_B, ROOST_DROP_DUPLICATE), before + 4);
	sim_free(sim);
}

/* The answer came late, so the READ was sent again; then it comes together
 * with the next one. It takes no slot from that.
 */
static void rd_atomic__duplicate_read_with_the_next(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	const struct sim_wr *wr;

	conf.rd_atomic = 1;
	sim_pair(sim, &conf, &a, &b);
	sim_do_op(a, ROOST_WR_READ, 3000);
	sim_run(sim);
	wr = &a->sends.wr[0];
	forge_read(b, a->sq_psn, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 3000);
	forge_read(b, a->sq_psn + 3, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 100);
	sim_turn(sim);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 0);
	/* Two that were never answered are one too many. */
	forge_read(b, a->sq_psn + 4, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 100);
	forge_read(b, a->sq_psn + 5, (uintptr_t)wr->remote.data,
		   roost_mr_rkey(b->end->mr), 100);
	sim_turn(sim);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	assert_int_equal(b->async[ROOST_EVENT_QP_REQ_ERR], 1);
	sim_free(sim);
}

/* ---- the region goes away ------------------------------------------------ */

/* One iteration of one side only. */
static void iterate(struct sim_end *end)
{
	assert_true(roost_worker_turn_try(end->worker));
	roost_worker_iterate(end->worker, end->sim->now_ns);
	roost_worker_turn_release(end->worker);
}

static void rd_atomic__region_goes_during_the_answer(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 1u << 20);
	struct sim_msg msg = sim_op(ROOST_WR_READ, 1u << 20);
	struct sim_qp *a, *b;
	struct roost_mr *mr = sim_reg(&sim->ends[SIM_B], slice, READS);

	conf.timeout = 14;
	sim_pair(sim, &conf, &a, &b);
	a->no_data_check = true;
	sim_do_op(a, ROOST_WR_READ, 10);
	msg.remote = (uintptr_t)slice.data;
	msg.rkey = roost_mr_rkey(mr);
	sim_send_msg(a, &msg);
	sim_do_op(a, ROOST_WR_READ, 10);
	iterate(&sim->ends[SIM_A]);
	sim->now_ns += 10 * SIM_US;
	/* What is owed goes out in the iteration after. */
	iterate(&sim->ends[SIM_B]);
	iterate(&sim->ends[SIM_B]);
	assert_in_range(sim->link.nb_log[SIM_B], 2, 1000);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(a, 1, ROOST_WC_REM_ACCESS_ERR);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR], 1);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

/* A READ that was answered comes again when its region is gone: nobody is
 * told, and the connection lives.
 */
static void rd_atomic__duplicate_read_of_a_region_that_is_gone(void **state)
{
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 4000);
	struct sim_msg msg = sim_op(ROOST_WR_READ, 4000);
	struct sim_qp *a, *b;
	struct roost_mr *mr = sim_reg(&sim->ends[SIM_B], slice, READS);
	uint32_t rkey = roost_mr_rkey(mr);
	size_t before;

	sim_pair(sim, NULL, &a, &b);
	msg.remote = (uintptr_t)slice.data;
	msg.rkey = rkey;
	sim_send_msg(a, &msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(roost_mr_dereg(mr), 0);
	before = sim->link.nb_log[SIM_B];
	forge_read(b, a->sq_psn, msg.remote, rkey, 4000);
	forge_read(b, a->sq_psn + 2, msg.remote + 2048, rkey, 4000 - 2048);
	sim_turn(sim);
	assert_int_equal(sim->link.nb_log[SIM_B], before);
	assert_int_equal(drops(sim, SIM_B, ROOST_DROP_DUPLICATE), 2);
	sim_do_op(a, ROOST_WR_READ, 10);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Every packet of a WRITE asks for the region anew. */
static void rd_atomic__region_goes_during_a_write(void **state)
{
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 1u << 20);
	struct sim_msg msg = sim_op(ROOST_WR_WRITE, 1u << 20);
	struct sim_qp *a, *b;
	struct roost_mr *mr =
		sim_reg(&sim->ends[SIM_B], slice,
			ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE);

	sim->link.faults[SIM_A].take_max = 8;
	sim_pair(sim, NULL, &a, &b);
	msg.remote = (uintptr_t)slice.data;
	msg.rkey = roost_mr_rkey(mr);
	sim_send_msg(a, &msg);
	sim_run_for(sim, 20 * SIM_US);
	assert_int_equal(roost_mr_dereg(mr), 0);
	memset(slice.data, 0, slice.len_bytes);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_REM_ACCESS_ERR);
	assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR], 1);
	for (uint32_t i = 0; i < slice.len_bytes; i++)
		assert_int_equal(slice.data[i], 0);
	sim_free(sim);
}

/* ---- atomics ------------------------------------------------------------- */

/* From two QPs onto one number, with every third frame lost or doubled. */
static void rd_atomic__atomics_execute_once(void **state)
{
	struct sim *sim = sim_new();
	struct sim_faults faults = {
		.drop_ppm = 150000,
		.dup_ppm = 200000,
		.drop_nth = -1,
		.reorder_pkts = 8,
		.delay_ns = 2 * SIM_US,
	};
	struct sim_slice sum;
	struct sim_qp *a[2], *b[2];
	uint64_t seen[2][100], total = 0;

	sim->arena_used = 64;
	sum = sim_arena_take(sim, 8);
	sim_set_faults(sim, &faults);
	for (int i = 0; i < 2; i++)
		sim_pair(sim, NULL, &a[i], &b[i]);
	for (int n = 0; n < 100; n++) {
		for (int i = 0; i < 2; i++) {
			struct sim_msg msg = sim_op(ROOST_WR_FETCH_ADD, 8);

			msg.remote = (uintptr_t)sum.data;
			memset(sum.data, 0, n == 0 ? 8 : 0);
			sim_send_msg(a[i], &msg);
		}
	}
	sim_run(sim);
	memcpy(&total, sum.data, 8);
	assert_int_equal(total, 200);
	/* Each number was handed out once, and in order. */
	for (int i = 0; i < 2; i++) {
		sim_expect_all_good(a[i], b[i]);
		for (int n = 0; n < 100; n++) {
			memcpy(&seen[i][n], a[i]->sends.wr[n].slices[0].data,
			       8);
			assert_true(n == 0 || seen[i][n] > seen[i][n - 1]);
		}
	}
	for (int n = 0; n < 100; n++)
		for (int m = 0; m < 100; m++)
			assert_int_not_equal(seen[0][n], seen[1][m]);
	sim_free(sim);
}

/* Memory that is aligned for the peer need not be so here. */
static void rd_atomic__atomic_on_odd_memory(void **state)
{
	struct sim *sim = sim_new();
	struct sim_slice slice = sim_arena_take(sim, 4096);
	struct sim_qp *a, *b;
	struct sim_msg msg = sim_op(ROOST_WR_FETCH_ADD, 8);
	uint64_t v = 41;
	struct roost_mr *mr;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(roost_mr_reg(b->end->pd, slice.data + 3, 1024, 0x1000,
				      ROOST_ACCESS_LOCAL_WRITE |
					      ROOST_ACCESS_REMOTE_WRITE |
					      ROOST_ACCESS_REMOTE_ATOMIC,
				      &mr),
			 0);
	memcpy(slice.data + 3 + 8, &v, 8);
	msg.remote = 0x1008;
	msg.rkey = roost_mr_rkey(mr);
	sim_send_msg(a, &msg);
	msg.opcode = ROOST_WR_CMP_SWAP;
	msg.compare = 42;
	msg.swap_add = 100;
	sim_send_msg(a, &msg);
	msg.opcode = ROOST_WR_ATOMIC_WRITE;
	msg.remote = 0x1010;
	sim_send_msg(a, &msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	memcpy(&v, slice.data + 3 + 8, 8);
	assert_int_equal(v, 100);
	assert_memory_equal(slice.data + 3 + 16, a->sends.wr[2].slices[0].data,
			    8);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rd_atomic__max_is_the_limit),
	cmocka_unit_test(rd_atomic__fence),
	cmocka_unit_test(rd_atomic__response_lost_in_the_middle),
	cmocka_unit_test(rd_atomic__duplicate_read_of_any_part),
	cmocka_unit_test(rd_atomic__duplicate_read_inside_a_write),
	cmocka_unit_test(rd_atomic__duplicate_read_with_the_next),
	SIM_TEST_ONE_WORKER(rd_atomic__region_goes_during_the_answer),
	cmocka_unit_test(rd_atomic__duplicate_read_of_a_region_that_is_gone),
	cmocka_unit_test(rd_atomic__region_goes_during_a_write),
	cmocka_unit_test(rd_atomic__atomics_execute_once),
	cmocka_unit_test(rd_atomic__atomic_on_odd_memory),
};

SIM_MAIN("sim-rd-atomic", tests)
