/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A device with several workers: who has which QP, and what they share. Frames
 * between them are in tests/sim.
 */

#include <errno.h>
#include <fcntl.h>

#include "lib/engine/core/service.h"
#include "lib/engine/sched/worker_priv.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

/* Two workers, a CQ with a channel, and a QP of each worker that completes
 * there.
 */
struct shared {
	struct fixture f;
	struct roost_channel *channel;
	struct roost_cq *cq;
	struct roost_qp *qps[2];
	struct roost_worker *workers[2];
};

static struct roost_qp *qp_on(struct shared *s)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.owner = s,
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(s->f.ctx, s->f.pd, &init, &qp), 0);
	return qp;
}

static void open_shared(struct shared *s, uint32_t entries)
{
	fixture_open_workers(&s->f, NULL, 2);
	assert_int_equal(roost_channel_create(8, &s->channel), 0);
	fcntl(roost_channel_fd(s->channel), F_SETFL, O_NONBLOCK);
	assert_int_equal(roost_cq_create(s->f.ctx, entries, s->channel, s,
					 &s->cq),
			 0);
	for (unsigned int i = 0; i < 2; i++) {
		s->qps[i] = qp_on(s);
		s->workers[i] = roost_dev_worker_at(s->f.dev, i);
	}
}

static void close_shared(struct shared *s)
{
	for (unsigned int i = 0; i < 2; i++)
		if (s->qps[i] != NULL)
			assert_int_equal(roost_qp_destroy(s->qps[i], NULL), 0);
	assert_int_equal(roost_cq_destroy(s->cq, NULL, NULL), 0);
	roost_channel_destroy(s->channel);
	fixture_close(&s->f);
}

static void push(struct shared *s, unsigned int worker, uint64_t wr_id,
		 bool solicited)
{
	const struct roost_cqe cqe = { .wr_id = wr_id, .solicited = solicited };

	roost_cq_push(s->workers[worker], s->cq, &cqe);
}

static void publish(struct shared *s, unsigned int worker)
{
	roost_worker_publish(s->workers[worker]);
}

/* These are all that can be polled. */
static void expect(struct shared *s, unsigned int n, const uint64_t *wr_ids)
{
	struct roost_cqe cqes[16];

	assert_int_equal(roost_cq_poll(s->cq, 16, cqes), n);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(cqes[i].wr_id, wr_ids[i]);
}

static unsigned int events(struct roost_channel *channel, uint32_t type)
{
	struct roost_event event;
	unsigned int n = 0;

	while (roost_channel_read(channel, &event) == 0) {
		n += event.type == type;
		roost_event_ack(event.source, 1);
	}
	return n;
}

/* ---- who has what ---------------------------------------------------- */

static void workers__at_most_so_many(void **state)
{
	struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.nb_workers = ROOST_DEV_WORKERS_MAX + 1,
		.seed = { 1, 2 },
	};
	struct roost_dev *dev;

	assert_int_equal(roost_dev_create(&conf, &dev), -EINVAL);
	conf.nb_workers = ROOST_DEV_WORKERS_MAX;
	assert_int_equal(roost_dev_create(&conf, &dev), 0);
	assert_int_equal(roost_dev_nb_workers(dev), ROOST_DEV_WORKERS_MAX);
	assert_int_equal(roost_dev_destroy(dev), 0);
}

static void workers__a_qp_goes_where_there_are_fewest(void **state)
{
	struct roost_qp *qps[6];
	struct fixture f;

	fixture_open_workers(&f, NULL, 3);
	for (unsigned int i = 0; i < 6; i++) {
		qps[i] = fixture_qp(&f, 1);
		assert_int_equal(roost_qp_worker(qps[i]), i % 3);
	}
	assert_int_equal(roost_qp_destroy(qps[4], NULL), 0);
	qps[4] = fixture_qp(&f, 1);
	assert_int_equal(roost_qp_worker(qps[4]), 1);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(roost_qp_destroy(qps[i], NULL), 0);
	fixture_close(&f);
}

static void workers__all_turns_are_each_of_them(void **state)
{
	struct fixture f;

	fixture_open_workers(&f, NULL, 3);
	roost_dev_turns_take(f.dev);
	for (unsigned int i = 0; i < 3; i++)
		assert_false(
			roost_worker_turn_try(roost_dev_worker_at(f.dev, i)));
	roost_dev_turns_release(f.dev);
	for (unsigned int i = 0; i < 3; i++) {
		struct roost_worker *w = roost_dev_worker_at(f.dev, i);

		assert_true(roost_worker_turn_try(w));
		roost_worker_turn_release(w);
	}
	fixture_close(&f);
}

