/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_STATION_H
#define ROOST_PMD_GLUE_NETIF_STATION_H

/*
 * A port as a station on its network, or on one VLAN of it: joins its subport
 * of the DPDK port, the host that it is to its neighbours, and the engine's
 * port.
 *
 * Frames that are no RoCEv2 come from the worker through a ring to the control
 * thread; frames of the host go to the worker through the engine's queue. Link
 * state, MTU and GIDs are told to the engine from here, and nowhere else.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include <roost/dev.h>
#include "pmd_glue/kernel/packet_socket.h"
#include "pmd_glue/host/groups.h"
#include "pmd_glue/netif/shared_port.h"

struct rte_ring;
struct roost_host;
struct roost_progress;
struct roost_twin;

struct roost_station {
	char label[ROOST_LABEL_MAX]; /* what users call it */
	struct roost_subport subport;
	struct roost_ethport *port; /* on which the subport is */
	uint8_t mac[6];             /* as it is told to others */
	uint32_t mtu_bytes;         /* as configured; 0: the port's */
	uint32_t told_mtu_bytes;    /* to the engine */
	/* The kernel's interface of our VLAN of a port that it shares; not
	 * open: there is none.
	 */
	struct roost_nl_link vlan_nl_link;
	_Atomic unsigned int vlan_ifindex; /* of it; 0: there is none */
	uint64_t find_vlan_at_ns;          /* when to look for one again */
	struct roost_host *host;
	struct roost_groups groups;
	struct rte_ring *punts;            /* worker to control thread */
	struct roost_twin *twin;           /* NULL: none */
	struct roost_nl_link twin_nl_link; /* it, followed from open to close */
	bool twin_mourned; /* it was deleted, and that was said */
	/* The kernel's interface that has our addresses, for which the kernel
	 * answers: the twin, or what shares the port, or of a VLAN of that
	 * vlan_nl_link, which may not be open. NULL: there is no such kernel.
	 */
	struct roost_nl_link *nl_link;
	/* Who wants the port down: then frames do not pass. */
	bool ctl_down;
	bool twin_down;
	struct roost_packet_socket
		packet_socket; /* where the port hears only RoCEv2 */
	struct roost_prefixes addrs;
	/* Nobody gave it addresses: it has those of the kernel's interface, as
	 * they were last seen here, and what was added besides.
	 */
	bool follows_addrs;
	struct roost_prefixes followed;
	bool told_v1;    /* that somebody speaks RoCEv1 */
	bool told_stray; /* that somebody is in another VLAN */
	struct {
		struct roost_gid addr;
		uint16_t vlan_id; /* 0: none */
	} stray;              /* who asked last in another VLAN; zero: nobody */
	bool told_too_many;   /* there are more than it can have */
	uint32_t nl_link_gen; /* of the interfaces, as they were last seen here
			       */
	/* From start on. */
	struct roost_dev *dev;
	struct roost_worker *worker;
	uint8_t port_num;
	struct roost_progress *const *progress; /* by worker */
	struct roost_ethport_link last_link;
	uint64_t watch_at_ns;  /* when to look at the link */
	uint64_t lonely_at_ns; /* when to tell that nobody is behind it */
};

/*
 * Open port number index of the configuration. Says on stderr why it could
 * not, once. Returns as roost_device_open().
 */
int roost_station_open(struct roost_station *s,
		       const struct roost_config *config, unsigned int index);

/* How the engine reaches it. */
struct roost_port_io roost_station_io(struct roost_station *s);

/* Begin to be port port_num of dev, which progress engines turn, one for each
 * worker. Returns 0, or what the driver says, reported.
 */
int roost_station_start(struct roost_station *s, struct roost_dev *dev,
			uint8_t port_num,
			struct roost_progress *const *progress);

/* Do what is due. Returns when to call again. */
uint64_t roost_station_run(struct roost_station *s, uint64_t now_ns);

/*
 * What is done to a port from outside (station_admin.c). An error changes
 * nothing.
 */

/* Administratively up or down; down, the port has no carrier. */
void roost_station_set_admin(struct roost_station *s, bool up);
/* Let frames pass, or not: ctl_down or twin_down have changed. */
void roost_station_apply_admin(struct roost_station *s);
/* An address with its subnet. Returns 0; -EEXIST (it has it), -ENOSPC. */
int roost_station_add_addr(struct roost_station *s,
			   const struct roost_prefix *prefix);
/* Returns 0, -ENOENT (it does not have it, or by its MAC address). */
int roost_station_del_addr(struct roost_station *s,
			   const struct roost_gid *addr);
/* Unplug the port for good; why: for the one line on stderr. Does nothing the
 * second time.
 */
void roost_station_remove(struct roost_station *s, const char *why);

/* Do what the port, its driver and its kernel have brought about since; part
 * of run.
 */
void roost_station_follow(struct roost_station *s, uint64_t now_ns);
/* The addresses that the kernel's interface has; part of open. */
void roost_station_find_followed(struct roost_station *s);
/* Look for the kernel's interface of our VLAN, which may come and go; part of
 * open.
 */
void roost_station_find_vlan(struct roost_station *s, uint64_t now_ns);
/* What IP may put into one frame. */
uint32_t roost_station_mtu(const struct roost_station *s);
/* Look at the link and tell who wants to know; part of run. */
void roost_station_watch_link(struct roost_station *s, uint64_t now_ns);
/* Tell the engine what the link is, with its MTU. */
void roost_station_tell_link(struct roost_station *s);

/*
 * The twin, where the configuration has one (station_twin.c); nothing where
 * not. open gives it the station's addresses so far, and says on stderr why it
 * cannot, once.
 */
int roost_station_twin_open(struct roost_station *s,
			    const struct roost_port_config *pc);
int roost_station_twin_start(struct roost_station *s);
/* There is one, and netlink told something: part of follow. */
void roost_station_twin_follow(struct roost_station *s);

void roost_station_twin_close(struct roost_station *s);

/*
 * Why a peer is not reached (station_unreached.c).
 */

/* A line to the user, the first time. ctx: the station; hop as of
 * roost_unreached_text(). Thread: any; NO_NEIGH: the control thread.
 */
void roost_station_tell_unreached(void *ctx, const struct roost_unreached *what,
				  const struct roost_gid *hop);
/* Nobody has the other end of its link: a line, the first time. Returns when to
 * call again; UINT64_MAX: not. Thread: the control thread.
 */
uint64_t roost_station_tell_lonely(struct roost_station *s, uint64_t now_ns);
/* An untagged copy of a frame that came in another VLAN; 0: in none. */
void roost_station_hear_stray(struct roost_station *s, const uint8_t *frame,
			      size_t len_bytes, uint16_t vlan_id);

/* Before the progress engine stops: nobody wakes it any more. Also where the
 * station was not started.
 */
void roost_station_hush(struct roost_station *s);
/* Leave all groups while there is a progress engine; takes the worker's turn.
 */
void roost_station_farewell(struct roost_station *s);
/* No worker uses it any more; dev may still hold packets. */
void roost_station_close(struct roost_station *s);
/* dev is gone. */
void roost_station_free(struct roost_station *s);

#endif
