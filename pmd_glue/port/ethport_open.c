/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/ethport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "pmd_glue/process/control.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/port/ethport_priv.h"
#include "pmd_glue/port/peer_socket.h"
#include "pmd_glue/port/port_spec.h"
#include "pmd_glue/process/rights.h"
#include "pmd_glue/kernel/udp_sink.h"

/* ---- what the user gave -------------------------------------------------- */

static int check_kernel_interface(struct roost_ethport *port)
{
	int ret;

	if (port->kernel != ROOST_KERNEL_SHARES)
		return 0;
	ret = roost_nl_link_open(&port->nl_link, port->iface);
	if (ret == -ENODEV)
		roost_ethport_report(
			port,
			"no interface \"%s\" in this network namespace; "
			"see \"ip link\"",
			port->iface);
	else if (ret)
		roost_ethport_report(port, "interface \"%s\": %s", port->iface,
				     strerror(-ret));
	if (ret)
		return ret;
	ret = roost_nl_link_join_all_groups(&port->nl_link);
	if (ret == -EPERM) {
		roost_ethport_report(
			port,
			"no permission for packets of interface \"%s\"; "
			"run as root or with %s",
			port->iface,
			port->driver->is_xdp ? "CAP_NET_RAW and CAP_NET_ADMIN"
					     : "CAP_NET_RAW");
		roost_nl_link_close(&port->nl_link);
		return ret;
	}
	port->groups_fd = ret < 0 ? -1 : ret;
	if (!port->driver->is_xdp)
		port->sink_fd = roost_udp_sink_open(port->iface);
	return 0;
}

static int check_devargs(struct roost_ethport *port)
{
	char unknown[ROOST_DEVARG_KEY_MAX], advice[ROOST_DEVARG_ADVICE_MAX];
	const struct roost_driver *d = port->driver;
	char value[ROOST_DEVARGS_MAX];

	if (roost_driver_check_keys(port->conf.devargs, unknown, advice)) {
		roost_ethport_report(port,
				     "driver %s has no argument \"%s\"; %s",
				     d->prefix, unknown, advice);
		return -ENODEV;
	}
	if (d->required && roost_devargs_value(port->conf.devargs, d->required,
					       value, sizeof(value))) {
		roost_ethport_report(
			port,
			"driver %s needs an argument \"%s\"; append "
			"\",%s=...\"",
			d->prefix, d->required, d->required);
		return -ENODEV;
	}
	if (port->conf.peer_users.nb != 0 && !d->socket_key) {
		roost_ethport_report(port,
				     "it has no peer behind a socket; leave "
				     "out --peer-users");
		return -EINVAL;
	}
	return 0;
}

/* Check the socket to the peer. Clients of net_vhost try again until there is a
 * server; other clients need one at once.
 */
static int check_socket(struct roost_ethport *port)
{
	bool serves = roost_driver_serves(port->devargs);
	const struct roost_driver *d = port->driver;
	char path[ROOST_DEVARGS_MAX], why[256];
	int ret;

	if ((!d->client_key && !d->server_key) ||
	    roost_devargs_value(port->devargs, d->socket_key, path,
				sizeof(path)))
		return 0;
	ret = roost_peer_socket_prepare(path, serves, !d->client_key, why,
					sizeof(why));
	if (ret)
		roost_ethport_report(port, "%s", why);
	return ret == -EBUSY || !ret ? ret : -ENODEV;
}

/* Expand a PCI address to the full name, which DPDK needs. */
static int name_in_full(struct roost_ethport *port)
{
	const char *rest = strchr(port->conf.devargs, ',');
	char *full = port->devargs;
	int len;

	if (!roost_pci_is(port->conf.devargs, port->pci.name))
		return 0;
	len = snprintf(full, sizeof(port->devargs), "%s%s", port->pci.name,
		       rest ? rest : "");
	return len < (int)sizeof(port->devargs) ? 0 : -ENAMETOOLONG;
}

