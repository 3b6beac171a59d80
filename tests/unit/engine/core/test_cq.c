/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <rte_pause.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/worker_base.h"
#include "tests/unit/engine/fixture.h"

#define STRESS_MS 500

struct cq_fixture {
	struct fixture f;
	struct roost_channel *channel;
	struct roost_cq *cq;
};

static void open_cq(struct cq_fixture *c, uint32_t entries)
{
	fixture_open(&c->f, NULL);
	assert_int_equal(roost_channel_create(8, &c->channel), 0);
	assert_int_equal(fcntl(roost_channel_fd(c->channel), F_SETFL,
			       O_NONBLOCK),
			 0);
	assert_int_equal(roost_cq_create(c->f.ctx, entries, c->channel, c,
					 &c->cq),
			 0);
}

static void close_cq(struct cq_fixture *c)
{
	assert_int_equal(roost_cq_destroy(c->cq, NULL, NULL), 0);
	roost_channel_destroy(c->channel);
	fixture_close(&c->f);
}

/* Add one completion with this number; it shows when it is published. */
static void push(struct cq_fixture *c, uint64_t wr_id)
{
	const struct roost_cqe cqe = { .wr_id = wr_id };

	roost_cq_push(c->f.worker, c->cq, &cqe);
}

static void publish(struct cq_fixture *c)
{
	roost_worker_publish(c->f.worker);
}

static void add(struct cq_fixture *c, uint64_t wr_id, bool solicited)
{
	const struct roost_cqe cqe = { .wr_id = wr_id, .solicited = solicited };

	roost_cq_push(c->f.worker, c->cq, &cqe);
	publish(c);
}

/* Events that wait on the channel; they are taken and acked. */
static int events(struct cq_fixture *c)
{
	struct roost_event event;
	int n = 0;

	while (roost_channel_read(c->channel, &event) == 0) {
		assert_ptr_equal(event.source, roost_cq_comp_source(c->cq));
		assert_ptr_equal(event.owner, c);
		assert_int_equal(event.type, ROOST_EVENT_COMPLETION);
		roost_event_ack(event.source, 1);
		n++;
	}
	return n;
}

/* ---- create --------------------------------------------------------- */

static void cq_create__entries(void **state)
{
	struct fixture *f = *state;
	const struct roost_dev_limits *limits;
	struct roost_cq *cq;

	limits = roost_dev_limits(f->dev);
	assert_int_equal(roost_cq_create(f->ctx, 0, NULL, NULL, &cq), -EINVAL);
	assert_int_equal(roost_cq_create(f->ctx, limits->max_cqe + 1, NULL,
					 NULL, &cq),
			 -EINVAL);
	assert_int_equal(roost_cq_create(f->ctx, UINT32_MAX, NULL, NULL, &cq),
			 -EINVAL);
	for (uint32_t n = 1; n < 70; n++) {
		assert_int_equal(roost_cq_create(f->ctx, n, NULL, NULL, &cq),
				 0);
		assert_true(roost_cq_entries(cq) >= n);
		assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	}
}

/* ---- poll ----------------------------------------------------------- */

static void cq_poll__takes_in_order(void **state)
{
	struct roost_cqe cqes[8];
	struct cq_fixture c;
	uint64_t next = 0;

	open_cq(&c, 4);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 0);
	for (uint64_t i = 0; i < 100; i += 3) {
		int n;

		push(&c, i);
		push(&c, i + 1);
		push(&c, i + 2);
		/* Not before they are published. */
		assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 0);
		publish(&c);
		assert_int_equal(roost_cq_poll(c.cq, 0, cqes), 0);
		n = roost_cq_poll(c.cq, 2, cqes);
		assert_int_equal(n, 2);
		assert_int_equal(cqes[0].wr_id, next++);
		assert_int_equal(cqes[1].wr_id, next++);
		assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 1);
		assert_int_equal(cqes[0].wr_id, next++);
		assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 0);
	}
	close_cq(&c);
}

