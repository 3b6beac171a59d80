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
 * The MAC of one next hop. The generation changes with this MAC, and with the
 * port's own MAC. Owned by the port's neighbour cache; an address path holds a
 * reference. Workers read mac_gen without a lock and rewrite their header
 * templates when it differs from the value that they copied.
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

/* Why a peer cannot be reached. */
enum roost_unreached_cause {
	ROOST_UNREACHED_NO_GRH,   /* the AV's LID leads to no address */
	ROOST_UNREACHED_NO_GID,   /* the AV's GID index is an empty entry */
	ROOST_UNREACHED_FAMILY,   /* sgid and dgid: one IPv4, one IPv6 */
	ROOST_UNREACHED_NO_ROUTE, /* no route from any address of the port */
	ROOST_UNREACHED_NO_NEIGH, /* no answer to ARP or ND of the next hop */
	ROOST_UNREACHED_NO_ACK,   /* the peer never acknowledged this QP */
	ROOST_UNREACHED_NO_CM,    /* no answer to the CM's request */
	ROOST_UNREACHED_DEAF,     /* a listener on a port with no address */
};

struct roost_unreached {
	enum roost_unreached_cause cause;
	struct roost_gid sgid, dgid; /* zero: does not matter */
	uint8_t sgid_index;          /* NO_GID */
	uint32_t dest_qpn;           /* NO_ACK */
	uint32_t path_mtu_bytes;     /* NO_ACK */
	uint32_t tries;              /* NO_ACK, NO_CM */
	uint64_t tried_ns;           /* NO_NEIGH, NO_ACK, NO_CM: duration */
};

/* The engine's access to one port. ctx is passed to every function. */
struct roost_port_io {
	void *ctx;
	/* Queues in each direction, one for each of the first workers; 0: one.
	 */
	unsigned int nb_queues;
	/* Receive up to n frames; they become the engine's. Thread: the worker
	 * with the number of the queue.
	 */
	uint16_t (*rx_burst)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			     uint16_t n);
	/* Send n frames. Returns how many, from the first one on, the port has
	 * taken; the engine keeps the others and offers them again. A port
	 * without carrier takes and frees all of them. Thread: the worker with
	 * the number of the queue.
	 */
	uint16_t (*tx_burst)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			     uint16_t n);
	/* Take a frame that is not RoCEv2; now and then it is a RoCEv1 frame,
	 * or one of another VLAN. The callee owns it. Thread: workers, several
	 * at a time; must not block.
	 */
	void (*punt)(void *ctx, struct rte_mbuf *pkt);
	/* Find the next hop for dgid from sgid and take a reference. Blocks for
	 * the network (bounded). Returns 0, -EHOSTUNREACH (no route, or the
	 * gateway does not answer), -ETIMEDOUT (dgid does not answer).
	 */
	int (*resolve)(void *ctx, const struct roost_gid *sgid,
		       const struct roost_gid *dgid,
		       struct roost_neigh **neigh);
	void (*neigh_put)(void *ctx, struct roost_neigh *neigh);
	/* As resolve, but without blocking: mac_gen may still be 0, and the
	 * port asks for the MAC as long as the neighbour has a reference.
	 * from_mac: as for meet; NULL: none. If ask is NULL, the engine calls
	 * resolve.
	 * Returns 0, -EHOSTUNREACH, -ENOMEM, -ENOBUFS.
	 */
	int (*ask)(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   struct roost_neigh **neigh);
	/* A frame came from dgid to sgid with the source MAC from_mac. The port
	 * may use from_mac as dgid's MAC as long as it knows no better one.
	 * Does not block and takes no reference. Returns 0 (resolve would not
	 * block), -EAGAIN (resolve would block), -EHOSTUNREACH, -ETIMEDOUT (the
	 * neighbour was asked and did not answer). If meet is NULL, resolve
	 * never blocks.
	 */
	int (*meet)(void *ctx, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, const uint8_t from_mac[6]);
	/* The source address of the port for packets to dgid. Returns 0,
	 * -EHOSTUNREACH (no route). If source is NULL, the engine takes the
	 * first address of dgid's family.
	 */
	int (*source)(void *ctx, const struct roost_gid *dgid,
		      struct roost_gid *sgid);
	/* Run the services of the device soon (lib/engine/core/service.h). The
	 * port does so too when a neighbour answers that the engine asked for.
	 * NULL: they run without being woken. Thread: any; must not block.
	 */
	void (*wake)(void *ctx);
	/* A worker has work that it does not see by itself: let it have a turn
	 * soon. NULL: every worker gets turns anyway. Thread: any.
	 */
	void (*kick)(void *ctx, unsigned int worker);
	/* The first QP joined the group, or the last QP left it: set the MAC
	 * filter and report membership. NULL: the port takes every group.
	 * Returns 0, -ENOSPC.
	 */
	int (*mcast_join)(void *ctx, const struct roost_gid *group);
	void (*mcast_leave)(void *ctx, const struct roost_gid *group);
	/* A peer cannot be reached: print a line for the user, once per cause.
	 * resolve prints such lines itself. NULL: no line. Thread: any, workers
	 * with their turn too.
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
	/* VLAN ID of the port. All packets of the port carry this tag, with the
	 * priority that belongs to their traffic class, and frames of another
	 * VLAN are not taken. 0: none; packets carry no tag, or the tag of VLAN
	 * 0.
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

/* Limits of the device; constants of this build. */
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
/* The first worker, which also sends the frames of the IP host (ARP, ND, ...).
 */
