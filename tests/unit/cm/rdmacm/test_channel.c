/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cm/rdmacm/newer.h"
#include "cm/rdmacm/rdmacm.h"

static struct rdma_event_channel *channel;

static int setup(void **state)
{
	fake_setup(state);
	channel = rdma_create_event_channel();
	return channel ? 0 : -1;
}

static int teardown(void **state)
{
	if (channel)
		rdma_destroy_event_channel(channel);
	channel = NULL;
	assert_int_equal(fake_conns_alive(), 0);
	assert_int_equal(fake.nb_pds, 0);
	return 0;
}

/* A thread that destroys an id, and says when it is done. */
struct destroyer {
	struct rdma_cm_id *id;
	pthread_t thread;
	atomic_bool done;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	rdma_destroy_id(d->id);
	d->done = true;
	return NULL;
}

static void begin_destroy(struct destroyer *d, struct rdma_cm_id *id)
{
	*d = (struct destroyer){ .id = id };
	assert_ok(pthread_create(&d->thread, NULL, destroy, d));
	/* Long enough for one that does not wait. */
	usleep(20000);
}

static void channel__nonblocking_get_says_eagain(void **state)
{
	struct rdma_cm_event *event;

	assert_ok(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	assert_fails(rdma_get_cm_event(channel, &event), EAGAIN);
	assert_fails(rdma_get_cm_event(channel, NULL), EINVAL);
	assert_fails(rdma_ack_cm_event(NULL), EINVAL);
}

static void channel__nonblocking_get_looks_once(void **state)
{
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	assert_ok(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	fake.nb_attends[0] = 0;
	assert_fails(rdma_get_cm_event(channel, &event), EAGAIN);
	assert_int_equal(fake.nb_attends[0], 1);
	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	fake_expect(channel, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_int_equal(fake.nb_attends[0], 1);
	assert_ok(rdma_destroy_id(id));
}

static void on_signal(int signal)
{
	(void)signal;
}

static void *interrupt(void *arg)
{
	usleep(20000);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void channel__signal_interrupts_get(void **state)
{
	const struct sigaction action = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), thread;
	struct rdma_cm_event *event;

	assert_ok(sigaction(SIGUSR1, &action, NULL));
	assert_ok(pthread_create(&thread, NULL, interrupt, &self));
	assert_fails(rdma_get_cm_event(channel, &event), EINTR);
	pthread_join(thread, NULL);
}

static void channel__destroy_waits_for_the_ack(void **state)
{
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct destroyer d;

	fake_tell(fake_conn(), ROOST_CM_ADDR_CHANGE, 0);
	event = fake_event(channel, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ptr_equal(event->id, id);
	begin_destroy(&d, id);
	assert_false(d.done);
	assert_ok(rdma_ack_cm_event(event));
	pthread_join(d.thread, NULL);
	assert_true(d.done);
}

static void channel__destroy_removes_what_was_not_read(void **state)
{
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_cm_id *other = fake_routed(channel, RDMA_PS_TCP);

	fake_tell(&fake.conns[0], ROOST_CM_ADDR_CHANGE, 0);
	fake_tell(&fake.conns[0], ROOST_CM_ADDR_CHANGE, 0);
	fake_tell(&fake.conns[1], ROOST_CM_ADDR_CHANGE, 0);
	assert_ok(rdma_destroy_id(id));
	assert_true(fake_readable(channel));
	fake_expect(channel, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_false(fake_readable(channel));
	assert_ok(rdma_destroy_id(other));
}

/* More than the ring holds: none is lost, each id's are in order. */
static void channel__many_events_keep_their_order(void **state)
{
	enum {
		NB = 700
	};
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	for (int i = 0; i < NB; i++)
		fake_tell(fake_conn(),
			  i == NB / 2 ? ROOST_CM_ADDR_RESOLVED
				      : ROOST_CM_ADDR_CHANGE,
			  0);
	/* ADDR_RESOLVED means nothing any more and is not told. */
	for (int i = 0; i < NB - 1; i++) {
		assert_ok(rdma_get_cm_event(channel, &event));
		assert_int_equal(event->event, RDMA_CM_EVENT_ADDR_CHANGE);
		assert_ok(rdma_ack_cm_event(event));
	}
	assert_false(fake_readable(channel));
	assert_ok(rdma_destroy_id(id));
}

static void channel__request_is_acked_to_the_listener(void **state)
{
	struct rdma_cm_id *listener = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct destroyer d;

	fake_request(&fake.listeners[0], "hello");
	event = fake_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->listen_id, listener);
	/* The new id does not wait for it ... */
	assert_ok(rdma_destroy_id(event->id));
	/* ... and the listener does. */
	begin_destroy(&d, listener);
	assert_false(d.done);
	assert_ok(rdma_ack_cm_event(event));
	pthread_join(d.thread, NULL);
}

static void channel__listener_takes_unread_requests_with_it(void **state)
{
	struct rdma_cm_id *listener = fake_listening(channel, RDMA_PS_TCP);
	struct roost_cm_conn *a, *b;

	a = fake_request(&fake.listeners[0], "a");
	b = fake_request(&fake.listeners[0], "b");
	assert_true(a->alive && b->alive);
	assert_false(a->fetched || b->fetched);
	assert_ok(rdma_destroy_id(listener));
	assert_false(a->alive || b->alive);
	assert_false(fake_readable(channel));
	assert_false(fake.listeners[0].alive);
}

/* Its peer gives up before it is fetched: nothing of it is told. */
static void channel__request_is_quiet_until_accepted(void **state)
{
	struct rdma_cm_id *listener = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { 0 };
	struct roost_cm_conn *conn;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	conn = fake_request(&fake.listeners[0], "a");
	fake_tell(conn, ROOST_CM_REJ_RECEIVED, 4);
	event = fake_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_true(conn->fetched);
	assert_false(fake_readable(channel));
	id = event->id;
	assert_ok(rdma_ack_cm_event(event));
	fake.accept_rc = -EINVAL;
	assert_fails(rdma_accept(id, &param), EINVAL);
	assert_ok(rdma_destroy_id(id));
	assert_ok(rdma_destroy_id(listener));
}

static void *write_event(void *arg)
{
	/* Long enough for the reader to wait. */
	usleep(20000);
	assert_ok(
		rdma_write_cm_event(arg,
				    (enum rdma_cm_event_type)ROOST_RDMACM_USER,
				    -7, UINT64_C(0x55667788aabbccdd)));
	return NULL;
}

static void channel__written_event_wakes_the_reader(void **state)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	pthread_t thread;
	uint64_t arg;

	assert_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	assert_ok(pthread_create(&thread, NULL, write_event, id));
	assert_ok(rdma_get_cm_event(channel, &event));
	pthread_join(thread, NULL);
	assert_int_equal(event->event, ROOST_RDMACM_USER);
	assert_int_equal(event->status, -7);
	assert_ptr_equal(event->id, id);
	memcpy(&arg, &event->param, sizeof(arg));
	assert_true(arg == UINT64_C(0x55667788aabbccdd));
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_destroy_id(id));
}

/* Those that the kernel's rdma_cm lets programs write. */
static void channel__two_events_can_be_written(void **state)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	for (int i = -1; i < 25; i++) {
		const bool is_ok =
			i == ROOST_RDMACM_USER || i == ROOST_RDMACM_INTERNAL;

		errno = 0;
		assert_int_equal(rdma_write_cm_event(id,
						     (enum rdma_cm_event_type)i,
						     i, (uint64_t)i),
				 is_ok ? 0 : -1);
		assert_int_equal(errno, is_ok ? 0 : EINVAL);
	}
	for (int i = ROOST_RDMACM_USER; i <= ROOST_RDMACM_INTERNAL; i++) {
		assert_ok(rdma_get_cm_event(channel, &event));
		assert_int_equal(event->event, i);
		assert_int_equal(event->status, i);
		assert_ok(rdma_ack_cm_event(event));
	}
	/* One that nobody reads goes with the id. */
	assert_ok(rdma_write_cm_event(
		id, (enum rdma_cm_event_type)ROOST_RDMACM_USER, 0, 0));
	assert_ok(rdma_destroy_id(id));
	assert_false(fake_readable(channel));
}

static void channel__gone_under_its_ids(void **state)
{
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_cm_id *listener = fake_listening(channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;

	fake_request(&fake.listeners[0], "a");
	fake_request(&fake.listeners[0], "b");
	event = fake_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	rdma_destroy_event_channel(channel);
	channel = NULL;
	assert_int_equal(fake_conns_alive(), 0);
	assert_fails(rdma_connect(id, &param), EBADF);
	assert_fails(rdma_listen(listener, 0), EBADF);
	assert_fails(rdma_accept(event->id, &param), EBADF);
	assert_fails(rdma_write_cm_event(
			     id, (enum rdma_cm_event_type)ROOST_RDMACM_USER, 0,
			     0),
		     EBADF);
	assert_fails(rdma_destroy_id(id), EBADF);
	assert_ok(rdma_ack_cm_event(event));
	/* They keep the device, as they are still the program's. */
	fake.nb_pds = 0;
}

static void *read_for_ever(void *returned)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(channel, &event);
	atomic_store((atomic_bool *)returned, true);
	return NULL;
}

/* rping ends so. On Linux the kernel holds what the call needs. */
static void channel__gone_under_its_reader(void **state)
{
	atomic_bool returned = false;
	pthread_t thread;

	/* Soon it looks for an event, later it sleeps. */
	for (unsigned int us = 0; us < 30000; us = 2 * us + 100) {
		assert_ok(pthread_create(&thread, NULL, read_for_ever,
					 &returned));
		while (atomic_load(&((struct roost_rdmacm_channel *)channel)
					    ->readers) == 0)
			;
		usleep(us);
		rdma_destroy_event_channel(channel);
		usleep(2000);
		assert_false(atomic_load(&returned));
		assert_true(fcntl(channel->fd, F_GETFD) >= 0);
		assert_ok(pthread_cancel(thread));
		assert_ok(pthread_join(thread, NULL));
		/* Nobody reads it: now it goes. */
		rdma_destroy_event_channel(channel);
		channel = rdma_create_event_channel();
		assert_non_null(channel);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(channel__nonblocking_get_says_eagain),
		TEST(channel__nonblocking_get_looks_once),
		TEST(channel__signal_interrupts_get),
		TEST(channel__destroy_waits_for_the_ack),
		TEST(channel__destroy_removes_what_was_not_read),
		TEST(channel__many_events_keep_their_order),
		TEST(channel__request_is_acked_to_the_listener),
		TEST(channel__listener_takes_unread_requests_with_it),
		TEST(channel__request_is_quiet_until_accepted),
		TEST(channel__written_event_wakes_the_reader),
		TEST(channel__two_events_can_be_written),
		TEST(channel__gone_under_its_reader),
		/* The last: its ids stay. */
		TEST(channel__gone_under_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
