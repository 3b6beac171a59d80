/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Reports: peers that are not reached, with the causes that an interface knows;
 * and peers that do what they should not.
 */

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/addr.h"
#include "pmd_glue/cable/cable.h"
#include "pmd_glue/cable/link_others.h"
#include "pmd_glue/host/arp.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/neigh.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/netif/interface.h"
#include "pmd_glue/host/unreached.h"

/* ---- causes of a missing answer ------------------------------------------ */

static bool has_addr(const struct ifaddrs *a, const struct roost_gid *gid)
{
	if (!a->ifa_addr)
		return false;
	if (a->ifa_addr->sa_family == AF_INET)
		return roost_gid_is_v4(gid) &&
		       memcmp(&((const struct sockaddr_in *)(const void *)
					a->ifa_addr)
				       ->sin_addr,
			      &gid->b[12], 4) == 0;
	return a->ifa_addr->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)(const void *)a->ifa_addr)
			       ->sin6_addr,
		      gid->b, 16) == 0;
}

/* The peer's address is on an interface of this host: the kernel does not
 * answer requests from its own addresses.
 */
static bool hint_own(const struct roost_gid *hop, char *hint, size_t size)
{
	char text[ROOST_PREFIX_STRLEN];
	struct ifaddrs *all, *a;

	if (getifaddrs(&all) < 0)
		return false;
	for (a = all; a && !has_addr(a, hop);)
		a = a->ifa_next;
	if (a)
		snprintf(hint, size,
			 "%s is an address of this very host, on interface "
			 "\"%s\", and a kernel does not answer itself; put one "
			 "of the two into another network namespace",
			 roost_addr_format(hop, text), a->ifa_name);
	freeifaddrs(all);
	return a != NULL;
}

/* The port has no carrier: "interface "eth0" is down". */
static bool hint_carrier(const struct roost_interface *s, char *hint,
			 size_t size)
{
	const struct roost_nl_link_state *nl_link = &s->port->nl_link.state;

	if (s->last_link.carrier || s->port->cable)
		return false;
	if (s->ctl_down || s->twin_down)
		snprintf(hint, size,
			 "the port was set down by its administrator; set it "
			 "up");
	else if (s->port->kernel == ROOST_KERNEL_SHARES && nl_link->there)
		snprintf(hint, size,
			 "interface \"%s\" %s; %s, or name another interface",
			 nl_link->name,
			 nl_link->up ? "has no carrier" : "is down",
			 nl_link->up ? "look at its cable or its peer"
				     : "\"ip link set up\" it");
	else
		snprintf(hint, size,
			 "the port has no carrier; look at its cable or its "
			 "peer");
	return true;
}

static bool hint_stray(const struct roost_interface *s,
		       const struct roost_gid *hop, char *hint, size_t size)
{
	if (!roost_gid_eq(&s->stray.addr, hop))
		return false;
	if (s->stray.vlan_id)
		snprintf(hint, size,
			 "its frames come with the tag of VLAN %u; give "
			 "--vlan %u, or that station another VLAN",
			 s->stray.vlan_id, s->stray.vlan_id);
	else
		snprintf(hint, size,
			 "its frames come without a VLAN tag; leave out "
			 "--vlan, or put that station into VLAN %u",
			 s->subport.vlan_id);
	return true;
}

static bool is_lonely(const struct roost_interface *s)
{
	return s->port->cable && !s->last_link.carrier;
}

static bool hint_lonely(const struct roost_interface *s, char *hint,
			size_t size)
{
	if (!is_lonely(s))
		return false;
	roost_link_waits_for(roost_cable_name(s->port->cable), hint, size);
	s->subport.shared_port->reported_alone = true;
	return true;
}

uint64_t roost_interface_report_lonely(struct roost_interface *s,
				       uint64_t now_ns)
{
	struct roost_shared_port *t = s->subport.shared_port;
	char text[ROOST_UNREACHED_TEXT_MAX];

	/* A peer that leaves later is no cause for this line. */
	if (!is_lonely(s))
		t->reported_alone = true;
	if (t->reported_alone)
		return UINT64_MAX;
	if (now_ns < s->lonely_at_ns)
		return s->lonely_at_ns;
	t->reported_alone = true;
	roost_link_waits_for(roost_cable_name(s->port->cable), text,
			     sizeof(text));
	roost_report("%s: %s", t->label, text);
	return UINT64_MAX;
}

/* Thread: the control thread. */
static void find_hint(const struct roost_interface *s,
		      const struct roost_gid *hop, char *hint, size_t size)
{
	if (hint_lonely(s, hint, size) || hint_carrier(s, hint, size) ||
	    hint_stray(s, hop, hint, size) || hint_own(hop, hint, size))
		return;
	hint[0] = '\0';
}

