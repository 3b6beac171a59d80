/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ethport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "pmd_glue/eal.h"
#include "pmd_glue/ethport_priv.h"
#include "pmd_glue/peer_socket.h"
#include "pmd_glue/udp_sink.h"

#define RX_DESCS 1024u
#define TX_DESCS 1024u
/* Both rings full, what the engine queues, and the caches of the worker. */
#define POOL_MBUFS 4095u
/* What each further worker queues, and its cache. */
#define WORKER_MBUFS 2048u
#define POOL_CACHE 256u
/* What we need of an mbuf ourselves, and the most it can have. */
#define ROOM_MIN_BYTES (4096u + ROOST_FRAME_OVERHEAD_MAX)
/* What drivers put in front of a received frame; virtio has 12 bytes. */
#define ROOM_FRONT_BYTES 64u
#define ROOM_MAX_BYTES ((uint32_t)UINT16_MAX - RTE_PKTMBUF_HEADROOM)

/* ---- what the user gave -------------------------------------------------- */

static int check_kernel_interface(struct roost_ethport *port)
{
	int ret;

	if (port->kernel != ROOST_KERNEL_SHARES)
		return 0;
	ret = roost_kif_open(&port->kif, port->iface);
	if (ret == -ENODEV)
		ROOST_ETHPORT_REPORT(
			port,
			"no interface \"%s\" in this network namespace; "
			"see \"ip link\"",
			port->iface);
	else if (ret)
		ROOST_ETHPORT_REPORT(port, "interface \"%s\": %s", port->iface,
				     strerror(-ret));
	if (ret)
		return ret;
	ret = roost_kif_join_all_groups(&port->kif);
	if (ret == -EPERM) {
		ROOST_ETHPORT_REPORT(
			port,
			"no permission for packets of interface \"%s\"; "
			"run as root or with CAP_NET_RAW and CAP_NET_ADMIN",
			port->iface);
		roost_kif_close(&port->kif);
		return ret;
	}
	port->groups_fd = ret < 0 ? -1 : ret;
	if (!port->driver->is_xdp)
		port->sink_fd = roost_udp_sink_open(port->iface);
	return 0;
}

static int check_devargs(struct roost_ethport *port)
{
	char unknown[ROOST_DEVARG_KEY_MAX], nearest[ROOST_DEVARG_KEY_MAX];
	const struct roost_driver *d = port->driver;
	char value[ROOST_DEVARGS_MAX];

	if (roost_driver_check_keys(port->conf.devargs, unknown, nearest)) {
		ROOST_ETHPORT_REPORT(
			port,
			"driver %s has no argument \"%s\"; did you mean "
			"\"%s\"?",
			d->prefix, unknown, nearest);
		return -ENODEV;
	}
	if (d->required && roost_devargs_value(port->conf.devargs, d->required,
					       value, sizeof(value))) {
		ROOST_ETHPORT_REPORT(
			port,
			"driver %s needs an argument \"%s\"; append "
			"\",%s=...\"",
			d->prefix, d->required, d->required);
		return -ENODEV;
	}
	return 0;
}

static int find_queues(struct roost_ethport *port)
{
	unsigned int nb = roost_driver_nb_queues(port->devargs);

	if (nb > ROOST_XDP_QUEUES_MAX) {
		ROOST_ETHPORT_REPORT(port,
				     "%u queues are more than a port may have; "
				     "give at most %u",
				     nb, ROOST_XDP_QUEUES_MAX);
		return -ENODEV;
	}
	port->nb_queues = (uint16_t)nb;
	return 0;
}

/* Clients of net_vhost try again until there is a server. */
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
		ROOST_ETHPORT_REPORT(port, "%s", why);
	return ret == -EBUSY || !ret ? ret : -ENODEV;
}

/* DPDK finds a PCI device by its full name alone. */
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

static int complete_devargs(struct roost_ethport *port)
{
	const char *devargs = port->conf.devargs;
	char role[16];
	int ret;

	port->driver = roost_driver_find(devargs);
	ret = check_devargs(port);
	if (ret)
		return ret;
	if (roost_driver_devargs(devargs, port->devargs,
				 sizeof(port->devargs)) ||
	    name_in_full(port)) {
		ROOST_ETHPORT_REPORT(port,
				     "devargs are too long; shorten them");
		return -ENODEV;
	}
	port->kernel = roost_driver_kernel(port->devargs, port->iface,
					   sizeof(port->iface));
	/* memif is a client unless it is told otherwise. */
	port->is_memif_client =
		port->driver->is_memif &&
		(roost_devargs_value(port->devargs, "role", role,
				     sizeof(role)) != 0 ||
		 (!strstr(role, "server") && !strstr(role, "master")));
	return find_queues(port);
}

