/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include <roost/mr.h>
#include "tests/sim/world.h"

/* wr_id: QP, queue and number. */
#define WR_ID_RECV (1ull << 32)
#define WR_ID_QP_SHIFT 40

static struct sim_wr *wr_new(struct sim_wrs *wrs)
{
	if (wrs->count == wrs->room) {
		wrs->room = wrs->room == 0 ? 64 : 2 * wrs->room;
		wrs->wr = realloc(wrs->wr, wrs->room * sizeof(wrs->wr[0]));
		assert_non_null(wrs->wr);
	}
	memset(&wrs->wr[wrs->count], 0, sizeof(wrs->wr[0]));
	return &wrs->wr[wrs->count++];
}

static void wr_fill(struct sim_qp *qp, struct sim_wr *wr,
		    const struct sim_msg *msg, struct roost_sge *sges)
{
	assert_true(msg->nb_sges <= SIM_SGES_MAX);
	wr->nb_slices = msg->nb_sges;
	wr->opcode = (uint8_t)msg->opcode;
	wr->flags = msg->flags;
	wr->imm_be = msg->imm_be;
	for (uint32_t i = 0; i < msg->nb_sges; i++) {
		wr->slices[i] = sim_arena_take(qp->sim, msg->sge_len_bytes[i]);
		wr->len_bytes += msg->sge_len_bytes[i];
		sges[i] = (struct roost_sge){
			.addr = (uintptr_t)wr->slices[i].data,
			.len_bytes = wr->slices[i].len_bytes,
			.lkey = roost_mr_lkey(qp->end->mr),
		};
		if (msg->lkey != 0 && msg->bad_sge == i)
			sges[i].lkey = msg->lkey;
	}
}

/* ---- memory of the other side -------------------------------------------- */

static void fill(struct sim_slice slice, uint8_t byte)
{
	memset(slice.data, byte, slice.len_bytes);
}

/* The eight bytes that all atomics of a QP work on. */
static struct sim_slice counter_of(struct sim_qp *qp)
{
	if (qp->counter.data == NULL) {
		/* Guards are as long as a cache line. */
		qp->sim->arena_used = (qp->sim->arena_used + 7) & ~7ul;
		qp->counter = sim_arena_take(qp->sim, 8);
		qp->counted = sim_random(&qp->sim->rng);
		memcpy(qp->counter.data, &qp->counted, 8);
	}
	return qp->counter;
}

/* What must come back, and what will stand there then. */
static void expect_atomic(struct sim_qp *qp, struct sim_wr *wr,
			  const struct sim_msg *msg)
{
	wr->orig = qp->counted;
	wr->check_orig = true;
	if (msg->opcode == ROOST_WR_FETCH_ADD)
		qp->counted += msg->swap_add;
	else if (qp->counted == msg->compare)
		qp->counted = msg->swap_add;
}

static bool is_write(const struct sim_wr *wr)
{
	return wr->opcode == ROOST_WR_WRITE ||
	       wr->opcode == ROOST_WR_WRITE_IMM ||
	       wr->opcode == ROOST_WR_ATOMIC_WRITE;
}

static bool is_atomic(const struct sim_wr *wr)
{
	return wr->opcode == ROOST_WR_CMP_SWAP ||
	       wr->opcode == ROOST_WR_FETCH_ADD;
}

/* What brings data to this side. */
static bool is_read(const struct sim_wr *wr)
{
	return wr->opcode == ROOST_WR_READ || is_atomic(wr);
}

static void take_remote(struct sim_qp *qp, struct sim_wr *wr)
{
	if (is_atomic(wr)) {
		wr->remote = counter_of(qp);
	} else if (is_write(wr)) {
		qp->sim->arena_used = (qp->sim->arena_used + 7) & ~7ul;
		wr->remote = sim_arena_take(qp->sim, wr->len_bytes);
		fill(wr->remote, SIM_BLANK_BYTE);
	} else if (is_read(wr)) {
		wr->remote = sim_arena_take(qp->sim, wr->len_bytes);
		sim_random_fill(&qp->sim->rng, wr->remote.data,
				wr->remote.len_bytes);
	}
}

