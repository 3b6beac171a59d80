/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Turns that application threads take.
 *
 * Hot: help runs inside ibv_poll_cq() and ibv_post_send(). No allocation, lock
 * or log; one clock reading per iteration; a system call only to wake a thread.
 */

#include "pmd_glue/progress/progress_priv.h"

#include <sched.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include <roost/qp.h>
#include "lib/engine/core/catch.h"
#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/backoff.h"

/* A thread that wakes by itself within this time is not woken. */
#define SOON_NS 50000u

/* Most iterations of one help, while other threads ring doorbells. */
#define HELP_ROUNDS 4u
/* Iterations for frames to the own device: a request, its acknowledgement. */
#define LOOPED_ROUNDS 2u
/* Tries to take the turn while there is work; then the thread is woken. */
#define HELP_RETRIES 64u
/* Helps without work, before the helping thread yields its CPU. */
#define HELP_MISSES_MAX 500u
/* Yields while the worker's clock stands still; after them a real-time thread
 * sleeps.
 */
#define HELP_YIELDS 4u
#define STUCK_MISSES_MAX 16u /* HELP_MISSES_MAX after HELP_YIELDS yields */

/* At exit: tries to take the turn, most iterations, and waits for a port that
 * is full.
 */
#define SETTLE_TRIES 1000u
#define SETTLE_ROUNDS 256u
#define SETTLE_WAITS 1000u
#define SETTLE_WAIT_US 100u

/* ---- turns ------------------------------------------------------------- */

/* The clock is read under the turn, so time never runs backwards for the
 * worker.
 */
unsigned int roost_progress_iterate(struct roost_progress *p)
{
	unsigned int saved = RTE_PER_LCORE(_lcore_id);
	unsigned int work;

	roost_batch_send(&p->batch);
	RTE_PER_LCORE(_lcore_id) = p->lcore_id;
	work = roost_worker_iterate(p->worker, roost_fast_clock_ns(&p->clock));
	RTE_PER_LCORE(_lcore_id) = saved;
	return work;
}

/* As roost_progress_iterate(), for the half of an iteration that sends. */
static unsigned int send_out(struct roost_progress *p)
{
	unsigned int saved = RTE_PER_LCORE(_lcore_id);
	unsigned int work;

	roost_batch_send(&p->batch);
	RTE_PER_LCORE(_lcore_id) = p->lcore_id;
	work = roost_worker_send(p->worker, roost_fast_clock_ns(&p->clock));
	RTE_PER_LCORE(_lcore_id) = saved;
	return work;
}

/* Frames to QPs of the same device are received by the thread that sent them:
 * the worker's thread would have to be woken for them.
 */
static unsigned int take_looped(struct roost_progress *p)
{
	unsigned int work = 0;

	for (unsigned int i = 0;
	     i < LOOPED_ROUNDS && roost_worker_has_looped(p->worker); i++)
		work += roost_progress_iterate(p);
	return work;
}

