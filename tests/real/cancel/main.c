/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary program that cancels its threads. No call of verbs or rdma_cm is
 * a cancellation point but those that wait for events, and these lose nothing.
 *
 * usage: cancel [ADDRESS]
 *
 * From the first device to the last one, which may be the same. ADDRESS is one
 * of the first one's, and rdma_cm and rsockets are looked at, too.
 * ROOST_TEST_CANCELS: how many threads die (2,000). Exit status 0: all is well.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/real/cancel/cancel.h"

#define TIMEOUT_S 100
#define VICTIMS 4u
#define EVENTS 400u

const char *cancel_address;
const char *cancel_at = "the beginning";

static void die(const char *what)
{
	fprintf(stderr, "cancel: %s: %s (%s)\n", cancel_at, what,
		strerror(errno));
	exit(EXIT_FAILURE);
}

void cancel_check(bool good, const char *what)
{
	if (!good)
		die(what);
}

void cancel_nap_us(unsigned int us)
{
	const struct timespec time = { .tv_nsec = us * 1000l };

	nanosleep(&time, NULL);
}

static unsigned int some(unsigned int most)
{
	static unsigned int x = 20260101;

	x = x * 1664525u + 1013904223u;
	return (x >> 8) % most;
}

/* ---- with a cancellation pending, calls return all the same ---------------
 */

static atomic_bool came_through;

/* Long enough for whoever sleeps to fall asleep; no cancellation point. */
static void idle(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec -
			 from.tv_nsec <
		 3000000);
}

static void use_qps(void)
{
	struct ibv_wc wc;
	int n;

	for (int i = 0; i < 100; i++) {
		cancel_at = "ibv_req_notify_cq";
		cancel_check(ibv_req_notify_cq(cancel_ends[0].cq, 0) == 0,
			     "failed");
		cancel_at = "ibv_post_send";
		cancel_check(cancel_post_write(cancel_ends[0].qp) == 0,
			     "failed");
		cancel_at = "ibv_poll_cq";
		do {
			n = ibv_poll_cq(cancel_ends[0].cq, 1, &wc);
		} while (n == 0);
		cancel_check(n == 1 && wc.status == IBV_WC_SUCCESS, "failed");
		if (i % 25 == 0)
			idle();
	}
}

static void *pending_main(void *arg)
{
	cancel_check(pthread_cancel(pthread_self()) == 0, "pthread_cancel");
	cancel_at = "opening";
	cancel_open_ends();
	use_qps();
	cancel_at = "closing";
	cancel_close_ends();
	if (cancel_address) {
		cancel_at = "rdma_cm";
		cancel_use_rdma_cm();
		cancel_at = "rsockets";
		cancel_use_rsockets();
	}
	cancel_at = "the end";
	atomic_store(&came_through, true);
	pthread_testcancel();
	return arg;
}

static void run_pending(void)
{
	pthread_t thread;
	void *result;

	cancel_check(pthread_create(&thread, NULL, pending_main, NULL) == 0,
		     "pthread_create");
	pthread_join(thread, &result);
	cancel_check(atomic_load(&came_through), "a cancellation point");
	cancel_check(result == PTHREAD_CANCELED,
		     "the cancellation is forgotten");
}

/* ---- threads that die anywhere --------------------------------------------
 */

static atomic_uint posted, completed;

/* Not cancelled between a call and the count of what it did: what counts is no
 * cancellation point, nor is the call.
 */
static void *poster_main(void *arg)
{
	struct ibv_wc wc[8];
	int n;

	for (;;) {
		if (atomic_load(&posted) - atomic_load(&completed) <
			    CANCEL_DEPTH / 2 &&
		    cancel_post_write(cancel_ends[0].qp) == 0)
			atomic_fetch_add(&posted, 1);
		ibv_req_notify_cq(cancel_ends[0].cq, 0);
		n = ibv_poll_cq(cancel_ends[0].cq, 8, wc);
		for (int i = 0; i < n; i++)
			cancel_check(wc[i].status == IBV_WC_SUCCESS,
				     "a completion");
		if (n > 0)
			atomic_fetch_add(&completed, (unsigned int)n);
		pthread_testcancel();
	}
	return arg;
}

static void *maker_main(void *arg)
{
	static char memory[64];
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;

	for (;;) {
		cq = ibv_create_cq(cancel_ends[0].context, 8, NULL,
				   cancel_ends[0].channel, 0);
		cancel_check(cq, "ibv_create_cq");
		mr = ibv_reg_mr(cancel_ends[0].pd, memory, sizeof(memory), 0);
		cancel_check(mr, "ibv_reg_mr");
		qp = cancel_new_qp(&cancel_ends[0]);
		cancel_check(qp, "ibv_create_qp");
		cancel_check(cancel_to_init(qp) == 0, "to INIT");
		cancel_check(cancel_to_rts(qp, &cancel_ends[0], &cancel_ends[1],
					   0x123456) == 0,
			     "to RTS");
		cancel_check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
		cancel_check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
		cancel_check(ibv_destroy_cq(cq) == 0, "ibv_destroy_cq");
		pthread_testcancel();
	}
	return arg;
}

