/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Answers to a READ: each the FIRST, MIDDLE, LAST or ONLY that is due. */

#include "tests/sim/sim.h"

#define FIRST ROOST_OPCODE_RC_READ_RESP_FIRST
#define MIDDLE ROOST_OPCODE_RC_READ_RESP_MIDDLE
#define LAST ROOST_OPCODE_RC_READ_RESP_LAST
#define ONLY ROOST_OPCODE_RC_READ_RESP_ONLY
#define GAP 0xff /* one is missing; the READ is resumed there */

/* A response of the right length. */
static void forge_response(struct sim_qp *qp, uint8_t opcode, uint32_t psn,
			   uint32_t len_bytes)
{
	struct roost_bth bth = {
		.opcode = opcode,
		.pad_bytes = (uint8_t)(-len_bytes & 3),
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};
	size_t ext = roost_opcodes[opcode].hdr_len_bytes - ROOST_BTH_LEN;
	uint8_t after[ROOST_AETH_LEN + 1024] = { 0 };

	if (ext != 0)
		roost_aeth_put(after,
			       ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID, 1);
	sim_forge(qp, &bth, after, ext + len_bytes + bth.pad_bytes);
}

static const struct {
	uint32_t len_bytes;
	uint8_t nb_answers;
	uint8_t answers[6];
	enum roost_wc_status status;
} due_rows[] = {
	{ 100, 1, { ONLY }, ROOST_WC_SUCCESS },
	{ 100, 1, { LAST }, ROOST_WC_BAD_RESP_ERR },
	{ 100, 1, { FIRST }, ROOST_WC_BAD_RESP_ERR },
	{ 2000, 2, { FIRST, LAST }, ROOST_WC_SUCCESS },
	{ 2000, 2, { FIRST, ONLY }, ROOST_WC_BAD_RESP_ERR },
	{ 3000, 3, { FIRST, MIDDLE, LAST }, ROOST_WC_SUCCESS },
	{ 3000, 1, { MIDDLE }, ROOST_WC_BAD_RESP_ERR },
	{ 3000, 2, { FIRST, FIRST }, ROOST_WC_BAD_RESP_ERR },
	{ 3000, 3, { FIRST, MIDDLE, ONLY }, ROOST_WC_BAD_RESP_ERR },
	/* Resumed, an answer begins anew; what is late goes on. */
	{ 3000, 4, { FIRST, GAP, FIRST, LAST }, ROOST_WC_SUCCESS },
	{ 3000, 4, { FIRST, GAP, MIDDLE, LAST }, ROOST_WC_SUCCESS },
	{ 3000, 3, { FIRST, GAP, ONLY }, ROOST_WC_BAD_RESP_ERR },
	{ 3000, 4, { FIRST, GAP, FIRST, ONLY }, ROOST_WC_BAD_RESP_ERR },
	{ 4000, 4, { FIRST, GAP, FIRST, FIRST }, ROOST_WC_BAD_RESP_ERR },
	{ 3000, 2, { GAP, MIDDLE }, ROOST_WC_BAD_RESP_ERR },
};

static void due__answers(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.timeout = 20;
	for (size_t i = 0; i < sizeof(due_rows) / sizeof(due_rows[0]); i++) {
		const uint32_t len = due_rows[i].len_bytes;
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;
		uint32_t at = 0;

		sim->link.faults[SIM_A].carrier_off = true;
		sim_pair(sim, &conf, &a, &b);
		a->no_data_check = true;
		sim_send_msg(a, &(struct sim_msg){
					.opcode = ROOST_WR_READ,
					.flags = ROOST_SEND_SIGNALED,
					.nb_sges = 1,
					.sge_len_bytes = { len },
				});
		sim_turn(sim);
		for (uint32_t j = 0; j < due_rows[i].nb_answers; j++) {
			uint8_t opcode = due_rows[i].answers[j];
			uint32_t left = len - at * 1024;

			if (opcode == GAP)
				forge_response(a, MIDDLE, a->sq_psn + at + 1,
					       1024);
			else
				forge_response(a, opcode, a->sq_psn + at++,
					       left < 1024 ? left : 1024);
			sim_turn(sim);
		}
		if (roost_qp_state(a->qp) == ROOST_QPS_RTS &&
		    due_rows[i].status != ROOST_WC_SUCCESS)
			fail_msg("row %zu was taken", i);
		sim_expect_send(a, 0, due_rows[i].status);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(due__answers),
};

SIM_MAIN("sim-due", tests)
