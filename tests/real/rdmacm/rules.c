/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* Who waits for whom: acks, destroyed ids, channels. */

#include "ends.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char ip[] = "198.18.0.1";

struct waiter {
	void (*call)(void *arg);
	void *arg;
	pthread_t thread;
	atomic_bool done;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->call(w->arg);
	w->done = true;
	return NULL;
}

/* Begin a call that is expected to wait. */
static void begin(struct waiter *w, void (*call)(void *arg), void *arg)
{
	*w = (struct waiter){ .call = call, .arg = arg };
	assert_ok(pthread_create(&w->thread, NULL, wait_thread, w));
	usleep(50000);
	assert_false(w->done);
}

static void end(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	assert_true(w->done);
}

static void destroy(void *id)
{
	assert_ok(rdma_destroy_id(id));
}

static void destroy__waits_for_acks(void **state)
{
	struct rdma_cm_event *event;
	struct waiter w;
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	ends_connect(&e);
	assert_ok(rdma_disconnect(e.client));
	event = expect_kept(e.passive, RDMA_CM_EVENT_DISCONNECTED);
	assert_ptr_equal(event->id, e.server);
	rdma_destroy_qp(e.server);
	begin(&w, destroy, e.server);
	assert_ok(rdma_ack_cm_event(event));
	end(&w);
	e.server = NULL;
	ends_close(&e);
}

static void destroy__request_counts_for_the_listener(void **state)
{
	struct waiter w;
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	ends_request(&e, NULL);
	rdma_destroy_qp(e.server);
	assert_ok(rdma_destroy_id(e.server));
	e.server = NULL;
	begin(&w, destroy, e.listener);
	assert_ok(rdma_ack_cm_event(e.event));
	end(&w);
	e.listener = NULL;
	/* Never answered, and gone: that is a rejection. */
	expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	ends_close(&e);
}

static void destroy__listener_with_undelivered_children(void **state)
{
	enum {
		NB = 5
	};
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_id *clients[NB];
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	for (int i = 0; i < NB; i++) {
		ends_resolve(&e, true);
		clients[i] = e.client;
		assert_ok(rdma_connect(clients[i], &param));
	}
	assert_true(readable(e.passive, EVENT_MS));
	usleep(50000);
	assert_ok(rdma_destroy_id(e.listener));
	e.listener = NULL;
	assert_false(readable(e.passive, 0));
	for (int i = 0; i < NB; i++)
		expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	for (int i = 0; i < NB; i++)
		rdma_destroy_ep(clients[i]);
	e.client = NULL;
	ends_close(&e);
}

static void migrate(void *arg)
{
	struct ends *e = arg;

	assert_ok(rdma_migrate_id(e->server, e->active));
}

static void migrate__moves_what_waits_and_waits_for_acks(void **state)
{
	struct rdma_cm_event *event;
	struct waiter w;
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	ends_request(&e, NULL);
	assert_ok(rdma_ack_cm_event(e.event));
	assert_ok(rdma_accept(e.server, NULL));
	expect(e.active, RDMA_CM_EVENT_ESTABLISHED, 0);
	event = expect_kept(e.passive, RDMA_CM_EVENT_ESTABLISHED);
	assert_ok(rdma_disconnect(e.client));
	assert_true(readable(e.passive, EVENT_MS));
	begin(&w, migrate, &e);
	assert_false(readable(e.passive, 0));
	assert_ok(rdma_ack_cm_event(event));
	end(&w);
	assert_ptr_equal(e.server->channel, e.active);
	expect(e.active, RDMA_CM_EVENT_DISCONNECTED, 0);
	ends_close(&e);
}

static void migrate__listener_with_a_request(void **state)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	ends_resolve(&e, true);
	assert_ok(rdma_connect(e.client, &param));
	assert_true(readable(e.passive, EVENT_MS));
	assert_ok(rdma_migrate_id(e.listener, e.active));
	e.event = expect_kept(e.active, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = e.event->id;
	assert_ptr_equal(e.server->channel, e.active);
	assert_ok(rdma_reject(e.server, NULL, 0));
	assert_ok(rdma_ack_cm_event(e.event));
	expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	ends_close(&e);
}

static void backlog__one_more_is_dropped_and_asked_again(void **state)
{
	struct sockaddr_storage addr = addr_of(ip, PORT + 1);
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_id *listener, *clients[3];
	struct ends e;

	(void)state;
	ends_listen(&e, ip, RDMA_PS_TCP);
	assert_ok(rdma_create_id(e.passive, &listener, NULL, RDMA_PS_TCP));
	assert_ok(rdma_bind_addr(listener, (struct sockaddr *)&addr));
	assert_ok(rdma_listen(listener, 2));
	for (int i = 0; i < 3; i++) {
		assert_ok(rdma_create_id(e.active, &clients[i], NULL,
					 RDMA_PS_TCP));
		assert_ok(rdma_resolve_addr(clients[i], NULL,
					    (struct sockaddr *)&addr, 1000));
		expect(e.active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		assert_ok(rdma_resolve_route(clients[i], 1000));
		expect(e.active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		/* One QP cannot have two connections. */
		param.qp_num = 0x1000 + (uint32_t)i;
		assert_ok(rdma_connect(clients[i], &param));
	}
	usleep(100000);
	for (int i = 0; i < 2; i++) {
		e.event = expect_kept(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_ok(rdma_destroy_id(e.event->id));
		assert_ok(rdma_ack_cm_event(e.event));
	}
	assert_false(readable(e.passive, 100));
	expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	assert_false(readable(e.active, 0));
	for (int i = 0; i < 3; i++)
		assert_ok(rdma_destroy_id(clients[i]));
	assert_ok(rdma_destroy_id(listener));
	ends_close(&e);
}

int rules_run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy__waits_for_acks),
		cmocka_unit_test(destroy__request_counts_for_the_listener),
		cmocka_unit_test(destroy__listener_with_undelivered_children),
		cmocka_unit_test(migrate__moves_what_waits_and_waits_for_acks),
		cmocka_unit_test(migrate__listener_with_a_request),
		cmocka_unit_test(backlog__one_more_is_dropped_and_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
