/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/event/source.h"
#include "tests/cmocka.h"

static struct roost_channel *new_channel(unsigned int capacity)
{
	struct roost_channel *channel;

	assert_int_equal(roost_channel_create(capacity, &channel), 0);
	return channel;
}

static void set_nonblocking(struct roost_channel *channel, bool on)
{
	assert_int_equal(fcntl(roost_channel_fd(channel), F_SETFL,
			       on ? O_NONBLOCK : 0),
			 0);
}

static bool readable(struct roost_channel *channel)
{
	struct pollfd fd = { .fd = roost_channel_fd(channel),
			     .events = POLLIN };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLIN;
}

static struct roost_event read_one(struct roost_channel *channel)
{
	struct roost_event event;

	assert_true(readable(channel));
	assert_int_equal(roost_channel_read(channel, &event), 0);
	return event;
}

static void read_and_ack(struct roost_channel *channel)
{
	struct roost_event event = read_one(channel);

	roost_event_ack(event.source, 1);
}

/* ---- raise and read ------------------------------------------------- */

static void channel_create__capacity(void **state)
{
	struct roost_channel *channel;

	assert_int_equal(roost_channel_create(3, &channel), -EINVAL);
	assert_int_equal(roost_channel_create(0, &channel), -EINVAL);
	/* A ring of one has no room at all. */
	assert_int_equal(roost_channel_create(1, &channel), -EINVAL);
	roost_channel_destroy(new_channel(2));
	roost_channel_destroy(new_channel(1024));
}

static void channel_create__out_of_descriptors(void **state)
{
	struct roost_channel *channel;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(roost_channel_create(8, &channel), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void channel_read__in_order_with_all_fields(void **state)
{
	struct roost_channel *channel = new_channel(64);
	struct roost_event_source a, b;
	int owner_a, owner_b;

	roost_event_source_init(&a, channel, &owner_a);
	roost_event_source_init(&b, channel, &owner_b);
	a.arg = 1000;
	for (uint32_t i = 0; i < 30; i++)
		roost_event_raise(i % 3 == 0 ? &a : &b,
				  i % ROOST_EVENT_TYPES_MAX);
	for (uint32_t i = 0; i < 30; i++) {
		struct roost_event event = read_one(channel);

		assert_ptr_equal(event.source, i % 3 == 0 ? &a : &b);
		assert_ptr_equal(event.owner, i % 3 == 0 ? &owner_a : &owner_b);
		assert_int_equal(event.type, i % ROOST_EVENT_TYPES_MAX);
		assert_int_equal(event.arg, i % 3 == 0 ? 1000 : 0);
		roost_event_ack(event.source, 1);
	}
	assert_false(readable(channel));
	assert_int_equal(roost_event_source_fini(&a), 10);
	assert_int_equal(roost_event_source_fini(&b), 20);
	roost_channel_destroy(channel);
}

static void event_raise__without_channel(void **state)
{
	struct roost_event_source source;

	roost_event_source_init(&source, NULL, NULL);
	roost_event_raise(&source, 1);
	roost_event_ack(&source, 1);
	assert_int_equal(roost_event_source_fini(&source), 0);
}

static void channel_read__nonblocking(void **state)
{
	struct roost_channel *channel = new_channel(8);
	struct roost_event_source source;
	struct roost_event event;

	roost_event_source_init(&source, channel, NULL);
	set_nonblocking(channel, true);
	assert_int_equal(roost_channel_read(channel, &event), -EAGAIN);
	roost_event_raise(&source, 0);
	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(roost_channel_read(channel, &event), -EAGAIN);
	roost_event_ack(&source, 1);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

/* ---- a thread that reads -------------------------------------------- */

struct reader {
	struct roost_channel *channel;
	pthread_t thread;
	atomic_bool ready;
	atomic_bool done;
	int rc;
	struct roost_event event;
};

static void *read_in_thread(void *arg)
{
	struct reader *r = arg;

	atomic_store(&r->ready, true);
	r->rc = roost_channel_read(r->channel, &r->event);
	atomic_store(&r->done, true);
	return NULL;
}

/* It is asleep in read(2), as far as one can tell. */
static void start_reader(struct reader *r, struct roost_channel *channel)
{
	*r = (struct reader){ .channel = channel };
	assert_int_equal(pthread_create(&r->thread, NULL, read_in_thread, r),
			 0);
	while (!atomic_load(&r->ready))
		usleep(100);
	usleep(5000);
}

static void channel_read__blocks(void **state)
{
	struct roost_channel *channel = new_channel(8);
	struct roost_event_source source;
	struct reader reader;

	roost_event_source_init(&source, channel, NULL);
	start_reader(&reader, channel);
	assert_false(atomic_load(&reader.done));
	roost_event_raise(&source, 7);
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.rc, 0);
	assert_int_equal(reader.event.type, 7);
	roost_event_ack(&source, 1);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

static void ignore_signal(int number)
{
	(void)number;
}

/* A signal ends the wait, as it does for every program that reads the fd. */
static void channel_read__interrupted(void **state)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	struct roost_channel *channel = new_channel(8);
	struct reader reader;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	start_reader(&reader, channel);
	while (!atomic_load(&reader.done)) {
		pthread_kill(reader.thread, SIGUSR1);
		usleep(1000);
	}
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.rc, -EINTR);
	roost_channel_destroy(channel);
}

/* A token whose event was removed with its object: who took it goes back to
 * waiting.
 */
static void channel_read__token_without_event(void **state)
{
	struct roost_channel *channel = new_channel(8);
	int fd = roost_channel_fd(channel);
	struct roost_event_source source;
	struct roost_event event;
	struct reader reader;
	uint64_t one = 1;

	roost_event_source_init(&source, channel, NULL);
	start_reader(&reader, channel);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
		while (readable(channel))
			usleep(100);
		usleep(2000);
		assert_false(atomic_load(&reader.done));
	}
	roost_event_raise(&source, 2);
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.rc, 0);
	assert_int_equal(reader.event.type, 2);
	roost_event_ack(&source, 1);
	set_nonblocking(channel, true);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(roost_channel_read(channel, &event), -EAGAIN);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

