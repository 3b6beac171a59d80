/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Queues of a port: their number, their packet pool, and their steering. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/port/ethport_priv.h"

#define RX_DESCS 1024u
#define TX_DESCS 1024u
/* mbufs for both rings, the engine's queues, and the worker's cache. */
#define POOL_MBUFS 4095u
/* mbufs for the queues and the cache of each further worker. */
#define WORKER_MBUFS 2048u
#define POOL_CACHE 256u
/* The smallest and the largest data room of an mbuf. */
#define ROOM_MIN_BYTES (4096u + ROOST_FRAME_OVERHEAD_MAX)
/* Drivers put a header before a received frame; virtio's has 12 bytes. */
#define ROOM_FRONT_BYTES 64u
#define ROOM_MAX_BYTES ((uint32_t)UINT16_MAX - RTE_PKTMBUF_HEADROOM)

void roost_ethport_report(struct roost_ethport *port, const char *format, ...)
{
	char why[ROOST_ETHPORT_WHY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (!port->may_want_fewer && !port->conf.quiet)
		roost_report("%s: %s", port->conf.label, why);
	else
		strcpy(port->why_fewer, why);
}

/* ---- how many ------------------------------------------------------------ */

static int offer_of(uint16_t id, const struct roost_driver *driver,
		    struct roost_queues_offer *offer)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(id, &info);

	if (ret)
		return ret;
	/* A member of a bond: find the row by the driver's name. */
	if (!driver)
		driver = roost_driver_find(info.driver_name);
	*offer = (struct roost_queues_offer){
		.max_rx = info.max_rx_queues,
		.max_tx = info.max_tx_queues,
		.rss_hf =
			driver->rss_is_hollow ? 0 : info.flow_type_rss_offloads,
		.spreads = driver->spreads,
		.fixed = driver->queues_key != NULL,
	};
	return 0;
}

static uint16_t least(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

/* Combine the members' offers: a bond itself has no members until it is
 * configured.
 */
static int offer_of_members(const struct roost_members *members,
			    struct roost_queues_offer *offer)
{
	struct roost_queues_offer one;
	uint16_t id;
	int ret;

	*offer = (struct roost_queues_offer){
		.max_rx = UINT16_MAX,
		.max_tx = UINT16_MAX,
		.rss_hf = UINT64_MAX,
		.spreads = true,
	};
	for (unsigned int i = 0; i < members->nb; i++) {
		ret = rte_eth_dev_get_port_by_name(members->v[i].name, &id);
		if (!ret)
			ret = offer_of(id, NULL, &one);
		if (ret)
			return ret;
		offer->max_rx = least(offer->max_rx, one.max_rx);
		offer->max_tx = least(offer->max_tx, one.max_tx);
		offer->rss_hf &= one.rss_hf;
		offer->spreads = offer->spreads && one.spreads;
		offer->fixed = offer->fixed || one.fixed;
	}
	return 0;
}

int roost_ethport_choose_queues(struct roost_ethport *port)
{
	unsigned int nb_workers = RTE_MAX(port->conf.nb_workers, 1u);
	bool alone = port->conf.nb_users <= 1;
	struct roost_queues_offer offer;
	int ret;

	ret = port->driver->has_members
		      ? offer_of_members(&port->members, &offer)
		      : offer_of(port->id, port->driver, &offer);
	if (ret) {
		roost_ethport_report(port, "DPDK knows nothing of it: %s",
				     strerror(-ret));
		return ret;
	}
	port->queues =
		roost_queues_choose(&offer, port->want_queues, nb_workers);
	port->nb_worker_queues = 1;
	if (alone)
		port->nb_worker_queues =
			(uint16_t)RTE_MIN((unsigned int)port->queues.nb,
					  nb_workers);
	else if (nb_workers > 1)
		port->queues.steering = ROOST_STEERING_SOFTWARE;
	port->want_queues = port->queues.nb;
	/* A fixed number of queues changes only if Roost gives queues_key. */
	port->may_want_fewer = port->queues.nb > 1 &&
			       (!offer.fixed ||
				(port->driver->queues_key && !port->was_there));
	return 0;
}

int roost_ethport_take_one_queue(struct roost_ethport *port)
{
	port->queues = (struct roost_queues){
		.nb = 1,
		.steering = ROOST_STEERING_SOFTWARE,
	};
	port->tx_locked = true;
	return roost_ethport_configure(port);
}

void roost_ethport_set_rules(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;

	if (port->pci.name[0] && port->conf.vlan_ids[0] == 0 &&
	    rte_eth_dev_info_get(port->id, &info) == 0)
		roost_queues_steer(&port->queues, port->id, info.reta_size,
				   &roost_queues_ops);
	if (port->conf.verbose)
		roost_report("%s: queues %u, steering %s", port->conf.label,
			     port->queues.nb,
			     roost_steering_names[port->queues.steering]);
	/* The rules of a program are for one device. */
	if (!port->cable && port->conf.nb_users <= 1)
		roost_nic_rules_start(&port->nic_rules, port->id,
				      port->queues.steering ==
						      ROOST_STEERING_RSS ||
					      port->queues.steering ==
						      ROOST_STEERING_DRIVER,
				      &roost_queues_ops);
}

/* ---- packets ------------------------------------------------------------- */

/* The longest IP packet that an mbuf must hold, as far as it is known now.
 * RoCEv2 packets always fit into ROOM_MIN_BYTES.
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

int roost_ethport_make_pool(struct roost_ethport *port)
{
	uint32_t users = RTE_MAX(port->conf.nb_users, 1u);
	uint32_t workers = users * RTE_MAX(port->conf.nb_workers, 1u);
	uint32_t nb_mbufs =
		(POOL_MBUFS + 1) * (port->queues.nb + users - 1) - 1 +
		(workers - users * port->nb_worker_queues) * WORKER_MBUFS;
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
	/* net_af_xdp gives only the first memory chunk to the kernel. */
	if (port->pool && port->driver->is_xdp &&
	    port->pool->nb_mem_chunks != 1) {
		rte_mempool_free(port->pool);
		port->pool = NULL;
		rte_errno = ENOMEM;
	}
	if (port->pool)
		return 0;
	roost_ethport_report(
		port,
		"no memory for %u packets: %s; free some, or give more "
		"huge pages",
		nb_mbufs, rte_strerror(rte_errno));
	return -ENOMEM;
}

