/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Every opcode of every service: each single packet of its exchange is lost,
 * doubled, or late, both ways. What is reliable shows nothing of it; what is
 * not loses that message, whole, and takes the next.
 *
 * In the end every opcode of the table, requests and responses, must have met
 * every fate.
 */

#include <stdlib.h>
#include <string.h>

#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define NB_MSGS 3u  /* with the fault among their packets */
#define NB_ALL 4u   /* and one after it */
#define NB_RECVS 6u /* some may come twice */
#define RECV_BYTES 4096u
#define GRH_BYTES 40u

struct row {
	enum roost_qp_type type;
	enum roost_wr_opcode opcode;
	uint32_t len_bytes;
};

/* Lengths of one packet, and of first, middle and last. */
#define BOTH(type, opcode)                                                     \
	{ ROOST_QPT_##type, ROOST_WR_##opcode, 10 },                           \
	{                                                                      \
		ROOST_QPT_##type, ROOST_WR_##opcode, 2500                      \
	}
#define ONE(type, opcode, len)                                                 \
	{                                                                      \
		ROOST_QPT_##type, ROOST_WR_##opcode, len                       \
	}

static const struct row rows[] = {
	BOTH(RC, SEND),
	BOTH(RC, SEND_IMM),
	BOTH(RC, SEND_INV),
	BOTH(RC, WRITE),
	BOTH(RC, WRITE_IMM),
	BOTH(RC, READ),
	ONE(RC, CMP_SWAP, 8),
	ONE(RC, FETCH_ADD, 8),
	ONE(RC, ATOMIC_WRITE, 8),
	ONE(RC, FLUSH, 0),
	BOTH(UC, SEND),
	BOTH(UC, SEND_IMM),
	BOTH(UC, WRITE),
	BOTH(UC, WRITE_IMM),
	ONE(UD, SEND, 10),
	ONE(UD, SEND_IMM, 1000),
	BOTH(XRC_INI, SEND),
	BOTH(XRC_INI, SEND_IMM),
	BOTH(XRC_INI, WRITE),
	BOTH(XRC_INI, WRITE_IMM),
	BOTH(XRC_INI, READ),
	ONE(XRC_INI, CMP_SWAP, 8),
	ONE(XRC_INI, FETCH_ADD, 8),
};

/* Which opcodes were seen with a fate on them. */
static bool met[NB_FATES][256];

struct exchange {
	struct sim *sim;
	const struct row *row;
	struct sim_qp *a, *b;
	struct roost_xrcd *xrcd;
	struct roost_srq *srq;
	struct roost_ah *ah;
	struct roost_mw *windows[NB_ALL];
	struct sim_slice here[NB_ALL], there[NB_ALL];
	struct sim_slice in[NB_RECVS];
	uint64_t counter; /* what the atomics find */
	unsigned int nb_received[NB_ALL];
};

static bool is_reliable(const struct row *row)
{
	return row->type != ROOST_QPT_UC && row->type != ROOST_QPT_UD;
}

static bool is_atomic(const struct row *row)
{
	return row->opcode == ROOST_WR_CMP_SWAP ||
	       row->opcode == ROOST_WR_FETCH_ADD;
}

static bool is_write(const struct row *row)
{
	return row->opcode == ROOST_WR_WRITE ||
	       row->opcode == ROOST_WR_WRITE_IMM ||
	       row->opcode == ROOST_WR_ATOMIC_WRITE;
}

static bool is_send(const struct row *row)
{
	return row->opcode == ROOST_WR_SEND ||
	       row->opcode == ROOST_WR_SEND_IMM ||
	       row->opcode == ROOST_WR_SEND_INV;
}

static bool is_rd_atomic(uint8_t opcode)
{
	return roost_opcodes[opcode].op != ROOST_OP_SEND &&
	       roost_opcodes[opcode].op != ROOST_OP_WRITE;
}

static bool takes_receive(const struct row *row)
{
	return is_send(row) || row->opcode == ROOST_WR_WRITE_IMM;
}

/* ---- setting up ---------------------------------------------------------- */

static void make_qps(struct exchange *x)
{
	struct sim_qp_conf conf = sim_qp_conf_default, to;
	struct sim_end *b = &x->sim->ends[SIM_B];
	struct roost_srq_init init = { .max_wr = NB_RECVS,
				       .max_sge = 1,
				       .cq = b->cq };

	conf.type = x->row->type;
	to = conf;
	if (conf.type == ROOST_QPT_XRC_INI) {
		assert_int_equal(roost_xrcd_open(b->ctx, &x->xrcd), 0);
		init.xrcd = x->xrcd;
		assert_int_equal(roost_srq_create(b->pd, &init, &x->srq), 0);
		to.type = ROOST_QPT_XRC_TGT;
		to.xrcd = x->xrcd;
	}
	x->a = sim_qp_new(x->sim, SIM_A, &conf);
	x->b = sim_qp_new(x->sim, SIM_B, &to);
	sim_connect(x->a, x->b);
	if (conf.type == ROOST_QPT_UD)
		x->ah = raw_ah(x->a->end, &b->gid);
}

/* What SEND with invalidate closes. */
static void make_window(struct exchange *x, unsigned int i)
{
	struct sim_end *b = &x->sim->ends[SIM_B];

	assert_int_equal(roost_mw_alloc(b->pd, 2, &x->windows[i]), 0);
	raw_send(x->b,
		 (struct roost_send_wr){
			 .wr_id = 99,
			 .opcode = ROOST_WR_BIND_MW,
			 .flags = ROOST_SEND_SIGNALED,
			 .bind = { .mw = x->windows[i],
				   .mr = b->mr,
				   .addr = (uintptr_t)x->there[i].data,
				   .len_bytes = 10,
				   .access = ROOST_ACCESS_REMOTE_READ,
				   .rkey = roost_mw_rkey(x->windows[i]) },
		 },
		 (struct sim_slice){ 0 });
	sim_turn(x->sim);
	raw_expect(b->cq, 99, ROOST_WC_SUCCESS);
}

static void make_memory(struct exchange *x)
{
	struct sim *sim = x->sim;
	uint32_t len = x->row->len_bytes;
	bool reads = x->row->opcode == ROOST_WR_READ || is_atomic(x->row);

	for (unsigned int i = 0; i < NB_ALL; i++) {
		sim->arena_used = (sim->arena_used + 7) & ~7ul;
		x->here[i] = reads ? raw_blank(sim, len) : raw_random(sim, len);
		sim->arena_used = (sim->arena_used + 7) & ~7ul;
		x->there[i] =
			reads ? raw_random(sim, len) : raw_blank(sim, len);
		if (x->row->opcode == ROOST_WR_SEND_INV)
			make_window(x, i);
	}
	if (is_atomic(x->row))
		memcpy(&x->counter, x->there[0].data, sizeof(x->counter));
	for (unsigned int i = 0; i < NB_RECVS; i++) {
		x->in[i] = raw_blank(sim, RECV_BYTES);
		if (x->srq != NULL)
			raw_srq_recv(&sim->ends[SIM_B], x->srq, i, x->in[i]);
		else
			raw_recv(x->b, i, x->in[i]);
	}
}

static void post(struct exchange *x, unsigned int i)
{
	/* All atomics have one place. */
	unsigned int target = is_atomic(x->row) ? 0 : i;
	struct roost_send_wr wr = {
		.wr_id = 50 + i,
		.opcode = x->row->opcode,
		.flags = ROOST_SEND_SIGNALED,
		.imm_be = 1000 + i,
		.remote_addr = (uintptr_t)x->there[target].data,
		.rkey = roost_mr_rkey(x->b->end->mr),
		.swap_add = i + 1,
		.compare = x->counter,
		.flush_type = 1,
		.flush_len_bytes = 8,
		.ah = x->ah,
		.dest_qpn = x->b->qpn,
		.qkey = x->b->conf.qkey,
		.xrc_srqn = x->srq != NULL ? roost_srq_num(x->srq) : 0,
	};

	if (x->windows[i] != NULL)
		wr.imm_be = roost_mw_rkey(x->windows[i]);
	if (wr.opcode == ROOST_WR_CMP_SWAP && i > 0)
		wr.compare = i; /* what the one before left there */
	raw_send(x->a, wr,
		 x->row->opcode == ROOST_WR_FLUSH ? (struct sim_slice){ 0 }
						  : x->here[i]);
}

static void fini(struct exchange *x)
{
	for (unsigned int i = 0; i < NB_ALL; i++)
		if (x->windows[i] != NULL)
			assert_int_equal(roost_mw_dealloc(x->windows[i]), 0);
	sim_qp_destroy(x->b);
	if (x->srq != NULL)
		assert_int_equal(roost_srq_destroy(x->srq, NULL), 0);
	if (x->xrcd != NULL)
		assert_int_equal(roost_xrcd_close(x->xrcd), 0);
	if (x->ah != NULL)
		assert_int_equal(roost_ah_destroy(x->ah), 0);
	sim_free(x->sim);
}

/* ---- what must be -------------------------------------------------------- */

/* How often a message arrives of which one packet had a fate. Packets of UC and
 * UD have no past: an only packet that comes twice is two messages, a middle
 * one is a gap.
 */
enum position {
	FIRST,
	MIDDLE,
	LAST,
	ONLY,
	NB_POSITIONS
};
static const uint8_t unreliable_arrives[NB_FATES][NB_POSITIONS] = {
	[LOST] = { 0, 0, 0, 0 },
	[DOUBLED] = { 1, 0, 1, 2 },
	[LATE] = { 0, 0, 0, 1 },
	[VERY_LATE] = { 0, 0, 0, 1 },
};

static enum position position_of(uint8_t opcode)
{
	uint8_t flags = roost_opcodes[opcode].flags;

	if (flags & ROOST_OPF_FIRST)
		return flags & ROOST_OPF_LAST ? ONLY : FIRST;
	return flags & ROOST_OPF_LAST ? LAST : MIDDLE;
}

/* Which message a receive is of. */
static unsigned int message_of(const struct exchange *x,
			       const struct roost_cqe *cqe, const uint8_t *data)
{
	for (unsigned int i = 0; i < NB_ALL; i++) {
		if (x->row->opcode == ROOST_WR_SEND
			    ? memcmp(data, x->here[i].data,
				     x->here[i].len_bytes) == 0
		    : x->windows[i] != NULL
			    ? cqe->imm_be == roost_mw_rkey(x->windows[i])
			    : cqe->imm_be == 1000 + i)
			return i;
	}
	fail_msg("a message that nobody sent");
	return 0;
}

static void take_receives(struct exchange *x)
{
	uint32_t head = x->row->type == ROOST_QPT_UD ? GRH_BYTES : 0;
	struct roost_cqe cqe;

	while (roost_cq_poll(x->b->end->cq, 1, &cqe) == 1) {
		const uint8_t *data = x->in[cqe.wr_id].data + head;
		unsigned int i = message_of(x, &cqe, data);

		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, head + x->row->len_bytes);
		if (is_send(x->row))
			assert_memory_equal(data, x->here[i].data,
					    x->row->len_bytes);
		else
			assert_memory_equal(x->there[i].data, x->here[i].data,
					    x->row->len_bytes);
		x->nb_received[i]++;
	}
}