/* ---- the fd in the kernel's hands ----------------------------------- */

static void channel_fd__poll_and_select(void **state)
{
	struct roost_channel *channel = new_channel(8);
	int fd = roost_channel_fd(channel);
	struct roost_event_source source;
	struct timeval now = { 0, 0 };
	fd_set set;

	roost_event_source_init(&source, channel, NULL);
	assert_false(readable(channel));
	roost_event_raise(&source, 0);
	roost_event_raise(&source, 1);
	/* As long as there is one. */
	assert_true(readable(channel));
	read_and_ack(channel);
	assert_true(readable(channel));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	assert_int_equal(select(fd + 1, &set, NULL, NULL, &now), 1);
	read_and_ack(channel);
	assert_false(readable(channel));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	assert_int_equal(select(fd + 1, &set, NULL, NULL, &now), 0);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

static int epoll_events(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 0);
}

static int new_epoll(struct roost_channel *channel, uint32_t flags)
{
	struct epoll_event event = { .events = EPOLLIN | flags };
	int epoll = epoll_create1(0);

	assert_true(epoll >= 0);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD,
				   roost_channel_fd(channel), &event),
			 0);
	return epoll;
}

static void channel_fd__epoll_level_and_edge(void **state)
{
	struct roost_channel *channel = new_channel(8);
	int level = new_epoll(channel, 0);
	int edge = new_epoll(channel, EPOLLET);
	struct roost_event_source source;
	struct roost_event event;

	roost_event_source_init(&source, channel, NULL);
	set_nonblocking(channel, true);
	assert_int_equal(epoll_events(level), 0);
	assert_int_equal(epoll_events(edge), 0);
	roost_event_raise(&source, 0);
	assert_int_equal(epoll_events(level), 1);
	assert_int_equal(epoll_events(level), 1);
	assert_int_equal(epoll_events(edge), 1);
	assert_int_equal(epoll_events(edge), 0);
	/* Each new event is an edge, though the first is not read yet. */
	roost_event_raise(&source, 0);
	assert_int_equal(epoll_events(edge), 1);
	/* An edge-triggered reader reads until there is nothing. */
	while (roost_channel_read(channel, &event) == 0)
		roost_event_ack(event.source, 1);
	assert_int_equal(epoll_events(level), 0);
	assert_int_equal(epoll_events(edge), 0);
	roost_event_raise(&source, 0);
	assert_int_equal(epoll_events(level), 1);
	assert_int_equal(epoll_events(edge), 1);
	read_and_ack(channel);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
	close(level);
	close(edge);
}

