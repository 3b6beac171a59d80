/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The addresses of a shared port, for the engine: the daemon knows them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/addr.h"
#include "pmd_glue/host/unreached.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/port_priv.h"

/* Groups that a new daemon did not join are asked for again. */
#define JOIN_LATER_NS 5000000000u

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

/* The engine joins a group once. Another daemon may begin at any time, so it is
 * remembered before it is joined.
 */
static int mcast_join(void *ctx, const struct roost_gid *group)
{
	struct roost_share_group *g = calloc(1, sizeof(*g));
	struct roost_share_port *p = ctx;
	int ret;

	if (!g)
		return -ENOSPC;
	g->gid = *group;
	pthread_mutex_lock(&p->lock);
	LIST_INSERT_HEAD(&p->groups, g, link);
	pthread_mutex_unlock(&p->lock);
	ret = mcast(p, ROOST_SHARE_JOIN, group);
	if (!ret)
		return 0;
	pthread_mutex_lock(&p->lock);
	LIST_REMOVE(g, link);
	pthread_mutex_unlock(&p->lock);
	free(g);
	return -ENOSPC;
}

static void mcast_leave(void *ctx, const struct roost_gid *group)
{
	struct roost_share_port *p = ctx;
	struct roost_share_group *g;

	pthread_mutex_lock(&p->lock);
	LIST_FOREACH(g, &p->groups, link)
		if (roost_gid_eq(&g->gid, group))
			break;
	if (g)
		LIST_REMOVE(g, link);
	pthread_mutex_unlock(&p->lock);
	free(g);
	mcast(p, ROOST_SHARE_LEAVE, group);
}

/* The daemon does not answer, or has no room now. */
static bool may_join_later(int error)
{
	return error == -ETIMEDOUT || error == -ENOTCONN || error == -ENOSPC;
}

static void tell_unjoined(const struct roost_share_port *p,
			  const struct roost_gid *group, int error)
{
	char text[ROOST_PREFIX_STRLEN];

	roost_report("%s: multicast group %s is lost: its daemon does not "
		     "join it again: %s; start the program again",
		     p->base.label, roost_addr_format(group, text),
		     strerror(-error));
}

/* Once for each daemon. */
static void tell_join_later(struct roost_share_port *p,
			    const struct roost_gid *group, int error)
{
	char text[ROOST_PREFIX_STRLEN];

	if (p->join_told)
		return;
	p->join_told = true;
	roost_report("%s: multicast group %s: its daemon does not join it now: "
		     "%s; it is asked again every 5 s",
		     p->base.label, roost_addr_format(group, text),
		     strerror(-error));
}

uint64_t roost_share_join_again(struct roost_share_port *p, uint64_t now_ns)
{
	struct roost_gid *gids = NULL;
	struct roost_share_group *g;
	unsigned int nb = 0;
	int ret = 0;

	if (!p->must_join)
		return UINT64_MAX;
	if (now_ns < p->join_at_ns)
		return p->join_at_ns;
	pthread_mutex_lock(&p->lock);
	LIST_FOREACH(g, &p->groups, link)
		nb++;
	if (nb > 0)
		gids = malloc(nb * sizeof(*gids));
	p->must_join = nb > 0 && !gids;
	nb = 0;
	if (gids)
		LIST_FOREACH(g, &p->groups, link)
			gids[nb++] = g->gid;
	pthread_mutex_unlock(&p->lock);
	/* Joined twice is joined once. A daemon that does not answer would keep
	 * us as long for each group.
	 */
	for (unsigned int i = 0;
	     i < nb && ret != -ENOTCONN && ret != -ETIMEDOUT; i++) {
		ret = mcast(p, ROOST_SHARE_JOIN, &gids[i]);
		if (may_join_later(ret)) {
			p->must_join = true;
			tell_join_later(p, &gids[i], ret);
		} else if (ret && ret != -ENODEV) {
			tell_unjoined(p, &gids[i], ret);
		}
	}
	free(gids);
	/* The requests have taken their time. */
	p->join_at_ns = roost_now_ns() + JOIN_LATER_NS;
	return p->must_join ? p->join_at_ns : UINT64_MAX;
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
