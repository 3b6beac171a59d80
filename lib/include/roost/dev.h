/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_DEV_H
#define ROOST_DEV_H

/*
 * An RDMA device of the engine: ports, workers and the tables of objects.
 *
 * The engine does no I/O and reads no clock. Packets come and go through
 * struct roost_port_io, which pmd_glue fills for an ethdev and tests fill for
 * a simulated link; time is an argument of roost_worker_iterate().
 *
 * A context is one opening of the device by one program: it owns the async
 * channel on which the events of its objects arrive.
 *
 * Thread: everything here is for application threads unless it says
 * otherwise; calls on different objects may run at the same time.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/qp_error.h>
#include <roost/types.h>

struct rte_mbuf;
struct rte_mempool;
struct roost_channel;
struct roost_ctx;
struct roost_dev;
struct roost_event_source;
struct roost_worker;

#define ROOST_DEV_PORTS_MAX 2
#define ROOST_DEV_WORKERS_MAX 16
#define ROOST_GID_TABLE_LEN 64
#define ROOST_PKEY_TABLE_LEN 16
#define ROOST_CQE_MAX (1u << 22) /* entries of one CQ */

/*
 * Where packets to one next hop go. The generation changes with the MAC, and
 * with the port's own. Owned by the port's neighbour cache;
 * an address path holds a reference. Workers read mac_gen without a lock and
 * rewrite their header templates when it differs from the one they copied.
 */
struct roost_neigh {
	/* MAC in bits 16..63 (first byte highest), generation in bits 0..15;
	 * 0: never resolved. Writer: the port's control thread, release.
	 */
	_Atomic uint64_t mac_gen;
};

static inline uint64_t roost_neigh_mac_gen(const uint8_t mac[6], uint16_t gen)
{
	uint64_t bits = 0;

	for (int i = 0; i < 6; i++)
		bits = bits << 8 | mac[i];
	return bits << 16 | gen;
}

static inline void roost_neigh_mac(uint64_t mac_gen, uint8_t mac[6])
{
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(mac_gen >> (56 - 8 * i));
}

/* Why a peer is not reached. */
enum roost_unreached_cause {
	ROOST_UNREACHED_NO_GRH,   /* the AV has a LID that leads nowhere */
	ROOST_UNREACHED_NO_GID,   /* the AV's GID index is an empty entry */
	ROOST_UNREACHED_FAMILY,   /* sgid and dgid: IPv4 the one, IPv6 other */
	ROOST_UNREACHED_NO_ROUTE, /* from any address of the port to dgid */
	ROOST_UNREACHED_NO_NEIGH, /* ARP or ND: dgid, or the way there */
	ROOST_UNREACHED_NO_ACK,   /* a QP, never */
	ROOST_UNREACHED_NO_CM,    /* the CM's request */
	ROOST_UNREACHED_DEAF,     /* who listens has no address */
};

struct roost_unreached {
	enum roost_unreached_cause cause;
	struct roost_gid sgid, dgid; /* zero: does not matter */
	uint8_t sgid_index;          /* NO_GID */
	uint32_t dest_qpn;           /* NO_ACK */
	uint32_t path_mtu_bytes;     /* NO_ACK */
	uint32_t tries;              /* NO_ACK, NO_CM */
	uint64_t tried_ns;           /* NO_NEIGH, NO_ACK, NO_CM: for how long */
};

