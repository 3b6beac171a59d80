/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_HOST_PRIV_H
#define ROOST_PMD_GLUE_HOST_HOST_PRIV_H

/*
 * Inside of the host: for host.c, what it says and hears, and host_hop.c, whom
 * it knows.
 */

#include <pthread.h>

#include "pmd_glue/host/conflict.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/neigh.h"

#define ROOST_HOST_SILENT_MAX 8u

struct roost_host {
	/* Constant, but for MAC and addresses: writer the control thread, under
	 * the lock.
	 */
	struct roost_host_conf conf;
	struct roost_gid link_local;      /* by the MAC */
	struct roost_neigh self;          /* an address of our own */
	struct roost_conflicts conflicts; /* the control thread's */
	pthread_mutex_t lock;             /* around the cache, and the above */
	pthread_cond_t changed;           /* an entry got a MAC, or failed */
	struct roost_neigh_cache *neighs;
	/* The last gateway that was asked for, and whom it leads to. */
	struct roost_gid via, via_dgid;
	/* Who did not answer, not told yet: of one roost_host_tick(). */
	struct {
		struct roost_gid addr, dgid; /* the second: behind it */
		uint64_t tried_ns;
	} silent[ROOST_HOST_SILENT_MAX];
	unsigned int nb_silent;
	uint64_t crowd_quiet_until_ns[ROOST_CROWDS]; /* nothing is told */
};

/* All three: under the lock, or by the control thread. */

bool roost_host_is_ours(const struct roost_host *host,
			const struct roost_gid *addr);
/* Which of our addresses speaks to addr. */
struct roost_gid roost_host_source_for(const struct roost_host *host,
				       const struct roost_gid *addr);
/* There are too many; said now and then. mac: of the station, or NULL. */
void roost_host_tell_crowd(struct roost_host *host, enum roost_host_crowd crowd,
			   const uint8_t *mac);

#endif
