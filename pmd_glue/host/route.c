/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/route.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/config/addr.h"
#include "lib/wire/bytes.h"

/* Is gid the last address of the IPv4 subnet, which is its broadcast address? A
 * /31 has none (RFC 3021).
 */
static bool is_broadcast_of(const struct roost_prefix *prefix,
			    const struct roost_gid *gid)
{
	uint32_t hosts;

	if (!roost_gid_is_v4(gid) || prefix->len_bits > 30 ||
	    !roost_prefix_contains(prefix, gid))
		return false;
	hosts = UINT32_MAX >> prefix->len_bits;
	return (roost_be32_get(&gid->b[12]) & hosts) == hosts;
}

bool roost_route_is_unicast(const struct roost_prefixes *on_link,
			    const struct roost_gid *gid)
{
	if (!roost_gid_is_unicast(gid))
		return false;
	for (unsigned int i = 0; i < on_link->nb; i++)
		if (is_broadcast_of(&on_link->v[i], gid))
			return false;
	return true;
}

static bool is_on_link(const struct roost_prefixes *on_link,
		       const struct roost_gid *gid)
{
	if (roost_gid_is_link_local(gid))
		return true;
	for (unsigned int i = 0; i < on_link->nb; i++)
		if (roost_prefix_contains(&on_link->v[i], gid))
			return true;
	return false;
}

unsigned int roost_prefixes_find(const struct roost_prefixes *prefixes,
				 const struct roost_gid *addr)
{
	unsigned int i = 0;

	while (i < prefixes->nb && !roost_gid_eq(&prefixes->v[i].gid, addr))
		i++;
	return i;
}

int roost_route_next_hop(const struct roost_routes *routes,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, struct roost_gid *hop)
{
	bool v4 = roost_gid_is_v4(dgid);
	const struct roost_gid *gw = v4 ? &routes->gw.v4 : &routes->gw.v6;

	if (roost_gid_is_v4(sgid) != v4 ||
	    !roost_route_is_unicast(&routes->on_link, dgid))
		return -EHOSTUNREACH;
	if (is_on_link(&routes->on_link, dgid))
		*hop = *dgid;
	else if (!roost_gid_is_zero(gw))
		*hop = *gw;
	else
		return -EHOSTUNREACH;
	return 0;
}
