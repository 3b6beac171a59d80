/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/event/channel.h"

#define CAPACITY 8u

static struct roost_channel *ch;
static struct roost_event_source src, other;
static int owner, other_owner;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(roost_channel_create(CAPACITY, &ch), 0);
	roost_event_source_init(&src, ch, &owner);
	roost_event_source_init(&other, ch, &other_owner);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	roost_channel_destroy(ch);
	return 0;
}

static void set_nonblocking(void)
{
	int fd = roost_channel_fd(ch);

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
			 0);
}

static bool is_readable(int timeout_ms)
{
	struct pollfd pfd = { .fd = roost_channel_fd(ch), .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1 && pfd.revents == POLLIN;
}

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- reading ----------------------------------------------------------- */

static void read__returns_what_was_raised_in_order(void **state)
{
	struct roost_event ev;

	(void)state;
	roost_event_raise(&src, 3, 7);
	roost_event_raise(&other, 4, 8);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_ptr_equal(ev.source, &src);
	assert_ptr_equal(ev.source->owner, &owner);
	assert_int_equal(ev.type, 3);
	assert_int_equal(ev.arg, 7);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_ptr_equal(ev.source, &other);
	assert_int_equal(ev.type, 4);
	roost_event_ack(&src, 1);
	roost_event_ack(&other, 1);
	assert_int_equal(roost_event_source_fini(&src), 1);
	assert_int_equal(roost_event_source_fini(&other), 1);
}

static void read__nonblocking_and_empty_is_eagain(void **state)
{
	struct roost_event ev;

	(void)state;
	set_nonblocking();
	assert_int_equal(roost_channel_read(ch, &ev), -EAGAIN);
}

static void on_signal(int signo)
{
	(void)signo;
}

static void *interrupt_reader(void *arg)
{
	sleep_ms(50);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void read__interrupted_by_a_signal_is_eintr(void **state)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), thread;
	struct roost_event ev;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_reader, &self),
			 0);
	assert_int_equal(roost_channel_read(ch, &ev), -EINTR);
	pthread_join(thread, NULL);
}

static void *raise_later(void *arg)
{
	(void)arg;
	sleep_ms(50);
	roost_event_raise(&src, 1, 0);
	return NULL;
}

static void read__blocks_until_an_event_comes(void **state)
{
	struct roost_event ev;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, raise_later, NULL), 0);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_int_equal(ev.type, 1);
	pthread_join(thread, NULL);
	roost_event_ack(&src, 1);
	roost_event_source_fini(&src);
}

/* ---- waiting on the descriptor ----------------------------------------- */

static void fd__poll_and_select_follow_the_events(void **state)
{
	struct timeval zero = { 0, 0 };
	struct roost_event ev;
	fd_set set;

	(void)state;
	assert_false(is_readable(0));
	roost_event_raise(&src, 1, 0);
	roost_event_raise(&src, 2, 0);
	assert_true(is_readable(0));
	FD_ZERO(&set);
	FD_SET(roost_channel_fd(ch), &set);
	assert_int_equal(select(roost_channel_fd(ch) + 1, &set, NULL, NULL,
				&zero),
			 1);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_true(is_readable(0));
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_false(is_readable(0));
	roost_event_ack(&src, 2);
	roost_event_source_fini(&src);
}

/* Edge-triggered: each event is an edge of its own. */
static void fd__epoll_reports_every_event_as_an_edge(void **state)
{
	struct epoll_event want = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(0);

	(void)state;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, roost_channel_fd(ch),
				   &want),
			 0);
	for (int i = 0; i < 3; i++) {
		roost_event_raise(&src, 1, 0);
		assert_int_equal(epoll_wait(ep, &got, 1, 0), 1);
		assert_int_equal(epoll_wait(ep, &got, 1, 0), 0);
	}
	close(ep);
	roost_event_source_fini(&src);
}

/* ---- more events than room --------------------------------------------- */

static void overflow__keeps_every_event(void **state)
{
	unsigned int seen[3] = { 0 };
	struct roost_event ev;

	(void)state;
	for (unsigned int i = 0; i < 300; i++)
		roost_event_raise(i % 3 == 2 ? &other : &src, i % 3, 0);
	set_nonblocking();
	for (unsigned int i = 0; i < 300; i++) {
		assert_int_equal(roost_channel_read(ch, &ev), 0);
		seen[ev.type]++;
	}
	assert_int_equal(roost_channel_read(ch, &ev), -EAGAIN);
	assert_false(is_readable(0));
	for (int i = 0; i < 3; i++)
		assert_int_equal(seen[i], 100);
	roost_event_ack(&src, 200);
	roost_event_ack(&other, 100);
	roost_event_source_fini(&src);
	roost_event_source_fini(&other);
}

#define READERS 8
#define PRODUCERS 2
#define EACH 20000u

static struct roost_event_source crowd[PRODUCERS];
static _Atomic uint32_t nb_read[PRODUCERS];

static void *produce(void *arg)
{
	struct roost_event_source *source = arg;

	for (unsigned int i = 0; i < EACH; i++)
		roost_event_raise(source, i % ROOST_EVENT_TYPES_MAX, 0);
	return NULL;
}

static void *consume(void *arg)
{
	struct roost_event ev;

	(void)arg;
	for (;;) {
		assert_int_equal(roost_channel_read(ch, &ev), 0);
		if (ev.source == &other) /* the end */
			return NULL;
		atomic_fetch_add(&nb_read[ev.source - crowd], 1);
		roost_event_ack(ev.source, 1);
	}
}

