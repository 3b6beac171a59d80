/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The IP MTU of a port: from the configuration, the driver's buffers, and the
 * kernel's interface.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lib/wire/frame.h"
#include "pmd_glue/port/ethport_priv.h"

/*
 * Raise the interface's MTU to the configured one. A raised MTU that a killed
 * process left is restored, or taken as a loan again. A tap needs no loan: its
 * MTU disappears with it.
 */
static int raise_mtu(struct roost_ethport *port)
{
	const unsigned int ifindex = port->nl_link.state.ifindex;
	const uint32_t has = port->nl_link.state.mtu_bytes;
	const uint32_t want = port->conf.mtu_bytes;
	uint32_t was;
	int ret = 0;

	if (port->kernel != ROOST_KERNEL_SHARES)
		return want > has ? roost_nl_link_set_mtu(&port->nl_link, want)
				  : 0;
	was = roost_mtu_loan_left(ifindex, has);
	if (was != 0 && want <= was) {
		roost_nl_link_set_mtu(&port->nl_link, was);
		return 0;
	}
	if (was == 0 && want <= has) {
		if (want != 0)
			roost_mtu_loan_take(&port->mtu_loan, ifindex, 0, 0);
		return 0;
	}
	roost_mtu_loan_take(&port->mtu_loan, ifindex, was ? was : has, want);
	if (want != has)
		ret = roost_nl_link_set_mtu(&port->nl_link, want);
	if (ret)
		roost_mtu_loan_return(&port->mtu_loan);
	return ret;
}

/* *mtu becomes the MTU of the kernel's interface. */
static int kernel_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	int ret = 0;

	/* The interface of a tap exists since the port was plugged in. */
	if (port->nl_link.state.ifindex == 0)
		ret = roost_nl_link_open(&port->nl_link, port->iface);
	if (!ret)
		ret = raise_mtu(port);
	*mtu = port->nl_link.state.mtu_bytes;
	return ret;
}

static bool takes_any_length(const struct roost_ethport *port)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port->id, &info) == 0 &&
	       info.max_rx_pktlen == UINT32_MAX;
}

static int device_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	uint16_t has;
	int ret;

	if (port->conf.mtu_bytes) {
		ret = rte_eth_dev_set_mtu(port->id,
					  (uint16_t)port->conf.mtu_bytes);
		/* Drivers with queues in memory have no MTU to set. */
		if (ret == -ENOTSUP && takes_any_length(port))
			ret = 0;
		*mtu = port->conf.mtu_bytes;
	} else {
		ret = rte_eth_dev_get_mtu(port->id, &has);
		*mtu = has;
	}
	return ret;
}

/* If the driver's buffers limit the MTU, ethdev's MTU has no effect. */
static int find_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	uint32_t most = UINT32_MAX;
	int ret = 0;

	if (port->driver->ip_mtu_bytes)
		most = port->driver->ip_mtu_bytes(port->devargs);
	if (port->conf.mtu_bytes > most) {
		roost_ethport_report(
			port,
			"its buffers hold an MTU of %u, not of %u; give a "
			"smaller mtu, or devargs with larger buffers",
			most, port->conf.mtu_bytes);
		return -EINVAL;
	}
	port->ip_mtu_most_bytes = most;
	if (port->iface[0])
		ret = kernel_mtu(port, mtu);
	else if (most != UINT32_MAX)
		*mtu = most;
	else
		ret = device_mtu(port, mtu);
	if (ret) {
		roost_ethport_report(
			port,
			"it cannot have an MTU of %u: %s; give a smaller "
			"mtu, or none",
			port->conf.mtu_bytes, strerror(-ret));
		return -EINVAL;
	}
	*mtu = RTE_MIN(*mtu, most);
	return 0;
}

int roost_ethport_set_mtu(struct roost_ethport *port)
{
	uint32_t mtu = 0;
	int ret = find_mtu(port, &mtu);

	port->ip_mtu_bytes = port->conf.mtu_bytes ? port->conf.mtu_bytes : mtu;
	port->ip_mtu_own_bytes = port->ip_mtu_bytes;
	return ret;
}

bool roost_ethport_follow_mtu(struct roost_ethport *port)
{
	const uint32_t before = port->ip_mtu_bytes;
	uint32_t mtu = port->ip_mtu_own_bytes;

	if (port->nl_link.state.ifindex)
		mtu = RTE_MIN(port->nl_link.state.mtu_bytes,
			      port->ip_mtu_most_bytes);
	if (port->twin_mtu_bytes)
		mtu = RTE_MIN(mtu, port->twin_mtu_bytes);
	if (port->conf.mtu_bytes)
		mtu = RTE_MIN(mtu, port->conf.mtu_bytes);
	port->ip_mtu_bytes = mtu;
	return mtu != before;
}