static void cq_poll_begin__shows_in_place(void **state)
{
	const struct roost_cqe *cqe;
	struct roost_cqe taken[8];
	struct cq_fixture c;

	open_cq(&c, 8);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), -ENOENT);
	for (uint64_t i = 0; i < 5; i++)
		add(&c, i, false);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	assert_int_equal(cqe->wr_id, 0);
	assert_int_equal(roost_cq_poll_next(c.cq, &cqe), 0);
	assert_int_equal(cqe->wr_id, 1);
	/* The two that were shown are given back, and no more. */
	roost_cq_poll_end(c.cq);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	assert_int_equal(cqe->wr_id, 2);
	/* What is added meanwhile shows too. */
	add(&c, 5, false);
	for (uint64_t i = 3; i < 6; i++) {
		assert_int_equal(roost_cq_poll_next(c.cq, &cqe), 0);
		assert_int_equal(cqe->wr_id, i);
	}
	assert_int_equal(roost_cq_poll_next(c.cq, &cqe), -ENOENT);
	assert_int_equal(roost_cq_poll_next(c.cq, &cqe), -ENOENT);
	roost_cq_poll_end(c.cq);
	assert_int_equal(roost_cq_poll(c.cq, 8, taken), 0);
	/* Not locked after it was found empty. */
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), -ENOENT);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), -ENOENT);
	close_cq(&c);
}

/* Slots that are being shown are not written again. */
static void cq_poll_begin__holds_its_slots(void **state)
{
	const struct roost_cqe *cqe;
	struct cq_fixture c;

	open_cq(&c, 4);
	for (uint64_t i = 0; i < 4; i++)
		add(&c, i, false);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	add(&c, 4, false);
	assert_int_equal(cqe->wr_id, 0);
	assert_true(c.cq->overrun);
	roost_cq_poll_end(c.cq);
	close_cq(&c);
}

/* ---- resize --------------------------------------------------------- */

