/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Listeners: the services that have a listener, and their addresses.
 */

#include <errno.h>
#include <stdlib.h>

#include "cm/priv.h"
#include "lib/engine/core/lease.h"

/* How well a listener fits a request; the best one gets it. */
enum fit {
	FIT_NONE,
	FIT_ANY,
	FIT_FAMILY,
	FIT_ADDR,
};

static bool is_of_family(const struct roost_cm_listen_param *param,
			 const struct roost_gid *addr)
{
	if (param->family == ROOST_CM_FAMILY_ANY)
		return true;
	return roost_gid_is_v4(addr) == (param->family == ROOST_CM_FAMILY_IPV4);
}

static enum fit fits(const struct roost_cm_listen_param *param,
		     uint64_t service_id, const struct roost_cm_ip_hdr *ip)
{
	bool wildcard = roost_gid_is_zero(&param->addr);

	if (param->service_id != service_id)
		return FIT_NONE;
	if (!ip)
		return wildcard && param->family == ROOST_CM_FAMILY_ANY
			       ? FIT_ANY
			       : FIT_NONE;
	if (!wildcard)
		return roost_gid_eq(&param->addr, &ip->dst) ? FIT_ADDR
							    : FIT_NONE;
	if (!is_of_family(param, &ip->dst))
		return FIT_NONE;
	return param->family == ROOST_CM_FAMILY_ANY ? FIT_ANY : FIT_FAMILY;
}

struct roost_cm_listener *
roost_cm_find_listener(struct roost_cm *cm, uint64_t service_id,
		       const struct roost_cm_ip_hdr *ip)
{
	struct roost_cm_listener *l, *best = NULL;
	enum fit best_fit = FIT_NONE;

	LIST_FOREACH(l, &cm->listeners, link) {
		enum fit fit = fits(&l->param, service_id, ip);

		if (fit <= best_fit)
			continue;
		best_fit = fit;
		best = l;
	}
	return best;
}

static bool same_place(const struct roost_cm_listen_param *a,
		       const struct roost_cm_listen_param *b)
{
	return a->service_id == b->service_id &&
	       roost_gid_eq(&a->addr, &b->addr) &&
	       (!roost_gid_is_zero(&a->addr) || a->family == b->family);
}

static bool is_taken(struct roost_cm *cm,
		     const struct roost_cm_listen_param *param)
{
	const struct roost_cm_listener *l;

	LIST_FOREACH(l, &cm->listeners, link)
		if (same_place(&l->param, param))
			return true;
	return false;
}

static struct roost_service_claim
service_of(const struct roost_cm_listen_param *param)
{
	return (struct roost_service_claim){
		.id = param->service_id,
		.addr = param->addr,
		.family = (uint8_t)param->family,
		.listens = true,
	};
}

int roost_cm_listen(struct roost_cm *cm,
		    const struct roost_cm_listen_param *param,
		    roost_cm_callback *callback, void *arg,
		    struct roost_cm_listener **listener)
{
	const struct roost_service_claim service = service_of(param);
	struct roost_cm_listener *l;
	int ret;

	ret = roost_dev_claim(cm->dev, &service);
	if (ret)
		return ret;
	l = calloc(1, sizeof(*l));
	if (!l) {
		roost_dev_release(cm->dev, &service);
		return -ENOMEM;
	}
	l->cm = cm;
	l->param = *param;
	l->callback = callback;
	l->arg = arg;
	if (param->backlog <= 0 || param->backlog > ROOST_CM_BACKLOG_MAX)
		l->param.backlog = ROOST_CM_BACKLOG_MAX;
	roost_cm_lock(cm);
	if (cm->gone)
		ret = -ENODEV;
	else if (is_taken(cm, param))
		ret = -EADDRINUSE;
	else
		LIST_INSERT_HEAD(&cm->listeners, l, link);
	cm->must_run |= cm->nb_early != 0;
	roost_cm_unlock(cm);
	if (ret) {
		roost_dev_release(cm->dev, &service);
		free(l);
		return ret;
	}
	*listener = l;
	return 0;
}

void roost_cm_listener_destroy(struct roost_cm_listener *listener)
{
	const struct roost_service_claim service = service_of(&listener->param);
	struct roost_cm *cm = listener->cm;
	struct roost_cm_conn *conn;

	roost_cm_lock(cm);
	LIST_REMOVE(listener, link);
	roost_cm_wait_told(cm, NULL, listener);
	LIST_FOREACH(conn, &cm->conns, all_link)
		if (conn->backlog == listener)
			roost_cm_conn_off_backlog(conn);
	roost_cm_unlock(cm);
	roost_dev_release(cm->dev, &service);
	free(listener);
}
