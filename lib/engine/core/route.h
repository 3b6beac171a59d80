/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_ROUTE_H
#define ROOST_ENGINE_CORE_ROUTE_H

/*
 * Which port and which address of a device lead to a peer, and who is next on
 * the way, for those who may not block for the network.
 *
 * Thread: any, not while holding the turn.
 */

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
 * From sgid, or from the address that fits best where sgid is NULL, to dgid.
 * Asks nobody. Returns 0; -EADDRNOTAVAIL (sgid is not ours), -EINVAL (two
 * families, no address of a station), -EHOSTUNREACH.
 */
int roost_dev_route(struct roost_dev *dev, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, struct roost_route *route);

/* The place of gid in a port's table. Returns 0, -EADDRNOTAVAIL. */
int roost_dev_find_gid(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_gid *gid, uint8_t *index);

/*
 * Ask for the next hop of a route and take a reference. Its MAC may come
 * later; the services are run then. from_mac: the source of a frame that came
 * from dgid, or NULL. *neigh becomes NULL when dgid is ourselves or a group.
 * Returns 0, -EHOSTUNREACH, -ENOMEM, -ENOBUFS, and where the port cannot but
 * wait, -ETIMEDOUT.
 */
int roost_dev_ask(struct roost_dev *dev, const struct roost_route *route,
		  const struct roost_gid *dgid, const uint8_t *from_mac,
		  struct roost_neigh **neigh);
/*
 * A frame came from dgid, with the source from_mac: would a QP that answers
 * there have to wait for the network? Asks nobody. Returns 0 (no), -EAGAIN,
 * -EHOSTUNREACH, -ETIMEDOUT (in vain).
 */
int roost_dev_meet(struct roost_dev *dev, const struct roost_route *route,
		   const struct roost_gid *dgid, const uint8_t from_mac[6]);
/* Tell the user why a peer is not reached from that port; port_num 0: from any.
 * Thread: any, also holding the turn, if port_num is not 0.
 */
void roost_dev_tell_unreached(struct roost_dev *dev, uint8_t port_num,
			      const struct roost_unreached *what);
/* NULL is fine. */
void roost_dev_neigh_put(struct roost_dev *dev, uint8_t port_num,
			 struct roost_neigh *neigh);

#endif
