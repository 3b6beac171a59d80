/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames that the peer did not send, or should not have. */

#include "tests/sim/sim.h"

#define ACK (ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID)

static uint64_t drops(struct sim *sim, int side, enum roost_drop reason)
{
	return sim_counters(sim, side)->drops[reason];
}

/* A pair where a has three messages of four packets on their way, and nothing
 * of b's comes back.
 */
static struct sim *in_flight(struct sim_qp **a, struct sim_qp **b)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();

	conf.timeout = 20;
	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, &conf, a, b);
	for (int i = 0; i < 3; i++) {
		sim_recv(*b, 4096);
		sim_send(*a, 4096);
	}
	sim_turn(sim);
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	return sim;
}

/* The link is good again: everything still completes. */
static void recover(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	sim->link.faults[SIM_A].carrier_off = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- acknowledgements ----------------------------------------------- */

static void forged__ack_of_psn_never_sent(void **state)
{
	static const int32_t ahead[] = { 12,       13,       100,     1000,
					 0x7ffff0, 0x7fffff, 0x800000 };
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		uint32_t psn = a->sq_psn + (uint32_t)ahead[i];

		sim_forge_ack(a, ACK, psn);
		sim_forge_ack(a, ROOST_NAK_PSN_SEQ, psn);
		sim_forge_ack(a, ROOST_NAK_REM_ACCESS, psn);
		sim_forge_ack(a, ROOST_AETH_RNR_NAK | 1, psn);
		sim_turn(sim);
		assert_int_equal(drops(sim, SIM_A,
				       ROOST_DROP_UNEXPECTED_RESPONSE),
				 4 * (i + 1));
	}
	for (uint32_t i = 0; i < 3; i++)
		sim_expect_send_open(a, i);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	recover(sim, a, b);
}

/* Older than what is acknowledged already: stale, or doubled by the network. */
static void forged__stale_ack_and_nak(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_new();

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 3; i++) {
		sim_recv(b, 4096);
		sim_send(a, 4096);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	for (uint32_t psn = 0; psn <= 12; psn++) {
		/* 12 was not sent: nothing is in flight. */
		sim_forge_ack(a, ACK, a->sq_psn + psn);
		sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn + psn);
		sim_forge_ack(a, ROOST_NAK_INV_REQ, a->sq_psn + psn);
		sim_forge_ack(a, ROOST_AETH_RNR_NAK | 1, a->sq_psn + psn);
	}
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_UNEXPECTED_RESPONSE),
			 4 * 13);
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	sim_recv(b, 10);
	sim_send(a, 10);
	recover(sim, a, b);
}

