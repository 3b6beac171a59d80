/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests that cannot be carried out: who learns of it, with which status. */

#include <roost/mr.h>
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#define NO_SUCH_KEY 0x12345678u

static struct sim_msg msg_of(uint32_t len_bytes)
{
	return (struct sim_msg){
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges = 1,
		.sge_len_bytes = { len_bytes },
	};
}

/* The arena once more, as another region. */
static struct roost_mr *region(struct sim *sim, int side, struct roost_pd *pd,
			       uint64_t len_bytes, uint32_t access)
{
	struct roost_mr *mr;

	if (pd == NULL)
		pd = sim->ends[side].pd;
	assert_int_equal(roost_mr_reg(pd, sim->arena, len_bytes,
				      (uintptr_t)sim->arena,
				      access | ROOST_ACCESS_ON_DEMAND, &mr),
			 0);
	return mr;
}

static void assert_in_err(struct sim_qp *a, struct sim_qp *b)
{
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
}

/* ---- length --------------------------------------------------------- */

static void too_long(uint32_t room_bytes, uint32_t len_bytes)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 10);
	sim_recv_msg(b,
		     &(struct sim_msg){
			     .nb_sges = 3,
			     .sge_len_bytes = { room_bytes / 2, 0,
						room_bytes - room_bytes / 2 },
		     });
	sim_recv(b, 10);
	sim_recv(a, 10);
	sim_send(a, 10);
	sim_send(a, len_bytes);
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(a, 1, ROOST_WC_REM_INV_REQ_ERR);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(a, 0, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 1, ROOST_WC_LOC_LEN_ERR);
	sim_expect_recv(b, 2, ROOST_WC_WR_FLUSH_ERR);
	assert_in_err(a, b);
	assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 1);
	sim_free(sim);
}

static void error__send_longer_than_receive(void **state)
{
	too_long(0, 1);
	too_long(100, 101);
	too_long(100, 100000);
	too_long(1023, 1024);
	too_long(1024, 1025);
	too_long(2047, 4096);
	too_long(10000, 10001);
}

/* ---- the sender's memory -------------------------------------------- */

/* Bad memory in SGE bad_sge of a message of three; good requests before it
 * complete first, and what stands behind it is flushed.
 */
