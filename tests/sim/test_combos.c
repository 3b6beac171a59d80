/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What one finds only where two features meet. */

#include <errno.h>
#include <string.h>

#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define SIGNALED ROOST_SEND_SIGNALED
#define GRH_BYTES 40u
#define NB_XRC_SRQS 64u

static struct sim_faults ten_percent(void)
{
	return (struct sim_faults){
		.drop_ppm = 100000,
		.drop_nth = -1,
		.delay_ns = 2 * SIM_US,
	};
}

/* ---- SQD and answers that are missing ------------------------------------ */

static void post(struct sim_qp *qp, enum roost_wr_opcode opcode,
		 uint32_t len_bytes)
{
	sim_send_msg(qp, &(struct sim_msg){ .opcode = opcode,
					    .flags = SIGNALED,
					    .nb_sges = 1,
					    .sge_len_bytes = { len_bytes },
					    .swap_add = 3 });
}

/* Drained is when the last answer is here, not when the last request is out;
 * those that wait for a free slot have not begun, and stay.
 */
static void combos__sqd_waits_for_answers(void **state)
{
	struct roost_qp_attr sqd = { .state = ROOST_QPS_SQD,
				     .en_sqd_async_notify = true };

	for (int loss = 0; loss < 2; loss++) {
		struct sim *sim = sim_new();
		struct sim_faults faults = ten_percent();
		struct sim_qp *a, *b;

		if (loss)
			sim_set_faults(sim, &faults);
		sim_pair(sim, NULL, &a, &b);
		for (int i = 0; i < 10; i++)
			post(a, i % 2 ? ROOST_WR_FETCH_ADD : ROOST_WR_READ,
			     i % 2 ? 8 : 40000);
		sim->link.faults[SIM_B].carrier_off = true;
		sim_turn(sim);
		assert_int_equal(
			roost_qp_modify(a->qp, &sqd,
					ROOST_QP_STATE |
						ROOST_QP_EN_SQD_ASYNC_NOTIFY),
			0);
		sim_run_for(sim, 500 * SIM_US);
		assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 0);
		sim->link.faults[SIM_B].carrier_off = false;
		sim_run_for(sim, SIM_S);
		assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
		for (uint32_t i = 0; i < sim_qp_conf_default.rd_atomic; i++)
			sim_expect_send(a, i, ROOST_WC_SUCCESS);
		sim_expect_send_open(a, sim_qp_conf_default.rd_atomic);
		assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
		sim_run(sim);
		sim_expect_all_good(a, b);
		sim_check_counter(a);
		sim_free(sim);
	}
}

/* ---- atomics among READs ------------------------------------------------- */

/* Four QPs add one each to the same number, between READs of all lengths, and
 * of all frames ten percent are lost: each number is handed out once.
 */
static void combos__atomics_among_reads_execute_once(void **state)
{
	enum {
		QPS = 4,
		ADDS = 60
	};
	struct sim *sim = sim_new();
	struct sim_faults faults = ten_percent();
	struct sim_slice sum;
	struct sim_qp *a[QPS], *b[QPS];
	bool seen[QPS * ADDS] = { false };
	uint64_t total;

	sim->arena_used = 64;
	sum = raw_blank(sim, 8);
	memset(sum.data, 0, 8);
	faults.dup_ppm = 50000;
	faults.reorder_pkts = 4;
	sim_set_faults(sim, &faults);
	for (unsigned int i = 0; i < QPS; i++) {
		struct sim_qp_conf conf = sim_qp_conf_default;

		conf.rd_atomic = (uint8_t)(1u << i);
		sim_pair(sim, &conf, &a[i], &b[i]);
	}
	for (int n = 0; n < ADDS; n++) {
		for (int i = 0; i < QPS; i++) {
			post(a[i], ROOST_WR_READ,
			     (uint32_t)sim_random_below(&sim->rng, 9000));
			sim_send_msg(a[i],
				     &(struct sim_msg){
					     .opcode = ROOST_WR_FETCH_ADD,
					     .flags = SIGNALED,
					     .nb_sges = 1,
					     .sge_len_bytes = { 8 },
					     .swap_add = 1,
					     .remote = (uintptr_t)sum.data });
		}
	}
	sim_run(sim);
	memcpy(&total, sum.data, 8);
	assert_int_equal(total, QPS * ADDS);
	for (int i = 0; i < QPS; i++) {
		sim_expect_all_good(a[i], b[i]);
		for (uint32_t n = 1; n < a[i]->sends.count; n += 2) {
			uint64_t orig;

			memcpy(&orig, a[i]->sends.wr[n].slices[0].data, 8);
			assert_true(orig < QPS * ADDS);
			assert_false(seen[orig]);
			seen[orig] = true;
		}
	}
	sim_free(sim);
}

