/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Responses that are lost are asked for again alone; those behind them wait. */

#include <string.h>

#include "lib/engine/core/hold.h"
#include "lib/engine/core/qp_priv.h"
#include "tests/sim/common.h"

#define MTU_BYTES 1024u
#define MSG_PKTS 64u
/* Behind a response so near to the end, nothing says that it is lost. */
#define NEAR_END_PKTS 4u

/* Loses responses of B at lose_psn, and counts all. */
struct loser {
	uint32_t lose_psn;
	unsigned int times;
	unsigned int nb_requests, nb_responses;
};

static bool lose(struct sim *sim, int side, const struct roost_pkt *pkt,
		 void *arg)
{
	struct loser *l = arg;

	(void)sim;
	if (side == SIM_A) {
		l->nb_requests += pkt->info->op == ROOST_OP_READ_REQ ||
				  pkt->info->op == ROOST_OP_FETCH_ADD;
		return true;
	}
	if (pkt->info->op == ROOST_OP_ACK)
		return true;
	l->nb_responses++;
	if (pkt->psn.v != l->lose_psn || l->times == 0)
		return true;
	l->times--;
	return false;
}

/* B need not know of it. */
static struct sim *open_pair(struct loser *l, struct sim_qp **a,
			     struct sim_qp **b)
{
	struct sim *sim;

	sim_set_selective(true, false);
	sim = sim_new();
	sim_pair(sim, NULL, a, b);
	sim->link.filter = lose;
	sim->link.filter_arg = l;
	return sim;
}

static void expect_good(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_null(a->qp->answers);
	assert_int_equal(a->qp->req.spared_pkts, 0);
	assert_int_equal(a->qp->asked_pkts, 0);
	assert_int_equal(a->qp->req.nb_rd_atomics, 0);
}

/* Also while the rest of the answer has not been sent yet. */
static void read_repeat__each_response_alone(void **state)
{
	for (uint32_t i = 0; i < MSG_PKTS; i++) {
		struct loser l = { .times = 1 };
		struct sim_qp *a, *b;
		struct sim *sim = open_pair(&l, &a, &b);

		/* It knows how long answers take. */
		sim_do_op(a, ROOST_WR_READ, 1);
		sim_run(sim);
		l.lose_psn = roost_psn(a->sq_psn + 1 + i).v;
		sim_do_op(a, ROOST_WR_READ, MSG_PKTS * MTU_BYTES);
		sim_run(sim);
		assert_int_equal(l.times, 0);
		assert_int_equal(l.nb_requests, 3);
		if (i + NEAR_END_PKTS < MSG_PKTS)
			assert_int_equal(l.nb_responses, 1 + MSG_PKTS + 1);
		expect_good(sim, a, b);
		sim_free(sim);
	}
}

/* The answer to the first atomic of several, with a READ and a message around:
 * the atomic alone is sent again.
 */
static void read_repeat__an_atomic_alone(void **state)
{
	struct loser l = { .times = 1 };
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&l, &a, &b);

	l.lose_psn = roost_psn(a->sq_psn + 4).v;
	sim_do_op(a, ROOST_WR_READ, 4 * MTU_BYTES);
	sim_do_op(a, ROOST_WR_FETCH_ADD, 8);
	sim_recv(b, 5 * MTU_BYTES);
	sim_send(a, 5 * MTU_BYTES);
	sim_do_op(a, ROOST_WR_READ, 4 * MTU_BYTES);
	sim_do_op(a, ROOST_WR_FETCH_ADD, 8);
	sim_run(sim);
	assert_int_equal(l.times, 0);
	assert_int_equal(l.nb_requests, 4 + 1);
	assert_int_equal(l.nb_responses, 10 + 1);
	expect_good(sim, a, b);
	sim_free(sim);
}

