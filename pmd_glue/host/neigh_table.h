/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_NEIGH_TABLE_H
#define ROOST_PMD_GLUE_HOST_NEIGH_TABLE_H

/*
 * The table of the neighbour cache: its entries by address, by timer, and by
 * rank.
 *
 * An entry has one of three ranks. ROOST_NEIGH_HELD: it has a reference, and is
 * never removed. ROOST_NEIGH_IDLE: it had a reference, or answered a question
 * of ours. ROOST_NEIGH_CLAIMED: a station announced it unasked, and no program
 * here has used it. There is a limit for each rank, and for the claims of one
 * station (MAC). If a limit is exceeded, the oldest entry that counts towards
 * it is removed, so claims displace only claims.
 *
 * The table grows with its entries. The hash has a secret, so that a station
 * cannot choose addresses that fall into one bucket. Not locked, as the cache.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pmd_glue/host/neigh.h"

enum roost_neigh_rank {
	ROOST_NEIGH_HELD,
	ROOST_NEIGH_IDLE,
	ROOST_NEIGH_CLAIMED,
	ROOST_NEIGH_RANKS,
};

/* A station (MAC) that claims addresses. */
struct roost_neigh_station;

struct roost_neigh_entry {
	struct roost_neigh pub;
	struct roost_gid addr;
	enum roost_neigh_state state;
	enum roost_neigh_rank rank; /* writer: the table */
	unsigned int refs;
	unsigned int tries; /* questions since the state began */
	/* When its timer expires; UINT64_MAX: never. Writer: the table. */
	uint64_t due_ns;
	size_t due_place;                    /* index in the table's heap */
	struct roost_neigh_station *station; /* rank CLAIMED only */
	LIST_ENTRY(roost_neigh_entry) bucket_link;
	TAILQ_ENTRY(roost_neigh_entry) age_link; /* of its rank */
	TAILQ_ENTRY(roost_neigh_entry) station_link;
};

TAILQ_HEAD(roost_neigh_list, roost_neigh_entry);
LIST_HEAD(roost_neigh_bucket, roost_neigh_entry);

struct roost_neigh_table {
	uint64_t secret[2];
	struct roost_neigh_bucket *buckets;
	size_t nb_buckets; /* a power of two */
	/* All entries: a heap by due_ns, the earliest one first. */
	struct roost_neigh_entry **due;
	size_t nb, room;
	unsigned int nb_of_rank[ROOST_NEIGH_RANKS];
	/* One list per rank, the oldest entry first. */
	struct roost_neigh_list by_age[ROOST_NEIGH_RANKS];
	LIST_HEAD(, roost_neigh_station) * stations;
};

/* Returns 0, -ENOMEM. */
int roost_neigh_table_init(struct roost_neigh_table *t);
/* Frees all entries, too. */
void roost_neigh_table_clear(struct roost_neigh_table *t);

/* NULL: there is none. */
struct roost_neigh_entry *roost_neigh_find(const struct roost_neigh_table *t,
					   const struct roost_gid *addr);
/* A new entry, IDLE and never due. Returns NULL: no memory. */
struct roost_neigh_entry *roost_neigh_insert(struct roost_neigh_table *t,
					     const struct roost_gid *addr);
void roost_neigh_forget(struct roost_neigh_table *t,
			struct roost_neigh_entry *e);
void roost_neigh_set_due(struct roost_neigh_table *t,
			 struct roost_neigh_entry *e, uint64_t due_ns);
/* The entry that is due first; NULL: the table is empty. */
struct roost_neigh_entry *
roost_neigh_first_due(const struct roost_neigh_table *t);

/* Set the rank to HELD or IDLE; the entry becomes the youngest of its rank. The
 * oldest entry beyond the rank's limit is forgotten.
 */
void roost_neigh_set_rank(struct roost_neigh_table *t,
			  struct roost_neigh_entry *e,
			  enum roost_neigh_rank rank);

enum roost_neigh_crowd {
	ROOST_NEIGH_ROOM,
	ROOST_NEIGH_STATION_FULL, /* an older claim of it was forgotten */
	ROOST_NEIGH_CLAIMS_FULL,  /* the oldest claim was forgotten */
};

/* Set the rank to CLAIMED, by station mac; the entry becomes the youngest
 * claim. Returns enum roost_neigh_crowd; -ENOMEM: the entry itself was
 * forgotten.
 */
int roost_neigh_claim(struct roost_neigh_table *t, struct roost_neigh_entry *e,
		      const uint8_t mac[6]);

/* A keyed hash of addr, spread over all 32 bits. */
uint32_t roost_neigh_hash(const struct roost_neigh_table *t,
			  const struct roost_gid *addr);

#endif