void sim_check_counter(struct sim_qp *qp)
{
	if (qp->counter.data != NULL)
		assert_memory_equal(qp->counter.data, &qp->counted, 8);
}

/* ---- post ---------------------------------------------------------------- */

int sim_try_send(struct sim_qp *qp, const struct sim_msg *msg)
{
	uint32_t number = qp->sends.count;
	uint64_t counted;
	size_t arena_used;
	struct roost_sge sges[SIM_SGES_MAX];
	struct sim_wr *wr = wr_new(&qp->sends);
	struct roost_send_wr post = {
		.wr_id = (uint64_t)qp->index << WR_ID_QP_SHIFT | number,
		.sges = sges,
		.nb_sges = msg->nb_sges,
		.opcode = msg->opcode,
		.flags = msg->flags,
		.imm_be = msg->imm_be,
		.swap_add = msg->swap_add,
		.compare = msg->compare,
		.flush_type = msg->flush_type,
		.flush_len_bytes = msg->opcode == ROOST_WR_FLUSH ? 8 : 0,
		.bind = msg->bind,
	};
	int rc;

	if (is_atomic(&(struct sim_wr){ .opcode = (uint8_t)msg->opcode }))
		counter_of(qp);
	counted = qp->counted;
	arena_used = qp->sim->arena_used;
	wr_fill(qp, wr, msg, sges);
	for (uint32_t i = 0; i < wr->nb_slices; i++) {
		if (is_read(wr))
			fill(wr->slices[i], SIM_BLANK_BYTE);
		else
			sim_random_fill(&qp->sim->rng, wr->slices[i].data,
					wr->slices[i].len_bytes);
	}
	if (msg->remote == 0)
		take_remote(qp, wr);
	post.remote_addr =
		msg->remote != 0 ? msg->remote : (uintptr_t)wr->remote.data;
	if (msg->opcode == ROOST_WR_FLUSH && msg->remote == 0)
		post.remote_addr = (uintptr_t)qp->sim->arena;
	post.rkey = msg->rkey;
	if (msg->rkey == 0 && qp->peer != NULL)
		post.rkey = roost_mr_rkey(qp->peer->end->mr);
	if (msg->remote == 0 && is_atomic(wr))
		expect_atomic(qp, wr, msg);
	roost_qp_send_begin(qp->qp);
	rc = roost_qp_send_add(qp->qp, &post);
	roost_qp_send_end(qp->qp);
	if (rc != 0) {
		qp->sends.count--;
		qp->counted = counted;
		qp->sim->arena_used = arena_used;
	}
	return rc;
}

uint32_t sim_send_msg(struct sim_qp *qp, const struct sim_msg *msg)
{
	assert_int_equal(sim_try_send(qp, msg), 0);
	return qp->sends.count - 1;
}

uint32_t sim_send(struct sim_qp *qp, uint32_t len_bytes)
{
	return sim_send_msg(qp, &(struct sim_msg){
					.opcode = ROOST_WR_SEND,
					.flags = ROOST_SEND_SIGNALED,
					.nb_sges = 1,
					.sge_len_bytes = { len_bytes },
				});
}

uint32_t sim_recv_msg(struct sim_qp *qp, const struct sim_msg *msg)
{
	uint32_t number = qp->recvs.count;
	struct roost_sge sges[SIM_SGES_MAX];
	struct sim_wr *wr = wr_new(&qp->recvs);
	struct roost_recv_wr post = {
		.wr_id = (uint64_t)qp->index << WR_ID_QP_SHIFT | WR_ID_RECV |
			 number,
		.sges = sges,
		.nb_sges = msg->nb_sges,
	};

	wr_fill(qp, wr, msg, sges);
	for (uint32_t i = 0; i < wr->nb_slices; i++)
		memset(wr->slices[i].data, SIM_BLANK_BYTE,
		       wr->slices[i].len_bytes);
	roost_qp_recv_begin(qp->qp);
	assert_int_equal(roost_qp_recv_add(qp->qp, &post), 0);
	roost_qp_recv_end(qp->qp);
	return number;
}

