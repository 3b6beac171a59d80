/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* RESET and destroy leave nothing of a QP or WQ in its CQs. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/worker_base.h"
#include <roost/qp_error.h>
#include <roost/srq.h>
#include <roost/wq.h>
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

#define NB_WRS 4

/* QPs in ERR on one CQ: what is posted to them completes flushed. */
struct desk {
	struct fixture f;
	struct roost_cq *cq;
	struct roost_qp *a, *b;
};

static struct roost_qp *qp_on(struct desk *d, enum roost_qp_type type)
{
	struct roost_qp_init init = {
		.type = type,
		.send_cq = d->cq,
		.recv_cq = d->cq,
		.cap = { .max_send_wr = NB_WRS,
			 .max_recv_wr = NB_WRS,
			 .max_recv_sge = 1 },
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(d->f.ctx, d->f.pd, &init, &qp), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	return qp;
}

static void open_desk(struct desk *d, uint32_t entries, unsigned int workers)
{
	fixture_open_workers(&d->f, NULL, workers);
	assert_int_equal(roost_cq_create(d->f.ctx, entries, NULL, d, &d->cq),
			 0);
	d->a = qp_on(d, ROOST_QPT_RC);
	d->b = qp_on(d, ROOST_QPT_RC);
}

static void close_desk(struct desk *d)
{
	if (d->a != NULL)
		assert_int_equal(roost_qp_destroy(d->a, NULL), 0);
	if (d->b != NULL)
		assert_int_equal(roost_qp_destroy(d->b, NULL), 0);
	assert_int_equal(roost_cq_destroy(d->cq, NULL, NULL), 0);
	fixture_close(&d->f);
}

static void turn_all(struct desk *d)
{
	for (unsigned int i = 0; i < roost_dev_nb_workers(d->f.dev); i++) {
		struct roost_worker *w = roost_dev_worker_at(d->f.dev, i);

		assert_true(roost_worker_turn_try(w));
		roost_worker_iterate(w, 1);
		roost_worker_turn_release(w);
	}
}

/* Post a receive, which completes at once. */
static int post(struct desk *d, struct roost_qp *qp, uint64_t wr_id)
{
	const struct roost_recv_wr wr = { .wr_id = wr_id };
	int rc = fixture_recv(qp, &wr);

	turn_all(d);
	return rc;
}

/* One of each, in turns: a has 10, 11 ..., b has 20, 21 ... */
static void post_both(struct desk *d)
{
	for (uint64_t i = 0; i < NB_WRS; i++) {
		assert_int_equal(post(d, d->a, 10 + i), 0);
		assert_int_equal(post(d, d->b, 20 + i), 0);
	}
}

static void expect(struct desk *d, uint64_t first, unsigned int n)
{
	struct roost_cqe cqe;

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(roost_cq_poll(d->cq, 1, &cqe), 1);
		assert_int_equal(cqe.wr_id, first + i);
	}
}

static void expect_empty(struct desk *d)
{
	struct roost_cqe cqe;

	assert_int_equal(roost_cq_poll(d->cq, 1, &cqe), 0);
}

static int reset(struct roost_qp *qp)
{
	return fixture_to(qp, ROOST_QPS_RESET);
}

static int leave(struct desk *d, struct roost_qp **qp, bool destroy)
{
	int rc;

	(void)d;
	if (!destroy)
		return reset(*qp);
	rc = roost_qp_destroy(*qp, NULL);
	*qp = NULL;
	return rc;
}

/* ---- entries ----------------------------------------------------------- */

static void clean__the_others_keep_their_order(void **state)
{
	for (unsigned int i = 0; i < 8; i++) {
		bool destroy = i % 2, first = i / 2 % 2;
		struct desk d;

		open_desk(&d, 2 * NB_WRS, i < 4 ? 1 : 2);
		post_both(&d);
		/* One of a was polled. */
		expect(&d, 10, 1);
		assert_int_equal(leave(&d, first ? &d.a : &d.b, destroy), 0);
		if (first)
			expect(&d, 20, NB_WRS);
		else
			expect(&d, 11, NB_WRS - 1);
		expect_empty(&d);
		close_desk(&d);
	}
}

