/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Who ends or adds an object waits until no worker can hold it any more, and no
 * worker waits meanwhile: while one is in the middle of a turn, the other goes
 * on.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <roost/mcast.h>
#include <roost/srq.h>

#include "lib/engine/core/mr_priv.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

#define NB_TURNS 1000
#define PATIENCE_S 20

struct scene {
	struct fixture f;
	struct roost_cq *own; /* a CQ of the first worker alone */
	struct roost_cq *cq;
	struct roost_mr *mr;
	struct roost_mw *mw;
	struct roost_srq *srq;
	struct roost_xrcd *xrcd;
	struct roost_qp *qps[2]; /* of the first worker, of the second */
	struct roost_qp *qp;
	const struct change *change;
	atomic_bool begun, done;
	uint8_t buffer[64];
};

struct change {
	const char *name;
	int (*run)(struct scene *s);
	bool waits; /* until the turn is over */
};

static const struct roost_gid group = { { 0xff, 0x12, [15] = 1 } };

static struct roost_qp *qp_on(struct scene *s, enum roost_qp_type type,
			      struct roost_cq *cq)
{
	struct roost_qp_init init = {
		.type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct roost_qp *qp = NULL;

	roost_qp_create(s->f.ctx, s->f.pd, &init, &qp);
	return qp;
}

static void open_scene(struct scene *s)
{
	struct roost_srq_init srq = { .max_wr = 1, .max_sge = 1 };

	fixture_open_workers(&s->f, NULL, 2);
	assert_int_equal(roost_cq_create(s->f.ctx, 4, NULL, s, &s->own), 0);
	assert_int_equal(roost_cq_create(s->f.ctx, 4, NULL, s, &s->cq), 0);
	assert_int_equal(roost_xrcd_open(s->f.ctx, &s->xrcd), 0);
	srq.xrcd = s->xrcd;
	srq.cq = s->f.cq;
	assert_int_equal(roost_srq_create(s->f.pd, &srq, &s->srq), 0);
	assert_int_equal(roost_mr_reg(s->f.pd, s->buffer, sizeof(s->buffer),
				      (uintptr_t)s->buffer,
				      ROOST_ACCESS_LOCAL_WRITE |
					      ROOST_ACCESS_MW_BIND,
				      &s->mr),
			 0);
	assert_int_equal(roost_mw_alloc(s->f.pd, 2, &s->mw), 0);
	s->qps[0] = qp_on(s, ROOST_QPT_UD, s->own);
	s->qps[1] = qp_on(s, ROOST_QPT_RC, s->cq);
	assert_int_equal(roost_qp_worker(s->qps[0]), 0);
	assert_int_equal(roost_qp_worker(s->qps[1]), 1);
}

static int dereg(struct scene *s)
{
	return roost_mr_dereg(s->mr);
}

static int dealloc(struct scene *s)
{
	return roost_mw_dealloc(s->mw);
}

static int attach(struct scene *s)
{
	return roost_mcast_attach(s->qps[0], &group);
}

static int detach(struct scene *s)
{
	return roost_mcast_detach(s->qps[0], &group);
}

/* The other worker completes to its CQ. */
static int create_qp(struct scene *s)
{
	s->qp = qp_on(s, ROOST_QPT_RC, s->cq);
	return s->qp && roost_qp_worker(s->qp) == 0 ? 0 : -1;
}

static int destroy_qp(struct scene *s)
{
	return roost_qp_destroy(s->qp, NULL);
}

static int destroy_own_qp(struct scene *s)
{
	return roost_qp_destroy(s->qps[0], NULL);
}

static int reset_qp(struct scene *s)
{
	return fixture_to(s->qps[0], ROOST_QPS_RESET);
}

static int resize_cq(struct scene *s)
{
	return roost_cq_resize(s->own, 16);
}

/* The turn that is held is of a worker that completes there, but not now. */
static int resize_cq_of_both(struct scene *s)
{
	return roost_cq_resize(s->cq, 16);
}

static int destroy_cq(struct scene *s)
{
	return roost_cq_destroy(s->own, NULL, NULL);
}

static int destroy_srq(struct scene *s)
{
	return roost_srq_destroy(s->srq, NULL);
}

/* In an order in which each is possible. */
static const struct change changes[] = {
	{ "dereg of a region", dereg, true },
	{ "dealloc of a window", dealloc, true },
	{ "attach to a group", attach, false },
	{ "detach from it", detach, true },
	{ "create of a QP", create_qp, true },
	{ "reset of a QP", reset_qp, false },
	{ "resize of its CQ", resize_cq, false },
	{ "resize of a CQ of both", resize_cq_of_both, false },
	{ "destroy of a QP on a CQ of both", destroy_qp, true },
	{ "destroy of a QP", destroy_own_qp, true },
	{ "destroy of a CQ", destroy_cq, true },
	{ "destroy of an SRQ", destroy_srq, true },
};

static void *run(void *arg)
{
	struct scene *s = arg;

	atomic_store(&s->begun, true);
	if (s->change->run(s) != 0)
		return s;
	atomic_store(&s->done, true);
	return NULL;
}

/* Returns whether so many turns of the worker were free. */
static bool goes_on(struct roost_worker *w)
{
	const time_t until = time(NULL) + PATIENCE_S;
	unsigned int n = 0;

	while (n < NB_TURNS && time(NULL) < until) {
		if (!roost_worker_turn_try(w))
			continue;
		roost_worker_turn_release(w);
		n++;
	}
	return n == NB_TURNS;
}

static void grace__no_worker_waits(void **state)
{
	static struct scene s;
	pthread_t thread;
	void *failed;

	open_scene(&s);
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct roost_worker *busy = roost_dev_worker_at(s.f.dev, 1);

		print_message("%s\n", changes[i].name);
		s.change = &changes[i];
		atomic_store(&s.begun, false);
		atomic_store(&s.done, false);
		assert_true(roost_worker_turn_try(busy));
		assert_int_equal(pthread_create(&thread, NULL, run, &s), 0);
		while (!atomic_load(&s.begun))
			usleep(100);
		usleep(5000);
		assert_true(goes_on(s.f.worker));
		if (changes[i].waits)
			assert_false(atomic_load(&s.done));
		roost_worker_turn_release(busy);
		pthread_join(thread, &failed);
		assert_null(failed);
	}
	assert_int_equal(roost_qp_destroy(s.qps[1], NULL), 0);
	assert_int_equal(roost_cq_destroy(s.cq, NULL, NULL), 0);
	assert_int_equal(roost_xrcd_close(s.xrcd), 0);
	fixture_close(&s.f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(grace__no_worker_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
