/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_DEV_PRIV_H
#define ROOST_ENGINE_CORE_DEV_PRIV_H

/*
 * Inside of devices, ports, contexts and PDs; for lib/engine only.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/arena.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/flow.h"
#include "lib/engine/core/idmap.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/turn_list.h"
#include "lib/engine/core/why.h"
#include "lib/event/source.h"
#include "lib/wire/frame.h"

struct roost_cc;
struct roost_leases;
struct roost_transport;

#define ROOST_MCAST_BUCKETS 1024u

/* Queues of outgoing frames: one per port, and one for loopback. */
#define ROOST_TX_LOOPBACK ROOST_DEV_PORTS_MAX
#define ROOST_TX_QUEUES (ROOST_DEV_PORTS_MAX + 1u)

struct roost_port {
	struct roost_frame_io frame_io;
	struct roost_addr_io addr_io;
	/* The port's MAC, in the form of a neighbour; written with release.
	 * Paths to multicast groups refer to it, too.
	 */
	struct roost_neigh own;
	uint16_t vlan_id; /* 0: none */
	bool punts_vlans; /* punt frames of other VLANs */
	/* There are flow rules, and sniffers among them. Writer: under
	 * dev->flow_lock.
	 */
	_Atomic bool has_flows;
	_Atomic bool has_sniffers;
	/* Writer: control thread, holding all turns. Readers: workers, and
	 * others under dev->lock.
	 */
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	unsigned int gid_end; /* entries from here on are empty */
	uint16_t pkeys[ROOST_PKEY_TABLE_LEN];
	enum roost_port_state state;
	bool removed;  /* for good */
	bool is_still; /* see roost_port_set_still() */
	uint16_t lid;  /* from roost_port_set_lid(); 0: derived from the
			* addresses */
	uint16_t sm_lid;
	uint32_t ip_mtu_bytes;
	uint32_t speed_mbps;
	struct roost_ecn ecn;
	struct roost_qos qos;
	/* Packets that were dropped because of their P_Key or Q_Key; writer:
	 * the worker.
	 */
	_Atomic uint32_t bad_pkeys;
	_Atomic uint32_t qkey_violations;
	struct roost_flow_table flows;
};

/* Of roost_dev.guests. */
#define ROOST_MR_GUEST_BUCKETS 64u

#define ROOST_REFUSED_MAX 16u

struct roost_dev {
	char name[32];
	struct rte_mempool *pool;
	uint64_t node_guid;
	const struct roost_leases *leases; /* NULL: none */
	const struct roost_transport *transport;
	const struct roost_cc *cc; /* congestion control of all QPs */
	unsigned int nb_ports;
	struct roost_port ports[ROOST_DEV_PORTS_MAX];
	unsigned int nb_workers;
	struct roost_worker *workers[ROOST_DEV_WORKERS_MAX];
	bool shares_addrs;        /* see struct roost_dev_conf */
	bool selective_repeat;    /* the same */
	struct roost_arena arena; /* QPs and their queues */
	struct roost_idmap qps;   /* by QPN */
	struct roost_idmap mrs;   /* by key */
	struct roost_idmap mws;   /* by the upper 24 bits of the key */
	struct roost_idmap srqs;  /* XRC SRQs, by number */
	struct roost_idmap wqs;   /* receive WQs; peers never name one */
	/* Multicast groups by port and address (mcast_priv.h). Writer: under
	 * mcast_lock.
	 */
	struct roost_turn_link mcast_buckets[ROOST_MCAST_BUCKETS];
	uint32_t nb_mcast_groups; /* under mcast_lock */
	/* Held around a change of that table and the port's join or leave, so
	 * that joins and leaves reach the port in the order of the changes.
	 * Taken before the turn.
	 */
	pthread_mutex_t mcast_lock;
	pthread_mutex_t flow_lock; /* likewise, for the ports' flow rules */
	bool is_shown; /* see roost_flow_set_shown(); under flow_lock */
	/* Held while the users of a CQ change, while a CQ is cleaned of one,
	 * or resized. Taken before the turn, behind all.lock and the lock of a
	 * CQ's consumers.
	 */
	pthread_mutex_t users_lock;
	/* Guards slow data: port tables against readers without the turn, and
	 * the list of contexts.
	 */
	pthread_mutex_t lock;
	LIST_HEAD(, roost_ctx) ctxs;
	/* Peers without RoCE, by their own word (route.h). Under the lock. */
	struct roost_gid refused[ROOST_REFUSED_MAX];
	unsigned int nb_refused;
	/* All its ports stand still. Writer: the control thread, all turns; the
	 * times under the lock, too.
	 */
	_Atomic bool is_still;
	uint64_t still_since_ns;
	uint64_t still_ns;   /* that it stood still before */
	_Atomic bool failed; /* the last port was removed; writer: all turns */
	/* Packets that read or wrote memory which the program had unmapped. */
	_Atomic uint64_t gone_reads, gone_writes;
	_Atomic uint32_t gid_gen; /* changes of GID tables; writer: all turns */
	_Atomic uint32_t up_gen;  /* roost_port_carrier_up() */
	/* All objects, from create until their destroy is over, for functions
	 * that go through all of them. all.lock is taken before the turn, and
	 * dev->lock after it.
	 */
	struct {
		pthread_mutex_t lock;
		LIST_HEAD(, roost_qp) qps;
		LIST_HEAD(, roost_cq) cqs;
		LIST_HEAD(, roost_srq) srqs;
		/* Number of QPs of each worker. */
		_Atomic uint32_t nb_qps[ROOST_DEV_WORKERS_MAX];
	} all;
	LIST_HEAD(, roost_cq) xrc_cqs; /* under users_lock */
	/* Regions under other devices' keys. Writer: under the lock. */
	struct roost_turn_link guests[ROOST_MR_GUEST_BUCKETS];
	/* Held around an atomic operation on memory that is not aligned, when
	 * there are several workers.
	 */
	struct roost_spin unaligned_lock;
	/* CQs that were overrun and have not failed their users yet. */
	struct {
		struct roost_spin lock;
		LIST_HEAD(, roost_cq) cqs;
		_Atomic bool any; /* set when the list grows; cleared by the
				   * service */
		struct roost_dev_service service;
	} overruns;
	/* Async events that wait because another worker may hold back
	 * completions from before them (async.c).
	 */
	struct {
		/* Taken before a turn, by who is about to raise them. */
		pthread_mutex_t telling;
		struct roost_spin lock;
		struct roost_event_batch events; /* under the lock */
		_Atomic bool any; /* for the service: events were added */
		_Atomic uint32_t nb_withheld_cqs; /* CQs with entries held
						   * back */
		struct roost_dev_service service;
	} late;
	struct roost_failures *failures; /* NULL: nobody watches them */
	/* Keys that ended, with the reason in the upper half (why.c). */
	_Atomic uint64_t revoked[ROOST_REVOKED_MAX];
	_Atomic(struct roost_gsi *) gsi; /* NULL: QP1 is closed */
	/* Held while services run. */
	pthread_mutex_t service_lock;
	TAILQ_HEAD(, roost_dev_service) services;
	_Atomic uint32_t next_pd_handle;
	_Atomic uint32_t next_cq_handle;
	_Atomic uint32_t next_srq_handle;
};

