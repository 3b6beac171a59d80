/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_BATCH_H
#define ROOST_PMD_GLUE_PROGRESS_BATCH_H

/*
 * Doorbell batching (doc/threads.md): posts stay in the queue for a moment, to
 * be sent in one burst.
 *
 * Without it, a program that posts small requests one at a time pays for one
 * turn and one burst of one frame with each request. While many requests are
 * in flight, new posts stay in the queue until there are ROOST_BATCH_POSTS.
 * A batch is sent early by a poll, by arming a CQ, or by a post that may not
 * wait. If the application does none of these, the worker's thread sends it:
 * the thread watches, that is, it looks for doorbells every ROOST_BATCH_NS.
 * One wake of the thread costs as much as a hundred small messages. So during
 * a stream of posts the thread doubles its interval, up to ROOST_BATCH_MAX_NS:
 * the last posts of a stream wait for no longer than the stream lasted, and
 * never for longer than ROOST_BATCH_MAX_NS. While the thread does not watch,
 * no post waits.
 *
 * Part of a progress engine, and hot. Only help.c and progress.c call these
 * functions.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/qp.h>
#include "lib/engine/core/workers.h"

#define ROOST_BATCH_POSTS 16u
#define ROOST_BATCH_NS 100000u
#define ROOST_BATCH_MAX_NS 800000u
/* Posts are a stream if there is one in each such interval, on average. */
#define ROOST_BATCH_STREAM_NS 1000u
/* The thread watches for this long after the last post that may wait. */
#define ROOST_BATCH_WATCH_NS 1000000u

struct roost_batch {
	/* Counters, wrapping: posts that were allowed to wait, and how many of
	 * them were sent. Writer: any helper, without a read-modify-write; if
	 * several threads post, some posts are not counted.
	 */
	_Atomic uint32_t posts;
	_Atomic uint32_t sent;
	atomic_bool watching; /* writer: the worker's thread */
	/* Only the worker's thread reads and writes these. */
	uint32_t seen_posts; /* posts at the last look */
	uint64_t seen_ns;    /* time of the last look */
	uint64_t look_ns;    /* interval of the looks; 0: ROOST_BATCH_NS */
	uint64_t watch_until_ns;
};

/* Returns how many posts wait; an estimate, see posts. Thread: any. */
static inline uint32_t roost_batch_waiting(const struct roost_batch *g)
{
	return atomic_load_explicit(&g->posts, memory_order_relaxed) -
	       atomic_load_explicit(&g->sent, memory_order_relaxed);
}

/* Count all waiting posts as sent. Thread: holder of the turn. */
static inline void roost_batch_send(struct roost_batch *g)
{
	if (roost_batch_waiting(g) != 0)
		atomic_store_explicit(
			&g->sent,
			atomic_load_explicit(&g->posts, memory_order_relaxed),
			memory_order_relaxed);
}

/* Returns true if the requests that were just added to the QP may wait.
 * Called between roost_qp_send_begin() and roost_qp_send_end().
 */
static inline bool roost_batch_may_wait(struct roost_batch *g,
					const struct roost_qp *qp)
{
	uint32_t waiting = roost_batch_waiting(g);

	if (!roost_qp_send_can_wait(qp, waiting))
		return false;
	atomic_store_explicit(&g->posts,
			      atomic_load_explicit(&g->posts,
						   memory_order_relaxed) +
				      1,
			      memory_order_relaxed);
	return waiting + 1 < ROOST_BATCH_POSTS &&
	       atomic_load_explicit(&g->watching, memory_order_relaxed);
}

/*
 * Does the worker's thread still watch? Called after a doorbell was rung for a
 * post that waits. The doorbell is rung with a full barrier before this load.
 * The thread clears watching, then has a full barrier, then looks for doorbells
 * for the last time and sleeps. So either the thread finds the doorbell, or
 * this returns false.
 */
static inline bool roost_batch_is_watched(const struct roost_batch *g)
{
	return atomic_load(&g->watching);
}

/* The worker's thread is about to look for doorbells and then to sleep. Returns
 * the longest time that it may sleep, in ns; 0: it need not watch.
 */
static inline uint64_t roost_batch_watch(struct roost_batch *g, uint64_t now_ns)
{
	uint32_t posts = atomic_load_explicit(&g->posts, memory_order_relaxed);
	uint64_t new_posts = posts - g->seen_posts;
	uint64_t past_ns = now_ns - g->seen_ns;
	bool watching;

	if (new_posts * ROOST_BATCH_STREAM_NS < past_ns || g->look_ns == 0)
		g->look_ns = ROOST_BATCH_NS;
	else if (past_ns >= g->look_ns && g->look_ns < ROOST_BATCH_MAX_NS)
		g->look_ns *= 2;
	g->seen_posts = posts;
	g->seen_ns = now_ns;
	if (new_posts != 0)
		g->watch_until_ns = now_ns + ROOST_BATCH_WATCH_NS;
	watching = now_ns < g->watch_until_ns;
	atomic_store_explicit(&g->watching, watching, memory_order_relaxed);
	return watching ? g->look_ns : 0;
}

/* The worker's thread is about to look for doorbells and then to sleep without
 * a bound: it watches no more.
 */
static inline void roost_batch_watch_end(struct roost_batch *g)
{
	atomic_store_explicit(&g->watching, false, memory_order_relaxed);
}

#endif
