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
 * Exit status 0: nothing took long; 77: priorities are not allowed here.
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
#define OPEN_NS INT64_C(20000000)

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

/* Of ordinary priority, whatever its maker's. */
static void make_thread(pthread_t *thread, void *(*entry)(void *))
{
	const struct sched_param ordinary = { 0 };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &ordinary);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	cancel_check(pthread_create(thread, &attr, entry, NULL) == 0,
		     "pthread_create");
	pthread_attr_destroy(&attr);
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

static struct ibv_cq_ex *open_cq;
static atomic_bool is_open;

/* Polls it in the open for some time. */
static void *open_main(void *arg)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int64_t from_ns;

	while (ibv_start_poll(open_cq, &attr) != 0)
		;
	atomic_store(&is_open, true);
	for (from_ns = now_ns(); now_ns() - from_ns < OPEN_NS;)
		;
	ibv_end_poll(open_cq);
	return arg;
}

static struct ibv_qp *new_qp(void)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(open_cq);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(cancel_ends[0].pd, &init);

	cancel_check(qp, "a QP");
	return qp;
}

/* Who destroys a QP waits for the ordinary thread, which polls its CQ. */
static int64_t destroy_one(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_cq_init_attr_ex init = { .cqe = 8 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_qp *flushed, *other;
	pthread_t thread;
	int64_t from_ns;

	open_cq = ibv_create_cq_ex(cancel_ends[0].context, &init);
	cancel_check(open_cq, "an extended CQ");
	flushed = new_qp();
	other = new_qp();
	cancel_check(ibv_modify_qp(flushed, &error, IBV_QP_STATE) == 0 &&
			     ibv_post_recv(flushed, &wr, &bad) == 0,
		     "a flushed receive");
	make_thread(&thread, open_main);
	while (!atomic_load(&is_open))
		cancel_nap_us(100);
	from_ns = now_ns();
	cancel_check(ibv_destroy_qp(other) == 0, "a QP beside a poll");
	from_ns = now_ns() - from_ns;
	pthread_join(thread, NULL);
	cancel_check(ibv_destroy_qp(flushed) == 0 &&
			     ibv_destroy_cq(ibv_cq_ex_to_cq(open_cq)) == 0,
		     "the end");
	return from_ns;
}

int main(void)
{
	const struct sched_param priority = { .sched_priority = 10 };
	int64_t longest_ns = 0, ns;
	pthread_t ordinary;

	pin();
	cancel_open_ends();
	make_thread(&ordinary, ordinary_main);
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
	ns = destroy_one();
	if (ns > longest_ns)
		longest_ns = ns;
	cancel_close_ends();
	printf("longest %.1f ms of %d; %u objects beside it\n",
	       (double)longest_ns / 1e6, ROUNDS, atomic_load(&nb_made));
	return longest_ns < LATE_NS ? 0 : EXIT_FAILURE;
}