/* How the engine reaches one port. ctx is passed back as it is. */
struct roost_port_io {
	void *ctx;
	/* Queues in each direction, one for each of the first workers; 0: one.
	 */
	unsigned int nb_queues;
	/* Up to n received frames; they become the engine's. Worker only: the
	 * one of the queue's number.
	 */
	uint16_t (*rx_burst)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			     uint16_t n);
	/* Returns how many of the first frames were taken; the rest is still
	 * the engine's and is offered again. A port without carrier takes and
	 * frees all of them. Worker only.
	 */
	uint16_t (*tx_burst)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			     uint16_t n);
	/* A frame that is not RoCEv2; now and then RoCEv1, or one of
	 * another VLAN. Takes it. Workers,
	 * several at a time; must not block.
	 */
	void (*punt)(void *ctx, struct rte_mbuf *pkt);
	/* Find the next hop for dgid as seen from sgid and take a reference.
	 * Blocks for the network (bounded). Returns 0, -EHOSTUNREACH (no route,
	 * or a gateway that is not there), -ETIMEDOUT (nobody answers).
	 */
	int (*resolve)(void *ctx, const struct roost_gid *sgid,
		       const struct roost_gid *dgid,
		       struct roost_neigh **neigh);
	void (*neigh_put)(void *ctx, struct roost_neigh *neigh);
	/* Like resolve, but waits for nothing: mac_gen may still be 0, and is
	 * asked for as long as somebody holds a reference. from_mac: as of
	 * meet, or NULL. NULL: as resolve.
	 * Returns 0, -EHOSTUNREACH, -ENOMEM, -ENOBUFS.
	 */
	int (*ask)(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   struct roost_neigh **neigh);
	/* A frame came from dgid to sgid, with the source from_mac, which may
	 * be taken for dgid's where nothing better is known. Waits for nothing
	 * and takes no reference. Returns 0 (resolve would not wait), -EAGAIN
	 * (it would), -EHOSTUNREACH, -ETIMEDOUT (in vain). NULL: it never
	 * waits.
	 */
	int (*meet)(void *ctx, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, const uint8_t from_mac[6]);
	/* Which address of the port speaks to dgid. Returns 0, -EHOSTUNREACH
	 * (no route). NULL: the first of its family.
	 */
	int (*source)(void *ctx, const struct roost_gid *dgid,
		      struct roost_gid *sgid);
	/* Run the services of the device soon (lib/engine/core/service.h); also
	 * after a neighbour that was asked for answered. NULL: they run anyway.
	 * Any thread; must not block.
	 */
	void (*wake)(void *ctx);
	/* There is something for a worker that it does not see by itself: let
	 * it have a turn soon. NULL: it has. Any thread.
	 */
	void (*kick)(void *ctx, unsigned int worker);
	/* The first QP joined the group, or the last one left: MAC filter and
	 * membership reports. NULL: the port takes every group. Returns 0,
	 * -ENOSPC.
	 */
	int (*mcast_join)(void *ctx, const struct roost_gid *group);
	void (*mcast_leave)(void *ctx, const struct roost_gid *group);
	/* Somebody is not reached: for a line to the user, once for a cause.
	 * What resolve finds out it tells by itself. NULL: nobody is told.
	 * Any thread, workers in their turn, too.
	 */
	void (*unreached)(void *ctx, const struct roost_unreached *what);
};

struct roost_dev_conf {
	const char *name;         /* "roost0"; copied */
	struct rte_mempool *pool; /* data room >= ROOST_FRAME_OVERHEAD_MAX +
				   * 4096 behind the headroom; borrowed */
	unsigned int nb_ports;    /* 1..ROOST_DEV_PORTS_MAX */
	unsigned int nb_workers;  /* 0: one; up to ROOST_DEV_WORKERS_MAX */
	struct roost_port_io io[ROOST_DEV_PORTS_MAX];
	uint8_t mac[ROOST_DEV_PORTS_MAX][6];
	/* The VLAN of the port: all its packets carry the tag, with the
	 * priority that goes with their traffic class, and no frame of another
	 * VLAN is taken. 0: none; frames have no tag, or one of VLAN 0.
	 */
	uint16_t vlan_id[ROOST_DEV_PORTS_MAX];
	/* Frames of other VLANs are punted, not dropped. */
	bool punts_vlans[ROOST_DEV_PORTS_MAX];
	uint64_t node_guid; /* host order */
	uint64_t seed[2];   /* keys of the id permutations; 0,0: draw
			     * from the kernel's CSPRNG */
};