static void cq_resize__keeps_entries(void **state)
{
	struct roost_cqe cqes[16];
	struct cq_fixture c;

	open_cq(&c, 8);
	/* Somewhere in the ring, so that it wraps. */
	for (uint64_t i = 0; i < 6; i++)
		add(&c, i, false);
	assert_int_equal(roost_cq_poll(c.cq, 16, cqes), 6);
	for (uint64_t i = 0; i < 5; i++)
		add(&c, i, false);
	assert_int_equal(roost_cq_resize(c.cq, 100), 0);
	assert_true(roost_cq_entries(c.cq) >= 100);
	for (uint64_t i = 5; i < 100; i++)
		add(&c, i, false);
	for (uint64_t i = 0; i < 95; i++) {
		assert_int_equal(roost_cq_poll(c.cq, 1, cqes), 1);
		assert_int_equal(cqes[0].wr_id, i);
	}
	/* Five are left: not into four, but into eight. */
	assert_int_equal(roost_cq_resize(c.cq, 4), -EINVAL);
	assert_int_equal(roost_cq_resize(c.cq, 5), 0);
	assert_int_equal(roost_cq_entries(c.cq), 8);
	assert_int_equal(roost_cq_poll(c.cq, 16, cqes), 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(cqes[i].wr_id, 95 + i);
	assert_int_equal(roost_cq_resize(c.cq, 0), -EINVAL);
	assert_int_equal(roost_cq_resize(c.cq, UINT32_MAX), -EINVAL);
	close_cq(&c);
}

static void *resize(void *arg)
{
	assert_int_equal(roost_cq_resize(arg, 100), 0);
	return NULL;
}

/* Who polls in the open may well change a QP before the end, for which it
 * needs the turn: a resize that waits for the poller must not hold it.
 */
static void cq_resize__waits_without_the_turn(void **state)
{
	const struct roost_cqe *cqe;
	struct cq_fixture c;
	pthread_t thread;

	open_cq(&c, 8);
	add(&c, 1, false);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	assert_int_equal(pthread_create(&thread, NULL, resize, c.cq), 0);
	usleep(20000);
	assert_true(roost_worker_turn_try(c.f.worker));
	roost_worker_turn_release(c.f.worker);
	assert_int_equal(cqe->wr_id, 1);
	roost_cq_poll_end(c.cq);
	pthread_join(thread, NULL);
	assert_true(roost_cq_entries(c.cq) >= 100);
	close_cq(&c);
}

/* ---- arm ------------------------------------------------------------ */

static void cq_arm__one_shot(void **state)
{
	struct cq_fixture c;

	open_cq(&c, 64);
	add(&c, 1, true);
	assert_int_equal(events(&c), 0);
	/* What is there already raises nothing. */
	roost_cq_arm(c.cq, false);
	assert_int_equal(events(&c), 0);
	publish(&c);
	assert_int_equal(events(&c), 0);
	add(&c, 2, false);
	assert_int_equal(events(&c), 1);
	add(&c, 3, true);
	assert_int_equal(events(&c), 0);
	/* Arming twice is arming once. */
	roost_cq_arm(c.cq, false);
	roost_cq_arm(c.cq, false);
	add(&c, 4, false);
	add(&c, 5, false);
	assert_int_equal(events(&c), 1);
	/* One event for a whole burst. */
	roost_cq_arm(c.cq, false);
	for (uint64_t i = 0; i < 10; i++)
		push(&c, i);
	assert_int_equal(events(&c), 0);
	publish(&c);
	assert_int_equal(events(&c), 1);
	close_cq(&c);
}

static void cq_arm__solicited_only(void **state)
{
	const struct roost_cqe plain = { .wr_id = 1 };
	const struct roost_cqe solicited = { .wr_id = 2, .solicited = true };
	struct cq_fixture c;

	open_cq(&c, 64);
	roost_cq_arm(c.cq, true);
	add(&c, 1, false);
	assert_int_equal(events(&c), 0);
	add(&c, 2, true);
	assert_int_equal(events(&c), 1);
	/* In the middle of a burst counts; one of an earlier burst does not. */
	roost_cq_arm(c.cq, true);
	roost_cq_push(c.f.worker, c.cq, &plain);
	roost_cq_push(c.f.worker, c.cq, &solicited);
	roost_cq_push(c.f.worker, c.cq, &plain);
	publish(&c);
	assert_int_equal(events(&c), 1);
	roost_cq_arm(c.cq, true);
	add(&c, 3, false);
	assert_int_equal(events(&c), 0);
	close_cq(&c);
}

static void cq_arm__stronger_wins(void **state)
{
	struct cq_fixture c;

	open_cq(&c, 64);
	roost_cq_arm(c.cq, false);
	roost_cq_arm(c.cq, true);
	add(&c, 1, false);
	assert_int_equal(events(&c), 1);
	roost_cq_arm(c.cq, true);
	roost_cq_arm(c.cq, false);
	add(&c, 2, false);
	assert_int_equal(events(&c), 1);
	close_cq(&c);
}

/* Two events may wait for one CQ, when it was armed again in between. */
static void cq_arm__two_events_wait(void **state)
{
	struct cq_fixture c;

	open_cq(&c, 64);
	roost_cq_arm(c.cq, false);
	add(&c, 1, false);
	roost_cq_arm(c.cq, false);
	add(&c, 2, false);
	assert_int_equal(events(&c), 2);
	close_cq(&c);
}

struct adder {
	struct cq_fixture c;
	atomic_uint wanted; /* completions asked for so far */
	atomic_bool stop;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *add_when_asked(void *arg)
{
	struct adder *a = arg;
	unsigned int added = 0;

	while (!atomic_load(&a->stop)) {
		if (atomic_load(&a->wanted) == added)
			continue;
		for (unsigned int i = 0; i < added % 37; i++)
			rte_pause();
		add(&a->c, added++, false);
	}
	return NULL;
}

/* The completion comes at any moment around the arming: it is found by the poll
 * after the arming, or it raises the event.
 */
static void cq_arm__while_one_is_added(void **state)
{
	static struct adder a;
	pthread_t thread;

	open_cq(&a.c, 8);
	assert_int_equal(pthread_create(&thread, NULL, add_when_asked, &a), 0);
	for (uint64_t round = 0, end_ms = now_ms() + STRESS_MS;
	     now_ms() < end_ms; round++) {
		struct pollfd fd = { .fd = roost_channel_fd(a.c.channel),
				     .events = POLLIN };
		struct roost_cqe cqe;

		atomic_fetch_add(&a.wanted, 1);
		for (unsigned int i = 0; i < round % 41; i++)
			rte_pause();
		roost_cq_arm(a.c.cq, false);
		/* The event may be one of the last round that comes late. */
		while (roost_cq_poll(a.c.cq, 1, &cqe) == 0) {
			assert_int_equal(poll(&fd, 1, 5000), 1);
			events(&a.c);
			roost_cq_arm(a.c.cq, false);
		}
		assert_int_equal(cqe.wr_id, round);
	}
	atomic_store(&a.stop, true);
	pthread_join(thread, NULL);
	close_cq(&a.c);
}

/* A CQ without a channel may be armed; nobody is told. */
static void cq_arm__without_channel(void **state)
{
	struct fixture *f = *state;
	const struct roost_cqe cqe = { .wr_id = 1 };
	struct roost_cqe got;

	roost_cq_arm(f->cq, false);
	roost_cq_push(f->worker, f->cq, &cqe);
	roost_worker_publish(f->worker);
	assert_int_equal(roost_cq_poll(f->cq, 1, &got), 1);
}

/* ---- overrun -------------------------------------------------------- */

static void cq_push__overrun(void **state)
{
	struct roost_channel *async;
	const struct roost_cqe *cqe;
	struct roost_event event;
	struct roost_cqe cqes[8];
	struct cq_fixture c;

	open_cq(&c, 4);
	async = roost_ctx_async_channel(c.f.ctx);
	for (uint64_t i = 0; i < 6; i++)
		add(&c, i, false);
	assert_int_equal(roost_channel_read(async, &event), 0);
	assert_int_equal(event.type, ROOST_EVENT_CQ_ERR);
	assert_ptr_equal(event.source, roost_cq_async_source(c.cq));
	roost_event_ack(event.source, 1);
	/* The entries from before are good. */
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	assert_int_equal(cqe->wr_id, 0);
	roost_cq_poll_end(c.cq);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 3);
	assert_int_equal(cqes[2].wr_id, 3);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), -EIO);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), -EIO);
	/* There is room again, but completions are missing: none follows. */
	add(&c, 7, false);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), -EIO);
	close_cq(&c);
}