/* ---- a CQ of two workers ------------------------------------------------ */

static void workers__a_cq_knows_whose_it_is(void **state)
{
	struct shared s;

	open_shared(&s, 8);
	assert_int_equal(roost_cq_workers(s.cq), 3);
	assert_true(s.cq->shared);
	assert_int_equal(roost_qp_destroy(s.qps[0], NULL), 0);
	s.qps[0] = NULL;
	assert_int_equal(roost_cq_workers(s.cq), 2);
	assert_false(s.cq->shared);
	close_shared(&s);
}

/* Who polls an entry may post into the slot that it is of. */
static void workers__an_entry_shows_when_its_worker_is_through(void **state)
{
	struct shared s;

	open_shared(&s, 8);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	push(&s, 0, 11, false);
	publish(&s, 1);
	expect(&s, 0, NULL);
	publish(&s, 0);
	expect(&s, 3, (const uint64_t[]){ 10, 20, 11 });
	push(&s, 0, 12, false);
	push(&s, 1, 21, false);
	publish(&s, 0);
	expect(&s, 1, (const uint64_t[]){ 12 });
	publish(&s, 1);
	expect(&s, 1, (const uint64_t[]){ 21 });
	close_shared(&s);
}

static void workers__an_event_goes_with_what_shows(void **state)
{
	struct shared s;

	open_shared(&s, 8);
	roost_cq_arm(s.cq, true);
	push(&s, 0, 10, false);
	push(&s, 1, 20, true);
	publish(&s, 1);
	assert_int_equal(events(s.channel, ROOST_EVENT_COMPLETION), 0);
	publish(&s, 0);
	assert_int_equal(events(s.channel, ROOST_EVENT_COMPLETION), 1);
	expect(&s, 2, (const uint64_t[]){ 10, 20 });
	roost_cq_arm(s.cq, true);
	push(&s, 0, 11, false);
	push(&s, 1, 21, true);
	/* What was solicited does not show yet. */
	publish(&s, 0);
	assert_int_equal(events(s.channel, ROOST_EVENT_COMPLETION), 0);
	publish(&s, 1);
	assert_int_equal(events(s.channel, ROOST_EVENT_COMPLETION), 1);
	expect(&s, 2, (const uint64_t[]){ 11, 21 });
	close_shared(&s);
}

/* An async event follows its worker's completions: also those that the other
 * worker withholds, of this turn or of one before.
 */
static void workers__an_async_event_waits_for_what_shows(void **state)
{
	struct roost_event_source *source;
	struct roost_channel *async;
	struct shared s;

	open_shared(&s, 8);
	async = roost_ctx_async_channel(s.f.ctx);
	fcntl(roost_channel_fd(async), F_SETFL, O_NONBLOCK);
	source = roost_qp_async_source(s.qps[1]);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	roost_async_raise(s.workers[1], source, ROOST_EVENT_SQ_DRAINED);
	publish(&s, 1);
	assert_int_equal(roost_channel_waiting(async), 0);
	roost_async_raise(s.workers[1], source, ROOST_EVENT_PATH_MIG);
	publish(&s, 1);
	assert_int_equal(roost_channel_waiting(async), 0);
	/* None overtakes those that are late. */
	publish(&s, 0);
	expect(&s, 2, (const uint64_t[]){ 10, 20 });
	roost_async_raise(s.workers[0], roost_qp_async_source(s.qps[0]),
			  ROOST_EVENT_PATH_MIG);
	publish(&s, 0);
	assert_int_equal(roost_channel_waiting(async), 0);
	roost_dev_service_run_all(s.f.dev, 1);
	assert_int_equal(roost_channel_waiting(async), 3);
	assert_int_equal(events(async, ROOST_EVENT_PATH_MIG), 2);
	/* Nothing is withheld any more: at once. */
	push(&s, 1, 21, false);
	roost_async_raise(s.workers[1], source, ROOST_EVENT_SQ_DRAINED);
	assert_int_equal(roost_channel_waiting(async), 0);
	publish(&s, 1);
	assert_int_equal(events(async, ROOST_EVENT_SQ_DRAINED), 1);
	close_shared(&s);
}

/* The second worker raises an event while the control thread is about to tell
 * of one from before.
 */
static struct {
	struct shared *s;
	enum roost_async_event event;
} meanwhile;

static void settle_and_raise(struct roost_worker *w)
{
	struct shared *s = meanwhile.s;

	roost_worker_publish_cqs(w);
	w->settle = roost_worker_publish_cqs;
	roost_async_raise(s->workers[1], roost_qp_async_source(s->qps[1]),
			  meanwhile.event);
	publish(s, 1);
}

