/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * No event is lost between arming and adding: one thread turns the worker,
 * another arms, polls and blocks as programs do. With a lost event it would
 * block for ever, as no more than two messages are under way at a time.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <roost/mr.h>
#include <roost/channel.h>
#include "tests/sim/sim.h"

#define RUN_MS 700u /* at least, and until ENOUGH came */
#define ENOUGH 100u
#define STUCK_MS 5000
#define IN_FLIGHT 2

struct game {
	struct sim *sim;
	struct sim_qp *from, *to;
	struct roost_channel *channel;
	struct roost_cq *cq; /* of the receiver */
	uint32_t flags;      /* of the sends */
	bool solicited_only;
	uint64_t nb_received;
	uint64_t nb_events;
	atomic_bool stop;
	pthread_t progress;
};

static void *turn_all_the_time(void *arg)
{
	struct game *g = arg;
	struct roost_worker *w = g->sim->ends[SIM_A].worker;
	uint64_t now_ns = g->sim->now_ns;

	while (!atomic_load(&g->stop)) {
		if (!roost_worker_turn_try(w))
			continue;
		roost_worker_iterate(w, now_ns += 100);
		roost_worker_turn_release(w);
	}
	return NULL;
}

static void post_one(struct game *g)
{
	struct roost_sge sge = {
		.addr = (uintptr_t)g->sim->arena,
		.len_bytes = 8,
		.lkey = roost_mr_lkey(g->sim->ends[SIM_A].mr),
	};
	struct roost_recv_wr recv = { .sges = &sge, .nb_sges = 1 };
	struct roost_send_wr send = {
		.opcode = ROOST_WR_SEND,
		.flags = g->flags,
		.sges = &sge,
		.nb_sges = 1,
	};

	roost_qp_recv_begin(g->to->qp);
	assert_int_equal(roost_qp_recv_add(g->to->qp, &recv), 0);
	roost_qp_recv_end(g->to->qp);
	roost_qp_send_begin(g->from->qp);
	assert_int_equal(roost_qp_send_add(g->from->qp, &send), 0);
	roost_qp_send_end(g->from->qp);
}

static int take_all(struct game *g)
{
	struct roost_cqe cqe;
	int n = 0;

	while (roost_cq_poll(g->cq, 1, &cqe) == 1) {
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
		g->nb_received++;
		n++;
	}
	return n;
}

static void wait_for_event(struct game *g)
{
	struct pollfd fd = {
		.fd = roost_channel_fd(g->channel),
		.events = POLLIN,
	};
	struct roost_event event;
	int rc;

	do {
		rc = poll(&fd, 1, STUCK_MS);
	} while (rc < 0 && errno == EINTR);
	/* Stuck: an event was lost. */
	assert_int_equal(rc, 1);
	assert_int_equal(roost_channel_read(g->channel, &event), 0);
	assert_ptr_equal(event.source, roost_cq_comp_source(g->cq));
	roost_event_ack(event.source, 1);
	g->nb_events++;
}

/* A machine that does much else may give this program little of the time. */
static bool goes_on(const struct game *g, const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return g->nb_events <= ENOUGH || g->nb_received <= ENOUGH ||
	       (now.tv_sec - start->tv_sec) * 1000 +
			       (now.tv_nsec - start->tv_nsec) / 1000000 <
		       RUN_MS;
}

static void start(struct game *g, struct sim_qp_conf *conf)
{
	g->sim = sim_new();
	assert_int_equal(roost_channel_create(64, &g->channel), 0);
	assert_int_equal(roost_cq_create(g->sim->ends[SIM_A].ctx, 64,
					 g->channel, g, &g->cq),
			 0);
	g->from = sim_qp_new(g->sim, SIM_A, NULL);
	*conf = sim_qp_conf_default;
	conf->cq = g->cq;
	g->to = sim_qp_new(g->sim, SIM_A, conf);
	sim_connect(g->from, g->to);
	g->sim->nobody_polls = true;
	roost_cq_arm(g->cq, g->solicited_only);
	assert_int_equal(pthread_create(&g->progress, NULL, turn_all_the_time,
					g),
			 0);
	for (int i = 0; i < IN_FLIGHT; i++)
		post_one(g);
}

static void finish(struct game *g)
{
	atomic_store(&g->stop, true);
	pthread_join(g->progress, NULL);
	assert_true(g->nb_received > ENOUGH);
	assert_true(g->nb_events > ENOUGH);
	assert_true(g->nb_events <= g->nb_received + 1);
	print_message("%llu messages, %llu events\n",
		      (unsigned long long)g->nb_received,
		      (unsigned long long)g->nb_events);
	sim_qp_destroy(g->from);
	sim_qp_destroy(g->to);
	assert_int_equal(roost_cq_destroy(g->cq, NULL, NULL), 0);
	roost_channel_destroy(g->channel);
	sim_free(g->sim);
}

/* Wait, arm, take all; what was there before the arming is found by polling. */
static void play(struct game *g)
{
	struct timespec begin;
	struct sim_qp_conf conf;

	start(g, &conf);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		wait_for_event(g);
		roost_cq_arm(g->cq, g->solicited_only);
		for (int n = take_all(g); n > 0; n--)
			post_one(g);
	} while (goes_on(g, &begin));
	finish(g);
}

static void arm__any(void **state)
{
	struct game g = { .flags = 0 };

	play(&g);
}

static void arm__solicited_only(void **state)
{
	struct game g = { .flags = ROOST_SEND_SOLICITED,
			  .solicited_only = true };

	play(&g);
}

/* Poll; when empty, arm and poll once more; when still empty, wait. */
static void arm__when_empty(void **state)
{
	struct game g = { .flags = 0 };
	struct timespec begin;
	struct sim_qp_conf conf;

	start(&g, &conf);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		int n = take_all(&g);

		if (n == 0) {
			roost_cq_arm(g.cq, false);
			n = take_all(&g);
			if (n == 0)
				wait_for_event(&g);
		}
		for (; n > 0; n--)
			post_one(&g);
	} while (goes_on(&g, &begin));
	finish(&g);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(arm__any),
	cmocka_unit_test(arm__solicited_only),
	cmocka_unit_test(arm__when_empty),
};

SIM_MAIN("sim-arm", tests)
