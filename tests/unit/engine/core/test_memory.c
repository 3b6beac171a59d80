/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What objects weigh. The linker leads the engine's allocations through here.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/hold.h"
#include "lib/engine/core/qp_priv.h"
#include "tests/unit/engine/fixture.h"

/* Besides its queues, and with the most READs and atomics that a peer may have
 * at a time, 64 bytes for each of 16.
 */
#define QP_MAX_BYTES (1088u + 16 * 64)
#define MR_MAX_BYTES 128u

static size_t allocated_bytes;
static bool arena_is_full, has_no_pacer;
/* Of the context, when the arena last got something back. */
static const struct roost_ctx *freed_in;
static uint32_t refs_when_freed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__real_roost_arena_alloc(struct roost_arena *arena, size_t bytes);
void __real_roost_arena_free(struct roost_arena *arena, void *piece,
			     size_t bytes);
struct roost_pacer *__real_roost_pacer_get(struct roost_store *store);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_roost_arena_alloc(struct roost_arena *arena, size_t bytes);
void __wrap_roost_arena_free(struct roost_arena *arena, void *piece,
			     size_t bytes);
struct roost_pacer *__wrap_roost_pacer_get(struct roost_store *store);

void *__wrap_malloc(size_t bytes)
{
	allocated_bytes += bytes;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	allocated_bytes += n * bytes;
	return __real_calloc(n, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	allocated_bytes += bytes;
	return __real_aligned_alloc(align, bytes);
}

struct roost_pacer *__wrap_roost_pacer_get(struct roost_store *store)
{
	return has_no_pacer ? NULL : __real_roost_pacer_get(store);
}

/* In cache lines, an odd number of them. */
static size_t piece_bytes(size_t bytes)
{
	return ((bytes + 63) / 64 | 1) * 64;
}

void *__wrap_roost_arena_alloc(struct roost_arena *arena, size_t bytes)
{
	size_t before_bytes = allocated_bytes;
	void *piece =
		arena_is_full ? NULL : __real_roost_arena_alloc(arena, bytes);

	allocated_bytes = before_bytes + piece_bytes(bytes);
	return piece;
}

void __wrap_roost_arena_free(struct roost_arena *arena, void *piece,
			     size_t bytes)
{
	if (freed_in)
		refs_when_freed = atomic_load(&freed_in->refs);
	__real_roost_arena_free(arena, piece, bytes);
}

static size_t queue_bytes(const struct roost_queue *q)
{
	return piece_bytes((size_t)(q->mask + 1) * q->stride_bytes);
}

/* One that is connected, and does all that it ever may at a time. */
static void memory__idle_qp(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr attr;
	struct roost_qp *qp, *other;
	size_t bytes;

	/* The tables grow by pages; this one is there now. */
	other = fixture_qp(f, 1);
	allocated_bytes = 0;
	qp = fixture_qp(f, 256);
	assert_int_equal(fixture_to_init(qp), 0);
	attr = fixture_rtr_attr(f);
	attr.max_dest_rd_atomic =
		(uint8_t)roost_dev_limits(f->dev)->max_qp_rd_atom;
	assert_int_equal(roost_qp_modify(qp, &attr, FIXTURE_RTR_MASK), 0);
	assert_int_equal(fixture_to_rts(qp), 0);
	bytes = allocated_bytes - queue_bytes(&qp->sq) - queue_bytes(&qp->rq);
	assert_true(bytes >= sizeof(*qp));
	assert_in_range(bytes, sizeof(*qp), QP_MAX_BYTES);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_qp_destroy(other, NULL), 0);
}

/* As long as it is not all back, the context cannot be closed, nor the device
 * destroyed, which has the arena.
 */
static void memory__of_a_qp_is_the_contexts(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp(f, 1);

	freed_in = f->ctx;
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	freed_in = NULL;
	assert_int_equal(refs_when_freed, atomic_load(&f->ctx->refs) + 1);
}

