/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE ROOST_POOL_NONE

static void free_append(struct roost_pool *pool, uint32_t unit)
{
	pool->next[unit] = NONE;
	pool->prev[unit] = pool->last_free;
	if (pool->last_free == NONE)
		pool->first_free = unit;
	else
		pool->next[pool->last_free] = unit;
	pool->last_free = unit;
}

static void free_remove(struct roost_pool *pool, uint32_t unit)
{
	const uint32_t next = pool->next[unit], prev = pool->prev[unit];

	if (prev == NONE)
		pool->first_free = next;
	else
		pool->next[prev] = next;
	if (next == NONE)
		pool->last_free = prev;
	else
		pool->prev[next] = prev;
}

static void own(struct roost_pool *pool, uint16_t owner,
		struct roost_units *units, uint32_t unit)
{
	free_remove(pool, unit);
	pool->owner[unit] = owner;
	pool->next[unit] = units->first;
	units->first = unit;
	units->nb++;
}

int roost_pool_init(struct roost_pool *pool, uint32_t nb)
{
	*pool = (struct roost_pool){
		.nb = nb,
		.owner = malloc(nb * sizeof(pool->owner[0])),
		.next = malloc(nb * sizeof(pool->next[0])),
		.prev = malloc(nb * sizeof(pool->prev[0])),
		.free_at_ns = calloc(nb, sizeof(pool->free_at_ns[0])),
		.first_free = NONE,
		.last_free = NONE,
	};
	if (!pool->owner || !pool->next || !pool->prev || !pool->free_at_ns) {
		roost_pool_fini(pool);
		return -ENOMEM;
	}
	memset(pool->owner, 0xff, nb * sizeof(pool->owner[0]));
	for (uint32_t i = 0; i < nb; i++)
		free_append(pool, i);
	return 0;
}

void roost_pool_fini(struct roost_pool *pool)
{
	free(pool->owner);
	free(pool->next);
	free(pool->prev);
	free(pool->free_at_ns);
	*pool = (struct roost_pool){ 0 };
}

int roost_pool_take(struct roost_pool *pool, uint16_t owner,
		    struct roost_units *units, uint64_t now_ns, uint32_t *unit)
{
	if (pool->first_free == NONE)
		return -ENOSPC;
	if (pool->free_at_ns[pool->first_free] > now_ns)
		return -EAGAIN;
	*unit = pool->first_free;
	own(pool, owner, units, *unit);
	return 0;
}

int roost_pool_take_this(struct roost_pool *pool, uint16_t owner,
			 struct roost_units *units, uint32_t unit)
{
	if (unit >= pool->nb)
		return -EINVAL;
	if (pool->owner[unit] != ROOST_POOL_NOBODY)
		return -EBUSY;
	own(pool, owner, units, unit);
	return 0;
}

void roost_pool_give_back(struct roost_pool *pool, struct roost_units *units,
			  uint64_t free_at_ns)
{
	uint32_t unit = units->first, next;

	for (; unit != NONE; unit = next) {
		next = pool->next[unit];
		pool->owner[unit] = ROOST_POOL_NOBODY;
		pool->free_at_ns[unit] = free_at_ns;
		free_append(pool, unit);
	}
	*units = ROOST_UNITS_NONE;
}

void roost_pool_hold(struct roost_pool *pool, uint32_t below,
		     uint64_t free_at_ns)
{
	for (uint32_t unit = 0; unit < below && unit < pool->nb; unit++) {
		if (pool->owner[unit] != ROOST_POOL_NOBODY)
			continue;
		if (pool->free_at_ns[unit] < free_at_ns)
			pool->free_at_ns[unit] = free_at_ns;
		free_remove(pool, unit);
		free_append(pool, unit);
	}
}
