/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A program that polls the last byte of a buffer finds the rest of a WRITE
 * there when it finds that byte: one thread writes through the whole engine
 * without a pause, the other is the program.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/engine/core/dev_priv.h"
#include "tests/sim/raw.h"

#define ROUND_MS 40
#define SPINS_MAX 10000
#define STUCK_ITERATIONS 100000

/* WRITE number n has the byte n everywhere. Whoever sees n in the last byte,
 * and looks at those before it then, finds n there or what came later.
 */
struct game {
	struct sim *sim;
	struct sim_qp *from, *to;
	struct sim_slice source, target;
	atomic_uint begun; /* number of the newest WRITE */
	atomic_bool stop, stuck;
	uint64_t now_ns;
	pthread_t writer;
};

static void iterate(struct game *g)
{
	const struct roost_dev *dev = g->sim->ends[SIM_A].dev;

	g->now_ns += 100;
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		assert_true(roost_worker_turn_try(dev->workers[i]));
		roost_worker_iterate(dev->workers[i], g->now_ns);
		roost_worker_turn_release(dev->workers[i]);
	}
}

static bool write_one(struct game *g)
{
	struct roost_cqe cqe;

	raw_send(g->from,
		 (struct roost_send_wr){
			 .opcode = ROOST_WR_WRITE,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = (uintptr_t)g->target.data,
			 .rkey = roost_mr_rkey(g->to->end->mr),
		 },
		 g->source);
	for (int i = 0; i < STUCK_ITERATIONS; i++) {
		iterate(g);
		if (roost_cq_poll(g->from->end->cq, 1, &cqe) == 1)
			return cqe.status == ROOST_WC_SUCCESS;
	}
	return false;
}

static void *write_all_the_time(void *arg)
{
	struct game *g = arg;

	for (unsigned int n = 1; !atomic_load(&g->stop) && !g->stuck; n++) {
		memset(g->source.data, (uint8_t)n, g->source.len_bytes);
		atomic_store(&g->begun, n);
		g->stuck = !write_one(g);
	}
	return NULL;
}

/* Wait for the last byte to change, and look at one byte in eight of the
 * others at once. Returns whether one was older. A look that took too long to
 * tell old from new says nothing.
 */
static bool is_out_of_order(struct game *g, unsigned int look)
{
	unsigned int before = atomic_load(&g->begun);
	const uint8_t *at = g->target.data;
	uint32_t len = g->target.len_bytes;
	uint8_t was = __atomic_load_n(at + len - 1, __ATOMIC_ACQUIRE), last;
	int oldest = 0, spins = 0;

	do {
		last = __atomic_load_n(at + len - 1, __ATOMIC_ACQUIRE);
	} while (last == was && ++spins < SPINS_MAX);
	for (int64_t i = (int64_t)len - 2 - look % 8; i >= 0; i -= 8) {
		uint8_t byte = __atomic_load_n(at + i, __ATOMIC_RELAXED);
		int8_t age = (int8_t)(byte - last);

		if (age < oldest)
			oldest = age;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return oldest < 0 && atomic_load(&g->begun) - before < 100;
}

static bool time_is_left(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 +
		       (now.tv_nsec - start->tv_nsec) / 1000000 <
	       ROUND_MS;
}

/* Returns how often the end was there before the rest. */
static unsigned int play(struct game *g)
{
	struct timespec start;
	unsigned int nb_bad = 0;

	atomic_store(&g->begun, 0);
	atomic_store(&g->stop, false);
	assert_int_equal(pthread_create(&g->writer, NULL, write_all_the_time,
					g),
			 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned int i = 0; i < 100; i++)
			nb_bad += is_out_of_order(g, i);
	} while (time_is_left(&start) ||
		 (atomic_load(&g->begun) < 100 && !g->stuck));
	atomic_store(&g->stop, true);
	pthread_join(g->writer, NULL);
	assert_false(g->stuck);
	return nb_bad;
}

/* Lengths of one packet and of several, anywhere in a cache line. */
static void each_length(enum roost_qp_type type)
{
	static const uint32_t lens[] = {
		2,   15,  33,  65,   90,   128,  129,
		200, 255, 257, 1000, 2048, 5000, 9000
	};
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct game g = { .sim = sim_new() };

	conf.type = type;
	conf.mtu = ROOST_MTU_256;
	conf.timeout = 0;
	g.sim->nobody_polls = true;
	g.now_ns = g.sim->now_ns;
	g.from = sim_qp_new(g.sim, SIM_A, &conf);
	g.to = sim_qp_new(g.sim, SIM_A, &conf);
	sim_connect(g.from, g.to);
	for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		g.source = raw_blank(g.sim, lens[i / 2]);
		g.sim->arena_used += 1 + i * 23 % 64;
		g.target = raw_blank(g.sim, lens[i / 2]);
		memset(g.target.data, 0, g.target.len_bytes);
		assert_int_equal(play(&g), 0);
	}
	g.sim->now_ns = g.now_ns;
	sim_free(g.sim);
}

static void visible__last_byte_of_a_write_comes_last(void **state)
{
	each_length(ROOST_QPT_RC);
	each_length(ROOST_QPT_UC);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(visible__last_byte_of_a_write_comes_last),
};

SIM_MAIN("sim-visible", tests)
