/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ROUTE_H
#define ROOST_PMD_GLUE_HOST_ROUTE_H

/*
 * Next hops: the destination itself if it is on the link, or else the gateway.
 * Pure.
 */

#include <roost/config.h>

struct roost_routes {
	struct roost_prefixes on_link; /* the port's addresses and subnets */
	struct roost_gateways gw;
};

/* The index of addr in prefixes; prefixes->nb: not found. */
unsigned int roost_prefixes_find(const struct roost_prefixes *prefixes,
				 const struct roost_gid *addr);

/* Is gid an address that a station can have? Not a group, loopback, unspecified
 * or broadcast address, and not the broadcast address of a subnet in on_link.
 */
bool roost_route_is_unicast(const struct roost_prefixes *on_link,
			    const struct roost_gid *gid);

/*
 * Find the next hop from sgid to dgid. Link-local destinations are always on
 * the link. Returns 0, or -EHOSTUNREACH: dgid is in no subnet and there is no
 * gateway of its family; or dgid and sgid are of different families; or dgid is
 * no unicast address.
 */
int roost_route_next_hop(const struct roost_routes *routes,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, struct roost_gid *hop);

#endif