/* A CQ with room for its queues is never overrun, however often. */
static void clean__makes_room(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		struct desk d;

		open_desk(&d, 2 * NB_WRS, workers);
		for (int round = 0; round < 50; round++) {
			post_both(&d);
			assert_int_equal(leave(&d, &d.a, round % 2), 0);
			assert_int_equal(leave(&d, &d.b, round % 3 == 0), 0);
			expect_empty(&d);
			if (d.a == NULL)
				d.a = qp_on(&d, ROOST_QPT_RC);
			if (d.b == NULL)
				d.b = qp_on(&d, ROOST_QPT_RC);
			assert_int_equal(fixture_to(d.a, ROOST_QPS_ERR), 0);
			assert_int_equal(fixture_to(d.b, ROOST_QPS_ERR), 0);
		}
		post_both(&d);
		for (uint64_t i = 0; i < NB_WRS; i++) {
			expect(&d, 10 + i, 1);
			expect(&d, 20 + i, 1);
		}
		close_desk(&d);
	}
}

/* ---- slots ------------------------------------------------------------- */

/* Those of the other queue are free when their completions were polled: not
 * before, and not later.
 */
static void clean__slots_stay_as_they_are(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct desk d;

		open_desk(&d, 2 * NB_WRS, 1 + i / 2);
		post_both(&d);
		assert_int_equal(leave(&d, &d.a, i % 2), 0);
		assert_int_equal(post(&d, d.b, 24), -ENOMEM);
		for (uint64_t k = 0; k < NB_WRS; k++) {
			expect(&d, 20 + k, 1);
			assert_int_equal(post(&d, d.b, 24 + k), 0);
			assert_int_equal(post(&d, d.b, 99), -ENOMEM);
		}
		expect(&d, 24, NB_WRS);
		expect_empty(&d);
		close_desk(&d);
	}
}

/* However often entries move, their slots are free when they were polled, and
 * what is polled is what was completed.
 */
static void clean__slots_stay_however_often(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		struct roost_cqe cqe;
		struct desk d;

		open_desk(&d, 2 * NB_WRS, workers);
		for (uint64_t i = 0; i < NB_WRS; i++)
			assert_int_equal(post(&d, d.b, 20 + i), 0);
		for (int round = 0; round < 50; round++) {
			for (uint64_t i = 0; i < NB_WRS; i++)
				assert_int_equal(post(&d, d.a, 10 + i), 0);
			assert_int_equal(leave(&d, &d.a, round % 2), 0);
			if (d.a == NULL)
				d.a = qp_on(&d, ROOST_QPT_RC);
			assert_int_equal(fixture_to(d.a, ROOST_QPS_ERR), 0);
			assert_int_equal(post(&d, d.b, 99), -ENOMEM);
		}
		for (uint64_t k = 0; k < NB_WRS; k++) {
			assert_int_equal(roost_cq_poll(d.cq, 1, &cqe), 1);
			assert_int_equal(cqe.wr_id, 20 + k);
			assert_int_equal(cqe.vendor_err, ROOST_QPE_MODIFIED);
			assert_int_equal(post(&d, d.b, 24 + k), 0);
			assert_int_equal(post(&d, d.b, 99), -ENOMEM);
		}
		expect(&d, 24, NB_WRS);
		expect_empty(&d);
		close_desk(&d);
	}
}

/* An entry says by how much it has moved, up to a limit: of one that has
 * reached it the slot is free early, and all others stay as they are.
 */
