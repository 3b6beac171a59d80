/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_ETHPORT_H
#define ROOST_PMD_GLUE_PORT_ETHPORT_H

/*
 * One DPDK port: opened by its devargs, configured, started, watched and
 * closed; and its two bursts. The workers of all devices on the port call the
 * bursts (pmd_glue/netif/shared_port.h). Or one end of a link
 * (pmd_glue/cable/cable.h), which has the same calls and needs no EAL.
 *
 * A port may be gone before it is closed: its driver, the kernel or a request
 * unplugged it. Then all calls are still valid, and no packet moves.
 *
 * A memif client does not look for its server by itself: while it has no
 * connection, the port is restarted now and then until there is one.
 *
 * Thread: the control thread, unless a call says otherwise. The driver's calls
 * for open and start may take long. They run on another thread
 * (roost_control_aside()), while the control thread serves other ports.
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
#include "pmd_glue/port/nic_rules.h"
#include "pmd_glue/port/queues.h"
#include "pmd_glue/quirks/quirk.h"

struct rte_mbuf;
struct rte_mempool;
struct roost_worker;

#define ROOST_ETHPORT_FULL_DEVARGS_MAX (ROOST_DEVARGS_MAX + 128)
#define ROOST_ETHPORT_WHY_MAX 384
/* One worker of each device on a shared port, or all workers of one device. */
#define ROOST_ETHPORT_WORKERS_MAX (ROOST_PORTS_MAX + ROOST_WORKERS_MAX)

struct roost_ethport_conf {
	const char *label;     /* the user's name, for errors: "port0 (...)" */
	const char *devargs;   /* as configured */
	const char *link;      /* an end of the link of this name; NULL: devargs
				* name the port. Borrowed during open */
	bool has_twin;         /* frames other than RoCE have any length */
	bool verbose;          /* print a line about the queues */
	bool quiet;            /* during open: errors go to why_fewer alone */
	uint32_t mtu_bytes;    /* IP MTU; 0: do not change it */
	unsigned int nb_users; /* devices on the port, at most; 0 means 1 */
	uint16_t vlan_ids[ROOST_PORTS_MAX]; /* of each device; 0: none */
	uint32_t nb_workers;                /* of each device; 0 means 1 */
	struct roost_users peer_users; /* other trusted users at its socket */
	/* Of the subport that opens the port: its VLAN, and where to store the
	 * claims of kernel's interfaces. NULL: claim nothing.
	 */
	struct roost_claim *claim;
	uint16_t claim_vlan_id;
};

struct roost_ethport {
	/* Constant once open, except for the state of nl_link. */
	struct roost_ethport_conf conf;
	const struct roost_driver *driver;
	char devargs[ROOST_ETHPORT_FULL_DEVARGS_MAX];
	enum roost_driver_kernel kernel;
	char iface[IFNAMSIZ]; /* the kernel's interface; empty: none */
	unsigned int ifindex; /* of iface; 0: not known */
	/* The kernel's interfaces behind the port and its members, as found at
	 * open: claimed for the port, or for the VLANs on it.
	 */
	struct roost_claimed {
		unsigned int ifindex;
		bool is_tap;
	} claimed[ROOST_CLAIM_MAX];
	unsigned int nb_claimed;
	struct roost_claim taps;
	struct roost_nl_link nl_link;   /* of iface, from open to close */
	struct roost_mtu_loan mtu_loan; /* of iface, if we raised its MTU */
	uint16_t id;                    /* ethdev's port id */
	/* The first nb_worker_queues workers of the device have queues: worker
	 * i sends by queue i, and receives from queues i, i + nb_worker_queues,
	 * i + 2 * nb_worker_queues...
	 */
	uint16_t nb_worker_queues;
	/* As read at open. Empty name: no PCI device. */
	struct roost_pci_device pci;
	/* Used during open. */
	unsigned int asked_queues, want_queues; /* want_queues may be fewer */
	bool may_want_fewer; /* open is tried again with fewer queues: errors
			      * are not reported */
	char why_fewer[ROOST_ETHPORT_WHY_MAX]; /* the error; or empty */
	bool was_there;    /* the application had plugged it in */
	uint64_t owner_id; /* ethdev's ownership */
	uint8_t mac[6];
	uint32_t ip_mtu_most_bytes; /* limit of the driver's buffers */
	uint32_t ip_mtu_own_bytes;  /* IP MTU at open */
	struct rte_mempool *pool;
	int epoll_fds[ROOST_WORKERS_MAX]; /* RX interrupts; -1: none */
	bool watched[ROOST_WORKERS_MAX];  /* queues are in epoll_fds[] */
	int groups_fd; /* has iface receive all groups; -1: not needed */
	int sink_fd;   /* pmd_glue/kernel/udp_sink.h; -1: none */
	bool has_lsc;  /* the driver reports changes of the link state */
	bool has_rxq;  /* RX interrupts were configured */
	bool is_memif_client;
	struct roost_peer_trust trust; /* if driver->socket_key */
	struct roost_quirk_port quirk; /* if driver->quirk */
	struct roost_members members;  /* if driver->has_members */
	struct roost_nic_rules nic_rules;
	/* The workers that call the bursts; a worker may be there more than
	 * once. Writer: the control thread.
	 */
	struct roost_worker *workers[ROOST_ETHPORT_WORKERS_MAX];
	unsigned int nb_workers;
	/* The queue that each worker polled last. Writer: holder of its turn.
	 */
	uint16_t last_queue[ROOST_WORKERS_MAX];
	struct roost_cable *cable; /* an end of a link; NULL: an ethdev */
	/* Written only while the turns of all workers are held. */
	struct roost_queues queues;
	bool shared;    /* several devices are or were on the port */
	bool tx_locked; /* several workers send by queue 0 */
	bool started;
	bool gone; /* unplugged; id may be that of another port now */
	/* See roost_ethport_set_promiscuous(). */
	unsigned int nb_promiscuous;
	bool is_promiscuous; /* for reasons of the port's own */
	/* Requests of the driver. Writer: EAL's interrupt thread. */
	atomic_bool wants_removal;
	atomic_bool wants_reset;
	/* Writer: the control thread. */
	uint32_t ip_mtu_bytes;
	uint32_t twin_mtu_bytes; /* MTU of its twin; 0: no twin */
	atomic_bool carrier;
	uint64_t retry_at_ns;
	uint64_t retry_after_ns;
};