void roost_progress_expect(struct roost_progress *p)
{
	uint64_t blind_until_ns;

	if (p->conf.mode == ROOST_PROGRESS_DEDICATED)
		return;
	roost_progress_send_batched(p);
	atomic_store_explicit(&p->in.expected, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* as in kick */
	blind_until_ns =
		atomic_load_explicit(&p->blind_until_ns, memory_order_relaxed);
	if (blind_until_ns != AWAKE &&
	    blind_until_ns > roost_now_ns() + SOON_NS)
		roost_progress_wake(p);
}

/* ---- help -------------------------------------------------------------- */

/* One entry per engine: one worker may stand still while others move. */
static _Thread_local struct roost_backoff backoff[ROOST_PROGRESS_BACKOFFS];

/* Does the calling thread survive faults of what it takes a turn for? */
static _Thread_local bool survives;

/* The calling thread polled and found no work. The thread that has work, in
 * this process or in the peer's, may need this CPU: yield now and then.
 */
static void back_off(struct roost_progress *p)
{
	struct roost_backoff *mine = &backoff[p->backoff];

	/* Once it sleeps, fewer polls between sleeps leave half of the CPU. */
	if (++mine->misses <
	    (mine->yields > HELP_YIELDS ? STUCK_MISSES_MAX : HELP_MISSES_MAX))
		return;
	mine->misses = 0;
	roost_backoff_wait(mine, &p->clock, HELP_YIELDS);
}

/* Another thread has the turn. Retry while there is work. True: got it. */
static bool insist(struct roost_progress *p)
{
	back_off(p);
	if (!roost_worker_has_work(p->worker))
		return false;
	for (unsigned int i = 0; i < HELP_RETRIES; i++) {
		rte_pause();
		if (!roost_worker_has_work(p->worker))
			return false;
		if (roost_worker_turn_try(p->worker))
			return true;
	}
	/* The holder of the turn may not look again; the thread will. */
	roost_progress_kick(p);
	return false;
}

/* Keep the worker's thread out. No read-modify-write: if helpers overwrite each
 * other's count, it still changes.
 */
static void announce(struct roost_progress *p)
{
	uint32_t helps =
		atomic_load_explicit(&p->in.helps, memory_order_relaxed);

	atomic_store_explicit(&p->in.helps, helps + 1, memory_order_relaxed);
}

/* Holder of the turn: will the thread sleep when the next timer expires, which
 * was set after it went to sleep?
 */
static bool is_slept_over(const struct roost_progress *p)
{
	uint64_t ns =
		atomic_load_explicit(&p->sleeps_until_ns, memory_order_relaxed);

	return unlikely(ns != 0) && roost_worker_is_due_before(p->worker, ns);
}

/* Work that an iteration left over: for the next help, or for the thread. */
static void leave(struct roost_progress *p, bool slept_over)
{
	if (slept_over)
		roost_progress_wake(p);
	else if (roost_worker_has_left(p->worker))
		roost_progress_nudge(p);
}

/* Holder of the turn: iterate, release. Returns how much work there was. */
static unsigned int run(struct roost_progress *p)
{
	unsigned int rounds = 0;
	unsigned int work = 0;
	bool slept_over;

	roost_catch_unblock_once(&survives);
	for (;;) {
		work += roost_progress_iterate(p);
		work += take_looped(p);
		slept_over = is_slept_over(p);
		if (!roost_worker_turn_release(p->worker))
			break;
		if (++rounds == HELP_ROUNDS) {
			roost_progress_kick(p);
			break;
		}
		if (!roost_worker_turn_try(p->worker))
			break;
	}
	if (work == 0)
		back_off(p);
	else
		backoff[p->backoff].misses = 0;
	leave(p, slept_over);
	return work;
}

bool roost_progress_attend(struct roost_progress *p)
{
	unsigned int work;

	if (p->conf.mode == ROOST_PROGRESS_DEDICATED)
		return false;
	announce(p);
	if (roost_worker_turn_wanted(p->worker) ||
	    !roost_worker_turn_try(p->worker))
		return false;
	/* It sleeps soon: a yield would cost it the wake that it gets then. */
	backoff[p->backoff].misses = 0;
	work = run(p);
	roost_presence_work(&p->in.presence, work);
	return work != 0;
}

bool roost_progress_help(struct roost_progress *p)
{
	const uint64_t served_ns = roost_fast_clock_last_ns(&p->clock);
	unsigned int work;

	if (p->conf.mode == ROOST_PROGRESS_DEDICATED) {
		back_off(p);
		return false;
	}
	announce(p);
	if (roost_worker_turn_wanted(p->worker)) {
		roost_progress_stand_back(p);
		return false;
	}
	if (!roost_worker_turn_try(p->worker) && !insist(p))
		return false;
	work = run(p);
	roost_presence_help(&p->in.presence, served_ns,
			    roost_fast_clock_last_ns(&p->clock), work);
	return work != 0;
}

void roost_progress_send_batched(struct roost_progress *p)
{
	if (roost_batch_waiting(&p->batch) != 0)
		roost_progress_help(p);
}

void roost_progress_send_end(struct roost_progress *p, struct roost_qp *qp)
{
	unsigned int work;
	bool slept_over;

	if (p->conf.mode == ROOST_PROGRESS_ADAPTIVE &&
	    roost_batch_may_wait(&p->batch, qp)) {
		roost_qp_send_end(qp);
		if (!roost_batch_is_watched(&p->batch))
			roost_progress_help(p);
		return;
	}
	if (p->conf.mode == ROOST_PROGRESS_DEDICATED ||
	    roost_worker_turn_wanted(p->worker) ||
	    !roost_worker_turn_try(p->worker)) {
		roost_qp_send_end(qp);
		roost_progress_help(p);
		return;
	}
	roost_catch_unblock_once(&survives);
	roost_qp_send_end_in_turn(qp);
	/* No announce(): a thread that only posts does not receive. */
	work = send_out(p);
	if (work == 0) {
		roost_presence_work(&p->in.presence, run(p));
		return;
	}
	roost_presence_work(&p->in.presence, work + take_looped(p));
	backoff[p->backoff].misses = 0;
	slept_over = is_slept_over(p);
	if (roost_worker_turn_release(p->worker))
		roost_progress_help(p);
	else
		leave(p, slept_over);
}

void roost_progress_push(struct roost_progress *p)
{
	bool slept_over;

	if (p->conf.mode == ROOST_PROGRESS_DEDICATED || p->conf.has_caller ||
	    roost_worker_turn_wanted(p->worker) ||
	    !roost_worker_turn_try(p->worker)) {
		roost_progress_kick(p);
		return;
	}
	roost_catch_unblock_once(&survives);
	send_out(p);
	take_looped(p);
	slept_over = is_slept_over(p);
	if (roost_worker_turn_release(p->worker))
		roost_progress_kick(p);
	else
		leave(p, slept_over);
}

void roost_progress_settle(struct roost_progress *p)
{
	for (unsigned int i = 0; i < SETTLE_TRIES; i++) {
		if (!roost_worker_turn_try(p->worker)) {
			sched_yield();
			continue;
		}
		roost_catch_unblock_once(&survives);
		for (unsigned int n = 0;
		     n < SETTLE_ROUNDS && roost_progress_iterate(p); n++)
			;
		/* The port is full. */
		for (unsigned int n = 0;
		     n < SETTLE_WAITS && roost_worker_has_more(p->worker);
		     n++) {
			usleep(SETTLE_WAIT_US);
			roost_progress_iterate(p);
		}
		roost_worker_turn_release(p->worker);
		return;
	}
}
