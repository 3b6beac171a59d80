/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_MBUF_H
#define ROOST_ENGINE_CORE_MBUF_H

/*
 * rte_pktmbuf_alloc() and rte_pktmbuf_free() for the holder of the turn. A
 * mempool has a cache per lcore, and finding the lcore of a thread is a
 * function call into a library that may be loaded late; the worker keeps the
 * number and the cache for its iteration. Nearly all frames come from the cache
 * and go back to it one by one, by a load or a store here; DPDK's functions
 * have the rest. Hot.
 *
 * Mempools of our own have no caches per lcore, as there may be no EAL. Of such
 * a one worker 0, which sends nearly all, has a cache itself: without it each
 * frame would cost a locked instruction, which waits until the stores to the
 * frame before have come from the cache of the core that has read it last.
 */

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/worker_base.h"

/* What the worker's own cache takes from the mempool at a time. As many frames
 * and half as many again are lost to all others.
 */
#define ROOST_MBUF_CACHE 16u

/* pool_config of mempools of which worker 0 has its own cache points to it. */
extern const uint8_t roost_worker_pools;

/* To be called before the other functions of this file, in each function that
 * takes or frees frames and that a thread calls right after it took the turn.
 */
static inline void roost_mbuf_begin(struct roost_worker *w)
{
	struct rte_mempool *pool = w->dev->pool;

	w->lcore_id = rte_lcore_id();
	/* A device that sends nothing needs no pool. */
	if (pool == NULL)
		w->mbufs = NULL;
	else if (w->own_mbufs.size != 0)
		w->mbufs = &w->own_mbufs;
	else
		w->mbufs = rte_mempool_default_cache(pool, w->lcore_id);
}

/* The caller sets port, data_len and pkt_len. NULL: the pool is empty. */
static inline struct rte_mbuf *roost_mbuf_alloc(struct roost_worker *w)
{
	struct rte_mempool_cache *cache = w->mbufs;
	struct rte_mbuf *mbuf;

	if (likely(cache != NULL && cache->len > 0))
		mbuf = cache->objs[--cache->len];
	else if (rte_mempool_generic_get(w->dev->pool, (void **)&mbuf, 1,
					 cache) != 0)
		return NULL;
	/* rte_pktmbuf_reset(), as far as it matters: next is NULL in the pool,
	 * offloads have flags, and the caller sets the rest.
	 */
	mbuf->data_off = RTE_PKTMBUF_HEADROOM;
	mbuf->nb_segs = 1;
	mbuf->ol_flags &= RTE_MBUF_F_EXTERNAL;
	mbuf->packet_type = 0;
	mbuf->vlan_tci = 0;
	return mbuf;
}

/* Put the mbufs of frames in place that this turn has freed back into their
 * pool, by one locked instruction for all of them. To be called behind what
 * receives frames.
 */
static inline void roost_mbuf_put_spent(struct roost_worker *w)
{
	if (w->nb_spent == 0)
		return;
	rte_mempool_generic_put(w->spent[0]->pool, (void **)w->spent,
				w->nb_spent, NULL);
	w->nb_spent = 0;
}

/* The sender has its slot back at once. */
static inline void roost_mbuf_spend(struct roost_worker *w,
				    struct rte_mbuf *mbuf)
{
	roost_in_place_let_go(mbuf);
	if (w->nb_spent == RTE_DIM(w->spent) ||
	    (w->nb_spent > 0 && mbuf->pool != w->spent[0]->pool))
		roost_mbuf_put_spent(w);
	w->spent[w->nb_spent++] = mbuf;
}

/* As roost_mbuf_free(), of any mbuf. */
static __rte_noinline void roost_mbuf_free_any(struct roost_worker *w,
					       struct rte_mbuf *mbuf)
{
	if (mbuf->nb_segs > 1) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	mbuf = rte_pktmbuf_prefree_seg(mbuf);
	if (!mbuf)
		return;
	if (mbuf->pool->pool_config == &roost_in_place_pools)
		roost_mbuf_spend(w, mbuf);
	else
		rte_mempool_generic_put(mbuf->pool, (void **)&mbuf, 1,
					rte_mempool_default_cache(mbuf->pool,
								  w->lcore_id));
}

/* Free an mbuf of any pool. */
static inline void roost_mbuf_free(struct roost_worker *w,
				   struct rte_mbuf *mbuf)
{
	struct rte_mempool_cache *cache = w->mbufs;

	/* What prefree_seg() leaves as it is: nothing else refers to the mbuf
	 * or to its data.
	 */
	if (likely(mbuf->pool == w->dev->pool && mbuf->next == NULL &&
		   rte_mbuf_refcnt_read(mbuf) == 1 && RTE_MBUF_DIRECT(mbuf) &&
		   cache != NULL && cache->len < cache->flushthresh))
		cache->objs[cache->len++] = mbuf;
	else
		roost_mbuf_free_any(w, mbuf);
}

#endif
