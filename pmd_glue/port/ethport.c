/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The bursts are hot: no allocation, system call, log or lock of Roost's. */

#include "pmd_glue/port/ethport.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pmd_glue/cable/cable.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/port/ethport_priv.h"

/* The longest interval of a memif client's tries to reach its server. */
#define RETRY_MAX_NS 50000000u

/* ---- bursts ------------------------------------------------------------ */

/* The engine needs each frame in one segment: linearize, or drop. */
static uint16_t keep_whole(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (pkts[i]->nb_segs > 1 && rte_pktmbuf_linearize(pkts[i]) != 0)
			rte_pktmbuf_free(pkts[i]);
		else
			pkts[kept++] = pkts[i];
	}
	return kept;
}

/* Receive from all queues of the worker, starting with another queue each time.
 */
static uint16_t rx_several(struct roost_ethport *port, uint16_t worker,
			   struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t queue = port->last_queue[worker];
	uint16_t got = 0;

	for (uint16_t i = worker; i < port->queues.nb && got < n;
	     i = (uint16_t)(i + port->nb_worker_queues)) {
		queue = (uint16_t)(queue + port->nb_worker_queues);
		if (queue >= port->queues.nb)
			queue = worker;
		got = (uint16_t)(got + rte_eth_rx_burst(port->id, queue,
							pkts + got,
							(uint16_t)(n - got)));
	}
	port->last_queue[worker] = queue;
	return got;
}

uint16_t roost_ethport_rx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n)
{
	if (!port->started)
		return 0;
	if (port->cable)
		return roost_cable_rx(port->cable, pkts, n);
	n = port->queues.nb == port->nb_worker_queues
		    ? rte_eth_rx_burst(port->id, queue, pkts, n)
		    : rx_several(port, queue, pkts, n);
	for (uint16_t i = 0; i < n; i++)
		if (pkts[i]->nb_segs > 1)
			return keep_whole(pkts, n);
	return n;
}

/* Is there a peer, so that the port may take the rest of a burst later? */
static bool may_take_later(struct roost_ethport *port)
{
	struct rte_eth_link link;

	/* memif reads its link state from memory; other drivers may not. */
	if (port->driver->is_memif)
		return rte_eth_link_get_nowait(port->id, &link) == 0 &&
		       link.link_status == RTE_ETH_LINK_UP;
	return atomic_load_explicit(&port->carrier, memory_order_relaxed);
}

uint16_t roost_ethport_tx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = 0;

	if (port->cable && port->started)
		return roost_cable_tx(port->cable, pkts, n);
	if (port->started)
		sent = rte_eth_tx_burst(port->id, queue, pkts, n);
	if (sent < n && (!port->started || !may_take_later(port))) {
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
		sent = n;
	}
	return sent;
}

struct rte_mbuf *roost_ethport_keep(struct roost_ethport *port,
				    struct rte_mbuf *mbuf)
{
	return port->cable ? roost_cable_keep(port->cable, mbuf) : mbuf;
}

/* ---- what opening uses, too ---------------------------------------------- */

static pthread_mutex_t bus = PTHREAD_MUTEX_INITIALIZER;

void roost_ethport_lock_bus(void)
{
	pthread_mutex_lock(&bus);
}

void roost_ethport_unlock_bus(void)
{
	pthread_mutex_unlock(&bus);
}

void roost_ethport_close_fds(struct roost_ethport *port)
{
	if (port->groups_fd >= 0)
		close(port->groups_fd);
	if (port->sink_fd >= 0)
		close(port->sink_fd);
}

void roost_ethport_plug_out(struct roost_ethport *port)
{
	struct rte_device *device = NULL;
	struct rte_eth_dev_info info;

	if (port->was_there)
		return;
	if (rte_eth_dev_info_get(port->id, &info) == 0)
		device = info.device;
	roost_ethport_enter(port);
	roost_ethport_lock_bus();
	rte_eth_dev_close(port->id);
	if (device)
		rte_dev_remove(device);
	roost_members_plug_out(&port->members);
	roost_ethport_unlock_bus();
	roost_ethport_leave(port);
}

/* ---- start, watch, close ------------------------------------------------ */

static int start(struct roost_ethport *port)
{
	int ret;

	roost_ethport_enter(port);
	ret = rte_eth_dev_start(port->id);
	roost_ethport_leave(port);
	port->started = ret == 0;
	if (port->started)
		roost_ethport_tell_vlans(port);
	return ret;
}

/* Start with one queue: some drivers find their limit only at start. */
static int start_with_one(struct roost_ethport *port, int error)
{
	int ret;

	if (port->conf.verbose)
		roost_report("%s: queues 1 instead of %u: %s", port->conf.label,
			     port->queues.nb,
			     *roost_eal_log_first() ? roost_eal_log_first()
						    : strerror(-error));
	ret = roost_ethport_take_one_queue(port);
	return ret ? ret : start(port);
}

