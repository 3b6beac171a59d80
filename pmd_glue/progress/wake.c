/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Who turns the worker sleeps, and is woken. */

#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_pause.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/wake_fd.h"
#include "pmd_glue/progress/backoff.h"
#include "pmd_glue/progress/progress_priv.h"

/* Checks whether a thread still waits for the turn, before going on. */
#define WANTED_LOOKS_MAX 10000u

/* ---- the turn ----------------------------------------------------------- */

void roost_progress_stand_back(struct roost_progress *p)
{
	for (unsigned int i = 0; i < WANTED_LOOKS_MAX; i++) {
		if (!roost_worker_turn_wanted(p->worker))
			return;
		if (i % 64 == 63)
			sched_yield();
		else
			rte_pause();
	}
	roost_backoff_sleep(); /* the waiting thread may need this CPU */
}

/* ---- wake ---------------------------------------------------------------- */

void roost_progress_wake(struct roost_progress *p)
{
	const uint64_t one = 1;
	ssize_t written;

	if (!atomic_exchange(&p->asleep, false))
		return;
	written = write(p->wake_fd, &one, sizeof(one));
	(void)written; /* fails only on overflow: then fd is readable */
}

void roost_progress_kick(struct roost_progress *p)
{
	/* Pairs with the fence in sleep_until(): either the thread sees the
	 * work, or this thread sees asleep.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&p->asleep, memory_order_relaxed))
		roost_progress_wake(p);
}

void roost_progress_nudge(struct roost_progress *p)
{
	atomic_thread_fence(memory_order_seq_cst); /* as in kick */
	if (atomic_load_explicit(&p->asleep, memory_order_relaxed) &&
	    !atomic_load_explicit(&p->kept_out, memory_order_relaxed))
		roost_progress_wake(p);
}

/* ---- sleep --------------------------------------------------------------- */

bool roost_progress_has_work(const struct roost_progress *p)
{
	return roost_worker_has_work(p->worker) ||
	       (p->conf.rx.is_waiting && p->conf.rx.is_waiting(p->conf.rx.ctx));
}

bool roost_progress_sleep_begin(struct roost_progress *p)
{
	atomic_store_explicit(&p->asleep, true, memory_order_relaxed);
	/* Pairs with kick and expect. */
	atomic_thread_fence(memory_order_seq_cst);
	return !roost_progress_has_work(p);
}

void roost_progress_sleep_end(struct roost_progress *p)
{
	/* A token may also be left of the last sleep: wake() had not written it
	 * then.
	 */
	atomic_store_explicit(&p->asleep, false, memory_order_relaxed);
	roost_wake_take(p->wake_fd);
}

int roost_progress_wake_fd(const struct roost_progress *p)
{
	return p->wake_fd;
}
