/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_DGRAM_H
#define ROOST_CM_RSOCKET_DGRAM_H

/*
 * A datagram rsocket: UD QPs, one per local address that is in use, and a table
 * of its destinations.
 *
 * Three ways to find the QP number of a destination:
 *
 *  - by the side channel of rdma-core's rsockets, a UDP socket of the kernel's,
 *    where the kernel has the local address: the first datagrams go through
 *    it, and the answer says where the others are to go;
 *  - by the CM's service resolution (SIDR) where it has not: on a port that
 *    DPDK owns, the kernel can carry nothing. A bound rsocket listens for that;
 *  - from a datagram that came from there over RDMA.
 *
 * Files: dgram.c (birth, death, bind, connect), uqp.c (UD QPs), dest.c
 * (destinations), side.c (the UDP socket), dgram_io.c (send, receive, wait).
 *
 * Everything is guarded by rs.lock.
 */

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "cm/rsocket/rs.h"
#include "cm/rsocket/service.h"
#include "cm/rsocket/wire.h"

#define ROOST_RS_GRH_BYTES 40u
/* Header and data of one message: a fact of the protocol. */
#define ROOST_RS_DGRAM_BYTES 2048u
#define ROOST_RS_DEST_BUCKETS 64u
/* Datagrams from unknown senders create destinations too. At the maximum, a new
 * one replaces a destination that the program has never sent to, or else the
 * one whose last send is the longest ago.
 */
#define ROOST_RS_DESTS_MAX 4096u
/* Datagrams that wait for their destinations; more are lost, as with ARP. */
#define ROOST_RS_HELD_MAX 256u
#define ROOST_RS_SIDE_WAITING_MAX 64u

struct roost_rs_dgram;

/* A datagram that waits to be read. */
struct roost_rs_dmsg {
	STAILQ_ENTRY(roost_rs_dmsg) link;
	struct roost_rs_uqp *uqp; /* NULL: from the side channel; data is
				   * allocated */
	struct sockaddr_storage from;
	uint8_t *data;
	uint32_t length_bytes;
	uint32_t index; /* of the receive buffer */
};

/* A UD QP and its buffers. */
struct roost_rs_uqp {
	LIST_ENTRY(roost_rs_uqp) link;
	struct rdma_cm_id *id;
	struct roost_rs_cm cm;         /* of an id without events */
	struct sockaddr_storage local; /* port: the rsocket's */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	bool armed;
	uint32_t max_bytes; /* largest message: limited by MTU and buffer */
	uint8_t *send_mem;
	struct ibv_mr *send_mr;
	uint32_t *send_free; /* a stack of buffers */
	uint32_t nb_send_free;
	uint8_t *recv_mem;
	struct ibv_mr *recv_mr;
	struct roost_rs_dmsg *msgs; /* one per receive buffer */
};

enum roost_rs_dest_state {
	ROOST_RS_DEST_HEARD,     /* its QP is known; the program sent nothing */
	ROOST_RS_DEST_RESOLVING, /* address and route asked for */
	ROOST_RS_DEST_ASKING,    /* the path is known, the QP number is not */
	ROOST_RS_DEST_READY,
	ROOST_RS_DEST_FAILED,
};

struct roost_rs_dest {
	LIST_ENTRY(roost_rs_dest) link;
	TAILQ_ENTRY(roost_rs_dest) age_link;
	bool used; /* the program has sent to it */
	struct roost_rs_dgram *dg;
	struct roost_rs_cm cm;
	struct rdma_cm_id *id; /* NULL: no resolution was started */
	struct sockaddr_storage addr;
	enum roost_rs_dest_state state;
	int error;                /* errno value, in FAILED */
	bool by_side;             /* in ASKING: through the UDP socket */
	bool owes_side;           /* send an answer by the side channel once the
				   * path is known */
	uint32_t qpn;             /* 0: unknown */
	struct roost_rs_uqp *uqp; /* NULL: before the path is known */
	struct ibv_ah_attr path;
	struct ibv_ah *ah; /* in READY */
	/* A datagram for it, in RESOLVING; NULL: none. */
	uint8_t *held;
	size_t held_bytes;
};

struct roost_rs_dgram {
	struct roost_rs rs;
	int udp_fd;   /* -1: the kernel has none of the rsocket's addresses */
	int epoll_fd; /* of the channels of all uqps */
	bool is_bound;
	bool readable;
	bool writable;
	struct sockaddr_storage local;
	struct rdma_cm_id *listen_id; /* NULL: none; answers SIDR */
	struct roost_rs_cm listen_cm;
	LIST_HEAD(, roost_rs_uqp) uqps;
	LIST_HEAD(, roost_rs_dest) dests[ROOST_RS_DEST_BUCKETS];
	/* All destinations, by [used]; first the one whose last use is the
	 * longest ago.
	 */
	TAILQ_HEAD(, roost_rs_dest) dests_by_age[2];
	LIST_HEAD(, roost_rs_dest) dead_dests; /* to be freed without lock */
	unsigned int nb_dests;
	unsigned int nb_held;
	struct roost_rs_dest *peer; /* of rconnect(); NULL: none */
	struct roost_rs_dest *to;   /* destination of the last send or connect;
				     * NULL: none */
	/* Destination of the call that sends now, or was cancelled; NULL: none.
	 */
	struct roost_rs_dest *sending;
	STAILQ_HEAD(, roost_rs_dmsg) received;
	unsigned int nb_side_waiting;
};

