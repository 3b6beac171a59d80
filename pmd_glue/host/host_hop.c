/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Next hops, and source addresses for a destination. */

#include <errno.h>
#include <string.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/host_priv.h"
#include "pmd_glue/host/source.h"

#define RESOLVE_MAX_NS 4000000000ull
#define CROWD_QUIET_NS 60000000000ull

bool roost_host_is_ours(const struct roost_host *host,
			const struct roost_gid *addr)
{
	const struct roost_prefixes *own = &host->conf.routes.on_link;

	if (roost_gid_eq(addr, &host->link_local))
		return true;
	for (unsigned int i = 0; i < own->nb; i++)
		if (roost_gid_eq(addr, &own->v[i].gid))
			return true;
	return false;
}

bool roost_host_answers(const struct roost_host *host,
			const struct roost_gid *addr)
{
	return roost_host_is_ours(host, addr) &&
	       !(host->conf.kernel_owns &&
		 host->conf.kernel_owns(host->conf.ctx, addr));
}

/* Under the lock. */
void roost_host_tell_crowd(struct roost_host *host, enum roost_host_crowd crowd,
			   const uint8_t *mac)
{
	uint64_t now_ns = roost_now_ns();

	if (!host->conf.crowded || now_ns < host->crowd_quiet_until_ns[crowd])
		return;
	host->crowd_quiet_until_ns[crowd] = now_ns + CROWD_QUIET_NS;
	host->conf.crowded(host->conf.ctx, crowd, mac);
}

/* Our source address for addr; 0.0.0.0: there is none. */
struct roost_gid roost_host_source_for(const struct roost_host *host,
				       const struct roost_gid *addr)
{
	static const uint8_t none[4];
	struct roost_gid source = roost_gid_from_v4(none);

	roost_source_select(&host->conf.routes, &host->link_local, addr,
			    &source);
	return source;
}

/* Under the lock. */
static int get_neigh(struct roost_host *host, const struct roost_gid *hop,
		     uint64_t now_ns, struct roost_neigh **neigh)
{
	int ret = roost_neigh_get(host->neighs, hop, now_ns, neigh);

	if (ret == -ENOBUFS)
		roost_host_tell_crowd(host, ROOST_CROWD_IN_USE, NULL);
	return ret;
}

static bool has_mac(struct roost_neigh *neigh)
{
	return atomic_load_explicit(&neigh->mac_gen, memory_order_acquire) != 0;
}

/* Wait until the neighbour has a MAC or has failed. Under the lock. */
static int wait_for(struct roost_host *host, struct roost_neigh *neigh,
		    uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000u),
		.tv_nsec = (long)(until_ns % 1000000000u),
	};

	while (!has_mac(neigh)) {
		if (roost_neigh_state(neigh) == ROOST_NEIGH_FAILED)
			return -ETIMEDOUT;
		if (pthread_cond_timedwait(&host->changed, &host->lock,
					   &until) == ETIMEDOUT)
			return -ETIMEDOUT;
	}
	return 0;
}

static bool is_ours_locked(struct roost_host *host,
			   const struct roost_gid *addr)
{
	bool ours;

	pthread_mutex_lock(&host->lock);
	ours = roost_host_is_ours(host, addr);
	pthread_mutex_unlock(&host->lock);
	return ours;
}

/* Find the next hop. Not under the lock: kernel_route() is a system call. */
static int find_hop(struct roost_host *host, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, struct roost_gid *hop)
{
	const struct roost_host_conf *conf = &host->conf;
	struct roost_nl_link_route route;
	bool is_settled;
	int ret;

	pthread_mutex_lock(&host->lock);
	ret = roost_route_next_hop(&conf->routes, sgid, dgid, hop);
	pthread_mutex_unlock(&host->lock);
	if (!conf->kernel_route || roost_gid_is_link_local(dgid) ||
	    roost_gid_is_v4(sgid) != roost_gid_is_v4(dgid))
		return ret;
	/* Settled: by a configured gateway, or the addresses are not the
	 * kernel's.
	 */
	is_settled = ret == 0 &&
		     (!conf->addrs_are_kernels || !roost_gid_eq(hop, dgid));
	if (is_settled ||
	    conf->kernel_route(conf->ctx, sgid, dgid, &route) != 0)
		return ret;
	*hop = route.hop;
	return 0;
}

void roost_host_unreached(struct roost_host *host,
			  const struct roost_unreached *what)
{
	struct roost_gid hop = what->dgid;

	if (!host->conf.unreached)
		return;
	if (what->cause != ROOST_UNREACHED_NO_NEIGH) {
		host->conf.unreached(host->conf.ctx, what, NULL);
		return;
	}
	find_hop(host, &what->sgid, &what->dgid, &hop);
	host->conf.unreached(host->conf.ctx, what, &hop);
}

void roost_host_routes(struct roost_host *host, struct roost_routes *routes,
		       struct roost_gid *link_local)
{
	pthread_mutex_lock(&host->lock);
	*routes = host->conf.routes;
	*link_local = host->link_local;
	pthread_mutex_unlock(&host->lock);
}

