/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * No event is lost between arming and adding: the two orders that must hold
 * (cq.c), at close quarters. In each round one thread arms and then polls,
 * another adds a completion, both at the same moment and neither held back by
 * a lock or a system call in between. A completion that the poll did not see
 * must have made an event.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <rte_pause.h>

#include "fixture.h"
#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/worker_base.h"

#define RUN_MS 3000
#define ROUNDS 20000u
#define TRIES_MAX 1000u
#define CHANNEL_EVENTS 64

struct game {
	struct fixture f;
	struct roost_channel *channel;
	struct roost_cq *cq;
	/* The round that may begin, and the last that the adder has done. */
	_Atomic uint32_t begin __attribute__((aligned(64)));
	_Atomic uint32_t added __attribute__((aligned(64)));
};

#define OVER UINT32_MAX

/* A moment that is not the same in every round. */
static void dither(uint32_t round)
{
	for (uint32_t i = round * 2654435761u >> 27; i > 0; i--)
		atomic_signal_fence(memory_order_seq_cst);
}

/* Wait until a number is another; the other thread may need this very core. */
static uint32_t await_other(_Atomic uint32_t *number, uint32_t than)
{
	unsigned int looks = 0;
	uint32_t now;

	while ((now = atomic_load_explicit(number, memory_order_acquire)) ==
	       than)
		if (++looks % TRIES_MAX == 0)
			sched_yield();
		else
			rte_pause();
	return now;
}

static void *add(void *arg)
{
	struct game *g = arg;
	struct roost_cqe cqe = { .qpn = 1 };
	uint32_t round = 0, now;

	for (;;) {
		now = await_other(&g->begin, round);
		if (now == OVER)
			return NULL;
		round = now;
		cqe.wr_id = round;
		dither(round);
		roost_cq_push(g->f.worker, g->cq, &cqe);
		roost_worker_publish(g->f.worker);
		atomic_store_explicit(&g->added, round, memory_order_release);
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Returns whether the poll right after the arming saw the completion. */
static bool play(struct game *g, uint32_t round)
{
	const struct roost_event_source *comp = &g->cq->comp;
	struct roost_event event;
	struct roost_cqe cqe;
	bool seen;

	atomic_store_explicit(&g->begin, round, memory_order_release);
	dither(round * 3);
	roost_cq_arm(g->cq, false);
	/* As roost_cq_poll() looks, without its lock. */
	seen = atomic_load_explicit(&g->cq->published, memory_order_acquire) !=
	       atomic_load_explicit(&g->cq->consumed, memory_order_relaxed);
	await_other(&g->added, round - 1);
	if (!seen && atomic_load(&g->cq->armed) != ROOST_CQ_UNARMED)
		fail_msg("round %u: an event was lost", round);
	/* Armed yet: it was added before. Else there is one event. */
	if (atomic_exchange(&g->cq->armed, ROOST_CQ_UNARMED) ==
	    ROOST_CQ_UNARMED) {
		assert_int_equal(roost_channel_read(g->channel, &event), 0);
		assert_ptr_equal(event.source, comp);
		roost_event_ack(event.source, 1);
	}
	assert_int_equal(roost_cq_poll(g->cq, 1, &cqe), 1);
	assert_int_equal(cqe.wr_id, round);
	return seen;
}

static void arm__against_add(void **state)
{
	static struct game g;
	uint32_t round = 0, nb_seen = 0;
	uint64_t until_ms = now_ms() + RUN_MS;
	pthread_t adder;

	fixture_open(&g.f, NULL);
	assert_int_equal(roost_channel_create(CHANNEL_EVENTS, &g.channel), 0);
	assert_int_equal(roost_cq_create(g.f.ctx, 16, g.channel, &g, &g.cq), 0);
	assert_int_equal(pthread_create(&adder, NULL, add, &g), 0);
	while (round < ROUNDS && now_ms() < until_ms)
		nb_seen += play(&g, ++round);
	atomic_store(&g.begin, OVER);
	pthread_join(adder, NULL);
	print_message("%u rounds, %u seen by the poll\n", round, nb_seen);
	assert_int_equal(roost_cq_destroy(g.cq, NULL, NULL), 0);
	roost_channel_destroy(g.channel);
	fixture_close(&g.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arm__against_add),
	};

	return cmocka_run_group_tests_name("engine-cq-arm", tests, NULL, NULL);
}
