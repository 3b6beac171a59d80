/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames that the peer did not send, or should not have. */

#include <string.h>

#include "lib/wire/icrc.h"
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

	(void)state;
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

	(void)state;
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

	(void)state;
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
	(void)state;
	fatal_nak(ROOST_NAK_INV_REQ, ROOST_WC_REM_INV_REQ_ERR);
	fatal_nak(ROOST_NAK_REM_ACCESS, ROOST_WC_REM_ACCESS_ERR);
	fatal_nak(ROOST_NAK_REM_OP, ROOST_WC_REM_OP_ERR);
}

/* A sequence NAK goes back to where it says, at once. */
static void forged__sequence_nak(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	(void)state;
	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn + 5);
	sim_turn(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	assert_int_equal(sim->link.nb_log[SIM_A], 12 + 7);
	assert_int_equal(sim->link.log[SIM_A][12].psn.v,
			 (a->sq_psn + 5) & ROOST_PSN_MASK);
	sim_free(sim);
}

/* The same NAK again and again: each is a try, and tries end. */
static void forged__sequence_nak_repeated(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	(void)state;
	for (int i = 0; i < 7; i++) {
		sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
		sim_turn(sim);
		sim_expect_send_open(a, 0);
	}
	assert_int_equal(sim->link.nb_log[SIM_A], 12 + 7 * 12);
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

	(void)state;
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

	(void)state;
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

	(void)state;
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
		{ ROOST_OPCODE_CNP, 0, ROOST_DROP_QP_TYPE, 16 },
	};
	static const uint8_t zeros[100];
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	(void)state;
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

	(void)state;
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

/* ---- requests out of their sequence --------------------------------- */

struct step {
	uint8_t opcode;
	uint16_t len;
};

/* The steps but the last are taken; the last is answered with NAK 0x61. */
static void bad_sequence(const struct step *steps, size_t n)
{
	static const uint8_t zeros[8192];
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	size_t last;

	sim_pair(sim, NULL, &a, &b);
	b->no_data_check = true;
	sim_recv(b, 8192);
	sim_recv(b, 8192);
	for (size_t i = 0; i < n; i++) {
		struct roost_bth bth = {
			.opcode = steps[i].opcode,
			.pad_bytes = (uint8_t)(-steps[i].len & 3),
			.pkey = 0xffff,
			.dest_qpn = b->qpn,
			.psn = roost_psn(a->sq_psn + (uint32_t)i),
			.ackreq = true,
		};

		assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
		sim_forge(b, &bth, zeros, steps[i].len + bth.pad_bytes);
		sim_turn(sim);
	}
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	last = sim->link.nb_log[SIM_B] - 1;
	assert_int_equal(sim->link.log[SIM_B][last].syndrome,
			 ROOST_NAK_INV_REQ);
	assert_int_equal(sim->link.log[SIM_B][last].psn.v,
			 (a->sq_psn + n - 1) & ROOST_PSN_MASK);
	assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 1);
	assert_int_equal(b->async[ROOST_EVENT_QP_REQ_ERR], 1);
	sim_expect_recv(b, 0, ROOST_WC_WR_FLUSH_ERR);
	sim_expect_recv(b, 1, ROOST_WC_WR_FLUSH_ERR);
	sim_free(sim);
}

#define SEND(place) ROOST_OPCODE_RC_SEND_##place
#define BAD(...)                                                               \
	bad_sequence((const struct step[]){ __VA_ARGS__ },                     \
		     sizeof((const struct step[]){ __VA_ARGS__ }) /            \
			     sizeof(struct step))

static void forged__opcode_sequence(void **state)
{
	(void)state;
	BAD({ SEND(MIDDLE), 1024 });
	BAD({ SEND(LAST), 100 });
	BAD({ SEND(FIRST), 1024 }, { SEND(FIRST), 1024 });
	BAD({ SEND(FIRST), 1024 }, { SEND(ONLY), 100 });
	BAD({ SEND(FIRST), 1024 }, { SEND(MIDDLE), 1024 },
	    { SEND(ONLY_IMM), 104 });
	BAD({ SEND(FIRST), 1024 }, { ROOST_OPCODE_RC_WRITE_MIDDLE, 1024 });
	BAD({ SEND(FIRST), 1024 }, { ROOST_OPCODE_RC_WRITE_LAST, 10 });
}

static void forged__packet_length(void **state)
{
	(void)state;
	BAD({ SEND(FIRST), 1023 });
	BAD({ SEND(FIRST), 0 });
	BAD({ SEND(FIRST), 1025 });
	BAD({ SEND(FIRST), 2048 });
	BAD({ SEND(FIRST), 1024 }, { SEND(MIDDLE), 1020 });
	BAD({ SEND(FIRST), 1024 }, { SEND(MIDDLE), 1028 });
	BAD({ SEND(FIRST), 1024 }, { SEND(LAST), 0 });
	BAD({ SEND(FIRST), 1024 }, { SEND(LAST), 1025 });
	BAD({ SEND(ONLY), 1025 });
	BAD({ SEND(ONLY), 4096 });
	BAD({ SEND(ONLY_IMM), 4 + 1025 });
}

