/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_PREEMPTED_H
#define TESTS_UNIT_PREEMPTED_H

/*
 * A thread of real-time priority and an ordinary one on the same processor: the
 * first takes it from the second wherever that is, and must give it back where
 * it waits for what the second one holds. The kernel helps with 50 ms in each
 * second, or never (sched_rt_runtime_us): a test that needs this is too late.
 */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define PREEMPTED_ROUNDS 5
#define PREEMPTED_LATE_NS INT64_C(600000000)

struct preempted {
	void (*hold)(void);    /* the ordinary thread's */
	void (*release)(void); /* or NULL */
	/* The other one's, until true is returned. */
	bool (*is_over)(struct preempted *p);
	atomic_bool released;
	sem_t held;
	int64_t longest_ns;
};

static inline int64_t preempted_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Everything from here on, on the first processor that there is. */
static inline int preempted_pin(void **state)
{
	cpu_set_t cpus, one;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	CPU_ZERO(&one);
	for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static inline void *preempted_urgent(void *arg)
{
	struct preempted *p = arg;
	int64_t from_ns, took_ns;

	for (int i = 0; i < PREEMPTED_ROUNDS; i++) {
		sem_wait(&p->held);
		from_ns = preempted_now_ns();
		while (!p->is_over(p))
			;
		took_ns = preempted_now_ns() - from_ns;
		if (took_ns > p->longest_ns)
			p->longest_ns = took_ns;
	}
	return NULL;
}

static inline void *preempted_ordinary(void *arg)
{
	struct preempted *p = arg;
	int64_t until_ns;

	for (int i = 0; i < PREEMPTED_ROUNDS; i++) {
		atomic_store(&p->released, false);
		p->hold();
		/* Here it loses the processor. */
		sem_post(&p->held);
		until_ns = preempted_now_ns() + 100000;
		while (preempted_now_ns() < until_ns)
			;
		if (p->release)
			p->release();
		atomic_store(&p->released, true);
		/* The other one first: it sleeps when it is through. */
		usleep(1000);
	}
	return NULL;
}

static inline void preempted_run(struct preempted *p)
{
	const struct sched_param priority = { .sched_priority = 10 };
	pthread_t urgent, ordinary;
	pthread_attr_t attr;

	sem_init(&p->held, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &priority);
	if (pthread_create(&urgent, &attr, preempted_urgent, p) != 0)
		skip(); /* it takes a privilege */
	assert_int_equal(pthread_create(&ordinary, NULL, preempted_ordinary, p),
			 0);
	pthread_join(urgent, NULL);
	pthread_join(ordinary, NULL);
	assert_true(p->longest_ns < PREEMPTED_LATE_NS);
}

#endif
