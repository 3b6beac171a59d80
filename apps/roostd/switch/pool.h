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
 * A user is charged for what its clients lease, and for what is in quarantine
 * after them: who starts and ends clients without end waits for its own units.
 * A user may have ROOST_POOL_SHARE times as many as are free then, so that some
 * are left for others.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define ROOST_POOL_NOBODY UINT16_MAX
#define ROOST_POOL_NONE UINT32_MAX

#define ROOST_POOL_SHARE 3u
#define ROOST_POOL_ACCOUNTS 256u

/* What a user is charged for. */
struct roost_account {
	LIST_ENTRY(roost_account) link;
	uint32_t uid;
	uint32_t nb; /* units; 0: it is freed */
};

struct roost_pool {
	uint32_t nb;
	uint32_t nb_free; /* and out of quarantine, when that was looked at */
	uint16_t *owner;  /* by unit; ROOST_POOL_NOBODY: free */
	/* By unit: the next and previous unit of the same list, which is the
	 * free list or that of the owner; ROOST_POOL_NONE: the end.
	 */
	uint32_t *next;
	uint32_t *prev;
	uint64_t *free_at_ns; /* of a free unit: the end of its quarantine */
	/* By unit, if leased or in quarantine: who is charged; NULL: nobody. */
	struct roost_account **account;
	bool *is_held; /* by unit: in quarantine, when that was looked at */
	uint32_t first_free, last_free;
	uint32_t first_held; /* in the free list: it and all behind it are */
	LIST_HEAD(, roost_account) accounts[ROOST_POOL_ACCOUNTS]; /* by uid */
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

/* Lease a unit to a client of this user. Returns 0; -EAGAIN: all free ones, or
 * those that the user might have, are in quarantine; -ENOSPC: all are leased,
 * or the user has its share; -ENOMEM.
 */
int roost_pool_take(struct roost_pool *pool, uint16_t owner, uint32_t uid,
		    struct roost_units *units, uint64_t now_ns, uint32_t *unit);

/* Lease this unit, quarantine or not, and share or not. Returns 0; -EINVAL: no
 * such unit; -EBUSY: it is leased; -ENOMEM.
 */
int roost_pool_take_this(struct roost_pool *pool, uint16_t owner, uint32_t uid,
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
