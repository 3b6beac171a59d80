/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_AHEAD_H
#define ROOST_ENGINE_CORE_AHEAD_H

/*
 * Memory that is prefetched: of thousands of QPs few are in the cache when
 * their turn comes, and each has a dozen lines that would be waited for one
 * after the other. Which QPs come next is known: a ready list is a list, and
 * frames come in bursts. Hot; for lib/engine only. Holder of the turn.
 */

#include <rte_prefetch.h>

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

/* From so many QPs of a worker on, little of one is in the cache when it is
 * needed.
 */
#define ROOST_QPS_COLD 256u

/* The lines of a QP (struct roost_qp) that these need, a bit each. */
#define ROOST_LINES_SEND 0x2ffu    /* 0 to 7 and 9 */
#define ROOST_LINES_RECEIVE 0x23du /* 0, 2 to 5 and 9 */

static inline void roost_ahead_qp(const struct roost_qp *qp, uint32_t lines)
{
#pragma GCC unroll 10
	for (unsigned int i = 0; i < 10; i++)
		if (lines & 1u << i)
			rte_prefetch0((const uint8_t *)qp + 64 * i);
}

/* The request that a queue, which is at hand, begins with from index on. */
static inline void roost_ahead_slot(const struct roost_queue *q, uint32_t index)
{
	rte_prefetch0(roost_queue_at(q, index));
}

/* The QPs of a ready list behind the one that sends: of the next one, which was
 * prefetched when its predecessor sent, the request; of the one behind it, all
 * that it will need.
 */
static inline void roost_ahead_requests(const struct roost_qp *next)
{
	const struct roost_qp *then;

	if (next == NULL)
		return;
	then = TAILQ_NEXT(next, send_link);
	roost_ahead_slot(&next->sq, next->req.send_index);
	if (then != NULL)
		roost_ahead_qp(then, ROOST_LINES_SEND);
}

/* Does the worker have more QPs than the cache holds? */
static inline bool roost_ahead_pays(const struct roost_worker *w)
{
	return atomic_load_explicit(&w->dev->all.nb_qps[w->index],
				    memory_order_relaxed) >= ROOST_QPS_COLD;
}

#endif
