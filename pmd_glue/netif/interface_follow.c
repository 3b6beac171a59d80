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
#include "pmd_glue/process/report.h"
#include "pmd_glue/netif/interface.h"

/* The interval of searches for the kernel's interface of our VLAN. */
#define FIND_VLAN_NS 1000000000u

void roost_interface_set_admin(struct roost_interface *s, bool up)
{
	s->ctl_down = !up;
	roost_interface_apply_admin(s);
	roost_interface_watch_link(s, roost_now_ns());
}

void roost_interface_apply_admin(struct roost_interface *s)
{
	bool down = s->ctl_down || s->twin_down;

	if (down != s->subport.admin_down)
		roost_subport_set_admin(&s->subport, !down);
}

/* ---- with the kernel's interface ----------------------------------------- */

/* The sum of gen of all links that the station follows; any change of a link
 * changes it.
 */
static uint32_t nl_link_gen(const struct roost_interface *s)
{
	return s->port->nl_link.gen + s->vlan_nl_link.gen + s->twin_nl_link.gen;
}

void roost_interface_skip_changes(struct roost_interface *s)
{
	s->nl_link_gen = nl_link_gen(s);
}

/* The name of the kernel's interface to report with a smaller MTU. */
static const char *mtu_iface(const struct roost_interface *s)
{
	return s->inet.nl_link && s->inet.nl_link->state.there
		       ? s->inet.nl_link->state.name
		       : s->port->nl_link.state.name;
}

/* Follow the MTU. Frames that are too long for a smaller MTU are lost, and
 * their QPs only see retries that fail: tell the user why.
 */
static void follow_mtu(struct roost_interface *s)
{
	const uint32_t before = s->set_mtu_bytes;
	uint32_t path_mtu_bytes;
	unsigned int nb;

	/* Another device on the port may have looked first. */
	roost_ethport_follow_mtu(s->port);
	if (roost_interface_mtu(s) == before)
		return;
	roost_interface_set_link(s);
	roost_inet_mtu_changed(&s->inet);
	if (s->set_mtu_bytes > before)
		return;
	nb = roost_port_nb_above_mtu(s->base.dev, s->base.port_num,
				     &path_mtu_bytes);
	if (nb > 0 && !atomic_load(&s->port->mtu_loan.is_over))
		roost_report("%s: the MTU of interface \"%s\" became %u, too "
			     "small for %u QPs that use a path MTU of up to "
			     "%u: their longer packets are lost; raise it to "
			     "%u, or connect them again",
			     s->base.label, mtu_iface(s), s->set_mtu_bytes, nb,
			     path_mtu_bytes,
			     path_mtu_bytes + ROOST_IP_OVERHEAD_MAX);
}

/* Follow the MAC address. If the kernel keeps the link-local address of the old
 * MAC, that is an ordinary address from now on.
 */
static void follow_mac(struct roost_interface *s)
{
	const struct roost_nl_link *nl_link;

	if (!s->inet.nl_link)
		return;
	/* The kernel's interface of a VLAN may disappear; the port's stays. */
	nl_link = s->subport.vlan_id != 0 ? &s->port->nl_link : s->inet.nl_link;
	if (memcmp(s->inet.mac, nl_link->state.mac, sizeof(s->inet.mac)) == 0)
		return;
	roost_ethport_set_mac(s->port, s->inet.nl_link->state.mac);
	roost_inet_set_mac(&s->inet, s->inet.nl_link->state.mac);
}

static void follow_kernel(struct roost_interface *s, uint64_t now_ns)
{
	follow_mtu(s);
	follow_mac(s);
	roost_interface_watch_link(s, now_ns);
	roost_inet_follow(&s->inet);
}

/* ---- the end ------------------------------------------------------------- */

void roost_interface_remove(struct roost_interface *s, const char *why)
{
	if (s->subport.gone)
		return;
	roost_report("%s: the port is gone: %s; start the program again when "
		     "it is back",
		     s->base.label, why);
	/* In this order, so that QPs can still send packets to their peers. */
	roost_port_remove(s->base.dev, s->base.port_num);
	roost_subport_leave(&s->subport);
	roost_interface_watch_link(s, roost_now_ns());
}

static const char *why_gone(const struct roost_interface *s)
{
	if (s->port->ifindex != 0 && !s->port->nl_link.state.there)
		return "its interface was deleted, or moved to another network "
		       "namespace";
	return "the device was removed";
}

void roost_interface_find_vlan(struct roost_interface *s, uint64_t now_ns)
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

void roost_interface_follow(struct roost_interface *s, uint64_t now_ns)
{
	if (s->subport.gone)
		return;
	if (atomic_load(&s->port->wants_reset) &&
	    roost_ethport_reset(s->port) != 0)
		roost_interface_remove(s, "it asked for a reset and did not "
					  "come back");
	else if (!roost_ethport_is_there(s->port))
		roost_interface_remove(s, why_gone(s));
	if (s->subport.gone)
		return;
	if (now_ns >= s->find_vlan_at_ns ||
	    (s->vlan_nl_link.state.ifindex != 0 &&
	     !s->vlan_nl_link.state.there))
		roost_interface_find_vlan(s, now_ns);
	if (s->nl_link_gen == nl_link_gen(s))
		return;
	s->nl_link_gen = nl_link_gen(s);
	if (s->twin)
		roost_interface_twin_follow(s);
	follow_kernel(s, now_ns);
}
