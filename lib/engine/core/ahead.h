/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_AHEAD_H
#define ROOST_ENGINE_CORE_AHEAD_H

/*
 * Prefetching. Of thousands of QPs few are in the cache when their turn comes,
 * and each has a dozen cache lines, whose misses would follow one after the
 * other. The next QPs are known: a ready list is a list, and frames come in
 * bursts. Hot; for lib/engine only. Holder of the turn.
 */

#include <rte_prefetch.h>

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

/* From this number of QPs of a worker on, few cache lines of a QP are in the
 * cache when they are needed.
 */
#define ROOST_QPS_COLD 256u

/* Cache lines of struct roost_qp that sending, receiving and the ready lists
 * need, a bit each.
 */
#define ROOST_LINES_SEND 0x3ffu    /* 0 to 9 */
#define ROOST_LINES_RECEIVE 0x23du /* 0, 2 to 5 and 9 */
#define ROOST_LINES_LIST 0x31u     /* 0, 4 and 5 */

static inline void roost_ahead_qp(const struct roost_qp *qp, uint32_t lines)
{
#pragma GCC unroll 10
	for (unsigned int i = 0; i < 10; i++)
		if (lines & 1u << i)
			rte_prefetch0((const uint8_t *)qp + 64 * i);
}

/* Prefetch the request at index, if there is one; the queue itself is in the
 * cache.
 */
static inline void roost_ahead_slot(const struct roost_queue *q, uint32_t index)
{
	if (roost_queue_slots(q) != NULL)
		rte_prefetch0(roost_queue_at(q, index));
}

/* Prefetch for the QPs of a ready list behind the one that sends. Of the next
 * QP, which was prefetched when its predecessor sent: the request. Of the QP
 * behind it: all lines that sending needs.
 */
static inline void roost_ahead_requests(const struct roost_qp *next)
{
	const struct roost_qp *then;

	if (!next)
		return;
	then = TAILQ_NEXT(next, send_link);
	roost_ahead_slot(&next->sq, next->req.send_index);
	if (then)
		roost_ahead_qp(then, ROOST_LINES_SEND);
}

/* The same for the first two QPs of a list. */
static inline void roost_ahead_first(const struct roost_qp *first)
{
	const struct roost_qp *next = TAILQ_NEXT(first, send_link);

	roost_ahead_qp(first, ROOST_LINES_SEND);
	if (next)
		roost_ahead_qp(next, ROOST_LINES_SEND);
}

/* True if the worker has more QPs than the cache holds. */
static inline bool roost_ahead_pays(const struct roost_worker *w)
{
	return atomic_load_explicit(&w->dev->all.nb_qps[w->index],
				    memory_order_relaxed) >= ROOST_QPS_COLD;
}

#endif
