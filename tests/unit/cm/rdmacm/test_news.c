/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What becomes of a device, as its ids hear it. A device that is gone does not
 * come back, so there are two tests of removal: roost1's first, then roost0's.
 */
#include "fake_world.h"

#include <pthread.h>
#include <unistd.h>

static int teardown(void **state)
{
	assert_int_equal(fake_conns_alive(), 0);
	assert_int_equal(fake.nb_pds, 0);
	assert_int_equal(fake.nb_qps, 0);
	return 0;
}

static struct rdma_cm_id *bound(struct rdma_event_channel *channel,
				const char *ip, uint16_t port)
{
	struct sockaddr_storage at = addr_of(ip, port);
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	assert_ok(rdma_bind_addr(id, (struct sockaddr *)&at));
	return id;
}

static void expect_of(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = fake_event(id->channel, type);

	assert_ptr_equal(event->id, id);
	assert_int_equal(event->status, 0);
	assert_ok(rdma_ack_cm_event(event));
}

/* ---- addresses ----------------------------------------------------------- */

static void address__lost_is_told_to_who_is_at_it(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_event_channel *others = rdma_create_event_channel();
	struct rdma_cm_id *listening = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_cm_id *routed = fake_routed(others, RDMA_PS_TCP);
	struct rdma_cm_id *v6 = bound(others, "fd00::1", 1);
	struct rdma_cm_id *any = bound(others, "0.0.0.0", 2);
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_id *elsewhere = bound(others, "198.18.1.1", 3);

	fake_readdress(0, 3, "198.18.0.77");
	assert_false(fake_readable(channel));
	assert_false(fake_readable(others));
	fake_readdress(0, 1, NULL);
	expect_of(listening, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_false(fake_readable(channel));
	expect_of(routed, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_false(fake_readable(others));
	/* Once for each loss, and ids go on. */
	fake_readdress(0, 3, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	assert_false(fake_readable(channel));
	fake_readdress(0, 1, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	expect_of(listening, RDMA_CM_EVENT_ADDR_CHANGE);
	expect_of(routed, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ok(rdma_connect(routed, &param));
	fake_request(&fake.listeners[0], "still here");
	assert_ok(rdma_destroy_id(routed));
	fake_readdress(0, 1, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	assert_false(fake_readable(others));
	rdma_destroy_id(listening);
	rdma_destroy_id(v6);
	rdma_destroy_id(any);
	rdma_destroy_id(elsewhere);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(others);
}

/* Once for each MAC, and once for what happens at the same time. */
static void address__moved_to_another_mac(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_event_channel *others = rdma_create_event_channel();
	struct rdma_cm_id *listening = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_cm_id *elsewhere = bound(others, "198.18.1.1", 3);
	struct rdma_cm_id *any = bound(others, "0.0.0.0", 2);

	fake_move(0, 1);
	expect_of(listening, RDMA_CM_EVENT_ADDR_CHANGE);
	fake_move(0, 1);
	assert_false(fake_readable(channel));
	assert_false(fake_readable(others));
	fake_move(1, 1);
	expect_of(elsewhere, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_false(fake_readable(channel));
	assert_false(fake_readable(others));
	fake_move(0, 0);
	expect_of(listening, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_false(fake_readable(channel));
	rdma_destroy_id(listening);
	rdma_destroy_id(elsewhere);
	rdma_destroy_id(any);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(others);
}

/* Nobody but an accepted request hears of the address it came to. */
static void address__of_requests(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listening = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *child;

	fake_request(&fake.listeners[0], "hello");
	event = fake_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	rdma_destroy_id(listening);
	fake_readdress(0, 1, NULL);
	assert_false(fake_readable(channel));
	fake_readdress(0, 1, "198.18.0.1");
	assert_ok(rdma_accept(child, &param));
	fake_readdress(0, 1, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	expect_of(child, RDMA_CM_EVENT_ADDR_CHANGE);
	rdma_destroy_id(child);
	rdma_destroy_event_channel(channel);
}

/* ---- synchronous ids ----------------------------------------------------- */

static void *lose_and_resolve(void *arg)
{
	(void)arg;
	usleep(10000);
	fake_readdress(0, 1, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	return NULL;
}

static void sync__a_change_is_no_answer(void **state)
{
	struct sockaddr_storage to = addr_of("198.18.0.2", 7000);
	struct rdma_cm_id *id = bound(NULL, "198.18.0.1", 9);
	pthread_t thread;

	assert_ok(pthread_create(&thread, NULL, lose_and_resolve, NULL));
	assert_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	pthread_join(thread, NULL);
	/* Who reads the channel finds it. */
	fake_readdress(0, 1, NULL);
	fake_readdress(0, 1, "198.18.0.1");
	expect_of(id, RDMA_CM_EVENT_ADDR_CHANGE);
	rdma_destroy_id(id);
}

/* ---- removal ------------------------------------------------------------- */

static void *remove_later(void *arg)
{
	usleep(10000);
	fake_remove(*(unsigned int *)arg);
	return NULL;
}

static void removal__of_a_device_without_connections(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_storage to = addr_of("198.18.1.2", 7000);
	struct sockaddr_storage at = addr_of("198.18.1.1", 0);
	struct rdma_cm_id *asking, *any, *waiting, *fresh;
	struct rdma_cm_id *other = bound(channel, "198.18.0.1", 1);
	unsigned int device = 1;
	pthread_t thread;

	/* It has no device before the next hop is known. */
	assert_ok(rdma_create_id(channel, &asking, NULL, RDMA_PS_TCP));
	assert_ok(
		rdma_resolve_addr(asking, NULL, (struct sockaddr *)&to, 1000));
	assert_ok(rdma_create_id(channel, &any, NULL, RDMA_PS_TCP));
	assert_ok(rdma_listen(any, 1));
	assert_int_equal(fake.nb_listeners, 2);
	/* A call that waits does not succeed by it. */
	assert_ok(rdma_create_id(NULL, &waiting, NULL, RDMA_PS_TCP));
	assert_ok(rdma_bind_addr(waiting, (struct sockaddr *)&at));
	assert_ok(pthread_create(&thread, NULL, remove_later, &device));
	assert_fails(rdma_resolve_addr(waiting, NULL, (struct sockaddr *)&to,
				       1000),
		     ENODEV);
	pthread_join(thread, NULL);
	assert_int_equal(waiting->event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_fails(rdma_resolve_route(waiting, 1000), EIO);
	assert_false(fake_readable(channel));
	fake_tell(&fake.conns[0], ROOST_CM_ADDR_ERROR, -ENODEV);
	fake_expect(channel, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_fails(rdma_resolve_addr(asking, NULL, (struct sockaddr *)&to,
				       1000),
		     ENETUNREACH);
	/* Nor can one be bound to it. */
	assert_ok(rdma_create_id(channel, &fresh, NULL, RDMA_PS_TCP));
	assert_fails(rdma_bind_addr(fresh, (struct sockaddr *)&at),
		     EADDRNOTAVAIL);
	assert_ok(rdma_listen(fresh, 1));
	assert_int_equal(fake.nb_listeners, 3);
	assert_ok(rdma_destroy_id(fresh));
	assert_ok(rdma_destroy_id(waiting));
	assert_ok(rdma_destroy_id(asking));
	assert_ok(rdma_destroy_id(any));
	assert_ok(rdma_destroy_id(other));
	rdma_destroy_event_channel(channel);
}

static void removal__of_a_device_with_all_kinds(void **state)
{
	struct rdma_event_channel *l = rdma_create_event_channel();
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_event_channel *b = rdma_create_event_channel();
	struct rdma_cm_id *listening = fake_listening(l, RDMA_PS_TCP);
	struct rdma_cm_id *connecting = fake_connecting(c), *child;
	struct rdma_cm_id *at = bound(b, "198.18.0.1", 1);
	struct roost_cm_conn *conn = fake_conn();
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct sockaddr_storage to = addr_of("198.18.0.2", 7000);

	fake_request(&fake.listeners[0], "hello");
	event = fake_event(l, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	fake_remove(0);
	expect_of(listening, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_false(fake_readable(l));
	expect_of(connecting, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_false(fake_readable(c));
	expect_of(at, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_false(fake_readable(b));
	/* It is the last event, and nothing can be done but destroy. */
	fake_tell(conn, ROOST_CM_REJ_RECEIVED, 28);
	assert_false(fake_readable(c));
	assert_fails(rdma_accept(child, &param), EIO);
	assert_fails(rdma_reject(child, NULL, 0), EIO);
	assert_fails(rdma_disconnect(connecting), EIO);
	assert_fails(rdma_migrate_id(connecting, b), EIO);
	assert_fails(rdma_listen(at, 1), EIO);
	assert_fails(rdma_resolve_addr(at, NULL, (struct sockaddr *)&to, 1),
		     EIO);
	rdma_destroy_qp(connecting);
	assert_ok(rdma_destroy_id(connecting));
	assert_ok(rdma_destroy_id(child));
	assert_ok(rdma_destroy_id(at));
	assert_ok(rdma_destroy_id(listening));
	assert_false(fake.listeners[0].alive);
	rdma_destroy_event_channel(l);
	rdma_destroy_event_channel(c);
	rdma_destroy_event_channel(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			address__lost_is_told_to_who_is_at_it, fake_setup,
			teardown),
		cmocka_unit_test_setup_teardown(address__moved_to_another_mac,
						fake_setup, teardown),
		cmocka_unit_test_setup_teardown(address__of_requests,
						fake_setup, teardown),
		cmocka_unit_test_setup_teardown(sync__a_change_is_no_answer,
						fake_setup, teardown),
		cmocka_unit_test_setup_teardown(
			removal__of_a_device_without_connections, fake_setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			removal__of_a_device_with_all_kinds, fake_setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
