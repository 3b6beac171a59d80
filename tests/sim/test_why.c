/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Why a QP died: for each way to do so, what both ends say of it afterwards.
 * That each failed completion carries the reason of its QP, and a status that
 * fits, is watched in all worlds (wr.c).
 */

#include "tests/sim/migrate.h"
#include "tests/sim/raw.h"

#define NO_SUCH_KEY 0x12345678u

static struct roost_qp_error error_of(const struct sim_qp *qp)
{
	return raw_view(qp).error;
}

/* ---- what is done to a pair --------------------------------------------- */

static void post(struct sim_qp *a, struct sim_msg msg)
{
	msg.flags |= ROOST_SEND_SIGNALED;
	if (msg.nb_sges == 0 && msg.opcode != ROOST_WR_LOCAL_INV) {
		msg.nb_sges = 1;
		msg.sge_len_bytes[0] = 100;
	}
	sim_send_msg(a, &msg);
}

static void local_memory(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv(b, 100);
	post(a,
	     (struct sim_msg){ .opcode = ROOST_WR_SEND, .lkey = NO_SUCH_KEY });
}

static void bind_refused(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	post(a, (struct sim_msg){ .opcode = ROOST_WR_LOCAL_INV,
				  .imm_be = NO_SUCH_KEY });
}

