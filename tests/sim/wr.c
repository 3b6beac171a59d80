/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "lib/engine/mr.h"
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

/* ---- post ----------------------------------------------------------- */

int sim_try_send(struct sim_qp *qp, const struct sim_msg *msg)
{
	uint32_t number = qp->sends.count;
	struct roost_sge sges[SIM_SGES_MAX];
	struct sim_wr *wr = wr_new(&qp->sends);
	struct roost_send_wr post = {
		.wr_id = (uint64_t)qp->index << WR_ID_QP_SHIFT | number,
		.sges = sges,
		.nb_sges = msg->nb_sges,
		.opcode = msg->opcode,
		.flags = msg->flags,
		.imm_be = msg->imm_be,
	};
	int rc;

	wr_fill(qp, wr, msg, sges);
	for (uint32_t i = 0; i < wr->nb_slices; i++)
		sim_random_fill(&qp->sim->rng, wr->slices[i].data,
				wr->slices[i].len_bytes);
	roost_qp_send_begin(qp->qp);
	rc = roost_qp_send_add(qp->qp, &post);
	roost_qp_send_end(qp->qp);
	if (rc != 0)
		qp->sends.count--;
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

static void check_data(const struct sim_wr *send, const struct sim_wr *recv)
{
	struct walk from = { .wr = send }, to = { .wr = recv };
	uint32_t left = send->len_bytes, n, m;
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
	while ((q = walk_on(&to, UINT32_MAX, &n)) != NULL)
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(q[i], SIM_BLANK_BYTE);
}

static void check_received(struct sim_qp *qp, const struct sim_wr *recv)
{
	const struct sim_wr *send;
	bool imm;

	if (qp->no_data_check)
		return;
	assert_non_null(qp->peer);
	assert_true(qp->match < qp->peer->sends.count);
	send = &qp->peer->sends.wr[qp->match++];
	imm = send->opcode == ROOST_WR_SEND_IMM;
	assert_int_equal(recv->cqe.byte_len, send->len_bytes);
	assert_int_equal(recv->cqe.opcode, ROOST_WC_RECV);
	assert_int_equal(recv->cqe.src_qpn, qp->peer->qpn);
	assert_int_equal(recv->cqe.flags, imm ? ROOST_WC_WITH_IMM : 0);
	assert_int_equal(recv->cqe.solicited,
			 (send->flags & ROOST_SEND_SOLICITED) != 0);
	if (imm)
		assert_int_equal(recv->cqe.imm_be, send->imm_be);
	check_data(send, recv);
}

static void check_sent(struct sim_qp *qp, const struct sim_wr *wr)
{
	if (wr->cqe.status != ROOST_WC_SUCCESS)
		return;
	assert_true(qp->conf.sig_all || wr->flags & ROOST_SEND_SIGNALED);
	assert_int_equal(wr->cqe.opcode, ROOST_WC_SEND);
	assert_int_equal(wr->cqe.byte_len, wr->len_bytes);
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
	wrs = is_recv ? &qp->recvs : &qp->sends;
	assert_true(number < wrs->count);
	/* In order: what is left out was unsignalled and good. */
	assert_true(number >= wrs->completed);
	for (uint32_t i = wrs->completed; i < number; i++) {
		assert_false(is_recv || qp->conf.sig_all);
		assert_false(wrs->wr[i].flags & ROOST_SEND_SIGNALED);
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

static void check_guard(const uint8_t *p)
{
	for (uint32_t i = 0; i < SIM_GUARD_BYTES; i++)
		assert_int_equal(p[i], SIM_GUARD_BYTE);
}

void sim_check_guards(struct sim_qp *qp)
{
	for (uint32_t i = 0; i < qp->recvs.count; i++) {
		const struct sim_wr *wr = &qp->recvs.wr[i];

		for (uint32_t j = 0; j < wr->nb_slices; j++) {
			const struct sim_slice *s = &wr->slices[j];

			check_guard(s->data - SIM_GUARD_BYTES);
			check_guard(s->data + s->len_bytes);
		}
	}
}

/* ---- expect --------------------------------------------------------- */

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
