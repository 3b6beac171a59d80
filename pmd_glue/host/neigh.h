/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_NEIGH_H
#define ROOST_PMD_GLUE_HOST_NEIGH_H

/*
 * The neighbour cache of one port: for each IP address on the link the MAC, and
 * the state of RFC 4861 (7.3.2), for ARP as well.
 *
 * No clock, no I/O: the time is an argument, questions go out by ask(). A
 * reference counts as use, because the engine does not tell when it sends: an
 * entry with a reference is probed; an entry without one expires. If a
 * neighbour stops answering, its last MAC stays published: the transport's
 * timers decide whether a peer is dead.
 *
 * Not locked: the caller (pmd_glue/host/host.c) holds one lock around all
 * calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/port_io.h"

/*
 * Limits on the number of entries: with a reference (used by connections);
 * without one, which are forgotten a minute later; and claimed ones, which a
 * station announced unasked and no program here has used: of all stations, and
 * of one station.
 */
#define ROOST_NEIGHS_MAX 262144u
#define ROOST_NEIGHS_IDLE_MAX 4096u
#define ROOST_NEIGHS_CLAIMED_MAX 1024u
#define ROOST_NEIGHS_CLAIMED_BY_ONE_MAX 16u

enum roost_neigh_state {
	ROOST_NEIGH_INCOMPLETE, /* asked by broadcast, no answer yet */
	ROOST_NEIGH_REACHABLE,  /* answered a short while ago */
	ROOST_NEIGH_STALE,      /* MAC known, but old or not confirmed */
	ROOST_NEIGH_PROBE,      /* asked the known MAC, no answer yet */
	ROOST_NEIGH_FAILED,     /* no answer; asked again now and then */
	ROOST_NEIGH_STATES,
};

struct roost_neigh_cache;

struct roost_neigh_conf {
	/* Send one question for addr to mac; NULL: to all stations. */
	void (*ask)(void *ctx, const struct roost_gid *addr,
		    const uint8_t *mac);
	/* An older claim was forgotten, because station mac has too many; mac
	 * NULL: all stations together. crowded NULL: no report.
	 */
	void (*crowded)(void *ctx, const uint8_t *mac);
	/* An entry with a reference has failed without ever having a MAC, after
	 * questions for tried_ns. silent NULL: no report.
	 */
	void (*silent)(void *ctx, const struct roost_gid *addr,
		       uint64_t tried_ns);
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_neigh_cache_create(const struct roost_neigh_conf *conf,
			     struct roost_neigh_cache **cache);
/* Free the cache. All references have been put. */
void roost_neigh_cache_destroy(struct roost_neigh_cache *cache);

/*
 * Get the entry for addr and take a reference. Sends a question at once if the
 * entry is new or has failed. Returns 0, -ENOMEM, -ENOBUFS (ROOST_NEIGHS_MAX
 * entries have references).
 */
int roost_neigh_get(struct roost_neigh_cache *cache,
		    const struct roost_gid *addr, uint64_t now_ns,
		    struct roost_neigh **neigh);
void roost_neigh_put(struct roost_neigh_cache *cache, struct roost_neigh *neigh,
		     uint64_t now_ns);
/*
 * Look up addr, without a question and without a reference. Returns 0: its MAC
 * is known; -EAGAIN: it is not known; -ETIMEDOUT: it did not answer a short
 * while ago, so the caller need not wait. With -ETIMEDOUT one question is sent,
 * at most once a second, to find a station that is back.
 */
int roost_neigh_look(struct roost_neigh_cache *cache,
		     const struct roost_gid *addr, uint64_t now_ns);
enum roost_neigh_state roost_neigh_state(const struct roost_neigh *neigh);

/* The content of a neighbour's packet. */
struct roost_neigh_msg {
	struct roost_gid addr;
	uint8_t mac[6];
	bool solicited; /* an answer to us: our frames reach the neighbour */
	bool override;  /* replace a known MAC */
	bool create;    /* make an entry (a claim) if there is none */
};

/* Take a neighbour's packet. Returns true if an entry left INCOMPLETE or
 * FAILED.
 */
bool roost_neigh_update(struct roost_neigh_cache *cache,
			const struct roost_neigh_msg *word, uint64_t now_ns);

/* The port's own MAC changed: all known entries get a new generation. */
void roost_neigh_renew(struct roost_neigh_cache *cache);

/* When the first timer is due; UINT64_MAX: none runs. */
uint64_t roost_neigh_due_ns(const struct roost_neigh_cache *cache);

/* The link came up: ask again at once for all entries that have failed. */
void roost_neigh_link_up(struct roost_neigh_cache *cache, uint64_t now_ns);

/*
 * Run the timers that are due; a bounded number of them per call. *failed
 * becomes true if an entry went to FAILED. Returns the time in ns of the next
 * call; UINT64_MAX: none.
 */
uint64_t roost_neigh_tick(struct roost_neigh_cache *cache, uint64_t now_ns,
			  bool *failed);

#endif
