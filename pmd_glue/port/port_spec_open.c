/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Opening a port by the spec that the user gave for it. */
#include "pmd_glue/port/port_spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmd_glue/port/ethport.h"
#include "pmd_glue/process/report.h"

/* Numbers from here on do not collide with those in users' devargs. */
#define FIRST_NUMBER 900u

/* Open the interface by net_af_xdp. Returns 0; or an error with the cause in
 * port->why_fewer: the caller then tries net_af_packet.
 */
static int try_xdp(struct roost_ethport *port, struct roost_ethport_conf *conf,
		   const char *spec, unsigned int index, char *devargs)
{
	int ret = roost_port_spec_devargs(spec, ROOST_PORT_SPEC_XDP,
					  FIRST_NUMBER + index, devargs);

	if (ret)
		return ret;
	conf->quiet = true;
	ret = roost_ethport_open(port, conf);
	conf->quiet = false;
	if (ret && conf->claim)
		roost_claim_release(conf->claim);
	return ret;
}

static int open_netif(struct roost_ethport *port,
		      struct roost_ethport_conf *conf, const char *spec,
		      const struct roost_netif *netif, unsigned int index,
		      char *devargs)
{
	struct roost_port_wish wish = { .mtu_bytes = conf->mtu_bytes };
	char text[ROOST_PORT_SPEC_WHY_MAX];
	const char *why;
	int ret;

	for (unsigned int i = 0; i < conf->nb_users; i++)
		wish.vlan |= conf->vlan_ids[i] != 0;
	why = roost_port_spec_no_xdp(spec, netif, &wish, text);
	if (!why) {
		ret = try_xdp(port, conf, spec, index, devargs);
		if (ret == 0) {
			port->conf.quiet = false;
			roost_report("%s: opened as net_af_xdp0,iface=%s, "
				     "which takes RoCEv2 alone and leaves the "
				     "rest to the kernel",
				     conf->label, spec);
			return 0;
		}
		snprintf(text, sizeof(text), "%s", port->why_fewer);
		why = text;
	}
	ret = roost_port_spec_devargs(spec, ROOST_PORT_SPEC_PACKET,
				      FIRST_NUMBER + index, devargs);
	if (!ret)
		ret = roost_ethport_open(port, conf);
	if (!ret)
		roost_report("%s: opened as net_af_packet0,iface=%s, not by "
			     "net_af_xdp: %s",
			     conf->label, spec, why);
	return ret;
}

int roost_port_spec_open(struct roost_ethport *port,
			 struct roost_ethport_conf *conf, unsigned int index,
			 char devargs[ROOST_DEVARGS_MAX])
{
	char spec[ROOST_DEVARGS_MAX], why[ROOST_PORT_SPEC_WHY_MAX];
	struct roost_rdma_device rdma;
	struct roost_netif netif;

	strcpy(spec, devargs);
	if (roost_port_spec_is_netif(spec, &netif)) {
		if (!roost_netif_refuses(&netif))
			return open_netif(port, conf, spec, &netif, index,
					  devargs);
		roost_report("%s: %s", conf->label,
			     roost_netif_refuses(&netif));
		return -ENODEV;
	}
	roost_devargs_name(spec, why, sizeof(why));
	if (!roost_port_spec_is_dpdks(spec) &&
	    roost_rdma_find(ROOST_RDMA_PLACE, why, &rdma)) {
		roost_port_spec_advise(spec, ROOST_RDMA_PLACE, why);
		roost_report("%s: %s", conf->label, why);
		return -ENODEV;
	}
	return roost_ethport_open(port, conf);
}