/* ---- plugging in --------------------------------------------------------- */

/* The program, unless the user gave one, and the gate that it needs. */
static int open_xdp(struct roost_ethport *port)
{
	size_t len = strlen(port->devargs);
	bool theirs = roost_devargs_has(port->devargs, "xdp_prog");
	int ret = roost_xdp_gate_put();

	if (ret) {
		ROOST_ETHPORT_REPORT(port,
				     "librte_net_af_xdp.so, libxdp or libbpf: "
				     "%s; install DPDK's drivers, as shared "
				     "libraries",
				     ret == -ENOENT ? "not loaded, or of "
						      "another kind"
						    : strerror(-ret));
		return -ENODEV;
	}
	ret = roost_xdp_open(&port->xdp);
	if (ret == -ENOENT && !theirs)
		ROOST_ETHPORT_REPORT(port,
				     "Roost was built without clang, and so "
				     "without an XDP program; build it with "
				     "clang and libbpf-dev, or give "
				     "xdp_prog=FILE");
	else if (ret && ret != -ENOENT)
		ROOST_ETHPORT_REPORT(port, "no XDP program: %s",
				     strerror(-ret));
	if (theirs)
		return 0;
	if (ret == 0)
		snprintf(port->devargs + len, sizeof(port->devargs) - len,
			 ",xdp_prog=/proc/self/fd/%d", port->xdp.program_fd);
	return ret == -ENOENT ? -ENODEV : ret;
}

static int open_gate(struct roost_ethport *port)
{
	const char *library = port->driver->gated_library;
	char key[sizeof(port->gate.key)] = "";
	int ret;

	if (port->driver->is_xdp)
		return open_xdp(port);
	if (port->driver->is_vhost)
		library = "librte_net_vhost.so";
	if (!library)
		return 0;
	ret = port->driver->is_vhost ? roost_vhost_gate_put()
				     : roost_intr_gate_put(library);
	if (ret) {
		ROOST_ETHPORT_REPORT(
			port,
			"%s: %s; install DPDK's drivers, as shared "
			"libraries",
			library,
			ret == -ENOENT ? "not loaded" : strerror(-ret));
		return -ENODEV;
	}
	roost_devargs_value(port->devargs, port->driver->socket_key, key,
			    sizeof(key));
	if (port->driver->is_vhost)
		roost_vhost_open(&port->vhost, key);
	else
		roost_intr_owner_open(&port->gate, key, port->conf.is_link);
	return 0;
}

/* A device that DPDK might lead to the wrong memory is not tried. One in a
 * driver of the kernel's own is: some of DPDK's drivers work beside it.
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
		ROOST_ETHPORT_REPORT(port, "%s", why);
	return ret;
}

static void report_probe(struct roost_ethport *port, int error)
{
	const char *cause = roost_eal_log_first();
	char why[ROOST_PCI_WHY_MAX];

	if (port->pci.name[0] && roost_pci_refuses(&port->pci, true, why)) {
		ROOST_ETHPORT_REPORT(port, "%s", why);
		return;
	}
	ROOST_ETHPORT_REPORT(
		port,
		"DPDK cannot open it: %s; check the devargs, \"-v\" shows "
		"DPDK's log",
		*cause ? cause : strerror(error));
}

/* Seen from the network, a bond of taps is as far from the kernel as each. */
static int plug_in_members(struct roost_ethport *port)
{
	char why[512];
	int ret =
		roost_members_plug_in(&port->members, port->devargs,
				      sizeof(port->devargs), why, sizeof(why));

	if (ret) {
		ROOST_ETHPORT_REPORT(port, "%s", why);
		roost_members_plug_out(&port->members);
		return -ENODEV;
	}
	if (port->members.of_taps)
		port->kernel = ROOST_KERNEL_PEER;
	return 0;
}