/* True ones in between: what they acknowledge completes, and no more. */
static void forged__ack_of_a_part(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	sim_forge_ack(a, ACK, a->sq_psn + 2);
	sim_turn(sim);
	sim_expect_send_open(a, 0);
	sim_forge_ack(a, ACK, a->sq_psn + 3);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	/* The same again. */
	sim_forge_ack(a, ACK, a->sq_psn + 3);
	sim_forge_ack(a, ACK, a->sq_psn + 1);
	sim_turn(sim);
	sim_expect_send_open(a, 1);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_UNEXPECTED_RESPONSE), 2);
	sim_forge_ack(a, ACK, a->sq_psn + 11);
	sim_turn(sim);
	sim_expect_send(a, 1, ROOST_WC_SUCCESS);
	sim_expect_send(a, 2, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* A NAK acknowledges what stands before it, and fails what it names. */
static void fatal_nak(uint8_t syndrome, enum roost_wc_status status)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	sim_recv(a, 10);
	sim_forge_ack(a, syndrome, a->sq_psn + 5);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send(a, 1, status);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(a, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	/* The requester's errors are told by completions, not by events. */
	for (int i = 0; i < SIM_ASYNC_TYPES; i++)
		assert_int_equal(a->async[i], 0);
	sim_run_for(sim, 20 * SIM_S);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

static void forged__fatal_naks(void **state)
{
	fatal_nak(ROOST_NAK_INV_REQ, ROOST_WC_REM_INV_REQ_ERR);
	fatal_nak(ROOST_NAK_REM_ACCESS, ROOST_WC_REM_ACCESS_ERR);
	fatal_nak(ROOST_NAK_REM_OP, ROOST_WC_REM_OP_ERR);
}

/* A sequence NAK goes back to where it says, at once. */
static void forged__sequence_nak(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn + 5);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	assert_int_equal(sim->link.nb_log[SIM_A], 12 + 7);
	assert_int_equal(sim->link.log[SIM_A][12].psn.v,
			 (a->sq_psn + 5) & ROOST_PSN_MASK);
	sim_free(sim);
}

/* A pair where a has 192 packets on their way, in three messages: more than a
 * burst, less than the window.
 */
static struct sim *long_in_flight(struct sim_qp_conf conf, struct sim_qp **a,
				  struct sim_qp **b)
{
	struct sim *sim = sim_new();

	conf.timeout = 20;
	sim->link.faults[SIM_A].carrier_off = true;
	sim_pair(sim, &conf, a, b);
	for (int i = 0; i < 3; i++)
		sim_send(*a, 65536);
	sim_turn(sim);
	assert_int_equal(sim->link.nb_log[SIM_A], 192);
	return sim;
}

/* It has gone back, and learns that the receiver is farther: it goes on there,
 * and does not send again what is acknowledged.
 */
static void forged__ack_beyond_where_it_went_back(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = long_in_flight(sim_qp_conf_default, &a, &b);

	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
	sim_forge_ack(a, ACK, a->sq_psn + 99);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	assert_int_equal(sim->link.nb_log[SIM_A], 192 + 92);
	assert_int_equal(sim->link.log[SIM_A][192].psn.v,
			 (a->sq_psn + 100) & ROOST_PSN_MASK);
	/* All of it, while nothing of the repetition has gone out. */
	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn + 100);
	sim_forge_ack(a, ACK, a->sq_psn + 191);
	sim_turn(sim);
	sim_expect_send(a, 1, ROOST_WC_SUCCESS);
	sim_expect_send(a, 2, ROOST_WC_SUCCESS);
	assert_int_equal(sim->link.nb_log[SIM_A], 192 + 92);
	assert_false(sim_is_busy(&sim->ends[SIM_A]));
	sim_free(sim);
}

/* The same out of an RNR wait, which is over then. */
static void forged__ack_ends_rnr_wait(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = long_in_flight(sim_qp_conf_default, &a, &b);

	/* 655 ms */
	sim_forge_ack(a, ROOST_AETH_RNR_NAK, a->sq_psn);
	sim_turn(sim);
	sim_send(a, 10);
	sim_turn(sim);
	assert_int_equal(sim->link.nb_log[SIM_A], 192);
	sim_forge_ack(a, ACK, a->sq_psn + 191);
	sim_turn(sim);
	sim_expect_send(a, 2, ROOST_WC_SUCCESS);
	assert_int_equal(sim->link.nb_log[SIM_A], 193);
	assert_int_equal(sim->link.log[SIM_A][192].psn.v,
			 (a->sq_psn + 192) & ROOST_PSN_MASK);
	sim_free(sim);
}

/* The network doubles NAKs: those that tell nothing new cost no try. */
static void forged__doubled_naks_are_one(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a, *b;
	struct sim *sim;

	conf.retry_cnt = 1;
	conf.rnr_retry = 1;
	sim = long_in_flight(conf, &a, &b);
	for (int i = 0; i < 5; i++)
		sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
	sim_turn(sim);
	sim_expect_send_open(a, 0);
	/* All again, as far as the window reaches after a loss. */
	assert_int_equal(sim->link.nb_log[SIM_A], 192 + 128);
	for (int i = 0; i < 5; i++)
		sim_forge_ack(a, ROOST_AETH_RNR_NAK | 1, a->sq_psn);
	sim_turn(sim);
	sim_expect_send_open(a, 0);
	sim_run_for(sim, SIM_MS);
	assert_int_equal(sim->link.nb_log[SIM_A], 192 + 2 * 128);
	sim_forge_ack(a, ROOST_AETH_RNR_NAK | 1, a->sq_psn);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_RNR_RETRY_EXC_ERR);
	sim_free(sim);
}

