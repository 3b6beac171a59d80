/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_IDMAP_H
#define ROOST_ENGINE_CORE_IDMAP_H

/*
 * Numbers that peers see (QPN, keys) and the objects behind them.
 *
 * A number is a keyed permutation of (generation, index): without the key it
 * looks random, so that it cannot be guessed from other numbers, while a lookup
 * inverts it in a few multiplications and reads one table slot. Each
 * multiplication depends on the one before, and together they cost a fifth of a
 * small message, so a memo keeps the newest numbers with their indices. The
 * memo caches the permutation, not the objects: an entry stays true for the
 * life of the map, and the slot decides whether the object exists. Only numbers
 * that were found enter the memo, so that a peer that guesses numbers evicts
 * none.
 * Slots are reused oldest first, each time with the next generation, so that a
 * freed number stays unknown as long as possible: until 131,072 others were
 * given out, unless the table is full. At a source they are at least 512 times
 * as many as there are generations. For QPNs that is longer than timewait.
 *
 * The indices come from a range that grows from 0, or from a source that leases
 * ranges of them. Where several maps with one key share all numbers, each has
 * ranges of its own (lib/engine/core/lease.h), or a prefix: the upper bits of
 * its values.
 *
 * Threads: add and del: any (one lock); get: workers, without a lock. The
 * object that get returned stays valid for the rest of the turn
 * (lib/engine/sched/worker.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/spin.h"

#define ROOST_IDMAP_PAGE_SHIFT 10
#define ROOST_IDMAP_ROUNDS 6
#define ROOST_IDMAP_MEMO_LEN 2048u

struct roost_idmap_slot {
	_Atomic(void *) object; /* NULL: free */
	_Atomic uint32_t id;    /* valid while object is not NULL */
	uint32_t generation;
	uint32_t next_free; /* index; ROOST_IDMAP_NONE: last */
};

/* Leases indices. */
struct roost_idmap_source {
	/* Lease nb more indices, from *first on; *nb > 0. Returns 0, or -errno:
	 * there are none now. Thread: callers of roost_idmap_add(), several at
	 * a time; not under the map's lock.
	 */
	int (*lease)(void *ctx, uint32_t *first, uint32_t *nb);
	void *ctx;
};

struct roost_idmap {
	unsigned int half_bits;   /* half the bits of a number: 12 or 16 */
	unsigned int index_bits;  /* low bits of a value that are the index */
	unsigned int prefix_bits; /* its high bits that are prefix */
	uint32_t prefix;          /* shifted to its place */
	struct roost_idmap_source source; /* lease NULL: none */
	uint64_t round_key[ROOST_IDMAP_ROUNDS];
	/* Callback of the owner: true for numbers that must not be given out.
	 */
	bool (*reserved)(uint32_t id);
	struct roost_spin lock;
	uint32_t nb_slots; /* that may be used; grows by pages, or by leases */
	uint32_t nb_used;
	uint32_t nb_void;    /* slots whose numbers are all reserved */
	uint32_t nb_deleted; /* as far as it matters */
	uint32_t first_free, last_free;
	bool dry; /* the last lease failed */
	_Atomic(struct roost_idmap_slot *) *pages;
	/* At [id % ROOST_IDMAP_MEMO_LEN]: a number in the low 32 bits, its
	 * index in the high ones. Writers: all callers of roost_idmap_get();
	 * every value that they write is right.
	 */
	_Atomic uint64_t *memo;
};

/*
 * bits: 24 or 32, the width of a number; index_bits < bits: at most
 * 2^index_bits objects. Returns 0, -ENOMEM.
 */
int roost_idmap_init(struct roost_idmap *map, unsigned int bits,
		     unsigned int index_bits, const uint64_t seed[2],
		     bool (*reserved)(uint32_t id));
void roost_idmap_fini(struct roost_idmap *map);
/* Before the first add: all values have prefix in their upper prefix_bits bits;
 * prefix_bits + index_bits <= bits.
 */
void roost_idmap_set_prefix(struct roost_idmap *map, unsigned int prefix_bits,
			    uint32_t prefix);
/* Before the first add: indices come from the source. */
void roost_idmap_set_source(struct roost_idmap *map,
			    const struct roost_idmap_source *source);

/* Give object a number. Returns 0; -ENOSPC (all in use) or the error of the
 * source; -ENOMEM.
 */
int roost_idmap_add(struct roost_idmap *map, void *object, uint32_t *id);
/* A number that is in use is another object's from now on. */
void roost_idmap_set(struct roost_idmap *map, uint32_t id, void *object);
/* Forget a number that is in use. */
void roost_idmap_del(struct roost_idmap *map, uint32_t id);

uint32_t roost_idmap_permute(const struct roost_idmap *map, uint32_t value);
uint32_t roost_idmap_invert(const struct roost_idmap *map, uint32_t id);

/* The object of a number, or NULL. */
static inline void *roost_idmap_get(const struct roost_idmap *map, uint32_t id)
{
	_Atomic uint64_t *memo = &map->memo[id % ROOST_IDMAP_MEMO_LEN];
	uint64_t kept = atomic_load_explicit(memo, memory_order_relaxed);
	const struct roost_idmap_slot *page;
	bool known = (uint32_t)kept == id;
	void *object;
	uint32_t index;

	index = known ? (uint32_t)(kept >> 32)
		      : roost_idmap_invert(map, id) &
				((1u << map->index_bits) - 1);
	page = atomic_load_explicit(
		&map->pages[index >> ROOST_IDMAP_PAGE_SHIFT],
		memory_order_acquire);
	if (!page)
		return NULL;
	page += index & ((1u << ROOST_IDMAP_PAGE_SHIFT) - 1);
	object = atomic_load_explicit(&page->object, memory_order_acquire);
	if (!object ||
	    atomic_load_explicit(&page->id, memory_order_relaxed) != id)
		return NULL;
	if (!known)
		atomic_store_explicit(memo, (uint64_t)index << 32 | id,
				      memory_order_relaxed);
	return object;
}

#endif
