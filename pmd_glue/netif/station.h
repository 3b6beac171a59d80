/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_STATION_H
#define ROOST_PMD_GLUE_NETIF_STATION_H

/*
 * A station: a port as a host on its network, or on one VLAN of it. It connects
 * the subport of a DPDK port, the IP host (pmd_glue/host), and the engine's
 * port.
 *
 * Frames other than RoCEv2 go from the worker to the control thread by a ring
 * (punts). Frames of the host go to the worker by the engine's queue. Only the
 * station tells the engine the link state, the MTU and the GIDs.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/dev.h"
#include "pmd_glue/kernel/packet_socket.h"
#include "pmd_glue/host/groups.h"
#include "pmd_glue/netif/shared_port.h"

struct rte_ring;
struct roost_host;
struct roost_progress;
struct roost_twin;

struct roost_station {
	char label[ROOST_LABEL_MAX]; /* the user's name of the port */
	struct roost_subport subport;
	struct roost_ethport *port; /* the subport's port */
	uint8_t mac[6];             /* our MAC address on the network */
	uint32_t mtu_bytes;         /* as configured; 0: the port's */
	uint32_t told_mtu_bytes;    /* the MTU that the engine was told */
	/* The kernel's interface of our VLAN, if the kernel shares the port;
	 * not open: there is none.
	 */
	struct roost_nl_link vlan_nl_link;
	_Atomic unsigned int vlan_ifindex; /* its ifindex; 0: there is none */
	uint64_t find_vlan_at_ns;          /* when to look for it again */
	struct roost_host *host;
	struct roost_groups groups;
	struct rte_ring *punts;            /* worker to control thread */
	struct roost_twin *twin;           /* NULL: none */
	struct roost_nl_link twin_nl_link; /* the twin, from open to close */
	bool twin_mourned;                 /* its deletion was reported */
	/* The kernel's interface that has our addresses; the kernel answers for
	 * them. The twin; or the interface that shares the port; or for a
	 * subport on a VLAN &vlan_nl_link, which may not be open. NULL: the
	 * kernel has none of our addresses.
	 */
	struct roost_nl_link *nl_link;
	/* The port is administratively down, and passes no frames, if one of
	 * these is set: by roost ctl, or by the state of the twin.
	 */
	bool ctl_down;
	bool twin_down;
	/* Open if the port receives only RoCEv2 (net_af_xdp). */
	struct roost_packet_socket packet_socket;
	struct roost_prefixes addrs;
	/* No addresses are configured, or there is a twin: addrs follows the
	 * kernel's interface. followed: its addresses when last read. Addresses
	 * that roost ctl added are in addrs alone.
	 */
	bool follows_addrs;
	struct roost_prefixes followed;
	bool told_v1;    /* reported: a peer sends RoCEv1 */
	bool told_stray; /* reported: a peer is in another VLAN */
	struct {
		struct roost_gid addr;
		uint16_t vlan_id; /* 0: none */
	} stray;              /* last request from another VLAN; zero: none */
	bool told_too_many;   /* reported: more addresses than a port takes */
	uint32_t nl_link_gen; /* sum of the links' gen when last read */
	/* Set by roost_station_start(). */
	struct roost_dev *dev;
	struct roost_worker *worker;
	uint8_t port_num;
	struct roost_progress *const *progress; /* by worker */
	struct roost_ethport_link last_link;
	uint64_t watch_at_ns;  /* when to read the link state */
	uint64_t lonely_at_ns; /* when to report a link without a peer */
};

/*
 * Open port number index of the configuration. Reports an error on stderr,
 * once. Returns as roost_device_open().
 */
int roost_station_open(struct roost_station *s,
		       const struct roost_config *config, unsigned int index);

/* The functions by which the engine sends and receives. */
struct roost_frame_io roost_station_frame_io(struct roost_station *s);

/* Start as port port_num of dev. progress: the progress engines of dev, by
 * worker. Returns 0, or the driver's error, reported.
 */
