/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* One channel, many threads. */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/event/source.h"
#include "tests/cmocka.h"

#define READERS 8
#define PRODUCERS 2
#define SOURCES 16
#define TYPES 4u
#define EVENTS 10000u
#define TYPE_STOP (ROOST_EVENT_TYPES_MAX - 1u)

struct crowd {
	uint32_t events; /* per producer */
	struct roost_channel *channel;
	struct roost_event_source sources[PRODUCERS][SOURCES];
	struct roost_event_source stop;
	atomic_uint seen[PRODUCERS][SOURCES][TYPES];
	atomic_uint nb_seen;
	atomic_uint next_producer;
	atomic_bool churn_stop;
	atomic_uint nb_wrong;
};

/* The thread that adds a token is stopped for a while before and after. */
static bool slow_writes;
static sem_t in_write;
/* A reader that the token wakes runs before the thread that adds it. */
static struct roost_channel *read_in_write;
static atomic_uint nb_yields;

int sched_yield(void)
{
	atomic_fetch_add(&nb_yields, 1);
	return (int)syscall(SYS_sched_yield);
}

static ssize_t write_and_read(int fd, const void *data, size_t n)
{
	ssize_t ret = syscall(SYS_write, fd, data, n);
	struct roost_channel *channel = read_in_write;
	struct roost_event event;

	read_in_write = NULL;
	assert_int_equal(roost_channel_read(channel, &event), 0);
	return ret;
}

ssize_t write(int fd, const void *data, size_t n)
{
	ssize_t ret;

	if (read_in_write)
		return write_and_read(fd, data, n);
	if (!slow_writes)
		return syscall(SYS_write, fd, data, n);
	sem_post(&in_write);
	usleep(5000);
	ret = syscall(SYS_write, fd, data, n);
	usleep(5000);
	return ret;
}

static bool readable(struct roost_channel *channel)
{
	struct pollfd fd = { .fd = roost_channel_fd(channel),
			     .events = POLLIN };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLIN;
}

static void note(struct crowd *c, const struct roost_event *event)
{
	ptrdiff_t i = event->source - &c->sources[0][0];

	if (i < 0 || i >= PRODUCERS * SOURCES) {
		/* One of those that come and go. */
		if (event->source->owner != event->source)
			atomic_fetch_add(&c->nb_wrong, 1);
		return;
	}
	atomic_fetch_add(&c->seen[i / SOURCES][i % SOURCES][event->type], 1);
	atomic_fetch_add(&c->nb_seen, 1);
}

static void *read_all(void *arg)
{
	struct crowd *c = arg;
	struct roost_event event;

	for (;;) {
		if (roost_channel_read(c->channel, &event) != 0) {
			atomic_fetch_add(&c->nb_wrong, 1);
			return NULL;
		}
		if (event.source != &c->stop)
			note(c, &event);
		roost_event_ack(event.source, 1);
		if (event.type == TYPE_STOP)
			return NULL;
	}
}

static void *raise_all(void *arg)
{
	struct crowd *c = arg;
	unsigned int me = atomic_fetch_add(&c->next_producer, 1);

	for (uint32_t i = 0; i < c->events; i++)
		roost_event_raise(&c->sources[me][i % SOURCES],
				  i / SOURCES % TYPES);
	return NULL;
}

/* Objects with events of their own come and go meanwhile. */
static void *come_and_go(void *arg)
{
	struct crowd *c = arg;

	while (!atomic_load(&c->churn_stop)) {
		struct roost_event_source source;

		roost_event_source_init(&source, c->channel, &source);
		for (uint32_t i = 0; i < 5; i++)
			roost_event_raise(&source, i);
		roost_event_source_fini(&source);
	}
	return NULL;
}

static void crowd_open(struct crowd *c, unsigned int capacity, uint32_t events)
{
	memset(c, 0, sizeof(*c));
	c->events = events;
	assert_int_equal(roost_channel_create(capacity, &c->channel), 0);
	roost_event_source_init(&c->stop, c->channel, NULL);
	for (int p = 0; p < PRODUCERS; p++)
		for (int i = 0; i < SOURCES; i++)
			roost_event_source_init(&c->sources[p][i], c->channel,
						NULL);
}

static void crowd_close(struct crowd *c)
{
	assert_false(readable(c->channel));
	assert_int_equal(atomic_load(&c->nb_wrong), 0);
	assert_int_equal(atomic_load(&c->nb_seen), PRODUCERS * c->events);
	for (int p = 0; p < PRODUCERS; p++) {
		for (int i = 0; i < SOURCES; i++) {
			for (uint32_t t = 0; t < TYPES; t++)
				assert_in_range(c->seen[p][i][t],
						c->events / SOURCES / TYPES - 1,
						c->events / SOURCES / TYPES +
							1);
			assert_int_equal(roost_event_source_fini(
						 &c->sources[p][i]),
					 c->events / SOURCES);
		}
	}
	assert_int_equal(roost_event_source_fini(&c->stop), READERS);
	roost_channel_destroy(c->channel);
}

