/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A request that faults is answered after the answers to what came before it,
 * and what was executed is acknowledged.
 */

#include <roost/mr.h>
#include <roost/srq.h>
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#define BAD_KEY 0x12345678u

static uint32_t post(struct sim_qp *qp, enum roost_wr_opcode opcode,
		     uint32_t len_bytes)
{
	return sim_send_msg(qp, &(struct sim_msg){
					.opcode = opcode,
					.flags = ROOST_SEND_SIGNALED,
					.nb_sges = 1,
					.sge_len_bytes = { len_bytes },
					.swap_add = 1,
				});
}

/* ---- what faults -------------------------------------------------------- */

static void write_bad_key(struct sim_qp *qp)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = ROOST_WR_WRITE,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { 100 },
				 .remote = 4096,
				 .rkey = BAD_KEY,
			 });
}

static void read_bad_key(struct sim_qp *qp)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = ROOST_WR_READ,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { 100 },
				 .remote = 4096,
				 .rkey = BAD_KEY,
			 });
}

/* Not aligned. */
static void atomic_unaligned(struct sim_qp *qp)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = ROOST_WR_FETCH_ADD,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { 8 },
				 .remote = (uintptr_t)qp->sim->arena + 4,
				 .rkey = roost_mr_rkey(qp->peer->end->mr),
			 });
}

/* Longer than the receive that is posted. */
static void send_too_long(struct sim_qp *qp)
{
	sim_recv(qp->peer, 10);
	sim_send(qp, 11);
}

static void send_to_bad_lkey(struct sim_qp *qp)
{
	sim_recv_msg(qp->peer, &(struct sim_msg){
				       .nb_sges = 1,
				       .sge_len_bytes = { 100 },
				       .lkey = BAD_KEY,
			       });
	sim_send(qp, 100);
}

static const struct {
	void (*post)(struct sim_qp *qp);
	enum roost_wc_status status;
	uint8_t syndrome;
	bool takes_receive;
} faults[] = {
	{ write_bad_key, ROOST_WC_REM_ACCESS_ERR, ROOST_NAK_REM_ACCESS, false },
	{ read_bad_key, ROOST_WC_REM_ACCESS_ERR, ROOST_NAK_REM_ACCESS, false },
	{ atomic_unaligned, ROOST_WC_REM_INV_REQ_ERR, ROOST_NAK_INV_REQ,
	  false },
	{ send_too_long, ROOST_WC_REM_INV_REQ_ERR, ROOST_NAK_INV_REQ, true },
	{ send_to_bad_lkey, ROOST_WC_REM_OP_ERR, ROOST_NAK_REM_OP, true },
};
#define NB_FAULTS (sizeof(faults) / sizeof(faults[0]))

/* ---- what came before --------------------------------------------------- */

static void one_atomic(struct sim_qp *qp)
{
	post(qp, ROOST_WR_FETCH_ADD, 8);
}

static void one_read(struct sim_qp *qp)
{
	post(qp, ROOST_WR_READ, 100);
}

/* Longer than what goes at once. */
static void long_reads(struct sim_qp *qp)
{
	post(qp, ROOST_WR_READ, 300000);
	post(qp, ROOST_WR_READ, 200000);
}

static void sends(struct sim_qp *qp)
{
	for (int i = 0; i < 3; i++) {
		sim_recv(qp->peer, 3000);
		sim_send(qp, 3000);
	}
}

static void mixed(struct sim_qp *qp)
{
	post(qp, ROOST_WR_READ, 70000);
	sends(qp);
	one_atomic(qp);
	sends(qp);
	one_read(qp);
	one_atomic(qp);
	post(qp, ROOST_WR_WRITE, 5000);
}

static void (*const firsts[])(struct sim_qp *qp) = {
	one_atomic, one_read, long_reads, sends, mixed,
};
#define NB_FIRSTS (sizeof(firsts) / sizeof(firsts[0]))

/* All before the fault completed, the fault did as it should, and what stands
 * behind it was flushed.
 */
static void expect_fault(struct sim_qp *a, struct sim_qp *b, uint32_t before,
			 unsigned int fault)
{
	for (uint32_t i = 0; i < before; i++)
		sim_expect_send(a, i, ROOST_WC_SUCCESS);
	sim_expect_send(a, before, faults[fault].status);
	sim_expect_send(a, before + 1, ROOST_WC_WR_FLUSH_ERR);
	for (uint32_t i = 0; i + faults[fault].takes_receive < b->recvs.count;
	     i++)
		sim_expect_recv(b, i, ROOST_WC_SUCCESS);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	sim_check_counter(a);
}

static void fault_after(struct sim *sim, struct sim_qp *a, struct sim_qp *b,
			unsigned int before, unsigned int fault)
{
	uint32_t nb;

	firsts[before](a);
	nb = a->sends.count;
	faults[fault].post(a);
	one_read(a);
	sim_run(sim);
	expect_fault(a, b, nb, fault);
}