/* The entries that were in time are polled before the error shows, also when
 * they are not published yet.
 */
static void cq_poll__entries_before_the_error(void **state)
{
	const struct roost_cqe *cqe;
	struct roost_cqe cqes[8];
	struct cq_fixture c;

	open_cq(&c, 4);
	for (uint64_t i = 0; i < 5; i++)
		push(&c, i);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), 0);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), -ENOENT);
	publish(&c);
	assert_int_equal(roost_cq_poll_begin(c.cq, &cqe), 0);
	for (int i = 1; i < 4; i++)
		assert_int_equal(roost_cq_poll_next(c.cq, &cqe), 0);
	assert_int_equal(roost_cq_poll_next(c.cq, &cqe), -ENOENT);
	roost_cq_poll_end(c.cq);
	assert_int_equal(roost_cq_poll(c.cq, 8, cqes), -EIO);
	close_cq(&c);
}

/* ---- destroy -------------------------------------------------------- */

struct destroyer {
	struct roost_cq *cq;
	atomic_bool done;
	uint64_t comp, async;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	roost_cq_destroy(d->cq, &d->comp, &d->async);
	atomic_store(&d->done, true);
	return NULL;
}

static void cq_destroy__waits_for_acks(void **state)
{
	struct roost_event_source *source;
	struct destroyer d = { 0 };
	struct roost_event event;
	struct cq_fixture c;
	pthread_t thread;

	open_cq(&c, 64);
	d.cq = c.cq;
	source = roost_cq_comp_source(c.cq);
	for (uint64_t i = 0; i < 3; i++) {
		roost_cq_arm(c.cq, false);
		add(&c, i, false);
	}
	assert_int_equal(roost_channel_read(c.channel, &event), 0);
	assert_int_equal(roost_channel_read(c.channel, &event), 0);
	assert_int_equal(pthread_create(&thread, NULL, destroy, &d), 0);
	usleep(20000);
	assert_false(atomic_load(&d.done));
	roost_event_ack(source, 1);
	usleep(20000);
	assert_false(atomic_load(&d.done));
	roost_event_ack(source, 1);
	pthread_join(thread, NULL);
	assert_int_equal(d.comp, 2);
	assert_int_equal(d.async, 0);
	/* The third was not read: it is gone, with its token. */
	assert_int_equal(roost_channel_read(c.channel, &event), -EAGAIN);
	roost_channel_destroy(c.channel);
	fixture_close(&c.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(cq_create__entries),
		cmocka_unit_test(cq_poll__takes_in_order),
		cmocka_unit_test(cq_poll_begin__shows_in_place),
		cmocka_unit_test(cq_poll_begin__holds_its_slots),
		cmocka_unit_test(cq_resize__keeps_entries),
		cmocka_unit_test(cq_resize__waits_without_the_turn),
		cmocka_unit_test(cq_arm__one_shot),
		cmocka_unit_test(cq_arm__solicited_only),
		cmocka_unit_test(cq_arm__stronger_wins),
		cmocka_unit_test(cq_arm__two_events_wait),
		cmocka_unit_test(cq_arm__while_one_is_added),
		FIXTURE_TEST(cq_arm__without_channel),
		cmocka_unit_test(cq_push__overrun),
		cmocka_unit_test(cq_poll__entries_before_the_error),
		cmocka_unit_test(cq_destroy__waits_for_acks),
	};

	return cmocka_run_group_tests_name("cq", tests, NULL, NULL);
}