struct roost_ctx {
	struct roost_dev *dev;
	LIST_ENTRY(roost_ctx) link; /* under dev->lock */
	struct roost_channel *async;
	/* Events of ports. Destroy does not wait for their acks. */
	struct roost_event_source ports[ROOST_DEV_PORTS_MAX];
	_Atomic uint32_t refs; /* objects of this context */
};

struct roost_pd {
	struct roost_ctx *ctx;
	uint32_t handle;
	_Atomic uint32_t refs; /* MRs, QPs */
};

/* Create a device without workers; the caller adds them (lib/engine/device.c).
 * transport and cc stay the caller's. Returns 0, -EINVAL, -ENOMEM, -EIO (there
 * are no random numbers).
 */
int roost_dev_make(const struct roost_dev_conf *conf,
		   const struct roost_transport *transport,
		   const struct roost_cc *cc, struct roost_dev **dev);
/* Free the device. Its workers are destroyed already, and it has no context. */
void roost_dev_free(struct roost_dev *dev);

/* Is gid an address of this port? Holder of the turn. */
static inline bool roost_port_owns(const struct roost_port *port,
				   const struct roost_gid *gid)
{
	for (unsigned int i = 0; i < port->gid_end; i++)
		if (roost_gid_eq(&port->gids[i], gid))
			return true;
	return false;
}

/* True if the frame comes from outside with an address that this device alone
 * has as its source. Holder of the turn.
 */
static inline bool roost_port_is_feigned(const struct roost_dev *dev,
					 unsigned int port_index,
					 const struct roost_frame *frame)
{
	return !frame->looped && !dev->shares_addrs &&
	       roost_port_owns(&dev->ports[port_index], &frame->sgid);
}

/* The VLAN tag of packets that the port sends with this service level;
 * flow->tclass is set.
 */
static inline void roost_port_tag(const struct roost_port *port,
				  struct roost_flow *flow, uint8_t sl)
{
	const struct roost_qos *qos = &port->qos;
	uint8_t prio = qos->trust == ROOST_TRUST_DSCP
			       ? qos->dscp2prio[flow->tclass >> 2]
			       : sl % ROOST_QOS_PRIOS;

	flow->tagged = port->vlan_id != 0;
	if (flow->tagged)
		flow->vlan_tci =
			roost_vlan_tci(port->vlan_id, qos->prio2pcp[prio]);
}

/* The largest path MTU that fits, 0: not even 256. */
enum roost_mtu roost_port_active_mtu(const struct roost_port *port);

static inline void roost_port_mac_get(const struct roost_port *port,
				      uint8_t mac[6])
{
	roost_neigh_mac(atomic_load_explicit(&port->own.mac_gen,
					     memory_order_acquire),
			mac);
}

/* NULL: there is no such port. */
static inline struct roost_port *roost_port_of(struct roost_dev *dev,
					       uint8_t port_num)
{
	if (port_num < 1 || port_num > dev->nb_ports)
		return NULL;
	return &dev->ports[port_num - 1];
}

/* True for a P_Key that marks an empty table entry (IBTA 10.9.1.2). */
static inline bool roost_pkey_is_empty(uint16_t pkey)
{
	return (pkey & 0x7fff) == 0;
}

/* Packets of this P_Key are for an entry of ours: equal in the low 15 bits,
 * and at least one of the two a full member (IBTA 10.9.3).
 */
static inline bool roost_pkey_match(uint16_t ours, uint16_t theirs)
{
	return ((ours ^ theirs) & 0x7fff) == 0 && ((ours | theirs) & 0x8000) &&
	       !roost_pkey_is_empty(ours);
}

#endif
