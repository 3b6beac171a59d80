/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_SHARED_PORT_H
#define ROOST_PMD_GLUE_NETIF_SHARED_PORT_H

/*
 * A shared port is a port (pmd_glue/port/ethport.h) with the devices that use
 * it: one device for each VLAN, or a single device. Each device has a subport,
 * by which it sends and receives.
 *
 * A subport that is alone on its port calls the bursts of the port directly. If
 * there are several subports, each of them receives for all: it keeps the
 * frames of its own VLAN, puts the others into the rings of their subports (one
 * ring each), and wakes the progress engines of these. So a program that polls
 * one of its devices moves the frames of all, and no frame waits for a thread
 * that sleeps. Frames are not changed and keep their tags. Frames of a VLAN
 * without a subport stay with the subport that received them: its engine drops
 * and counts them.
 *
 * Sharing costs two locks: one per receive burst and one per send burst. A port
 * with several subports does not filter multicast groups: it receives all
 * (roost_ethport_set_groups()).
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/config/resolve.h"
#include "lib/wire/frame.h"
#include "pmd_glue/port/ethport.h"

struct rte_ring;
struct roost_dev;
struct roost_progress;
struct roost_worker;

/* In subport_of_vlan: no subport is on the VLAN. */
#define ROOST_SUBPORT_NONE UINT8_MAX

struct roost_subport {
	struct roost_shared_port *shared_port;
	uint16_t vlan_id; /* 0: none */
	/* Writer: the control thread, holding the turns of all its workers. */
	bool running;    /* from roost_subport_start() until gone */
	bool admin_down; /* frames are neither sent nor received */
	bool gone;       /* left the port; it cannot start again */
	/* Set by roost_subport_start(). */
	struct roost_worker *workers[ROOST_WORKERS_MAX]; /* with a queue */
	unsigned int nb_workers;
	struct roost_progress *progress; /* of workers[0] */
	struct roost_quirk_worker quirk; /* of workers[0] */
	struct roost_claim claim;        /* of the kernel's interfaces */
	/* Frames that other subports handed over. NULL: there was no other
	 * subport yet. Constant once it is set.
	 */
	_Atomic(struct rte_ring *) handed;
	_Atomic uint64_t missed_pkts; /* dropped because handed was full */
};

struct roost_shared_port {
	unsigned int index; /* of its first port in the configuration */
	char label[ROOST_LABEL_MAX]; /* the user's name of the port */
	char devargs[ROOST_DEVARGS_MAX];
	bool reported_alone; /* reported that the link's other end is free */
	struct roost_ethport port;
	unsigned int nb_users; /* subports that are open and not gone */
	unsigned int refs;     /* subports that are not freed */
	bool was_started;
	/* The started subports. Writer: the control thread, holding the turns
	 * of all workers of the port.
	 */
	struct roost_subport *subports[ROOST_PORTS_MAX];
	uint8_t nb_subports;
	uint8_t subport_of_vlan[ROOST_VLAN_ID_MASK + 1]; /* index in subports */
	/* Around the bursts of a port with several subports. */
	pthread_mutex_t rx_lock;
	pthread_mutex_t tx_lock;
	LIST_ENTRY(roost_shared_port) link_in_list;
};

/*
 * Open a subport for port number index of the configuration. The first subport
 * opens the DPDK port. Reports an error on stderr, once. Returns as
 * roost_device_open().
 */
int roost_subport_open(struct roost_subport *subport,
		       const struct roost_config *config, unsigned int index);
/* Start: from now on the device's workers send and receive. progress: the
 * progress engines of dev, by worker. The first subport starts the port.
 * Returns 0; -ENOMEM, or the driver's error; errors are reported.
 */
int roost_subport_start(struct roost_subport *subport, struct roost_dev *dev,
			struct roost_progress *const *progress);
/* Other subports hand no more frames to this one, and do not use its progress
 * engine any more. A second call does nothing.
 */
void roost_subport_stop(struct roost_subport *subport);
/* Leave the port: the subport sends and receives no more frames. The last
 * subport unplugs the port. A second call does nothing.
 */
void roost_subport_leave(struct roost_subport *subport);
/* Close a subport that no worker uses any more. The packet pool stays: the
 * engine may still hold packets.
 */
void roost_subport_close(struct roost_subport *subport);
/* Free the subport; the last one frees the port. All packets are back in the
 * pool.
 */
void roost_subport_free(struct roost_subport *subport);

/* Set the subport administratively up or down. Takes the turns of the port's
 * workers.
 */
void roost_subport_set_admin(struct roost_subport *subport, bool up);
/* As roost_ethport_link(), of this subport. */
void roost_subport_link(struct roost_subport *subport,
			struct roost_ethport_link *link);

static inline struct roost_ethport *
roost_subport_port(struct roost_subport *subport)
{
	return &subport->shared_port->port;
}

/* ---- subport.c
 * ---------------------------------------------------------------
 */

/* As in struct roost_frame_io. Thread: holder of the turn of worker number
 * queue.
 */
uint16_t roost_subport_rx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_subport_tx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
/* Are there frames that other subports handed over? Thread: any. */
bool roost_subport_is_waiting(const struct roost_subport *subport);
/* As roost_ethport_arm() and roost_ethport_disarm(). Thread: holder of the turn
 * of worker number queue.
 */
int roost_subport_arm(struct roost_subport *subport, uint16_t queue);
void roost_subport_disarm(struct roost_subport *subport, uint16_t queue);

#endif