uint32_t sim_recv(struct sim_qp *qp, uint32_t len_bytes)
{
	return sim_recv_msg(qp, &(struct sim_msg){
					.nb_sges = 1,
					.sge_len_bytes = { len_bytes },
				});
}

/* ---- check ---------------------------------------------------------- */

/* A walk over the bytes of a request. */
struct walk {
	const struct sim_wr *wr;
	uint32_t slice;
	uint32_t at;
};

/* The next run of bytes; NULL: there is none. */
static const uint8_t *walk_on(struct walk *w, uint32_t want, uint32_t *len)
{
	const struct sim_slice *s;
	const uint8_t *p;

	while (w->slice < w->wr->nb_slices &&
	       w->at == w->wr->slices[w->slice].len_bytes) {
		w->slice++;
		w->at = 0;
	}
	if (w->slice == w->wr->nb_slices)
		return NULL;
	s = &w->wr->slices[w->slice];
	p = s->data + w->at;
	*len = s->len_bytes - w->at < want ? s->len_bytes - w->at : want;
	w->at += *len;
	return p;
}

/* fresh: nothing else was ever written there. */
static void check_data(const struct sim_wr *send, const struct sim_wr *recv,
		       bool fresh)
{
	struct walk from = { .wr = send }, to = { .wr = recv };
	uint32_t left = send->len_bytes, n = 0, m = 0;
	const uint8_t *p, *q;

	while (left > 0) {
		q = walk_on(&to, left, &n);
		assert_non_null(q);
		for (uint32_t i = 0; i < n; i += m) {
			p = walk_on(&from, n - i, &m);
			assert_non_null(p);
			assert_memory_equal(q + i, p, m);
		}
		left -= n;
	}
	if (!fresh)
		return;
	while ((q = walk_on(&to, UINT32_MAX, &n)) != NULL)
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(q[i], SIM_BLANK_BYTE);
}

static void check_guard(const uint8_t *p)
{
	for (uint32_t i = 0; i < SIM_GUARD_BYTES; i++)
		assert_int_equal(p[i], SIM_GUARD_BYTE);
}

static void check_remote(const struct sim_wr *wr)
{
	const struct sim_wr there = {
		.slices = { wr->remote },
		.nb_slices = 1,
		.len_bytes = wr->remote.len_bytes,
	};

	if (wr->remote.data == NULL)
		return;
	if (wr->check_orig)
		assert_memory_equal(wr->slices[0].data, &wr->orig, 8);
	else if (is_read(wr))
		check_data(&there, wr, true);
	else
		check_data(wr, &there, true);
	check_guard(wr->remote.data - SIM_GUARD_BYTES);
	check_guard(wr->remote.data + wr->remote.len_bytes);
}

static bool takes_receive(const struct sim_wr *wr)
{
	return wr->opcode == ROOST_WR_SEND || wr->opcode == ROOST_WR_SEND_IMM ||
	       wr->opcode == ROOST_WR_SEND_INV ||
	       wr->opcode == ROOST_WR_WRITE_IMM;
}

/* The peer's request that this receive is for. What UC loses is skipped, and a
 * message of one packet may overtake others: its immediates must be the numbers
 * of the requests. None comes twice.
 */
static const struct sim_wr *match(struct sim_qp *qp, const struct sim_wr *recv)
{
	const struct sim_wrs *sends = &qp->peer->sends;

	if (qp->conf.type == ROOST_QPT_UC) {
		assert_true(recv->cqe.imm_be < sends->count);
		qp->match = recv->cqe.imm_be;
		assert_false(sends->wr[qp->match].received);
	}
	while (qp->match < sends->count &&
	       !takes_receive(&sends->wr[qp->match]))
		qp->match++;
	assert_true(qp->match < sends->count);
	sends->wr[qp->match].received = true;
	return &sends->wr[qp->match++];
}

