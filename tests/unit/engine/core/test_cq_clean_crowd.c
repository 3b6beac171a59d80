/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Completions of one QP leave a CQ while another worker's QP completes there,
 * and other threads post and poll.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <rte_pause.h>

#include <roost/qp_error.h>

#include "lib/engine/core/cq_priv.h"
#include "tests/unit/engine/fixture.h"

#define NB_WRS 4
#define NB_LONG 256 /* so that cleaning takes its time */
#define NB_ROUNDS 2000
#define FIRST_OF_B 1000u

/* One thread posts to b, whose worker is the second one, another polls. */
struct crowd {
	struct fixture f;
	struct roost_cq *cq;
	struct roost_qp *a, *b;
	uint32_t nb_wrs;
	atomic_bool stop, go;
	uint32_t delay;              /* of the other thread, in pauses */
	_Atomic uint64_t polled_max; /* of b: so many may have been polled */
	bool posted_too_many, polled_wrong;
};

static struct roost_qp *qp_on(struct crowd *c)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.cap = { .max_recv_wr = c->nb_wrs, .max_recv_sge = 1 },
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
	c.nb_wrs = NB_WRS;
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

static void clear(struct roost_channel *channel)
{
	struct roost_event event;

	assert_int_equal(roost_channel_read(channel, &event), 0);
	roost_event_ack(event.source, 1);
}

/* The worker of b completes one request, at any time while a is reset. */
static void *complete_one_of_b(void *arg)
{
	const struct roost_recv_wr wr = { .wr_id = FIRST_OF_B };
	struct crowd *c = arg;
	struct roost_worker *w = roost_dev_worker_at(c->f.dev, 1);

	while (!atomic_load(&c->stop)) {
		if (!atomic_load(&c->go))
			continue;
		for (uint32_t i = 0; i < c->delay; i++)
			rte_pause();
		c->posted_too_many |= fixture_recv(c->b, &wr) != 0;
		roost_worker_turn_take(w);
		roost_worker_iterate(w, 1);
		roost_worker_turn_release(w);
		atomic_store(&c->go, false);
	}
	return NULL;
}

/* The last completion that is there is solicited, so a program that arms for
 * that, as those for ConnectX do, is told of it.
 */
static void clean__hides_no_solicited_completion(void **state)
{
	const struct roost_recv_wr wr = { .wr_id = 1 };
	static struct crowd c;
	struct roost_channel *channel;
	struct roost_cqe cqe;
	pthread_t thread;

	(void)state;
	fixture_open_workers(&c.f, NULL, 2);
	assert_int_equal(roost_channel_create(8, &channel), 0);
	assert_int_equal(roost_cq_create(c.f.ctx, 2 * NB_LONG, channel, &c,
					 &c.cq),
			 0);
	c.nb_wrs = NB_LONG;
	c.a = qp_on(&c);
	c.b = qp_on(&c);
	assert_int_equal(pthread_create(&thread, NULL, complete_one_of_b, &c),
			 0);
	for (uint32_t round = 0; round < NB_ROUNDS; round++) {
		for (uint32_t i = 0; i < NB_LONG; i++)
			assert_int_equal(fixture_recv(c.a, &wr), 0);
		do {
			roost_worker_turn_take(c.f.worker);
			roost_worker_iterate(c.f.worker, 1);
			roost_worker_turn_release(c.f.worker);
		} while (roost_worker_has_left(c.f.worker));
		c.delay = round % 64;
		atomic_store(&c.go, true);
		assert_int_equal(fixture_to(c.a, ROOST_QPS_RESET), 0);
		while (atomic_load(&c.go))
			rte_pause();
		roost_cq_arm(c.cq, true);
		roost_cq_remind(c.cq, true);
		assert_int_equal(roost_channel_waiting(channel), 1);
		assert_int_equal(roost_cq_poll(c.cq, 1, &cqe), 1);
		assert_int_equal(roost_cq_poll(c.cq, 1, &cqe), 0);
		clear(channel);
		assert_int_equal(fixture_to(c.a, ROOST_QPS_ERR), 0);
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	assert_false(c.posted_too_many);
	assert_int_equal(roost_qp_destroy(c.a, NULL), 0);
	assert_int_equal(roost_qp_destroy(c.b, NULL), 0);
	assert_int_equal(roost_cq_destroy(c.cq, NULL, NULL), 0);
	roost_channel_destroy(channel);
	fixture_close(&c.f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean__while_others_complete),
		cmocka_unit_test(clean__hides_no_solicited_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