/* As find_hop(), for a caller that wants to send; reports a missing route. */
static int next_hop(struct roost_host *host, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, struct roost_gid *hop)
{
	const struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_ROUTE,
		.sgid = *sgid,
		.dgid = *dgid,
	};
	int ret = find_hop(host, sgid, dgid, hop);

	if (ret == -EHOSTUNREACH) {
		roost_host_unreached(host, &what);
	} else if (ret == 0 && !roost_gid_eq(hop, dgid)) {
		pthread_mutex_lock(&host->lock);
		host->via = *hop;
		host->via_dgid = *dgid;
		pthread_mutex_unlock(&host->lock);
	}
	return ret;
}

int roost_host_resolve(struct roost_host *host, const struct roost_gid *sgid,
		       const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	uint64_t now_ns = roost_now_ns();
	struct roost_gid hop;
	int ret;

	if (is_ours_locked(host, dgid)) {
		*neigh = &host->self;
		return 0;
	}
	ret = next_hop(host, sgid, dgid, &hop);
	if (ret)
		return ret;
	pthread_mutex_lock(&host->lock);
	ret = roost_neigh_look(host->neighs, &hop, now_ns);
	if (ret == -ETIMEDOUT)
		goto nobody;
	ret = get_neigh(host, &hop, now_ns, neigh);
	if (ret)
		goto unlock;
	if (!has_mac(*neigh)) {
		host->conf.wake(host->conf.ctx);
		ret = wait_for(host, *neigh, now_ns + RESOLVE_MAX_NS);
	}
	if (ret == 0)
		goto unlock;
	roost_neigh_put(host->neighs, *neigh, roost_now_ns());
nobody:
	if (!roost_gid_eq(&hop, dgid))
		ret = -EHOSTUNREACH;
unlock:
	pthread_mutex_unlock(&host->lock);
	return ret;
}

/* Under the lock. */
static void learn(struct roost_host *host, const struct roost_gid *hop,
		  const struct roost_gid *dgid, const uint8_t *from_mac)
{
	struct roost_neigh_msg word = { .addr = *dgid, .create = true };

	if (!from_mac || !roost_gid_eq(hop, dgid) ||
	    !roost_mac_is_station(from_mac) ||
	    memcmp(from_mac, host->conf.mac, 6) == 0 ||
	    roost_neigh_look(host->neighs, dgid, roost_now_ns()) == 0)
		return;
	memcpy(word.mac, from_mac, 6);
	if (roost_neigh_update(host->neighs, &word, roost_now_ns()))
		pthread_cond_broadcast(&host->changed);
}

int roost_host_meet(struct roost_host *host, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, const uint8_t from_mac[6])
{
	struct roost_gid hop;
	int ret;

	if (is_ours_locked(host, dgid))
		return 0;
	ret = find_hop(host, sgid, dgid, &hop);
	if (ret)
		return ret;
	pthread_mutex_lock(&host->lock);
	learn(host, &hop, dgid, from_mac);
	ret = roost_neigh_look(host->neighs, &hop, roost_now_ns());
	pthread_mutex_unlock(&host->lock);
	return ret;
}

int roost_host_ask(struct roost_host *host, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   struct roost_neigh **neigh)
{
	struct roost_gid hop;
	bool wake;
	int ret;

	if (is_ours_locked(host, dgid)) {
		*neigh = &host->self;
		return 0;
	}
	ret = next_hop(host, sgid, dgid, &hop);
	if (ret)
		return ret;
	pthread_mutex_lock(&host->lock);
	learn(host, &hop, dgid, from_mac);
	ret = get_neigh(host, &hop, roost_now_ns(), neigh);
	/* The control thread would come too late for its timer. */
	wake = roost_neigh_due_ns(host->neighs) < host->due_ns;
	pthread_mutex_unlock(&host->lock);
	if (wake)
		host->conf.wake(host->conf.ctx);
	return ret;
}

/* The kernel's source address for dgid. Returns false: the kernel has no route,
 * or the address is not the port's.
 */
static bool kernel_source(struct roost_host *host, const struct roost_gid *dgid,
			  struct roost_gid *sgid)
{
	const struct roost_host_conf *conf = &host->conf;
	struct roost_nl_link_route route;

	if (!conf->kernel_route || !conf->addrs_are_kernels ||
	    conf->kernel_route(conf->ctx, NULL, dgid, &route) != 0 ||
	    !is_ours_locked(host, &route.source))
		return false;
	*sgid = route.source;
	return true;
}

int roost_host_source(struct roost_host *host, const struct roost_gid *dgid,
		      struct roost_gid *sgid)
{
	struct roost_gid hop;
	bool ours;

	if (is_ours_locked(host, dgid)) {
		*sgid = *dgid;
		return 0;
	}
	if (!kernel_source(host, dgid, sgid)) {
		pthread_mutex_lock(&host->lock);
		*sgid = roost_host_source_for(host, dgid);
		ours = roost_host_is_ours(host, sgid);
		pthread_mutex_unlock(&host->lock);
		if (!ours)
			return -EHOSTUNREACH;
	}
	return find_hop(host, sgid, dgid, &hop);
}

void roost_host_neigh_put(struct roost_host *host, struct roost_neigh *neigh)
{
	if (neigh == &host->self)
		return;
	pthread_mutex_lock(&host->lock);
	roost_neigh_put(host->neighs, neigh, roost_now_ns());
	pthread_mutex_unlock(&host->lock);
}
