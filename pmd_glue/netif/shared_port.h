/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_SHARED_PORT_H
#define ROOST_PMD_GLUE_NETIF_SHARED_PORT_H

/*
 * A shared port is a DPDK port with those who are on it: one device for each
 * VLAN, or a single one. Each has a subport, through which it sees the port.
 *
 * Alone on the port, a subport is the port's own bursts. With others, whoever
 * receives takes what comes for all: it keeps the frames of its own VLAN, and
 * hands the others over to their subports, by a ring each, and wakes their
 * progress engines. So a program that polls any of its devices moves the frames
 * of all, and none waits for a thread that sleeps. Frames stay as they are,
 * tags included. Those of a VLAN that nobody has stay where they were found:
 * the engine drops and counts them.
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
struct roost_progress;
struct roost_worker;

/* No subport has the VLAN. */
#define ROOST_SUBPORT_NONE UINT8_MAX

struct roost_subport {
	struct roost_shared_port *shared_port;
	uint16_t vlan_id; /* 0: none */
	/* Change while the turns of all its workers are held. */
	bool running;    /* from start until it is gone */
	bool admin_down; /* frames are neither sent nor taken */
	bool gone;       /* for good; writer: the control thread */
	/* From start on. */
	struct roost_worker *workers[ROOST_WORKERS_MAX]; /* with a queue */
	unsigned int nb_workers;
	struct roost_progress *progress; /* of the first one */
	struct roost_quirk_worker quirk; /* of the first one */
	struct roost_claim claim;        /* of the kernel's interfaces */
	/* By other subports; NULL: there was none. Constant once it is there.
	 */
	_Atomic(struct rte_ring *) handed;
	_Atomic uint64_t missed_pkts; /* for which the ring had no room */
};

struct roost_shared_port {
	unsigned int index; /* of its first port in the configuration */
	char label[ROOST_LABEL_MAX]; /* what users call it */
	char devargs[ROOST_DEVARGS_MAX];
	char name[ROOST_LINK_NAME_MAX + 1]; /* of the link, if has_link */
	bool has_link;
	bool told_alone;        /* that nobody has the other end */
	struct roost_link link; /* the claim, if has_link */
	struct roost_ethport port;
	unsigned int nb_users; /* subports that are open and not gone */
	unsigned int refs;     /* subports that are not freed */
	bool was_started;
	/* Those that started. Change while the turns of all are held. */
	struct roost_subport *subports[ROOST_PORTS_MAX];
	uint8_t nb_subports;
	uint8_t subport_of_vlan[ROOST_VLAN_ID_MASK + 1]; /* index in subports */
	/* Around bursts, of a port that is shared. */
	pthread_mutex_t rx_lock;
	pthread_mutex_t tx_lock;
	LIST_ENTRY(roost_shared_port) link_in_list;
};

/*
 * Open a subport for port number index of the configuration, and the DPDK port
 * if nobody has it open. Says on stderr why it could not, once. Returns as
 * roost_device_open().
 */
int roost_subport_open(struct roost_subport *subport,
		       const struct roost_config *config, unsigned int index);
/* From now on the device's workers, which progress engines turn, send and
 * receive. The first subport starts the port. Returns 0; what the driver says,
 * reported; -ENOMEM.
 */
int roost_subport_start(struct roost_subport *subport, struct roost_dev *dev,
			struct roost_progress *const *progress);
/* Nothing is handed over any more, and progress engine is not touched again.
 * Does nothing the second time.
 */
void roost_subport_stop(struct roost_subport *subport);
/* Nothing is sent or taken any more. The last one unplugs the port. Does
 * nothing the second time.
 */
void roost_subport_leave(struct roost_subport *subport);
/* No worker uses it any more. The pool stays: others may hold packets. */
void roost_subport_close(struct roost_subport *subport);
/* All packets are back. */
void roost_subport_free(struct roost_subport *subport);

/* Administratively up or down; takes the turns of the port's workers. */
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

/* As in struct roost_port_io. Holder of the turn of worker number queue. */
uint16_t roost_subport_rx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_subport_tx(struct roost_subport *subport, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
/* Frames were handed over and not taken yet. Thread: any. */
bool roost_subport_is_waiting(const struct roost_subport *subport);
/* As roost_ethport_arm() and its counterpart. Holder of that turn. */
int roost_subport_arm(struct roost_subport *subport, uint16_t queue);
void roost_subport_disarm(struct roost_subport *subport, uint16_t queue);

#endif