/* Devices that share a port receive for each other
 * (pmd_glue/netif/shared_port.h). */
static unsigned int own_workers(const struct roost_ethport *port)
{
	return port->conf.nb_users > 1 ? 1 : RTE_MAX(port->conf.nb_workers, 1u);
}

static void limit_queues(struct roost_ethport *port, unsigned int nb)
{
	port->asked_queues = nb;
	port->want_queues = RTE_MIN(nb, (unsigned int)ROOST_WORKERS_MAX);
	if (nb > ROOST_WORKERS_MAX)
		snprintf(port->why_fewer, sizeof(port->why_fewer),
			 "a port has no more than %d", ROOST_WORKERS_MAX);
}

/* Add queues_key to the devargs, if the driver has it. */
static int fill_queues(struct roost_ethport *port)
{
	const struct roost_driver *d = port->driver;
	char value[16];

	if (!d->queues_key)
		return 0;
	if (roost_devargs_value(port->devargs, d->queues_key, value,
				sizeof(value)) == 0) {
		/* The driver refuses a value that is no number. */
		if (strtoul(value, NULL, 10) == 0 ||
		    strtoul(value, NULL, 10) == port->want_queues)
			return 0;
	} else if (port->want_queues == 1) {
		return 0;
	}
	port->may_want_fewer = port->want_queues > 1;
	return roost_devargs_set(port->devargs, sizeof(port->devargs),
				 d->queues_key, port->want_queues);
}

static int fill_devargs(struct roost_ethport *port)
{
	if (roost_driver_devargs(port->conf.devargs, port->devargs,
				 sizeof(port->devargs)) == 0 &&
	    name_in_full(port) == 0 && fill_queues(port) == 0)
		return 0;
	port->may_want_fewer = false;
	roost_ethport_report(port, "devargs are too long; shorten them");
	return -ENODEV;
}

static int complete_devargs(struct roost_ethport *port)
{
	const char *devargs = port->conf.devargs;
	char role[16];
	int ret;

	port->driver = roost_driver_find(devargs);
	ret = check_devargs(port);
	if (ret)
		return ret;
	limit_queues(port, roost_driver_nb_queues(devargs, own_workers(port)));
	ret = fill_devargs(port);
	if (ret)
		return ret;
	port->kernel = roost_driver_kernel(port->devargs, port->iface,
					   sizeof(port->iface));
	/* The default role of memif is client. */
	port->is_memif_client =
		port->driver->is_memif &&
		(roost_devargs_value(port->devargs, "role", role,
				     sizeof(role)) != 0 ||
		 (!strstr(role, "server") && !strstr(role, "master")));
	return 0;
}

/* ---- plugging in --------------------------------------------------------- */

