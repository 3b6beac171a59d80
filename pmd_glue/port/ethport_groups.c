/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Which multicast frames a port receives. */

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
