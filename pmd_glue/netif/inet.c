/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/inet.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "lib/engine/core/port.h"
#include "lib/engine/core/route.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/membership.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/host/icmp_refusal.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"

#define REFUSAL_NS 10000000u /* between two that are believed */

/* ---- addresses ----------------------------------------------------------- */

/* The index of the first entry of the GID table that is gid; -ENOENT: none. */
static int find_gid(const struct roost_inet *inet, const struct roost_gid *gid)
{
	struct roost_gid entry;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		roost_port_query_gid(inet->dev, inet->port_num, i, &entry);
		if (roost_gid_eq(&entry, gid))
			return (int)i;
	}
	return -ENOENT;
}

/* inet->addrs has changed: update the host and the groups. */
static void readdress(struct roost_inet *inet)
{
	roost_host_set_addrs(inet->host, &inet->addrs);
	roost_groups_readdress(&inet->groups, roost_now_ns());
}

int roost_inet_add_addr(struct roost_inet *inet,
			const struct roost_prefix *prefix)
{
	static const struct roost_gid none;
	int index = find_gid(inet, &none);

	if (find_gid(inet, &prefix->gid) >= 0)
		return -EEXIST;
	if (inet->addrs.nb == ROOST_PORT_IPS_MAX || index < 0)
		return -ENOSPC;
	inet->addrs.v[inet->addrs.nb++] = *prefix;
	readdress(inet);
	/* Last: the application may use the GID as soon as it sees it. */
	return roost_port_set_gid(inet->dev, inet->port_num,
				  (unsigned int)index, &prefix->gid);
}

int roost_inet_del_addr(struct roost_inet *inet, const struct roost_gid *addr)
{
	static const struct roost_gid none;
	struct roost_gid own = roost_nd_link_local(inet->mac);
	unsigned int i = roost_prefixes_find(&inet->addrs, addr);
	int index = find_gid(inet, addr);

	if (i == inet->addrs.nb || roost_gid_eq(addr, &own))
		return -ENOENT;
	for (inet->addrs.nb--; i < inet->addrs.nb; i++)
		inet->addrs.v[i] = inet->addrs.v[i + 1];
	readdress(inet);
	if (index >= 0)
		roost_port_set_gid(inet->dev, inet->port_num,
				   (unsigned int)index, &none);
	return 0;
}

/* ---- with the kernel's interface ----------------------------------------- */

static void report_too_many(struct roost_inet *inet, unsigned int nb)
{
	if (!inet->reported_too_many)
		roost_report(
			"%s: interface \"%s\" has %u addresses, and a port "
			"takes %u; name those that it is to have with ip",
			inet->label, inet->nl_link->state.name, nb,
			ROOST_PORT_IPS_MAX);
	inet->reported_too_many = true;
}

static void read_followed(struct roost_inet *inet)
{
	struct roost_gid own = roost_nd_link_local(inet->mac);
	unsigned int nb;

	nb = roost_nl_link_usable(&inet->nl_link->state, &own, &inet->followed);
	if (nb > inet->followed.nb)
		report_too_many(inet, nb);
}

/* The prefix length of an address may change while the address stays. */
static void follow_subnet(struct roost_inet *inet,
			  const struct roost_prefix *prefix)
{
	unsigned int i = roost_prefixes_find(&inet->addrs, &prefix->gid);

	if (i == inet->addrs.nb ||
	    inet->addrs.v[i].len_bits == prefix->len_bits)
		return;
	inet->addrs.v[i].len_bits = prefix->len_bits;
	readdress(inet);
}

/* Addresses that the kernel did not have before stay. */
void roost_inet_follow(struct roost_inet *inet)
{
	const struct roost_prefixes before = inet->followed;
	struct roost_prefixes *now = &inet->followed;

	if (!inet->follows)
		return;
	read_followed(inet);
	for (unsigned int i = 0; i < before.nb; i++)
		if (roost_prefixes_find(now, &before.v[i].gid) == now->nb)
			roost_inet_del_addr(inet, &before.v[i].gid);
	for (unsigned int i = 0; i < now->nb; i++) {
		if (roost_prefixes_find(&before, &now->v[i].gid) < before.nb)
			follow_subnet(inet, &now->v[i]);
		else if (roost_inet_add_addr(inet, &now->v[i]) == -ENOSPC)
			report_too_many(inet, now->nb);
	}
}

