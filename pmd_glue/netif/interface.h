/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_INTERFACE_H
#define ROOST_PMD_GLUE_NETIF_INTERFACE_H

/*
 * A network interface: a DPDK port, or one VLAN of it, as it carries frames
 * between the engine's port, the IP host on it (inet.h) and the kernel. It has
 * a link state and an MTU, and may have a twin.
 *
 * Frames other than RoCEv2 go from the worker to the control thread by a ring
 * (punts). Frames of the host go to the worker by the engine's queue. Only the
 * interface tells the engine the link state and the MTU, and only its inet the
 * GIDs.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/dev.h"
#include "pmd_glue/backend/backend.h"
#include "pmd_glue/kernel/packet_socket.h"
#include "pmd_glue/netif/inet.h"
#include "pmd_glue/netif/shared_port.h"

struct rte_ring;
struct roost_progress;
struct roost_twin;

struct roost_interface {
	struct roost_backend_port base; /* first member */
	struct roost_subport subport;
	struct roost_ethport *port; /* the subport's port */
	uint32_t mtu_bytes;         /* as configured; 0: the port's */
	uint32_t set_mtu_bytes;     /* the MTU that the engine was told */
	/* The kernel's interface of our VLAN, if the kernel shares the port;
	 * not open: there is none.
	 */
	struct roost_nl_link vlan_nl_link;
	_Atomic unsigned int vlan_ifindex; /* its ifindex; 0: there is none */
	uint64_t find_vlan_at_ns;          /* when to look for it again */
	struct rte_ring *punts;            /* worker to control thread */
	struct roost_twin *twin;           /* NULL: none */
	struct roost_nl_link twin_nl_link; /* the twin, from open to close */
	bool reported_twin;                /* reported: the twin was deleted */
	/* inet.nl_link is the twin; or the interface that shares the port; or
	 * for a subport on a VLAN &vlan_nl_link, which may not be open.
	 */
	struct roost_inet inet;
	/* The port is administratively down, and passes no frames, if one of
	 * these is set: by roost ctl, or by the state of the twin.
	 */
	bool ctl_down;
	bool twin_down;
	/* Open if the port receives only RoCEv2 (net_af_xdp). */
	struct roost_packet_socket packet_socket;
	bool reported_v1;    /* a peer sends RoCEv1 */
	bool reported_stray; /* a peer is in another VLAN */
	struct {
		struct roost_gid addr;
		uint16_t vlan_id; /* 0: none */
	} stray;              /* last request from another VLAN; zero: none */
	uint32_t nl_link_gen; /* sum of the links' gen when last read */
	/* Set by roost_interface_start(). */
	struct roost_worker *worker;
	struct roost_progress *const *progress; /* by worker */
	struct roost_ethport_link last_link;
	uint64_t watch_at_ns;  /* when to read the link state */
	uint64_t lonely_at_ns; /* when to report a link without a peer */
};

/* The next ones are as in struct roost_backend. open: base.backend and *s are
 * set, the rest is filled.
 */
int roost_interface_open(struct roost_interface *s,
			 const struct roost_config *config, unsigned int index);
int roost_interface_start(struct roost_interface *s, struct roost_dev *dev,
			  uint8_t port_num,
			  struct roost_progress *const *progress);
uint64_t roost_interface_run(struct roost_interface *s, uint64_t now_ns);
void roost_interface_leave(struct roost_interface *s);
void roost_interface_quiesce(struct roost_interface *s);
void roost_interface_close(struct roost_interface *s);
void roost_interface_free(struct roost_interface *s);

/* The IP MTU of the interface, in bytes. */
uint32_t roost_interface_mtu(const struct roost_interface *s);
/* Read the link state; on a change, set it in the engine, the twin and the
 * inet. Part of run.
 */
void roost_interface_watch_link(struct roost_interface *s, uint64_t now_ns);
/* Set the link state and the MTU of the engine's port. */
void roost_interface_set_link(struct roost_interface *s);

/*
 * Changes by an administrator, by the driver or by the kernel
 * (interface_follow.c).
 */

/* Set the port administratively up or down. A port that is down has no carrier.
 */
void roost_interface_set_admin(struct roost_interface *s, bool up);
/* Apply ctl_down and twin_down to the subport, after one of them changed. */
void roost_interface_apply_admin(struct roost_interface *s);
/* Unplug the port; it does not come back. why: the cause, for the line on
 * stderr. A second call does nothing.
 */
void roost_interface_remove(struct roost_interface *s, const char *why);
/* Apply the changes that the driver and the kernel made since the last call;
 * part of run.
 */
void roost_interface_follow(struct roost_interface *s, uint64_t now_ns);
/* Do not look at what the kernel changed until now; part of open. */
void roost_interface_skip_changes(struct roost_interface *s);
/* Look for the kernel's interface of our VLAN, which may appear and disappear;
 * part of open and follow.
 */
void roost_interface_find_vlan(struct roost_interface *s, uint64_t now_ns);

/*
 * The twin, if the configuration has one (interface_twin.c); otherwise open,
 * start and close do nothing. open gives the twin these addresses, sets *at to
 * its netlink link, and reports an error on stderr, once. *at: the kernel's
 * interface that shares the port; NULL: none.
 */
int roost_interface_twin_open(struct roost_interface *s,
			      const struct roost_port_config *pc,
			      const struct roost_prefixes *addrs,
			      const struct roost_nl_link **at);
int roost_interface_twin_start(struct roost_interface *s);
/* Apply changes of the twin's netlink link: part of follow. There is a twin. */
void roost_interface_twin_follow(struct roost_interface *s);
void roost_interface_twin_close(struct roost_interface *s);

/*
 * Reports (interface_report.c).
 */

/* For struct roost_host_conf; ctx: the interface. Each cause is reported once.
 * Thread: any; for NO_NEIGH the control thread.
 */
void roost_interface_report_unreached(void *ctx,
				      const struct roost_unreached *what,
				      const struct roost_gid *hop);
void roost_interface_report_conflict(void *ctx, const struct roost_gid *addr,
				     const uint8_t mac[6]);
void roost_interface_report_crowd(void *ctx, enum roost_host_crowd crowd,
				  const uint8_t *mac);
/* Report a link whose other end is free, once. Returns the time in ns of the
 * next call; UINT64_MAX: none.
 */
uint64_t roost_interface_report_lonely(struct roost_interface *s,
				       uint64_t now_ns);
/* A frame of RoCEv1 was received. */
void roost_interface_report_v1(struct roost_interface *s, const uint8_t *frame);
/* Take a frame of another VLAN. frame: without its tag; vlan_id 0: it had none.
 */
void roost_interface_receive_stray(struct roost_interface *s,
				   const uint8_t *frame, size_t len_bytes,
				   uint16_t vlan_id);

#endif
