/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What is noted of QPs when something goes wrong: the errors that take more
 * than a pair (test_why.c has the others), how long they are kept, and what is
 * counted.
 */

#include "tests/sim/raw.h"

static struct roost_qp_error error_of(const struct sim_qp *qp)
{
	return raw_view(qp).error;
}

static void write_with_wrong_key(struct sim_qp *qp)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = ROOST_WR_WRITE,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { 8 },
				 .remote = 0x1000,
				 .rkey = 0x12345678,
			 });
}

static void noted__cq_overrun(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct roost_cqe cqes[8];
	struct roost_cq *cq;
	struct sim_qp *a, *b;

	assert_int_equal(roost_cq_create(sim->ends[SIM_B].ctx, 4, NULL,
					 &sim->ends[SIM_B], &cq),
			 0);
	a = sim_qp_new(sim, SIM_A, NULL);
	conf.cq = cq;
	b = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(a, b);
	sim->nobody_polls = true;
	for (int i = 0; i < 6; i++) {
		sim_recv(b, 10);
		sim_send(a, 10);
	}
	sim_run(sim);
	assert_int_equal(error_of(b).code, ROOST_QPE_CQ_OVERRUN);
	assert_int_equal(sim_counters(sim, SIM_B)->errors[ROOST_QPE_CQ_OVERRUN],
			 1);
	roost_cq_poll(cq, 8, cqes);
	sim_qp_destroy(b);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	sim_free(sim);
}

/* One of datagrams stays, and says what happened to the last one. */
static void noted__datagrams(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = raw_ah(a->end, &b->end->gid);
	struct roost_send_wr wr = {
		.wr_id = 1,
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
		.ah = ah,
		.dest_qpn = b->qpn,
		.qkey = a->conf.qkey,
	};
	struct roost_cqe cqe;

	raw_recv(b, 2, raw_blank(sim, 139));
	raw_send(a, wr, raw_random(sim, 100));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	cqe = raw_expect(b->end->cq, 2, ROOST_WC_LOC_LEN_ERR);
	assert_int_equal(cqe.vendor_err, ROOST_QPE_RECEIVE_LENGTH);
	assert_int_equal(error_of(b).code, ROOST_QPE_RECEIVE_LENGTH);
	raw_send(a, wr, raw_random(sim, 4097));
	sim_run_for(sim, 10 * SIM_US);
	cqe = raw_expect(a->end->cq, 1, ROOST_WC_LOC_LEN_ERR);
	assert_int_equal(cqe.vendor_err, ROOST_QPE_LOCAL_LENGTH);
	assert_int_equal(error_of(a).code, ROOST_QPE_LOCAL_LENGTH);
	assert_int_equal(error_of(a).opcode, ROOST_OPCODE_UD_SEND_ONLY);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

/* The last one counts; and RESET does not wipe it away. */
static void noted__until_there_is_another(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t at_ns;

	sim_pair(sim, NULL, &a, &b);
	sim_run_for(sim, SIM_US);
	write_with_wrong_key(a);
	sim_run(sim);
	at_ns = error_of(a).at_ns;
	/* It is in ERR for that, and nothing else. */
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	assert_int_equal(error_of(a).code, ROOST_QPE_PEER_ACCESS);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_int_equal(error_of(a).code, ROOST_QPE_PEER_ACCESS);
	assert_true(error_of(a).at_ns == at_ns);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	assert_int_equal(error_of(a).code, ROOST_QPE_MODIFIED);
	sim_free(sim);
}

/* ---- counters ---------------------------------------------------------------
 */

static void noted__counters(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct roost_qp_view of_a, of_b;
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	/* A gap: one NAK, and what is behind it is out of order. */
	sim->link.faults[SIM_A].drop_nth = 2;
	sim_recv(b, 10000);
	sim_send(a, 10000);
	sim_run(sim);
	of_a = raw_view(a);
	of_b = raw_view(b);
	assert_int_equal(of_b.counters.naks_sent_of[0], 1);
	assert_int_equal(of_a.counters.naks_received_of[0], 1);
	assert_int_equal(of_a.counters.retransmits, 1);
	assert_true(of_b.counters.out_of_order >= 7);
	/* The ACK is lost: asked early, and a duplicate comes. */
	sim->link.faults[SIM_B].drop_nth = (int64_t)sim->link.nb_log[SIM_B];
	sim_recv(b, 10);
	sim_send(a, 10);
	sim_run(sim);
	assert_int_equal(raw_view(b).counters.duplicates, 1);
	/* Nothing is posted for it; then there is. */
	sim_send(a, 10);
	sim_run_for(sim, 20 * SIM_US);
	sim_recv(b, 10);
	sim_run(sim);
	assert_true(raw_view(b).counters.rnr_naks_sent > 0);
	assert_int_equal(raw_view(a).counters.rnr_naks_received,
			 raw_view(b).counters.rnr_naks_sent);
	/* One with a wrong key. */
	write_with_wrong_key(a);
	sim_run(sim);
	of_a = raw_view(a);
	of_b = raw_view(b);
	assert_int_equal(of_b.counters.naks_sent_of[2], 1);
	assert_int_equal(of_a.counters.naks_received_of[2], 1);
	/* There is one QP, and the device counts the same. */
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits,
			 of_a.counters.retransmits);
	assert_int_equal(sim_counters(sim, SIM_A)->naks_received_of[2], 1);
	assert_int_equal(
		sim_counters(sim, SIM_A)->errors[ROOST_QPE_PEER_ACCESS], 1);
	assert_int_equal(sim_counters(sim, SIM_B)->out_of_order,
			 of_b.counters.out_of_order);
	assert_int_equal(sim_counters(sim, SIM_B)->duplicates,
			 of_b.counters.duplicates);
	assert_int_equal(sim_counters(sim, SIM_B)->errors[ROOST_QPE_REMOTE_KEY],
			 1);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(noted__cq_overrun),
	cmocka_unit_test(noted__datagrams),
	cmocka_unit_test(noted__until_there_is_another),
	cmocka_unit_test(noted__counters),
};

SIM_MAIN("sim-noted", tests)