/* None is lost, none is doubled, though the ring may be much too small. */
static void run_crowd(unsigned int capacity, uint32_t events, bool churn)
{
	pthread_t readers[READERS], producers[PRODUCERS], churner;
	static struct crowd c;
	int tries_left = 60000;

	crowd_open(&c, capacity, events);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all,
						&c),
				 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, raise_all,
						&c),
				 0);
	if (churn)
		assert_int_equal(pthread_create(&churner, NULL, come_and_go,
						&c),
				 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	while (atomic_load(&c.nb_seen) < PRODUCERS * events && tries_left-- > 0)
		usleep(1000);
	assert_int_equal(atomic_load(&c.nb_seen), PRODUCERS * events);
	atomic_store(&c.churn_stop, true);
	if (churn)
		pthread_join(churner, NULL);
	for (int i = 0; i < READERS; i++)
		roost_event_raise(&c.stop, TYPE_STOP);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	crowd_close(&c);
}

static void channel_read__one_reader_per_event(void **state)
{
	run_crowd(1024, EVENTS, false);
}

/* A million events: each is got once, and every ack is counted. */
static void channel_read__a_million(void **state)
{
	run_crowd(1024, 1000000 / PRODUCERS, false);
}

static void channel_read__overflow_among_readers(void **state)
{
	run_crowd(4, EVENTS, false);
	run_crowd(2, EVENTS, false);
}

static void event_source_fini__among_many(void **state)
{
	run_crowd(64, EVENTS, true);
	run_crowd(4, EVENTS, true);
}

static void *read_one(void *arg)
{
	struct crowd *c = arg;
	struct roost_event event;

	if (roost_channel_read(c->channel, &event) != 0)
		return NULL;
	note(c, &event);
	roost_event_ack(event.source, 1);
	return NULL;
}

/* The event that wakes a reader up goes away under its hands: it waits for the
 * next one. In some rounds it is faster.
 */
static void event_source_fini__races_with_a_reader(void **state)
{
	struct roost_event_source *stays;
	static struct crowd c;
	struct roost_event event;
	pthread_t thread;

	crowd_open(&c, 8, 0);
	stays = &c.sources[0][0];
	for (unsigned int round = 0; round < 500; round++) {
		struct roost_event_source doomed;

		roost_event_source_init(&doomed, c.channel, &doomed);
		assert_int_equal(pthread_create(&thread, NULL, read_one, &c),
				 0);
		roost_event_raise(&doomed, 1);
		roost_event_source_fini(&doomed);
		roost_event_raise(stays, 2);
		pthread_join(thread, NULL);
		if (atomic_load(&c.nb_seen) == round) {
			assert_true(readable(c.channel));
			assert_int_equal(roost_channel_read(c.channel, &event),
					 0);
			assert_ptr_equal(event.source, stays);
			note(&c, &event);
			roost_event_ack(stays, 1);
		}
		assert_int_equal(atomic_load(&c.nb_seen), round + 1);
		assert_false(readable(c.channel));
	}
	assert_int_equal(roost_event_source_fini(stays), 500);
	assert_int_equal(atomic_load(&c.nb_wrong), 0);
	roost_channel_destroy(c.channel);
}

static void *raise_one(void *arg)
{
	roost_event_raise(arg, 1);
	return NULL;
}

/* A program that has read the last event is promised no other by poll(2), which
 * a read that waits would wait for.
 */
static void channel_read__before_the_token(void **state)
{
	struct roost_event_source source;
	struct roost_channel *channel;
	struct roost_event event;
	pthread_t thread;

	assert_int_equal(roost_channel_create(8, &channel), 0);
	roost_event_source_init(&source, channel, NULL);
	sem_init(&in_write, 0, 0);
	slow_writes = true;
	assert_int_equal(pthread_create(&thread, NULL, raise_one, &source), 0);
	sem_wait(&in_write);
	assert_int_equal(roost_channel_read(channel, &event), 0);
	for (int i = 0; i < 10; i++) {
		assert_false(readable(channel));
		usleep(1000);
	}
	pthread_join(thread, NULL);
	slow_writes = false;
	roost_event_ack(&source, 1);
	assert_int_equal(roost_event_source_fini(&source), 1);
	roost_channel_destroy(channel);
}

/* On one processor, it would keep the other thread from it. */
static void channel_read__of_the_token_waits_for_nobody(void **state)
{
	struct roost_channel *channel;
	struct roost_event_source source;
	struct roost_event event;

	assert_int_equal(roost_channel_create(4, &channel), 0);
	roost_event_source_init(&source, channel, NULL);
	for (int i = 0; i < 2; i++) {
		atomic_store(&nb_yields, 0);
		read_in_write = channel;
		roost_event_raise(&source, 1);
		assert_null(read_in_write);
		assert_int_equal(atomic_load(&nb_yields), 0);
		assert_false(readable(channel));
		roost_event_raise(&source, 1);
		assert_true(readable(channel));
		assert_int_equal(roost_channel_read(channel, &event), 0);
		assert_false(readable(channel));
	}
	roost_event_ack(&source, 4);
	assert_int_equal(roost_event_source_fini(&source), 4);
	roost_channel_destroy(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channel_read__one_reader_per_event),
		cmocka_unit_test(channel_read__a_million),
		cmocka_unit_test(channel_read__overflow_among_readers),
		cmocka_unit_test(event_source_fini__among_many),
		cmocka_unit_test(event_source_fini__races_with_a_reader),
		cmocka_unit_test(channel_read__before_the_token),
		cmocka_unit_test(channel_read__of_the_token_waits_for_nobody),
	};

	return cmocka_run_group_tests_name("channel_crowd", tests, NULL, NULL);
}
