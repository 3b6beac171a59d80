/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_ROUTE_H
#define ROOST_ENGINE_CORE_ROUTE_H

/*
 * The port and address of a device that lead to a peer, and the next hop to it,
 * for callers that may not block for the network.
 *
 * Thread: any, not while holding the turn.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_dev;
struct roost_neigh;
struct roost_unreached;

struct roost_route {
	struct roost_gid sgid;
	uint8_t port_num;
	uint8_t sgid_index;
};

/*
 * Find the route to dgid from sgid; sgid NULL: from the address that fits best.
 * Sends no packet. Returns 0; -EADDRNOTAVAIL (sgid is not an address of the
 * device), -EINVAL (two families, or an address that no host can have),
 * -EHOSTUNREACH.
 */
int roost_dev_route(struct roost_dev *dev, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, struct roost_route *route);

/* The place of gid in a port's table. Returns 0, -EADDRNOTAVAIL. */
int roost_dev_find_gid(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_gid *gid, uint8_t *index);

/*
 * Ask for the next hop of a route and take a reference. Its MAC may come later;
 * the services run then. from_mac: the source MAC of a frame from dgid; NULL:
 * none. *neigh becomes NULL when dgid is an address of this device or a group.
 * Returns 0, -EHOSTUNREACH, -ENOMEM, -ENOBUFS, and, from a port that can only
 * block, -ETIMEDOUT.
 */
int roost_dev_ask(struct roost_dev *dev, const struct roost_route *route,
		  const struct roost_gid *dgid, const uint8_t *from_mac,
		  struct roost_neigh **neigh);
/*
 * A frame came from dgid with the source MAC from_mac: would a QP that answers
 * dgid have to wait for the network? Sends no packet. Returns 0 (no), -EAGAIN
 * (yes), -EHOSTUNREACH, -ETIMEDOUT (the next hop was asked and did not answer).
 */
int roost_dev_meet(struct roost_dev *dev, const struct roost_route *route,
		   const struct roost_gid *dgid, const uint8_t from_mac[6]);
/* Print a line for the user: why a peer cannot be reached from that port;
 * port_num 0: from any port. Thread: any, also holding the turn, if port_num is
 * not 0.
 */
void roost_dev_tell_unreached(struct roost_dev *dev, uint8_t port_num,
			      const struct roost_unreached *what);
/*
 * Peers that say that nobody listens to RoCE there (ICMP port unreachable). It
 * is a hint: anybody may forge it, and the kernel may say so of its addresses
 * while Roost listens to them. The last few are kept, and the services of the
 * device run; one of them takes each by roost_dev_next_refused(), which returns
 * false when there is none.
 */
void roost_dev_refused(struct roost_dev *dev, const struct roost_gid *peer);
bool roost_dev_next_refused(struct roost_dev *dev, struct roost_gid *peer);
/* Give a reference back; neigh may be NULL. */
void roost_dev_neigh_put(struct roost_dev *dev, uint8_t port_num,
			 struct roost_neigh *neigh);

#endif
