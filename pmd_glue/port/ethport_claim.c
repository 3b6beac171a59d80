/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Claims the kernel's interfaces behind a port (pmd_glue/kernel/claim.h),
 * before the driver opens them; or, if the driver makes them (a tap), right
 * after that.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmd_glue/port/ethport_priv.h"

static void report(struct roost_ethport *port, unsigned int ifindex,
		   uint16_t vlan_id, int error, pid_t holder)
{
	char name[IFNAMSIZ] = "?", vlan[16] = "";

	if_indextoname(ifindex, name);
	if (vlan_id != 0)
		snprintf(vlan, sizeof(vlan), ", VLAN %u", vlan_id);
	if (error != EBUSY)
		roost_ethport_report(port, "cannot claim \"%s\"%s: %s", name,
				     vlan, strerror(error));
	else if (holder == getpid())
		roost_ethport_report(port,
				     "another port of this process has "
				     "\"%s\"%s; leave one of the two out",
				     name, vlan);
	else if (holder == 0)
		roost_ethport_report(
			port,
			"\"%s\"%s is taken by a process of another "
			"container; use another VLAN or interface",
			name, vlan);
	else
		roost_ethport_report(port,
				     "%s\"%s\"%s is taken by process %d; stop "
				     "it, or use another VLAN or interface",
				     port->driver->is_xdp ? "no XDP program: "
							  : "",
				     name, vlan, holder);
}

/* Claim a VLAN of an interface that the kernel shares, or a whole tap. */
static int claim_one(struct roost_ethport *port, struct roost_claim *claim,
		     const struct roost_claimed *what, uint16_t vlan_id)
{
	pid_t holder = 0;
	int ret;

	if (what->is_tap)
		ret = roost_claim_take(&port->taps, ROOST_CLAIM_TAP,
				       what->ifindex, 0, &holder);
	else
		ret = roost_claim_take(claim, ROOST_CLAIM_PORT, what->ifindex,
				       vlan_id, &holder);
	if (ret) {
		port->may_want_fewer = false;
		report(port, what->ifindex, what->is_tap ? 0 : vlan_id, -ret,
		       holder);
	}
	return ret;
}

int roost_ethport_claim(struct roost_ethport *port, struct roost_claim *claim,
			uint16_t vlan_id)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < port->nb_claimed; i++)
		if (!port->claimed[i].is_tap)
			ret = claim_one(port, claim, &port->claimed[i],
					vlan_id);
	return ret;
}

static int claim_by_name(struct roost_ethport *port, const char *name,
			 enum roost_driver_kernel kernel)
{
	const struct roost_claimed what = {
		.ifindex = if_nametoindex(name),
		.is_tap = kernel == ROOST_KERNEL_PEER,
	};
	int ret;

	if (what.ifindex == 0 || kernel == ROOST_KERNEL_NONE)
		return 0; /* a tap that does not exist yet */
	for (unsigned int i = 0; i < port->nb_claimed; i++)
		if (port->claimed[i].ifindex == what.ifindex)
			return 0;
	ret = claim_one(port, port->conf.claim, &what,
			port->conf.claim_vlan_id);
	if (ret == 0)
		port->claimed[port->nb_claimed++] = what;
	return ret;
}

static int claim_sniffed(struct roost_ethport *port, const char *devargs)
{
	const char *keys = roost_driver_find(devargs)->sniffs_keys;
	char key[ROOST_DEVARG_KEY_MAX], name[IFNAMSIZ];
	int ret = 0;

	while (keys && !ret) {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(keys, ","),
			 keys);
		if (roost_devargs_value(devargs, key, name, sizeof(name)) == 0)
			ret = claim_by_name(port, name, ROOST_KERNEL_SHARES);
		keys = strchr(keys, ',');
		if (keys)
			keys++;
	}
	return ret;
}

int roost_ethport_claim_first(struct roost_ethport *port)
{
	char member[ROOST_DEVARGS_MAX], name[IFNAMSIZ];
	enum roost_driver_kernel kernel;
	size_t at = 0, begin;
	int ret;

	if (!port->conf.claim)
		return 0;
	ret = claim_by_name(port, port->iface, port->kernel);
	if (!ret)
		ret = claim_sniffed(port, port->conf.devargs);
	while (!ret && port->driver->has_members &&
	       roost_members_next(port->conf.devargs, &at, &begin, member) ==
		       0) {
		kernel = roost_driver_kernel(member, name, sizeof(name));
		ret = claim_by_name(port, name, kernel);
		if (!ret)
			ret = claim_sniffed(port, member);
	}
	return ret;
}

void roost_ethport_unclaim_taps(struct roost_ethport *port)
{
	unsigned int kept = 0;

	roost_claim_release(&port->taps);
	for (unsigned int i = 0; i < port->nb_claimed; i++)
		if (!port->claimed[i].is_tap)
			port->claimed[kept++] = port->claimed[i];
	port->nb_claimed = kept;
}