static int open_quirk(struct roost_ethport *port)
{
	char socket[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = "";
	const struct roost_quirk_conf conf = {
		.devargs = port->devargs,
		.devargs_size = sizeof(port->devargs),
		.socket = socket,
		.trust = &port->trust,
	};
	char why[ROOST_ETHPORT_WHY_MAX];
	int ret;

	if (port->driver->socket_key)
		roost_devargs_value(port->devargs, port->driver->socket_key,
				    socket, sizeof(socket));
	port->trust.label = port->conf.label;
	port->trust.users = port->conf.peer_users;
	ret = roost_quirk_open(&port->quirk, port->driver->quirk, &conf, why,
			       sizeof(why));
	if (why[0])
		roost_ethport_report(port, "%s", why);
	return ret;
}

/* Refuse a device that DPDK could give wrong memory addresses. A device with a
 * driver of the kernel's is allowed: some of DPDK's drivers work beside it.
 */
static int check_pci(struct roost_ethport *port)
{
	bool physical = rte_eal_iova_mode() == RTE_IOVA_PA;
	char why[ROOST_PCI_WHY_MAX];
	int ret;

	if (!port->pci.name[0])
		return 0;
	roost_pci_read(&roost_pci_places, port->pci.name, &port->pci);
	if (port->pci.driver[0] && !port->pci.is_bare)
		return 0;
	ret = roost_pci_refuses(&port->pci, physical, why);
	if (ret)
		roost_ethport_report(port, "%s", why);
	return ret;
}

static void report_probe(struct roost_ethport *port, int error)
{
	const char *cause = roost_eal_log_first();
	char why[ROOST_PCI_WHY_MAX], lacks[ROOST_RIGHTS_MAX];
	char text[ROOST_PORT_SPEC_WHY_MAX];

	if (port->driver->rights &&
	    roost_rights_lack(port->driver->rights, lacks)) {
		roost_ethport_report(port,
				     "no permission: the process lacks %s; run "
				     "it as root, or with that",
				     lacks);
		return;
	}

	if (port->pci.name[0] && roost_pci_refuses(&port->pci, true, why)) {
		roost_ethport_report(port, "%s", why);
		return;
	}
	/* No bus of DPDK knows the name. */
	if (port->driver->prefix[0] == '\0' &&
	    (*cause == '\0' || strstr(cause, "failed to parse device"))) {
		roost_port_spec_advise(port->conf.devargs, ROOST_RDMA_PLACE,
				       text);
		roost_ethport_report(port, "%s", text);
		return;
	}
	roost_ethport_report(
		port,
		"DPDK cannot open it: %s; check the devargs, \"-v\" shows "
		"DPDK's log",
		*cause ? cause : strerror(error));
}

/* A bond of taps has the kernel as its peer, as each of its members has. */
static int plug_in_members(struct roost_ethport *port)
{
	char why[512];
	int ret =
		roost_members_plug_in(&port->members, port->devargs,
				      sizeof(port->devargs), why, sizeof(why));

	if (ret) {
		roost_ethport_report(port, "%s", why);
		roost_members_plug_out(&port->members);
		return -ENODEV;
	}
	if (port->members.of_taps)
		port->kernel = ROOST_KERNEL_PEER;
	return 0;
}

/* Find the row of a PCI device's driver, which its devargs do not name. */
static void find_pci_driver(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;

	if (port->pci.name[0] && rte_eth_dev_info_get(port->id, &info) == 0)
		port->driver = roost_driver_find(info.driver_name);
}

/* Thread: the control thread, or the one of roost_control_aside(). */
static int probe(void *arg)
{
	struct roost_ethport *port = arg;
	int ret;

	roost_ethport_enter(port);
	roost_ethport_lock_bus();
	ret = rte_dev_probe(port->devargs);
	roost_ethport_unlock_bus();
	roost_ethport_leave(port);
	return ret;
}

static int plug_in(struct roost_ethport *port)
{
	char name[RTE_DEV_NAME_MAX_LEN];
	int ret;

	roost_devargs_name(port->devargs, name, sizeof(name));
	port->was_there = rte_eth_dev_get_port_by_name(name, &port->id) == 0;
	if (port->was_there) {
		find_pci_driver(port);
		return 0;
	}
	if (port->driver->has_members && plug_in_members(port) != 0)
		return -ENODEV;
	ret = check_pci(port);
	if (ret)
		return ret;
	/* Fails without root; then an IOMMU protects the memory. */
	if (port->pci.name[0])
		roost_pci_reset(&roost_pci_places, port->pci.name);
	roost_eal_log_clear();
	ret = port->driver->is_memif ? probe(port)
				     : roost_control_aside(probe, port);
	if (ret == 0)
		ret = rte_eth_dev_get_port_by_name(name, &port->id);
	if (ret == 0) {
		find_pci_driver(port);
		return 0;
	}
	/* An untrusted server at the socket was reported already. */
	if (roost_driver_serves(port->devargs) ||
	    atomic_load(&port->trust.quiet_until_ns) == 0)
		report_probe(port, -ret);
	roost_members_plug_out(&port->members);
	/* Drivers return -1 for many errors: not a valid errno. */
	return ret == -ENOMEM || ret == -EACCES ? ret : -ENODEV;
}

/* Take ethdev's ownership, so that an application that uses DPDK skips Roost's
 * ports.
 */
static int take_ownership(struct roost_ethport *port)
{
	struct rte_eth_dev_owner owner = { .name = "roost" };

	if (rte_eth_dev_owner_new(&owner.id) ||
	    rte_eth_dev_owner_set(port->id, &owner)) {
		roost_ethport_report(
			port,
			"the program itself uses this port; name another");
		return -EBUSY;
	}
	port->owner_id = owner.id;
	return 0;
}

/* Get the MAC address. A port whose peer is the kernel (a tap) has the kernel's
 * MAC; Roost is a neighbour of the kernel and needs another one.
 */
static int find_mac(struct roost_ethport *port)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port->id, &mac);

	if (ret) {
		roost_ethport_report(port, "it has no MAC address: %s",
				     strerror(-ret));
		return ret;
	}
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	if (port->kernel == ROOST_KERNEL_PEER) {
		port->mac[0] |= 0x02; /* locally administered */
		port->mac[5] ^= 0x01;
	}
	return 0;
}

