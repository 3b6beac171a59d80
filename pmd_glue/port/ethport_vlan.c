/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The VLAN filter of a NIC. Some NICs drop frames of VLANs that they were not
 * told (virtio, virtual functions). A NIC that can filter is told the VLANs, as
 * the kernel's drivers do.
 */
#include <rte_ethdev.h>

#include "pmd_glue/port/ethport_priv.h"

static bool has_vlans(const struct roost_ethport_conf *conf)
{
	for (unsigned int i = 0; i < conf->nb_users; i++)
		if (conf->vlan_ids[i] != 0)
			return true;
	return false;
}

uint64_t roost_ethport_vlan_offload(const struct roost_ethport *port,
				    const struct rte_eth_dev_info *info)
{
	/* The kernel may have VLANs on the twin that Roost does not know. */
	if (port->conf.has_twin || !has_vlans(&port->conf))
		return 0;
	return info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
}

void roost_ethport_tell_vlans(const struct roost_ethport *port)
{
	const struct roost_ethport_conf *conf = &port->conf;
	int offloads = rte_eth_dev_get_vlan_offload(port->id);

	if (conf->has_twin && port->driver->drops_tags)
		rte_eth_promiscuous_enable(port->id);
	if (offloads < 0 || !(offloads & RTE_ETH_VLAN_FILTER_OFFLOAD))
		return;
	for (unsigned int i = 0; i < conf->nb_users; i++) {
		if (rte_eth_dev_vlan_filter(port->id, conf->vlan_ids[i], 1) ==
		    0)
			continue;
		rte_eth_promiscuous_enable(port->id);
		return;
	}
}
