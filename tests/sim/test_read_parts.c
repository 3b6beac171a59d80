/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * READs that take more PSNs than one request may: they go in parts, and the
 * program sees one.
 */

#include "lib/engine/core/qp_priv.h"
#include "tests/sim/sim.h"

#define MTU_BYTES 256u
#define PART_BYTES (ROOST_READ_MAX_PKTS * MTU_BYTES)

static struct sim_qp_conf small_packets(void)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.mtu = ROOST_MTU_256;
	conf.rd_atomic = 1;
	/* The link takes a whole part at once, and needs 7 ms for it. */
	conf.timeout = 14;
	return conf;
}

static void read_of(struct sim_qp *qp, uint32_t len)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = ROOST_WR_READ,
				 .flags = ROOST_SEND_SIGNALED,
				 .nb_sges = 1,
				 .sge_len_bytes = { len },
			 });
}

static bool count_reads(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg)
{
	unsigned int *n = arg;

	(void)sim;
	(void)side;
	if (pkt->info->op != ROOST_OP_READ_REQ)
		return true;
	assert_true(pkt->dma_len_bytes <= PART_BYTES);
	n[0]++;
	return true;
}

static void read_parts__lengths(void **state)
{
	static const struct {
		uint32_t len_bytes;
		unsigned int requests;
	} rows[] = {
		{ PART_BYTES, 1 },
		{ PART_BYTES + 1, 2 },
		{ 2 * PART_BYTES, 2 },
		{ 2 * PART_BYTES + MTU_BYTES + 3, 3 },
	};
	struct sim_qp_conf conf = small_packets();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;
		unsigned int requests = 0;

		sim_pair(sim, &conf, &a, &b);
		sim->link.filter = count_reads;
		sim->link.filter_arg = &requests;
		read_of(a, rows[i].len_bytes);
		/* What stands behind it begins when it is done. */
		sim_recv(b, 10);
		sim_send(a, 10);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(requests, rows[i].requests);
		sim_free(sim);
	}
}

/* A packet is lost: around the boundary, in each direction. */
struct loss {
	uint32_t at; /* PSNs from the first on */
	int side;
	bool done;
	uint32_t first_psn;
};

static bool lose_one(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	struct loss *loss = arg;

	(void)sim;
	if (loss->done || side != loss->side ||
	    pkt->psn.v != ((loss->first_psn + loss->at) & 0xffffff))
		return true;
	loss->done = true;
	return false;
}

static void read_parts__lost_at_the_boundary(void **state)
{
	static const struct loss losses[] = {
		{ .at = ROOST_READ_MAX_PKTS - 1, .side = SIM_B },
		{ .at = ROOST_READ_MAX_PKTS, .side = SIM_B },
		{ .at = ROOST_READ_MAX_PKTS, .side = SIM_A },
		{ .at = ROOST_READ_MAX_PKTS + 1, .side = SIM_B },
		{ .at = 100, .side = SIM_B },
	};
	struct sim_qp_conf conf = small_packets();

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct sim *sim = sim_new();
		struct loss loss = losses[i];
		struct sim_qp *a, *b;

		sim_pair(sim, &conf, &a, &b);
		loss.first_psn = a->sq_psn;
		sim->link.filter = lose_one;
		sim->link.filter_arg = &loss;
		read_of(a, PART_BYTES + 10 * MTU_BYTES);
		read_of(a, 10);
		sim_run(sim);
		assert_true(loss.done);
		sim_expect_all_good(a, b);
		sim_free(sim);
	}
}

/* SQD in the middle: what has begun is finished. */
static void read_parts__drained(void **state)
{
	struct sim_qp_conf conf = small_packets();
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	read_of(a, PART_BYTES + 10);
	read_of(a, 10);
	sim_run_for(sim, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_SQD), 0);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(read_parts__lengths),
	cmocka_unit_test(read_parts__lost_at_the_boundary),
	cmocka_unit_test(read_parts__drained),
};

SIM_MAIN("sim-read-parts", tests)