/* It was posted while there was one allowed. */
static void no_rd_atomic(struct sim_qp *a, struct sim_qp *b)
{
	struct roost_qp_attr none = { .state = ROOST_QPS_SQD };

	(void)b;
	assert_int_equal(sim_qp_to(a, ROOST_QPS_SQD), 0);
	post(a, (struct sim_msg){ .opcode = ROOST_WR_READ });
	assert_int_equal(roost_qp_modify(a->qp, &none,
					 ROOST_QP_STATE |
						 ROOST_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
}

static void no_answer(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	a->sim->link.faults[SIM_A].carrier_off = true;
	sim_send(a, 100);
}

static void lost_again(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	a->sim->link.faults[SIM_A].carrier_off = true;
	sim_send(a, 3000);
	sim_turn(a->sim);
	sim_forge_ack(a, ROOST_NAK_PSN_SEQ, a->sq_psn);
	sim_turn(a->sim);
}

/* Of three responses the first never comes, while the others do. */
static bool lose_the_response(struct sim *sim, int side,
			      const struct roost_pkt *pkt, void *arg)
{
	struct sim_qp *a = arg;

	(void)sim;
	return side != SIM_B || pkt->psn.v != a->sq_psn;
}

static void response_lost(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	a->sim->link.filter = lose_the_response;
	a->sim->link.filter_arg = a;
	post(a, (struct sim_msg){ .opcode = ROOST_WR_READ,
				  .nb_sges = 1,
				  .sge_len_bytes = { 3000 } });
}

/* A READ of 3000, and a response that is none. */
static void answer_read(struct sim_qp *a, uint8_t opcode, size_t payload)
{
	struct roost_bth bth = {
		.opcode = opcode,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = a->qpn,
		.psn = roost_psn(a->sq_psn),
	};
	uint8_t after[ROOST_AETH_LEN + 1024] = { 0x1f };

	a->sim->link.faults[SIM_A].carrier_off = true;
	post(a, (struct sim_msg){ .opcode = ROOST_WR_READ,
				  .nb_sges = 1,
				  .sge_len_bytes = { 3000 } });
	sim_turn(a->sim);
	a->no_data_check = true;
	sim_forge(a, &bth, after,
		  payload + (opcode == ROOST_OPCODE_RC_READ_RESP_MIDDLE
				     ? 0
				     : ROOST_AETH_LEN));
}

static void response_opcode(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	answer_read(a, ROOST_OPCODE_RC_ATOMIC_ACK, 8);
}

static void response_order(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	answer_read(a, ROOST_OPCODE_RC_READ_RESP_MIDDLE, 1024);
}

static void response_length(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	answer_read(a, ROOST_OPCODE_RC_READ_RESP_FIRST, 512);
}

static void response_memory(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	post(a,
	     (struct sim_msg){ .opcode = ROOST_WR_READ, .lkey = NO_SUCH_KEY });
}

static void peer_not_ready(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	sim_send(a, 100);
}

static void wrong_rkey(struct sim_qp *a, enum roost_wr_opcode opcode)
{
	post(a, (struct sim_msg){ .opcode = opcode,
				  .nb_sges = 1,
				  .sge_len_bytes = { 8 },
				  .remote = 0x1000,
				  .rkey = NO_SUCH_KEY });
}

static void write_key(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	wrong_rkey(a, ROOST_WR_WRITE);
}

static void read_key(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	wrong_rkey(a, ROOST_WR_READ);
}

static void atomic_key(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	wrong_rkey(a, ROOST_WR_FETCH_ADD);
}

static void unaligned_atomic(struct sim_qp *a, struct sim_qp *b)
{
	struct sim_slice s = sim_arena_take(a->sim, 64);

	post(a, (struct sim_msg){ .opcode = ROOST_WR_FETCH_ADD,
				  .nb_sges = 1,
				  .sge_len_bytes = { 8 },
				  .remote = (uintptr_t)s.data + 4,
				  .rkey = roost_mr_rkey(b->end->mr) });
}

static void not_allowed(struct sim_qp *a, struct sim_qp *b)
{
	struct roost_qp_attr none = { .access = 0 };

	assert_int_equal(roost_qp_modify(b->qp, &none, ROOST_QP_ACCESS_FLAGS),
			 0);
	post(a, (struct sim_msg){ .opcode = ROOST_WR_WRITE });
}

static void invalidate_key(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv(b, 100);
	post(a, (struct sim_msg){ .opcode = ROOST_WR_SEND_INV,
				  .imm_be = NO_SUCH_KEY });
}

static void receive_length(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv(b, 10);
	sim_send(a, 11);
}

static void receive_memory(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv_msg(b, &(struct sim_msg){ .nb_sges = 2,
					   .sge_len_bytes = { 50, 50 },
					   .lkey = NO_SUCH_KEY,
					   .bad_sge = 1 });
	sim_send(a, 100);
}

/* A packet of the peer's to b. */
static void forge(struct sim_qp *b, uint8_t opcode, uint32_t psn,
		  const void *after, size_t len)
{
	struct roost_bth bth = {
		.opcode = opcode,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = b->qpn,
		.psn = roost_psn(b->peer->sq_psn + psn),
	};

	sim_forge(b, &bth, after, len);
}

static void request_order(struct sim_qp *a, struct sim_qp *b)
{
	static const uint8_t payload[1024];

	(void)a;
	sim_recv(b, 3000);
	forge(b, ROOST_OPCODE_RC_SEND_MIDDLE, 0, payload, sizeof(payload));
}

static void request_length(struct sim_qp *a, struct sim_qp *b)
{
	static const uint8_t payload[512];

	(void)a;
	sim_recv(b, 3000);
	forge(b, ROOST_OPCODE_RC_SEND_FIRST, 0, payload, sizeof(payload));
}

static void too_many(struct sim_qp *a, struct sim_qp *b)
{
	struct sim_slice s = sim_arena_take(a->sim, 64);
	uint8_t after[ROOST_RETH_LEN];

	roost_reth_put(after, (uintptr_t)s.data, roost_mr_rkey(b->end->mr), 64);
	for (uint32_t i = 0; i <= b->conf.rd_atomic; i++)
		forge(b, ROOST_OPCODE_RC_READ_REQ, i, after, sizeof(after));
}

static void iterate(struct sim_end *end)
{
	for (unsigned int i = 0; i < roost_dev_nb_workers(end->dev); i++) {
		struct roost_worker *w = roost_dev_worker_at(end->dev, i);

		assert_true(roost_worker_turn_try(w));
		roost_worker_iterate(w, end->sim->now_ns);
		roost_worker_turn_release(w);
	}
}

static void memory_goes(struct sim_qp *a, struct sim_qp *b)
{
	struct sim *sim = a->sim;
	struct sim_slice s = sim_arena_take(sim, 1u << 20);
	struct roost_mr *mr;

	a->no_data_check = true;
	assert_int_equal(roost_mr_reg(b->end->pd, s.data, s.len_bytes,
				      (uintptr_t)s.data,
				      ROOST_ACCESS_REMOTE_READ, &mr),
			 0);
	post(a, (struct sim_msg){ .opcode = ROOST_WR_READ,
				  .nb_sges = 1,
				  .sge_len_bytes = { 1u << 20 },
				  .remote = (uintptr_t)s.data,
				  .rkey = roost_mr_rkey(mr) });
	/* Until some of the answer has gone. */
	for (int i = 0; i < 1000 && sim->link.nb_log[SIM_B] == 0; i++) {
		iterate(a->end);
		sim->now_ns += SIM_US;
		iterate(b->end);
	}
	assert_int_equal(roost_mr_dereg(mr), 0);
}

static void modified(struct sim_qp *a, struct sim_qp *b)
{
	sim_recv(a, 10);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	sim_qp_to(b, ROOST_QPS_ERR);
}

/* It moved to ERR, and says nothing any more. */
static void flushed_peer(struct sim_qp *a, struct sim_qp *b)
{
	assert_int_equal(sim_qp_to(b, ROOST_QPS_ERR), 0);
	sim_send(a, 100);
}

static void removed(struct sim_qp *a, struct sim_qp *b)
{
	(void)b;
	sim_recv(a, 10);
	roost_port_remove(a->end->dev, 1);
	roost_port_remove(a->end->dev, 2);
}

static void no_alternate(struct sim_qp *a, struct sim_qp *b)
{
	migrate_rearm(a, 2);
	migrate_rearm(b, 2);
	migrate_arm(a, b, 2);
	migrate_silence(&a->sim->link);
	roost_port_set_link(a->end->dev, 2, ROOST_PORT_DOWN, 1500, 0);
	sim_send(a, 100);
}

static void uc_guesses(struct sim_qp *a, struct sim_qp *b)
{
	uint8_t after[ROOST_RETH_LEN + 8] = { 0 };

	(void)a;
	sim_recv(b, 10);
	roost_reth_put(after, 0x1000, NO_SUCH_KEY, 8);
	for (uint32_t i = 0; i < 16; i++)
		forge(b, ROOST_OPCODE_UC_WRITE_ONLY, i, after, sizeof(after));
}

static const struct row {
	const char *name;
	enum roost_qp_type type;
	void (*act)(struct sim_qp *a, struct sim_qp *b);
	enum roost_qp_error_code of_a, of_b;
	/* Of b's last error where it has one, else of a's. */
	bool key;
	uint8_t opcode, syndrome;
} rows[] = {
	{ "local memory", ROOST_QPT_RC, local_memory, ROOST_QPE_LOCAL_MEMORY, 0,
	  true, ROOST_OPCODE_RC_SEND_ONLY, 0 },
	{ "local memory, UC", ROOST_QPT_UC, local_memory,
	  ROOST_QPE_LOCAL_MEMORY, 0, true, ROOST_OPCODE_UC_SEND_ONLY, 0 },
	{ "bind refused", ROOST_QPT_RC, bind_refused, ROOST_QPE_BIND_REFUSED, 0,
	  true, 0, 0 },
	{ "no rd_atomic", ROOST_QPT_RC, no_rd_atomic, ROOST_QPE_NO_RD_ATOMIC, 0,
	  false, ROOST_OPCODE_RC_READ_REQ, 0 },
	{ "no answer", ROOST_QPT_RC, no_answer, ROOST_QPE_NO_ANSWER, 0, false,
	  ROOST_OPCODE_RC_SEND_ONLY, 0 },
	{ "no alternate", ROOST_QPT_RC, no_alternate, ROOST_QPE_NO_ALTERNATE, 0,
	  false, ROOST_OPCODE_RC_SEND_ONLY, 0 },
	{ "lost again", ROOST_QPT_RC, lost_again, ROOST_QPE_LOST_AGAIN, 0,
	  false, ROOST_OPCODE_RC_SEND_FIRST, ROOST_NAK_PSN_SEQ },
	{ "response lost", ROOST_QPT_RC, response_lost, ROOST_QPE_RESPONSE_LOST,
	  0, false, ROOST_OPCODE_RC_READ_REQ, 0 },
	{ "response opcode", ROOST_QPT_RC, response_opcode,
	  ROOST_QPE_RESPONSE_OPCODE, 0, false, ROOST_OPCODE_RC_ATOMIC_ACK, 0 },
	{ "response order", ROOST_QPT_RC, response_order,
	  ROOST_QPE_RESPONSE_ORDER, 0, false, ROOST_OPCODE_RC_READ_RESP_MIDDLE,
	  0 },
	{ "response length", ROOST_QPT_RC, response_length,
	  ROOST_QPE_RESPONSE_LENGTH, 0, false, ROOST_OPCODE_RC_READ_RESP_FIRST,
	  0 },
	{ "response memory", ROOST_QPT_RC, response_memory,
	  ROOST_QPE_RESPONSE_MEMORY, 0, true, ROOST_OPCODE_RC_READ_RESP_ONLY,
	  0 },
	{ "peer not ready", ROOST_QPT_RC, peer_not_ready,
	  ROOST_QPE_PEER_NOT_READY, 0, false, ROOST_OPCODE_RC_SEND_ONLY, 0x2c },
	{ "WRITE key", ROOST_QPT_RC, write_key, ROOST_QPE_PEER_ACCESS,
	  ROOST_QPE_REMOTE_KEY, true, ROOST_OPCODE_RC_WRITE_ONLY,
	  ROOST_NAK_REM_ACCESS },
	{ "READ key", ROOST_QPT_RC, read_key, ROOST_QPE_PEER_ACCESS,
	  ROOST_QPE_REMOTE_KEY, true, ROOST_OPCODE_RC_READ_REQ,
	  ROOST_NAK_REM_ACCESS },
	{ "atomic key", ROOST_QPT_RC, atomic_key, ROOST_QPE_PEER_ACCESS,
	  ROOST_QPE_REMOTE_KEY, true, ROOST_OPCODE_RC_FETCH_ADD,
	  ROOST_NAK_REM_ACCESS },
	{ "READ key goes", ROOST_QPT_RC, memory_goes, ROOST_QPE_PEER_ACCESS,
	  ROOST_QPE_REMOTE_KEY_GONE, false, ROOST_OPCODE_RC_READ_REQ,
	  ROOST_NAK_REM_ACCESS },
	{ "unaligned atomic", ROOST_QPT_RC, unaligned_atomic,
	  ROOST_QPE_PEER_INVALID, ROOST_QPE_OPERAND, false,
	  ROOST_OPCODE_RC_FETCH_ADD, ROOST_NAK_INV_REQ },
	{ "not allowed", ROOST_QPT_RC, not_allowed, ROOST_QPE_PEER_INVALID,
	  ROOST_QPE_NOT_ALLOWED, false, ROOST_OPCODE_RC_WRITE_ONLY,
	  ROOST_NAK_INV_REQ },
	{ "invalidate key", ROOST_QPT_RC, invalidate_key, ROOST_QPE_PEER_ACCESS,
	  ROOST_QPE_INVALIDATE_KEY, true, ROOST_OPCODE_RC_SEND_ONLY_INV,
	  ROOST_NAK_REM_ACCESS },
	{ "receive length", ROOST_QPT_RC, receive_length,
	  ROOST_QPE_PEER_INVALID, ROOST_QPE_RECEIVE_LENGTH, false,
	  ROOST_OPCODE_RC_SEND_ONLY, ROOST_NAK_INV_REQ },
	{ "receive memory", ROOST_QPT_RC, receive_memory,
	  ROOST_QPE_PEER_OPERATION, ROOST_QPE_RECEIVE_MEMORY, true,
	  ROOST_OPCODE_RC_SEND_ONLY, ROOST_NAK_REM_OP },
	{ "receive memory, UC", ROOST_QPT_UC, receive_memory, 0,
	  ROOST_QPE_RECEIVE_MEMORY, true, ROOST_OPCODE_UC_SEND_ONLY, 0 },
	{ "request order", ROOST_QPT_RC, request_order, 0,
	  ROOST_QPE_REQUEST_ORDER, false, ROOST_OPCODE_RC_SEND_MIDDLE,
	  ROOST_NAK_INV_REQ },
	{ "request length", ROOST_QPT_RC, request_length, 0,
	  ROOST_QPE_REQUEST_LENGTH, false, ROOST_OPCODE_RC_SEND_FIRST,
	  ROOST_NAK_INV_REQ },
	{ "too many READs", ROOST_QPT_RC, too_many, 0,
	  ROOST_QPE_TOO_MANY_FETCHES, false, ROOST_OPCODE_RC_READ_REQ,
	  ROOST_NAK_INV_REQ },
	{ "modified", ROOST_QPT_RC, modified, ROOST_QPE_MODIFIED,
	  ROOST_QPE_MODIFIED, false, 0, 0 },
	{ "flushed peer", ROOST_QPT_RC, flushed_peer, ROOST_QPE_NO_ANSWER,
	  ROOST_QPE_MODIFIED, false, 0, 0 },
	{ "removed", ROOST_QPT_RC, removed, ROOST_QPE_REMOVED, 0, false, 0, 0 },
	{ "wrong keys, UC", ROOST_QPT_UC, uc_guesses, 0, ROOST_QPE_WRONG_KEYS,
	  true, ROOST_OPCODE_UC_WRITE_ONLY, 0 },
};

static void assert_error(const struct sim_qp *qp, const struct row *row,
			 enum roost_qp_error_code code, bool fully)
{
	struct roost_qp_error e = error_of(qp);

	if (e.code != code)
		fail_msg("%s: error 0x%x, not 0x%x", row->name, e.code, code);
	if (code == ROOST_QPE_NONE)
		return;
	if (e.at_ns == 0 || e.at_ns > qp->end->sim->now_ns)
		fail_msg("%s: at %lu", row->name, (unsigned long)e.at_ns);
	if (!fully)
		return;
	if (e.opcode != row->opcode || e.syndrome != row->syndrome)
		fail_msg("%s: opcode 0x%x, syndrome 0x%x", row->name, e.opcode,
			 e.syndrome);
	if (row->key && (!e.has_memory || e.key != NO_SUCH_KEY))
		fail_msg("%s: key 0x%x", row->name, e.key);
}

static void why__each_way_to_die(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		conf.type = row->type;
		conf.retry_cnt = 0;
		conf.rnr_retry = 1;
		conf.min_rnr_timer = 12;
		sim_pair(sim, &conf, &a, &b);
		sim_run_for(sim, SIM_US);
		row->act(a, b);
		sim_run(sim);
		assert_error(a, row, row->of_a, row->of_b == 0);
		assert_error(b, row, row->of_b, true);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(why__each_way_to_die),
};

SIM_MAIN("sim-why", tests)
