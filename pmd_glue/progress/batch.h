/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_BATCH_H
#define ROOST_PMD_GLUE_PROGRESS_BATCH_H

/*
 * Posts that wait to be sent together (doc/threads.md, "Doorbell batching").
 *
 * A program that posts small requests one at a time would pay for a turn and a
 * burst of one frame with each. Where many are on their way, the next ones are
 * left in the queue until there are ROOST_BATCH_POSTS. Nothing waits for long:
 * a poll sends what waits, or arming a CQ, or a post that may not wait; and if
 * the application does none of these, the worker's thread, which is watching:
 * it looks for doorbells every ROOST_BATCH_NS. To wake it costs as much as a
 * hundred small messages, so while they come as a stream it looks ever less
 * often: what is left of a stream may wait for as long as the stream went on,
 * and for ROOST_BATCH_MAX_NS at the most. Where nobody promises to look,
 * nothing waits.
 *
 * Part of a progress engine, and hot; the functions are the progress engine's
 * alone.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/qp.h>

#define ROOST_BATCH_POSTS 16u
#define ROOST_BATCH_NS 100000u
#define ROOST_BATCH_MAX_NS 800000u
/* A stream has a post in so many. */
#define ROOST_BATCH_STREAM_NS 1000u
/* The watch goes on for so long after the last post that asked for it. */
#define ROOST_BATCH_WATCH_NS 1000000u

struct roost_batch {
	/* Posts that wait or might have waited, and those of them that were
	 * sent; wrapping. Any helper, without a read-modify-write: with several
	 * threads that post, some are not counted.
	 */
	_Atomic uint32_t posts;
	_Atomic uint32_t sent;
	atomic_bool watching; /* the thread */
	/* The thread's own. */
	uint32_t seen_posts;
	uint64_t seen_ns; /* when they were seen */
	uint64_t look_ns; /* how long it sleeps then; 0: ROOST_BATCH_NS */
	uint64_t watch_until_ns;
};

/* Does anything wait, as far as one can tell? Thread: any. */
static inline uint32_t roost_batch_waiting(const struct roost_batch *g)
{
	return atomic_load_explicit(&g->posts, memory_order_relaxed) -
	       atomic_load_explicit(&g->sent, memory_order_relaxed);
}

/* All that waits is being sent. Holder of the turn. */
static inline void roost_batch_send(struct roost_batch *g)
{
	if (roost_batch_waiting(g) != 0)
		atomic_store_explicit(
			&g->sent,
			atomic_load_explicit(&g->posts, memory_order_relaxed),
			memory_order_relaxed);
}

/* May what was added to the QP wait? Between roost_qp_send_begin and end. */
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
 * A doorbell was rung for what waits: is it still watched? The bell is rung
 * with a full barrier, then this is read; the thread ends its watch, and has a
 * full barrier before it looks for doorbells for the last time and sleeps. So
 * either the thread finds the doorbell, or this says no.
 */
static inline bool roost_batch_is_watched(const struct roost_batch *g)
{
	return atomic_load(&g->watching);
}

/* The thread is about to look for doorbells and then sleep. Returns for how
 * long at the most; 0: no watch is asked for.
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

/* The thread is about to look for doorbells and then sleep as long as it likes.
 */
static inline void roost_batch_watch_end(struct roost_batch *g)
{
	atomic_store_explicit(&g->watching, false, memory_order_relaxed);
}

#endif
