/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The addresses of a shared port, for the engine: the daemon knows them. */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/unreached.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/port_priv.h"

/* Like an IP host: the line names the addresses, and what was tried. */
static void tell(struct roost_share_port *p, const struct roost_unreached *what)
{
	const struct roost_gid *hop =
		what->cause == ROOST_UNREACHED_NO_NEIGH ? &what->dgid : NULL;
	struct roost_unreached_port port = {
		.label = p->base.label,
		.is_shared = true,
	};
	char text[ROOST_UNREACHED_TEXT_MAX];

	roost_share_routes(p, &port.routes, &port.link_local);
	if (what->cause == ROOST_UNREACHED_DEAF && port.routes.on_link.nb != 0)
		return;
	if (!roost_unreached_is_new(port.label, what, hop, roost_now_ns()))
		return;
	roost_unreached_text(&port, what, hop, text);
	roost_report("%s", text);
}

static void unreached(void *ctx, const struct roost_unreached *what)
{
	tell(ctx, what);
}

static void tell_why(struct roost_share_port *p, int error, uint64_t begin_ns,
		     const struct roost_gid *sgid, const struct roost_gid *dgid)
{
	const struct roost_unreached what = {
		.cause = error == -ETIMEDOUT ? ROOST_UNREACHED_NO_NEIGH
					     : ROOST_UNREACHED_NO_ROUTE,
		.sgid = *sgid,
		.dgid = *dgid,
		.tried_ns = roost_now_ns() - begin_ns,
	};

	if (error == -EHOSTUNREACH || error == -ETIMEDOUT)
		tell(p, &what);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct roost_share_port *p = ctx;
	const uint64_t begin_ns = roost_now_ns();
	int ret = roost_share_neighs_resolve(p->neighs, sgid, dgid, NULL, false,
					     neigh);

	if (ret)
		tell_why(p, ret, begin_ns, sgid, dgid);
	return ret;
}

static int ask(void *ctx, const struct roost_gid *sgid,
	       const struct roost_gid *dgid, const uint8_t *from_mac,
	       struct roost_neigh **neigh)
{
	struct roost_share_port *p = ctx;
	int ret = roost_share_neighs_resolve(p->neighs, sgid, dgid, from_mac,
					     true, neigh);

	if (ret == -EHOSTUNREACH)
		tell_why(p, ret, roost_now_ns(), sgid, dgid);
	/* The daemon does not answer. */
	return ret == -ETIMEDOUT ? -EHOSTUNREACH : ret;
}

static int meet(void *ctx, const struct roost_gid *sgid,
		const struct roost_gid *dgid,
		const uint8_t from_mac[6] __attribute__((unused)))
{
	struct roost_share_port *p = ctx;

	return roost_share_neighs_meet(p->neighs, sgid, dgid);
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct roost_share_port *p = ctx;

	roost_share_neighs_put(p->neighs, neigh);
}

static int source(void *ctx, const struct roost_gid *dgid,
		  struct roost_gid *sgid)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_SOURCE,
		.addr.dgid = *dgid,
	};
	struct roost_share_port *p = ctx;

	if (roost_share_request(p->session, &msg) != 0)
		return -EHOSTUNREACH;
	*sgid = msg.reply.gid;
	return 0;
}

static int mcast(struct roost_share_port *p, enum roost_share_type type,
		 const struct roost_gid *group)
{
	struct roost_share_msg msg = {
		.type = (uint16_t)type,
		.addr.dgid = *group,
	};

	return roost_share_request(p->session, &msg);
}

static int mcast_join(void *ctx, const struct roost_gid *group)
{
	return mcast(ctx, ROOST_SHARE_JOIN, group) == 0 ? 0 : -ENOSPC;
}

static void mcast_leave(void *ctx, const struct roost_gid *group)
{
	mcast(ctx, ROOST_SHARE_LEAVE, group);
}

static void wake(void *ctx __attribute__((unused)))
{
	roost_control_wake();
}

void roost_share_set_addr_io(struct roost_share_port *p)
{
	p->base.addr_io = (struct roost_addr_io){
		.ctx = p,
		.resolve = resolve,
		.neigh_put = neigh_put,
		.ask = ask,
		.meet = meet,
		.source = source,
		.wake = wake,
		.mcast_join = mcast_join,
		.mcast_leave = mcast_leave,
		.unreached = unreached,
	};
}