struct roost_worker *roost_dev_worker(struct roost_dev *dev);

/* ---- ports ------------------------------------------------------------ */

struct roost_port_attr {
	enum roost_port_state state;
	enum roost_mtu max_mtu;
	enum roost_mtu active_mtu; /* largest path MTU that fits the port */
	/* A RoCE port has no LID of its own. Roost uses the low 16 bits of the
	 * first IPv4 address, so that programs that exchange only LIDs find
	 * each other: a packet of an AV that is not global goes to the address
	 * whose upper 16 bits equal those of this port's address. 0: no IPv4
	 * address. A LID from roost_port_set_lid() is reported here, and leads
	 * to no address.
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
 * Changes of a port. A change takes effect between two turns of the worker, and
 * every context gets the event that belongs to it; setting the value that is
 * already set raises no event. Thread: the control thread.
 */

/*
 * Set entry index of the GID table; a zero gid clears it. Raises GID_CHANGE,
 * and LID_CHANGE if the LID changes with the address. QPs that send from the
 * old address stay as they are; peers can no longer reach them at that address.
 * Returns 0, -EINVAL, -EEXIST (the gid is in another entry of the table).
 */
int roost_port_set_gid(struct roost_dev *dev, uint8_t port_num,
		       unsigned int index, const struct roost_gid *gid);
/*
 * Set the source MAC of the frames. The caller afterwards gives every struct
 * roost_neigh of the port a new generation; until then, packets to that
 * neighbour carry the old source MAC. Raises no event.
 */
int roost_port_set_mac(struct roost_dev *dev, uint8_t port_num,
		       const uint8_t mac[6]);
/* ip_mtu_bytes: the IP MTU of the port; UD QPs use it at once, and its change
 * raises no event. Raises PORT_ACTIVE when the state becomes active, PORT_ERR
 * when it was active and is so no more. A port that was removed stays down.
 */
void roost_port_set_link(struct roost_dev *dev, uint8_t port_num,
			 enum roost_port_state state, uint32_t ip_mtu_bytes,
			 uint32_t speed_mbps);
/*
 * Returns how many connected QPs (loopback QPs not counted) have a path MTU
 * that is too large for the port now: their packets above the port's MTU are
 * lost. *path_mtu_bytes gets the largest path MTU of these QPs.
 */
unsigned int roost_port_stranded(struct roost_dev *dev, uint8_t port_num,
				 uint32_t *path_mtu_bytes);
/*
 * Set entry index of the P_Key table; a P_Key whose low 15 bits are 0 makes the
 * entry empty. Raises PKEY_CHANGE. QPs that name the entry have the new P_Key
 * from here on; QPs that name an empty entry take no packet.
 * Returns 0, -EINVAL, -EEXIST (another entry of the table has this P_Key).
 */
int roost_port_set_pkey(struct roost_dev *dev, uint8_t port_num,
			unsigned int index, uint16_t pkey);
/* Raises LID_CHANGE. lid 0: the LID that follows from the addresses. Returns 0,
 * -EINVAL.
 */
int roost_port_set_lid(struct roost_dev *dev, uint8_t port_num, uint16_t lid);
/* Raises SM_CHANGE. Returns 0, -EINVAL. */
int roost_port_set_sm_lid(struct roost_dev *dev, uint8_t port_num,
			  uint16_t sm_lid);
/* Raises CLIENT_REREGISTER. Returns 0, -EINVAL. */
int roost_port_reregister(struct roost_dev *dev, uint8_t port_num);
/*
 * The port is removed for ever: it goes down, and PORT_ERR is raised if the
 * device has another port. With its last port the device is gone: every QP goes
 * to ERR and flushes its posted requests; DEVICE_FATAL is the last event of
 * every context (its channel is hung up, see roost/channel.h); no context can
 * be opened; a QP can only be in ERR or RESET. A second call does nothing.
 */
void roost_port_remove(struct roost_dev *dev, uint8_t port_num);
/* True when the last port of the device was removed. The services run soon
 * after that. Thread: any.
 */
bool roost_dev_failed(const struct roost_dev *dev);
/* A number that changes with each change of a GID table or of a MAC. The
 * services run soon after each change. Thread: any.
 */
uint32_t roost_dev_gid_gen(const struct roost_dev *dev);

/* ---- contexts --------------------------------------------------------- */

/* Returns 0, -ENOMEM, -EMFILE, -ENODEV (the device is gone). */
int roost_ctx_open(struct roost_dev *dev, struct roost_ctx **ctx);
/* Returns 0, or -EBUSY while the context has objects. */
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
	/* Part of retransmits: early ones, after a PTO derived from SRTT and
	 * before the local ACK timeout.
	 */
	uint64_t adaptive_retransmits;
	uint64_t timeouts;
	uint64_t loopback_pkts;
	/* Frames from the workers' own RX queues, RoCEv2 or not; and of these,
	 * the frames that were handed to another worker because they are for
	 * its QPs.
	 */
	uint64_t queue_pkts, handed_pkts;
	/* Sums over all QPs, destroyed ones included: see struct
	 * roost_qp_counters.
	 */
	uint64_t missing_responses;
	uint64_t naks_sent_of[ROOST_NAK_KINDS];
	uint64_t naks_received_of[ROOST_NAK_KINDS];
	uint64_t rnr_naks_received;
	uint64_t duplicates, out_of_order;
	uint64_t errors[ROOST_QPE_END]; /* by enum roost_qp_error_code */
};
void roost_dev_counters(struct roost_dev *dev, struct roost_dev_counters *c);

#endif