/* ---- shared receive queues ----------------------------------------------- */

/* Datagrams to two QPs take from one queue; an empty one drops them, and says
 * nothing.
 */
static void combos__srq_under_ud(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default, with;
	struct sim *sim = sim_new();
	struct sim_end *b = &sim->ends[SIM_B];
	struct roost_srq *srq = sim_srq_new(b, NULL, 16);
	struct roost_ah *ah = raw_ah(&sim->ends[SIM_A], &b->gid);
	struct sim_slice out[10], in[8];
	struct sim_qp *a, *to[2];

	sim->nobody_polls = true;
	conf.type = ROOST_QPT_UD;
	with = conf;
	with.srq = srq;
	a = sim_qp_new(sim, SIM_A, &conf);
	for (int i = 0; i < 2; i++) {
		to[i] = sim_qp_new(sim, SIM_B, &with);
		sim_connect(a, to[i]);
		/* It begins there again. */
		if (i == 0)
			assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	}
	assert_int_equal(roost_srq_set_limit(srq, 4), 0);
	for (uint64_t i = 0; i < 8; i++) {
		in[i] = raw_blank(sim, GRH_BYTES + 1000);
		raw_srq_recv(b, srq, i, in[i]);
	}
	for (uint64_t i = 0; i < 10; i++) {
		out[i] = raw_random(sim, 900);
		raw_send(a,
			 (struct roost_send_wr){ .wr_id = 50 + i,
						 .opcode = ROOST_WR_SEND,
						 .flags = SIGNALED,
						 .ah = ah,
						 .dest_qpn = to[i % 2]->qpn,
						 .qkey = conf.qkey },
			 out[i]);
	}
	sim_run_for(sim, SIM_MS);
	for (uint64_t i = 0; i < 10; i++) {
		struct roost_cqe cqe;

		raw_expect(a->end->cq, 50 + i, ROOST_WC_SUCCESS);
		if (i >= 8)
			continue;
		cqe = raw_expect(b->cq, i, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.qpn, to[i % 2]->qpn);
		assert_memory_equal(in[i].data + GRH_BYTES, out[i].data, 900);
		raw_assert_blank(in[i], GRH_BYTES + 900);
	}
	raw_expect_nothing(b->cq);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_RNR_WAIT],
			 2);
	sim_poll(sim);
	assert_int_equal(b->other_async[ROOST_EVENT_SRQ_LIMIT_REACHED], 1);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_qp_destroy(to[0]);
	sim_qp_destroy(to[1]);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	sim_free(sim);
}

/* A message of UC that is cut off gives nothing of the queue away: what it had
 * taken serves the next one.
 */