/* ---- configure ----------------------------------------------------------- */

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
	/* Some drivers take an MTU only before start. */
	if (port->pci.name[0] && port->conf.mtu_bytes)
		conf.rxmode.mtu = port->conf.mtu_bytes;
	port->has_lsc = *info.dev_flags & RTE_ETH_DEV_INTR_LSC &&
			!port->driver->link_is_mute;
	conf.rxmode.offloads = roost_ethport_vlan_offload(port, &info);
	if (port->queues.rss_hf != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = port->queues.rss_hf;
	}
	conf.intr_conf.lsc = port->has_lsc;
	conf.intr_conf.rxq = rx_interrupts;
	port->has_rxq = rx_interrupts;
	ret = rte_eth_dev_configure(port->id, port->queues.nb, port->queues.nb,
				    &conf);
	if (ret)
		return ret;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_descs, &tx_descs);
	if (ret)
		return ret;
	socket = (unsigned int)rte_eth_dev_socket_id(port->id);
	for (uint16_t i = 0; i < port->queues.nb; i++) {
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

	if (roost_quirk_why(&port->quirk, port->iface, why, sizeof(why))) {
		roost_ethport_report(port, "%s", why);
	} else {
		roost_ethport_report(
			port,
			"DPDK cannot configure it: %s; check the devargs, "
			"\"-v\" shows DPDK's log",
			*roost_eal_log_first() ? roost_eal_log_first()
					       : strerror(-ret));
	}
}

/* Check the MTU here: DPDK's own error does not tell the limit. */
static int check_mtu(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;
	uint32_t most;

	if (!port->pci.name[0] || rte_eth_dev_info_get(port->id, &info))
		return 0;
	most = info.max_mtu;
	if (most == UINT16_MAX) /* the driver has not set it */
		most = info.max_rx_pktlen - ROOST_ETH_LEN - RTE_ETHER_CRC_LEN;
	if (port->conf.mtu_bytes <= most)
		return 0;
	roost_ethport_report(port,
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
	/* The flow rules are gone. */
	if (port->queues.steering == ROOST_STEERING_FLOW)
		port->queues.steering = ROOST_STEERING_RSS;
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
