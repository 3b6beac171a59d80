/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Changes of a port while it is used: by an administrator, by its driver, or by
 * the kernel's interface that it shares.
 */
#include <errno.h>
#include <string.h>

#include "lib/engine/core/port.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/frame.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/netif/station.h"

/* The interval of searches for the kernel's interface of our VLAN. */
#define FIND_VLAN_NS 1000000000u

void roost_station_set_admin(struct roost_station *s, bool up)
{
	s->ctl_down = !up;
	roost_station_apply_admin(s);
	roost_station_watch_link(s, roost_now_ns());
}

void roost_station_apply_admin(struct roost_station *s)
{
	bool down = s->ctl_down || s->twin_down;

	if (down != s->subport.admin_down)
		roost_subport_set_admin(&s->subport, !down);
}

/* ---- addresses ----------------------------------------------------------- */

/* The index of the first entry of the GID table that is gid; -ENOENT: none. */
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

/* s->addrs has changed: update the host and the groups. */
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
	/* Last: the application may use the GID as soon as it sees it. */
	return roost_port_set_gid(s->dev, s->port_num, (unsigned int)index,
				  &prefix->gid);
}

int roost_station_del_addr(struct roost_station *s,
			   const struct roost_gid *addr)
{
	static const struct roost_gid none;
	struct roost_gid own = roost_nd_link_local(s->mac);
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

/* ---- with the kernel's interface ----------------------------------------- */

/* The sum of gen of all links that the station follows; any change of a link
 * changes it.
 */
static uint32_t nl_link_gen(const struct roost_station *s)
{
	return s->port->nl_link.gen + s->vlan_nl_link.gen + s->twin_nl_link.gen;
}

static void tell_too_many(struct roost_station *s, unsigned int nb)
{
	if (!s->told_too_many)
		roost_report(
			"%s: interface \"%s\" has %u addresses, and a port "
			"takes %u; name those that it is to have with ip",
			s->label, s->nl_link->state.name, nb,
			ROOST_PORT_IPS_MAX);
	s->told_too_many = true;
}

void roost_station_find_followed(struct roost_station *s)
{
	struct roost_gid own = roost_nd_link_local(s->mac);
	unsigned int nb;

	s->nl_link_gen = nl_link_gen(s);
	nb = roost_nl_link_usable(&s->nl_link->state, &own, &s->followed);
	if (nb > s->followed.nb)
		tell_too_many(s, nb);
}

/* The prefix length of an address may change while the address stays. */
static void follow_subnet(struct roost_station *s,
			  const struct roost_prefix *prefix)
{
	unsigned int i = roost_prefixes_find(&s->addrs, &prefix->gid);

	if (i == s->addrs.nb || s->addrs.v[i].len_bits == prefix->len_bits)
		return;
	s->addrs.v[i].len_bits = prefix->len_bits;
	readdress(s);
}

/* Apply the addresses that the kernel added and removed since the last call;
 * other addresses stay.
 */
static void follow_addrs(struct roost_station *s)
{
	const struct roost_prefixes before = s->followed;
	struct roost_prefixes *now = &s->followed;

	roost_station_find_followed(s);
	for (unsigned int i = 0; i < before.nb; i++)
		if (roost_prefixes_find(now, &before.v[i].gid) == now->nb)
			roost_station_del_addr(s, &before.v[i].gid);
	for (unsigned int i = 0; i < now->nb; i++) {
		if (roost_prefixes_find(&before, &now->v[i].gid) < before.nb)
			follow_subnet(s, &now->v[i]);
		else if (roost_station_add_addr(s, &now->v[i]) == -ENOSPC)
			tell_too_many(s, now->nb);
	}
}

/* The name of the kernel's interface to report with a smaller MTU. */
static const char *mtu_iface(const struct roost_station *s)
{
	return s->nl_link && s->nl_link->state.there
		       ? s->nl_link->state.name
		       : s->port->nl_link.state.name;
}

/* Follow the MTU. Frames that are too long for a smaller MTU are lost, and
 * their QPs only see retries that fail: tell the user why.
 */
static void follow_mtu(struct roost_station *s)
{
	const uint32_t before = s->told_mtu_bytes;
	uint32_t path_mtu_bytes;
	unsigned int nb;

	/* Another device on the port may have looked first. */
	roost_ethport_follow_mtu(s->port);
	if (roost_station_mtu(s) == before)
		return;
	roost_station_tell_link(s);
	roost_groups_readdress(&s->groups, roost_now_ns());
	if (s->told_mtu_bytes > before)
		return;
	nb = roost_port_stranded(s->dev, s->port_num, &path_mtu_bytes);
	if (nb > 0 && !atomic_load(&s->port->mtu_loan.is_over))
		roost_report("%s: the MTU of interface \"%s\" became %u, too "
			     "small for %u QPs that use a path MTU of up to "
			     "%u: their longer packets are lost; raise it to "
			     "%u, or connect them again",
			     s->label, mtu_iface(s), s->told_mtu_bytes, nb,
			     path_mtu_bytes,
			     path_mtu_bytes + ROOST_IP_OVERHEAD_MAX);
}

/* Follow the MAC address. The engine sends from the new MAC before neighbours
 * are told. If the kernel keeps the link-local address of the old MAC, that is
 * an ordinary address from now on.
 */
static void follow_mac(struct roost_station *s)
{
	const struct roost_gid old = roost_nd_link_local(s->mac);
	const struct roost_nl_link *nl_link;
	const uint8_t *mac;
	struct roost_gid own;
	int index;

	if (!s->nl_link)
		return;
	/* The kernel's interface of a VLAN may disappear; the port's stays. */
	nl_link = s->subport.vlan_id != 0 ? &s->port->nl_link : s->nl_link;
	mac = nl_link->state.mac;
	if (memcmp(s->mac, mac, sizeof(s->mac)) == 0)
		return;
	mac = s->nl_link->state.mac;
	own = roost_nd_link_local(mac);
	/* The new link-local address may be in s->addrs, from the kernel. */
	roost_station_del_addr(s, &own);
	memcpy(s->mac, mac, sizeof(s->mac));
	roost_ethport_set_mac(s->port, mac);
	roost_port_set_mac(s->dev, s->port_num, mac);
	roost_host_set_mac(s->host, mac);
	roost_groups_readdress(&s->groups, roost_now_ns());
	index = find_gid(s, &old);
	if (index >= 0)
		roost_port_set_gid(s->dev, s->port_num, (unsigned int)index,
				   &own);
}

static void follow_kernel(struct roost_station *s, uint64_t now_ns)
{
	follow_mtu(s);
	follow_mac(s);
	roost_station_watch_link(s, now_ns);
	if (s->follows_addrs)
		follow_addrs(s);
}

/* ---- the end ------------------------------------------------------------- */

void roost_station_remove(struct roost_station *s, const char *why)
{
	if (s->subport.gone)
		return;
	roost_report("%s: the port is gone: %s; start the program again when "
		     "it is back",
		     s->label, why);
	/* In this order, so that QPs can still send packets to their peers. */
	roost_port_remove(s->dev, s->port_num);
	roost_subport_leave(&s->subport);
	roost_station_watch_link(s, roost_now_ns());
}

static const char *why_gone(const struct roost_station *s)
{
	if (s->port->ifindex != 0 && !s->port->nl_link.state.there)
		return "its interface was deleted, or moved to another network "
		       "namespace";
	return "the device was removed";
}

void roost_station_find_vlan(struct roost_station *s, uint64_t now_ns)
{
	char name[IFNAMSIZ];

	s->find_vlan_at_ns = UINT64_MAX;
	if (s->port->kernel != ROOST_KERNEL_SHARES || s->subport.vlan_id == 0 ||
	    s->vlan_nl_link.state.there)
		return;
	roost_nl_link_close(&s->vlan_nl_link);
	atomic_store(&s->vlan_ifindex, 0);
	s->vlan_nl_link = (struct roost_nl_link){ .gen = 0 };
	if (roost_nl_link_find_vlan(s->port->nl_link.state.name,
				    s->subport.vlan_id, name) == 0 &&
	    roost_nl_link_open(&s->vlan_nl_link, name) == 0)
		atomic_store(&s->vlan_ifindex, s->vlan_nl_link.state.ifindex);
	else
		s->find_vlan_at_ns = now_ns + FIND_VLAN_NS;
	s->nl_link_gen = nl_link_gen(s) - 1; /* follow() sees a change */
}

void roost_station_follow(struct roost_station *s, uint64_t now_ns)
{
	if (s->subport.gone)
		return;
	if (atomic_load(&s->port->wants_reset) &&
	    roost_ethport_reset(s->port) != 0)
		roost_station_remove(s, "it asked for a reset and did not "
					"come back");
	else if (!roost_ethport_is_there(s->port))
		roost_station_remove(s, why_gone(s));
	if (s->subport.gone)
		return;
	if (now_ns >= s->find_vlan_at_ns ||
	    (s->vlan_nl_link.state.ifindex != 0 &&
	     !s->vlan_nl_link.state.there))
		roost_station_find_vlan(s, now_ns);
	if (s->nl_link_gen == nl_link_gen(s))
		return;
	s->nl_link_gen = nl_link_gen(s);
	if (s->twin)
		roost_station_twin_follow(s);
	follow_kernel(s, now_ns);
}
