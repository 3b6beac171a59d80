/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_NEIGH_H
#define ROOST_PMD_GLUE_HOST_NEIGH_H

/*
 * The neighbour cache of one port: which MAC has which address on the link,
 * and how sure we are of it. States as in RFC 4861 (7.3.2), for ARP as well.
 *
 * No clock, no I/O: the time is an argument, questions go out through ask().
 * A reference counts as use: the engine does not tell when it sends, so an
 * address path that holds an entry keeps it probed, and an entry nobody holds
 * just grows old. An entry that stops answering keeps its last MAC published:
 * whether a peer is dead is for the transport's timers to find.
 *
 * Not locked: the caller (pmd_glue/host/host.c) holds one lock around all
 * calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/dev.h>

/*
 * Bounds. Entries that are held: what programs and their connections use. Those
 * that were, which are forgotten a minute later. And those that a station said
 * of itself unasked, and nobody has spoken to: of all stations, and of one.
 */
#define ROOST_NEIGHS_MAX 262144u
#define ROOST_NEIGHS_IDLE_MAX 4096u
#define ROOST_NEIGHS_CLAIMED_MAX 1024u
#define ROOST_NEIGHS_CLAIMED_BY_ONE_MAX 16u

enum roost_neigh_state {
	ROOST_NEIGH_INCOMPLETE, /* asked everybody, no answer yet */
	ROOST_NEIGH_REACHABLE,  /* answered a short while ago */
	ROOST_NEIGH_STALE,      /* known, but for longer, or only by hearsay */
	ROOST_NEIGH_PROBE,      /* asked the known MAC, no answer yet */
	ROOST_NEIGH_FAILED,     /* nobody answers; asked again now and then */
	ROOST_NEIGH_STATES,
};

struct roost_neigh_cache;

struct roost_neigh_conf {
	/* Send one question for addr, to mac, or to everybody where mac is
	 * NULL.
	 */
	void (*ask)(void *ctx, const struct roost_gid *addr,
		    const uint8_t *mac);
	/* There are too many claims, those of mac or, where that is NULL, those
	 * of all together: an older one was forgotten. NULL: tell nobody.
	 */
	void (*crowded)(void *ctx, const uint8_t *mac);
	/* An entry that somebody holds has failed, and never had a MAC: it was
	 * asked for that long. NULL: tell nobody.
	 */
	void (*silent)(void *ctx, const struct roost_gid *addr,
		       uint64_t tried_ns);
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_neigh_cache_create(const struct roost_neigh_conf *conf,
			     struct roost_neigh_cache **cache);
/* All references have been put. */
void roost_neigh_cache_destroy(struct roost_neigh_cache *cache);

/*
 * The entry for addr with a reference; asks at once for a new or failed one.
 * Returns 0, -ENOMEM, -ENOBUFS (ROOST_NEIGHS_MAX entries are held).
 */
int roost_neigh_get(struct roost_neigh_cache *cache,
		    const struct roost_gid *addr, uint64_t now_ns,
		    struct roost_neigh **neigh);
void roost_neigh_put(struct roost_neigh_cache *cache, struct roost_neigh *neigh,
		     uint64_t now_ns);
/*
 * Asks nobody and takes no reference. Returns 0: its MAC is known; -EAGAIN: it
 * is not; -ETIMEDOUT: nobody answered a short while ago, and waiting would be
 * in vain. Then one more question goes out, once a second at most, so that who
 * is there again is found.
 */
int roost_neigh_look(struct roost_neigh_cache *cache,
		     const struct roost_gid *addr, uint64_t now_ns);
enum roost_neigh_state roost_neigh_state(const struct roost_neigh *neigh);

/* What a packet of a neighbour says. */
struct roost_neigh_word {
	struct roost_gid addr;
	uint8_t mac[6];
	bool solicited; /* an answer to us: it also receives what we send */
	bool override;  /* believe it against what is known */
	bool create;    /* make an entry where there is none: a claim */
};

/* Returns true if an entry left INCOMPLETE or FAILED by it. */
bool roost_neigh_hear(struct roost_neigh_cache *cache,
		      const struct roost_neigh_word *word, uint64_t now_ns);

/* The port has another MAC itself: all that are known get a new generation. */
void roost_neigh_renew(struct roost_neigh_cache *cache);

/* The link came back: ask again at once for all that do not answer. */
void roost_neigh_link_up(struct roost_neigh_cache *cache, uint64_t now_ns);

/*
 * Ask and forget what is due, some of it if that is much. *failed becomes true
 * if an entry went to FAILED. Returns when to call again; UINT64_MAX: nothing
 * waits.
 */
uint64_t roost_neigh_tick(struct roost_neigh_cache *cache, uint64_t now_ns,
			  bool *failed);

#endif