static int post_inline(struct roost_qp *qp, uint32_t len_bytes)
{
	static uint8_t data[64];
	struct roost_sge sge = { .addr = (uintptr_t)data,
				 .len_bytes = len_bytes };

	return fixture_send(qp, &(struct roost_send_wr){
					.sges = &sge,
					.nb_sges = 1,
					.opcode = ROOST_WR_SEND,
					.flags = ROOST_SEND_INLINE,
				});
}

/* Without memory the post fails, and the next one may not. */
static void memory__spill_with_the_first_that_needs_it(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp_in_rts(f, 4);

	assert_int_equal(post_inline(qp, ROOST_WQE_NEAR_BYTES), 0);
	assert_null(qp->spill);
	arena_is_full = true;
	assert_int_equal(post_inline(qp, ROOST_WQE_NEAR_BYTES + 1), -ENOMEM);
	arena_is_full = false;
	assert_int_equal(roost_queue_count(&qp->sq), 1);
	assert_int_equal(post_inline(qp, ROOST_WQE_NEAR_BYTES + 1), 0);
	assert_non_null(qp->spill);
	assert_int_equal(roost_queue_count(&qp->sq), 2);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

static int limit_rate(struct roost_qp *qp, uint32_t kbps)
{
	struct roost_qp_attr attr = { .rate_limit_kbps = kbps };

	return roost_qp_modify(qp, &attr, ROOST_QP_RATE_LIMIT);
}

/* Without memory the modify fails and changes nothing. */
static void memory__pacer_with_the_first_limit(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp_in_rts(f, 4);

	has_no_pacer = true;
	assert_int_equal(limit_rate(qp, 0), 0);
	assert_int_equal(limit_rate(qp, 1000), -ENOMEM);
	assert_int_equal(qp->attr.rate_limit_kbps, 0);
	assert_false(qp->req_limited);
	has_no_pacer = false;
	assert_int_equal(limit_rate(qp, 1000), 0);
	assert_true(qp->req_limited);
	assert_non_null(qp->pacer);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

static struct roost_trouble *trouble_of_one(struct fixture *f)
{
	struct roost_qp_attr attr = { .state = ROOST_QPS_ERR };
	struct roost_qp *qp = fixture_qp(f, 1);
	struct roost_trouble *trouble;

	assert_int_equal(fixture_to_init(qp), 0);
	assert_null(qp->trouble);
	assert_int_equal(roost_qp_modify(qp, &attr, ROOST_QP_STATE), 0);
	trouble = qp->trouble;
	assert_non_null(trouble);
	assert_int_equal(trouble->error.code, ROOST_QPE_MODIFIED);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	return trouble;
}

/* What a QP that has failed weighs more, the next one that fails takes. */
static void memory__trouble_goes_back(void **state)
{
	struct roost_trouble *first = trouble_of_one(*state);

	assert_ptr_equal(trouble_of_one(*state), first);
}

static void memory__region(void **state)
{
	struct fixture *f = *state;
	static uint8_t memory[64];
	struct roost_mr *mrs[100];

	for (int i = 0; i < 100; i++) {
		if (i == 1)
			allocated_bytes = 0;
		assert_int_equal(roost_mr_reg(f->pd, memory, sizeof(memory), 0,
					      0, &mrs[i]),
				 0);
	}
	assert_in_range(allocated_bytes, 99, 99 * MR_MAX_BYTES);
	for (int i = 0; i < 100; i++)
		assert_int_equal(roost_mr_dereg(mrs[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(memory__idle_qp),
		FIXTURE_TEST(memory__of_a_qp_is_the_contexts),
		FIXTURE_TEST(memory__spill_with_the_first_that_needs_it),
		FIXTURE_TEST(memory__pacer_with_the_first_limit),
		FIXTURE_TEST(memory__trouble_goes_back),
		FIXTURE_TEST(memory__region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
