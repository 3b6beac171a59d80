/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_BACKEND_BACKEND_H
#define ROOST_PMD_GLUE_BACKEND_BACKEND_H

/*
 * A backend: a kind of port of a device. It carries the frames of the port, and
 * knows its addresses. An ethdev is one (pmd_glue/netif/ethdev.h). Devices, the
 * control socket and the sleep of workers know ports by this table alone.
 *
 * The life of a port, with the functions that are called for it:
 *
 *	prepare, open     then the engine's device is created, with frame_io
 *			  and addr_io
 *	start             workers and progress engines run; frames may move
 *	run, and any of arm ... remove
 *	leave, quiesce    after start or without it; then workers stop
 *	close             no worker uses the port any more; the engine's device
 *			  still holds packets, and is destroyed after it
 *	free              after all ports of the device are closed
 *
 * Thread: the control thread, unless a function says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include <net/if.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/dev.h"

struct roost_leases;
struct rte_mempool;
struct roost_backend;
struct roost_ping;
struct roost_ping_log;
struct roost_progress;

#define ROOST_BACKEND_DEVICE_MAX (ROOST_DEVARGS_MAX + 160)

/* An open port. A backend has it as the first member of its own struct. */
struct roost_backend_port {
	const struct roost_backend *backend;
	/* Set by open, constant until free. */
	char label[ROOST_LABEL_MAX]; /* the user's name of the port */
	struct roost_frame_io frame_io;
	struct roost_addr_io addr_io;
	struct rte_mempool *pool; /* of its packets; lives until free */
	uint8_t first_mac[6];     /* its MAC at open */
	uint16_t vlan_id;         /* 0: none */
	bool punts_vlans;         /* wants frames of other VLANs, too */
	/* As in struct roost_dev_conf; that of the device's first port counts.
	 */
	bool shares_addrs;
	/* What the device leases; that of its first port counts. NULL: it
	 * shares no numbers.
	 */
	const struct roost_leases *leases;
	/* How long the opening of a device waits for the link; 0: not at all.
	 */
	uint64_t link_wait_ns;
	/* Set by start. */
	struct roost_dev *dev;
	uint8_t port_num; /* of dev, from 1 */
};

/* What a port is now, for people. */
struct roost_backend_view {
	/* What carries the frames: "DPDK device net_memif0,..." */
	char device[ROOST_BACKEND_DEVICE_MAX];
	/* The kernel's interface: the twin, or the one that shares the port;
	 * empty: none.
	 */
	char interface[IFNAMSIZ];
	bool has_interface; /* addresses may come from such an interface */
	uint8_t mac[6];
	struct roost_prefixes addrs; /* without the link-local one */
	uint32_t mtu_bytes;          /* of IP */
	bool admin_up;
	bool carrier; /* on a link: a process has the other end */
	bool removed;
	uint16_t queues;      /* each way */
	const char *steering; /* what spreads frames over the queues */
	uint32_t nic_rules;   /* flow rules of programs that the NIC has, too */
	uint32_t refused_rules; /* and that it refused */
	/* Frames that were dropped, because a ring towards the device was full.
	 */
	uint64_t missed_pkts;
};

#define ROOST_BACKEND_TALLIES_MAX 32u

/* Kinds of ports in one process. */
#define ROOST_BACKENDS_MAX 4u

struct roost_backend {
	const char *name; /* "ethdev" */
	/* Is a port with this configuration of this kind? Thread: any. */
	bool (*takes)(const struct roost_port_config *conf);
	/* Start what the process needs for ports of this kind, unless it runs;
	 * called before each opening of a device with such ports. NULL:
	 * nothing. Returns 0, or -errno, reported on stderr.
	 */
	int (*prepare)(const struct roost_config *config);
	/* Was this process forked from one that uses ports of this kind, in a
	 * way that this one cannot use them? NULL: it can. Thread: any.
	 */
	bool (*is_inherited)(void);
	/* Print lines about the process for -v, once, after prepare. NULL: none
	 */
	void (*report_process)(void);

	/* Open port number index of the configuration. Reports an error on
	 * stderr, once. Returns as roost_device_open().
	 */
	int (*open)(const struct roost_config *config, unsigned int index,
		    struct roost_backend_port **port);
	/* Start as port port_num of dev, and set its GIDs. progress: the
	 * progress engines of dev, by worker. Returns 0, or -errno, reported.
	 */
	int (*start)(struct roost_backend_port *port, struct roost_dev *dev,
		     uint8_t port_num, struct roost_progress *const *progress);
	/* Do the work that is due. Returns the time in ns of the next call;
	 * UINT64_MAX: none.
	 */
	uint64_t (*run)(struct roost_backend_port *port, uint64_t now_ns);
	/* Leave with the workers what the network is told at the end (groups
	 * that are left); they send it before they stop. The progress engines
	 * still run. Only after start.
	 */
	void (*leave)(struct roost_backend_port *port);
	/* Before the progress engines stop: nobody wakes them any more. Also
	 * valid if start was not called or failed.
	 */
	void (*quiesce)(struct roost_backend_port *port);
	void (*close)(struct roost_backend_port *port);
	void (*free)(struct roost_backend_port *port);
	/* The process ends and does not close its devices: give back what would
	 * outlive it. NULL: nothing. Thread: any, in place of the control
	 * thread.
	 */
	void (*exit)(struct roost_backend_port *port);

	/*
	 * Sleep. Arm the RX interrupt of the queue of worker number queue.
	 * Returns a descriptor that becomes readable when frames arrive, or
	 * -errno: no thread may sleep. Thread: holder of that worker's turn.
	 */
	int (*arm)(struct roost_backend_port *port, uint16_t queue);
	void (*disarm)(struct roost_backend_port *port, uint16_t queue);
	/* Are there frames that raise no interrupt? Thread: any. NULL: never.
	 */
	bool (*is_waiting)(const struct roost_backend_port *port);
	/* Can no frame arrive, because there is nobody at the other end?
	 * Thread: any. NULL: always possible.
	 */
	bool (*is_cut_off)(const struct roost_backend_port *port);

	/* Tell a daemon what this device has counted: nb words, at most
	 * ROOST_BACKEND_TALLIES_MAX, in an order that only both ends know.
	 * NULL: there is none.
	 */
	void (*tally)(struct roost_backend_port *port, const uint64_t *words,
		      unsigned int nb);

	/* For people: what the port is, and changes by an administrator. */
	void (*view)(const struct roost_backend_port *port,
		     struct roost_backend_view *view);
	/* A port that is administratively down has no carrier. NULL here and in
	 * the next two: somebody else configures the port.
	 */
	void (*set_admin)(struct roost_backend_port *port, bool up);
	/* Add an address with its subnet. Returns 0; -EEXIST (the port has it),
	 * -ENOSPC: nothing was changed.
	 */
	int (*add_addr)(struct roost_backend_port *port,
			const struct roost_prefix *prefix);
	/* Remove an address. Returns 0; -ENOENT: the port does not have it, or
	 * it cannot be removed.
	 */
	int (*del_addr)(struct roost_backend_port *port,
			const struct roost_gid *addr);
	/* Send a ping, and take replies, as roost_host_ping() and
	 * roost_host_hear(). NULL: another process owns the port. Thread of
	 * ping: any.
	 */
	int (*ping)(struct roost_backend_port *port,
		    const struct roost_ping *ping);
	void (*hear)(struct roost_backend_port *port,
		     struct roost_ping_log *log);
	/* Remove the port for ever. why: the cause, for the line on stderr. */
	void (*remove)(struct roost_backend_port *port, const char *why);
};

#endif