static void channel_read_next__adds_tokens_for_what_it_leaves(void **state)
{
	struct roost_channel *channel = new_channel(8);
	struct roost_event_source source;
	struct roost_event event;

	roost_event_source_init(&source, channel, NULL);
	for (int nb = 1; nb <= 3; nb++) {
		roost_channel_read_next(channel);
		for (int i = 0; i < nb; i++)
			roost_event_raise(&source, 0);
		assert_false(readable(channel));
		for (int left = nb - 1; left >= 0; left--) {
			assert_int_equal(roost_channel_read(channel, &event),
					 0);
			roost_event_ack(&source, 1);
			assert_int_equal(readable(channel), left > 0);
		}
	}
	roost_event_raise(&source, 0);
	read_and_ack(channel);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

static void *raise_and_be_cancelled(void *arg)
{
	struct roost_event_source *s = arg;

	roost_channel_read_next(s->channel);
	roost_event_raise(s, 0);
	pthread_cancel(pthread_self());
	roost_channel_read(s->channel, &(struct roost_event){ 0 });
	return NULL;
}

static void channel_read_next__cancelled_leaves_a_token(void **state)
{
	struct roost_channel *channel = new_channel(8);
	struct roost_event_source source;
	pthread_t thread;

	roost_event_source_init(&source, channel, NULL);
	pthread_create(&thread, NULL, raise_and_be_cancelled, &source);
	pthread_join(thread, NULL);
	assert_true(readable(channel));
	read_and_ack(channel);
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
}

static void event_raise__overflow_keeps_events(void **state)
{
	struct roost_channel *channel = new_channel(2);
	struct roost_event_source a, b;
	unsigned int seen_a[8] = { 0 }, seen_b = 0;

	roost_event_source_init(&a, channel, NULL);
	roost_event_source_init(&b, channel, NULL);
	a.arg = 100;
	b.arg = 5;
	for (uint32_t i = 0; i < 800; i++)
		roost_event_raise(&a, i % 8);
	for (uint32_t i = 0; i < 50; i++)
		roost_event_raise(&b, ROOST_EVENT_TYPES_MAX - 1);
	for (int i = 0; i < 850; i++) {
		struct roost_event event = read_one(channel);

		if (event.source == &a) {
			assert_int_equal(event.arg, 100);
			seen_a[event.type]++;
		} else {
			assert_ptr_equal(event.source, &b);
			assert_int_equal(event.type, ROOST_EVENT_TYPES_MAX - 1);
			assert_int_equal(event.arg, 5);
			seen_b++;
		}
		roost_event_ack(event.source, 1);
	}
	assert_false(readable(channel));
	for (int i = 0; i < 8; i++)
		assert_int_equal(seen_a[i], 100);
	assert_int_equal(seen_b, 50);
	assert_int_equal(roost_event_source_fini(&a), 800);
	assert_int_equal(roost_event_source_fini(&b), 50);
	roost_channel_destroy(channel);
}

/* ---- objects that go away ------------------------------------------- */

static void event_source_fini__removes_events_and_tokens(void **state)
{
	struct roost_channel *channel = new_channel(64);
	struct roost_event_source gone, other;

	roost_event_source_init(&gone, channel, NULL);
	roost_event_source_init(&other, channel, NULL);
	for (uint32_t i = 0; i < 10; i++)
		roost_event_raise(&gone, i);
	assert_int_equal(roost_event_source_fini(&gone), 0);
	assert_false(readable(channel));
	/* Others keep theirs, in their order. */
	roost_event_source_init(&gone, channel, NULL);
	for (uint32_t i = 0; i < 10; i++) {
		roost_event_raise(&gone, i);
		roost_event_raise(&other, i);
		roost_event_raise(&gone, i);
	}
	read_and_ack(channel);
	assert_int_equal(roost_event_source_fini(&gone), 1);
	for (uint32_t i = 0; i < 10; i++) {
		struct roost_event event = read_one(channel);

		assert_ptr_equal(event.source, &other);
		assert_int_equal(event.type, i);
		roost_event_ack(&other, 1);
	}
	assert_false(readable(channel));
	assert_int_equal(roost_event_source_fini(&other), 10);
	roost_channel_destroy(channel);
}

/* The same when most of them wait outside the ring, of both. */
static void event_source_fini__with_overflow(void **state)
{
	struct roost_channel *channel = new_channel(4);
	struct roost_event_source gone, other;
	unsigned int seen[2] = { 0 };

	roost_event_source_init(&gone, channel, NULL);
	roost_event_source_init(&other, channel, NULL);
	for (uint32_t i = 0; i < 100; i++) {
		roost_event_raise(&gone, i % 2);
		roost_event_raise(&other, i % 2);
	}
	assert_int_equal(roost_event_source_fini(&gone), 0);
	for (int i = 0; i < 100; i++) {
		struct roost_event event = read_one(channel);

		assert_ptr_equal(event.source, &other);
		seen[event.type]++;
		roost_event_ack(&other, 1);
	}
	assert_int_equal(seen[0], 50);
	assert_int_equal(seen[1], 50);
	assert_false(readable(channel));
	assert_int_equal(roost_event_source_fini(&other), 100);
	roost_channel_destroy(channel);
}

/* An object goes away while a reader holds the token of its only event, but
 * has not looked for the event yet. This test is that reader.
 */
static void event_source_fini__token_held_by_a_reader(void **state)
{
	struct roost_channel *channel = new_channel(8);
	int fd = roost_channel_fd(channel);
	struct roost_event_source gone, other;
	struct roost_event event;
	uint64_t token;

	set_nonblocking(channel, true);
	roost_event_source_init(&other, channel, NULL);
	for (int round = 0; round < 3; round++) {
		roost_event_source_init(&gone, channel, NULL);
		roost_event_raise(&gone, 0);
		assert_int_equal(read(fd, &token, sizeof(token)),
				 sizeof(token));
		assert_int_equal(roost_event_source_fini(&gone), 0);
		/* It may take this one; but another reader may, as well. */
		roost_event_raise(&other, 1);
		assert_true(readable(channel));
		assert_int_equal(write(fd, &token, sizeof(token)),
				 sizeof(token));
		assert_int_equal(roost_channel_read(channel, &event), 0);
		roost_event_ack(&other, 1);
		assert_false(readable(channel));
		/* Or it finds nothing, and then all is as before. */
		roost_event_source_init(&gone, channel, NULL);
		roost_event_raise(&gone, 0);
		assert_int_equal(read(fd, &token, sizeof(token)),
				 sizeof(token));
		assert_int_equal(roost_event_source_fini(&gone), 0);
		assert_int_equal(write(fd, &token, sizeof(token)),
				 sizeof(token));
		assert_int_equal(roost_channel_read(channel, &event), -EAGAIN);
		roost_event_raise(&other, 1);
		read_and_ack(channel);
		assert_false(readable(channel));
	}
	assert_int_equal(roost_event_source_fini(&other), 6);
	roost_channel_destroy(channel);
}

struct finisher {
	struct roost_event_source *source;
	pthread_t thread;
	atomic_bool done;
	uint64_t acked;
};

static void *finish_in_thread(void *arg)
{
	struct finisher *f = arg;

	f->acked = roost_event_source_fini(f->source);
	atomic_store(&f->done, true);
	return NULL;
}

static void event_source_fini__waits_for_acks(void **state)
{
	struct roost_channel *channel = new_channel(8);
	struct roost_event_source source, other;
	struct finisher f = { .source = &source };

	roost_event_source_init(&source, channel, NULL);
	roost_event_source_init(&other, channel, NULL);
	for (uint32_t i = 0; i < 3; i++)
		roost_event_raise(&source, 0);
	roost_event_raise(&other, 0);
	roost_event_raise(&source, 0);
	for (int i = 0; i < 3; i++)
		read_one(channel);
	assert_int_equal(pthread_create(&f.thread, NULL, finish_in_thread, &f),
			 0);
	usleep(10000);
	assert_false(atomic_load(&f.done));
	/* Meanwhile the channel goes on for the others. */
	read_and_ack(channel);
	assert_int_equal(roost_event_source_fini(&other), 1);
	roost_event_ack(&source, 2);
	usleep(10000);
	assert_false(atomic_load(&f.done));
	roost_event_ack(&source, 1);
	pthread_join(f.thread, NULL);
	assert_int_equal(f.acked, 3);
	assert_false(readable(channel));
	roost_channel_destroy(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channel_create__capacity),
		cmocka_unit_test(channel_create__out_of_descriptors),
		cmocka_unit_test(channel_read__in_order_with_all_fields),
		cmocka_unit_test(event_raise__without_channel),
		cmocka_unit_test(channel_read__nonblocking),
		cmocka_unit_test(channel_read__blocks),
		cmocka_unit_test(channel_read__interrupted),
		cmocka_unit_test(channel_read__token_without_event),
		cmocka_unit_test(channel_fd__poll_and_select),
		cmocka_unit_test(channel_fd__epoll_level_and_edge),
		cmocka_unit_test(
			channel_read_next__adds_tokens_for_what_it_leaves),
		cmocka_unit_test(channel_read_next__cancelled_leaves_a_token),
		cmocka_unit_test(event_raise__overflow_keeps_events),
		cmocka_unit_test(event_source_fini__removes_events_and_tokens),
		cmocka_unit_test(event_source_fini__with_overflow),
		cmocka_unit_test(event_source_fini__token_held_by_a_reader),
		cmocka_unit_test(event_source_fini__waits_for_acks),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
