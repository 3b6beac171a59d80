/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/route.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/config/addr.h"

static bool is_unicast(const struct roost_gid *gid)
{
	if (roost_gid_is_v4(gid))
		return gid->b[12] != 0 && gid->b[12] < 224;
	return !roost_gid_is_zero(gid) && gid->b[0] != 0xff;
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

	if (roost_gid_is_v4(sgid) != v4 || !is_unicast(dgid))
		return -EHOSTUNREACH;
	if (is_on_link(&routes->on_link, dgid))
		*hop = *dgid;
	else if (!roost_gid_is_zero(gw))
		*hop = *gw;
	else
		return -EHOSTUNREACH;
	return 0;
}