/* The memory of both sides, for a message that arrived or did not. */
static void check_memory(const struct exchange *x, unsigned int i, bool arrived)
{
	uint32_t len = x->row->len_bytes;
	uint64_t found = i == 0 ? x->counter : i, last = NB_ALL;

	if (x->row->opcode == ROOST_WR_FETCH_ADD) {
		found = x->counter + i * (i + 1) / 2;
		last = x->counter + NB_ALL * (NB_ALL + 1) / 2;
	}
	if (is_atomic(x->row)) {
		assert_memory_equal(x->here[i].data, &found, len);
		assert_memory_equal(x->there[0].data, &last, len);
	} else if (is_write(x->row)) {
		assert_int_equal(memcmp(x->here[i].data, x->there[i].data,
					len) == 0,
				 arrived);
	} else if (x->row->opcode == ROOST_WR_READ) {
		assert_memory_equal(x->here[i].data, x->there[i].data, len);
	}
	for (unsigned int j = 0; j < SIM_GUARD_BYTES; j++) {
		assert_int_equal(x->there[i].data[len + j], SIM_GUARD_BYTE);
		assert_int_equal(x->here[i].data[len + j], SIM_GUARD_BYTE);
	}
}

/* affected: the message with the fault, NB_ALL: none. arrives: how often. */
static void check_all(struct exchange *x, unsigned int affected,
		      unsigned int arrives)
{
	for (unsigned int i = 0; i < NB_ALL; i++) {
		unsigned int n = i == affected ? arrives : 1;

		raw_expect(x->a->end->cq, 50 + i, ROOST_WC_SUCCESS);
		if (takes_receive(x->row))
			assert_int_equal(x->nb_received[i], n);
		check_memory(x, i, n > 0);
	}
	raw_expect_nothing(x->a->end->cq);
	assert_int_equal(roost_qp_state(x->a->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_qp_state(x->b->qp), ROOST_QPS_RTS);
	for (int type = 0; type < SIM_ASYNC_TYPES; type++) {
		assert_int_equal(x->a->async[type], 0);
		assert_int_equal(x->b->async[type], 0);
	}
}

static void check_counters(const struct exchange *x, int side,
			   enum sim_fate fate, uint8_t opcode)
{
	struct roost_dev_counters a = *sim_counters(x->sim, SIM_A);
	struct roost_dev_counters b = *sim_counters(x->sim, SIM_B);
	bool request = roost_opcodes[opcode].flags & ROOST_OPF_REQUEST;

	assert_int_equal(request, side == SIM_A);
	assert_int_equal(a.naks_sent + a.rnr_naks_sent + b.rnr_naks_sent, 0);
	assert_int_equal(b.timeouts + b.retransmits, 0);
	assert_int_equal(a.drops[ROOST_DROP_ICRC], 0);
	if (!is_reliable(x->row)) {
		assert_int_equal(a.timeouts + a.retransmits + b.naks_sent, 0);
		assert_int_equal(b.tx_pkts, 0);
		return;
	}
	/* One more of anything is dropped, and that is all, but for the ACK of
	 * a second request that comes after the ACK of the first has gone; one
	 * more of what asks for data may come before the answer to the first
	 * goes out.
	 */
	if (fate == DOUBLED) {
		assert_int_equal(a.timeouts + a.retransmits + b.naks_sent, 0);
		if (!request || !is_rd_atomic(opcode))
			assert_in_range(
				b.drops[ROOST_DROP_DUPLICATE] +
					a.drops[ROOST_DROP_UNEXPECTED_RESPONSE],
				1, 1 + request);
	}
	if (fate == LOST && request)
		assert_in_range(a.retransmits + a.resent_pkts, 1, 2);
	assert_true(b.naks_sent <= 1);
}

/* ---- each packet --------------------------------------------------------- */

/* Returns how many packets the side sent for the messages with the fault. */
static size_t run(const struct row *row, int side, enum sim_fate fate,
		  size_t nth)
{
	struct exchange x = { .sim = sim_new(), .row = row };
	unsigned int affected = NB_ALL, arrives = 1;
	size_t nb;

	x.sim->nobody_polls = true;
	make_qps(&x);
	make_memory(&x);
	if (fate != NB_FATES)
		x.sim->link.faults[side] = sim_fate_faults(fate, nth);
	for (unsigned int i = 0; i < NB_MSGS; i++)
		post(&x, i);
	sim_run(x.sim);
	/* Unreliable packets may be under way although nobody waits. */
	sim_run_for(x.sim, 10 * SIM_MS);
	take_receives(&x);
	nb = x.sim->link.nb_log[side];
	post(&x, NB_MSGS);
	sim_run(x.sim);
	sim_run_for(x.sim, 10 * SIM_MS);
	take_receives(&x);
	if (fate != NB_FATES) {
		uint8_t opcode = x.sim->link.log[side][nth].opcode;

		met[fate][opcode] = true;
		check_counters(&x, side, fate, opcode);
		if (!is_reliable(row)) {
			affected = (unsigned int)(nth * NB_MSGS / nb);
			arrives = unreliable_arrives[fate][position_of(opcode)];
			/* Nothing overtakes what is the last. */
			if (fate >= LATE && nth == nb - 1)
				arrives = 1;
		}
	}
	check_all(&x, affected, arrives);
	fini(&x);
	return nb;
}

static void each_packet(enum roost_qp_type type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type != type)
			continue;
		for (int side = 0; side < 2; side++) {
			size_t nb = run(&rows[i], side, NB_FATES, 0);

			for (int fate = 0; fate < NB_FATES; fate++)
				for (size_t nth = 0; nth < nb; nth++)
					run(&rows[i], side, (enum sim_fate)fate,
					    nth);
		}
	}
}

