/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Memory windows of both types. */

#include <errno.h>

#include "tests/sim/raw.h"

#define SIGNALED ROOST_SEND_SIGNALED

struct window {
	struct sim *sim;
	struct sim_qp *a, *b, *a2, *b2;
	struct roost_mw *mw;
	struct sim_slice mem;
};

static struct window window_open(unsigned int type)
{
	struct window w = { .sim = sim_new() };

	w.sim->nobody_polls = true;
	sim_pair(w.sim, NULL, &w.a, &w.b);
	sim_pair(w.sim, NULL, &w.a2, &w.b2);
	assert_int_equal(roost_mw_alloc(w.b->end->pd, type, &w.mw), 0);
	w.mem = raw_blank(w.sim, 1000);
	return w;
}

static void bind_as(struct window *w, uint32_t rkey, uint64_t len_bytes,
		    uint32_t access, enum roost_wc_status status)
{
	raw_send(w->b,
		 (struct roost_send_wr){
			 .wr_id = 9,
			 .opcode = ROOST_WR_BIND_MW,
			 .flags = SIGNALED,
			 .bind = {
				 .mw = w->mw,
				 .mr = w->b->end->mr,
				 .addr = (uintptr_t)w->mem.data + 100,
				 .len_bytes = len_bytes,
				 .access = access,
				 .rkey = rkey,
			 },
		 },
		 (struct sim_slice){ 0 });
	sim_turn(w->sim);
	raw_expect(w->b->end->cq, 9, status);
}

/* WRITE through the window; each failure costs the QP, so it is the last. */
static void write_through(struct window *w, struct sim_qp *from, uint32_t rkey,
			  uint64_t va, uint32_t len_bytes,
			  enum roost_wc_status status)
{
	raw_send(from,
		 (struct roost_send_wr){
			 .wr_id = 5,
			 .opcode = ROOST_WR_WRITE,
			 .flags = SIGNALED,
			 .remote_addr = va,
			 .rkey = rkey,
		 },
		 raw_random(w->sim, len_bytes));
	sim_run(w->sim);
	raw_expect(from->end->cq, 5, status);
}

static void window_close(struct window *w)
{
	assert_int_equal(roost_mw_dealloc(w->mw), 0);
	sim_free(w->sim);
}

#define WRITES (ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_READ)

static void mw__type_2(void **state)
{
	enum {
		INSIDE,
		BEFORE,
		BEHIND,
		OTHER_QP,
		OLD_TAG,
		INVALIDATED,
		READ_ONLY,
		NB
	};

	for (int kind = 0; kind < NB; kind++) {
		struct window w = window_open(2);
		uint32_t key = (roost_mw_rkey(w.mw) & ~0xffu) | 0x42;
		uint64_t va = (uintptr_t)w.mem.data + 100;
		bool good = kind == INSIDE;

		bind_as(&w, key, 200,
			kind == READ_ONLY ? ROOST_ACCESS_REMOTE_READ : WRITES,
			ROOST_WC_SUCCESS);
		assert_int_equal(roost_mw_rkey(w.mw), key);
		if (kind == INVALIDATED) {
			raw_send(w.b,
				 (struct roost_send_wr){
					 .wr_id = 9,
					 .opcode = ROOST_WR_LOCAL_INV,
					 .flags = SIGNALED,
					 .imm_be = key,
				 },
				 (struct sim_slice){ 0 });
			sim_turn(w.sim);
			raw_expect(w.b->end->cq, 9, ROOST_WC_SUCCESS);
		}
		write_through(&w, kind == OTHER_QP ? w.a2 : w.a,
			      kind == OLD_TAG ? key ^ 1 : key,
			      kind == BEFORE ? va - 1 : va,
			      kind == BEHIND ? 201 : 200,
			      good ? ROOST_WC_SUCCESS
				   : ROOST_WC_REM_ACCESS_ERR);
		if (!good)
			raw_assert_blank(w.mem, 0);
		else
			raw_assert_blank(w.mem, 300);
		window_close(&w);
	}
}

static void mw__type_1(void **state)
{
	struct window w = window_open(1);
	uint32_t key = (roost_mw_rkey(w.mw) & ~0xffu) | 1;
	uint64_t va = (uintptr_t)w.mem.data + 100;

	bind_as(&w, key, 200, WRITES, ROOST_WC_SUCCESS);
	/* Any QP of its domain; and bound anew without being unbound. */
	write_through(&w, w.a, key, va, 200, ROOST_WC_SUCCESS);
	write_through(&w, w.a2, key, va, 200, ROOST_WC_SUCCESS);
	bind_as(&w, key + 1, 300, WRITES, ROOST_WC_SUCCESS);
	write_through(&w, w.a, key + 1, va, 300, ROOST_WC_SUCCESS);
	/* The region cannot go before the window. */
	assert_int_equal(roost_mr_dereg(w.b->end->mr), -EBUSY);
	write_through(&w, w.a2, key, va, 200, ROOST_WC_REM_ACCESS_ERR);
	bind_as(&w, key + 2, 0, 0, ROOST_WC_SUCCESS);
	write_through(&w, w.a, key + 2, va, 1, ROOST_WC_REM_ACCESS_ERR);
	window_close(&w);
}

