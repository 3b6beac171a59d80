/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Readers of a channel that are cancelled, at every moment where one can be. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <poll.h>

#include "lib/event/source.h"
#include "tests/cmocka.h"

/* What the reader's readv() does besides reading. */
static void (*after_read)(void);

/* In the place of the C library's: glibc before 2.41 cancels a thread now and
 * then whose system call has succeeded already.
 */
ssize_t readv(int fd, const struct iovec *iov, int nb)
{
	int type;
	ssize_t ret;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = syscall(SYS_readv, fd, iov, nb);
	pthread_setcanceltype(type, NULL);
	if (after_read != NULL) {
		after_read();
		pthread_testcancel();
	}
	return ret;
}

static struct roost_channel *channel;
static struct roost_event_source source;
static int owner;

static int setup(void **state)
{
	after_read = NULL;
	assert_int_equal(roost_channel_create(8, &channel), 0);
	roost_event_source_init(&source, channel, &owner);
	return 0;
}

static int teardown(void **state)
{
	roost_event_source_fini(&source);
	roost_channel_destroy(channel);
	return 0;
}

static bool readable(void)
{
	struct pollfd fd = { .fd = roost_channel_fd(channel),
			     .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void *reader_main(void *arg)
{
	struct roost_event event;

	roost_channel_read(channel, &event);
	return arg;
}

static void *cancelled_main(void *arg)
{
	pthread_cancel(pthread_self());
	return reader_main(arg);
}

static void cancel_self(void)
{
	pthread_cancel(pthread_self());
}

/* It sleeps when the event is raised: a reader that finds one needs no token.
 */
static void cancel_reader_with_token(uint32_t type, void (*then)(void))
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	pthread_t reader;
	void *result;

	after_read = then;
	assert_int_equal(pthread_create(&reader, NULL, reader_main, NULL), 0);
	nanosleep(&nap, NULL);
	roost_event_raise(&source, type);
	pthread_join(reader, &result);
	after_read = NULL;
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

static void channel_read__cancelled_with_a_token_leaves_the_event(void **state)
{
	struct roost_event event;

	source.arg = 4;
	cancel_reader_with_token(3, cancel_self);
	assert_true(readable());
	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(event.type, 3);
	assert_int_equal(event.arg, 4);
	assert_false(readable());
	roost_event_ack(&source, 1);
}

static void destroy_object(void)
{
	/* Its token is with the reader. */
	roost_event_source_fini(&source);
	cancel_self();
}

static void channel_read__cancelled_with_a_token_that_is_one_too_many(void **s)
{
	(void)s;
	cancel_reader_with_token(0, destroy_object);
	assert_false(readable());
	roost_event_source_init(&source, channel, &owner);
}

static void hang_up(void)
{
	roost_event_source_fini(&source);
	roost_channel_hang_up(channel);
	cancel_self();
}

/* The end is told by a full counter: one token more would wait for ever. */
static void channel_read__cancelled_with_a_token_of_the_end(void **state)
{
	struct roost_event event;

	cancel_reader_with_token(0, hang_up);
	assert_int_equal(roost_channel_read(channel, &event), -EIO);
	roost_event_source_init(&source, channel, &owner);
}

static void channel_read__cancelled_asleep(void **state)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct roost_event event;
	pthread_t reader;
	void *result;

	assert_int_equal(pthread_create(&reader, NULL, reader_main, NULL), 0);
	nanosleep(&nap, NULL);
	pthread_cancel(reader);
	pthread_join(reader, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	roost_event_raise(&source, 1);
	assert_int_equal(roost_channel_read(channel, &event), 0);
	roost_event_ack(&source, 1);
}

static unsigned int nb_reads;

static void count_read(void)
{
	nb_reads++;
}

/* A thread that never sleeps here can be cancelled all the same. */
static void channel_read__cancelled_with_an_event_there(void **state)
{
	struct roost_event event;
	pthread_t reader;
	void *result;

	roost_event_raise(&source, 1);
	assert_int_equal(pthread_create(&reader, NULL, cancelled_main, NULL),
			 0);
	pthread_join(reader, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(roost_channel_read(channel, &event), 0);
	roost_event_ack(&source, 1);
}

static void channel_read__what_waits_needs_no_token(void **state)
{
	struct roost_event event;

	for (uint32_t i = 0; i < 5; i++)
		roost_event_raise(&source, i);
	nb_reads = 0;
	after_read = count_read;
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(readable());
		assert_int_equal(roost_channel_read(channel, &event), 0);
		assert_int_equal(event.type, i);
	}
	after_read = NULL;
	assert_int_equal(nb_reads, 0);
	assert_false(readable());
	roost_event_ack(&source, 5);
}

#define EXIT_SKIPPED 77
#if defined(__SANITIZE_ADDRESS__)
#define ASAN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN true
#endif
#endif
#ifndef ASAN
#define ASAN false
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(channel_read__cancelled_with_a_token_leaves_the_event),
		TEST(channel_read__cancelled_with_a_token_that_is_one_too_many),
		TEST(channel_read__cancelled_with_a_token_of_the_end),
		TEST(channel_read__cancelled_with_an_event_there),
		TEST(channel_read__what_waits_needs_no_token),
		TEST(channel_read__cancelled_asleep),
	};

	/* What glibc unwinds of a cancelled thread stays poisoned, and its
	 * next look at that stack is reported.
	 */
	if (ASAN) {
		puts("1..0 # SKIP AddressSanitizer and cancelled threads");
		return EXIT_SKIPPED;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
