/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_POOL_H
#define ROOST_PMD_GLUE_CHANNEL_POOL_H

/*
 * Mempools of mbufs without EAL: in ordinary memory, with mempool operations of
 * our own. The functions of rte_mbuf.h that take, fill, copy and free mbufs
 * work with them, those that attach one mbuf to another one (clones) do not.
 * EAL's heap would be shared with a forked child, and a client has no EAL.
 *
 * Free mbufs are a stack, so that the one that was used last, which is in the
 * cache, is used next, and few pages are touched. Pools have no caches per
 * lcore. Hot: no allocation, system call, log or lock.
 *
 * Thread: any for taking and freeing mbufs, several at a time.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "pmd_glue/channel/memory.h"

/* For the functions below, and pool.c. */
struct roost_shm_pool {
	/* What rte_mempool_get_priv() finds follows the mempool. */
	struct rte_mempool mempool;
	struct rte_pktmbuf_pool_private priv;
	_Alignas(RTE_CACHE_LINE_MIN_SIZE) _Atomic uint64_t head;
	_Alignas(RTE_CACHE_LINE_MIN_SIZE) uint8_t *elements;
	/* stride_bytes is an odd number times 1 << stride_shift; the product of
	 * the odd number and stride_inverse is 1 modulo 2^64.
	 */
	uint64_t stride_inverse;
	uint32_t stride_bytes;
	uint8_t stride_shift;
	bool in_place; /* mbufs have a struct roost_in_place */
	/* By number: the free mbuf below it in the stack, or NONE. */
	_Atomic uint16_t below[];
};

/* A pool whose mbufs have their data in the slots of mem, our own memory: mbuf
 * i that of slot i. Who builds a frame in such an mbuf builds it where the peer
 * reads it. The slot belongs to whom the mbuf belongs to.
 * Returns 0, -ENOMEM, -ENOSPC (DPDK has no room for our operations). Owns:
 * *pool, to be destroyed before mem is closed.
 */
int roost_shm_pool_on_slots(const struct roost_shm_memory *mem,
			    struct roost_shm_pool **pool);

/* A pool of nb mbufs, at most 65535, for received frames: with a private area
 * of struct roost_in_place and data_bytes of data, without headroom. The
 * private area of an mbuf that is freed must say whether it holds a slot.
 */
int roost_shm_pool_private(uint32_t nb, uint32_t data_bytes,
			   struct roost_shm_pool **pool);

/* All mbufs were freed. NULL: nothing. */
void roost_shm_pool_destroy(struct roost_shm_pool *pool);

/* The pool as DPDK knows it. */
static inline struct rte_mempool *
roost_shm_pool_mempool(struct roost_shm_pool *pool)
{
	return &pool->mempool;
}

/* The mbuf with that number. */
static inline struct rte_mbuf *
roost_shm_pool_mbuf(const struct roost_shm_pool *pool, uint32_t i)
{
	return (struct rte_mbuf *)(void *)(pool->elements +
					   (size_t)i * pool->stride_bytes);
}

/* The number of an mbuf of this pool. There is no remainder, so a product does
 * for the quotient.
 */
static inline uint32_t roost_shm_pool_number(const struct roost_shm_pool *pool,
					     const struct rte_mbuf *mbuf)
{
	const uint64_t offset =
		(uint64_t)((const uint8_t *)mbuf - pool->elements);

	return (uint32_t)((offset >> pool->stride_shift) *
			  pool->stride_inverse);
}

/* Free mbufs, as far as other threads do not take some meanwhile. */
uint32_t roost_shm_pool_nb_free(const struct roost_shm_pool *pool);

/* Take n mbufs or none. Returns 0, -ENOBUFS. */
int roost_shm_pool_take(struct roost_shm_pool *pool, struct rte_mbuf **mbufs,
			uint32_t n);

#endif