/* ---- bytes at random ------------------------------------------------ */

/* A frame of every kind, cut short at every place. */
static void forged__truncated(void **state)
{
	static const uint8_t opcodes[] = {
		ROOST_OPCODE_RC_SEND_ONLY, ROOST_OPCODE_RC_SEND_ONLY_IMM,
		ROOST_OPCODE_RC_ACK,       ROOST_OPCODE_RC_WRITE_ONLY,
		ROOST_OPCODE_RC_CMP_SWAP,  ROOST_OPCODE_UD_SEND_ONLY,
	};
	static const uint8_t zeros[64];
	struct sim_qp *a, *b;
	struct sim *sim = in_flight(&a, &b);

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct roost_flow flow = sim_flow_to(a);
		struct roost_hdr_template template;
		uint8_t frame[256];
		struct roost_bth bth = {
			.opcode = opcodes[i],
			.pkey = 0xffff,
			.dest_qpn = a->qpn,
			.psn = roost_psn(a->sq_psn),
		};
		size_t len;

		roost_hdr_template_init(&template, &flow);
		len = roost_hdr_emit(&template, frame, &bth, sizeof(zeros));
		memcpy(frame + len, zeros, sizeof(zeros));
		len += sizeof(zeros);
		roost_frame_seal(&template, frame, len);
		for (size_t cut = 1; cut < len + ROOST_ICRC_LEN; cut++)
			sim_link_put(sim, SIM_B, frame, cut);
		sim_turn(sim);
	}
	sim_expect_send_open(a, 0);
	assert_int_equal(sim->link.nb_log[SIM_A], 12);
	recover(sim, a, b);
}

/* Change a byte of the frame's transport headers and make the ICRC fit. */
static size_t mutate(struct sim *sim, uint8_t *frame, size_t len)
{
	size_t l3 = ROOST_ETH_LEN, bth = l3 + ROOST_IPV4_LEN + ROOST_UDP_LEN;
	uint64_t n = 1 + sim_random_below(&sim->rng, 3);
	uint32_t icrc;

	while (n-- > 0) {
		uint64_t at = sim_random_below(&sim->rng, 24);

		/* The QPN stays, or every frame would be for nobody. */
		if ((at >= 5 && at < 8) || bth + at >= len)
			continue;
		frame[bth + at] = (uint8_t)sim_random(&sim->rng);
	}
	icrc = roost_icrc(frame + l3, false, len - l3);
	memcpy(frame + len, &icrc, sizeof(icrc));
	return len + ROOST_ICRC_LEN;
}

/* Frames from the right peer with a right ICRC and nonsense in them, while
 * true ones come and go. The connection may die, and nothing else may happen.
 */
static void forged__random_headers(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct sim *sim = sim_new();
		struct roost_hdr_template template;
		struct roost_flow flow;
		struct sim_qp *a, *b;

		sim->rng.state += (uint64_t)round * 1000003;
		sim_pair(sim, NULL, &a, &b);
		a->no_data_check = true;
		b->no_data_check = true;
		for (int i = 0; i < 4; i++) {
			sim_recv(b, 3000);
			sim_recv(a, 3000);
			sim_send(a, 3000);
			sim_send(b, 3000);
		}
		flow = sim_flow_to(b);
		roost_hdr_template_init(&template, &flow);
		for (int i = 0; i < 40; i++) {
			uint8_t frame[2048] = { 0 };
			struct roost_bth bth = {
				.opcode = (uint8_t)sim_random_below(&sim->rng,
								    0x20),
				.pkey = 0xffff,
				.dest_qpn = b->qpn,
				.psn = roost_psn(
					a->sq_psn +
					(uint32_t)sim_random_below(&sim->rng,
								   14)),
			};
			size_t after = 4 * sim_random_below(&sim->rng, 300);
			size_t len =
				roost_hdr_emit(&template, frame, &bth, after);

			len = mutate(sim, frame, len + after);
			sim_link_put(sim, SIM_A, frame, len);
			sim_run_for(sim, 500);
		}
		sim_run_for(sim, SIM_S);
		sim_check_guards(a);
		sim_check_guards(b);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(forged__ack_of_psn_never_sent),
	cmocka_unit_test(forged__stale_ack_and_nak),
	cmocka_unit_test(forged__ack_of_a_part),
	cmocka_unit_test(forged__fatal_naks),
	cmocka_unit_test(forged__sequence_nak),
	cmocka_unit_test(forged__sequence_nak_repeated),
	cmocka_unit_test(forged__syndromes_that_mean_nothing),
	cmocka_unit_test(forged__foreign_address),
	cmocka_unit_test(forged__pkey),
	cmocka_unit_test(forged__wrong_header),
	cmocka_unit_test(forged__wrong_response),
	cmocka_unit_test(forged__opcode_sequence),
	cmocka_unit_test(forged__packet_length),
	cmocka_unit_test(forged__truncated),
	cmocka_unit_test(forged__random_headers),
};

SIM_MAIN("sim-forged", tests)