static void mw__bind_refused(void **state)
{
	for (int kind = 0; kind < 5; kind++) {
		struct window w = window_open(2);
		uint32_t key = roost_mw_rkey(w.mw);

		if (kind == 0) /* another window's key */
			bind_as(&w, key ^ 0x100, 10, WRITES,
				ROOST_WC_MW_BIND_ERR);
		else if (kind == 1) /* outside of the region */
			bind_as(&w, key, 1ull << 40, WRITES,
				ROOST_WC_MW_BIND_ERR);
		else if (kind == 2) /* length wraps */
			bind_as(&w, key, UINT64_MAX, WRITES,
				ROOST_WC_MW_BIND_ERR);
		else if (kind == 3) /* empty */
			bind_as(&w, key, 0, WRITES, ROOST_WC_MW_BIND_ERR);
		else { /* bound already */
			bind_as(&w, key, 10, WRITES, ROOST_WC_SUCCESS);
			bind_as(&w, key, 10, WRITES, ROOST_WC_MW_BIND_ERR);
		}
		assert_int_equal(roost_qp_state(w.b->qp), ROOST_QPS_ERR);
		window_close(&w);
	}
}

/* SEND with invalidate closes the window of its QP, after the data came. */
static void mw__send_with_invalidate(void **state)
{
	for (uint32_t len = 0; len < 3000; len += 1400) {
		struct window w = window_open(2);
		uint32_t key = roost_mw_rkey(w.mw) | 7;
		uint64_t va = (uintptr_t)w.mem.data + 100;
		struct roost_cqe cqe;

		bind_as(&w, key, 200, WRITES, ROOST_WC_SUCCESS);
		raw_recv(w.b, 3, raw_blank(w.sim, 3000));
		write_through(&w, w.a, key, va, 200, ROOST_WC_SUCCESS);
		raw_send(w.a,
			 (struct roost_send_wr){
				 .wr_id = 6,
				 .opcode = ROOST_WR_SEND_INV,
				 .flags = SIGNALED,
				 .imm_be = key,
			 },
			 raw_random(w.sim, len));
		sim_run(w.sim);
		raw_expect(w.a->end->cq, 6, ROOST_WC_SUCCESS);
		cqe = raw_expect(w.b->end->cq, 3, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.flags, ROOST_WC_WITH_INV);
		assert_int_equal(cqe.imm_be, key);
		assert_int_equal(cqe.byte_len, len);
		write_through(&w, w.a, key, va, 1, ROOST_WC_REM_ACCESS_ERR);
		window_close(&w);
	}
}

/* Region and window may be gone when the request is executed. */
static void mw__gone_before_the_bind(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		struct window w = window_open(2);
		struct sim_end *b = w.b->end;
		uint32_t key = (roost_mw_rkey(w.mw) & ~0xffu) | 0x42;
		struct roost_mr *mr;

		assert_int_equal(roost_mr_reg(b->pd, w.mem.data, 1000,
					      (uintptr_t)w.mem.data,
					      ROOST_ACCESS_LOCAL_WRITE |
						      ROOST_ACCESS_MW_BIND,
					      &mr),
				 0);
		raw_send(w.b,
			 (struct roost_send_wr){
				 .wr_id = 9,
				 .opcode = ROOST_WR_BIND_MW,
				 .flags = SIGNALED,
				 .bind = {
					 .mw = w.mw,
					 .mr = mr,
					 .addr = (uintptr_t)w.mem.data,
					 .len_bytes = 100,
					 .access = WRITES,
					 .rkey = key,
				 },
			 },
			 (struct sim_slice){ 0 });
		if (kind == 1)
			assert_int_equal(roost_mr_dereg(mr), 0);
		if (kind == 2)
			assert_int_equal(roost_mw_dealloc(w.mw), 0);
		sim_turn(w.sim);
		raw_expect(b->cq, 9,
			   kind == 0 ? ROOST_WC_SUCCESS : ROOST_WC_MW_BIND_ERR);
		if (kind == 2)
			assert_int_equal(roost_mw_alloc(b->pd, 2, &w.mw), 0);
		if (kind != 1)
			assert_int_equal(roost_mr_dereg(mr),
					 kind == 0 ? -EBUSY : 0);
		if (kind == 0) {
			assert_int_equal(roost_mw_dealloc(w.mw), 0);
			assert_int_equal(roost_mr_dereg(mr), 0);
			assert_int_equal(roost_mw_alloc(b->pd, 2, &w.mw), 0);
		}
		window_close(&w);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(mw__type_2),
	cmocka_unit_test(mw__type_1),
	cmocka_unit_test(mw__bind_refused),
	cmocka_unit_test(mw__send_with_invalidate),
	cmocka_unit_test(mw__gone_before_the_bind),
};

SIM_MAIN("sim-mw", tests)
