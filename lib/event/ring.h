/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_RING_H
#define ROOST_EVENT_RING_H

/*
 * An rte_ring in the process's own memory: it needs no EAL, and has no name
 * that others may have.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

/* len: a power of two, of which the ring holds one less; flags: RING_F_*.
 * free() frees it. Returns 0, -ENOMEM, -EINVAL; *ring is NULL after an error.
 */
static inline int roost_ring_create(const char *name, unsigned int entry_bytes,
				    unsigned int len, unsigned int flags,
				    struct rte_ring **ring)
{
	ssize_t bytes = rte_ring_get_memsize_elem(entry_bytes, len);
	int ret;

	*ring = NULL;
	if (bytes < 0)
		return (int)bytes;
	*ring = (struct rte_ring *)aligned_alloc(
		RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL((size_t)bytes, (size_t)RTE_CACHE_LINE_SIZE));
	if (!*ring)
		return -ENOMEM;
	ret = rte_ring_init(*ring, name, len, flags);
	if (ret) {
		free(*ring);
		*ring = NULL;
	}
	return ret;
}

/*
 * Entries in the ring, a snapshot that is old when it returns. The names of
 * DPDK for these read plain words that other threads write.
 */
static inline unsigned int roost_ring_count(const struct rte_ring *ring)
{
	uint32_t prod = __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);
	uint32_t cons = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);

	return RTE_MIN((prod - cons) & ring->mask, ring->capacity);
}

static inline bool roost_ring_is_empty(const struct rte_ring *ring)
{
	return __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

#endif