static void overflow__many_readers_none_lost_none_doubled(void **state)
{
	pthread_t readers[READERS], producers[PRODUCERS];

	(void)state;
	for (int i = 0; i < PRODUCERS; i++) {
		nb_read[i] = 0;
		roost_event_source_init(&crowd[i], ch, NULL);
	}
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, consume, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, produce, &crowd[i]);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	/* All of them must be read before anybody is told to stop. */
	for (int i = 0; i < 2000; i++) {
		uint32_t sum = 0;

		for (int p = 0; p < PRODUCERS; p++)
			sum += atomic_load(&nb_read[p]);
		if (sum == PRODUCERS * EACH)
			break;
		sleep_ms(10);
	}
	for (int i = 0; i < READERS; i++)
		roost_event_raise(&other, 0, 0);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	for (int i = 0; i < PRODUCERS; i++) {
		assert_int_equal(nb_read[i], EACH);
		assert_int_equal(roost_event_source_fini(&crowd[i]), EACH);
	}
	roost_event_ack(&other, READERS);
	roost_event_source_fini(&other);
	assert_false(is_readable(0));
}

/* ---- the end of a source ----------------------------------------------- */

static void fini__removes_unread_events_and_their_tokens(void **state)
{
	struct roost_event ev;

	(void)state;
	for (unsigned int i = 0; i < 3 * CAPACITY; i++)
		roost_event_raise(&src, 1, 0);
	assert_int_equal(roost_event_source_fini(&src), 0);
	assert_false(is_readable(0));
	set_nonblocking();
	assert_int_equal(roost_channel_read(ch, &ev), -EAGAIN);
}

static void fini__leaves_the_events_of_others_in_order(void **state)
{
	struct roost_event ev;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		roost_event_raise(&src, 1, 0);
		roost_event_raise(&other, 2, i);
	}
	roost_event_source_fini(&src);
	set_nonblocking();
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(roost_channel_read(ch, &ev), 0);
		assert_ptr_equal(ev.source, &other);
		assert_int_equal(ev.arg, i);
	}
	assert_int_equal(roost_channel_read(ch, &ev), -EAGAIN);
	assert_false(is_readable(0));
	roost_event_ack(&other, 3);
	roost_event_source_fini(&other);
}

static _Atomic bool fini_done;

static void *finish(void *arg)
{
	(void)arg;
	roost_event_source_fini(&src);
	atomic_store(&fini_done, true);
	return NULL;
}

static void fini__waits_for_the_acks_of_what_was_read(void **state)
{
	struct roost_event ev;
	pthread_t thread;

	(void)state;
	atomic_store(&fini_done, false);
	roost_event_raise(&src, 1, 0);
	roost_event_raise(&src, 1, 0);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	pthread_create(&thread, NULL, finish, NULL);
	sleep_ms(50);
	assert_false(atomic_load(&fini_done));
	roost_event_ack(&src, 1);
	sleep_ms(50);
	assert_false(atomic_load(&fini_done));
	roost_event_ack(&src, 1);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&fini_done));
}

/* An event that was read and not acked holds up its own source only. */
static void fini__is_not_held_up_by_other_sources(void **state)
{
	struct roost_event ev;

	(void)state;
	roost_event_raise(&other, 1, 0);
	assert_int_equal(roost_channel_read(ch, &ev), 0);
	assert_int_equal(roost_event_source_fini(&src), 0);
	roost_event_ack(&other, 1);
	roost_event_source_fini(&other);
}

static void *read_one(void *arg)
{
	assert_int_equal(roost_channel_read(ch, arg), 0);
	roost_event_ack(((struct roost_event *)arg)->source, 1);
	return NULL;
}

/* A reader whose event is purged under its hands waits for the next one. */
static void fini__a_reader_that_lost_the_race_waits_again(void **state)
{
	struct roost_event ev = { 0 };
	pthread_t thread;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct roost_event_source doomed;

		roost_event_source_init(&doomed, ch, NULL);
		pthread_create(&thread, NULL, read_one, &ev);
		roost_event_raise(&doomed, 1, 0);
		roost_event_source_fini(&doomed);
		roost_event_raise(&src, 5, 0);
		pthread_join(thread, NULL);
		if (ev.type == 1) { /* it won: the other one is still there */
			assert_int_equal(roost_channel_read(ch, &ev), 0);
			roost_event_ack(&src, 1);
		}
		assert_int_equal(ev.type, 5);
		assert_false(is_readable(0));
	}
	roost_event_source_fini(&src);
}

static void source__without_a_channel_raises_nothing(void **state)
{
	struct roost_event_source lone;

	(void)state;
	roost_event_source_init(&lone, NULL, NULL);
	roost_event_raise(&lone, 1, 0);
	roost_event_ack(&lone, 1);
	assert_int_equal(roost_event_source_fini(&lone), 0);
	assert_false(is_readable(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read__returns_what_was_raised_in_order),
		TEST(read__nonblocking_and_empty_is_eagain),
		TEST(read__interrupted_by_a_signal_is_eintr),
		TEST(read__blocks_until_an_event_comes),
		TEST(fd__poll_and_select_follow_the_events),
		TEST(fd__epoll_reports_every_event_as_an_edge),
		TEST(overflow__keeps_every_event),
		TEST(overflow__many_readers_none_lost_none_doubled),
		TEST(fini__removes_unread_events_and_their_tokens),
		TEST(fini__leaves_the_events_of_others_in_order),
		TEST(fini__waits_for_the_acks_of_what_was_read),
		TEST(fini__is_not_held_up_by_other_sources),
		TEST(fini__a_reader_that_lost_the_race_waits_again),
		TEST(source__without_a_channel_raises_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
