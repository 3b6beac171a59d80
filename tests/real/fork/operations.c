/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What goes through pointers: the operations of a context, and those that
 * extended queues, work queues and device memory have of their own.
 */
#include "tests/real/fork/fork.h"

#include <stdio.h>

/* [begin, end) of an object has nothing but pointers to functions. */
struct span {
	const char *name;
	void **begin, **end;
};

#define NB_SPANS 6
#define SPAN_MAX 128

static struct span spans[NB_SPANS];
static void *before[NB_SPANS][SPAN_MAX];

static struct ibv_cq *cq;
static struct tour_pair p;
static struct ibv_srq *srq;
static struct ibv_wq *wq;
static struct ibv_dm *dm;

#define SPAN(object, first, behind)                                            \
	(struct span)                                                          \
	{                                                                      \
#object, (void **)&(object)->first, (void **)&(object)->behind \
	}

/* One that did not change looks at nothing and says that it is unsupported,
 * or is an exported call, which asks for itself.
 */
static bool is_harmless(void *op)
{
	static uint64_t nothing[1024];
	long (*call)(void *, void *, void **, void *, void *);
	void *out;

	*(void **)&call = op;
	errno = 0;
	call(tour.context, nothing, &out, nothing, nothing);
	return errno == EOPNOTSUPP || errno == EIO || errno == 0;
}

static bool all_are_exchanged(void)
{
	bool good = true;

	for (size_t s = 0; s < NB_SPANS; s++)
		for (void **op = spans[s].begin; op < spans[s].end; op++) {
			void *was = before[s][op - spans[s].begin];

			if (!was || *op != was || (s < 2 && is_harmless(*op)))
				continue;
			fprintf(stderr, "%s: operation %zd is as it was\n",
				spans[s].name, op - spans[s].begin);
			good = false;
		}
	return good;
}

static void make(void)
{
	struct verbs_context *vctx = verbs_get_ctx(tour.context);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 8 };
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex qp_attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ,
					    .max_wr = 8,
					    .max_sge = 1,
					    .pd = tour.pd,
					    .cq = tour.rcq };
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_cq_ex *cq_ex = ibv_create_cq_ex(tour.context, &cq_attr);
	struct ibv_qp_ex *qp;

	assert_non_null(cq_ex);
	cq = ibv_cq_ex_to_cq(cq_ex);
	srq = ibv_create_srq(tour.pd, &srq_attr);
	wq = ibv_create_wq(tour.context, &wq_attr);
	dm = ibv_alloc_dm(tour.context, &dm_attr);
	assert_true(srq && wq && dm);
	qp_attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp_attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	p = tour_pair_connected(qp_attr);
	qp = ibv_qp_to_qp_ex(p.a);
	spans[0] = SPAN(vctx, query_port, sz);
	spans[1] = (struct span){ "ops", (void **)&vctx->context.ops,
				  (void **)(&vctx->context.ops + 1) };
	spans[2] = (struct span){ "cq", (void **)&cq_ex->start_poll,
				  (void **)(cq_ex + 1) };
	spans[3] = (struct span){ "qp", (void **)&qp->wr_atomic_cmp_swp,
				  (void **)(qp + 1) + 1 };
	spans[4] = SPAN(wq, post_recv, mutex);
	spans[5] = SPAN(dm, memcpy_to_dm, comp_mask);
	for (size_t s = 0; s < NB_SPANS; s++) {
		assert_in_range(spans[s].end - spans[s].begin, 1, SPAN_MAX);
		memcpy(before[s], spans[s].begin,
		       (size_t)((char *)spans[s].end - (char *)spans[s].begin));
	}
}

static bool data_verbs_fail(void)
{
	struct ibv_send_wr send = { 0 }, *bad_send = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *cq_ex = (struct ibv_cq_ex *)cq;
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p.a);
	struct ibv_wc wc;
	uint8_t byte;

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 0, 0, 0);
	return GIVES(ibv_wr_complete(qp), EIO) &&
	       GIVES(ibv_post_send(p.a, &send, &bad_send), EIO) &&
	       bad_send == &send &&
	       GIVES(ibv_post_recv(p.a, &recv, &bad_recv), EIO) &&
	       bad_recv == &recv &&
	       GIVES(ibv_post_srq_recv(srq, &recv, &bad_recv), EIO) &&
	       GIVES(ibv_post_wq_recv(wq, &recv, &bad_recv), EIO) &&
	       GIVES(ibv_poll_cq(cq, 1, &wc), -EIO) &&
	       GIVES(ibv_poll_cq(tour.scq, 1, &wc), -EIO) &&
	       GIVES(ibv_req_notify_cq(cq, 0), EIO) &&
	       GIVES(ibv_start_poll(cq_ex, &poll), EIO) &&
	       GIVES(ibv_memcpy_to_dm(dm, 0, &byte, 1), EIO) &&
	       GIVES(ibv_memcpy_from_dm(&byte, dm, 0, 1), EIO);
}

void fork__operations_are_exchanged(void **state)
{
	(void)state;
	make();
	assert_int_equal(fork_child(all_are_exchanged), 0);
	assert_int_equal(fork_child(data_verbs_fail), 0);
	tour_pair_part(p);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}