/* The same NAK again and again: each is a try, and tries end. */
static void forged__sequence_nak_repeated(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	for (int i = 0; i < 7; i++) {
		sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
		sim_turn(sim);
		sim_expect_send_open(a, 0);
	}
	/* The window: 128, 64, 32, 16, 8, 4, 2. */
	assert_int_equal(sim->link.nb_log[SIM_A], 12 + 4 * 12 + 8 + 4 + 2);
	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_RETRY_EXC_ERR);
	sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
	sim_free(sim);
}

static void forged__syndromes_that_mean_nothing(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);
	uint64_t n = 0;

	for (unsigned int s = 0x40; s < 0x60; s++, n++)
		sim_forge_ack(a, (uint8_t)s, a->sq_psn);
	for (unsigned int s = 0x64; s < 0x100; s++, n++)
		sim_forge_ack(a, (uint8_t)s, a->sq_psn);
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_UNEXPECTED_RESPONSE), n);
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	sim_expect_send_open(a, 0);
	recover(sim, a, b);
}

/* ---- who sends it --------------------------------------------------- */

static const struct roost_bth *ack_bth(struct sim_qp *qp, uint32_t psn)
{
	static struct roost_bth bth;

	bth = (struct roost_bth){
		.opcode = ROOST_OPCODE_RC_ACK,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};
	return &bth;
}

static void forged__foreign_address(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);
	struct roost_flow flow = sim_flow_to(a);
	uint8_t aeth[ROOST_AETH_LEN];

	roost_aeth_put(aeth, ACK, 1);
	flow.sgid.b[15] = 77;
	sim_forge_on(a, &flow, ack_bth(a, a->sq_psn + 11), aeth, sizeof(aeth));
	roost_aeth_put(aeth, ROOST_NAK_INV_REQ, 1);
	sim_forge_on(a, &flow, ack_bth(a, a->sq_psn), aeth, sizeof(aeth));
	/* The right host by its other address, to our other address. */
	flow = sim_flow_to(a);
	flow.sgid = sim->ends[SIM_B].gid6;
	flow.dgid = sim->ends[SIM_A].gid6;
	sim_forge_on(a, &flow, ack_bth(a, a->sq_psn), aeth, sizeof(aeth));
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_SRC_ADDR), 3);
	/* To somebody else. */
	flow = sim_flow_to(a);
	flow.dgid.b[15] = 77;
	sim_forge_on(a, &flow, ack_bth(a, a->sq_psn), aeth, sizeof(aeth));
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_NOT_OURS), 1);
	sim_expect_send_open(a, 0);
	recover(sim, a, b);
}

static void forged__pkey(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);
	uint8_t aeth[ROOST_AETH_LEN];
	struct roost_bth bth = *ack_bth(a, a->sq_psn + 3);

	roost_aeth_put(aeth, ACK, 1);
	bth.pkey = 0x8001;
	sim_forge(a, &bth, aeth, sizeof(aeth));
	bth.pkey = 0x0000;
	sim_forge(a, &bth, aeth, sizeof(aeth));
	sim_turn(sim);
	assert_int_equal(drops(sim, SIM_A, ROOST_DROP_PKEY), 2);
	sim_expect_send_open(a, 0);
	/* A limited member may talk to us, a full one. */
	bth.pkey = 0x7fff;
	sim_forge(a, &bth, aeth, sizeof(aeth));
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* ---- what it says it is --------------------------------------------- */

