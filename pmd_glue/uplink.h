/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_UPLINK_H
#define ROOST_PMD_GLUE_UPLINK_H

/*
 * The port behind a switch: a port of the configuration, opened as a device
 * with all that belongs to it (the IP host, its neighbours and groups, the
 * twin, VLANs, the link), but without threads for its frames. The caller's
 * threads turn the device's workers, and see the frames first: what they leave
 * goes to the worker, and so to the host, as ever. Each worker has a queue of
 * the port, by which it sends the caller's own frames, too, without a lock.
 *
 * Addresses, link and neighbours change on the control thread. The descriptor
 * of the uplink becomes readable then, and the caller asks what is new.
 *
 * Thread: one at a time, for all functions of one uplink; those with a worker,
 * one at a time for that worker; roost_uplink_copy() and _discard(): any.
 * roost_uplink_open() prepares its caller for frames; another thread that runs
 * uplinks prepares itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include "lib/engine/core/port_io.h"
#include "pmd_glue/share/page.h"

struct rte_mbuf;
struct roost_uplink;

struct roost_uplink_ops {
	/* A frame has come; it stays the uplink's. The head is all of it, or
	 * all its headers, in memory that nobody else writes
	 * (lib/engine/core/in_place.h); rest: the bytes behind. Returns true:
	 * the host is to have it. A frame in segments is not shown: the engine
	 * drops it.
	 */
	bool (*receive)(void *arg, unsigned int worker, const uint8_t *head,
			uint32_t head_len_bytes, const uint8_t *rest,
			uint32_t rest_len_bytes);
	/* The port takes frames: roost_uplink_send() may be called for this
	 * worker, from here alone.
	 */
	void (*transmit)(void *arg, unsigned int worker);
};

/*
 * Open device number index of the configuration; it has one port, and as many
 * workers as the configuration wants and the port has queues for. ops outlives
 * the uplink. Returns as roost_device_open(), reported.
 */
int roost_uplink_open(const struct roost_config *config, unsigned int index,
		      const struct roost_uplink_ops *ops, void *arg,
		      struct roost_uplink **uplink);
/* References to neighbours were put, and groups left. Thread: who opened it. */
void roost_uplink_close(struct roost_uplink *uplink);

/* The calling thread will run uplinks that another one has opened. Returns
 * true: roost_uplink_thread_end() is to be called at its end.
 */
bool roost_uplink_thread_begin(void);
void roost_uplink_thread_end(void);

unsigned int roost_uplink_nb_workers(const struct roost_uplink *uplink);
/* The user's name of the port. */
const char *roost_uplink_label(const struct roost_uplink *uplink);
/* The VLAN of the port; 0: none. */
uint16_t roost_uplink_vlan_id(const struct roost_uplink *uplink);

/* ---- frames: hot --------------------------------------------------------- */

/* Receive, send, and do the host's work: one iteration of a worker. Returns the
 * number of frames that moved, either way.
 */
unsigned int roost_uplink_run(struct roost_uplink *uplink, unsigned int worker,
			      uint64_t now_ns);
/* A copy of a frame, in memory of the port; the head's bytes, then the other
 * ones. NULL: no memory, or the frame is too long.
 */
struct rte_mbuf *roost_uplink_copy(struct roost_uplink *uplink,
				   const void *head, uint32_t head_len_bytes,
				   const void *rest, uint32_t rest_len_bytes);
void roost_uplink_discard(struct rte_mbuf *pkt);
/* Send. Takes the frame, unless it returns false: the worker's queue is full.
 */
bool roost_uplink_send(struct roost_uplink *uplink, unsigned int worker,
		       struct rte_mbuf *pkt);

/* ---- sleep --------------------------------------------------------------- */

/* For epoll(7): readable when the worker wants to be run; that of worker 0 also
 * when there is news.
 */
int roost_uplink_fd(const struct roost_uplink *uplink, unsigned int worker);
/*
 * Nothing has moved since idle_since_ns: prepare for a sleep. *until_ns gets
 * the latest time of the next run. Returns false: there is work, do not sleep.
 * Afterwards, in both cases: roost_uplink_awake(), which does nothing without a
 * sleep.
 */
bool roost_uplink_sleep(struct roost_uplink *uplink, unsigned int worker,
			uint64_t now_ns, uint64_t idle_since_ns,
			uint64_t *until_ns);
void roost_uplink_awake(struct roost_uplink *uplink, unsigned int worker);

/* ---- the port ------------------------------------------------------------ */

/* Is there something new since the last call: facts, or a watched neighbour? */
bool roost_uplink_news(struct roost_uplink *uplink);
/* What the port is now. */
void roost_uplink_facts(struct roost_uplink *uplink,
			struct roost_share_facts *facts);
/* Its addresses, as the engine asks for them. */
const struct roost_addr_io *
roost_uplink_addrs(const struct roost_uplink *uplink);
/* Watch a neighbour, to which the caller holds a reference, in this place of
 * ROOST_SHARE_NEIGHS; NULL: none any more.
 */
void roost_uplink_watch(struct roost_uplink *uplink, uint32_t place,
			const struct roost_neigh *neigh);
/*
 * Have the port receive a multicast group, or no more, soon: the control thread
 * does it, and nobody waits for it, as it may wait for the caller. A group that
 * the port cannot have is reported. Join returns 0, -ENOMEM; without memory a
 * port stays in the group that it was to leave.
 */
int roost_uplink_join(struct roost_uplink *uplink,
		      const struct roost_gid *group);
void roost_uplink_leave(struct roost_uplink *uplink,
			const struct roost_gid *group);

#endif
