/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/shared_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/core/dev.h"
#include "lib/engine/core/workers.h"
#include "lib/event/process.h"
#include "lib/event/ring.h"
#include "lib/config/resolve.h"
#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/port/port_spec.h"
#include "pmd_glue/process/report.h"

/* Frames that may wait in the ring of one subport. */
#define HANDED_LEN 1024u
static LIST_HEAD(, roost_shared_port) shared_ports; /* of this process */

/* In a forked child: a link of the same number is one of its own. */
static void forget(void)
{
	LIST_INIT(&shared_ports);
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = forget };

	roost_process_at_child(&child);
}

/* ---- open ---------------------------------------------------------------- */

static void add_peer_users(struct roost_users *all,
			   const struct roost_users *more)
{
	for (unsigned int i = 0; i < more->nb; i++)
		if (all->nb < ROOST_PEER_USERS_MAX)
			all->v[all->nb++] = more->v[i];
}

/* Collect from all ports of the configuration on this shared port: their number
 * and VLANs, the largest MTU, and the trusted users.
 */
static void count_users(const struct roost_config *config, unsigned int index,
			struct roost_ethport_conf *conf)
{
	for (unsigned int i = index; i < config->nb_ports; i++) {
		if (roost_config_shared_port(config, i) != index)
			continue;
		conf->vlan_ids[conf->nb_users++] = config->ports[i].vlan_id;
		conf->mtu_bytes =
			RTE_MAX(conf->mtu_bytes, config->ports[i].mtu_bytes);
		add_peer_users(&conf->peer_users, &config->ports[i].peer_users);
	}
}

/* Refuse VLANs with net_af_xdp: the packet socket receives untagged frames
 * only.
 */
static int check_driver(const struct roost_shared_port *t,
			const struct roost_config *config)
{
	if (!roost_driver_find(t->devargs)->is_xdp)
		return 0;
	for (unsigned int i = t->index; i < config->nb_ports; i++) {
		if (roost_config_shared_port(config, i) != t->index ||
		    config->ports[i].vlan_id == 0)
			continue;
		roost_report("%s: it cannot be on VLAN %u: ARP and ND reach "
			     "net_af_xdp without tags only; use net_af_packet",
			     t->label, config->ports[i].vlan_id);
		return -EINVAL;
	}
	return 0;
}

static int open_shared_port(struct roost_shared_port *t,
			    const struct roost_config *config,
			    struct roost_subport *subport)
{
	const struct roost_port_config *pc = &config->ports[t->index];
	struct roost_ethport_conf conf = {
		.label = t->label,
		.devargs = t->devargs,
		.link = pc->link[0] ? pc->link : NULL,
		.has_twin = pc->twin[0] != '\0',
		.verbose = config->verbose,
		.nb_workers = RTE_MAX(config->nb_workers, 1u),
		.claim = &subport->claim,
		.claim_vlan_id = subport->vlan_id,
	};
	int ret;

	roost_config_label(config, t->index, false, t->label);
	count_users(config, t->index, &conf);
	if (conf.link)
		return roost_ethport_open(&t->port, &conf);
	strcpy(t->devargs, pc->devargs);
	ret = check_driver(t, config);
	return ret ? ret
		   : roost_port_spec_open(&t->port, &conf, t->index,
					  t->devargs);
}

static int make_shared_port(const struct roost_config *config,
			    unsigned int index, struct roost_subport *subport,
			    struct roost_shared_port **shared_port)
{
	struct roost_shared_port *t = calloc(1, sizeof(*t));
	int ret;

	if (!t) {
		roost_report("port%u: no memory", index);
		return -ENOMEM;
	}
	t->index = index;
	ret = open_shared_port(t, config, subport);
	if (ret) {
		free(t);
		return ret;
	}
	memset(t->subport_of_vlan, ROOST_SUBPORT_NONE,
	       sizeof(t->subport_of_vlan));
	pthread_mutex_init(&t->rx_lock, NULL);
	pthread_mutex_init(&t->tx_lock, NULL);
	LIST_INSERT_HEAD(&shared_ports, t, link_in_list);
	*shared_port = t;
	return 0;
}

static struct roost_shared_port *find_shared_port(unsigned int index)
{
	struct roost_shared_port *t;

	LIST_FOREACH(t, &shared_ports, link_in_list)
		if (t->index == index && t->nb_users != 0 && !t->port.gone)
			return t;
	return NULL;
}

int roost_subport_open(struct roost_subport *subport,
		       const struct roost_config *config, unsigned int index)
{
	unsigned int first = roost_config_shared_port(config, index);
	struct roost_shared_port *t = find_shared_port(first);
	int ret;

	*subport = (struct roost_subport){
		.vlan_id = config->ports[index].vlan_id,
	};
	if (t)
		ret = roost_ethport_claim(&t->port, &subport->claim,
					  subport->vlan_id);
	else
		ret = make_shared_port(config, first, subport, &t);
	if (ret) {
		roost_claim_release(&subport->claim);
		return ret;
	}
	t->nb_users++;
	t->refs++;
	subport->shared_port = t;
	return 0;
}

/* ---- start and stop ------------------------------------------------------ */

static int make_handed(struct roost_subport *subport)
{
	struct rte_ring *ring;
	int ret;

	if (atomic_load(&subport->handed))
		return 0;
	ret = roost_ring_create("roost_handed", sizeof(void *), HANDED_LEN,
				RING_F_SP_ENQ | RING_F_SC_DEQ, &ring);
	/* Atomic: a progress engine that is about to sleep reads the pointer
	 * without the turn.
	 */
	atomic_store(&subport->handed, ring);
	return ret;
}

/* Make the rings of all subports if there are several. A port that was shared
 * stays shared: its rings may contain frames.
 */