/* Returns 0, -ENOMEM, -EINVAL. The device starts with no GIDs, port down. */
int roost_dev_create(const struct roost_dev_conf *conf, struct roost_dev **dev);
/* Returns 0, or -EBUSY while a context is open. */
int roost_dev_destroy(struct roost_dev *dev);

/* What the device can do; constants of this build. */
struct roost_dev_limits {
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_inline_bytes;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint64_t max_mr_size;
	uint32_t max_mw;
	uint32_t max_srq;
	uint32_t max_ah;
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach;
	uint32_t max_pd;
	uint32_t max_qp_rd_atom;
	uint32_t max_gids;
	uint32_t max_pkeys;
	uint32_t max_msg_bytes;
};
const struct roost_dev_limits *roost_dev_limits(const struct roost_dev *dev);
const char *roost_dev_name(const struct roost_dev *dev);
uint64_t roost_dev_node_guid(const struct roost_dev *dev);
unsigned int roost_dev_nb_ports(const struct roost_dev *dev);

unsigned int roost_dev_nb_workers(const struct roost_dev *dev);
/* A worker of this device, by its number. */
struct roost_worker *roost_dev_worker_at(struct roost_dev *dev,
					 unsigned int index);
/* The first one, which also sends what the host has to send. */
struct roost_worker *roost_dev_worker(struct roost_dev *dev);

/* ---- ports ------------------------------------------------------------ */

struct roost_port_attr {
	enum roost_port_state state;
	enum roost_mtu max_mtu;
	enum roost_mtu active_mtu; /* largest path MTU that fits the port */
	/* A RoCE port has no LID of its own. Ours is the low 16 bits of the
	 * first IPv4 address, so that programs that exchange only LIDs find
	 * each other: an AV that is not global goes to the address that shares
	 * the upper 16 bits with it. 0: no IPv4 address. One that was set by
	 * roost_port_set_lid() is told and leads nowhere.
	 */
	uint16_t lid;
	uint16_t sm_lid;
	uint32_t speed_mbps; /* 0: not known */
	uint16_t vlan_id;    /* 0: none */
	uint32_t gid_len;
	uint32_t pkey_len;
	uint32_t bad_pkey_count;
	uint32_t qkey_viol_count;
};

/* port_num counts from 1 in all calls. Return 0 or -EINVAL (no such port,
 * index outside the table).
 */
int roost_port_query(struct roost_dev *dev, uint8_t port_num,
		     struct roost_port_attr *attr);
int roost_port_query_gid(struct roost_dev *dev, uint8_t port_num,
			 unsigned int index, struct roost_gid *gid);
/* Thread: any, without waiting. */
int roost_port_query_mac(struct roost_dev *dev, uint8_t port_num,
			 uint8_t mac[6]);
int roost_port_query_pkey(struct roost_dev *dev, uint8_t port_num,
			  unsigned int index, uint16_t *pkey);

/*
 * Changes of a port. They take effect between two turns of the worker, and
 * every context is told by the event that goes with them; what is set to what
 * it was raises none. Thread: the control thread.
 */

/*
 * Set entry index of the GID table; a zero gid clears it: GID_CHANGE, and
 * LID_CHANGE where the LID follows from it. QPs that send from the address
 * stay as they are; nobody can reach them by it.
 * Returns 0, -EINVAL, -EEXIST (the gid stands elsewhere in the table).
 */
int roost_port_set_gid(struct roost_dev *dev, uint8_t port_num,
		       unsigned int index, const struct roost_gid *gid);
/*
 * Frames come from this MAC from here on, if every struct roost_neigh of the
 * port gets a new generation after it. No event of its own.
 * Returns 0, -EINVAL.
 */
int roost_port_set_mac(struct roost_dev *dev, uint8_t port_num,
		       const uint8_t mac[6]);
/* ip_mtu_bytes: what IP may put into one frame; QPs of datagrams go by it at
 * once, and it raises no event. PORT_ACTIVE where the state becomes active,
 * PORT_ERR where it was. A port that was removed stays down.
 */
