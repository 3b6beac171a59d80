/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_ETHPORT_H
#define ROOST_PMD_GLUE_PORT_ETHPORT_H

/*
 * One DPDK port: plugged in by its devargs, configured, started, watched,
 * given back. Also its two bursts. Who calls them is
 * pmd_glue/netif/shared_port.h's: the workers of all devices on the port.
 *
 * It can go before it is closed: unplugged by its driver, by its kernel, or on
 * demand. What is left then answers all calls and moves nothing.
 *
 * A memif client does not look for its server by itself: while it has no
 * connection, the port is restarted now and then until there is one.
 *
 * Thread: the control thread, unless a call says otherwise. What opening and
 * starting ask of the driver, which may take long, is done on a thread of its
 * own (roost_control_aside()), while the control thread serves other ports.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/types.h>
#include "pmd_glue/kernel/claim.h"
#include "pmd_glue/port/driver.h"
#include "pmd_glue/kernel/nl_link.h"
#include "pmd_glue/port/members.h"
#include "pmd_glue/kernel/mtu_loan.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/process/peer_trust.h"
#include "pmd_glue/port/queues.h"
#include "pmd_glue/quirks/quirk.h"

struct rte_mbuf;
struct rte_mempool;
struct roost_worker;

#define ROOST_ETHPORT_FULL_DEVARGS_MAX (ROOST_DEVARGS_MAX + 128)
#define ROOST_ETHPORT_WHY_MAX 384
/* One of each device that shares it, or all of a device that does not. */
#define ROOST_ETHPORT_WORKERS_MAX (ROOST_PORTS_MAX + ROOST_WORKERS_MAX)

struct roost_ethport_conf {
	const char *label;   /* what users call it, for errors: "port0 (...)" */
	const char *devargs; /* as configured, or as the link has them */
	bool is_link;        /* plugged in is connected, as into a switch */
	bool has_twin;       /* others than RoCE use frames of any length */
	bool verbose;        /* say which queues it has */
	bool quiet; /* while it is opened: errors go to why_fewer alone */
	uint32_t mtu_bytes;    /* of IP; 0: as it is */
	unsigned int nb_users; /* devices that there may be; 0 is 1 */
	uint16_t vlan_ids[ROOST_PORTS_MAX]; /* of each; 0: none */
	uint32_t nb_workers; /* of each, that hold its packets; 0 is 1 */
	struct roost_users peer_users; /* whom else to trust at its socket */
	/* Of who opens it: the VLAN, and where to put what is claimed of the
	 * kernel's interfaces for it. NULL: nothing is.
	 */
	struct roost_claim *claim;
	uint16_t claim_vlan_id;
};

struct roost_ethport {
	/* Constant once open, but for what the kernel tells. */
	struct roost_ethport_conf conf;
	const struct roost_driver *driver;
	char devargs[ROOST_ETHPORT_FULL_DEVARGS_MAX];
	enum roost_driver_kernel kernel;
	char iface[IFNAMSIZ]; /* the kernel's, or empty */
	unsigned int ifindex; /* of it; 0: not known */
	/* The kernel's interfaces behind it and its members, as they were when
	 * it was opened: claimed for it, or for the VLANs on it.
	 */
	struct roost_claimed {
		unsigned int ifindex;
		bool is_tap;
	} claimed[ROOST_CLAIM_MAX];
	unsigned int nb_claimed;
	struct roost_claim taps;
	struct roost_nl_link nl_link;   /* it, followed from open to close */
	struct roost_mtu_loan mtu_loan; /* its MTU, where we raised that */
	uint16_t id;
	/* Workers that have queues of their own, the first ones of the device:
	 * worker i sends by queue i, and receives from i and every so many
	 * behind it.
	 */
	uint16_t nb_worker_queues;
	/* Its name is empty: no PCI device. The rest as it was at first. */
	struct roost_pci_device pci;
	/* While it is opened. */
	unsigned int asked_queues, want_queues; /* the second may be fewer */
	bool may_want_fewer; /* that may help; then nobody is told why */
	char why_fewer[ROOST_ETHPORT_WHY_MAX]; /* or empty */
	bool was_there;    /* the application had plugged it in */
	uint64_t owner_id; /* ethdev's ownership */
	uint8_t mac[6];
	uint32_t ip_mtu_most_bytes; /* of the driver's buffers */
	uint32_t ip_mtu_own_bytes;  /* when it was opened */
	struct rte_mempool *pool;
	int epoll_fds[ROOST_WORKERS_MAX]; /* RX interrupts; -1: none */
	bool watched[ROOST_WORKERS_MAX];  /* the queues, by these */
	int groups_fd; /* keeps multicast coming; -1: not needed */
	int sink_fd;   /* keeps the kernel from answering RoCE; -1: none */
	bool has_lsc;
	bool has_rxq; /* interrupts of received packets were asked for */
	bool is_memif_client;
	struct roost_peer_trust trust; /* if driver->socket_key */
	struct roost_quirk_port quirk; /* if driver->quirk */
	struct roost_members members;  /* if driver->has_members */
	/* Who calls the bursts; a worker may be there more than once. Writer:
	 * the control thread.
	 */
	struct roost_worker *workers[ROOST_ETHPORT_WORKERS_MAX];
	unsigned int nb_workers;
	/* By worker, who changes it while it receives. */
	uint16_t last_queue[ROOST_WORKERS_MAX]; /* where it has looked */
	/* Change while the turns of all workers are held. */
	struct roost_queues queues;
	bool shared;    /* there are several devices on it, or there were */
	bool tx_locked; /* several workers send by its first queue */
	bool started;
	bool gone; /* unplugged; the id may be another port's */
	/* What the driver said; writer: EAL's thread. */
	atomic_bool wants_removal;
	atomic_bool wants_reset;
	/* Writer: the control thread. */
	uint32_t ip_mtu_bytes;
	uint32_t twin_mtu_bytes; /* what its twin has; 0: it has none */
	atomic_bool carrier;
	uint64_t retry_at_ns;
	uint64_t retry_after_ns;
};

