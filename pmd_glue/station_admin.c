/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A port changes while it is used: by the hand of an administrator, by its
 * driver, or with the kernel's interface that it shares.
 */
#include <errno.h>

#include "lib/engine/worker.h"
#include "pmd_glue/clock.h"
#include "pmd_glue/gid_table.h"
#include "pmd_glue/host.h"
#include "pmd_glue/kif.h"
#include "pmd_glue/report.h"
#include "pmd_glue/station.h"

#define FOLLOW_NS 1000000000u

void roost_station_set_admin(struct roost_station *s, bool up)
{
	roost_worker_turn_take(s->worker);
	s->port.admin_down = !up;
	roost_worker_turn_release(s->worker);
	roost_station_watch_link(s, roost_now_ns());
}

/* ---- addresses ----------------------------------------------------------- */

/* The first entry of the GID table that is gid. Returns -ENOENT: none is. */
static int find_gid(const struct roost_station *s, const struct roost_gid *gid)
{
	struct roost_gid entry;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		roost_port_query_gid(s->dev, s->port_num, i, &entry);
		if (roost_gid_eq(&entry, gid))
			return (int)i;
	}
	return -ENOENT;
}

/* s->addrs has changed: who has a copy, or what follows from it, changes. */
static void readdress(struct roost_station *s)
{
	roost_host_set_addrs(s->host, &s->addrs);
	roost_groups_readdress(&s->groups, roost_now_ns());
}

int roost_station_add_addr(struct roost_station *s,
			   const struct roost_prefix *prefix)
{
	static const struct roost_gid none;
	int index = find_gid(s, &none);

	if (find_gid(s, &prefix->gid) >= 0)
		return -EEXIST;
	if (s->addrs.nb == ROOST_PORT_IPS_MAX || index < 0)
		return -ENOSPC;
	s->addrs.v[s->addrs.nb++] = *prefix;
	readdress(s);
	/* Last: who hears of it may use it. */
	return roost_port_set_gid(s->dev, s->port_num, (unsigned int)index,
				  &prefix->gid);
}

int roost_station_del_addr(struct roost_station *s,
			   const struct roost_gid *addr)
{
	static const struct roost_gid none;
	struct roost_gid own = roost_gid_link_local(s->port.mac);
	unsigned int i = roost_prefixes_find(&s->addrs, addr);
	int index = find_gid(s, addr);

	if (i == s->addrs.nb || roost_gid_eq(addr, &own))
		return -ENOENT;
	for (s->addrs.nb--; i < s->addrs.nb; i++)
		s->addrs.v[i] = s->addrs.v[i + 1];
	readdress(s);
	if (index >= 0)
		roost_port_set_gid(s->dev, s->port_num, (unsigned int)index,
				   &none);
	return 0;
}

/* What the kernel gave and took since, and nothing else. */
static void follow_addrs(struct roost_station *s)
{
	struct roost_prefixes now;

	if (roost_kif_addrs(s->port.iface, &now) != 0)
		return;
	for (unsigned int i = 0; i < s->followed.nb; i++)
		if (roost_prefixes_find(&now, &s->followed.v[i].gid) == now.nb)
			roost_station_del_addr(s, &s->followed.v[i].gid);
	for (unsigned int i = 0; i < now.nb; i++)
		if (roost_prefixes_find(&s->followed, &now.v[i].gid) ==
		    s->followed.nb)
			roost_station_add_addr(s, &now.v[i]);
	s->followed = now;
}

/* ---- the end ------------------------------------------------------------- */

void roost_station_remove(struct roost_station *s, const char *why)
{
	if (s->port.gone)
		return;
	roost_report("%s: the port is gone: %s; start the program again when "
		     "it is back",
		     s->label, why);
	/* In this order: what QPs owe their peers can still go out. */
	roost_port_remove(s->dev, s->port_num);
	roost_worker_turn_take(s->worker);
	roost_ethport_unplug(&s->port);
	roost_worker_turn_release(s->worker);
	if (s->has_link)
		roost_link_release(&s->link);
	s->has_link = false;
	roost_station_watch_link(s, roost_now_ns());
}

uint64_t roost_station_follow(struct roost_station *s, uint64_t now_ns)
{
	if (s->port.gone)
		return UINT64_MAX;
	if (atomic_load(&s->port.wants_reset) &&
	    roost_ethport_reset(&s->port, s->worker) != 0)
		roost_station_remove(s, "it asked for a reset and did not "
					"come back");
	else if (!roost_ethport_is_there(&s->port))
		roost_station_remove(s, "the device was removed");
	if (!s->follows_kernel || s->port.gone)
		return UINT64_MAX;
	if (now_ns >= s->follow_at_ns) {
		follow_addrs(s);
		s->follow_at_ns = now_ns + FOLLOW_NS;
	}
	return s->follow_at_ns;
}
