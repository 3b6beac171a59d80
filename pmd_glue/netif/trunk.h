/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_TRUNK_H
#define ROOST_PMD_GLUE_NETIF_TRUNK_H

/*
 * A trunk is a DPDK port with those who are on it: one device for each VLAN,
 * or a single one. Each has a lane, through which it sees the port.
 *
 * Alone on the port, a lane is the port's own bursts. With others, whoever
 * receives takes what comes for all: it keeps the frames of its own VLAN, and
 * hands the others over to their lanes, by a ring each, and wakes their
 * turners. So a program that polls any of its devices moves the frames of all,
 * and none waits for a thread that sleeps. Frames stay as they are, tags
 * included. Those of a VLAN that nobody has stay where they were found: the
 * engine drops and counts them.
 *
 * Sharing costs two locks, one for a burst each way. The port is not filtered
 * by multicast groups then: it receives all (pmd_glue/host/groups.h).
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/config.h>
#include "lib/wire/frame.h"
#include "pmd_glue/port/ethport.h"
#include "pmd_glue/netif/link.h"

struct rte_ring;
struct roost_dev;
struct roost_turner;
struct roost_worker;

/* No lane has the VLAN. */
#define ROOST_LANE_NONE UINT8_MAX

struct roost_lane {
	struct roost_trunk *trunk;
	uint16_t vlan_id; /* 0: none */
	/* Change while the turns of all its workers are held. */
	bool running;    /* from start until it is gone */
	bool admin_down; /* frames are neither sent nor taken */
	bool gone;       /* for good; writer: the control thread */
	/* From start on. */
	struct roost_worker *workers[ROOST_WORKERS_MAX]; /* with a queue */
	unsigned int nb_workers;
	struct roost_turner *turner;  /* of the first one */
	struct roost_intr_owner gate; /* if the driver has a gate */
	struct roost_claim claim;     /* of the kernel's interfaces */
	/* By other lanes; NULL: there was none. Constant once it is there. */
	_Atomic(struct rte_ring *) handed;
	_Atomic uint64_t missed_pkts; /* for which the ring had no room */
};

struct roost_trunk {
	unsigned int index; /* of its first port in the configuration */
	char label[ROOST_LABEL_MAX]; /* what users call it */
	char devargs[ROOST_DEVARGS_MAX];
	char name[ROOST_LINK_NAME_MAX + 1]; /* of the link, if has_link */
	bool has_link;
	bool told_alone;        /* that nobody has the other end */
	struct roost_link link; /* the claim, if has_link */
	struct roost_ethport port;
	unsigned int nb_users; /* lanes that are open and not gone */
	unsigned int refs;     /* lanes that are not freed */
	bool was_started;
	/* Those that started. Change while the turns of all are held. */
	struct roost_lane *lanes[ROOST_PORTS_MAX];
	uint8_t nb_lanes;
	uint8_t lane_of_vlan[ROOST_VLAN_ID_MASK + 1]; /* index in lanes */
	/* Around bursts, of a port that is shared. */
	pthread_mutex_t rx_lock;
	pthread_mutex_t tx_lock;
	LIST_ENTRY(roost_trunk) link_in_list;
};

/*
 * Open a lane for port number index of the configuration, and the DPDK port if
 * nobody has it open. Says on stderr why it could not, once.
 * Returns as roost_device_open().
 */
int roost_lane_open(struct roost_lane *lane, const struct roost_config *config,
		    unsigned int index);
/* From now on the device's workers, which turners turn, send and receive. The
 * first lane starts the port. Returns 0; what the driver says, reported;
 * -ENOMEM.
 */
int roost_lane_start(struct roost_lane *lane, struct roost_dev *dev,
		     struct roost_turner *const *turners);
/* Nothing is handed over any more, and turner is not touched again. Does
 * nothing the second time.
 */
void roost_lane_stop(struct roost_lane *lane);
/* Nothing is sent or taken any more. The last one unplugs the port. Does
 * nothing the second time.
 */
void roost_lane_leave(struct roost_lane *lane);
/* No worker uses it any more. The pool stays: others may hold packets. */
void roost_lane_close(struct roost_lane *lane);
/* All packets are back. */
void roost_lane_free(struct roost_lane *lane);

/* Administratively up or down; takes the turns of the port's workers. */
void roost_lane_set_admin(struct roost_lane *lane, bool up);
/* As roost_ethport_link(), of this lane. */
void roost_lane_link(struct roost_lane *lane, struct roost_ethport_link *link);

static inline struct roost_ethport *roost_lane_port(struct roost_lane *lane)
{
	return &lane->trunk->port;
}

/* ---- lane.c ---------------------------------------------------------------
 */

/* As in struct roost_port_io. Holder of the turn of worker number queue. */
uint16_t roost_lane_rx(struct roost_lane *lane, uint16_t queue,
		       struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_lane_tx(struct roost_lane *lane, uint16_t queue,
		       struct rte_mbuf **pkts, uint16_t n);
/* Frames were handed over and not taken yet. Thread: any. */
bool roost_lane_is_waiting(const struct roost_lane *lane);
/* As roost_ethport_arm() and its counterpart. Holder of that turn. */
int roost_lane_arm(struct roost_lane *lane, uint16_t queue);
void roost_lane_disarm(struct roost_lane *lane, uint16_t queue);

#endif