/*
 * Plug in and configure. Says on stderr why it could not, once.
 * Returns 0; -ENODEV (no such device, interface or driver, wrong devargs),
 * -EBUSY (in use), -EPERM, -ENOMEM, -EINVAL (mtu). What was claimed is the
 * caller's to release, on error, too.
 */
int roost_ethport_open(struct roost_ethport *port,
		       const struct roost_ethport_conf *conf);
/* Claim the port's interfaces for another VLAN that is on it. Returns 0; -EBUSY
 * (another process has it), or as roost_claim_take(), reported.
 */
int roost_ethport_claim(struct roost_ethport *port, struct roost_claim *claim,
			uint16_t vlan_id);
/* Start it; a memif client without a server is started later. Returns 0, or
 * what the driver says, reported.
 */
int roost_ethport_start(struct roost_ethport *port, uint64_t now_ns);
/* A worker begins to call the bursts, or has ended. quirk: between the two it
 * stays where it is; NULL: for a worker of a device that has given another one.
 * Holding no turn.
 */
void roost_ethport_add_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk);
void roost_ethport_del_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk);
/* Take the turns of all its workers, and give them back. The caller holds
 * none.
 */
void roost_ethport_hold(struct roost_ethport *port);
void roost_ethport_let_go(struct roost_ethport *port);
/* Unplug it while it is open, for good. Holding it. */
void roost_ethport_unplug(struct roost_ethport *port);
/* Is it there? Looks at what the driver said and at the kernel's interface. */
bool roost_ethport_is_there(struct roost_ethport *port);
/* Have this address, as its twin or its kernel's interface has: where that is
 * not a device's own affair, it receives all frames if it has to.
 */
void roost_ethport_set_mac(struct roost_ethport *port, const uint8_t mac[6]);
/* Look again at the MTU of the kernel's interface, and at twin_mtu_bytes.
 * Returns true if that of the port changed.
 */
bool roost_ethport_follow_mtu(struct roost_ethport *port);
/* The driver wants a reset: make one, and start again. Takes hold of it.
 * Returns 0, or what the driver says; then it is as one that was removed.
 */
int roost_ethport_reset(struct roost_ethport *port);
/* No worker uses it any more. The pool stays: others may hold packets. */
void roost_ethport_close(struct roost_ethport *port);
/* All packets are back. */
void roost_ethport_free_pool(struct roost_ethport *port);

/* What is known of the link now. */
struct roost_ethport_link {
	enum roost_port_state state;
	bool carrier;        /* state ACTIVE does not need one on a link: it is
			      * plugged in, as into a switch, whether another
			      * is or not */
	uint32_t speed_mbps; /* 0: not known */
};
void roost_ethport_link(struct roost_ethport *port,
			struct roost_ethport_link *link);

/* Connect again where that is due; takes hold of it. Returns when to
 * call again; UINT64_MAX: not by itself.
 */
uint64_t roost_ethport_reconnect(struct roost_ethport *port, uint64_t now_ns);

/* As in struct roost_port_io, queue being the worker's number. Holder of its
 * turn; one at a time for each queue.
 */
uint16_t roost_ethport_rx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_ethport_tx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);

/* RX interrupts, as in struct roost_progress_rx, of what that worker receives
 * from. Holder of its turn; one at a time for each.
 */
int roost_ethport_arm(struct roost_ethport *port, uint16_t queue);
void roost_ethport_disarm(struct roost_ethport *port, uint16_t queue);

#endif
