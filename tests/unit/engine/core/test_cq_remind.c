/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What an arming tells of entries that are there already.
 */
#include <fcntl.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/worker_base.h"
#include "tests/unit/engine/fixture.h"

struct cq_fixture {
	struct fixture f;
	struct roost_channel *channel;
	struct roost_cq *cq;
};

static void open_cq(struct cq_fixture *c)
{
	fixture_open(&c->f, NULL);
	assert_int_equal(roost_channel_create(8, &c->channel), 0);
	assert_int_equal(fcntl(roost_channel_fd(c->channel), F_SETFL,
			       O_NONBLOCK),
			 0);
	assert_int_equal(roost_cq_create(c->f.ctx, 64, c->channel, c, &c->cq),
			 0);
}

static void close_cq(struct cq_fixture *c)
{
	assert_int_equal(roost_cq_destroy(c->cq, NULL, NULL), 0);
	roost_channel_destroy(c->channel);
	fixture_close(&c->f);
}

static void add(struct cq_fixture *c, uint64_t wr_id, bool solicited)
{
	const struct roost_cqe cqe = { .wr_id = wr_id, .solicited = solicited };

	roost_cq_push(c->f.worker, c->cq, &cqe);
	roost_worker_publish(c->f.worker);
}

/* Events that wait; they are taken and acked. */
static int events(struct cq_fixture *c)
{
	struct roost_event event;
	int n = 0;

	while (roost_channel_read(c->channel, &event) == 0) {
		roost_event_ack(event.source, 1);
		n++;
	}
	return n;
}

/* An arming of a program that may have seen some of the entries. */
static int arm(struct cq_fixture *c, bool solicited_only)
{
	roost_cq_arm(c->cq, solicited_only);
	roost_cq_remind(c->cq, solicited_only);
	return events(c);
}

static void cq_remind__tells_what_nobody_was_told(void **state)
{
	struct roost_cqe got[4];
	struct cq_fixture c;

	open_cq(&c);
	assert_int_equal(arm(&c, false), 0);
	/* Told of by an event; the program arms first and polls then. */
	add(&c, 1, false);
	assert_int_equal(events(&c), 1);
	assert_int_equal(arm(&c, false), 0);
	assert_int_equal(roost_cq_poll(c.cq, 4, got), 1);
	add(&c, 2, false);
	assert_int_equal(events(&c), 1);
	/* It polls, and another one comes before it arms. */
	assert_int_equal(roost_cq_poll(c.cq, 4, got), 1);
	add(&c, 3, false);
	assert_int_equal(events(&c), 0);
	assert_int_equal(arm(&c, false), 1);
	/* Once; but again where it polls a part of them for each event. */
	assert_int_equal(arm(&c, false), 0);
	add(&c, 4, false);
	assert_int_equal(events(&c), 1);
	assert_int_equal(roost_cq_poll(c.cq, 1, got), 1);
	assert_int_equal(arm(&c, false), 1);
	assert_int_equal(roost_cq_poll(c.cq, 1, got), 1);
	assert_int_equal(got[0].wr_id, 4);
	assert_int_equal(arm(&c, false), 0);
	close_cq(&c);
}

static void cq_remind__of_solicited_ones_alone(void **state)
{
	struct roost_cqe got[4];
	struct cq_fixture c;

	open_cq(&c);
	add(&c, 1, false);
	assert_int_equal(arm(&c, true), 0);
	add(&c, 2, true);
	assert_int_equal(events(&c), 1);
	assert_int_equal(roost_cq_poll(c.cq, 4, got), 2);
	add(&c, 3, true);
	add(&c, 4, false);
	assert_int_equal(arm(&c, true), 1);
	assert_int_equal(roost_cq_poll(c.cq, 1, got), 1);
	/* What is left is for another arming. */
	assert_int_equal(arm(&c, true), 0);
	assert_int_equal(arm(&c, false), 1);
	close_cq(&c);
}

static void cq_remind__without_channel(void **state)
{
	struct fixture *f = *state;
	const struct roost_cqe cqe = { .wr_id = 1 };

	roost_cq_push(f->worker, f->cq, &cqe);
	roost_worker_publish(f->worker);
	roost_cq_arm(f->cq, false);
	roost_cq_remind(f->cq, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq_remind__tells_what_nobody_was_told),
		cmocka_unit_test(cq_remind__of_solicited_ones_alone),
		FIXTURE_TEST(cq_remind__without_channel),
	};

	return cmocka_run_group_tests_name("cq_remind", tests, NULL, NULL);
}