static void check_received(struct sim_qp *qp, const struct sim_wr *recv)
{
	static const struct sim_wr nothing;
	const struct sim_wr *send;
	bool imm, write;

	if (qp->no_data_check)
		return;
	assert_non_null(qp->peer);
	send = match(qp, recv);
	imm = send->opcode == ROOST_WR_SEND_IMM ||
	      send->opcode == ROOST_WR_WRITE_IMM;
	write = send->opcode == ROOST_WR_WRITE_IMM;
	assert_int_equal(recv->cqe.byte_len, send->len_bytes);
	assert_int_equal(recv->cqe.opcode,
			 write ? ROOST_WC_RECV_WRITE_IMM : ROOST_WC_RECV);
	assert_int_equal(recv->cqe.src_qpn, qp->peer->qpn);
	assert_int_equal(recv->cqe.flags, imm ? ROOST_WC_WITH_IMM : 0);
	assert_int_equal(recv->cqe.solicited,
			 (send->flags & ROOST_SEND_SOLICITED) != 0);
	if (imm)
		assert_int_equal(recv->cqe.imm_be, send->imm_be);
	if (write)
		check_remote(send);
	check_data(write ? &nothing : send, recv,
		   qp->conf.type != ROOST_QPT_UC);
}

static const uint8_t wc_opcodes[ROOST_WR_OPCODE_COUNT] = {
	[ROOST_WR_WRITE] = ROOST_WC_WRITE,
	[ROOST_WR_WRITE_IMM] = ROOST_WC_WRITE,
	[ROOST_WR_SEND] = ROOST_WC_SEND,
	[ROOST_WR_SEND_IMM] = ROOST_WC_SEND,
	[ROOST_WR_SEND_INV] = ROOST_WC_SEND,
	[ROOST_WR_READ] = ROOST_WC_READ,
	[ROOST_WR_CMP_SWAP] = ROOST_WC_CMP_SWAP,
	[ROOST_WR_FETCH_ADD] = ROOST_WC_FETCH_ADD,
	[ROOST_WR_LOCAL_INV] = ROOST_WC_LOCAL_INV,
	[ROOST_WR_BIND_MW] = ROOST_WC_BIND_MW,
	[ROOST_WR_FLUSH] = ROOST_WC_FLUSH,
	[ROOST_WR_ATOMIC_WRITE] = ROOST_WC_ATOMIC_WRITE,
};

/* It is done: the memory of both sides is as it must be. */
static void check_done(struct sim_qp *qp, const struct sim_wr *wr)
{
	if (qp->conf.type != ROOST_QPT_UC && !qp->no_data_check)
		check_remote(wr);
}

static void check_sent(struct sim_qp *qp, const struct sim_wr *wr)
{
	if (wr->cqe.status != ROOST_WC_SUCCESS)
		return;
	assert_true(qp->conf.sig_all || wr->flags & ROOST_SEND_SIGNALED);
	assert_int_equal(wr->cqe.opcode, wc_opcodes[wr->opcode]);
	if (wr->opcode != ROOST_WR_FLUSH)
		assert_int_equal(wr->cqe.byte_len, wr->len_bytes);
	check_done(qp, wr);
}

/* What failed says why, and the reason goes with the status. */
static void check_reason(const struct roost_cqe *cqe)
{
	const struct roost_qp_error_info *info;

	assert_true(cqe->vendor_err < ROOST_QPE_END);
	info = &roost_qp_error_infos[cqe->vendor_err];
	if (cqe->status == ROOST_WC_SUCCESS) {
		assert_int_equal(cqe->vendor_err, ROOST_QPE_NONE);
		return;
	}
	assert_non_null(info->name);
	if (cqe->status != ROOST_WC_WR_FLUSH_ERR)
		assert_int_equal(cqe->status, info->wc_status);
}

