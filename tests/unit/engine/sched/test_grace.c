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
#include "lib/engine/core/service.h"
#include "lib/engine/core/worker_base.h"
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
	/* Before, by the holder of the turn; NULL: nothing. */
	void (*prepare)(struct scene *s, struct roost_worker *busy);
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

static int rereg(struct scene *s)
{
	return roost_mr_rereg(s->mr, ROOST_REREG_ACCESS, NULL, NULL, 0,
			      ROOST_ACCESS_LOCAL_WRITE);
}

/* ---- a QP of the first worker, on the CQ of both --- */

/* It has a completion there, which nobody has polled. */
static void complete(struct scene *s,
		     struct roost_worker *busy __attribute__((unused)))
{
	const struct roost_recv_wr wr = { .wr_id = 1 };

	assert_int_equal(fixture_to(s->qp, ROOST_QPS_ERR), 0);
	assert_int_equal(fixture_recv(s->qp, &wr), 0);
	fixture_iterate(&s->f, 1);
}

/* The other worker, in its turn, has one before. */
static void complete_behind(struct scene *s, struct roost_worker *busy)
{
	roost_cq_push(busy, s->cq, &(struct roost_cqe){ .wr_id = 2 });
	complete(s, busy);
	assert_true(s->cq->withheld);
}

static void raise_behind(struct scene *s, struct roost_worker *busy)
{
	complete_behind(s, busy);
	assert_true(roost_worker_turn_try(s->f.worker));
	roost_async_raise(s->f.worker, roost_qp_async_source(s->qp),
			  ROOST_EVENT_SQ_DRAINED);
	roost_worker_publish(s->f.worker);
	roost_worker_turn_release(s->f.worker);
}

static void overrun(struct scene *s, struct roost_worker *busy)
{
	while (!atomic_load(&s->cq->overrun))
		roost_cq_push(busy, s->cq, &(struct roost_cqe){ .wr_id = 3 });
	roost_worker_publish(busy);
}

static int reset_shared_qp(struct scene *s)
{
	int rc = fixture_to(s->qp, ROOST_QPS_RESET);
	struct roost_cqe cqe;

	while (rc == 0 && roost_cq_poll(s->cq, 1, &cqe) == 1)
		rc = cqe.wr_id == 2 ? 0 : -1;
	return rc;
}

static int serve(struct scene *s)
{
	roost_dev_service_run_all(s->f.dev, 1);
	for (unsigned int i = 0; i < 2; i++) {
		const struct roost_qp *qp = i == 0 ? s->qp : s->qps[1];

		if (roost_qp_state(qp) != ROOST_QPS_ERR)
			return -1;
	}
	return 0;
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
	{ "rereg of a region", rereg, true, NULL },
	{ "dereg of a region", dereg, true, NULL },
	{ "dealloc of a window", dealloc, true, NULL },
	{ "attach to a group", attach, false, NULL },
	{ "detach from it", detach, true, NULL },
	{ "create of a QP", create_qp, true, NULL },
	{ "reset of a QP with completions", reset_shared_qp, false, complete },
	{ "reset of a QP with withheld completions", reset_shared_qp, true,
	  complete_behind },
	{ "destroy of a QP with a late event", destroy_qp, true, raise_behind },
	{ "create of another QP", create_qp, false, NULL },
	{ "reset of a QP", reset_qp, false, NULL },
	{ "resize of its CQ", resize_cq, false, NULL },
	{ "resize of a CQ of both", resize_cq_of_both, false, NULL },
	{ "overrun of a CQ of both", serve, true, overrun },
	{ "destroy of a QP on a CQ of both", destroy_qp, true, NULL },
	{ "destroy of a QP", destroy_own_qp, true, NULL },
	{ "destroy of a CQ", destroy_cq, true, NULL },
	{ "destroy of an SRQ", destroy_srq, true, NULL },
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
		if (s.change->prepare)
			s.change->prepare(&s, busy);
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

/* ---- a region that changes --- */

#define NB_CHANGES 500

struct changed {
	struct fixture f;
	uint8_t buffer[64];
	struct roost_mr *mr;
	uint32_t key;
	atomic_bool stop;
};

/* A worker: the region is one or the other, and never missing. */
static void *look(void *arg)
{
	struct changed *c = arg;
	struct roost_worker *w = roost_dev_worker_at(c->f.dev, 1);
	bool good = true;

	while (good && !atomic_load(&c->stop)) {
		const struct roost_mr *mr;
		bool second;

		if (!roost_worker_turn_try(w))
			continue;
		mr = roost_mr_find(c->f.dev, c->key);
		second = mr && mr->host != c->buffer;
		good = mr && mr->len_bytes == (second ? 16u : 32u) &&
		       mr->iova == (uintptr_t)c->buffer + (second ? 8u : 0u) &&
		       roost_mr_rights(mr) ==
			       (second ? ROOST_ACCESS_LOCAL_WRITE : 0u);
		roost_worker_turn_release(w);
	}
	return good ? NULL : c;
}

static void change_often(struct changed *c)
{
	for (int i = 0; i < NB_CHANGES; i++)
		assert_int_equal(
			roost_mr_rereg(c->mr,
				       ROOST_REREG_TRANSLATION |
					       ROOST_REREG_ACCESS,
				       NULL, c->buffer + (i % 2 ? 0 : 8),
				       i % 2 ? 32 : 16,
				       i % 2 ? 0 : ROOST_ACCESS_LOCAL_WRITE),
			0);
}

static void grace__a_region_changes_as_one(void **state)
{
	for (int guest = 0; guest < 2; guest++) {
		static struct changed c;
		pthread_t thread;
		void *failed;

		c = (struct changed){ .mr = NULL };
		fixture_open_workers(&c.f, NULL, 2);
		assert_int_equal(guest ? roost_mr_reg_as(c.f.pd, c.buffer, 32,
							 (uintptr_t)c.buffer, 0,
							 0x1234, &c.mr)
				       : roost_mr_reg(c.f.pd, c.buffer, 32,
						      (uintptr_t)c.buffer, 0,
						      &c.mr),
				 0);
		c.key = roost_mr_rkey(c.mr);
		assert_int_equal(pthread_create(&thread, NULL, look, &c), 0);
		change_often(&c);
		atomic_store(&c.stop, true);
		pthread_join(thread, &failed);
		assert_null(failed);
		assert_int_equal(roost_mr_dereg(c.mr), 0);
		fixture_close(&c.f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(grace__no_worker_waits),
		cmocka_unit_test(grace__a_region_changes_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
