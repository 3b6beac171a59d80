/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/engine/core/qp_priv.h"
#include "tests/unit/engine/fixture.h"

static struct roost_qp_init good_init(struct fixture *f)
{
	return (struct roost_qp_init){
		.type = ROOST_QPT_RC,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = {
			.max_send_wr = 10,
			.max_recv_wr = 100,
			.max_send_sge = 2,
			.max_recv_sge = 3,
			.max_inline_bytes = 100,
		},
	};
}

static int qp_create(struct fixture *f, struct roost_qp_init *init,
		     struct roost_qp **qp)
{
	return roost_qp_create(f->ctx, f->pd, init, qp);
}

static void qp_create__gives_at_least_what_was_asked(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_init init, got;
	struct roost_qp_attr attr;
	struct roost_qp *qp;
	int owner;

	init = good_init(f);
	init.owner = &owner;
	init.sq_sig_all = true;
	assert_int_equal(qp_create(f, &init, &qp), 0);
	assert_true(init.cap.max_send_wr >= 10);
	assert_true(init.cap.max_recv_wr >= 100);
	assert_true(init.cap.max_send_sge >= 2);
	assert_true(init.cap.max_recv_sge >= 3);
	assert_true(init.cap.max_inline_bytes >= 100);
	/* SGEs and binds lie in each slot's spill. */
	assert_int_equal(qp->spill_bytes % _Alignof(struct roost_sge), 0);
	assert_int_equal(roost_qp_state(qp), ROOST_QPS_RESET);
	roost_qp_query(qp, &attr, &got);
	assert_memory_equal(&got.cap, &init.cap, sizeof(init.cap));
	assert_memory_equal(&attr.cap, &init.cap, sizeof(init.cap));
	assert_int_equal(got.type, ROOST_QPT_RC);
	assert_ptr_equal(got.send_cq, f->cq);
	assert_ptr_equal(got.recv_cq, f->cq);
	assert_ptr_equal(got.owner, &owner);
	assert_true(got.sq_sig_all);
	assert_ptr_equal(roost_qp_async_source(qp)->owner, &owner);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

static void qp_create__limits(void **state)
{
	struct fixture *f = *state;
	const struct roost_dev_limits *limits;
	struct roost_qp_init init;
	struct roost_qp *qp;

	limits = roost_dev_limits(f->dev);
#define BEYOND(field, limit)                                                   \
	do {                                                                   \
		init = good_init(f);                                           \
		init.cap.field = limits->limit + 1;                            \
		assert_int_equal(qp_create(f, &init, &qp), -EINVAL);           \
		init = good_init(f);                                           \
		init.cap.field = limits->limit;                                \
		assert_int_equal(qp_create(f, &init, &qp), 0);                 \
		assert_int_equal(init.cap.field, limits->limit);               \
		assert_int_equal(roost_qp_destroy(qp, NULL), 0);               \
	} while (0)
	BEYOND(max_send_wr, max_qp_wr);
	BEYOND(max_recv_wr, max_qp_wr);
	BEYOND(max_send_sge, max_sge);
	BEYOND(max_recv_sge, max_sge);
	BEYOND(max_inline_bytes, max_inline_bytes);
	init = good_init(f);
	init.cap.max_send_wr = UINT32_MAX;
	assert_int_equal(qp_create(f, &init, &qp), -EINVAL);
}

static void qp_create__type_and_cqs(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_init init;
	struct roost_qp *qp;

	init = good_init(f);
	init.send_cq = NULL;
	assert_int_equal(qp_create(f, &init, &qp), -EINVAL);
	init = good_init(f);
	init.recv_cq = NULL;
	assert_int_equal(qp_create(f, &init, &qp), -EINVAL);
	init = good_init(f);
	init.type = ROOST_QPT_COUNT;
	assert_int_equal(qp_create(f, &init, &qp), -EOPNOTSUPP);
	/* Nothing is left behind that would keep the PD or the CQ. */
}

/* An empty queue takes nothing, and is not an error by itself. */
static void qp_create__empty_queues(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_init init;
	struct roost_recv_wr recv = { .wr_id = 1 };
	struct roost_send_wr send = { .opcode = ROOST_WR_SEND };
	struct roost_qp *qp;

	init = good_init(f);
	init.cap = (struct roost_qp_cap){ 0 };
	assert_int_equal(qp_create(f, &init, &qp), 0);
	assert_int_equal(init.cap.max_send_wr, 0);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_recv(qp, &recv), -ENOMEM);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(fixture_to_rts(qp), 0);
	assert_int_equal(fixture_send(qp, &send), -ENOMEM);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

static void qp_create__numbers(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qps[500];

	for (int i = 0; i < 500; i++) {
		uint32_t qpn;

		qps[i] = fixture_qp(f, 1);
		qpn = roost_qp_num(qps[i]);
		assert_in_range(qpn, 2, 0xfffffe);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(qpn, roost_qp_num(qps[j]));
	}
	for (int i = 0; i < 500; i++)
		assert_int_equal(roost_qp_destroy(qps[i], NULL), 0);
}

static void qp_destroy__frees_what_it_used(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp_in_rts(f, 1);

	assert_int_equal(roost_pd_dealloc(f->pd), -EBUSY);
	assert_int_equal(roost_cq_destroy(f->cq, NULL, NULL), -EBUSY);
	assert_int_equal(roost_ctx_close(f->ctx), -EBUSY);
	assert_int_equal(roost_dev_destroy(f->dev), -EBUSY);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

/* ---- events that are not acked -------------------------------------- */

struct destroyer {
	struct roost_qp *qp;
	atomic_bool done;
	uint64_t acked;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	roost_qp_destroy(d->qp, &d->acked);
	atomic_store(&d->done, true);
	return NULL;
}

static void qp_destroy__waits_for_acks(void **state)
{
	struct fixture *f = *state;
	struct roost_channel *async;
	struct roost_event_source *source;
	struct destroyer d = { 0 };
	struct roost_event event;
	struct roost_qp *other;
	pthread_t thread;

	async = roost_ctx_async_channel(f->ctx);
	d.qp = fixture_qp(f, 1);
	other = fixture_qp(f, 1);
	source = roost_qp_async_source(d.qp);
	for (int i = 0; i < 3; i++)
		roost_event_raise(source, ROOST_EVENT_COMM_EST);
	assert_int_equal(roost_channel_read(async, &event), 0);
	assert_int_equal(roost_channel_read(async, &event), 0);
	assert_ptr_equal(event.source, source);
	roost_event_ack(source, 1);
	assert_int_equal(pthread_create(&thread, NULL, destroy, &d), 0);
	usleep(20000);
	assert_false(atomic_load(&d.done));
	/* Another object is not held up. */
	assert_int_equal(roost_qp_destroy(other, NULL), 0);
	roost_event_ack(source, 1);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&d.done));
	assert_int_equal(d.acked, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(qp_create__gives_at_least_what_was_asked),
		FIXTURE_TEST(qp_create__limits),
		FIXTURE_TEST(qp_create__type_and_cqs),
		FIXTURE_TEST(qp_create__empty_queues),
		FIXTURE_TEST(qp_create__numbers),
		FIXTURE_TEST(qp_destroy__frees_what_it_used),
		FIXTURE_TEST(qp_destroy__waits_for_acks),
	};

	return cmocka_run_group_tests_name("qp", tests, NULL, NULL);
}