static void clean__entries_move_as_far_as_they_can(void **state)
{
	struct desk d;

	open_desk(&d, 2 * NB_WRS, 1);
	post_both(&d);
	assert_int_equal(reset(d.a), 0);
	for (uint32_t i = 0; i < NB_WRS; i++)
		d.cq->ring[(d.cq->shown + i) & d.cq->mask].vendor_err |=
			(ROOST_CQE_MAX - 1) << ROOST_CQE_MOVED_SHIFT;
	assert_int_equal(fixture_to(d.a, ROOST_QPS_ERR), 0);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.a, 30 + i), 0);
	assert_int_equal(reset(d.a), 0);
	assert_int_equal(d.cq->nb_moved, NB_WRS);
	assert_int_equal(d.cq->shown - d.cq->shown_place, ROOST_CQE_MAX);
	for (uint64_t i = 0; i < NB_WRS; i++)
		expect(&d, 20 + i, 1);
	assert_int_equal(d.cq->shown, d.cq->shown_place);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.b, 40 + i), 0);
	assert_int_equal(post(&d, d.b, 99), -ENOMEM);
	expect(&d, 40, NB_WRS);
	expect_empty(&d);
	close_desk(&d);
}

static void clean__the_reset_queue_is_empty(void **state)
{
	struct desk d;

	open_desk(&d, 2 * NB_WRS, 1);
	post_both(&d);
	assert_int_equal(reset(d.a), 0);
	assert_int_equal(fixture_to(d.a, ROOST_QPS_ERR), 0);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.a, 30 + i), 0);
	assert_int_equal(post(&d, d.a, 99), -ENOMEM);
	expect(&d, 20, NB_WRS);
	expect(&d, 30, NB_WRS);
	close_desk(&d);
}

/* Requests in the making, in slots that are free again, are none of its: a
 * program may leave other queues meanwhile, and whatever the requests say, they
 * stay as they are.
 */
static void clean__requests_in_the_making_stay(void **state)
{
	struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	struct desk d;

	open_desk(&d, 4 * NB_WRS, 1);
	for (uint64_t i = 0; i < NB_WRS; i++) {
		wr.wr_id = i;
		assert_int_equal(fixture_send(d.a, &wr), 0);
		turn_all(&d);
	}
	expect(&d, 0, NB_WRS);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.b, 20 + i), 0);
	/* Their ids are the places of what b has completed. */
	roost_qp_send_begin(d.a);
	for (uint64_t i = 0; i < NB_WRS; i++) {
		wr.wr_id = NB_WRS + i;
		assert_int_equal(roost_qp_send_add(d.a, &wr), 0);
	}
	assert_int_equal(reset(d.b), 0);
	roost_qp_send_end(d.a);
	turn_all(&d);
	expect(&d, NB_WRS, NB_WRS);
	expect_empty(&d);
	close_desk(&d);
}

/* Receives too, and nobody waits for who makes them. */
static void clean__receives_in_the_making_stay(void **state)
{
	struct desk d;

	open_desk(&d, 4 * NB_WRS, 1);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.b, i), 0);
	expect(&d, 0, NB_WRS);
	for (uint64_t i = 0; i < NB_WRS; i++)
		assert_int_equal(post(&d, d.a, 20 + i), 0);
	roost_qp_recv_begin(d.b);
	for (uint64_t i = 0; i < NB_WRS; i++) {
		const struct roost_recv_wr wr = { .wr_id = NB_WRS + i };

		assert_int_equal(roost_qp_recv_add(d.b, &wr), 0);
	}
	assert_int_equal(reset(d.a), 0);
	roost_qp_recv_end(d.b);
	turn_all(&d);
	expect(&d, NB_WRS, NB_WRS);
	expect_empty(&d);
	close_desk(&d);
}

/* ---- open polls -------------------------------------------------------- */

