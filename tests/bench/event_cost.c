/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What an event costs; run by tests/bench/events.
 *
 * Wake: from a CQE, which has a time, to the return of ibv_get_cq_event() in a
 * thread that was blocked in it, beside the wake of the same thread by an
 * eventfd, one after the other. Prints the medians of both and of the ratios.
 *
 * Cost: of a completion that is armed for and raises an event, less that of
 * one that does not. Reading the events is not in it.
 */

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "tests/real/tour/tour.h"

#define PAIRS 2000
#define BATCHES 400
#define BATCH 64
/* After this long the other thread is blocked. */
#define SETTLE_US 150
#define RECV_BYTES 64

struct bench {
	struct ibv_comp_channel *channel;
	struct ibv_cq_ex *cq;
	struct tour_pair p;
	int efd;
	sem_t asked, woken;
	bool ask_verbs;       /* what to block in */
	int64_t returned_ns;  /* of the block */
	int64_t completed_ns; /* of the CQE */
};

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static void receive(struct bench *b)
{
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);

	tour_receive(b->p.b, &into);
}

static void send_one(struct bench *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	if (tour_done(b->p.a, &wr) != IBV_WC_SUCCESS)
		exit(1);
}

static void take_completion(struct bench *b)
{
	struct ibv_poll_cq_attr attr = { 0 };

	while (ibv_start_poll(b->cq, &attr) != 0)
		;
	b->completed_ns = (int64_t)ibv_wc_read_completion_ts(b->cq);
	ibv_end_poll(b->cq);
}

static void block_once(struct bench *b)
{
	struct ibv_cq *cq;
	uint64_t token;
	void *context;

	if (!b->ask_verbs) {
		if (read(b->efd, &token, sizeof(token)) != sizeof(token))
			exit(1);
		b->returned_ns = tour_now_ns();
		return;
	}
	if (ibv_get_cq_event(b->channel, &cq, &context) != 0)
		exit(1);
	b->returned_ns = tour_now_ns();
	ibv_ack_cq_events(cq, 1);
}

static void *sleeper(void *arg)
{
	struct bench *b = arg;

	for (int i = 0; i < 2 * PAIRS; i++) {
		sem_wait(&b->asked);
		block_once(b);
		sem_post(&b->woken);
	}
	return NULL;
}

static double wake_ns(struct bench *b, bool verbs)
{
	const uint64_t one = 1;
	int64_t start_ns;

	b->ask_verbs = verbs;
	sem_post(&b->asked);
	usleep(SETTLE_US);
	start_ns = tour_now_ns();
	if (verbs)
		send_one(b);
	else if (write(b->efd, &one, sizeof(one)) != sizeof(one))
		exit(1);
	sem_wait(&b->woken);
	if (verbs) {
		take_completion(b);
		start_ns = b->completed_ns;
	}
	return (double)(b->returned_ns - start_ns);
}

static void measure_wake(struct bench *b)
{
	static double bare[PAIRS], event[PAIRS], ratio[PAIRS];
	pthread_t thread;

	pthread_create(&thread, NULL, sleeper, b);
	for (int i = 0; i < PAIRS; i++) {
		ibv_req_notify_cq(ibv_cq_ex_to_cq(b->cq), 0);
		receive(b);
		bare[i] = wake_ns(b, false);
		event[i] = wake_ns(b, true);
		ratio[i] = event[i] / bare[i];
	}
	pthread_join(thread, NULL);
	printf("wake bare_ns %.0f event_ns %.0f ratio %.2f\n",
	       median(bare, PAIRS), median(event, PAIRS), median(ratio, PAIRS));
}

/* Per completion; what was armed for is read when the clock has stopped. */
static double batch_ns(struct bench *b, bool armed)
{
	int64_t start_ns, ns;
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < BATCH; i++)
		receive(b);
	start_ns = tour_now_ns();
	for (int i = 0; i < BATCH; i++) {
		if (armed)
			ibv_req_notify_cq(ibv_cq_ex_to_cq(b->cq), 0);
		send_one(b);
		take_completion(b);
	}
	ns = tour_now_ns() - start_ns;
	for (int i = 0; armed && i < BATCH; i++)
		ibv_get_cq_event(b->channel, &cq, &context);
	if (armed)
		ibv_ack_cq_events(ibv_cq_ex_to_cq(b->cq), BATCH);
	return (double)ns / BATCH;
}

static void measure_cost(struct bench *b)
{
	static double plain[BATCHES], added[BATCHES], token[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		uint64_t n = 1;
		int64_t start_ns;

		plain[i] = batch_ns(b, false);
		added[i] = batch_ns(b, true) - plain[i];
		start_ns = tour_now_ns();
		for (int k = 0; k < BATCH; k++)
			if (write(b->efd, &n, sizeof(n)) != sizeof(n))
				exit(1);
		token[i] = (double)(tour_now_ns() - start_ns) / BATCH;
		for (int k = 0; k < BATCH; k++)
			if (read(b->efd, &n, sizeof(n)) != sizeof(n))
				exit(1);
	}
	printf("cost plain_ns %.0f added_ns %.0f token_ns %.0f\n",
	       median(plain, BATCHES), median(added, BATCHES),
	       median(token, BATCHES));
}

int main(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 128,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_qp_init_attr_ex attr;
	struct bench b = { .efd = eventfd(0, EFD_SEMAPHORE) };

	sem_init(&b.asked, 0, 0);
	sem_init(&b.woken, 0, 0);
	tour_setup(NULL);
	b.channel = ibv_create_comp_channel(tour.context);
	cq_attr.channel = b.channel;
	b.cq = ibv_create_cq_ex(tour.context, &cq_attr);
	if (!b.cq)
		return 1;
	attr = tour_init_attr(IBV_QPT_RC);
	attr.recv_cq = ibv_cq_ex_to_cq(b.cq);
	b.p = tour_pair_connected(attr);
	measure_wake(&b);
	measure_cost(&b);
	tour_pair_part(b.p);
	ibv_destroy_cq(ibv_cq_ex_to_cq(b.cq));
	ibv_destroy_comp_channel(b.channel);
	tour_teardown(NULL);
	close(b.efd);
	return 0;
}
