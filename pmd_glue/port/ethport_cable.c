/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* An end of a link as a port. */

#include <errno.h>
#include <string.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/cable/cable.h"
#include "pmd_glue/port/ethport_priv.h"
#include "pmd_glue/process/clock.h"

/* No row of the table: it has none of the drivers' properties. */
static const struct roost_driver no_driver = { .prefix = "" };

static void hold(void *ctx)
{
	roost_ethport_hold(ctx);
}

static void release(void *ctx)
{
	roost_ethport_release(ctx);
}

/* One worker receives for all devices on the port. */
static void receive(void *ctx)
{
	const struct roost_ethport *port = ctx;

	if (port->nb_workers)
		roost_worker_iterate(port->workers[0], roost_now_ns());
}

static void report_open(struct roost_ethport *port, int error,
			const pid_t pids[2])
{
	if (error == -EBUSY)
		roost_ethport_report(port,
				     "both ends are taken, by process %d and "
				     "process %d; stop one of them or use a "
				     "link of another name",
				     pids[0], pids[1]);
	else
		roost_ethport_report(port,
				     "cannot take an end: %s; see the limits "
				     "of the process",
				     strerror(-error));
}

int roost_ethport_open_cable(struct roost_ethport *port)
{
	const uint32_t mtu_bytes = port->conf.mtu_bytes
					   ? port->conf.mtu_bytes
					   : ROOST_CABLE_IP_MTU_BYTES;
	const struct roost_cable_conf conf = {
		.name = port->conf.link,
		.label = port->conf.label,
		.ip_mtu_bytes = mtu_bytes,
		.nb_users = port->conf.nb_users,
		.has_twin = port->conf.has_twin,
		.hold = hold,
		.release = release,
		.receive = receive,
		.ctx = port,
	};
	pid_t pids[2];
	int ret;

	port->driver = &no_driver;
	ret = roost_cable_open(&conf, &port->cable, pids);
	if (ret) {
		report_open(port, ret, pids);
		return ret;
	}
	roost_cable_mac(port->cable, port->mac);
	port->nb_worker_queues = 1;
	port->queues.nb = 1;
	port->queues.steering = port->conf.nb_workers > 1
					? ROOST_STEERING_SOFTWARE
					: ROOST_STEERING_NONE;
	port->pool = roost_cable_pool(port->cable);
	port->ip_mtu_most_bytes = mtu_bytes;
	port->ip_mtu_own_bytes = mtu_bytes;
	port->ip_mtu_bytes = mtu_bytes;
	port->has_lsc = true;
	return 0;
}

void roost_ethport_get_cable_link(struct roost_ethport *port,
				  struct rte_eth_link *link)
{
	link->link_status = roost_cable_has_peer(port->cable);
	link->link_speed = RTE_ETH_SPEED_NUM_10G;
}
