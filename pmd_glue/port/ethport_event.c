/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* For rte_dev_event_...(): there is no other notice of a hot-unplug. */
#define ALLOW_EXPERIMENTAL_API

/*
 * Events of a driver: the link changed, the port is gone, or the port needs a
 * reset.
 */
#include <errno.h>

#include <rte_dev.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/port/ethport_priv.h"

/* Thread: EAL's interrupt thread. */
static int on_port_event(uint16_t id __attribute__((unused)),
			 enum rte_eth_event_type type, void *arg,
			 void *ret __attribute__((unused)))
{
	struct roost_ethport *port = arg;

	if (type == RTE_ETH_EVENT_INTR_RMV)
		atomic_store(&port->wants_removal, true);
	else if (type == RTE_ETH_EVENT_INTR_RESET)
		atomic_store(&port->wants_reset, true);
	roost_control_wake();
	return 0;
}

/* A hot-unplug: the kernel asks the process that drives the device to release
 * it, and waits for that. Thread: EAL's interrupt thread.
 */
static void on_bus_event(const char *name __attribute__((unused)),
			 enum rte_dev_event_type type, void *arg)
{
	struct roost_ethport *port = arg;

	if (type != RTE_DEV_EVENT_REMOVE)
		return;
	atomic_store(&port->wants_removal, true);
	roost_control_wake();
}

static const enum rte_eth_event_type event_types[] = {
	RTE_ETH_EVENT_INTR_LSC,
	RTE_ETH_EVENT_INTR_RMV,
	RTE_ETH_EVENT_INTR_RESET,
};

#define EVENT_TYPES (sizeof(event_types) / sizeof(event_types[0]))

void roost_ethport_listen(struct roost_ethport *port)
{
	for (unsigned int i = 0; i < EVENT_TYPES; i++)
		rte_eth_dev_callback_register(port->id, event_types[i],
					      on_port_event, port);
	if (port->pci.name[0])
		rte_dev_event_callback_register(port->pci.name, on_bus_event,
						port);
}

void roost_ethport_listen_no_more(struct roost_ethport *port)
{
	/* -EAGAIN: a callback is running; callbacks are short. */
	for (unsigned int i = 0; i < EVENT_TYPES; i++)
		while (rte_eth_dev_callback_unregister(port->id, event_types[i],
						       on_port_event,
						       port) == -EAGAIN)
			;
	if (port->pci.name[0])
		while (rte_dev_event_callback_unregister(port->pci.name,
							 on_bus_event,
							 port) == -EAGAIN)
			;
}

bool roost_ethport_is_there(struct roost_ethport *port)
{
	if (port->gone || atomic_load(&port->wants_removal))
		return false;
	/* Not every driver of the kernel asks for the device. */
	if (port->pci.name[0] &&
	    !roost_pci_is_there(&roost_pci_places, port->pci.name))
		return false;
	return port->ifindex == 0 || port->nl_link.state.there;
}

static int reset(struct roost_ethport *port)
{
	int ret;

	port->started = false;
	roost_nic_rules_stop(&port->nic_rules);
	roost_ethport_enter(port);
	roost_ethport_watch_queues(port, false);
	rte_eth_dev_stop(port->id);
	ret = rte_eth_dev_reset(port->id);
	roost_ethport_leave(port);
	if (ret == 0)
		ret = roost_ethport_configure(port);
	if (ret == 0 && port->conf.mtu_bytes)
		ret = rte_eth_dev_set_mtu(port->id,
					  (uint16_t)port->conf.mtu_bytes);
	if (ret)
		return ret;
	roost_ethport_enter(port);
	ret = rte_eth_dev_start(port->id);
	roost_ethport_leave(port);
	port->started = ret == 0;
	if (port->started) {
		roost_ethport_tell_vlans(port);
		roost_ethport_set_rules(port);
		roost_ethport_watch_queues(port, true);
	}
	return ret;
}

int roost_ethport_reset(struct roost_ethport *port)
{
	int ret;

	atomic_store(&port->wants_reset, false);
	roost_ethport_hold(port);
	ret = reset(port);
	roost_ethport_release(port);
	if (ret)
		atomic_store(&port->wants_removal, true);
	return ret;
}
