/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_HOST_H
#define ROOST_PMD_GLUE_HOST_HOST_H

/*
 * The IP host of a port: it has addresses, resolves neighbours, and answers
 * ARP, Neighbour Discovery and ping.
 *
 * If the kernel shares the port and owns an address, only the kernel answers
 * for this address; otherwise a peer would get two answers. (The kernel may
 * also answer RoCEv2 packets to such an address with ICMP port unreachable; no
 * RoCE stack gives up by it.) This kernel also has routes that are not in the
 * configuration, see kernel_route.
 *
 * The host owns the neighbour cache. It sends frames by send(), and decodes
 * received frames by the pure functions of arp.h, nd.h and echo.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engine/core/port_io.h"
#include "pmd_glue/kernel/nl_link.h"
#include "pmd_glue/host/route.h"

struct roost_groups;
struct roost_host;
struct roost_neigh;
struct roost_ping;
struct roost_ping_log;
struct roost_unreached;

/* The limits of the neighbour cache (neigh.h) that may be reached. */
enum roost_host_crowd {
	ROOST_CROWD_OF_STATION, /* unsolicited claims of one station */
	ROOST_CROWD_OF_CLAIMS,  /* unsolicited claims of all stations */
	ROOST_CROWD_IN_USE,     /* neighbours that are in use */
	ROOST_CROWDS,
};

struct roost_host_conf {
	uint8_t mac[6];
	struct roost_routes routes;
	/* Copy the frame and send it. Never blocks. Thread: any. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	/* Call roost_host_tick() now: it is due before the time that it last
	 * returned. Thread: any.
	 */
	void (*wake)(void *ctx);
	/* Does the kernel answer for this address? NULL: it never does.
	 * Thread: the control thread.
	 */
	bool (*kernel_owns)(void *ctx, const struct roost_gid *addr);
	/* As roost_nl_link_route(). Used for destinations that routes does not
	 * have. With addrs_are_kernels it also goes before routes, except
	 * before a configured gateway. NULL: there is no kernel. Thread: any.
	 */
	int (*kernel_route)(void *ctx, const struct roost_gid *sgid,
			    const struct roost_gid *dgid,
			    struct roost_nl_link_route *route);
	bool addrs_are_kernels;
	/* Station mac claims an address that we answer for. Repeated now and
	 * then while it goes on. Thread: the control thread.
	 */
	void (*conflict)(void *ctx, const struct roost_gid *addr,
			 const uint8_t mac[6]);
	/* A limit was reached; called once a minute for each kind. mac: the
	 * station, or NULL. crowded NULL: no report. Thread: any.
	 */
	void (*crowded)(void *ctx, enum roost_host_crowd crowd,
			const uint8_t *mac);
	/* A peer is not reached. hop: for NO_NEIGH only, else NULL; see
	 * roost_unreached_text(). unreached NULL: no report. Thread: any; for
	 * NO_NEIGH the control thread.
	 */
	void (*unreached)(void *ctx, const struct roost_unreached *what,
			  const struct roost_gid *hop);
	/* The multicast groups that QPs of the engine join; created before
	 * the first QP joins, and borrowed. NULL: the port receives every
	 * group.
	 */
	struct roost_groups *groups;
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_host_create(const struct roost_host_conf *conf,
		      struct roost_host **host);
/* Free the host. All references to neighbours have been put. */
void roost_host_destroy(struct roost_host *host);

/* The functions by which the engine uses the host; its wake is the wake of the
 * configuration. The host outlives the engine's port. (host_io.c)
 */
struct roost_addr_io roost_host_addr_io(struct roost_host *host);

/*
 * Find the next hop from sgid to dgid and take a reference to it; see resolve
 * in struct roost_addr_io. Waits up to four seconds for an answer. Returns 0,
 * -EHOSTUNREACH, -ETIMEDOUT, -ENOMEM, -ENOBUFS (the limit of neighbours in use
 * is reached; reported). Thread: any but the control thread; the caller holds
 * no turn.
 */
int roost_host_resolve(struct roost_host *host, const struct roost_gid *sgid,
		       const struct roost_gid *dgid,
		       struct roost_neigh **neigh);
/* As roost_host_resolve(), without waiting: the neighbour may have no MAC yet.
 * from_mac: as in roost_host_meet(). Thread: any.
 */
int roost_host_ask(struct roost_host *host, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   struct roost_neigh **neigh);
/*
 * Look up the next hop from sgid to dgid, as roost_neigh_look(). from_mac: the
 * source MAC of a frame that came from dgid to sgid; NULL: no frame came. If
 * dgid is on the link and not in the cache, from_mac becomes a claimed entry
 * (neigh.h); it does not change a known entry. Returns 0: the MAC of the next
 * hop is known; -EAGAIN: it is not known; -EHOSTUNREACH: no route; -ETIMEDOUT:
 * the next hop did not answer a short while ago. Thread: any.
 */
int roost_host_meet(struct roost_host *host, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, const uint8_t from_mac[6]);
/* Select our source address for dgid. Returns 0, -EHOSTUNREACH. Thread: any. */
int roost_host_source(struct roost_host *host, const struct roost_gid *dgid,
		      struct roost_gid *sgid);
/* As unreached in struct roost_addr_io. */
void roost_host_unreached(struct roost_host *host,
			  const struct roost_unreached *what);
/*
 * Send a request to ping->dgid, whose next hop was resolved a moment ago.
 * Returns 0; -EAGAIN (the next hop is not known any more), -EHOSTUNREACH,
 * -ETIMEDOUT, -EINVAL (roost_ping_build()). Thread: any. (host_ping.c)
 */
int roost_host_ping(struct roost_host *host, const struct roost_ping *ping);
/* From now on, replies go to the log; NULL: no more, and the log before is not
 * touched again. Thread: the control thread. (host_ping.c)
 */
void roost_host_hear(struct roost_host *host, struct roost_ping_log *log);
/* Copy the port's present routes and link-local address. Thread: any. */
void roost_host_routes(struct roost_host *host, struct roost_routes *routes,
		       struct roost_gid *link_local);
/* Thread: any. */
void roost_host_neigh_put(struct roost_host *host, struct roost_neigh *neigh);

/*
 * Take a received frame that is not RoCEv2; may change its bytes.
 * Thread: the control thread.
 */
void roost_host_input(struct roost_host *host, uint8_t *frame, size_t len_bytes,
		      uint64_t now_ns);
/* Run the timers of the neighbour cache. Returns the time in ns of the next
 * call; UINT64_MAX: none. Thread: the control thread.
 */
uint64_t roost_host_tick(struct roost_host *host, uint64_t now_ns);
/* Replace the port's addresses, and announce the new ones.
 * Thread: the control thread.
 */
void roost_host_set_addrs(struct roost_host *host,
			  const struct roost_prefixes *addrs);
/*
 * Change the port's MAC, after the engine was told, and announce it to the
 * neighbours. The kernel's addresses are announced, too: the kernel's own
 * announcements have the same content. Thread: the control thread.
 */
void roost_host_set_mac(struct roost_host *host, const uint8_t mac[6]);
/* The link came up: announce our addresses, and ask again for neighbours that
 * do not answer. Thread: the control thread.
 */
void roost_host_link_up(struct roost_host *host, uint64_t now_ns);

#endif