/* ---- the line ------------------------------------------------------------ */

void roost_interface_report_unreached(void *ctx,
				      const struct roost_unreached *what,
				      const struct roost_gid *hop)
{
	const struct roost_interface *s = ctx;
	struct roost_unreached_port port = {
		.label = s->base.label,
		.iface = s->inet.follows && s->inet.nl_link ? s->port->iface
							    : NULL,
	};
	char text[ROOST_UNREACHED_TEXT_MAX];

	roost_host_routes(s->inet.host, &port.routes, &port.link_local);
	if (what->cause == ROOST_UNREACHED_DEAF && port.routes.on_link.nb != 0)
		return;
	if (!roost_unreached_is_new(s->base.label, what, hop, roost_now_ns()))
		return;
	if (what->cause == ROOST_UNREACHED_NO_NEIGH)
		find_hint(s, hop, port.hint, sizeof(port.hint));
	roost_unreached_text(&port, what, hop, text);
	roost_report("%s", text);
}

/* ---- frames of other VLANs ----------------------------------------------- */

void roost_interface_receive_stray(struct roost_interface *s,
				   const uint8_t *frame, size_t len_bytes,
				   uint16_t vlan_id)
{
	char from[ROOST_PREFIX_STRLEN], to[ROOST_PREFIX_STRLEN];
	char comes[32] = "without a VLAN tag";
	struct roost_arp arp;

	if (roost_arp_parse(frame, len_bytes, &arp))
		return;
	s->stray.addr = arp.sender_ip;
	s->stray.vlan_id = vlan_id;
	if (s->reported_stray || arp.sender_ip.b[12] == 0 ||
	    roost_gid_eq(&arp.sender_ip, &arp.target_ip) ||
	    roost_prefixes_find(&s->inet.addrs, &arp.target_ip) ==
		    s->inet.addrs.nb)
		return;
	s->reported_stray = true;
	if (vlan_id)
		snprintf(comes, sizeof(comes), "with that of VLAN %u", vlan_id);
	roost_report("%s: %s asks for %s, and its frames are dropped: they "
		     "come %s, and the port %s; give both ends one VLAN "
		     "(--vlan), or none",
		     s->base.label, roost_addr_format(&arp.sender_ip, from),
		     roost_addr_format(&arp.target_ip, to), comes,
		     s->subport.vlan_id ? "takes its own VLAN only"
					: "takes frames without a tag only");
}

/* ---- other stations ------------------------------------------------------ */

void roost_interface_report_conflict(void *ctx, const struct roost_gid *addr,
				     const uint8_t mac[6])
{
	const struct roost_interface *s = ctx;
	char text[ROOST_PREFIX_STRLEN];

	roost_report("%s: address %s is in use by another station: "
		     "%02x:%02x:%02x:%02x:%02x:%02x claims it; give one of the "
		     "two another",
		     s->base.label, roost_addr_format(addr, text), mac[0],
		     mac[1], mac[2], mac[3], mac[4], mac[5]);
}

void roost_interface_report_crowd(void *ctx, enum roost_host_crowd crowd,
				  const uint8_t *mac)
{
	const struct roost_interface *s = ctx;

	if (crowd == ROOST_CROWD_OF_STATION)
		roost_report("%s: station %02x:%02x:%02x:%02x:%02x:%02x claims "
			     "more than %u addresses that nobody here speaks "
			     "to: the older ones are forgotten; look at that "
			     "station",
			     s->base.label, mac[0], mac[1], mac[2], mac[3],
			     mac[4], mac[5], ROOST_NEIGHS_CLAIMED_BY_ONE_MAX);
	else if (crowd == ROOST_CROWD_OF_CLAIMS)
		roost_report("%s: stations claim more than %u addresses that "
			     "nobody here speaks to: the older ones are "
			     "forgotten; look for a flood of ARP or ND",
			     s->base.label, ROOST_NEIGHS_CLAIMED_MAX);
	else
		roost_report("%s: %u neighbours are in use, as many as there "
			     "may be: no connection to another one; close "
			     "some",
			     s->base.label, ROOST_NEIGHS_MAX);
}

/* Only frames to us: a shared interface may receive frames between others. */
void roost_interface_report_v1(struct roost_interface *s, const uint8_t *frame)
{
	const uint8_t *mac = frame + 6;

	if (s->reported_v1 || memcmp(frame, s->inet.mac, 6) != 0)
		return;
	s->reported_v1 = true;
	roost_report(
		"%s: packets of %02x:%02x:%02x:%02x:%02x:%02x are dropped: "
		"they are RoCEv1, and only RoCEv2 is spoken here; give "
		"that program a GID index whose type is RoCE v2",
		s->base.label, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}