/* Plug in and configure the port: after that it can start. */
static int bring_up(struct roost_ethport *port)
{
	int ret = open_quirk(port);

	if (ret)
		return ret;
	ret = plug_in(port);
	if (ret)
		goto close_quirk;
	/* The interface of a tap exists only now. */
	ret = roost_ethport_claim_first(port);
	if (!ret)
		ret = take_ownership(port);
	if (ret)
		goto unplug;
	ret = roost_ethport_choose_queues(port);
	if (!ret)
		ret = roost_ethport_make_pool(port);
	if (ret)
		goto disown;
	ret = roost_ethport_configure(port);
	if (!ret)
		ret = roost_ethport_set_mtu(port);
	if (!ret)
		ret = find_mac(port);
	if (!ret)
		return 0;
	rte_mempool_free(port->pool);
disown:
	rte_eth_dev_owner_unset(port->id, port->owner_id);
unplug:
	roost_ethport_plug_out(port);
	roost_ethport_unclaim_taps(port);
close_quirk:
	roost_quirk_close(&port->quirk);
	return ret;
}

/* After a failure: returns true to try again with one queue less. */
static bool want_fewer(struct roost_ethport *port)
{
	if (!port->may_want_fewer)
		return false;
	port->may_want_fewer = false;
	port->want_queues--;
	return fill_devargs(port) == 0;
}

int roost_ethport_open(struct roost_ethport *port,
		       const struct roost_ethport_conf *conf)
{
	int ret;

	*port = (struct roost_ethport){
		.conf = *conf,
		.groups_fd = -1,
		.sink_fd = -1,
		.retry_after_ns = ROOST_ETHPORT_RETRY_MIN_NS,
	};
	for (uint16_t i = 0; i < ROOST_WORKERS_MAX; i++) {
		port->epoll_fds[i] = -1;
		port->last_queue[i] = i;
	}
	if (conf->link)
		return roost_ethport_open_cable(port);
	ret = complete_devargs(port);
	if (ret)
		return ret;
	ret = check_socket(port);
	if (!ret)
		ret = check_kernel_interface(port);
	if (ret)
		return ret;
	ret = roost_ethport_claim_first(port);
	if (ret)
		goto leave_groups;
	do {
		ret = bring_up(port);
	} while (ret && want_fewer(port));
	port->may_want_fewer = false;
	if (ret)
		goto leave_groups;
	if (conf->verbose && port->why_fewer[0])
		roost_report("%s: queues %u instead of %u: %s", conf->label,
			     port->queues.nb, port->asked_queues,
			     port->why_fewer);
	port->ifindex = port->nl_link.state.ifindex;
	roost_ethport_listen(port);
	return 0;
leave_groups:
	roost_ethport_unclaim_taps(port);
	roost_ethport_close_fds(port);
	roost_nl_link_close(&port->nl_link);
	roost_mtu_loan_return(&port->mtu_loan);
	return ret;
}
