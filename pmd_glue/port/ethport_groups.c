/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Which frames a port receives that are not for its MAC. */

#include <pthread.h>

#include <rte_ethdev.h>

#include "pmd_glue/port/ethport.h"

void roost_ethport_set_groups(struct roost_ethport *port, uint8_t (*macs)[6],
			      unsigned int nb, bool all)
{
	if (port->kernel != ROOST_KERNEL_NONE || port->gone || port->cable)
		return;
	if (!all && !port->shared &&
	    rte_eth_dev_set_mc_addr_list(port->id,
					 (struct rte_ether_addr *)macs,
					 nb) == 0)
		rte_eth_allmulticast_disable(port->id);
	else
		rte_eth_allmulticast_enable(port->id);
}

int roost_ethport_set_promiscuous(struct roost_ethport *port, bool on)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int ret = 0;

	/* A cable, and a kernel at the other end, filter nothing. */
	if (port->cable || port->kernel == ROOST_KERNEL_PEER)
		return 0;
	pthread_mutex_lock(&lock);
	if (on && port->nb_promiscuous == 0) {
		/* For reasons of the port's own (VLANs, its MAC). */
		port->is_promiscuous = rte_eth_promiscuous_get(port->id) == 1;
		if (!port->gone && !port->is_promiscuous)
			ret = rte_eth_promiscuous_enable(port->id);
	}
	if (ret == 0)
		port->nb_promiscuous += on ? 1 : -1u;
	if (port->nb_promiscuous == 0 && !on && !port->gone &&
	    !port->is_promiscuous)
		rte_eth_promiscuous_disable(port->id);
	pthread_mutex_unlock(&lock);
	return ret;
}
