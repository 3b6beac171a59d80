/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/trunk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <roost/dev.h>
#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/port/port_word.h"
#include "pmd_glue/process/report.h"

/* Frames of one lane that wait for its worker. */
#define HANDED_LEN 1024u
/* Of lanes' gates; ports' have names of sockets. */
#define GATE_KEY "lane"

static LIST_HEAD(, roost_trunk) trunks;

/* ---- open ---------------------------------------------------------------- */

static int claim_link(struct roost_trunk *t, const char *name)
{
	char device[16];
	pid_t pids[2];
	int ret;

	ret = roost_link_claim(name, &t->link, pids);
	if (ret == -EBUSY)
		roost_report("%s: both ends are taken, by process %d and "
			     "process %d; stop one of them or use a link of "
			     "another name",
			     t->label, pids[0], pids[1]);
	else if (ret)
		roost_report("%s: cannot claim an end: %s", t->label,
			     strerror(-ret));
	if (ret)
		return ret;
	t->has_link = true;
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(device, sizeof(device), "roost%u", t->index);
	ret = roost_link_devargs(name, t->link.end, device, t->devargs,
				 sizeof(t->devargs));
	if (ret)
		roost_report("%s: its name is too long; use a shorter one",
			     t->label);
	return ret;
}

static void release_link(struct roost_trunk *t)
{
	if (t->has_link)
		roost_link_release(&t->link);
	t->has_link = false;
}

static void add_peer_users(struct roost_users *all,
			   const struct roost_users *more)
{
	for (unsigned int i = 0; i < more->nb; i++)
		if (all->nb < ROOST_PEER_USERS_MAX)
			all->v[all->nb++] = more->v[i];
}

/* Which ports of the configuration are on it, the largest MTU that one of
 * them asks for, and the users that one of them trusts.
 */
static void count_users(const struct roost_config *config, unsigned int index,
			struct roost_ethport_conf *conf)
{
	for (unsigned int i = index; i < config->nb_ports; i++) {
		if (roost_config_trunk(config, i) != index)
			continue;
		conf->vlan_ids[conf->nb_users++] = config->ports[i].vlan_id;
		conf->mtu_bytes =
			RTE_MAX(conf->mtu_bytes, config->ports[i].mtu_bytes);
		add_peer_users(&conf->peer_users, &config->ports[i].peer_users);
	}
}

/* What the kernel hears for such a port comes without tags. */
static int check_driver(const struct roost_trunk *t,
			const struct roost_config *config)
{
	if (!roost_driver_find(t->devargs)->is_xdp)
		return 0;
	for (unsigned int i = t->index; i < config->nb_ports; i++) {
		if (roost_config_trunk(config, i) != t->index ||
		    config->ports[i].vlan_id == 0)
			continue;
		roost_report("%s: it cannot be on VLAN %u: ARP and ND reach "
			     "net_af_xdp without tags only; use net_af_packet",
			     t->label, config->ports[i].vlan_id);
		return -EINVAL;
	}
	return 0;
}

static int open_trunk(struct roost_trunk *t, const struct roost_config *config,
		      struct roost_lane *lane)
{
	const struct roost_port_config *pc = &config->ports[t->index];
	struct roost_ethport_conf conf = {
		.label = t->label,
		.devargs = t->devargs,
		.is_link = pc->link[0] != '\0',
		.has_twin = pc->twin[0] != '\0',
		.verbose = config->verbose,
		.nb_workers = RTE_MAX(config->nb_workers, 1u),
		.claim = &lane->claim,
		.claim_vlan_id = lane->vlan_id,
	};
	int ret = 0;

	roost_config_label(config, t->index, false, t->label);
	count_users(config, t->index, &conf);
	if (conf.is_link)
		ret = claim_link(t, pc->link);
	else
		strcpy(t->devargs, pc->devargs);
	if (!ret)
		ret = check_driver(t, config);
	if (!ret)
		ret = roost_port_word_open(&t->port, &conf, t->index,
					   t->devargs);
	if (ret)
		release_link(t);
	return ret;
}

