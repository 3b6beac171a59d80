/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_DGRAM_H
#define ROOST_CM_RSOCKET_DGRAM_H

/*
 * A datagram rsocket: UD QPs, one per local address that is used, and a table
 * of the destinations that were spoken to.
 *
 * How the QP number of a destination is found:
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
/* Strangers make destinations too. There are no more than this: one that the
 * program has never sent to makes room, or the one that it has not sent to for
 * longest.
 */
#define ROOST_RS_DESTS_MAX 4096u
/* Datagrams that wait for their destinations; more are lost, as with ARP. */
#define ROOST_RS_HELD_MAX 256u
#define ROOST_RS_SIDE_WAITING_MAX 64u

struct roost_rs_dgram;

/* A datagram that waits to be read. */
struct roost_rs_dmsg {
	STAILQ_ENTRY(roost_rs_dmsg) link;
	struct roost_rs_uqp *uqp; /* NULL: of the side channel, allocated */
	struct sockaddr_storage from;
	uint8_t *data;
	uint32_t length_bytes;
	uint32_t index; /* of the receive buffer */
};

/* A UD QP and its buffers. */
struct roost_rs_uqp {
	LIST_ENTRY(roost_rs_uqp) link;
	struct rdma_cm_id *id;
	struct roost_rs_cm cm;         /* of an id that has nothing to say */
	struct sockaddr_storage local; /* port: the rsocket's */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	bool armed;
	uint32_t max_bytes; /* of a message: MTU, buffer */
	uint8_t *send_mem;
	struct ibv_mr *send_mr;
	uint32_t *send_free; /* a stack of buffers */
	uint32_t nb_send_free;
	uint8_t *recv_mem;
	struct ibv_mr *recv_mr;
	struct roost_rs_dmsg *msgs; /* one per receive buffer */
};

enum roost_rs_dest_state {
	ROOST_RS_DEST_HEARD, /* it has said its QP; nothing was sent to it */
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
	struct rdma_cm_id *id; /* NULL: it was not asked for */
	struct sockaddr_storage addr;
	enum roost_rs_dest_state state;
	int error;                /* errno value, in FAILED */
	bool by_side;             /* in ASKING: through the UDP socket */
	bool owes_side;           /* an answer there, once the path is known */
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
	int udp_fd;   /* -1: the kernel has none of our addresses */
	int epoll_fd; /* of the channels of all uqps */
	bool is_bound;
	bool readable;
	bool writable;
	struct sockaddr_storage local;
	struct rdma_cm_id *listen_id; /* NULL: none; answers SIDR */
	struct roost_rs_cm listen_cm;
	LIST_HEAD(, roost_rs_uqp) uqps;
	LIST_HEAD(, roost_rs_dest) dests[ROOST_RS_DEST_BUCKETS];
	/* All of them, by [used], the one that was longest not heard of first.
	 */
	TAILQ_HEAD(, roost_rs_dest) dests_by_age[2];
	LIST_HEAD(, roost_rs_dest) dead_dests; /* to be freed without lock */
	unsigned int nb_dests;
	unsigned int nb_held;
	struct roost_rs_dest *peer; /* of rconnect(); NULL: none */
	struct roost_rs_dest *to;   /* the last that was sent to */
	STAILQ_HEAD(, roost_rs_dmsg) received;
	unsigned int nb_side_waiting;
};

static inline struct roost_rs_dgram *roost_rs_dgram(struct roost_rs *rs)
{
	return (struct roost_rs_dgram *)rs;
}

/* Addresses are equal, ports aside where asked. */
bool roost_rs_addr_equal(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b, bool with_port);

/* All below: lock held. */

/* dgram.c: any port of any address, where the program bound to none. */
int roost_rs_dgram_bind_any(struct roost_rs_dgram *dg);

/* uqp.c. The QP of a local address, made where there is none; or -errno. */
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
struct roost_rs_dest *roost_rs_dest_find(struct roost_rs_dgram *dg,
					 const struct sockaddr_storage *addr);
/* Finds, or makes one, and begins to resolve what is not resolved. */
int roost_rs_dest_get(struct roost_rs_dgram *dg,
		      const struct sockaddr_storage *addr,
		      struct roost_rs_dest **out);
/* A UD message came from addr: how it can be answered. */
void roost_rs_dest_learn(struct roost_rs_uqp *uqp, struct roost_rs_dgram *dg,
			 const struct sockaddr_storage *addr, struct ibv_wc *wc,
			 struct ibv_grh *grh);
/* The side channel says that addr's QP is qpn. */
void roost_rs_dest_tell(struct roost_rs_dest *dest, uint32_t qpn);
/*
 * A new attempt at one that failed: another takes its place, and the caller
 * frees dest once the lock is released. Returns why it failed, as -errno.
 */
int roost_rs_dest_renew(struct roost_rs_dest *dest);
/* Begin to look for the path to one that was HEARD. */
void roost_rs_dest_seek(struct roost_rs_dest *dest);
/* The program sends to it, which it may not have done before. */
void roost_rs_dest_use(struct roost_rs_dest *dest);
/* It has said its QP, and its path is still being looked for: what is sent to
 * it can wait for that, and its sender need not.
 */
bool roost_rs_dest_holds(const struct roost_rs_dest *dest);
/* Takes a copy, or loses it. Returns bytes or -errno. */
ssize_t roost_rs_dest_hold(struct roost_rs_dest *dest, const struct iovec *iov,
			   int nb_iov);
/* Without lock: waits for the service thread to be done with it. */
void roost_rs_dest_free(struct roost_rs_dest *dest);
/* Free those that made room. Without lock, as above. */
void roost_rs_dest_reap(struct roost_rs_dgram *dg);
/* With the last reference to dg, without lock. */
void roost_rs_dest_free_all(struct roost_rs_dgram *dg);
/* For requests of others who look for our QP number. */
struct roost_rs_after
roost_rs_dgram_listen_event(struct roost_rs_cm *cm,
			    const struct rdma_cm_event *event);
struct roost_rs_after roost_rs_cm_ignore(struct roost_rs_cm *cm,
					 const struct rdma_cm_event *event);

/* side.c */
/* The kernel has this address, so that the side channel can work. */
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
/* Where from is not who the rsocket is connected to: false, and dropped. */
bool roost_rs_dgram_wants(const struct roost_rs_dgram *dg,
			  const struct sockaddr_storage *from);
void roost_rs_dmsg_done(struct roost_rs_dgram *dg, struct roost_rs_dmsg *msg);
bool roost_rs_dgram_all_sent(struct roost_rs *rs);

#endif