/* Its devargs do not name it. */
static void find_pci_driver(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;

	if (port->pci.name[0] && rte_eth_dev_info_get(port->id, &info) == 0)
		port->driver = roost_driver_find(info.driver_name);
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
	roost_eal_log_clear();
	roost_ethport_enter(port);
	ret = rte_dev_probe(port->devargs);
	roost_ethport_leave(port);
	if (ret == 0)
		ret = rte_eth_dev_get_port_by_name(name, &port->id);
	if (ret == 0) {
		find_pci_driver(port);
		return 0;
	}
	report_probe(port, -ret);
	roost_members_plug_out(&port->members);
	/* Drivers say -1 for anything, which is no error number. */
	return ret == -ENOMEM || ret == -EACCES ? ret : -ENODEV;
}

/* So that a program that uses DPDK itself passes over our ports. */
static int take_ownership(struct roost_ethport *port)
{
	struct rte_eth_dev_owner owner = { .name = "roost" };

	if (rte_eth_dev_owner_new(&owner.id) ||
	    rte_eth_dev_owner_set(port->id, &owner)) {
		ROOST_ETHPORT_REPORT(
			port,
			"the program itself uses this port; name another");
		return -EBUSY;
	}
	port->owner_id = owner.id;
	return 0;
}

/* The longest IP packet that is to be received whole, as far as it is known
 * now; RoCE's are never longer than ROOM_MIN_BYTES.
 */
static uint32_t longest_ip_bytes(const struct roost_ethport *port)
{
	uint16_t mtu;

	if (port->conf.mtu_bytes || !port->conf.has_twin)
		return port->conf.mtu_bytes;
	if (port->driver->ip_mtu_bytes)
		return port->driver->ip_mtu_bytes(port->devargs);
	return rte_eth_dev_get_mtu(port->id, &mtu) == 0 ? mtu : 0;
}

static int make_pool(struct roost_ethport *port)
{
	uint32_t users = RTE_MAX(port->conf.nb_users, 1u);
	uint32_t nb_mbufs = (POOL_MBUFS + 1) * (port->nb_queues + users - 1) -
			    1 +
			    users * (port->conf.nb_workers - 1) * WORKER_MBUFS;
	uint32_t room = longest_ip_bytes(port) + ROOST_ETH_LEN + ROOST_VLAN_LEN;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (room < ROOM_MIN_BYTES)
		room = ROOM_MIN_BYTES;
	room += ROOM_FRONT_BYTES;
	if (port->driver->rx_room_bytes &&
	    port->driver->rx_room_bytes(port->devargs) > room)
		room = port->driver->rx_room_bytes(port->devargs);
	room = RTE_ALIGN_CEIL(room, 64u);
	if (room > ROOM_MAX_BYTES)
		room = ROOM_MAX_BYTES;
	if (port->driver->rx_room_max_bytes)
		room = RTE_MIN(room, port->driver->rx_room_max_bytes);
	snprintf(name, sizeof(name), "roost_port%u", port->id);
	port->pool =
		rte_pktmbuf_pool_create(name, nb_mbufs, POOL_CACHE, 0,
					(uint16_t)(room + RTE_PKTMBUF_HEADROOM),
					rte_eth_dev_socket_id(port->id));
	/* The kernel is given the first piece of it. */
	if (port->pool && port->driver->is_xdp &&
	    port->pool->nb_mem_chunks != 1) {
		rte_mempool_free(port->pool);
		port->pool = NULL;
		rte_errno = ENOMEM;
	}
	if (port->pool)
		return 0;
	ROOST_ETHPORT_REPORT(
		port,
		"no memory for %u packets: %s; free some, or give more "
		"huge pages",
		nb_mbufs, rte_strerror(rte_errno));
	return -ENOMEM;
}

