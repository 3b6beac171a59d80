/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Unreliable connections: what is lost is lost whole, and nothing else is. */

#include <string.h>

#include "tests/sim/sim.h"

static struct sim_qp_conf uc_conf(void)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.type = ROOST_QPT_UC;
	return conf;
}

/* The immediate says which one it is. */
static void send_numbered(struct sim_qp *qp, enum roost_wr_opcode opcode,
			  uint32_t len_bytes)
{
	sim_send_msg(qp, &(struct sim_msg){
				 .opcode = opcode,
				 .flags = ROOST_SEND_SIGNALED,
				 .imm_be = qp->sends.count,
				 .nb_sges = 1,
				 .sge_len_bytes = { len_bytes },
			 });
}

static unsigned int nb_received(const struct sim_qp *qp)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < qp->recvs.count; i++)
		n += qp->recvs.wr[i].nb_completions;
	return n;
}

/* What a WRITE left behind is its data, or nothing. */
static void check_writes(const struct sim_qp *qp)
{
	for (uint32_t i = 0; i < qp->sends.count; i++) {
		const struct sim_wr *wr = &qp->sends.wr[i];

		for (uint32_t j = 0; j < wr->remote.len_bytes; j++)
			assert_true(wr->remote.data[j] == 0x5a ||
				    wr->remote.data[j] ==
					    wr->slices[0].data[j]);
	}
}

static void uc__sizes(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();

	for (conf.mtu = ROOST_MTU_256; conf.mtu <= ROOST_MTU_4096; conf.mtu++) {
		uint32_t mtu = roost_mtu_bytes(conf.mtu);
		const uint32_t sizes[] = { 0,       1,       mtu - 1, mtu,
					   mtu + 1, 2 * mtu, 10007 };
		struct sim_qp *a, *b;

		conf.ipv6 = conf.mtu % 2;
		sim_pair(sim, &conf, &a, &b);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			sim_recv(b, sizes[i]);
			send_numbered(a, ROOST_WR_SEND_IMM, sizes[i]);
			sim_recv(b, 0);
			send_numbered(a, ROOST_WR_WRITE_IMM, sizes[i]);
			send_numbered(a, ROOST_WR_WRITE, sizes[i]);
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		check_writes(a);
		for (uint32_t i = 0; i < a->sends.count; i++)
			if (a->sends.wr[i].remote.data != NULL)
				assert_memory_equal(
					a->sends.wr[i].remote.data,
					a->sends.wr[i].slices[0].data,
					a->sends.wr[i].len_bytes);
	}
	/* Nobody answers. */
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	sim_free(sim);
}

/* Each packet lost in turn costs one message. */
static void uc__each_packet_lost(void **state)
{
	for (int64_t k = 0; k < 16; k++) {
		struct sim_qp_conf conf = uc_conf();
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		sim->link.faults[SIM_A].drop_nth = k;
		sim_pair(sim, &conf, &a, &b);
		for (int i = 0; i < 4; i++)
			sim_recv(b, 4096);
		for (int i = 0; i < 4; i++)
			send_numbered(a,
				      i % 2 ? ROOST_WR_WRITE_IMM
					    : ROOST_WR_SEND_IMM,
				      4096);
		sim_run(sim);
		for (uint32_t i = 0; i < 4; i++)
			sim_expect_send(a, i, ROOST_WC_SUCCESS);
		assert_int_equal(nb_received(b), 3);
		check_writes(a);
		assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
		assert_int_equal(sim->link.nb_log[SIM_B], 0);
		sim_free(sim);
	}
}

static void uc__ten_percent_lost(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();
	struct sim_faults faults = { .drop_ppm = 100000,
				     .drop_nth = -1,
				     .reorder_pkts = 3,
				     .corrupt_ppm = 10000 };
	struct sim_qp *a, *b;

	conf.sq_psn = 0xfffff0;
	sim_set_faults(sim, &faults);
	sim_pair(sim, &conf, &a, &b);
	for (int i = 0; i < 200; i++) {
		uint32_t len = (uint32_t)sim_random_below(&sim->rng, 8000);

		sim_recv(b, 8000);
		send_numbered(a, i % 2 ? ROOST_WR_WRITE_IMM : ROOST_WR_SEND_IMM,
			      len);
	}
	sim_run(sim);
	assert_in_range(nb_received(b), 20, 199);
	check_writes(a);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	sim_free(sim);
}

/* No receive: the message is dropped in silence. */
static void uc__no_receive(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	send_numbered(a, ROOST_WR_SEND_IMM, 3000);
	send_numbered(a, ROOST_WR_WRITE_IMM, 3000);
	sim_run(sim);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_RNR_WAIT],
			 2);
	sim_recv(b, 3000);
	send_numbered(a, ROOST_WR_SEND_IMM, 3000);
	sim_run(sim);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	sim_free(sim);
}

/* What may not be written is not, and a message longer than its receive does
 * not fit; each costs only itself.
 */
