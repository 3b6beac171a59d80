/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_MBUF_H
#define ROOST_ENGINE_CORE_MBUF_H

/*
 * rte_pktmbuf_alloc() and rte_pktmbuf_free() for the holder of the turn. A
 * mempool has a cache per lcore, and finding the lcore of a thread is a
 * function call into a library that may be loaded late; the worker keeps the
 * number for its iteration. Hot.
 */

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "lib/engine/core/worker_base.h"

/* Frames that are received at a time. */
#define ROOST_RX_BURST 32u

/* To be called before the other functions of this file, in each function that
 * takes or frees frames and that a thread calls right after it took the turn.
 */
static inline void roost_mbuf_begin(struct roost_worker *w)
{
	w->lcore_id = rte_lcore_id();
}

/* NULL: the pool is empty. */
static inline struct rte_mbuf *roost_mbuf_alloc(struct roost_worker *w)
{
	struct rte_mempool *pool = w->dev->pool;
	struct rte_mbuf *mbuf;

	if (rte_mempool_generic_get(pool, (void **)&mbuf, 1,
				    rte_mempool_default_cache(pool,
							      w->lcore_id)) !=
	    0)
		return NULL;
	rte_pktmbuf_reset(mbuf);
	return mbuf;
}

/* Free an mbuf of any pool. */
static inline void roost_mbuf_free(struct roost_worker *w,
				   struct rte_mbuf *mbuf)
{
	if (mbuf->nb_segs > 1) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	mbuf = rte_pktmbuf_prefree_seg(mbuf);
	if (mbuf)
		rte_mempool_generic_put(mbuf->pool, (void **)&mbuf, 1,
					rte_mempool_default_cache(mbuf->pool,
								  w->lcore_id));
}

#endif
