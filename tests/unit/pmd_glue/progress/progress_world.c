/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "progress_world.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <roost/qp.h>
#include "lib/engine/core/catch.h"
#include "lib/engine/core/workers.h"
#include "lib/event/wakes.h"

struct roost_worker world_worker;
struct roost_progress *world_progress;
struct world_posted world_posted;
bool world_nudges;
bool world_catches;
unsigned int world_unblocked;
atomic_uint world_yields;
_Thread_local unsigned int world_own_yields;
_Atomic uint32_t roost_event_wakes;

/* Instead of the C library's. */
int sched_yield(void)
{
	atomic_fetch_add(&world_yields, 1);
	world_own_yields++;
	return (int)syscall(SYS_sched_yield);
}

bool roost_catch_unblock(void)
{
	world_unblocked++;
	return world_catches;
}

bool roost_worker_turn_try(struct roost_worker *w)
{
	if (!fake_turn_is_test(&w->turn))
		atomic_fetch_add(&w->tries, 1);
	return fake_turn_try(&w->turn);
}

void roost_worker_turn_take(struct roost_worker *w)
{
	pthread_mutex_lock(&w->turn.lock);
}

bool roost_worker_turn_release(struct roost_worker *w)
{
	pthread_mutex_unlock(&w->turn.lock);
	return atomic_load(&w->has_work);
}

bool roost_worker_turn_wanted(const struct roost_worker *w)
{
	return atomic_load(&w->wanted);
}

unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns)
{
	/* Time never runs backwards for the worker. */
	assert_true(now_ns >= atomic_load(&w->last_ns));
	atomic_store(&w->last_ns, now_ns);
	atomic_fetch_add(&w->iterations, 1);
	if (w->looped > 0)
		w->looped--;
	if (atomic_exchange(&w->wakes, false)) {
		roost_event_woke();
		return 1;
	}
	return atomic_load(&w->work);
}

unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns)
{
	assert_true(now_ns >= atomic_load(&w->last_ns));
	atomic_store(&w->last_ns, now_ns);
	world_posted.sends++;
	return atomic_load(&w->work);
}

uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w)
{
	return atomic_load(&w->deadline_ns);
}

bool roost_worker_is_due_before(struct roost_worker *w, uint64_t ns)
{
	return atomic_load(&w->deadline_ns) < ns;
}

bool roost_worker_has_work(const struct roost_worker *w)
{
	return atomic_load(&w->has_work);
}

bool roost_worker_has_more(const struct roost_worker *w)
{
	(void)w;
	return false;
}

bool roost_worker_has_left(const struct roost_worker *w)
{
	return atomic_load(&w->has_left);
}

bool roost_worker_has_looped(const struct roost_worker *w)
{
	return w->looped > 0;
}

/* What waits is test_batch.c's. */
bool roost_qp_send_can_wait(const struct roost_qp *qp, uint32_t waiting)
{
	(void)qp;
	(void)waiting;
	return false;
}

void roost_qp_send_end(struct roost_qp *qp)
{
	(void)qp;
	world_posted.rung++;
}

void roost_qp_send_end_in_turn(struct roost_qp *qp)
{
	(void)qp;
	assert_int_not_equal(pthread_mutex_trylock(&world_worker.turn.lock), 0);
	world_posted.iterations = atomic_load(&world_worker.iterations);
	world_posted.in_turn++;
}

void world_start(enum roost_progress_mode mode,
		 const struct roost_progress_rx *rx)
{
	struct roost_progress_conf conf = { .worker = &world_worker,
					    .mode = mode };

	fake_turn_init(&world_worker.turn);
	atomic_store(&world_worker.work, 0);
	atomic_store(&world_worker.has_work, false);
	atomic_store(&world_worker.has_left, false);
	world_worker.looped = 0;
	atomic_store(&world_worker.wanted, false);
	atomic_store(&world_worker.deadline_ns, ROOST_NEVER_NS);
	atomic_store(&world_worker.last_ns, 0);
	conf.rx = *rx;
	assert_int_equal(roost_progress_start(&conf, &world_progress), 0);
}

static const struct roost_progress_rx no_interrupts;

int world_start_adaptive(void **state)
{
	world_start(ROOST_PROGRESS_ADAPTIVE, &no_interrupts);
	return 0;
}

int world_start_dedicated(void **state)
{
	world_start(ROOST_PROGRESS_DEDICATED, &no_interrupts);
	return 0;
}

int world_stop(void **state)
{
	roost_progress_stop(world_progress);
	return 0;
}

void world_sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				      .tv_nsec = (long)(ns % 1000000000u) },
		  NULL);
}

bool world_help_for(uint64_t ns)
{
	uint64_t begin_ns = roost_now_ns(), last_ns = begin_ns, now_ns;
	bool steady = true;

	do {
		roost_progress_help(world_progress);
		if (world_nudges)
			roost_progress_nudge(world_progress);
		now_ns = roost_now_ns();
		steady = steady && now_ns - last_ns < 300 * US;
		last_ns = now_ns;
	} while (now_ns - begin_ns < ns);
	return steady;
}

unsigned int world_iterations_in(uint64_t ns)
{
	atomic_store(&world_worker.iterations, 0);
	world_sleep_ns(ns);
	return atomic_load(&world_worker.iterations);
}

bool world_exceeds(unsigned int n, uint64_t ns)
{
	for (int tries = 0; tries < 20; tries++) {
		if (world_iterations_in(ns) > n)
			return true;
	}
	return false;
}