static inline struct roost_rs_dgram *roost_rs_dgram(struct roost_rs *rs)
{
	return (struct roost_rs_dgram *)rs;
}

/* All below: lock held. */

/* True if the rsocket takes datagrams from this address; false if it is
 * connected to another address.
 */
static inline bool roost_rs_dgram_wants(const struct roost_rs_dgram *dg,
					const struct sockaddr_storage *from)
{
	return !dg->peer || roost_rs_addr_equal(&dg->peer->addr, from, true);
}

/* uqp.c. Get the QP of a local address, or create it. Returns 0 or -errno. */
int roost_rs_uqp_get(struct roost_rs_dgram *dg,
		     const struct sockaddr_storage *local,
		     struct roost_rs_uqp **out);
void roost_rs_uqp_free(struct roost_rs_uqp *uqp);
int roost_rs_uqp_post_recv(struct roost_rs_uqp *uqp, uint32_t index);
/* Needs a free buffer. Returns bytes of data or -errno. */
ssize_t roost_rs_uqp_send(struct roost_rs_uqp *uqp,
			  const struct roost_rs_dest *dest,
			  const struct iovec *iov, int nb_iov);

/* dest.c */
/* Find or create a destination, and start its resolution if it is not resolved.
 */
int roost_rs_dest_get(struct roost_rs_dgram *dg,
		      const struct sockaddr_storage *addr,
		      struct roost_rs_dest **out);
/* A UD message came from addr: note how to answer it. */
void roost_rs_dest_learn(struct roost_rs_uqp *uqp, struct roost_rs_dgram *dg,
			 const struct sockaddr_storage *addr, struct ibv_wc *wc,
			 struct ibv_grh *grh);
/* The side channel reports that addr has QP qpn. */
void roost_rs_dest_tell(struct roost_rs_dest *dest, uint32_t qpn);
/*
 * Replace a failed destination by a new one for another attempt; the caller
 * frees dest once the lock is released. Returns the cause of the failure, as
 * -errno.
 */
int roost_rs_dest_renew(struct roost_rs_dest *dest);
/* Start to resolve the path to a destination in state HEARD. */
void roost_rs_dest_seek(struct roost_rs_dest *dest);
/* Note that the program sends to this destination, maybe for the first time. */
void roost_rs_dest_use(struct roost_rs_dest *dest);
/* True if the QP of dest is known and its path is being resolved: a datagram to
 * it can be held, and its sender need not wait.
 */
bool roost_rs_dest_holds(const struct roost_rs_dest *dest);
/* Hold a copy of a datagram, or drop the datagram. Returns bytes or -errno. */
ssize_t roost_rs_dest_hold(struct roost_rs_dest *dest, const struct iovec *iov,
			   int nb_iov);
/* Without lock: waits until the service thread no longer uses dest. */
void roost_rs_dest_free(struct roost_rs_dest *dest);
/* Free the destinations that were replaced. Without lock, as above. */
void roost_rs_dest_reap(struct roost_rs_dgram *dg);
/* With the last reference to dg, without lock. */
void roost_rs_dest_free_all(struct roost_rs_dgram *dg);
/* Answers SIDR requests for the QP number of this rsocket. */
struct roost_rs_after
roost_rs_dgram_listen_event(struct roost_rs_cm *cm,
			    const struct rdma_cm_event *event);

/* side.c */
/* Bind the UDP socket to dg->local. The kernel may not have the address: that
 * is no error, but there is no side channel then.
 */
int roost_rs_side_bind(struct roost_rs_dgram *dg);
/* Bind to any port of the wildcard address, if the program did not bind. */
int roost_rs_dgram_bind_any(struct roost_rs_dgram *dg);
/* True if the kernel has this local address, so that the side channel can work.
 */
bool roost_rs_side_works(const struct roost_rs_dgram *dg,
			 const struct sockaddr_storage *local);
/* op: ROOST_RS_OP_DATA with data or _CTRL. Returns bytes or -errno. */
ssize_t roost_rs_side_send(struct roost_rs_dgram *dg,
			   const struct roost_rs_dest *dest,
			   enum roost_rs_op op, const struct iovec *iov,
			   int nb_iov);
/* Thread: the service's, without lock. */
void roost_rs_side_readable(struct roost_rs *rs);

/* dgram_io.c; send and recv without lock. */
ssize_t roost_rs_dgram_send(struct roost_rs *rs, const struct iovec *iov,
			    int nb_iov, int flags, const struct sockaddr *to,
			    socklen_t to_length);
ssize_t roost_rs_dgram_recv(struct roost_rs *rs, const struct iovec *iov,
			    int nb_iov, int flags,
			    struct sockaddr_storage *from);
void roost_rs_dgram_progress(struct roost_rs *rs);
short roost_rs_dgram_events(struct roost_rs *rs, short asked);
void roost_rs_dgram_arm(struct roost_rs *rs);
void roost_rs_dgram_drain(struct roost_rs *rs);
int roost_rs_dgram_wait_fd(struct roost_rs *rs);
bool roost_rs_dgram_all_sent(struct roost_rs *rs);

#endif
