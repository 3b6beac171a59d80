/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_POOL_H
#define ROOST_APPS_ROOSTD_SWITCH_POOL_H

/*
 * Numbered units that are leased to clients: blocks of QPN indices, prefixes of
 * communication ids. A unit that was given back is in quarantine until a time;
 * the unit that was free longest is leased first.
 *
 * Thread: the daemon's one.
 */

#include <stdint.h>

#define ROOST_POOL_NOBODY UINT16_MAX
#define ROOST_POOL_NONE UINT32_MAX

struct roost_pool {
	uint32_t nb;
	uint16_t *owner; /* by unit; ROOST_POOL_NOBODY: free */
	/* By unit: the next and previous unit of the same list, which is the
	 * free list or that of the owner; ROOST_POOL_NONE: the end.
	 */
	uint32_t *next;
	uint32_t *prev;
	uint64_t *free_at_ns; /* of a free unit: the end of its quarantine */
	uint32_t first_free, last_free;
};

/* The units of one owner, newest first. */
struct roost_units {
	uint32_t first; /* ROOST_POOL_NONE: none */
	uint32_t nb;
};

#define ROOST_UNITS_NONE ((struct roost_units){ ROOST_POOL_NONE, 0 })

/* Units 0 .. nb - 1, all free. Returns 0, -ENOMEM. */
int roost_pool_init(struct roost_pool *pool, uint32_t nb);
void roost_pool_fini(struct roost_pool *pool);

/* Lease a unit. Returns 0; -EAGAIN: all free ones are in quarantine;
 * -ENOSPC: all are leased.
 */
int roost_pool_take(struct roost_pool *pool, uint16_t owner,
		    struct roost_units *units, uint64_t now_ns, uint32_t *unit);

/* Lease this unit, quarantine or not. Returns 0; -EINVAL: no such unit;
 * -EBUSY: it is leased.
 */
int roost_pool_take_this(struct roost_pool *pool, uint16_t owner,
			 struct roost_units *units, uint32_t unit);

/* Give all back; they are in quarantine until free_at_ns. */
void roost_pool_give_back(struct roost_pool *pool, struct roost_units *units,
			  uint64_t free_at_ns);

/* Put the free units below this one in quarantine until free_at_ns at least,
 * and behind all others.
 */
void roost_pool_hold(struct roost_pool *pool, uint32_t below,
		     uint64_t free_at_ns);

#endif