/* No byte behind the one that is missing is there before it. */
static void read_repeat__nothing_is_early(void **state)
{
	const uint32_t gap = 20, bytes = MSG_PKTS * MTU_BYTES;
	struct loser l = { .times = 3 };
	uint8_t before[MSG_PKTS * MTU_BYTES];
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(&l, &a, &b);
	const uint8_t *data;

	l.lose_psn = roost_psn(a->sq_psn + gap).v;
	sim_do_op(a, ROOST_WR_READ, bytes);
	data = a->sends.wr[0].slices[0].data;
	memcpy(before, data, bytes);
	while (!a->qp->answers || a->qp->answers->score.nb_received < 10)
		sim_run_for(sim, 100);
	assert_memory_equal(data + gap * MTU_BYTES, before + gap * MTU_BYTES,
			    bytes - gap * MTU_BYTES);
	assert_memory_not_equal(data, before, gap * MTU_BYTES);
	sim_run(sim);
	assert_int_equal(l.times, 0);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* RESET, ERR and the end of a QP in the midst of it; sim_free() counts what is
 * held.
 */
static void read_repeat__ends_in_the_midst(void **state)
{
	for (int way = 0; way < 3; way++) {
		struct loser l = { .times = 1000 };
		struct sim_qp *a, *b;
		struct sim *sim = open_pair(&l, &a, &b);

		l.lose_psn = roost_psn(a->sq_psn + 20).v;
		sim_do_op(a, ROOST_WR_READ, MSG_PKTS * MTU_BYTES);
		while (!a->qp->answers)
			sim_run_for(sim, 100);
		if (way == 2)
			sim_qp_destroy(a);
		else
			assert_int_equal(sim_qp_to(a, way == 0 ? ROOST_QPS_RESET
							       : ROOST_QPS_ERR),
					 0);
		sim_run(sim);
		sim_free(sim);
	}
}

static void post_one(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	uint32_t bytes = 1 + (uint32_t)sim_random_below(&sim->rng, 100000);

	switch (sim_random_below(&sim->rng, 4)) {
	case 0:
		sim_do_op(a, ROOST_WR_FETCH_ADD, 8);
		break;
	case 1:
		sim_recv(b, bytes);
		sim_send(a, bytes);
		break;
	default:
		sim_do_op(a, ROOST_WR_READ, bytes);
		break;
	}
}

/* From B, whose frames A believes in: ext are the bytes behind its BTH. */
static void forge(struct sim_qp *a, uint8_t opcode, uint32_t psn,
		  const void *ext, size_t len_bytes)
{
	const struct roost_bth bth = {
		.opcode = opcode,
		.migreq = true,
		.selective = true,
		.pkey = 0xffff,
		.dest_qpn = a->qpn,
		.psn = roost_psn(psn),
	};

	sim_forge(a, &bth, ext, len_bytes);
}

static void forge_response(struct sim_qp *a, uint8_t opcode, uint32_t psn)
{
	uint8_t ext[ROOST_AETH_LEN + MTU_BYTES] = { 0 };
	size_t len = sizeof(ext);

	if (opcode == ROOST_OPCODE_RC_READ_RESP_MIDDLE)
		len = MTU_BYTES;
	else
		roost_aeth_put(ext, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
			       1);
	forge(a, opcode, psn, ext, len);
}

/* B has not said that it has the READ, but what is behind: the READ is sent
 * again. Its answer began meanwhile, so that A asks for the rest, and gets
 * another answer, which begins there.
 */
static void read_repeat__of_a_request_that_was_late(void **state)
{
	const uint8_t behind_it[4] = { 0x78 };
	struct sim_qp *a, *b;
	const struct sim_sent *sent;
	uint32_t first_psn;
	struct sim *sim;

	(void)state;
	sim_set_selective(true, true);
	sim = sim_new();
	sim_pair(sim, NULL, &a, &b);
	a->no_data_check = true;
	sim_do_op(a, ROOST_WR_WRITE, 8);
	sim_run(sim);
	sim->link.faults[SIM_A].carrier_off = true;
	first_psn = a->sq_psn + 1;
	sim_do_op(a, ROOST_WR_READ, 4 * MTU_BYTES);
	for (int i = 0; i < 4; i++)
		sim_do_op(a, ROOST_WR_WRITE, 8);
	sim_turn(sim);
	forge(a, ROOST_OPCODE_REPORT, first_psn, behind_it, sizeof(behind_it));
	forge_response(a, ROOST_OPCODE_RC_READ_RESP_FIRST, first_psn);
	sim_turn(sim);
	sent = &sim->link.log[SIM_A][sim->link.nb_log[SIM_A] - 1];
	assert_int_equal(sent->opcode, ROOST_OPCODE_RC_READ_REQ);
	assert_int_equal(sent->psn.v, (first_psn + 1) & ROOST_PSN_MASK);
	forge_response(a, ROOST_OPCODE_RC_READ_RESP_FIRST, first_psn + 1);
	sim_turn(sim);
	forge_response(a, ROOST_OPCODE_RC_READ_RESP_MIDDLE, first_psn + 2);
	forge_response(a, ROOST_OPCODE_RC_READ_RESP_LAST, first_psn + 3);
	sim_turn(sim);
	sim_expect_send(a, 1, ROOST_WC_SUCCESS);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	sim_free(sim);
}

static void read_repeat__any_link(void **state)
{
	for (int round = 0; round < 60; round++) {
		struct sim_faults faults = { .drop_nth = -1 };
		struct sim_qp *a, *b;
		struct sim *sim;

		sim_set_selective(true, round % 2);
		sim = sim_new();
		sim_pair(sim, NULL, &a, &b);
		faults.drop_ppm = (uint32_t)sim_random_below(&sim->rng, 30000);
		faults.reorder_pkts = (uint32_t)sim_random_below(&sim->rng, 8);
		faults.delay_ns = sim_random_below(&sim->rng, 20000);
		sim_set_faults(sim, &faults);
		for (int i = 0; i < 60; i++) {
			post_one(sim, a, b);
			sim_run_for(sim, sim_random_below(&sim->rng, 20000));
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_null(a->qp->answers);
		assert_int_equal(a->qp->asked_pkts, 0);
		assert_int_equal(a->qp->req.spared_pkts, 0);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(read_repeat__each_response_alone),
	cmocka_unit_test(read_repeat__an_atomic_alone),
	cmocka_unit_test(read_repeat__nothing_is_early),
	cmocka_unit_test(read_repeat__ends_in_the_midst),
	cmocka_unit_test(read_repeat__of_a_request_that_was_late),
	cmocka_unit_test(read_repeat__any_link),
};

SIM_MAIN("sim-read-repeat", tests)