static void fates__rc(void **state)
{
	each_packet(ROOST_QPT_RC);
}

static void fates__uc(void **state)
{
	each_packet(ROOST_QPT_UC);
}

static void fates__ud(void **state)
{
	each_packet(ROOST_QPT_UD);
}

static void fates__xrc(void **state)
{
	each_packet(ROOST_QPT_XRC_INI);
}

/* Opcodes that no exchange of two of us brings about. Reports are sent where
 * both repeat selectively, and where one is lost none need come.
 */
static bool is_never_sent(uint8_t opcode)
{
	const struct roost_opcode_info *info = &roost_opcodes[opcode];

	/* The target of XRC binds no windows, so there are none to close. */
	return info->op == ROOST_OP_NONE || info->op == ROOST_OP_CNP ||
	       (info->service == ROOST_SERVICE_XRC &&
		info->hdrs & ROOST_HDR_BIT(IETH));
}

static void fates__nothing_was_left_out(void **state)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++)
		for (int fate = 0; fate < NB_FATES; fate++)
			if (roost_opcodes[opcode].op != ROOST_OP_REPORT &&
			    met[fate][opcode] == is_never_sent((uint8_t)opcode))
				fail_msg("%s, fate %d",
					 roost_opcodes[opcode].name, fate);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(fates__rc),
	cmocka_unit_test(fates__uc),
	cmocka_unit_test(fates__ud),
	cmocka_unit_test(fates__xrc),
	cmocka_unit_test(fates__nothing_was_left_out),
};

SIM_MAIN("sim-fates", tests)