/*
 * Plug the port in and configure it. Reports an error on stderr, once.
 * Returns 0; -ENODEV (no such device, interface or driver, wrong devargs),
 * -EBUSY (in use), -EPERM, -ENOMEM, -EINVAL (mtu). The caller releases
 * conf->claim, also on error.
 */
int roost_ethport_open(struct roost_ethport *port,
		       const struct roost_ethport_conf *conf);
/* Claim the port's interfaces for another VLAN on the port. Returns 0; -EBUSY
 * (another process has claimed it), or as roost_claim_take(); reported.
 */
int roost_ethport_claim(struct roost_ethport *port, struct roost_claim *claim,
			uint16_t vlan_id);
/* Start the port. A memif client without a server starts later, in
 * roost_ethport_reconnect(). Returns 0, or the driver's error, reported.
 */
int roost_ethport_start(struct roost_ethport *port, uint64_t now_ns);
/* Add a worker before it calls the bursts, and remove it after its last call.
 * quirk: does not move in between; NULL for all workers of a device but the
 * first. The caller holds no turn.
 */
void roost_ethport_add_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk);
void roost_ethport_del_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk);
/* Take the turns of all workers of the port, and release them. The caller holds
 * no turn.
 */
void roost_ethport_hold(struct roost_ethport *port);
void roost_ethport_release(struct roost_ethport *port);
/* Unplug the open port; it does not come back. The caller holds the port
 * (roost_ethport_hold()).
 */
void roost_ethport_unplug(struct roost_ethport *port);
/* Is the port still there, by the driver's events and the kernel's interface?
 */
bool roost_ethport_is_there(struct roost_ethport *port);
/* Set the MAC address to that of the twin or of the kernel's interface. If the
 * driver cannot set it, the port is made promiscuous if need be.
 */
void roost_ethport_set_mac(struct roost_ethport *port, const uint8_t mac[6]);
/*
 * Receive the frames to these nb group MACs. A port without a kernel filters by
 * this list. It receives all groups if all is set, if the driver has no such
 * filter or refuses the list, or if several devices are on the port. A port
 * that the kernel shares receives all groups from open
 * (roost_nl_link_join_all_groups()), and a port whose peer is the kernel does
 * not filter. (ethport_groups.c)
 */
void roost_ethport_set_groups(struct roost_ethport *port, uint8_t (*macs)[6],
			      unsigned int nb, bool all);
/* Receive frames to other MACs, too: for the first of the devices on the port
 * that wants them, until the last one wants them no longer. Ports of af_xdp go
 * without (quirks/xdp_gate.c). Returns 0, or the driver's error. Thread: any.
 * (ethport_groups.c)
 */
int roost_ethport_set_promiscuous(struct roost_ethport *port, bool on);
/* Read the MTU of the kernel's interface and twin_mtu_bytes again. Returns true
 * if the IP MTU of the port changed.
 */
bool roost_ethport_follow_mtu(struct roost_ethport *port);
/* Reset the port, as its driver requested, and start it again. Takes the turns
 * of all workers of the port. Returns 0, or the driver's error: then the port
 * is to be treated as removed.
 */
int roost_ethport_reset(struct roost_ethport *port);
/* Close a port that no worker uses any more. The packet pool stays: the engine
 * may still hold packets.
 */
void roost_ethport_close(struct roost_ethport *port);
/* Free the packet pool. All packets are back. */
void roost_ethport_free_pool(struct roost_ethport *port);

/* The present state of the link. */
struct roost_ethport_link {
	enum roost_port_state state;
	bool carrier;        /* an end of a link is ACTIVE without a carrier:
			      * with no peer it is like a port that is plugged
			      * into a switch */
	uint32_t speed_mbps; /* 0: not known */
};
void roost_ethport_link(struct roost_ethport *port,
			struct roost_ethport_link *link);

/* Try to connect a memif client again if the time has come; takes the turns of
 * all workers of the port. Returns the time in ns of the next call; UINT64_MAX:
 * none.
 */
uint64_t roost_ethport_reconnect(struct roost_ethport *port, uint64_t now_ns);

/* As in struct roost_frame_io. queue: the worker's number. Thread: holder of
 * the worker's turn; one thread at a time for each queue.
 */
uint16_t roost_ethport_rx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_ethport_tx(struct roost_ethport *port, uint16_t queue,
			  struct rte_mbuf **pkts, uint16_t n);

/* A received frame that waits for another thread: the mbuf, or a copy that
 * holds nothing of the peer's. Takes the mbuf; NULL: there is no memory, and
 * the frame is lost. Thread: any.
 */
struct rte_mbuf *roost_ethport_keep(struct roost_ethport *port,
				    struct rte_mbuf *mbuf);

/* Arm and disarm the RX interrupts of the worker's queues, as in struct
 * roost_progress_rx. queue: the worker's number. Thread: holder of the worker's
 * turn; one thread at a time for each worker.
 */
int roost_ethport_arm(struct roost_ethport *port, uint16_t queue);
void roost_ethport_disarm(struct roost_ethport *port, uint16_t queue);

#endif
