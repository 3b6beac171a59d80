/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Completions of one QP leave a CQ while another worker's QP completes there,
 * and other threads post and poll.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <roost/qp_error.h>

#include "lib/engine/core/cq_priv.h"
#include "tests/unit/engine/fixture.h"

#define NB_WRS 4
#define NB_ROUNDS 2000
#define FIRST_OF_B 1000u

/* One thread posts to b, whose worker is the second one, another polls. */
struct crowd {
	struct fixture f;
	struct roost_cq *cq;
	struct roost_qp *a, *b;
	atomic_bool stop;
	_Atomic uint64_t polled_max; /* of b: so many may have been polled */
	bool posted_too_many, polled_wrong;
};

static struct roost_qp *qp_on(struct crowd *c)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.cap = { .max_recv_wr = NB_WRS, .max_recv_sge = 1 },
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(c->f.ctx, c->f.pd, &init, &qp), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	return qp;
}

static void *post_to_b(void *arg)
{
	struct crowd *c = arg;
	struct roost_worker *w = roost_dev_worker_at(c->f.dev, 1);
	uint64_t nb = 0;

	while (!atomic_load(&c->stop)) {
		const struct roost_recv_wr wr = { .wr_id = FIRST_OF_B + nb };

		if (fixture_recv(c->b, &wr) == 0)
			nb++;
		if (nb > atomic_load(&c->polled_max) + NB_WRS)
			c->posted_too_many = true;
		if (!roost_worker_turn_try(w))
			continue;
		roost_worker_iterate(w, 1);
		roost_worker_turn_release(w);
	}
	return NULL;
}

static void *poll_all(void *arg)
{
	struct crowd *c = arg;
	struct roost_cqe cqe;
	uint64_t nb = 0;
	int n;

	while (!atomic_load(&c->stop)) {
		atomic_store(&c->polled_max, nb + 1);
		n = roost_cq_poll(c->cq, 1, &cqe);
		if (n == 1 && cqe.wr_id >= FIRST_OF_B &&
		    cqe.wr_id != FIRST_OF_B + nb++)
			c->polled_wrong = true;
		c->polled_wrong |=
			n < 0 ||
			(n == 1 && cqe.vendor_err != ROOST_QPE_MODIFIED);
	}
	return NULL;
}

/* The CQ has exactly the room that it needs. */
static void clean__while_others_complete(void **state)
{
	static struct crowd c;
	pthread_t threads[2];

	(void)state;
	fixture_open_workers(&c.f, NULL, 2);
	assert_int_equal(roost_cq_create(c.f.ctx, 2 * NB_WRS, NULL, &c, &c.cq),
			 0);
	c.a = qp_on(&c);
	c.b = qp_on(&c);
	assert_int_equal(roost_qp_worker(c.b), 1);
	assert_int_equal(pthread_create(&threads[0], NULL, post_to_b, &c), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, poll_all, &c), 0);
	for (int round = 0; round < NB_ROUNDS; round++) {
		for (uint64_t i = 0; i < NB_WRS; i++) {
			const struct roost_recv_wr wr = { .wr_id = i };

			assert_int_equal(fixture_recv(c.a, &wr), 0);
		}
		roost_worker_turn_take(c.f.worker);
		roost_worker_iterate(c.f.worker, 1);
		roost_worker_turn_release(c.f.worker);
		assert_int_equal(fixture_to(c.a, ROOST_QPS_RESET), 0);
		assert_int_equal(fixture_to(c.a, ROOST_QPS_ERR), 0);
	}
	atomic_store(&c.stop, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_false(c.posted_too_many);
	assert_false(c.polled_wrong);
	assert_false(c.cq->overrun);
	assert_int_equal(roost_qp_destroy(c.a, NULL), 0);
	assert_int_equal(roost_qp_destroy(c.b, NULL), 0);
	assert_int_equal(roost_cq_destroy(c.cq, NULL, NULL), 0);
	fixture_close(&c.f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean__while_others_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
