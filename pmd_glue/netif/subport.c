/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: the bursts. No allocation or log. With several subports: one lock per
 * burst, and a system call if the progress engine of another subport sleeps.
 */

#include <errno.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/event/ring.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/netif/shared_port.h"
#include "pmd_glue/progress/progress.h"

static uint16_t vlan_id_of(const struct rte_mbuf *pkt)
{
	return roost_ether_vlan_id(rte_pktmbuf_mtod(pkt, const uint8_t *),
				   rte_pktmbuf_data_len(pkt));
}

/* ---- receive ------------------------------------------------------------- */

static struct rte_ring *handed_to(const struct roost_subport *subport)
{
	return atomic_load_explicit(&subport->handed, memory_order_relaxed);
}

/* Holding rx_lock: the ring has one producer at a time. */
static void hand_over(struct roost_subport *to, struct rte_mbuf *pkt)
{
	pkt = roost_ethport_keep(&to->shared_port->port, pkt);
	if (pkt && rte_ring_sp_enqueue(handed_to(to), pkt) == 0)
		return;
	rte_pktmbuf_free(pkt);
	atomic_fetch_add_explicit(&to->missed_pkts, 1, memory_order_relaxed);
}

/* Keep the frames of the subport's VLAN and of VLANs without a subport; hand
 * over the others. Returns how many frames are kept.
 */
static uint16_t sort(struct roost_subport *subport, struct rte_mbuf **pkts,
		     uint16_t n)
{
	struct roost_shared_port *t = subport->shared_port;
	uint32_t woken = 0;
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint16_t id = vlan_id_of(pkts[i]);
		uint8_t to = t->subport_of_vlan[id];

		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		if (id == subport->vlan_id || to == ROOST_SUBPORT_NONE) {
			pkts[kept++] = pkts[i];
			continue;
		}
		hand_over(t->subports[to], pkts[i]);
		woken |= 1u << to;
	}
	for (uint8_t to = 0; woken != 0; to++, woken >>= 1)
		if (woken & 1)
			roost_progress_nudge(t->subports[to]->progress);
	return kept;
}

/* A port with several subports has one queue (roost_ethport_choose_queues()).
 * First take the frames that were handed over, then receive from the port. If
 * another subport has rx_lock, it receives, and hands our frames over.
 */
static uint16_t rx_shared(struct roost_subport *subport, struct rte_mbuf **pkts,
			  uint16_t n)
{
	struct roost_shared_port *t = subport->shared_port;
	uint16_t got =
		(uint16_t)rte_ring_sc_dequeue_burst(handed_to(subport),
						    (void **)pkts, n, NULL);
	uint16_t more;

	if (got == n || pthread_mutex_trylock(&t->rx_lock) != 0)
		return got;
	more = roost_ethport_rx(&t->port, 0, pkts + got, (uint16_t)(n - got));
	more = sort(subport, pkts + got, more);
	pthread_mutex_unlock(&t->rx_lock);
	return (uint16_t)(got + more);
}

uint16_t roost_subport_rx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n)
{
	struct roost_shared_port *t = subport->shared_port;

	if (!subport->running)
		return 0;
	if (t->port.shared)
		n = rx_shared(subport, pkts, n);
	else
		n = roost_ethport_rx(&t->port, queue, pkts, n);
	if (!subport->admin_down)
		return n;
	rte_pktmbuf_free_bulk(pkts, n);
	return 0;
}

bool roost_subport_is_waiting(const struct roost_subport *subport)
{
	struct rte_ring *handed =
		atomic_load_explicit(&subport->handed, memory_order_acquire);

	return handed && !roost_ring_is_empty(handed);
}

/* ---- send ---------------------------------------------------------------- */

uint16_t roost_subport_tx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n)
{
	struct roost_shared_port *t = subport->shared_port;

	if (!subport->running || subport->admin_down) {
		rte_pktmbuf_free_bulk(pkts, n);
		return n;
	}
	if (!t->port.tx_locked)
		return roost_ethport_tx(&t->port, queue, pkts, n);
	pthread_mutex_lock(&t->tx_lock);
	n = roost_ethport_tx(&t->port, 0, pkts, n);
	pthread_mutex_unlock(&t->tx_lock);
	return n;
}

/* ---- sleep --------------------------------------------------------------- */

/*
 * All subports sleep on the same interrupt. The first subport that wakes
 * disables it for all; from then on it is awake and receives for all, until it
 * arms the interrupt again.
 */
int roost_subport_arm(struct roost_subport *subport, uint16_t queue)
{
	struct roost_shared_port *t = subport->shared_port;
	int fd;

	if (!subport->running)
		return -ENOTSUP;
	if (!t->port.shared)
		return roost_ethport_arm(&t->port, queue);
	pthread_mutex_lock(&t->rx_lock);
	fd = roost_ethport_arm(&t->port, 0);
	pthread_mutex_unlock(&t->rx_lock);
	return fd;
}

void roost_subport_disarm(struct roost_subport *subport, uint16_t queue)
{
	struct roost_shared_port *t = subport->shared_port;

	if (!subport->running)
		return;
	if (!t->port.shared) {
		roost_ethport_disarm(&t->port, queue);
		return;
	}
	pthread_mutex_lock(&t->rx_lock);
	roost_ethport_disarm(&t->port, 0);
	pthread_mutex_unlock(&t->rx_lock);
}
