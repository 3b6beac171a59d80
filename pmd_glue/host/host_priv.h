/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_HOST_PRIV_H
#define ROOST_PMD_GLUE_HOST_HOST_PRIV_H

/*
 * Private to host.c (frames in and out) and host_hop.c (next hops).
 */

#include <pthread.h>

#include "pmd_glue/host/conflict.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/neigh.h"

#define ROOST_HOST_SILENT_MAX 8u

struct roost_host {
	/* Constant, except for MAC and addresses. Writer: the control thread,
	 * under the lock.
	 */
	struct roost_host_conf conf;
	struct roost_gid link_local; /* of the MAC; written as conf */
	struct roost_neigh self;     /* the neighbour of our own addresses */
	struct roost_conflicts conflicts; /* the control thread alone */
	pthread_mutex_t lock;   /* around the cache and the fields above */
	pthread_cond_t changed; /* an entry got a MAC, or failed */
	struct roost_neigh_cache *neighs;
	uint64_t due_ns;              /* when roost_host_tick() runs next */
	struct roost_ping_log *pings; /* the control thread alone; NULL: none */
	/* The last gateway that was asked for, and the destination behind it.
	 */
	struct roost_gid via, via_dgid;
	/* Neighbours that did not answer, to be reported by roost_host_tick().
	 */
	struct {
		struct roost_gid addr, dgid; /* dgid: destination behind addr */
		uint64_t tried_ns;
	} silent[ROOST_HOST_SILENT_MAX];
	unsigned int nb_silent;
	uint64_t crowd_quiet_until_ns[ROOST_CROWDS]; /* no report before */
};

/* A frame that is neither ARP nor ND nor an echo request: a reply to a ping, or
 * a question for the time. (host_ping.c)
 */
void roost_host_input_ping(struct roost_host *host, uint8_t *frame,
			   size_t len_bytes, uint64_t now_ns);
/* Do we answer for the address? Not for the kernel's. */
bool roost_host_answers(const struct roost_host *host,
			const struct roost_gid *addr);

/* The next three: under the lock, or on the control thread. */

bool roost_host_is_ours(const struct roost_host *host,
			const struct roost_gid *addr);
/* Our source address for addr; 0.0.0.0: there is none. */
struct roost_gid roost_host_source_for(const struct roost_host *host,
				       const struct roost_gid *addr);
/* Report a limit that was reached, now and then. mac: the station, or NULL. */
void roost_host_tell_crowd(struct roost_host *host, enum roost_host_crowd crowd,
			   const uint8_t *mac);

#endif