static void *waiter_main(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		ibv_req_notify_cq(cancel_ends[0].cq, 0);
		if (ibv_get_cq_event(cancel_ends[0].channel, &cq, &context) ==
		    0)
			ibv_ack_cq_events(cq, 1);
	}
	return arg;
}

static void *(*const kinds[VICTIMS])(void *) = { poster_main, poster_main,
						 maker_main, waiter_main };

static unsigned int nb_cancels(void)
{
	const char *text = getenv("ROOST_TEST_CANCELS");

	return text ? (unsigned int)strtoul(text, NULL, 10) : 2000;
}

static void kill_threads(void)
{
	pthread_t threads[VICTIMS];

	for (unsigned int i = 0; i < VICTIMS; i++)
		cancel_check(pthread_create(&threads[i], NULL, kinds[i],
					    NULL) == 0,
			     "pthread_create");
	for (unsigned int i = 0; i < nb_cancels(); i++) {
		cancel_nap_us(some(300));
		pthread_cancel(threads[i % VICTIMS]);
		pthread_join(threads[i % VICTIMS], NULL);
		cancel_check(pthread_create(&threads[i % VICTIMS], NULL,
					    kinds[i % VICTIMS], NULL) == 0,
			     "pthread_create");
	}
	for (unsigned int i = 0; i < VICTIMS; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
}

/* What was posted completes, each once. */
static void drain(void)
{
	struct ibv_wc wc;

	while (atomic_load(&completed) != atomic_load(&posted))
		if (ibv_poll_cq(cancel_ends[0].cq, 1, &wc) == 1)
			atomic_fetch_add(&completed, 1);
	for (int i = 0; i < 1000; i++)
		cancel_check(ibv_poll_cq(cancel_ends[0].cq, 1, &wc) == 0,
			     "a completion too many");
}

/* ---- events, of which none is lost ----------------------------------------
 */

static atomic_uint taken;

static void *reader_main(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		if (ibv_get_cq_event(cancel_ends[0].channel, &cq, &context) !=
		    0)
			continue;
		atomic_fetch_add(&taken, 1);
		ibv_ack_cq_events(cq, 1);
	}
	return arg;
}

/* One event each time, while a thread that waits for it dies. */
static void raise_events(void)
{
	struct pollfd fd = { .fd = cancel_ends[0].channel->fd,
			     .events = POLLIN };
	pthread_t heir, victim;
	struct ibv_cq *cq;
	void *context;
	struct ibv_wc wc;

	while (poll(&fd, 1, 0) == 1 &&
	       ibv_get_cq_event(cancel_ends[0].channel, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
	for (unsigned int i = 1; i <= EVENTS; i++) {
		cancel_check(pthread_create(&victim, NULL, reader_main, NULL) ==
				     0,
			     "pthread_create");
		cancel_nap_us(some(100));
		ibv_req_notify_cq(cancel_ends[0].cq, 0);
		cancel_check(cancel_post_write(cancel_ends[0].qp) == 0,
			     "ibv_post_send");
		for (unsigned int spin = some(4000); spin > 0; spin--)
			atomic_signal_fence(memory_order_seq_cst);
		pthread_cancel(victim);
		pthread_join(victim, NULL);
		cancel_check(pthread_create(&heir, NULL, reader_main, NULL) ==
				     0,
			     "pthread_create");
		while (atomic_load(&taken) != i)
			cancel_nap_us(50);
		pthread_cancel(heir);
		pthread_join(heir, NULL);
		while (ibv_poll_cq(cancel_ends[0].cq, 1, &wc) == 0)
			;
	}
	cancel_check(poll(&fd, 1, 0) == 0, "an event too many");
}

/* No port may interrupt it by a signal, either. */
static void *watch_main(void *arg)
{
	cancel_check(sleep(TIMEOUT_S) == 0, "a sleep is interrupted");
	fprintf(stderr, "cancel: stuck at %s: %u of %u completed, %u events\n",
		cancel_at, atomic_load(&completed), atomic_load(&posted),
		atomic_load(&taken));
	_exit(EXIT_FAILURE);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t watch;

	cancel_address = argc > 1 ? argv[1] : NULL;
	cancel_check(pthread_create(&watch, NULL, watch_main, NULL) == 0,
		     "pthread_create");
	run_pending();
	cancel_open_ends();
	cancel_at = "threads that die";
	kill_threads();
	drain();
	cancel_at = "events";
	raise_events();
	cancel_in_waits();
	cancel_at = "closing";
	cancel_close_ends();
	printf("%u threads cancelled, %u requests completed, %u events\n",
	       nb_cancels(), atomic_load(&completed), atomic_load(&taken));
	return 0;
}