static void uc__bad_key_and_too_long(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	sim_send_msg(a, &(struct sim_msg){
				.opcode = ROOST_WR_WRITE,
				.flags = ROOST_SEND_SIGNALED,
				.nb_sges = 1,
				.sge_len_bytes = { 3000 },
				.rkey = 0xbad,
			});
	sim_run(sim);
	assert_int_equal(a->sends.wr[0].remote.data[0], 0x5a);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	sim_recv(b, 2999);
	send_numbered(a, ROOST_WR_SEND_IMM, 3000);
	send_numbered(a, ROOST_WR_SEND_IMM, 10000);
	sim_run(sim);
	assert_int_equal(nb_received(b), 0);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	assert_int_equal(
		sim_counters(sim, SIM_B)->drops[ROOST_DROP_INV_REQUEST], 2);
	send_numbered(a, ROOST_WR_SEND_IMM, 2999);
	sim_run(sim);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	sim_free(sim);
}

/* ---- keys that are guessed ----------------------------------------------- */

#define GUESSES_MAX 16

static void forge_write(struct sim_qp *qp, const struct roost_flow *flow,
			uint32_t rkey)
{
	struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UC_WRITE_ONLY,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
	};
	uint8_t after[ROOST_RETH_LEN + 8] = { 0 };

	roost_reth_put(after, 0x1000, rkey, 8);
	sim_forge_on(qp, flow, &bth, after, sizeof(after));
	sim_turn(qp->end->sim);
}

static void uc__wrong_keys_are_bounded(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();
	struct roost_flow peer, stranger;
	struct sim_qp *a, *b;

	sim_pair(sim, &conf, &a, &b);
	peer = sim_flow_to(b);
	stranger = peer;
	stranger.sgid.b[15] = 77;
	for (uint32_t i = 0; i < 1000; i++)
		forge_write(b, &stranger, 0x1000 + i);
	for (uint32_t i = 0; i < GUESSES_MAX - 1; i++)
		forge_write(b, &peer, 0x1000 + i);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	/* What is good among them is taken, and forgives nothing. */
	send_numbered(a, ROOST_WR_WRITE, 100);
	sim_run(sim);
	assert_memory_equal(a->sends.wr[0].remote.data,
			    a->sends.wr[0].slices[0].data, 100);
	sim_recv(b, 100);
	forge_write(b, &peer, 0x1000);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
	assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR], 1);
	sim_expect_recv(b, 0, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	sim_free(sim);
}

/* A send that fails stops the send queue only; requests flush until the QP is
 * moved back.
 */
static void uc__send_queue_error(void **state)
{
	struct sim_qp_conf conf = uc_conf();
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_qp_attr rts = { .state = ROOST_QPS_RTS };

	sim_pair(sim, &conf, &a, &b);
	sim_recv(b, 100);
	sim_recv(a, 100);
	sim_send_msg(a, &(struct sim_msg){
				.opcode = ROOST_WR_SEND_IMM,
				.flags = ROOST_SEND_SIGNALED,
				.nb_sges = 1,
				.sge_len_bytes = { 100 },
				.lkey = 0xbad,
			});
	send_numbered(a, ROOST_WR_SEND_IMM, 100);
	sim_run(sim);
	sim_expect_send(a, 0, ROOST_WC_LOC_PROT_ERR);
	sim_expect_send(a, 1, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_SQE);
	/* Posted to it now. */
	send_numbered(a, ROOST_WR_SEND_IMM, 100);
	sim_turn(sim);
	sim_expect_send(a, 2, ROOST_WC_WR_FLUSH_ERR);
	/* It still receives. */
	send_numbered(b, ROOST_WR_SEND_IMM, 100);
	sim_run(sim);
	sim_expect_recv(a, 0, ROOST_WC_SUCCESS);
	assert_int_equal(roost_qp_modify(a->qp, &rts, ROOST_QP_STATE), 0);
	sim_turn(sim);
	send_numbered(a, ROOST_WR_SEND_IMM, 100);
	sim_run(sim);
	sim_expect_send(a, 3, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* What is refused is counted as what it is. */
static void uc__refused(void **state)
{
	static const struct {
		uint32_t access;
		bool bad_key;
		enum roost_drop drop;
	} rows[] = {
		{ ROOST_ACCESS_LOCAL_WRITE, false, ROOST_DROP_INV_REQUEST },
		{ ROOST_ACCESS_REMOTE_WRITE, true, ROOST_DROP_ACCESS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim_qp_conf conf = uc_conf();
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;
		struct sim_msg msg = {
			.opcode = ROOST_WR_WRITE,
			.flags = ROOST_SEND_SIGNALED,
			.nb_sges = 1,
			.sge_len_bytes = { 100 },
			.rkey = rows[i].bad_key ? 0x1234567 : 0,
		};

		conf.access = rows[i].access;
		sim_pair(sim, &conf, &a, &b);
		sim_send_msg(a, &msg);
		sim_run(sim);
		for (int d = 0; d < ROOST_DROP_COUNT; d++)
			assert_int_equal(sim_counters(sim, SIM_B)->drops[d],
					 d == (int)rows[i].drop);
		sim_expect_all_good(a, b);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(uc__sizes),
	cmocka_unit_test(uc__each_packet_lost),
	cmocka_unit_test(uc__ten_percent_lost),
	cmocka_unit_test(uc__no_receive),
	cmocka_unit_test(uc__bad_key_and_too_long),
	cmocka_unit_test(uc__wrong_keys_are_bounded),
	cmocka_unit_test(uc__send_queue_error),
	cmocka_unit_test(uc__refused),
};

SIM_MAIN("sim-uc", tests)
