/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/event/gone_fd.h"
#include "lib/event/source.h"
#include "tests/cmocka.h"

static struct roost_channel *channel;
static struct roost_event_source source;

static int setup(void **state)
{
	assert_int_equal(roost_channel_create(4, &channel), 0);
	roost_event_source_init(&source, channel, &channel);
	return 0;
}

static int teardown(void **state)
{
	roost_channel_destroy(channel);
	return 0;
}

static short polled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	poll(&p, 1, 0);
	return p.revents;
}

/* POLLERR is the kernel's gift: is there AIO? */
static bool has_aio(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	short revents;

	roost_gone_fd_fill(fd);
	roost_gone_fd_signal(fd);
	revents = polled(fd);
	close(fd);
	assert_true(revents & POLLIN);
	return revents & POLLERR;
}

static void assert_ended(void)
{
	struct roost_event event;
	short gone = has_aio() ? POLLIN | POLLERR : POLLIN;

	/* For good: also when it is read again and again. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(polled(roost_channel_fd(channel)), gone);
		assert_int_equal(roost_channel_read(channel, &event), -EIO);
	}
}

static void read_type(uint32_t type)
{
	struct roost_event event;

	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(event.type, type);
}

static void hang_up__events_are_read_first(void **state)
{
	for (uint32_t type = 0; type < 10; type++) /* the ring holds 3 */
		roost_event_raise(&source, type);
	roost_channel_hang_up(channel);
	for (uint32_t type = 0; type < 10; type++) {
		assert_int_equal(polled(roost_channel_fd(channel)), POLLIN);
		read_type(type);
	}
	assert_ended();
}

static void hang_up__of_an_empty_channel(void **state)
{
	roost_channel_hang_up(channel);
	assert_ended();
	roost_channel_hang_up(channel);
	assert_ended();
}

static void hang_up__later_events_are_read(void **state)
{
	roost_channel_hang_up(channel);
	roost_event_raise(&source, 7);
	assert_int_equal(roost_channel_waiting(channel), 1);
	read_type(7);
	assert_ended();
}

static void hang_up__nonblocking(void **state)
{
	fcntl(roost_channel_fd(channel), F_SETFL, O_NONBLOCK);
	roost_event_raise(&source, 1);
	roost_channel_hang_up(channel);
	read_type(1);
	assert_ended();
}

static void hang_up__then_the_source_goes(void **state)
{
	roost_event_raise(&source, 1);
	roost_channel_hang_up(channel);
	assert_int_equal(roost_event_source_fini(&source), 0);
	assert_ended();
	roost_event_source_init(&source, channel, NULL);
	roost_event_raise(&source, 2);
	assert_int_equal(roost_event_source_fini(&source), 0);
	assert_ended();
}

#define READERS 8

static void *read_until_end(void *arg)
{
	struct roost_event event;
	int *nb = arg, ret;

	while ((ret = roost_channel_read(channel, &event)) == 0)
		++*nb;
	assert_int_equal(ret, -EIO);
	return NULL;
}

/* Nobody stays behind, and each event went to one of them. */
static void hang_up__wakes_all_readers(void **state)
{
	pthread_t threads[READERS];
	int read[READERS] = { 0 }, sum = 0;

	for (int i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, read_until_end, &read[i]);
	usleep(20000);
	for (uint32_t type = 0; type < 20; type++)
		roost_event_raise(&source, type);
	roost_channel_hang_up(channel);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		sum += read[i];
	}
	assert_int_equal(sum, 20);
	assert_ended();
}

static void source_query__counts(void **state)
{
	struct roost_event_source none;
	struct roost_event_counts counts;
	struct roost_event event;

	for (uint32_t i = 0; i < 5; i++)
		roost_event_raise(&source, 1);
	assert_int_equal(roost_channel_waiting(channel), 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(roost_channel_read(channel, &event), 0);
	roost_event_ack(&source, 1);
	assert_int_equal(roost_channel_waiting(channel), 2);
	roost_event_source_query(&source, &counts);
	assert_int_equal(counts.fd, roost_channel_fd(channel));
	assert_int_equal(counts.reported, 3);
	assert_int_equal(counts.unacked, 2);
	assert_false(counts.finishing);
	roost_event_source_init(&none, NULL, NULL);
	roost_event_source_query(&none, &counts);
	assert_int_equal(counts.fd, -1);
	roost_event_ack(&source, 2);
	assert_int_equal(roost_event_source_fini(&source), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hang_up__events_are_read_first),
		TEST(hang_up__of_an_empty_channel),
		TEST(hang_up__later_events_are_read),
		TEST(hang_up__nonblocking),
		TEST(hang_up__then_the_source_goes),
		TEST(hang_up__wakes_all_readers),
		TEST(source_query__counts),
	};

	return cmocka_run_group_tests_name("hang_up", tests, NULL, NULL);
}