static void combos__srq_under_uc(void **state)
{
	enum {
		MSGS = 20,
		PACKETS = 3
	};
	struct sim_qp_conf conf = sim_qp_conf_default, with;

	conf.type = ROOST_QPT_UC;
	for (int64_t lost = 0; lost < PACKETS; lost++) {
		struct sim *sim = sim_new();
		struct sim_end *b = &sim->ends[SIM_B];
		struct roost_srq *srq = sim_srq_new(b, NULL, MSGS);
		struct sim_slice out[MSGS], in[MSGS];
		struct sim_qp *from, *to;

		sim->nobody_polls = true;
		with = conf;
		with.srq = srq;
		from = sim_qp_new(sim, SIM_A, &conf);
		to = sim_qp_new(sim, SIM_B, &with);
		sim_connect(from, to);
		sim->link.faults[SIM_A].drop_nth = 5 * PACKETS + lost;
		for (uint64_t i = 0; i < MSGS; i++) {
			out[i] = raw_random(sim, 2500);
			in[i] = raw_blank(sim, 3000);
			raw_srq_recv(b, srq, i, in[i]);
			raw_send(from,
				 (struct roost_send_wr){
					 .opcode = ROOST_WR_SEND },
				 out[i]);
		}
		sim_run_for(sim, SIM_MS);
		for (uint64_t i = 0; i < MSGS - 1; i++) {
			raw_expect(b->cq, i, ROOST_WC_SUCCESS);
			assert_memory_equal(in[i].data,
					    out[i < 5 ? i : i + 1].data, 2500);
		}
		raw_expect_nothing(b->cq);
		sim_qp_destroy(to);
		assert_int_equal(roost_srq_destroy(srq, NULL), 0);
		sim_free(sim);
	}
}

/* ---- XRC ----------------------------------------------------------------- */

/* One pair reaches many queues, over a bad link; each message comes to the one
 * that it names, in order.
 */
static void combos__xrc_with_many_srqs(void **state)
{
	enum {
		MSGS = 200
	};
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_faults faults = ten_percent();
	struct sim_end *b = &sim->ends[SIM_B];
	struct roost_srq *srqs[NB_XRC_SRQS];
	struct sim_slice in[MSGS], out[MSGS];
	struct roost_xrcd *xrcd;
	struct sim_qp *ini, *tgt;

	sim->nobody_polls = true;
	assert_int_equal(roost_xrcd_open(b->ctx, &xrcd), 0);
	conf.type = ROOST_QPT_XRC_INI;
	ini = sim_qp_new(sim, SIM_A, &conf);
	conf.type = ROOST_QPT_XRC_TGT;
	conf.xrcd = xrcd;
	tgt = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(ini, tgt);
	sim_set_faults(sim, &faults);
	for (unsigned int i = 0; i < NB_XRC_SRQS; i++)
		srqs[i] = sim_srq_new(b, xrcd, 64);
	for (uint64_t i = 0; i < MSGS; i++) {
		uint64_t which = sim_random_below(&sim->rng, NB_XRC_SRQS);

		out[i] = raw_random(sim, (uint32_t)sim_random_below(&sim->rng,
								    5000));
		in[i] = raw_blank(sim, 5000);
		raw_srq_recv(b, srqs[which], i, in[i]);
		raw_send(ini,
			 (struct roost_send_wr){
				 .wr_id = i,
				 .opcode = ROOST_WR_SEND,
				 .flags = SIGNALED,
				 .xrc_srqn = roost_srq_num(srqs[which]) },
			 out[i]);
	}
	sim_run(sim);
	for (uint64_t i = 0; i < MSGS; i++) {
		raw_expect(ini->end->cq, i, ROOST_WC_SUCCESS);
		raw_expect(b->cq, i, ROOST_WC_SUCCESS);
		assert_memory_equal(in[i].data, out[i].data, out[i].len_bytes);
		raw_assert_blank(in[i], out[i].len_bytes);
	}
	sim_qp_destroy(tgt);
	for (unsigned int i = 0; i < NB_XRC_SRQS; i++)
		assert_int_equal(roost_srq_destroy(srqs[i], NULL), 0);
	assert_int_equal(roost_xrcd_close(xrcd), 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(combos__sqd_waits_for_answers),
	cmocka_unit_test(combos__atomics_among_reads_execute_once),
	SIM_TEST_ONE_WORKER(combos__srq_under_ud),
	cmocka_unit_test(combos__srq_under_uc),
	cmocka_unit_test(combos__xrc_with_many_srqs),
};

SIM_MAIN("sim-combos", tests)