static void forged__wrong_header(void **state)
{
	static const struct {
		uint8_t opcode;
		uint8_t qpn; /* 0: the QP's own; 1: zero; 2: unknown */
		uint8_t drop;
		uint8_t len;
	} rows[] = {
		{ 0xff, 0, ROOST_DROP_OPCODE, 0 },
		{ 0x15, 0, ROOST_DROP_OPCODE, 100 },
		{ 0x4a, 0, ROOST_DROP_OPCODE, 100 }, /* RD */
		{ ROOST_OPCODE_RC_ACK, 0, ROOST_DROP_HDR_LEN, 0 },
		{ ROOST_OPCODE_RC_WRITE_ONLY, 0, ROOST_DROP_HDR_LEN, 15 },
		{ ROOST_OPCODE_RC_ACK, 1, ROOST_DROP_QPN_ZERO, 4 },
		{ ROOST_OPCODE_RC_ACK, 2, ROOST_DROP_QPN, 4 },
		{ ROOST_OPCODE_RC_SEND_ONLY, 2, ROOST_DROP_QPN, 100 },
		{ ROOST_OPCODE_UC_SEND_ONLY, 0, ROOST_DROP_QP_TYPE, 100 },
		{ ROOST_OPCODE_UD_SEND_ONLY, 0, ROOST_DROP_QP_TYPE, 100 },
		{ ROOST_OPCODE_XRC_SEND_ONLY, 0, ROOST_DROP_QP_TYPE, 100 },
		{ ROOST_OPCODE_CNP, 2, ROOST_DROP_QPN, 16 },
		{ ROOST_OPCODE_CNP, 0, ROOST_DROP_HDR_LEN, 12 },
		{ ROOST_OPCODE_CNP, 0, ROOST_DROP_HDR_LEN, 20 },
	};
	static const uint8_t zeros[100];
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t qpns[] = { a->qpn, 0, a->qpn ^ 0x1000 };
		struct roost_bth bth = {
			.opcode = rows[i].opcode,
			.pkey = 0xffff,
			.dest_qpn = qpns[rows[i].qpn],
			.psn = roost_psn(a->sq_psn),
			.ackreq = true,
		};
		uint64_t before = drops(sim, SIM_A, rows[i].drop);

		sim_forge(a, &bth, zeros, rows[i].len);
		sim_turn(sim);
		assert_int_equal(drops(sim, SIM_A, rows[i].drop), before + 1);
	}
	/* Nobody got an answer. */
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	recover(sim, a, b);
}

/* A SEND is not answered with data. */
static void forged__wrong_response(void **state)
{
	static const struct {
		uint8_t opcode;
		uint8_t len;
	} rows[] = {
		{ ROOST_OPCODE_RC_READ_RESP_ONLY, 4 },
		{ ROOST_OPCODE_RC_READ_RESP_FIRST, 4 },
		{ ROOST_OPCODE_RC_READ_RESP_MIDDLE, 0 },
		{ ROOST_OPCODE_RC_READ_RESP_LAST, 8 },
		{ ROOST_OPCODE_RC_ATOMIC_ACK, 12 },
	};
	static const uint8_t zeros[100];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim_qp *a, *b;
		struct sim *sim = in_flight(&a, &b);
		struct roost_bth bth = {
			.opcode = rows[i].opcode,
			.pkey = 0xffff,
			.dest_qpn = a->qpn,
			.psn = roost_psn(a->sq_psn + 4),
		};

		sim_forge(a, &bth, zeros, rows[i].len);
		sim_turn(sim);
		sim_expect_send(a, 0, ROOST_WC_SUCCESS);
		sim_expect_send(a, 1, ROOST_WC_BAD_RESP_ERR);
		sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
		assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(forged__ack_of_psn_never_sent),
	cmocka_unit_test(forged__stale_ack_and_nak),
	cmocka_unit_test(forged__ack_of_a_part),
	cmocka_unit_test(forged__fatal_naks),
	cmocka_unit_test(forged__sequence_nak),
	cmocka_unit_test(forged__ack_beyond_where_it_went_back),
	cmocka_unit_test(forged__ack_ends_rnr_wait),
	cmocka_unit_test(forged__doubled_naks_are_one),
	cmocka_unit_test(forged__sequence_nak_repeated),
	cmocka_unit_test(forged__syndromes_that_mean_nothing),
	cmocka_unit_test(forged__foreign_address),
	cmocka_unit_test(forged__pkey),
	cmocka_unit_test(forged__wrong_header),
	cmocka_unit_test(forged__wrong_response),
};

SIM_MAIN("sim-forged", tests)
