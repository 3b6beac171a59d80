/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot, see pool.h. */

#include "pmd_glue/channel/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/mbuf.h"

#define OPS_NAME "roost"
#define NB_MAX 0xffffu
#define NONE 0xffffu

/*
 * The stack of free mbufs in one word: number of the top, how many there are,
 * and a count of changes, by which a word that was read before a change and is
 * the same again is told apart (ABA).
 */
#define TOP(head) ((uint32_t)(head)&0xffff)
#define NB_FREE(head) ((uint32_t)((head) >> 16) & 0xffff)
#define CHANGES(head) ((uint32_t)((head) >> 32))
#define HEAD(top, nb_free, changes)                                            \
	((uint64_t)(changes) << 32 | (uint64_t)(nb_free) << 16 | (top))

_Static_assert(offsetof(struct roost_shm_pool, priv) ==
		       RTE_MEMPOOL_HEADER_SIZE((struct rte_mempool *)0, 0),
	       "DPDK finds the private data of the mempool");

/* ---- the stack -------------------------------------------------------------
 */

/* Push mbufs that are linked from top to bottom. */
static void push(struct roost_shm_pool *pool, uint32_t top, uint32_t bottom,
		 uint32_t n)
{
	uint64_t head = atomic_load_explicit(&pool->head, memory_order_relaxed);
	uint64_t new;

	do {
		atomic_store_explicit(&pool->below[bottom], (uint16_t)TOP(head),
				      memory_order_relaxed);
		new = HEAD(top, NB_FREE(head) + n, CHANGES(head) + 1);
		/* Pairs with the acquire in pop(). */
	} while (!atomic_compare_exchange_weak_explicit(&pool->head, &head, new,
							memory_order_release,
							memory_order_relaxed));
}

/* Pop n mbufs. While others push and pop, links may be those of other stacks,
 * but then the head was changed.
 */
static bool pop(struct roost_shm_pool *pool, void **mbufs, uint32_t n)
{
	uint64_t head = atomic_load_explicit(&pool->head, memory_order_acquire);
	uint64_t new;

	do {
		uint32_t at = TOP(head);

		if (NB_FREE(head) < n)
			return false;
		for (uint32_t i = 0; i < n && at != NONE; i++) {
			mbufs[i] = roost_shm_pool_mbuf(pool, at);
			at = atomic_load_explicit(&pool->below[at],
						  memory_order_relaxed);
		}
		new = HEAD(at, NB_FREE(head) - n, CHANGES(head) + 1);
		/* Pairs with the release in push(). */
	} while (!atomic_compare_exchange_weak_explicit(&pool->head, &head, new,
							memory_order_acquire,
							memory_order_acquire));
	return true;
}

/* ---- the operations of the mempool -----------------------------------------
 */

static struct roost_shm_pool *pool_of(const struct rte_mempool *mempool)
{
	return mempool->pool_data;
}

/* DPDK would make such a pool in memory of EAL. */
static int ops_alloc(struct rte_mempool *mempool)
{
	(void)mempool;
	return -ENOTSUP;
}

static int ops_enqueue(struct rte_mempool *mempool, void *const *mbufs,
		       unsigned int n)
{
	struct roost_shm_pool *pool = pool_of(mempool);
	uint32_t top, at;

	if (n == 0)
		return 0;
	top = at = roost_shm_pool_number(pool, mbufs[0]);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t next;

		if (pool->in_place)
			roost_in_place_let_go(mbufs[i]);
		if (i + 1 == n)
			break;
		next = roost_shm_pool_number(pool, mbufs[i + 1]);
		atomic_store_explicit(&pool->below[at], (uint16_t)next,
				      memory_order_relaxed);
		at = next;
	}
	push(pool, top, at, n);
	return 0;
}

/* A compiler for all x86-64 does not know the instruction, which does nothing
 * on processors that do not have it.
 */
static void prefetch_to_write(const uint8_t *line)
{
#ifdef __x86_64__
	asm volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* The peer has read the headers that were in these slots before: while others
 * are made, their lines come back from its core.
 */
static void fetch_headers(void *const *mbufs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *frame =
			rte_pktmbuf_mtod((struct rte_mbuf *)mbufs[i],
					 uint8_t *);

		prefetch_to_write(frame);
		prefetch_to_write(frame + RTE_CACHE_LINE_MIN_SIZE);
	}
}

/* Several: for a cache. */
static int ops_dequeue(struct rte_mempool *mempool, void **mbufs,
		       unsigned int n)
{
	struct roost_shm_pool *pool = pool_of(mempool);

	if (!pop(pool, mbufs, n))
		return -ENOBUFS;
	if (n > 1 && !pool->in_place)
		fetch_headers(mbufs, n);
	return 0;
}

static unsigned int ops_count(const struct rte_mempool *mempool)
{
	return roost_shm_pool_nb_free(pool_of(mempool));
}

static const struct rte_mempool_ops roost_pool_ops = {
	.name = OPS_NAME,
	.alloc = ops_alloc,
	.enqueue = ops_enqueue,
	.dequeue = ops_dequeue,
	.get_count = ops_count,
};
RTE_MEMPOOL_REGISTER_OPS(roost_pool_ops)

/* ---- pools -----------------------------------------------------------------
 */

/* Memory in whole cache lines. */
static void *get_memory(size_t bytes)
{
	return aligned_alloc(RTE_CACHE_LINE_SIZE,
			     RTE_ALIGN_CEIL(bytes,
					    (size_t)RTE_CACHE_LINE_SIZE));
}

