/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_CQ_PUSH_H
#define ROOST_ENGINE_CORE_CQ_PUSH_H

/*
 * roost_cq_push() in two steps, for completions that are written where they
 * stay: a copy would be read by loads that are wider than the stores before
 * them, and wait for these. Hot. Thread: the holder of the turn.
 */

#include <rte_branch_prediction.h>

#include "lib/engine/core/probe.h"
#include "lib/engine/core/worker_base.h"

/* The first entry of an iteration, a CQ that workers share, an overrun. */
struct roost_cqe *roost_cq_push_slow(struct roost_worker *w,
				     struct roost_cq *cq, uint32_t *place);

/*
 * A new entry; *place as roost_cq_push() returns it. The caller writes all of
 * the entry but its timestamp, then calls roost_cq_push_end(); no other
 * function of the CQ comes between. The contents of an entry that is lost are
 * not read.
 */
static inline struct roost_cqe *roost_cq_push_begin(struct roost_worker *w,
						    struct roost_cq *cq,
						    uint32_t *place)
{
	/* Of a shared CQ, produced is not read without the lock. */
	if (unlikely(!cq->parts[w->index].open ||
		     cq->produced - atomic_load_explicit(&cq->consumed,
							 memory_order_acquire) >
			     cq->mask ||
		     atomic_load_explicit(&cq->overrun, memory_order_relaxed)))
		return roost_cq_push_slow(w, cq, place);
	*place = cq->produced++;
	return &cq->ring[*place & cq->mask];
}

static inline void roost_cq_push_end(struct roost_worker *w,
				     struct roost_cq *cq, struct roost_cqe *cqe)
{
	ROOST_PROBE(completion, cqe->qpn, cqe->wr_id, cqe->status);
	cqe->timestamp_ns = w->now_ns;
	if (likely(cqe != &w->lost_cqe))
		cq->solicited |= cqe->solicited;
	if (unlikely(roost_cq_is_shared(cq)))
		roost_spin_unlock(&cq->produce_lock);
}

#endif
