/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ROUTE_H
#define ROOST_PMD_GLUE_HOST_ROUTE_H

/*
 * Which neighbour a packet goes to: the destination itself when it is on the
 * link, the gateway when not. Pure.
 */

#include <roost/config.h>

struct roost_routes {
	struct roost_prefixes on_link; /* the port's addresses and subnets */
	struct roost_gateways gw;
};

/* The place of an address among others; their number: it is none of them. */
unsigned int roost_prefixes_find(const struct roost_prefixes *prefixes,
				 const struct roost_gid *addr);

/* Can a station have it? No group, loopback or unspecified address, nor a
 * broadcast address, be it that of a subnet here.
 */
bool roost_route_is_unicast(const struct roost_prefixes *on_link,
			    const struct roost_gid *gid);

/*
 * The next hop from sgid to dgid. Link-local destinations are always on the
 * link. Returns 0, or -EHOSTUNREACH: no subnet has it and there is no gateway
 * of its family, it is of another family than sgid, or no station can have it.
 */
int roost_route_next_hop(const struct roost_routes *routes,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, struct roost_gid *hop);

#endif
