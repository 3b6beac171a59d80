/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE ROOST_POOL_NONE

/* ---- who is charged ------------------------------------------------------ */

/* The account of the user; it is made. NULL: no memory. */
static struct roost_account *account_of(struct roost_pool *pool, uint32_t uid)
{
	const uint32_t bucket = uid % ROOST_POOL_ACCOUNTS;
	struct roost_account *account;

	LIST_FOREACH(account, &pool->accounts[bucket], link)
		if (account->uid == uid)
			return account;
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->uid = uid;
	LIST_INSERT_HEAD(&pool->accounts[bucket], account, link);
	return account;
}

static void free_unused(struct roost_account *account)
{
	if (account->nb > 0)
		return;
	LIST_REMOVE(account, link);
	free(account);
}

static void charge(struct roost_pool *pool, uint32_t unit,
		   struct roost_account *account)
{
	struct roost_account *before = pool->account[unit];

	if (account)
		account->nb++;
	pool->account[unit] = account;
	if (!before)
		return;
	before->nb--;
	free_unused(before);
}

/* ---- the free list ------------------------------------------------------- */

static void free_append(struct roost_pool *pool, uint32_t unit, bool is_held)
{
	pool->next[unit] = NONE;
	pool->prev[unit] = pool->last_free;
	if (pool->last_free == NONE)
		pool->first_free = unit;
	else
		pool->next[pool->last_free] = unit;
	pool->last_free = unit;
	pool->is_held[unit] = is_held;
	if (!is_held)
		pool->nb_free++;
	else if (pool->first_held == NONE)
		pool->first_held = unit;
}

static void free_remove(struct roost_pool *pool, uint32_t unit)
{
	const uint32_t next = pool->next[unit], prev = pool->prev[unit];

	if (pool->first_held == unit)
		pool->first_held = next;
	if (!pool->is_held[unit])
		pool->nb_free--;
	if (prev == NONE)
		pool->first_free = next;
	else
		pool->next[prev] = next;
	if (next == NONE)
		pool->last_free = prev;
	else
		pool->prev[next] = prev;
}

/* Quarantines end: in the order of the list. */
static void look(struct roost_pool *pool, uint64_t now_ns)
{
	uint32_t unit;

	while ((unit = pool->first_held) != NONE &&
	       pool->free_at_ns[unit] <= now_ns) {
		pool->is_held[unit] = false;
		pool->nb_free++;
		pool->first_held = pool->next[unit];
		charge(pool, unit, NULL);
	}
}

static void own(struct roost_pool *pool, uint16_t owner,
		struct roost_account *account, struct roost_units *units,
		uint32_t unit)
{
	free_remove(pool, unit);
	charge(pool, unit, account);
	pool->owner[unit] = owner;
	pool->next[unit] = units->first;
	units->first = unit;
	units->nb++;
}

/* ---- units --------------------------------------------------------------- */

int roost_pool_init(struct roost_pool *pool, uint32_t nb)
{
	*pool = (struct roost_pool){
		.nb = nb,
		.owner = malloc(nb * sizeof(pool->owner[0])),
		.next = malloc(nb * sizeof(pool->next[0])),
		.prev = malloc(nb * sizeof(pool->prev[0])),
		.free_at_ns = calloc(nb, sizeof(pool->free_at_ns[0])),
		.account = calloc(nb, sizeof(pool->account[0])),
		.is_held = calloc(nb, sizeof(pool->is_held[0])),
		.first_free = NONE,
		.last_free = NONE,
		.first_held = NONE,
	};
	if (!pool->owner || !pool->next || !pool->prev || !pool->free_at_ns ||
	    !pool->account || !pool->is_held) {
		roost_pool_fini(pool);
		return -ENOMEM;
	}
	memset(pool->owner, 0xff, nb * sizeof(pool->owner[0]));
	for (uint32_t i = 0; i < nb; i++)
		free_append(pool, i, false);
	return 0;
}

void roost_pool_fini(struct roost_pool *pool)
{
	struct roost_account *account;

	for (unsigned int i = 0; i < ROOST_POOL_ACCOUNTS; i++)
		while ((account = LIST_FIRST(&pool->accounts[i]))) {
			LIST_REMOVE(account, link);
			free(account);
		}
	free(pool->owner);
	free(pool->next);
	free(pool->prev);
	free(pool->free_at_ns);
	free(pool->account);
	free(pool->is_held);
	*pool = (struct roost_pool){ 0 };
}

int roost_pool_take(struct roost_pool *pool, uint16_t owner, uint32_t uid,
		    struct roost_units *units, uint64_t now_ns, uint32_t *unit)
{
	struct roost_account *account;

	look(pool, now_ns);
	account = account_of(pool, uid);
	if (!account)
		return -ENOMEM;
	if (account->nb >= (uint64_t)pool->nb_free * ROOST_POOL_SHARE) {
		free_unused(account);
		return pool->first_held == NONE ? -ENOSPC : -EAGAIN;
	}
	*unit = pool->first_free;
	own(pool, owner, account, units, *unit);
	return 0;
}

int roost_pool_take_this(struct roost_pool *pool, uint16_t owner, uint32_t uid,
			 struct roost_units *units, uint32_t unit)
{
	struct roost_account *account;

	if (unit >= pool->nb)
		return -EINVAL;
	if (pool->owner[unit] != ROOST_POOL_NOBODY)
		return -EBUSY;
	account = account_of(pool, uid);
	if (!account)
		return -ENOMEM;
	own(pool, owner, account, units, unit);
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
		free_append(pool, unit, true);
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
		free_append(pool, unit, true);
	}
}