static int make_trunk(const struct roost_config *config, unsigned int index,
		      struct roost_lane *lane, struct roost_trunk **trunk)
{
	struct roost_trunk *t = calloc(1, sizeof(*t));
	int ret;

	if (!t) {
		roost_report("port%u: no memory", index);
		return -ENOMEM;
	}
	t->index = index;
	ret = open_trunk(t, config, lane);
	if (ret) {
		free(t);
		return ret;
	}
	memset(t->lane_of_vlan, ROOST_LANE_NONE, sizeof(t->lane_of_vlan));
	pthread_mutex_init(&t->rx_lock, NULL);
	pthread_mutex_init(&t->tx_lock, NULL);
	LIST_INSERT_HEAD(&trunks, t, link_in_list);
	*trunk = t;
	return 0;
}

static struct roost_trunk *find_trunk(unsigned int index)
{
	struct roost_trunk *t;

	LIST_FOREACH(t, &trunks, link_in_list)
		if (t->index == index && t->nb_users != 0 && !t->port.gone)
			return t;
	return NULL;
}

int roost_lane_open(struct roost_lane *lane, const struct roost_config *config,
		    unsigned int index)
{
	unsigned int first = roost_config_trunk(config, index);
	struct roost_trunk *t = find_trunk(first);
	int ret;

	*lane = (struct roost_lane){
		.vlan_id = config->ports[index].vlan_id,
	};
	if (t)
		ret = roost_ethport_claim(&t->port, &lane->claim,
					  lane->vlan_id);
	else
		ret = make_trunk(config, first, lane, &t);
	if (ret) {
		roost_claim_release(&lane->claim);
		return ret;
	}
	t->nb_users++;
	t->refs++;
	lane->trunk = t;
	return 0;
}

/* ---- start and stop ------------------------------------------------------ */

static int make_handed(struct roost_lane *lane)
{
	size_t bytes = (size_t)rte_ring_get_memsize(HANDED_LEN);
	struct rte_ring *ring;
	int ret;

	if (atomic_load(&lane->handed))
		return 0;
	ring = aligned_alloc(RTE_CACHE_LINE_SIZE,
			     RTE_ALIGN_CEIL(bytes,
					    (size_t)RTE_CACHE_LINE_SIZE));
	if (!ring)
		return -ENOMEM;
	ret = rte_ring_init(ring, "roost_handed", HANDED_LEN,
			    RING_F_SP_ENQ | RING_F_SC_DEQ);
	/* A turner that is about to sleep looks at it without the turn. */
	atomic_store(&lane->handed, ring);
	return ret;
}

/* A port that was shared once stays so: what was handed over is in the rings.
 */
static int make_rings(struct roost_trunk *t, struct roost_lane *lane)
{
	int ret = 0;

	if (t->nb_lanes == 0 && !t->port.shared)
		return 0;
	for (unsigned int i = 0; !ret && i < t->nb_lanes; i++)
		ret = make_handed(t->lanes[i]);
	return ret ? ret : make_handed(lane);
}

/* Holding all turns. */
static void list_lane(struct roost_trunk *t, struct roost_lane *lane)
{
	t->port.shared = t->port.shared || t->nb_lanes != 0;
	t->port.tx_locked = t->port.tx_locked || t->port.shared;
	t->lane_of_vlan[lane->vlan_id] = t->nb_lanes;
	t->lanes[t->nb_lanes++] = lane;
}

/* Holding all turns. */
static void unlist_lane(struct roost_trunk *t, struct roost_lane *lane)
{
	uint8_t place = t->lane_of_vlan[lane->vlan_id];
	struct roost_lane *last = t->lanes[--t->nb_lanes];

	t->lane_of_vlan[lane->vlan_id] = ROOST_LANE_NONE;
	if (last == lane)
		return;
	t->lanes[place] = last;
	t->lane_of_vlan[last->vlan_id] = place;
}