static int configure_with(struct roost_ethport *port, bool rx_interrupts)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t rx_descs = RX_DESCS, tx_descs = TX_DESCS;
	unsigned int socket;
	int ret;

	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret)
		return ret;
	/* Some drivers can only be told before they start. */
	if (port->pci.name[0] && port->conf.mtu_bytes)
		conf.rxmode.mtu = port->conf.mtu_bytes;
	conf.rxmode.offloads = roost_ethport_vlan_offload(port, &info);
	port->has_lsc = *info.dev_flags & RTE_ETH_DEV_INTR_LSC &&
			!port->driver->link_is_mute;
	conf.intr_conf.lsc = port->has_lsc;
	conf.intr_conf.rxq = rx_interrupts;
	port->has_rxq = rx_interrupts;
	ret = rte_eth_dev_configure(port->id, port->nb_queues, port->nb_queues,
				    &conf);
	if (ret)
		return ret;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_descs, &tx_descs);
	if (ret)
		return ret;
	socket = (unsigned int)rte_eth_dev_socket_id(port->id);
	for (uint16_t i = 0; i < port->nb_queues; i++) {
		ret = rte_eth_rx_queue_setup(port->id, i, rx_descs, socket,
					     NULL, port->pool);
		if (!ret)
			ret = rte_eth_tx_queue_setup(port->id, i, tx_descs,
						     socket, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

static void report_configure(struct roost_ethport *port, int ret)
{
	char why[256];

	if (port->driver->is_xdp && port->xdp.failed != ROOST_XDP_ALL_WELL) {
		roost_xdp_why(&port->xdp, port->iface, why, sizeof(why));
		ROOST_ETHPORT_REPORT(port, "%s", why);
	} else {
		ROOST_ETHPORT_REPORT(
			port,
			"DPDK cannot configure it: %s; check the devargs, "
			"\"-v\" shows DPDK's log",
			*roost_eal_log_first() ? roost_eal_log_first()
					       : strerror(-ret));
	}
}

/* What DPDK would say of too much has no fix. */
static int check_mtu(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;
	uint32_t most;

	if (!port->pci.name[0] || rte_eth_dev_info_get(port->id, &info))
		return 0;
	most = info.max_mtu;
	if (most == UINT16_MAX) /* the driver leaves it at that */
		most = info.max_rx_pktlen - ROOST_ETH_LEN - RTE_ETHER_CRC_LEN;
	if (port->conf.mtu_bytes <= most)
		return 0;
	ROOST_ETHPORT_REPORT(port,
			     "it has an MTU of %u at most, not of %u; give a "
			     "smaller mtu, or none",
			     most, port->conf.mtu_bytes);
	return -EINVAL;
}

int roost_ethport_configure(struct roost_ethport *port)
{
	int ret = check_mtu(port);

	if (ret)
		return ret;
	ret = -ENOTSUP;
	roost_eal_log_clear();
	roost_ethport_enter(port);
	if (!port->driver->is_memif && !port->driver->is_xdp &&
	    !port->driver->rx_is_mute && !port->pci.is_uio)
		ret = configure_with(port, true);
	if (ret)
		ret = configure_with(port, false);
	roost_ethport_leave(port);
	if (ret)
		report_configure(port, ret);
	return ret;
}

/* A port whose other end is a kernel has that kernel's MAC; as a neighbour of
 * it we need our own.
 */
static int find_mac(struct roost_ethport *port)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port->id, &mac);

	if (ret) {
		ROOST_ETHPORT_REPORT(port, "it has no MAC address: %s",
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

int roost_ethport_open(struct roost_ethport *port,
		       const struct roost_ethport_conf *conf)
{
	int ret;

	*port = (struct roost_ethport){
		.conf = *conf,
		.nb_queues = 1,
		.epoll_fd = -1,
		.groups_fd = -1,
		.sink_fd = -1,
		.retry_after_ns = ROOST_ETHPORT_RETRY_MIN_NS,
	};
	ret = complete_devargs(port);
	if (ret)
		return ret;
	ret = check_socket(port);
	if (!ret)
		ret = check_kernel_interface(port);
	if (ret)
		return ret;
	ret = open_gate(port);
	if (ret)
		goto leave_groups;
	ret = plug_in(port);
	if (ret)
		goto close_gate;
	ret = take_ownership(port);
	if (ret)
		goto unplug;
	ret = make_pool(port);
	if (ret)
		goto disown;
	ret = roost_ethport_configure(port);
	if (ret)
		goto free_pool;
	ret = roost_ethport_set_mtu(port);
	if (!ret)
		ret = find_mac(port);
	if (!ret) {
		port->ifindex = port->kif.state.ifindex;
		roost_ethport_listen(port);
		return 0;
	}
free_pool:
	rte_mempool_free(port->pool);
disown:
	rte_eth_dev_owner_unset(port->id, port->owner_id);
unplug:
	roost_ethport_plug_out(port);
close_gate:
	roost_ethport_close_gates(port);
leave_groups:
	roost_ethport_close_fds(port);
	roost_kif_close(&port->kif);
	return ret;
}