void roost_port_set_link(struct roost_dev *dev, uint8_t port_num,
			 enum roost_port_state state, uint32_t ip_mtu_bytes,
			 uint32_t speed_mbps);
/*
 * How many connected QPs have a path MTU that the port has not any more: what
 * they send is lost where it is longer. Returns that, and the largest path MTU.
 */
unsigned int roost_port_stranded(struct roost_dev *dev, uint8_t port_num,
				 uint32_t *path_mtu_bytes);
/*
 * Set entry index of the P_Key table; without its low 15 bits it is empty.
 * PKEY_CHANGE. QPs that name the entry have the new P_Key from here on, and
 * with an empty one they take no packet.
 * Returns 0, -EINVAL, -EEXIST (the same P_Key stands elsewhere in the table).
 */
int roost_port_set_pkey(struct roost_dev *dev, uint8_t port_num,
			unsigned int index, uint16_t pkey);
/* LID_CHANGE; lid 0: what follows from the addresses. Returns 0, -EINVAL. */
int roost_port_set_lid(struct roost_dev *dev, uint8_t port_num, uint16_t lid);
/* SM_CHANGE. Returns 0, -EINVAL. */
int roost_port_set_sm_lid(struct roost_dev *dev, uint8_t port_num,
			  uint16_t sm_lid);
/* CLIENT_REREGISTER. Returns 0, -EINVAL. */
int roost_port_reregister(struct roost_dev *dev, uint8_t port_num);
/*
 * The port is gone for good: down, and PORT_ERR where the device has another
 * one. With its last port the device is gone: every QP goes to ERR and flushes
 * what was posted, DEVICE_FATAL is the last event of every context (its channel
 * is hung up, see roost/channel.h), and no context can be opened,
 * no QP be anything but ERR or RESET. Does nothing the second time.
 */
void roost_port_remove(struct roost_dev *dev, uint8_t port_num);
/* Thread: any. The services run soon after it becomes so. */
bool roost_dev_failed(const struct roost_dev *dev);
/* Another number for each change of a GID table or a MAC; the services run soon
 * after it. Thread: any.
 */
uint32_t roost_dev_gid_gen(const struct roost_dev *dev);

/* ---- contexts --------------------------------------------------------- */

/* Returns 0, -ENOMEM, -EMFILE, -ENODEV (the device is gone). */
int roost_ctx_open(struct roost_dev *dev, struct roost_ctx **ctx);
/* Returns 0, or -EBUSY while it has objects. */
int roost_ctx_close(struct roost_ctx *ctx);
struct roost_channel *roost_ctx_async_channel(struct roost_ctx *ctx);

/* ---- counters --------------------------------------------------------- */

struct roost_dev_counters {
	uint64_t rx_pkts, tx_pkts;   /* RoCEv2 frames */
	uint64_t rx_bytes, tx_bytes; /* of frames, Ethernet to ICRC */
	uint64_t drops[32];          /* by enum roost_drop */
	uint64_t punted_pkts;
	uint64_t acks_sent, naks_sent, rnr_naks_sent;
	uint64_t retransmits; /* go-back-N events */
	/* Of these, by the time that answers take, before the timeout. */
	uint64_t adaptive_retransmits;
	uint64_t timeouts;
	uint64_t loopback_pkts;
	/* From the worker's own queues, of any kind; and of these, what was for
	 * QPs of other workers, and handed over to them.
	 */
	uint64_t queue_pkts, handed_pkts;
	/* Of all QPs, those that are gone too: see struct roost_qp_counters. */
	uint64_t missing_responses;
	uint64_t naks_sent_of[ROOST_NAK_KINDS];
	uint64_t naks_received_of[ROOST_NAK_KINDS];
	uint64_t rnr_naks_received;
	uint64_t duplicates, out_of_order;
	uint64_t errors[ROOST_QPE_END]; /* by enum roost_qp_error_code */
};
void roost_dev_counters(struct roost_dev *dev, struct roost_dev_counters *c);

#endif