static int set_mempool(struct roost_shm_pool *pool, uint32_t nb,
		       uint16_t priv_bytes, uint16_t data_bytes)
{
	struct rte_mempool *mempool = &pool->mempool;

	strcpy(mempool->name, "roost-frames");
	mempool->pool_data = pool;
	mempool->size = nb;
	mempool->populated_size = nb;
	mempool->elt_size = pool->stride_bytes;
	mempool->private_data_size = sizeof(pool->priv);
	mempool->socket_id = SOCKET_ID_ANY;
	STAILQ_INIT(&mempool->elt_list);
	STAILQ_INIT(&mempool->mem_list);
	pool->priv.mbuf_data_room_size = data_bytes;
	pool->priv.mbuf_priv_size = priv_bytes;
	if (rte_mempool_set_ops_byname(mempool, OPS_NAME, NULL) != 0)
		return -ENOSPC;
	mempool->pool_config =
		(void *)(uintptr_t)(priv_bytes ? &roost_in_place_pools
					       : &roost_worker_pools);
	mempool->flags |= RTE_MEMPOOL_F_NO_IOVA_CONTIG;
	return 0;
}

/* The inverse of an odd number modulo 2^64, by Newton: it is its own inverse in
 * the low three bits, and each step doubles them.
 */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t inverse = odd;

	for (unsigned int bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* A pool of nb mbufs, all free; their buffers are not set. */
static int make(uint32_t nb, uint16_t priv_bytes, uint16_t data_bytes,
		uint32_t stride_bytes, struct roost_shm_pool **made)
{
	struct roost_shm_pool *pool;
	int ret = -ENOMEM;

	pool = get_memory(sizeof(*pool) + nb * sizeof(pool->below[0]));
	if (!pool)
		return -ENOMEM;
	*pool = (struct roost_shm_pool){
		.stride_bytes = stride_bytes,
		.stride_shift = (uint8_t)__builtin_ctz(stride_bytes),
		.in_place = priv_bytes != 0,
	};
	pool->stride_inverse = inverse_of(stride_bytes >> pool->stride_shift);
	pool->elements = get_memory((size_t)nb * stride_bytes);
	if (pool->elements)
		ret = set_mempool(pool, nb, priv_bytes, data_bytes);
	if (ret) {
		roost_shm_pool_destroy(pool);
		return ret;
	}
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *mbuf = roost_shm_pool_mbuf(pool, i);

		/* Pages of data are not touched before they are used. */
		memset(mbuf, 0, sizeof(*mbuf) + priv_bytes);
		mbuf->pool = &pool->mempool;
		mbuf->buf_len = data_bytes;
		mbuf->priv_size = priv_bytes;
		mbuf->nb_segs = 1;
		mbuf->port = RTE_MBUF_PORT_INVALID;
		rte_mbuf_refcnt_set(mbuf, 1);
		pool->below[i] = (uint16_t)(i + 1 < nb ? i + 1 : NONE);
	}
	pool->head = HEAD(0, nb, 0);
	*made = pool;
	return 0;
}

/* No device reads it: where IOVAs are asked for, they are addresses. */
static void set_buffer(struct rte_mbuf *mbuf, uint8_t *buffer)
{
	mbuf->buf_addr = buffer;
	rte_mbuf_iova_set(mbuf, (uintptr_t)buffer);
}

int roost_shm_pool_on_slots(const struct roost_shm_memory *mem,
			    struct roost_shm_pool **pool)
{
	int ret = make(mem->shape.nb_slots, 0, (uint16_t)mem->shape.slot_bytes,
		       sizeof(struct rte_mbuf), pool);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < mem->shape.nb_slots; i++)
		set_buffer(roost_shm_pool_mbuf(*pool, i),
			   roost_shm_slot(mem, i));
	return 0;
}

int roost_shm_pool_private(uint32_t nb, uint32_t data_bytes,
			   struct roost_shm_pool **pool)
{
	const uint16_t priv_bytes =
		RTE_ALIGN_CEIL(sizeof(struct roost_in_place),
			       RTE_CACHE_LINE_MIN_SIZE);
	const uint32_t head_bytes =
		(uint32_t)sizeof(struct rte_mbuf) + priv_bytes;
	int ret;

	if (nb == 0 || nb > NB_MAX || data_bytes > UINT16_MAX)
		return -EINVAL;
	ret = make(nb, priv_bytes, (uint16_t)data_bytes,
		   head_bytes +
			   RTE_ALIGN_CEIL(data_bytes,
					  (uint32_t)RTE_CACHE_LINE_MIN_SIZE),
		   pool);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *mbuf = roost_shm_pool_mbuf(*pool, i);

		set_buffer(mbuf, (uint8_t *)mbuf + head_bytes);
	}
	return 0;
}

void roost_shm_pool_destroy(struct roost_shm_pool *pool)
{
	if (!pool)
		return;
	free(pool->elements);
	free(pool);
}

uint32_t roost_shm_pool_nb_free(const struct roost_shm_pool *pool)
{
	return NB_FREE(atomic_load_explicit(&pool->head, memory_order_relaxed));
}

int roost_shm_pool_take(struct roost_shm_pool *pool, struct rte_mbuf **mbufs,
			uint32_t n)
{
	return pop(pool, (void **)mbufs, n) ? 0 : -ENOBUFS;
}
