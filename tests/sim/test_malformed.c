/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames from the right peer that are wrong in themselves. */

#include <string.h>

#include "lib/wire/icrc.h"
#include "tests/sim/sim.h"

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

static void malformed__opcode_sequence(void **state)
{
	BAD({ SEND(MIDDLE), 1024 });
	BAD({ SEND(LAST), 100 });
	BAD({ SEND(FIRST), 1024 }, { SEND(FIRST), 1024 });
	BAD({ SEND(FIRST), 1024 }, { SEND(ONLY), 100 });
	BAD({ SEND(FIRST), 1024 }, { SEND(MIDDLE), 1024 },
	    { SEND(ONLY_IMM), 104 });
	BAD({ SEND(FIRST), 1024 }, { ROOST_OPCODE_RC_WRITE_MIDDLE, 1024 });
	BAD({ SEND(FIRST), 1024 }, { ROOST_OPCODE_RC_WRITE_LAST, 10 });
}

static void malformed__packet_length(void **state)
{
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
static void malformed__truncated(void **state)
{
	static const uint8_t opcodes[] = {
		ROOST_OPCODE_RC_SEND_ONLY, ROOST_OPCODE_RC_SEND_ONLY_IMM,
		ROOST_OPCODE_RC_ACK,       ROOST_OPCODE_RC_WRITE_ONLY,
		ROOST_OPCODE_RC_CMP_SWAP,  ROOST_OPCODE_UD_SEND_ONLY,
	};
	static const uint8_t zeros[64];
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct roost_flow flow = sim_flow_to(a);
		struct roost_hdr_template template;
		uint8_t frame[256];
		struct roost_bth bth = {
			.opcode = opcodes[i],
			.pkey = 0xffff,
			.dest_qpn = a->qpn,
			.psn = roost_psn(b->sq_psn),
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
	/* No answer, and no harm. */
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	sim_recv(a, 5000);
	sim_send(b, 5000);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
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
static void malformed__random_headers(void **state)
{
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

/* Counted, each of them, and a few shown to who can tell the user. */
static void malformed__roce_v1(void **state)
{
	uint8_t frame[64] = { [12] = 0x89, [13] = 0x15 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 100; i++) {
		sim_link_put(sim, SIM_A, frame, sizeof(frame));
		sim_run_for(sim, 5000);
	}
	sim_run_for(sim, SIM_S);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_ROCE_V1],
			 100);
	/* 1, 2, 4, 8, 16, 32 and 64. */
	assert_int_equal(sim->ends[SIM_B].nb_punted, 7);
	assert_int_equal(sim_counters(sim, SIM_B)->punted_pkts, 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(malformed__opcode_sequence),
	cmocka_unit_test(malformed__packet_length),
	cmocka_unit_test(malformed__truncated),
	cmocka_unit_test(malformed__roce_v1),
	cmocka_unit_test(malformed__random_headers),
};

SIM_MAIN("sim-malformed", tests)