void sim_wr_complete(struct sim *sim, const struct roost_cqe *cqe)
{
	struct sim_qp *qp = sim->qps[cqe->wr_id >> WR_ID_QP_SHIFT];
	bool is_recv = (cqe->wr_id & WR_ID_RECV) != 0;
	uint32_t number = (uint32_t)cqe->wr_id;
	struct sim_wrs *wrs;
	struct sim_wr *wr;

	assert_non_null(qp);
	assert_int_equal(cqe->qpn, qp->qpn);
	check_reason(cqe);
	wrs = is_recv ? &qp->recvs : &qp->sends;
	assert_true(number < wrs->count);
	/* In order: what is left out was unsignalled and good. */
	assert_true(number >= wrs->completed);
	for (uint32_t i = wrs->completed; i < number; i++) {
		assert_false(is_recv || qp->conf.sig_all);
		assert_false(wrs->wr[i].flags & ROOST_SEND_SIGNALED);
		check_done(qp, &wrs->wr[i]);
	}
	wrs->completed = number + 1;
	wr = &wrs->wr[number];
	wr->nb_completions++;
	wr->cqe = *cqe;
	assert_int_equal(wr->nb_completions, 1);
	if (!is_recv)
		check_sent(qp, wr);
	else if (cqe->status == ROOST_WC_SUCCESS)
		check_received(qp, wr);
}

static void check_guards_of(const struct sim_wrs *wrs)
{
	for (uint32_t i = 0; i < wrs->count; i++) {
		const struct sim_wr *wr = &wrs->wr[i];

		for (uint32_t j = 0; j < wr->nb_slices; j++) {
			const struct sim_slice *s = &wr->slices[j];

			check_guard(s->data - SIM_GUARD_BYTES);
			check_guard(s->data + s->len_bytes);
		}
		if (wr->remote.data == NULL)
			continue;
		check_guard(wr->remote.data - SIM_GUARD_BYTES);
		check_guard(wr->remote.data + wr->remote.len_bytes);
	}
}

void sim_check_guards(struct sim_qp *qp)
{
	check_guards_of(&qp->sends);
	check_guards_of(&qp->recvs);
}

/* ---- expect -------------------------------------------------------------- */

static void expect(const struct sim_wrs *wrs, uint32_t i,
		   enum roost_wc_status status)
{
	assert_true(i < wrs->count);
	assert_int_equal(wrs->wr[i].nb_completions, 1);
	assert_int_equal(wrs->wr[i].cqe.status, status);
}

static void expect_open(const struct sim_wrs *wrs, uint32_t i)
{
	assert_true(i < wrs->count);
	assert_int_equal(wrs->wr[i].nb_completions, 0);
}

void sim_expect_send(struct sim_qp *qp, uint32_t i, enum roost_wc_status status)
{
	expect(&qp->sends, i, status);
}

void sim_expect_recv(struct sim_qp *qp, uint32_t i, enum roost_wc_status status)
{
	expect(&qp->recvs, i, status);
}

void sim_expect_send_open(struct sim_qp *qp, uint32_t i)
{
	expect_open(&qp->sends, i);
}

void sim_expect_recv_open(struct sim_qp *qp, uint32_t i)
{
	expect_open(&qp->recvs, i);
}

static void expect_good(struct sim_qp *qp)
{
	for (uint32_t i = 0; i < qp->sends.count; i++)
		if (qp->conf.sig_all ||
		    qp->sends.wr[i].flags & ROOST_SEND_SIGNALED)
			sim_expect_send(qp, i, ROOST_WC_SUCCESS);
	for (uint32_t i = 0; i < qp->recvs.count; i++)
		sim_expect_recv(qp, i, ROOST_WC_SUCCESS);
	assert_int_equal(roost_qp_state(qp->qp), ROOST_QPS_RTS);
}

void sim_expect_all_good(struct sim_qp *a, struct sim_qp *b)
{
	expect_good(a);
	expect_good(b);
}
