/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * One processor for a thread of real-time priority that sends and polls, and
 * for an ordinary one that polls and makes objects: the first takes the
 * processor from the second wherever that is, the middle of a turn and a
 * queue's lock among it, and both go on.
 *
 * usage: priority
 *
 * Exit status 0: no message took long; 77: priorities are not allowed here.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/real/cancel/cancel.h"

#define ROUNDS 200
/* The kernel lets ordinary threads in after 950 ms of each second, or never. */
#define LATE_NS INT64_C(600000000)

const char *cancel_address;
const char *cancel_at = "the beginning";
static atomic_bool is_over;
static atomic_uint nb_made;

void cancel_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "priority: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

void cancel_nap_us(unsigned int us)
{
	const struct timespec time = { .tv_nsec = us * 1000l };

	nanosleep(&time, NULL);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void pin(void)
{
	cpu_set_t cpus, one;
	size_t cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cancel_check(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
}

static void *ordinary_main(void *arg)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;

	while (!atomic_load(&is_over)) {
		/* The other one's, too: for its lock. Nothing comes to it. */
		for (int i = 0; i < 1000; i++) {
			ibv_poll_cq(cancel_ends[1].cq, 1, &wc);
			ibv_req_notify_cq(cancel_ends[0].cq, 0);
		}
		cq = ibv_create_cq(cancel_ends[0].context, 8, NULL, NULL, 0);
		cancel_check(cq && ibv_destroy_cq(cq) == 0, "a CQ");
		atomic_fetch_add(&nb_made, 1);
	}
	return arg;
}

static int64_t send_one(void)
{
	int64_t from_ns = now_ns();
	struct ibv_wc wc;
	int n;

	cancel_check(cancel_post_write(cancel_ends[0].qp) == 0, "a post");
	do {
		n = ibv_poll_cq(cancel_ends[0].cq, 1, &wc);
	} while (n == 0);
	cancel_check(n == 1 && wc.status == IBV_WC_SUCCESS, "a completion");
	return now_ns() - from_ns;
}

int main(void)
{
	const struct sched_param priority = { .sched_priority = 10 };
	int64_t longest_ns = 0, ns;
	pthread_t ordinary;

	pin();
	cancel_open_ends();
	cancel_check(pthread_create(&ordinary, NULL, ordinary_main, NULL) == 0,
		     "pthread_create");
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0)
		return 77;
	for (int i = 0; i < ROUNDS; i++) {
		/* The ordinary one gets somewhere meanwhile. */
		cancel_nap_us(300 + (unsigned int)i * 7);
		ns = send_one();
		if (ns > longest_ns)
			longest_ns = ns;
	}
	atomic_store(&is_over, true);
	pthread_join(ordinary, NULL);
	cancel_close_ends();
	printf("longest %.1f ms of %d; %u objects beside it\n",
	       (double)longest_ns / 1e6, ROUNDS, atomic_load(&nb_made));
	return longest_ns < LATE_NS ? 0 : EXIT_FAILURE;
}