static void fault__comes_behind_the_answers(void **state)
{
	for (unsigned int fault = 0; fault < NB_FAULTS; fault++)
		for (unsigned int before = 0; before < NB_FIRSTS; before++) {
			struct sim *sim = sim_new();
			struct sim_qp *a, *b;

			sim_pair(sim, NULL, &a, &b);
			fault_after(sim, a, b, before, fault);
			assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
			assert_int_equal(sim_counters(sim, SIM_A)->retransmits,
					 0);
			assert_int_equal(sim_counters(sim, SIM_B)->naks_sent,
					 1);
			assert_false(sim_is_busy(&sim->ends[SIM_B]));
			sim_free(sim);
		}
}

/* Both ends of it on one device. */
static void fault__of_a_loopback(void **state)
{
	for (unsigned int fault = 0; fault < NB_FAULTS; fault++)
		for (unsigned int before = 0; before < NB_FIRSTS; before++) {
			struct sim *sim = sim_new();
			struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
			struct sim_qp *b = sim_qp_new(sim, SIM_A, NULL);

			sim_qp_join(a, b);
			sim_connect(a, b);
			fault_after(sim, a, b, before, fault);
			assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
			sim_free(sim);
		}
}

/* A port that takes little: the QP in ERR answers for many iterations. */
static void fault__answers_go_on_in_err(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim->link.faults[SIM_B].take_max = 1;
	sim_pair(sim, NULL, &a, &b);
	fault_after(sim, a, b, 4, 0);
	sim_free(sim);
}

/* ---- losses ------------------------------------------------------------- */

/* What of that is lost is told again: a QP that a request brought to ERR still
 * knows what it answered, and executes nothing.
 */
static void fault__lost_answers_come_again(void **state)
{
	struct sim_faults loss = {
		/* Of twice as many, eight tries in a row are lost in one of
		 * some hundred runs: no answer can help the requester then.
		 */
		.drop_ppm = 50000,
		.drop_nth = -1,
		.delay_ns = 2 * SIM_US,
	};

	for (unsigned int fault = 0; fault < 3; fault++)
		for (unsigned int round = 0; round < 60; round++) {
			struct sim *sim = sim_new_seeded(sim_seed() + round);
			struct sim_qp *a, *b;

			sim_set_faults(sim, &loss);
			sim_pair(sim, NULL, &a, &b);
			fault_after(sim, a, b, round % NB_FIRSTS, fault);
			sim_free(sim);
		}
}

static void iterate_once(struct sim *sim, int side)
{
	struct roost_worker *w = sim->ends[side].worker;

	sim->now_ns += 10 * SIM_US;
	assert_true(roost_worker_turn_try(w));
	roost_worker_iterate(w, sim->now_ns);
	roost_worker_turn_release(w);
}

/* The program of the responder says ERR itself: then it is silent. */
static void fault__err_that_was_asked_for_is_silent(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	post(a, ROOST_WR_READ, 1000000);
	iterate_once(sim, SIM_A);
	iterate_once(sim, SIM_B);
	iterate_once(sim, SIM_B);
	assert_in_range(sim->link.nb_log[SIM_B], 1, 100);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	assert_false(sim_is_busy(&sim->ends[SIM_B]));
	assert_in_range(sim->link.nb_log[SIM_B], 1, 200);
	assert_in_range(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QP_STATE], 1,
			1000);
	sim_free(sim);
}

/* The region of a READ goes away while the fault behind it waits: the READ is
 * what fails then.
 */
static void fault__an_answer_that_fails_comes_first(void **state)
{
	struct sim *sim = sim_new();
	struct sim_msg read = {
		.opcode = ROOST_WR_READ,
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges = 1,
		.sge_len_bytes = { 100000 },
	};
	struct sim_qp *a, *b;
	struct roost_mr *mr;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(roost_mr_reg(b->end->pd, sim->arena, SIM_ARENA_BYTES,
				      (uintptr_t)sim->arena,
				      ROOST_ACCESS_REMOTE_READ |
					      ROOST_ACCESS_ON_DEMAND,
				      &mr),
			 0);
	read.remote = (uintptr_t)sim_arena_take(sim, 100000).data;
	read.rkey = roost_mr_rkey(mr);
	one_atomic(a);
	sim_send_msg(a, &read);
	write_bad_key(a);
	iterate_once(sim, SIM_A);
	iterate_once(sim, SIM_B);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(a, 1, ROOST_WC_REM_ACCESS_ERR);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	sim_poll(sim);
	assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR], 1);
	sim_free(sim);
}

/* It goes from there as from any ERR. */
static void fault__reset_and_connect_again(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	fault_after(sim, a, b, 2, 0);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	sim_connect(a, b);
	one_atomic(a);
	sim_run(sim);
	sim_expect_send(a, a->sends.count - 1, ROOST_WC_SUCCESS);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(fault__comes_behind_the_answers),
	cmocka_unit_test(fault__of_a_loopback),
	cmocka_unit_test(fault__answers_go_on_in_err),
	cmocka_unit_test(fault__lost_answers_come_again),
	SIM_TEST_ONE_WORKER(fault__err_that_was_asked_for_is_silent),
	SIM_TEST_ONE_WORKER(fault__an_answer_that_fails_comes_first),
	cmocka_unit_test(fault__reset_and_connect_again),
};

SIM_MAIN("sim-fault", tests)
