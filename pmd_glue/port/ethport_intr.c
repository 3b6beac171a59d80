/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * RX interrupts. A worker sleeps on one epoll descriptor that watches all
 * queues it receives from.
 *
 * Queues of the kernel (af_packet, af_xdp, tap) are in it only while the worker
 * sleeps. While a socket is watched, each frame costs its sender a wake, even
 * if no thread sleeps.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/cable/cable.h"
#include "pmd_glue/port/ethport_priv.h"

/* Loop over the queues of the worker. */
#define FOR_QUEUES(i, port, worker)                                            \
	for (uint16_t i = (worker); i < (port)->queues.nb;                     \
	     i = (uint16_t)(i + (port)->nb_worker_queues))

static int enable(const struct roost_ethport *port, uint16_t worker)
{
	int ret = -ENOTSUP;

	if (port->driver->queue_is_rx_interrupt)
		return worker < port->queues.nb ? 0 : ret;
	FOR_QUEUES(i, port, worker)
	{
		ret = rte_eth_dev_rx_intr_enable(port->id, i);
		if (ret)
			break;
	}
	return ret;
}

static void disable(const struct roost_ethport *port, uint16_t worker)
{
	FOR_QUEUES(i, port, worker)
	rte_eth_dev_rx_intr_disable(port->id, i);
}

/* Watch AF_XDP and packet sockets, which their drivers do not offer as RX
 * interrupts.
 */
static int watch_sockets(const struct roost_ethport *port, uint16_t worker,
			 const int *fds, unsigned int nb, int op)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret = nb != 0 ? 0 : -ENOTSUP;

	FOR_QUEUES(i, port, worker)
	if (i < nb &&
	    epoll_ctl(port->epoll_fds[worker], op, fds[i], &event) < 0)
		ret = -errno;
	return ret;
}

/* op: RTE_INTR_EVENT_ADD or _DEL; same values as EPOLL_CTL_ADD and _DEL. */
static int watch(const struct roost_ethport *port, uint16_t worker, int op)
{
	const int *fds;
	int nb = roost_quirk_sockets(&port->quirk, &fds);
	int ret = 0;

	if (nb >= 0)
		return watch_sockets(port, worker, fds, (unsigned int)nb, op);
	FOR_QUEUES(i, port, worker)
	ret |= rte_eth_dev_rx_intr_ctl_q(port->id, i, port->epoll_fds[worker],
					 op, NULL);
	return ret;
}

/* Watch all queues of the worker. Returns 0; on -errno none is watched. */
static int start_watch(struct roost_ethport *port, uint16_t worker)
{
	int ret;

	if (port->watched[worker])
		return 0;
	roost_quirk_read_errors(&port->quirk);
	ret = watch(port, worker, RTE_INTR_EVENT_ADD);
	if (ret)
		watch(port, worker, RTE_INTR_EVENT_DEL);
	port->watched[worker] = ret == 0;
	return ret;
}

static void end_watch(struct roost_ethport *port, uint16_t worker)
{
	if (port->watched[worker])
		watch(port, worker, RTE_INTR_EVENT_DEL);
	port->watched[worker] = false;
}

int roost_ethport_arm(struct roost_ethport *port, uint16_t queue)
{
	int ret;

	if (port->cable && port->started)
		return roost_cable_arm(port->cable);
	if (port->epoll_fds[queue] < 0 || !port->started)
		return -ENOTSUP;
	ret = start_watch(port, queue);
	if (ret)
		return ret;
	ret = enable(port, queue);
	if (ret)
		disable(port, queue);
	return ret ? ret : port->epoll_fds[queue];
}

void roost_ethport_disarm(struct roost_ethport *port, uint16_t queue)
{
	struct rte_epoll_event events[ROOST_WORKERS_MAX];

	if (!port->started)
		return;
	if (port->cable) {
		roost_cable_disarm(port->cable);
		return;
	}
	if (port->driver->queue_is_rx_interrupt) {
		end_watch(port, queue);
		return;
	}
	disable(port, queue);
	/* Reads the counters of the interrupts' eventfds. */
	rte_epoll_wait(port->epoll_fds[queue], events, ROOST_WORKERS_MAX, 0);
}

void roost_ethport_watch_queues(struct roost_ethport *port, bool on)
{
	for (uint16_t i = 0; i < port->nb_worker_queues; i++)
		if (port->watched[i])
			watch(port, i,
			      on ? RTE_INTR_EVENT_ADD : RTE_INTR_EVENT_DEL);
}

static void open_interrupts_of(struct roost_ethport *port, uint16_t worker)
{
	int *fd = &port->epoll_fds[worker];

	/* Try to enable first: ethdev logs an error if there are none. */
	if (enable(port, worker) != 0)
		return;
	*fd = roost_high_fd(epoll_create1(EPOLL_CLOEXEC));
	if (*fd < 0)
		return;
	if (start_watch(port, worker) < 0) {
		close(*fd);
		*fd = -1;
		return;
	}
	roost_ethport_disarm(port, worker);
}

void roost_ethport_open_interrupts(struct roost_ethport *port)
{
	/* Without has_rxq, drivers of NICs have no interrupt vectors. */
	if (port->pci.name[0] && !port->has_rxq)
		return;
	for (uint16_t i = 0; i < port->nb_worker_queues; i++)
		open_interrupts_of(port, i);
}

void roost_ethport_close_interrupts(struct roost_ethport *port)
{
	for (uint16_t i = 0; i < port->nb_worker_queues; i++)
		if (port->epoll_fds[i] >= 0)
			close(port->epoll_fds[i]);
}