static void workers__no_event_is_left_behind_a_late_one(void **state)
{
	struct roost_channel *async;
	struct shared s;

	open_shared(&s, 8);
	async = roost_ctx_async_channel(s.f.ctx);
	fcntl(roost_channel_fd(async), F_SETFL, O_NONBLOCK);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	roost_async_raise(s.workers[1], roost_qp_async_source(s.qps[1]),
			  ROOST_EVENT_SQ_DRAINED);
	publish(&s, 1);
	meanwhile.s = &s;
	meanwhile.event = ROOST_EVENT_PATH_MIG;
	s.workers[0]->settle = settle_and_raise;
	roost_dev_service_run_all(s.f.dev, 1);
	assert_int_equal(events(async, ROOST_EVENT_SQ_DRAINED), 1);
	roost_dev_service_run_all(s.f.dev, 2);
	assert_int_equal(events(async, ROOST_EVENT_PATH_MIG), 1);
	close_shared(&s);
}

/* Its QP goes: the event goes with it, and leaves nothing behind. */
static void workers__a_late_event_goes_with_its_qp(void **state)
{
	struct roost_channel *async;
	struct shared s;

	open_shared(&s, 8);
	async = roost_ctx_async_channel(s.f.ctx);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	roost_async_raise(s.workers[1], roost_qp_async_source(s.qps[1]),
			  ROOST_EVENT_SQ_DRAINED);
	publish(&s, 1);
	publish(&s, 0);
	assert_int_equal(roost_qp_destroy(s.qps[1], NULL), 0);
	s.qps[1] = NULL;
	assert_int_equal(roost_channel_waiting(async), 0);
	roost_dev_service_run_all(s.f.dev, 1);
	assert_int_equal(roost_channel_waiting(async), 0);
	close_shared(&s);
}

/* The QPs that fail are of both workers: the control thread does it. */
static void workers__an_overrun_fails_the_qps_of_both(void **state)
{
	struct roost_channel *async;
	struct shared s;

	open_shared(&s, 2);
	async = roost_ctx_async_channel(s.f.ctx);
	fcntl(roost_channel_fd(async), F_SETFL, O_NONBLOCK);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fixture_to_init(s.qps[i]), 0);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	push(&s, 1, 21, false);
	publish(&s, 1);
	publish(&s, 0);
	expect(&s, 2, (const uint64_t[]){ 10, 20 });
	assert_int_equal(roost_qp_state(s.qps[0]), ROOST_QPS_INIT);
	roost_dev_service_run_all(s.f.dev, 1);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(roost_qp_state(s.qps[i]), ROOST_QPS_ERR);
	assert_int_equal(roost_cq_poll(s.cq, 1, &(struct roost_cqe){ 0 }),
			 -EIO);
	roost_dev_service_run_all(s.f.dev, 2);
	assert_int_equal(events(async, ROOST_EVENT_CQ_ERR), 1);
	close_shared(&s);
}

/* A CQ that overran may be gone before anybody looks. */
static void workers__an_overrun_cq_may_go(void **state)
{
	struct shared s;

	open_shared(&s, 1);
	push(&s, 0, 10, false);
	push(&s, 1, 20, false);
	publish(&s, 0);
	publish(&s, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(roost_qp_destroy(s.qps[i], NULL), 0);
		s.qps[i] = NULL;
	}
	assert_int_equal(roost_cq_destroy(s.cq, NULL, NULL), 0);
	roost_dev_service_run_all(s.f.dev, 1);
	assert_int_equal(roost_cq_create(s.f.ctx, 1, s.channel, &s, &s.cq), 0);
	close_shared(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers__at_most_so_many),
		cmocka_unit_test(workers__a_qp_goes_where_there_are_fewest),
		cmocka_unit_test(workers__all_turns_are_each_of_them),
		cmocka_unit_test(workers__a_cq_knows_whose_it_is),
		cmocka_unit_test(
			workers__an_entry_shows_when_its_worker_is_through),
		cmocka_unit_test(workers__an_event_goes_with_what_shows),
		cmocka_unit_test(workers__an_async_event_waits_for_what_shows),
		cmocka_unit_test(workers__no_event_is_left_behind_a_late_one),
		cmocka_unit_test(workers__a_late_event_goes_with_its_qp),
		cmocka_unit_test(workers__an_overrun_fails_the_qps_of_both),
		cmocka_unit_test(workers__an_overrun_cq_may_go),
	};

	eal_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