static void bad_send_key(uint32_t lkey, uint32_t bad_sge,
			 const struct sim_qp_conf *conf)
{
	struct sim *sim = sim_new();
	struct sim_msg bad = {
		.opcode = ROOST_WR_SEND,
		.flags = 0, /* an error completes even so */
		.nb_sges = 3,
		.sge_len_bytes = { 5000, 5000, 5000 },
		.lkey = lkey,
		.bad_sge = bad_sge,
	};
	struct sim_qp *a, *b;

	sim_pair(sim, conf, &a, &b);
	for (int i = 0; i < 6; i++)
		sim_recv(b, 15000);
	for (int i = 0; i < 3; i++)
		sim_send(a, 10000);
	sim_send_msg(a, &bad);
	sim_send(a, 10);
	sim_send(a, 10);
	sim_run(sim);
	/* Nothing of the failed request may come to life again. */
	sim_run_for(sim, SIM_S);
	for (uint32_t i = 0; i < 3; i++) {
		sim_expect_send(a, i, ROOST_WC_SUCCESS);
		sim_expect_recv(b, i, ROOST_WC_SUCCESS);
	}
	sim_expect_send(a, 3, ROOST_WC_LOC_PROT_ERR);
	sim_expect_send(a, 4, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_send(a, 5, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv_open(b, 3);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

static void error__bad_lkey_in_send(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (uint32_t i = 0; i < 3; i++) {
		bad_send_key(NO_SUCH_KEY, i, NULL);
		/* One timeout would be the end. */
		conf.retry_cnt = 0;
		bad_send_key(NO_SUCH_KEY, i, &conf);
	}
}

/* The first of all fails while its first packets are on their way: the timer
 * that watches over them must not outlive it.
 */
static void error__bad_lkey_behind_sent_packets(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_msg bad = msg_of(3000);
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.retry_cnt = 0;
	bad.nb_sges = 2;
	bad.sge_len_bytes[1] = 3000;
	bad.lkey = NO_SUCH_KEY;
	bad.bad_sge = 1;
	sim_pair(sim, &conf, &a, &b);
	sim_recv(b, 6000);
	sim_send_msg(a, &bad);
	sim_run(sim);
	sim_run_for(sim, SIM_S);
	sim_expect_send(a, 0, ROOST_WC_LOC_PROT_ERR);
	sim_expect_recv_open(b, 0);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	sim_free(sim);
}

/* The key exists, but not for this PD, this range or this time. */
static void error__key_of_other_pd_or_range(void **state)
{
	struct sim *sim = sim_new();
	struct roost_mr *other, *small, *gone;
	struct roost_pd *pd;
	uint32_t keys[3];

	assert_int_equal(roost_pd_alloc(sim->ends[SIM_A].ctx, &pd), 0);
	other = region(sim, SIM_A, pd, SIM_ARENA_BYTES, 0);
	small = region(sim, SIM_A, NULL, 10, 0);
	gone = region(sim, SIM_A, NULL, SIM_ARENA_BYTES, 0);
	keys[0] = roost_mr_lkey(other);
	keys[1] = roost_mr_lkey(small);
	keys[2] = roost_mr_lkey(gone);
	assert_int_equal(roost_mr_dereg(gone), 0);
	for (int i = 0; i < 3; i++) {
		struct sim_msg bad = msg_of(100);
		struct sim_qp *a, *b;

		bad.lkey = keys[i];
		sim_pair(sim, NULL, &a, &b);
		sim_recv(b, 100);
		sim_send_msg(a, &bad);
		sim_run(sim);
		sim_expect_send(a, 0, ROOST_WC_LOC_PROT_ERR);
		sim_expect_recv_open(b, 0);
	}
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(roost_mr_dereg(other), 0);
	assert_int_equal(roost_mr_dereg(small), 0);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	sim_free(sim);
}

/* ---- the receiver's memory ------------------------------------------ */

static void bad_recv_key(struct sim *sim, uint32_t lkey, uint32_t bad_sge)
{
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 10);
	sim_recv_msg(b, &(struct sim_msg){
				.nb_sges = 3,
				.sge_len_bytes = { 1500, 1500, 1500 },
				.lkey = lkey,
				.bad_sge = bad_sge,
			});
	sim_recv(b, 10);
	sim_send(a, 10);
	sim_send(a, 4500);
	sim_send(a, 10);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(a, 1, ROOST_WC_REM_OP_ERR);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 1, ROOST_WC_LOC_PROT_ERR);
	sim_expect_recv(b, 2, ROOST_WC_WR_FLUSH_ERR);
	assert_in_err(a, b);
}

static void error__bad_lkey_in_receive(void **state)
{
	struct sim *sim = sim_new();
	struct roost_mr *read_only =
		region(sim, SIM_B, NULL, SIM_ARENA_BYTES, 0);

	for (uint32_t i = 0; i < 3; i++) {
		bad_recv_key(sim, NO_SUCH_KEY, i);
		bad_recv_key(sim, roost_mr_lkey(read_only), i);
	}
	assert_int_equal(roost_mr_dereg(read_only), 0);
	sim_free(sim);
}

/* A part that the message does not reach is not looked at. */
static void error__bad_lkey_behind_the_data(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv_msg(b, &(struct sim_msg){
				.nb_sges = 2,
				.sge_len_bytes = { 3000, 100 },
				.lkey = NO_SUCH_KEY,
				.bad_sge = 1,
			});
	sim_send(a, 3000);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- deregistration in flight --------------------------------------- */

static void error__sender_mr_gone_in_flight(void **state)
{
	struct sim *sim = sim_new();
	struct roost_mr *mr = region(sim, SIM_A, NULL, SIM_ARENA_BYTES, 0);
	struct sim_msg msg = msg_of(20000);
	struct sim_qp *a, *b;

	msg.lkey = roost_mr_lkey(mr);
	sim->link.faults[SIM_A].drop_nth = 3;
	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, 20000);
	sim_send_msg(a, &msg);
	sim_send(a, 10);
	sim_turn(sim);
	/* All packets were made, one is lost: it cannot be made again. */
	assert_int_equal(sim->link.nb_log[SIM_A], 21);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_LOC_PROT_ERR);
	sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv_open(b, 0);
	sim_free(sim);
}

static void error__receiver_mr_gone_in_flight(void **state)
{
	struct sim *sim = sim_new();
	struct roost_mr *mr = region(sim, SIM_B, NULL, SIM_ARENA_BYTES,
				     ROOST_ACCESS_LOCAL_WRITE);
	struct sim_msg msg = msg_of(100000);
	struct sim_qp *a, *b;

	msg.lkey = roost_mr_lkey(mr);
	sim_pair(sim, NULL, &a, &b);
	sim_recv_msg(b, &msg);
	sim_send(a, 100000);
	/* Until some of it has arrived. */
	sim_run_for(sim, 6 * SIM_US);
	sim_expect_recv_open(b, 0);
	assert_memory_equal(b->recvs.wr[0].slices[0].data,
			    a->sends.wr[0].slices[0].data, 1024);
	assert_int_equal(roost_mr_dereg(mr), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_REM_OP_ERR);
	sim_expect_recv(b, 0, ROOST_WC_LOC_PROT_ERR);
	assert_in_err(a, b);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(error__send_longer_than_receive),
	cmocka_unit_test(error__bad_lkey_in_send),
	cmocka_unit_test(error__bad_lkey_behind_sent_packets),
	cmocka_unit_test(error__key_of_other_pd_or_range),
	cmocka_unit_test(error__bad_lkey_in_receive),
	cmocka_unit_test(error__bad_lkey_behind_the_data),
	cmocka_unit_test(error__sender_mr_gone_in_flight),
	cmocka_unit_test(error__receiver_mr_gone_in_flight),
};

SIM_MAIN("sim-error", tests)
