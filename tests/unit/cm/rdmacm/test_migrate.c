/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct rdma_event_channel *from, *to;

static int setup(void **state)
{
	fake_setup(state);
	from = rdma_create_event_channel();
	to = rdma_create_event_channel();
	return from && to ? 0 : -1;
}

static int teardown(void **state)
{
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
	assert_int_equal(fake_conns_alive(), 0);
	assert_int_equal(fake.nb_pds, 0);
	return 0;
}

static void migrate__what_waits_moves(void **state)
{
	struct rdma_cm_id *id = fake_routed(from, RDMA_PS_TCP);

	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	assert_ok(rdma_migrate_id(id, to));
	assert_ptr_equal(id->channel, to);
	assert_false(fake_readable(from));
	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	for (int i = 0; i < 3; i++)
		fake_expect(to, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_false(fake_readable(to));
	assert_ok(rdma_destroy_id(id));
}

struct migration {
	struct rdma_cm_id *id;
	atomic_bool done;
};

static void *migrate(void *arg)
{
	struct migration *m = arg;

	assert_ok(rdma_migrate_id(m->id, to));
	m->done = true;
	return NULL;
}

static void migrate__waits_for_what_was_read(void **state)
{
	struct migration m = { .id = fake_routed(from, RDMA_PS_TCP) };
	struct rdma_cm_event *event;
	pthread_t thread;

	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	event = fake_event(from, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ok(pthread_create(&thread, NULL, migrate, &m));
	usleep(20000);
	assert_false(m.done);
	/* What waited is there already. */
	fake_expect(to, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_ok(rdma_ack_cm_event(event));
	pthread_join(thread, NULL);
	assert_true(m.done);
	assert_ok(rdma_destroy_id(m.id));
}

static void migrate__listener_keeps_its_requests(void **state)
{
	struct rdma_cm_id *listener = fake_listening(from, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	fake_request(&fake.listeners[0], "a");
	assert_ok(rdma_migrate_id(listener, to));
	event = fake_event(to, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->id->channel, to);
	assert_ok(rdma_destroy_id(event->id));
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_destroy_id(listener));
}

static void migrate__group_comes_along(void **state)
{
	struct sockaddr_storage at = addr_of("198.18.0.1", 0),
				group = addr_of("239.1.2.3", 0);
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(from, &id, NULL, RDMA_PS_UDP));
	assert_ok(rdma_bind_addr(id, (struct sockaddr *)&at));
	assert_ok(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	assert_ok(rdma_migrate_id(id, to));
	fake_expect(to, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_ok(rdma_destroy_id(id));
}

static void migrate__to_synchronous_and_back(void **state)
{
	struct rdma_cm_id *id = fake_routed(from, RDMA_PS_TCP);

	assert_ok(rdma_migrate_id(id, NULL));
	assert_ptr_not_equal(id->channel, from);
	assert_fails(rdma_migrate_id(id, NULL), EINVAL);
	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	assert_false(fake_readable(from));
	assert_ok(rdma_migrate_id(id, to));
	fake_expect(to, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_ok(rdma_destroy_id(id));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(migrate__what_waits_moves),
		TEST(migrate__waits_for_what_was_read),
		TEST(migrate__listener_keeps_its_requests),
		TEST(migrate__group_comes_along),
		TEST(migrate__to_synchronous_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