int roost_ethport_start(struct roost_ethport *port, uint64_t now_ns)
{
	int ret;

	if (port->cable) {
		port->started = true;
		roost_cable_start(port->cable);
		roost_ethport_set_rules(port);
		return 0;
	}
	roost_eal_log_clear();
	roost_eal_log_mute(port->is_memif_client);
	ret = start(port);
	roost_eal_log_mute(false);
	if (ret && port->queues.nb > 1)
		ret = start_with_one(port, ret);
	if (ret && port->is_memif_client) {
		port->retry_at_ns = now_ns + port->retry_after_ns;
		return 0;
	}
	if (ret) {
		roost_ethport_report(port, "DPDK cannot start it: %s",
				     *roost_eal_log_first()
					     ? roost_eal_log_first()
					     : strerror(-ret));
		return ret;
	}
	roost_ethport_set_rules(port);
	roost_ethport_open_interrupts(port);
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

void roost_ethport_unplug(struct roost_ethport *port)
{
	if (port->gone)
		return;
	port->gone = true;
	if (port->cable) {
		port->started = false;
		roost_cable_stop(port->cable);
		return;
	}
	roost_quirk_set_first_worker(&port->quirk, NULL);
	roost_ethport_listen_no_more(port);
	/* A peer that is told to stop does not read the frames that we sent. A
	 * peer whose connection ends does.
	 */
	roost_quirk_hang_up(&port->quirk);
	roost_ethport_watch_queues(port, false);
	roost_nic_rules_stop(&port->nic_rules);
	roost_ethport_enter(port);
	rte_eth_dev_stop(port->id);
	roost_ethport_leave(port);
	port->started = false;
	rte_eth_dev_owner_unset(port->id, port->owner_id);
	roost_ethport_plug_out(port);
	roost_quirk_close(&port->quirk);
	roost_ethport_unclaim_taps(port);
}

void roost_ethport_close(struct roost_ethport *port)
{
	roost_ethport_unplug(port);
	/* Not earlier: a worker's thread may have slept on them. */
	roost_ethport_close_interrupts(port);
	roost_ethport_close_fds(port);
	roost_nl_link_close(&port->nl_link);
	roost_mtu_loan_return(&port->mtu_loan);
}

void roost_ethport_free_pool(struct roost_ethport *port)
{
	if (port->cable)
		roost_cable_free(port->cable);
	else
		rte_mempool_free(port->pool);
}

/* Read the link state. In this call virtio_user may notice that its peer has
 * left or come, and then sets up its rings again; a bond may change its member.
 */
static void get_link(struct roost_ethport *port, struct rte_eth_link *eth)
{
	bool changes =
		port->driver->has_members ||
		(port->driver->quirk && port->driver->quirk->link_moves_rings);

	if (changes)
		roost_ethport_hold(port);
	roost_ethport_enter(port);
	if (rte_eth_link_get_nowait(port->id, eth) != 0)
		eth->link_status = RTE_ETH_LINK_DOWN;
	roost_ethport_leave(port);
	if (port->members.nb && !roost_members_watch(&port->members, port->id))
		eth->link_status = RTE_ETH_LINK_DOWN;
	if (changes)
		roost_ethport_release(port);
}

void roost_ethport_link(struct roost_ethport *port,
			struct roost_ethport_link *link)
{
	struct rte_eth_link eth = { 0 };

	if (port->cable)
		roost_ethport_get_cable_link(port, &eth);
	else if (!port->gone)
		get_link(port, &eth);
	link->carrier = port->started && eth.link_status == RTE_ETH_LINK_UP;
	if (port->kernel == ROOST_KERNEL_SHARES)
		link->carrier = link->carrier && port->nl_link.state.running;
	link->state = ROOST_PORT_DOWN;
	if (link->carrier || (port->cable && !port->gone))
		link->state = ROOST_PORT_ACTIVE;
	link->speed_mbps = eth.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN
				   ? 0
				   : eth.link_speed;
	atomic_store_explicit(&port->carrier, link->carrier,
			      memory_order_relaxed);
}

void roost_ethport_set_mac(struct roost_ethport *port, const uint8_t mac[6])
{
	struct rte_ether_addr addr;

	memcpy(port->mac, mac, sizeof(port->mac));
	memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
	if (port->kernel == ROOST_KERNEL_NONE && !port->gone && !port->cable &&
	    rte_eth_dev_default_mac_addr_set(port->id, &addr) != 0)
		rte_eth_promiscuous_enable(port->id);
}

uint64_t roost_ethport_reconnect(struct roost_ethport *port, uint64_t now_ns)
{
	if (!port->is_memif_client || port->gone)
		return UINT64_MAX;
	if (roost_quirk_is_busy(&port->quirk)) {
		/* A control socket alone is no connection yet. */
		if (atomic_load_explicit(&port->carrier,
					 memory_order_relaxed)) {
			port->retry_after_ns = ROOST_ETHPORT_RETRY_MIN_NS;
			port->retry_at_ns = 0;
		}
		return UINT64_MAX;
	}
	if (now_ns < port->retry_at_ns)
		return port->retry_at_ns;
	roost_eal_log_mute(true);
	roost_ethport_hold(port);
	if (port->started) {
		port->started = false;
		roost_ethport_enter(port);
		rte_eth_dev_stop(port->id);
		roost_ethport_leave(port);
	}
	start(port);
	roost_ethport_release(port);
	roost_eal_log_mute(false);
	port->retry_after_ns =
		RTE_MIN(port->retry_after_ns * 2, (uint64_t)RETRY_MAX_NS);
	port->retry_at_ns = now_ns + port->retry_after_ns;
	return port->retry_at_ns;
}