/* The thread that polls in the open does it itself. */
static void clean__in_an_open_poll(void **state)
{
	for (int destroy = 0; destroy < 2; destroy++) {
		const struct roost_cqe *cqe;
		struct desk d;

		open_desk(&d, 2 * NB_WRS, 1);
		post_both(&d);
		assert_int_equal(roost_cq_poll_begin(d.cq, &cqe), 0);
		assert_int_equal(cqe->wr_id, 10);
		assert_int_equal(leave(&d, &d.a, destroy), 0);
		/* What was shown stays. */
		assert_int_equal(cqe->wr_id, 10);
		for (uint64_t i = 0; i < NB_WRS; i++) {
			assert_int_equal(roost_cq_poll_next(d.cq, &cqe), 0);
			assert_int_equal(cqe->wr_id, 20 + i);
			assert_int_equal(cqe->vendor_err, ROOST_QPE_MODIFIED);
		}
		assert_int_equal(roost_cq_poll_next(d.cq, &cqe), -ENOENT);
		roost_cq_poll_end(d.cq);
		expect_empty(&d);
		close_desk(&d);
	}
}

struct leaver {
	struct desk *d;
	bool destroy;
	atomic_bool done;
};

static void *leave_in_thread(void *arg)
{
	struct leaver *l = arg;

	if (leave(l->d, &l->d->a, l->destroy) == 0)
		atomic_store(&l->done, true);
	return NULL;
}

/* Another thread polls: its poll ends first, and the QP can be asked about and
 * changed meanwhile.
 */
static void clean__waits_for_an_open_poll(void **state)
{
	for (int destroy = 0; destroy < 2; destroy++) {
		struct roost_qp_attr attr;
		struct roost_qp_init init;
		const struct roost_cqe *cqe;
		struct leaver l = { .destroy = destroy };
		struct desk d;
		pthread_t thread;

		open_desk(&d, 2 * NB_WRS, 2);
		post_both(&d);
		assert_int_equal(roost_cq_poll_begin(d.cq, &cqe), 0);
		l.d = &d;
		assert_int_equal(pthread_create(&thread, NULL, leave_in_thread,
						&l),
				 0);
		usleep(20000);
		assert_false(atomic_load(&l.done));
		assert_int_equal(cqe->wr_id, 10);
		if (!destroy)
			roost_qp_query(d.a, &attr, &init);
		assert_int_equal(roost_cq_poll_next(d.cq, &cqe), 0);
		assert_int_equal(cqe->wr_id, 20);
		roost_cq_poll_end(d.cq);
		pthread_join(thread, NULL);
		assert_true(atomic_load(&l.done));
		expect(&d, 21, NB_WRS - 1);
		expect_empty(&d);
		close_desk(&d);
	}
}

/* ---- WQs --------------------------------------------------------------- */

static void wq_post(struct roost_wq *wq)
{
	const struct roost_recv_wr wr = { .wr_id = 7 };

	roost_wq_recv_begin(wq);
	assert_int_equal(roost_wq_recv_add(wq, &wr), 0);
	roost_wq_recv_end(wq);
}

static void clean__wqs(void **state)
{
	struct roost_wq_init init = { .max_wr = NB_WRS, .max_sge = 1 };
	struct roost_wq *wq;
	struct desk d;

	open_desk(&d, 4 * NB_WRS, 2);
	init.cq = d.cq;
	for (int round = 0; round < 50; round++) {
		assert_int_equal(roost_wq_create(d.f.pd, &init, &wq), 0);
		assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RDY), 0);
		for (int i = 0; i < NB_WRS; i++)
			wq_post(wq);
		assert_int_equal(roost_wq_modify(wq, ROOST_WQS_ERR), 0);
		assert_int_equal(post(&d, d.a, 10), 0);
		if (round % 2 == 0)
			assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RESET),
					 0);
		assert_int_equal(roost_wq_destroy(wq, NULL), 0);
		expect(&d, 10, 1);
		expect_empty(&d);
	}
	close_desk(&d);
}

/* ---- XRC ---------------------------------------------------------------- */

