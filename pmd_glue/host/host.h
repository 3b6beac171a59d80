/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_HOST_H
#define ROOST_PMD_GLUE_HOST_HOST_H

/*
 * The IP host that a port is: it has addresses, asks for neighbours and
 * answers ARP, Neighbour Discovery and ping.
 *
 * Where a kernel shares the port and owns an address, the kernel answers for
 * it and we keep silent, else the peer would hear two voices. (For such an
 * address the kernel may also answer RoCEv2 packets with ICMP port
 * unreachable, which no RoCE stack listens to.)
 *
 * Where there is such a kernel, it knows ways that nobody configured: see
 * kernel_route.
 *
 * Owns the neighbour cache. Frames leave through send(); what the frames of
 * others are worth is decided here, by pure functions of arp.h, nd.h, echo.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/kernel/nl_link.h"
#include "pmd_glue/host/route.h"

struct roost_host;
struct roost_neigh;
struct roost_unreached;

/* What there are too many of. */
enum roost_host_crowd {
	ROOST_CROWD_OF_STATION, /* addresses that one station claims unasked */
	ROOST_CROWD_OF_CLAIMS,  /* the same, of all stations */
	ROOST_CROWD_IN_USE,     /* neighbours that are in use */
	ROOST_CROWDS,
};

struct roost_host_conf {
	uint8_t mac[6];
	struct roost_routes routes;
	/* Copy the frame and send it. Never blocks. Thread: any. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	/* roost_host_tick() is due earlier than it said. Thread: any. */
	void (*wake)(void *ctx);
	/* Does a kernel answer for this address? NULL: there is none.
	 * Thread: the control thread.
	 */
	bool (*kernel_owns)(void *ctx, const struct roost_gid *addr);
	/* As roost_nl_link_route(). Asked for what the routes above do not say,
	 * and if the addresses are the kernel's own, before they are: of them
	 * only a gateway that was configured goes first. NULL: there is none.
	 * Thread: any.
	 */
	int (*kernel_route)(void *ctx, const struct roost_gid *sgid,
			    const struct roost_gid *dgid,
			    struct roost_nl_link_route *route);
	bool addrs_are_kernels;
	/* Another station, mac, has claimed an address that is ours alone; now
	 * and then, if it goes on. Thread: the control thread.
	 */
	void (*conflict)(void *ctx, const struct roost_gid *addr,
			 const uint8_t mac[6]);
	/* There was no room for a neighbour; once a minute of each kind. mac:
	 * the station, or NULL. NULL: tell nobody. Thread: any.
	 */
	void (*crowded)(void *ctx, enum roost_host_crowd crowd,
			const uint8_t *mac);
	/* Somebody is not reached. hop: NO_NEIGH only, else NULL; see
	 * roost_unreached_text(). NULL: tell nobody. Thread: any; NO_NEIGH: the
	 * control thread.
	 */
	void (*unreached)(void *ctx, const struct roost_unreached *what,
			  const struct roost_gid *hop);
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_host_create(const struct roost_host_conf *conf,
		      struct roost_host **host);
/* All neighbours have been put. */
void roost_host_destroy(struct roost_host *host);

/*
 * Find the next hop from sgid to dgid and take a reference; see resolve in
 * struct roost_port_io. Waits up to four seconds for an answer.
 * Returns 0, -EHOSTUNREACH, -ETIMEDOUT, -ENOMEM, -ENOBUFS (there are as many
 * neighbours in use as there may be; reported). Thread: any but the
 * control thread; not while holding a turn.
 */
int roost_host_resolve(struct roost_host *host, const struct roost_gid *sgid,
		       const struct roost_gid *dgid,
		       struct roost_neigh **neigh);
/* The same without waiting: the neighbour may have no MAC yet. from_mac: see
 * roost_host_meet(); NULL: there was no frame. Thread: any.
 */
int roost_host_ask(struct roost_host *host, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   struct roost_neigh **neigh);
/*
 * A frame has come from dgid to sgid, with the source from_mac; NULL: there was
 * none, and the caller asks what is known. Where dgid is
 * on the link and nothing is known of it, that is a claim to be it (neigh.h),
 * and not believed against what is known. Asks nobody and takes no reference.
 * Returns 0: the MAC of the next hop to there is known; -EAGAIN: it is not;
 * -EHOSTUNREACH, -ETIMEDOUT: no route, or nobody answered a short while ago.
 * Thread: any.
 */
int roost_host_meet(struct roost_host *host, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, const uint8_t from_mac[6]);
/* Which of our addresses speaks to dgid. Returns 0, -EHOSTUNREACH.
 * Thread: any.
 */
int roost_host_source(struct roost_host *host, const struct roost_gid *dgid,
		      struct roost_gid *sgid);
/* As unreached in struct roost_port_io. */
void roost_host_unreached(struct roost_host *host,
			  const struct roost_unreached *what);
/* The port's addresses, as they are now. Thread: any. */
void roost_host_routes(struct roost_host *host, struct roost_routes *routes,
		       struct roost_gid *link_local);
/* Thread: any. */
void roost_host_neigh_put(struct roost_host *host, struct roost_neigh *neigh);

/*
 * A received frame that is not RoCEv2; the bytes may be changed.
 * Thread: the control thread.
 */
void roost_host_input(struct roost_host *host, uint8_t *frame, size_t len_bytes,
		      uint64_t now_ns);
/* Ask, and forget, what is due. Returns when to call again; UINT64_MAX: not.
 * Thread: the control thread.
 */
uint64_t roost_host_tick(struct roost_host *host, uint64_t now_ns);
/* The port has these addresses from here on; new ones are announced.
 * Thread: the control thread.
 */
void roost_host_set_addrs(struct roost_host *host,
			  const struct roost_prefixes *addrs);
/*
 * The port has another MAC from here on; the engine knows it. Neighbours are
 * told for the kernel's addresses, too: the word is the same whoever says it.
 * Thread: the control thread.
 */
void roost_host_set_mac(struct roost_host *host, const uint8_t mac[6]);
/* The link is there: tell the neighbours our addresses, ask open questions
 * again. Thread: the control thread.
 */
void roost_host_link_up(struct roost_host *host, uint64_t now_ns);

#endif