void roost_inet_set_mac(struct roost_inet *inet, const uint8_t mac[6])
{
	const struct roost_gid old = roost_nd_link_local(inet->mac);
	const struct roost_gid own = roost_nd_link_local(mac);
	int index;

	/* The new link-local address may be in addrs, from the kernel. */
	roost_inet_del_addr(inet, &own);
	memcpy(inet->mac, mac, sizeof(inet->mac));
	roost_port_set_mac(inet->dev, inet->port_num, mac);
	roost_host_set_mac(inet->host, mac);
	roost_groups_readdress(&inet->groups, roost_now_ns());
	index = find_gid(inet, &old);
	if (index >= 0)
		roost_port_set_gid(inet->dev, inet->port_num,
				   (unsigned int)index, &own);
}

void roost_inet_mtu_changed(struct roost_inet *inet)
{
	roost_groups_readdress(&inet->groups, roost_now_ns());
}

/* ---- frames and time ----------------------------------------------------- */

/* One at a time: who sends again is refused again. */
static void take_refusal(struct roost_inet *inet,
			 const struct roost_refusal *refusal, uint64_t now_ns)
{
	if (now_ns < inet->next_refusal_ns ||
	    find_gid(inet, &refusal->local) < 0)
		return;
	inet->next_refusal_ns = now_ns + REFUSAL_NS;
	roost_dev_refused(inet->dev, &refusal->peer);
}

void roost_inet_input(struct roost_inet *inet, uint8_t *frame, size_t len_bytes,
		      uint64_t now_ns)
{
	struct roost_refusal refusal;

	if (roost_membership_input(inet->groups.membership, frame, len_bytes,
				   now_ns))
		return;
	if (memcmp(frame, inet->mac, sizeof(inet->mac)) == 0 &&
	    roost_refusal_parse(frame, len_bytes, &refusal) == 0)
		take_refusal(inet, &refusal, now_ns);
	else
		roost_host_input(inet->host, frame, len_bytes, now_ns);
}

uint64_t roost_inet_tick(struct roost_inet *inet, uint64_t now_ns)
{
	const uint64_t host_ns = roost_host_tick(inet->host, now_ns);
	const uint64_t groups_ns =
		roost_membership_tick(inet->groups.membership, now_ns);

	return RTE_MIN(host_ns, groups_ns);
}

void roost_inet_link_up(struct roost_inet *inet, uint64_t now_ns)
{
	roost_host_link_up(inet->host, now_ns);
	roost_membership_link_up(inet->groups.membership, now_ns);
}

/* ---- life ---------------------------------------------------------------- */

static int create_groups(struct roost_inet *inet,
			 const struct roost_inet_conf *conf)
{
	const struct roost_groups_conf groups = {
		.mac = inet->mac,
		.ip_mtu_bytes = conf->ip_mtu_bytes,
		.addrs = &inet->addrs,
		.set_filter = conf->set_filter,
		.kernel_owns = conf->host.kernel_owns,
		.send = conf->host.send,
		.ctx = conf->host.ctx,
	};

	return roost_groups_create(&inet->groups, &groups);
}

int roost_inet_create(struct roost_inet *inet,
		      const struct roost_inet_conf *conf)
{
	struct roost_host_conf host = conf->host;
	int ret;

	*inet = (struct roost_inet){
		.label = conf->label,
		.addrs = host.routes.on_link,
		.nl_link = conf->nl_link,
		.follows = host.addrs_are_kernels,
	};
	memcpy(inet->mac, host.mac, sizeof(inet->mac));
	if (inet->follows) {
		read_followed(inet);
		inet->addrs = inet->followed;
	}
	host.routes.on_link = inet->addrs;
	host.groups = &inet->groups;
	ret = roost_host_create(&host, &inet->host);
	if (ret)
		return ret;
	ret = create_groups(inet, conf);
	if (ret)
		roost_host_destroy(inet->host);
	return ret;
}

void roost_inet_destroy(struct roost_inet *inet)
{
	roost_groups_destroy(&inet->groups);
	roost_host_destroy(inet->host);
}

void roost_inet_start(struct roost_inet *inet, struct roost_dev *dev,
		      uint8_t port_num, uint64_t now_ns)
{
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	unsigned int nb = roost_gid_table_fill(gids, inet->mac, &inet->addrs);

	inet->dev = dev;
	inet->port_num = port_num;
	for (unsigned int i = 0; i < nb; i++)
		roost_port_set_gid(dev, port_num, i, &gids[i]);
	roost_groups_start(&inet->groups, now_ns);
}

void roost_inet_leave(struct roost_inet *inet, uint64_t now_ns)
{
	roost_membership_leave_all(inet->groups.membership, now_ns);
}