int roost_station_start(struct roost_station *s, struct roost_dev *dev,
			uint8_t port_num,
			struct roost_progress *const *progress);

/* Do the work that is due: host, groups, link, kernel. Returns the time in ns
 * of the next call.
 */
uint64_t roost_station_run(struct roost_station *s, uint64_t now_ns);

/*
 * Changes by an administrator, by the driver or by the kernel
 * (station_admin.c). A call that returns an error changes nothing.
 */

/* Set the port administratively up or down. A port that is down has no carrier.
 */
void roost_station_set_admin(struct roost_station *s, bool up);
/* Apply ctl_down and twin_down to the subport, after one of them changed. */
void roost_station_apply_admin(struct roost_station *s);
/* Add an address with its subnet. Returns 0; -EEXIST (the station has it),
 * -ENOSPC.
 */
int roost_station_add_addr(struct roost_station *s,
			   const struct roost_prefix *prefix);
/* Remove an address. Returns 0; -ENOENT: the station does not have it, or it is
 * the link-local address of the MAC.
 */
int roost_station_del_addr(struct roost_station *s,
			   const struct roost_gid *addr);
/* Unplug the port; it does not come back. why: the cause, for the line on
 * stderr. A second call does nothing.
 */
void roost_station_remove(struct roost_station *s, const char *why);

/* Apply the changes that the driver and the kernel made since the last call;
 * part of run.
 */
void roost_station_follow(struct roost_station *s, uint64_t now_ns);
/* Read the addresses of the kernel's interface to s->followed; part of open. */
void roost_station_find_followed(struct roost_station *s);
/* Look for the kernel's interface of our VLAN, which may appear and disappear;
 * part of open and follow.
 */
void roost_station_find_vlan(struct roost_station *s, uint64_t now_ns);
/* The IP MTU of the station, in bytes. */
uint32_t roost_station_mtu(const struct roost_station *s);
/* Read the link state; on a change, tell the engine, the twin, the host and the
 * groups. Part of run.
 */
void roost_station_watch_link(struct roost_station *s, uint64_t now_ns);
/* Tell the engine the link state and the MTU. */
void roost_station_tell_link(struct roost_station *s);

/*
 * The twin, if the configuration has one (station_twin.c); otherwise open,
 * start and close do nothing. open gives the twin the station's configured
 * addresses, and reports an error on stderr, once.
 */
int roost_station_twin_open(struct roost_station *s,
			    const struct roost_port_config *pc);
int roost_station_twin_start(struct roost_station *s);
/* Apply changes of the twin's netlink link: part of follow. There is a twin. */
void roost_station_twin_follow(struct roost_station *s);

void roost_station_twin_close(struct roost_station *s);

/*
 * Reports of peers that are not reached (station_unreached.c).
 */

/* Report the cause to the user, once per cause. ctx: the station; hop: as in
 * roost_unreached_text(). Thread: any; for NO_NEIGH the control thread.
 */
void roost_station_tell_unreached(void *ctx, const struct roost_unreached *what,
				  const struct roost_gid *hop);
/* Report a link whose other end is free, once. Returns the time in ns of the
 * next call; UINT64_MAX: none. Thread: the control thread.
 */
uint64_t roost_station_tell_lonely(struct roost_station *s, uint64_t now_ns);
/* Take a frame of another VLAN. frame: without its tag; vlan_id 0: it had none.
 */
void roost_station_hear_stray(struct roost_station *s, const uint8_t *frame,
			      size_t len_bytes, uint16_t vlan_id);

/* Before the progress engine stops: other subports and the twin do not wake it
 * any more. Also valid if the station was not started.
 */
void roost_station_hush(struct roost_station *s);
/* Leave all groups while the progress engine still runs. Takes the worker's
 * turn.
 */
void roost_station_farewell(struct roost_station *s);
/* Close the station. No worker uses it any more; dev may still hold packets. */
void roost_station_close(struct roost_station *s);
/* Free the station, after dev was freed. */
void roost_station_free(struct roost_station *s);

#endif