static int make_rings(struct roost_shared_port *t,
		      struct roost_subport *subport)
{
	int ret = 0;

	if (t->nb_subports == 0 && !t->port.shared)
		return 0;
	for (unsigned int i = 0; !ret && i < t->nb_subports; i++)
		ret = make_handed(t->subports[i]);
	return ret ? ret : make_handed(subport);
}

/* Holding all turns. */
static void list_subport(struct roost_shared_port *t,
			 struct roost_subport *subport)
{
	t->port.shared = t->port.shared || t->nb_subports != 0;
	t->port.tx_locked = t->port.tx_locked || t->port.shared;
	t->subport_of_vlan[subport->vlan_id] = t->nb_subports;
	t->subports[t->nb_subports++] = subport;
}

/* Holding all turns. */
static void unlist_subport(struct roost_shared_port *t,
			   struct roost_subport *subport)
{
	uint8_t place = t->subport_of_vlan[subport->vlan_id];
	struct roost_subport *last = t->subports[--t->nb_subports];

	t->subport_of_vlan[subport->vlan_id] = ROOST_SUBPORT_NONE;
	if (last == subport)
		return;
	t->subports[place] = last;
	t->subport_of_vlan[last->vlan_id] = place;
}

static bool is_listed(const struct roost_subport *subport)
{
	const struct roost_shared_port *t = subport->shared_port;
	uint8_t place = t->subport_of_vlan[subport->vlan_id];

	return place != ROOST_SUBPORT_NONE && t->subports[place] == subport;
}

/* Thread: the one that roost_control_aside() starts. It holds the turns itself:
 * the control thread may take them meanwhile, and waits for them.
 */
static int start_aside(void *arg)
{
	struct roost_ethport *port = arg;
	int ret;

	roost_ethport_hold(port);
	ret = roost_ethport_start(port, roost_now_ns());
	roost_ethport_release(port);
	return ret;
}

static int start_port(struct roost_shared_port *t)
{
	int ret;

	if (t->was_started)
		return 0;
	ret = t->port.driver->is_memif || t->port.cable
		      ? start_aside(&t->port)
		      : roost_control_aside(start_aside, &t->port);
	t->was_started = ret == 0;
	return ret;
}

/* Add the workers that have queues; the others do not use the port. */
static void add_workers(struct roost_subport *subport, struct roost_dev *dev)
{
	struct roost_ethport *port = &subport->shared_port->port;

	for (unsigned int i = 0; i < port->nb_worker_queues; i++) {
		subport->workers[i] = roost_dev_worker_at(dev, i);
		roost_ethport_add_worker(port, subport->workers[i],
					 i == 0 ? &subport->quirk : NULL);
	}
	subport->nb_workers = port->nb_worker_queues;
}

int roost_subport_start(struct roost_subport *subport, struct roost_dev *dev,
			struct roost_progress *const *progress)
{
	struct roost_shared_port *t = subport->shared_port;
	int ret;

	ret = make_rings(t, subport);
	if (ret) {
		roost_report("%s: no memory", t->label);
		return ret;
	}
	subport->progress = progress[0];
	add_workers(subport, dev);
	ret = start_port(t);
	if (ret)
		return ret;
	roost_ethport_hold(&t->port);
	list_subport(t, subport);
	subport->running = true;
	roost_ethport_release(&t->port);
	return 0;
}

void roost_subport_stop(struct roost_subport *subport)
{
	struct roost_shared_port *t = subport->shared_port;

	if (!is_listed(subport))
		return;
	roost_ethport_hold(&t->port);
	unlist_subport(t, subport);
	roost_ethport_release(&t->port);
}

/* ---- the end ------------------------------------------------------------- */

void roost_subport_leave(struct roost_subport *subport)
{
	struct roost_shared_port *t = subport->shared_port;

	if (subport->gone)
		return;
	roost_subport_stop(subport);
	roost_ethport_hold(&t->port);
	subport->running = false;
	subport->gone = true;
	if (t->nb_users == 1)
		roost_ethport_unplug(&t->port);
	roost_ethport_release(&t->port);
	roost_claim_release(&subport->claim);
	t->nb_users--;
}

void roost_subport_close(struct roost_subport *subport)
{
	struct roost_shared_port *t = subport->shared_port;

	for (unsigned int i = 0; i < subport->nb_workers; i++)
		roost_ethport_del_worker(&t->port, subport->workers[i],
					 i == 0 ? &subport->quirk : NULL);
	roost_subport_leave(subport);
}

void roost_subport_free(struct roost_subport *subport)
{
	struct rte_ring *handed = atomic_load(&subport->handed);
	struct roost_shared_port *t = subport->shared_port;
	struct rte_mbuf *mbuf = NULL;

	while (handed && rte_ring_sc_dequeue(handed, (void **)&mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	free(handed);
	if (--t->refs != 0)
		return;
	roost_ethport_close(&t->port);
	roost_ethport_free_pool(&t->port);
	LIST_REMOVE(t, link_in_list);
	pthread_mutex_destroy(&t->tx_lock);
	pthread_mutex_destroy(&t->rx_lock);
	free(t);
}

/* ---- between ------------------------------------------------------------- */

void roost_subport_set_admin(struct roost_subport *subport, bool up)
{
	roost_ethport_hold(&subport->shared_port->port);
	subport->admin_down = !up;
	roost_ethport_release(&subport->shared_port->port);
}

void roost_subport_link(struct roost_subport *subport,
			struct roost_ethport_link *link)
{
	roost_ethport_link(&subport->shared_port->port, link);
	if (!subport->admin_down && !subport->gone)
		return;
	link->carrier = false;
	link->state = ROOST_PORT_DOWN;
}
