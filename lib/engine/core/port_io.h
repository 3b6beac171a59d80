/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PORT_IO_H
#define ROOST_ENGINE_CORE_PORT_IO_H

/*
 * The engine's access to a port, in two parts: its frames, and its addresses.
 *
 * The engine does no I/O. Who creates a device fills a struct roost_frame_io
 * and a struct roost_addr_io for each port: pmd_glue for an ethdev, tests for a
 * simulated link.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_flow_rule_init;
struct rte_mbuf;

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
	ROOST_UNREACHED_FULL,     /* no resources for one more connection */
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

/* The frames of one port: the engine's access to them. ctx is passed to every
 * function.
 */
struct roost_frame_io {
	void *ctx;
	/* Queues in each direction, one for each of the first workers; 0: one.
	 */
	unsigned int nb_queues;
	/* Frames that are not this device's RoCEv2 do not pass: there are no
	 * raw packet QPs.
	 */
	bool roce_only;
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
	/* May a sender send from that QPN? Asked for each frame from outside
	 * whose sender is not 0 (lib/engine/core/in_place.h): of a datagram for
	 * its source QPN, of another packet for the QPN that the local QP is
	 * connected to. The port's frames are then all in mbufs that say who
	 * sent them. NULL: any may. Thread: workers, several at a time; hot.
	 */
	bool (*may_send)(void *ctx, uint32_t from, uint32_t qpn);
	/* Receive frames to other MACs, too, or no longer. NULL: the port has
	 * all frames of its wire anyway. Returns 0, or a negative errno value:
	 * it cannot. Thread: any, one at a time.
	 */
	int (*promiscuous)(void *ctx, bool on);
	/* Have the NIC do what a rule (flow.h) says: bring its frames to the
	 * first worker, or drop them. Frames that do not fit the rule stay as
	 * they are; the NIC may leave out others, at any time. Returns what
	 * displace_rule ends, or NULL: no memory. NULL: the port has no such
	 * NIC. Thread: any that holds no turn, one at a time.
	 */
	void *(*place_rule)(void *ctx, const struct roost_flow_rule_init *rule);
	void (*displace_rule)(void *ctx, void *placed);
	/* A worker has work that it does not see by itself: let it have a turn
	 * soon. NULL: every worker gets turns anyway. Thread: any.
	 */
	void (*kick)(void *ctx, unsigned int worker);
	/* The calling thread has left a frame to the worker: send it now, or
	 * kick. NULL: kick. Thread: any that has no turn.
	 */
	void (*push)(void *ctx, unsigned int worker);
};

/* The addresses of one port, its neighbours and its multicast groups: the
 * engine's access to them. ctx is passed to every function.
 */
struct roost_addr_io {
	void *ctx;
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

#endif