struct target {
	struct roost_xrcd *xrcd;
	struct roost_srq *srq; /* its completions are the desk's */
	struct roost_qp *qp;   /* of the second worker */
};

static void open_target(struct desk *d, struct target *t)
{
	struct roost_srq_init srq = { .cq = d->cq, .max_wr = 1, .max_sge = 1 };
	struct roost_qp_init init = { .type = ROOST_QPT_XRC_TGT };

	assert_int_equal(roost_qp_destroy(d->b, NULL), 0);
	d->b = NULL;
	assert_int_equal(roost_xrcd_open(d->f.ctx, &t->xrcd), 0);
	srq.xrcd = t->xrcd;
	init.xrcd = t->xrcd;
	assert_int_equal(roost_srq_create(d->f.pd, &srq, &t->srq), 0);
	assert_int_equal(roost_qp_create(d->f.ctx, NULL, &init, &t->qp), 0);
	assert_int_equal(roost_qp_worker(d->a), 0);
	assert_int_equal(roost_qp_worker(t->qp), 1);
}

static void close_target(struct target *t)
{
	assert_int_equal(roost_qp_destroy(t->qp, NULL), 0);
	assert_int_equal(roost_xrcd_close(t->xrcd), 0);
}

/* A completion of the target, which its worker publishes, or not yet. */
static void complete(struct desk *d, const struct target *t, bool publish)
{
	const struct roost_cqe cqe = {
		.wr_id = 30,
		.qpn = roost_qp_num(t->qp),
	};
	struct roost_worker *w = roost_dev_worker_at(d->f.dev, 1);

	assert_true(roost_worker_turn_try(w));
	roost_cq_push(w, d->cq, &cqe);
	if (publish)
		roost_worker_publish(w);
	roost_worker_turn_release(w);
}

/* The SRQ is gone, and the CQ is the first worker's alone, which may be adding
 * a completion while one of the target is removed: nobody waits for it.
 */
static void clean__without_the_worker_of_the_cq(void **state)
{
	struct target t;
	struct desk d;

	(void)state;
	open_desk(&d, 4 * NB_WRS, 2);
	open_target(&d, &t);
	complete(&d, &t, true);
	assert_int_equal(roost_srq_destroy(t.srq, NULL), 0);
	assert_false(d.cq->shared);
	assert_true(roost_worker_turn_try(d.f.worker));
	assert_int_equal(reset(t.qp), 0);
	roost_worker_turn_release(d.f.worker);
	expect_empty(&d);
	assert_int_equal(post(&d, d.a, 10), 0);
	expect(&d, 10, 1);
	close_target(&t);
	close_desk(&d);
}

/* Before another worker has the CQ alone. */
static void clean__an_srq_ends_with_what_completed(void **state)
{
	static struct target t;
	struct desk d;

	(void)state;
	open_desk(&d, 4 * NB_WRS, 2);
	open_target(&d, &t);
	complete(&d, &t, false);
	expect_empty(&d);
	assert_int_equal(roost_srq_destroy(t.srq, NULL), 0);
	expect(&d, 30, 1);
	close_target(&t);
	close_desk(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean__the_others_keep_their_order),
		cmocka_unit_test(clean__makes_room),
		cmocka_unit_test(clean__slots_stay_as_they_are),
		cmocka_unit_test(clean__slots_stay_however_often),
		cmocka_unit_test(clean__entries_move_as_far_as_they_can),
		cmocka_unit_test(clean__the_reset_queue_is_empty),
		cmocka_unit_test(clean__requests_in_the_making_stay),
		cmocka_unit_test(clean__receives_in_the_making_stay),
		cmocka_unit_test(clean__in_an_open_poll),
		cmocka_unit_test(clean__waits_for_an_open_poll),
		cmocka_unit_test(clean__wqs),
		cmocka_unit_test(clean__without_the_worker_of_the_cq),
		cmocka_unit_test(clean__an_srq_ends_with_what_completed),
	};

	eal_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
