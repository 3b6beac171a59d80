/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The host as the addresses of a port of the engine. */

#include "pmd_glue/host/groups.h"
#include "pmd_glue/host/host_priv.h"

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	return roost_host_resolve(ctx, sgid, dgid, neigh);
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	roost_host_neigh_put(ctx, neigh);
}

static int ask(void *ctx, const struct roost_gid *sgid,
	       const struct roost_gid *dgid, const uint8_t *from_mac,
	       struct roost_neigh **neigh)
{
	return roost_host_ask(ctx, sgid, dgid, from_mac, neigh);
}

static int meet(void *ctx, const struct roost_gid *sgid,
		const struct roost_gid *dgid, const uint8_t from_mac[6])
{
	return roost_host_meet(ctx, sgid, dgid, from_mac);
}

static int source(void *ctx, const struct roost_gid *dgid,
		  struct roost_gid *sgid)
{
	return roost_host_source(ctx, dgid, sgid);
}

static void wake(void *ctx)
{
	const struct roost_host *host = ctx;

	host->conf.wake(host->conf.ctx);
}

static int mcast_join(void *ctx, const struct roost_gid *group)
{
	const struct roost_host *host = ctx;

	return roost_groups_join(host->conf.groups, group);
}

static void mcast_leave(void *ctx, const struct roost_gid *group)
{
	const struct roost_host *host = ctx;

	roost_groups_leave(host->conf.groups, group);
}

static void unreached(void *ctx, const struct roost_unreached *what)
{
	roost_host_unreached(ctx, what);
}

struct roost_addr_io roost_host_addr_io(struct roost_host *host)
{
	return (struct roost_addr_io){
		.ctx = host,
		.resolve = resolve,
		.neigh_put = neigh_put,
		.ask = ask,
		.meet = meet,
		.source = source,
		.wake = wake,
		.mcast_join = host->conf.groups ? mcast_join : NULL,
		.mcast_leave = host->conf.groups ? mcast_leave : NULL,
		.unreached = unreached,
	};
}