static bool is_listed(const struct roost_lane *lane)
{
	const struct roost_trunk *t = lane->trunk;
	uint8_t place = t->lane_of_vlan[lane->vlan_id];

	return place != ROOST_LANE_NONE && t->lanes[place] == lane;
}

/* Thread: one of its own. Holds the turns there: the control thread may take
 * them meanwhile, and waits for them then.
 */
static int start_aside(void *arg)
{
	struct roost_ethport *port = arg;
	int ret;

	roost_ethport_hold(port);
	ret = roost_ethport_start(port, roost_now_ns());
	roost_ethport_let_go(port);
	return ret;
}

static int start_port(struct roost_trunk *t)
{
	int ret;

	if (t->was_started)
		return 0;
	ret = t->port.driver->is_memif
		      ? start_aside(&t->port)
		      : roost_control_aside(start_aside, &t->port);
	t->was_started = ret == 0;
	return ret;
}

/* Those that have queues: nobody else touches the port. */
static void add_workers(struct roost_lane *lane, struct roost_dev *dev)
{
	struct roost_ethport *port = &lane->trunk->port;

	for (unsigned int i = 0; i < port->nb_worker_queues; i++) {
		lane->workers[i] = roost_dev_worker_at(dev, i);
		roost_ethport_add_worker(port, lane->workers[i]);
	}
	lane->nb_workers = port->nb_worker_queues;
	if (!port->driver->gated_library)
		return;
	roost_intr_owner_open(&lane->gate, GATE_KEY, NULL);
	lane->gate.worker = lane->workers[0]; /* such drivers have one queue */
}

int roost_lane_start(struct roost_lane *lane, struct roost_dev *dev,
		     struct roost_turner *const *turners)
{
	struct roost_trunk *t = lane->trunk;
	int ret;

	ret = make_rings(t, lane);
	if (ret) {
		roost_report("%s: no memory", t->label);
		return ret;
	}
	lane->turner = turners[0];
	add_workers(lane, dev);
	ret = start_port(t);
	if (ret)
		return ret;
	roost_ethport_hold(&t->port);
	list_lane(t, lane);
	lane->running = true;
	roost_ethport_let_go(&t->port);
	return 0;
}

void roost_lane_stop(struct roost_lane *lane)
{
	struct roost_trunk *t = lane->trunk;

	if (!is_listed(lane))
		return;
	roost_ethport_hold(&t->port);
	unlist_lane(t, lane);
	roost_ethport_let_go(&t->port);
}

/* ---- the end ------------------------------------------------------------- */

void roost_lane_leave(struct roost_lane *lane)
{
	struct roost_trunk *t = lane->trunk;

	if (lane->gone)
		return;
	roost_lane_stop(lane);
	roost_ethport_hold(&t->port);
	lane->running = false;
	lane->gone = true;
	if (t->nb_users == 1)
		roost_ethport_unplug(&t->port);
	roost_ethport_let_go(&t->port);
	roost_claim_release(&lane->claim);
	if (--t->nb_users == 0)
		release_link(t);
}

void roost_lane_close(struct roost_lane *lane)
{
	struct roost_trunk *t = lane->trunk;

	if (lane->nb_workers && t->port.driver->gated_library)
		roost_intr_owner_close(&lane->gate);
	for (unsigned int i = 0; i < lane->nb_workers; i++)
		roost_ethport_del_worker(&t->port, lane->workers[i]);
	roost_lane_leave(lane);
}

void roost_lane_free(struct roost_lane *lane)
{
	struct rte_ring *handed = atomic_load(&lane->handed);
	struct roost_trunk *t = lane->trunk;
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

void roost_lane_set_admin(struct roost_lane *lane, bool up)
{
	roost_ethport_hold(&lane->trunk->port);
	lane->admin_down = !up;
	roost_ethport_let_go(&lane->trunk->port);
}

void roost_lane_link(struct roost_lane *lane, struct roost_ethport_link *link)
{
	roost_ethport_link(&lane->trunk->port, link);
	if (!lane->admin_down && !lane->gone)
		return;
	link->carrier = false;
	link->state = ROOST_PORT_DOWN;
}
