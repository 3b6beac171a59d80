/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_STREAM_H
#define ROOST_CM_RSOCKET_STREAM_H

/*
 * A stream rsocket: a listener, or one end of an RC connection.
 *
 * Files: stream.c (birth, death, options), conn.c (bind, connect, listen),
 * child.c (a listener's children, accept), event.c (what the CM reports),
 * ep.c (QP, CQ, buffers, hello), cq.c (completions and credits), send.c,
 * recv.c, shutdown.c, iomap.c.
 *
 * Flow control. The receiver's buffer is a ring of two halves. The peer learns
 * of one half at a time, through one of the two slots in its memory, and fills
 * it before it uses the next; a half is given back when as many bytes were
 * read. Every message with data also needs a credit: send_seq may run up to
 * send_limit, which the peer raises as the program reads. Control messages need
 * no credit: they have their own part of the send queue and rely on RNR.
 *
 * rs.lock guards every member, except those whose comments name send_lock or
 * recv_lock.
 */

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "cm/rsocket/rs.h"
#include "cm/rsocket/service.h"
#include "cm/rsocket/wire.h"

enum roost_rs_state {
	ROOST_RS_INIT,
	ROOST_RS_BOUND,
	ROOST_RS_LISTENING,
	ROOST_RS_ADDR,       /* connecting: address asked for */
	ROOST_RS_ROUTE,      /* route asked for */
	ROOST_RS_CONNECTING, /* REQ sent */
	ROOST_RS_REQUESTED,  /* a listener's: REQ came, not answered yet */
	ROOST_RS_ACCEPTING,  /* REP sent */
	ROOST_RS_CONNECTED,
	ROOST_RS_DISCONNECTED, /* received data can still be read */
	ROOST_RS_FAILED,
	ROOST_RS_STATES
};

/* Work requests that are reserved for control messages. */
#define ROOST_RS_CTRL_WR 4u
#define ROOST_RS_SLOTS 2u

/* A buffer of the program's, registered by riomap(). */
struct roost_rs_map {
	TAILQ_ENTRY(roost_rs_map) link;
	struct ibv_mr *mr;
	void *addr;
	size_t length_bytes;
	uint64_t offset;
	int index;   /* of the peer's entry; -1: local only */
	bool queued; /* not announced to the peer yet */
};

/* The QP, the buffers and the flow control of a connection (ep.c). */
struct roost_rs_ep {
	struct ibv_comp_channel *channel; /* NULL: no endpoint yet */
	struct ibv_cq *cq;
	bool armed;

	uint8_t *send_mem; /* control buffers, then the send ring */
	struct ibv_mr *send_mr;
	uint8_t *send_ring;
	uint32_t send_ring_bytes;
	uint32_t send_at;         /* next byte to fill; send_lock */
	uint32_t send_free_bytes; /* completions raise it */
	uint32_t send_free_wr;
	uint32_t ctrl_free_wr;
	uint32_t ctrl_next; /* control buffer to use next */
	uint16_t send_seq;
	uint16_t send_limit;

	uint8_t *recv_mem; /* slots, I/O map, then the receive ring */
	struct ibv_mr *recv_mr;
	volatile struct roost_rs_slot *slots; /* the peer writes them */
	volatile struct roost_rs_iomap *iomaps;
	uint8_t *recv_ring;
	uint32_t recv_ring_bytes; /* even */
	uint32_t recv_at;         /* next byte to read; recv_lock */
	uint32_t recv_bytes;      /* that wait to be read */
	uint32_t recv_read_bytes; /* read, and not given back yet */
	uint32_t recv_give_at;    /* where the half to give back begins */
	uint32_t *msgs;           /* lengths of messages that wait, a ring */
	uint32_t msgs_head;
	uint32_t nb_msgs;
	uint16_t recv_seq;
	uint16_t recv_told; /* send credits when recv_seq gets here */

	/* The peer's. */
	struct roost_rs_slot buf; /* where the next data goes */
	uint32_t slot_next;       /* own slot that the next buf comes from */
	bool big_endian;
	uint64_t slots_addr;
	uint32_t slots_key;
	uint32_t nb_slots;
	uint32_t peer_slot; /* the slot to write next */
	uint32_t nb_peer_iomaps;
};

TAILQ_HEAD(roost_rs_family, roost_rs_stream);

struct roost_rs_stream {
	struct roost_rs rs;
	struct roost_rs_cm cm;
	struct rdma_cm_id *id;
	enum roost_rs_state state;
	bool readable;   /* connected: the peer may still send */
	bool writable;   /* connected: the program may still send */
	bool peer_reads; /* disconnected, as both have sent their last: the peer
			  * may still wait for what is on its way to it
			  */
	bool told;       /* rconnect() has returned the result */

	/* Connecting. */
	struct sockaddr_storage peer;
	unsigned int nb_tries; /* of the present question */
	void *route;           /* RDMA_ROUTE: struct ibv_path_data[]; or NULL */
	socklen_t route_length;

	/*
	 * Listening: children, by state; their first references. The lock of
	 * families (child.c), and for established the listener's as well.
	 */
	struct roost_rs_family requested;
	struct roost_rs_family accepting;
	struct roost_rs_family established;
	unsigned int nb_requested;
	unsigned int nb_open; /* accepting and established */
	unsigned int backlog;

	/* A child's, until raccept(); the lock of families. */
	TAILQ_ENTRY(roost_rs_stream) child_link;
	struct roost_rs_stream *listener; /* NULL: none */
	struct rdma_conn_param request;   /* without private data */
	struct roost_rs_hello hello;      /* the peer's, with the request */

	struct roost_rs_ep ep;
	struct roost_rs_timer keepalive;
	TAILQ_HEAD(, roost_rs_map) maps;
	unsigned int nb_maps_queued;
};

static inline struct roost_rs_stream *roost_rs_stream(struct roost_rs *rs)
{
	return (struct roost_rs_stream *)rs;
}

/* stream.c. Without an id; NULL: no memory. */
struct roost_rs_stream *roost_rs_stream_alloc(sa_family_t family);

/* conn.c: the state. */
/* lock held: the end of the connection, or of the attempt. peer_reads: the peer
 * still reads what was sent.
 */
void roost_rs_stream_fail(struct roost_rs_stream *st, int error);
void roost_rs_stream_hang_up(struct roost_rs_stream *st, bool peer_reads);
/* lock held. For a call that has moved nothing and would return ret, 0 or
 * -errno: the cause of the connection's end, if no call has returned it yet, or
 * else ret.
 */
int roost_rs_stream_cause(struct roost_rs_stream *st, int ret);
/*
 * lock held. For calls that move data: waits until a connection that is being
 * set up is established. Returns 0, or -EAGAIN, -ENOTCONN or the cause of its
 * failure.
 */
int roost_rs_stream_ready(struct roost_rs_stream *st, bool nonblock);

/* The calls. */
int roost_rs_stream_bind(struct roost_rs *rs, const struct sockaddr *addr,
			 socklen_t length);
int roost_rs_stream_connect(struct roost_rs *rs, const struct sockaddr *addr,
			    socklen_t length);
int roost_rs_stream_listen(struct roost_rs_stream *st, int backlog);
/* lock held: steps of connecting. On an error the caller fails st. */
int roost_rs_stream_ask_addr(struct roost_rs_stream *st);
int roost_rs_stream_ask_route(struct roost_rs_stream *st);
int roost_rs_stream_send_req(struct roost_rs_stream *st);

/* Returns the child's number or -errno. Thread: any, without lock. */
int roost_rs_stream_accept(struct roost_rs_stream *st,
			   struct sockaddr_storage *from);

/*
 * Listeners and children (child.c). The lock of families guards the relation of
 * listeners and children, and is taken before any rsocket's lock.
 */
void roost_rs_family_lock(void);
void roost_rs_family_unlock(void);
/* Maximum of requests that wait for an answer. */
static inline unsigned int
roost_rs_requests_max(const struct roost_rs_stream *listener)
{
	return 4 * listener->backlog + 64;
}
/* All below with that lock, and no other unless said. */
/*
 * A request came for a listener, whose lock is held. Returns the references
 * that the caller has to release.
 */
struct roost_rs_after roost_rs_child_request(struct roost_rs_stream *listener,
					     const struct rdma_cm_event *event);
void roost_rs_child_established(struct roost_rs_stream *child);
/* The connection of a child failed: requests that waited for its room are
 * answered. Returns the child's first reference, or NULL: it has no listener.
 * Children that could not be answered are added to failed.
 */
struct roost_rs *roost_rs_child_drop(struct roost_rs_stream *child,
				     struct roost_rs_family *failed);
/* Without lock: release children that could not be answered. */
void roost_rs_child_put_all(struct roost_rs_family *failed);
/* Drop all children of a listener that closes; takes the lock itself. */
void roost_rs_child_drop_all(struct roost_rs_stream *listener);

/* event.c */
struct roost_rs_after roost_rs_stream_event(struct roost_rs_cm *cm,
					    const struct rdma_cm_event *event);

/* ep.c. lock held, or no other thread can see st. */
/* Create QP, CQ and buffers on st->id. Returns 0, or -errno with nothing left
 * behind.
 */
int roost_rs_ep_create(struct roost_rs_stream *st);
void roost_rs_ep_destroy(struct roost_rs_stream *st);
void roost_rs_ep_hello(const struct roost_rs_stream *st,
		       struct roost_rs_hello *hello);
void roost_rs_ep_meet(struct roost_rs_stream *st,
		      const struct roost_rs_hello *hello);
int roost_rs_ep_post_recv(struct roost_rs_stream *st, unsigned int nb);
/* The source and the target of an RDMA WRITE. */
struct roost_rs_write {
	const struct ibv_sge *sges;
	int nb_sges;
	uint32_t length_bytes;
	uint64_t addr;
	uint32_t key;
	bool has_msg; /* with immediate data */
	uint32_t msg;
	uint64_t wr_id;
};
int roost_rs_ep_post_write(struct roost_rs_stream *st,
			   const struct roost_rs_write *write);

/* wr_id of a completion: its kind, and the bytes of the ring that it frees. */
enum roost_rs_wr {
	ROOST_RS_WR_RECV,
	ROOST_RS_WR_DATA,
	ROOST_RS_WR_CTRL,
	ROOST_RS_WR_BYE, /* the DISCONNECT message */
};

static inline uint64_t roost_rs_wr_id(enum roost_rs_wr kind, uint32_t bytes)
{
	return (uint64_t)kind << 32 | bytes;
}

/* cq.c. lock held. */
void roost_rs_stream_progress(struct roost_rs *rs);
void roost_rs_stream_arm(struct roost_rs *rs);
void roost_rs_stream_drain(struct roost_rs *rs);
int roost_rs_stream_wait_fd(struct roost_rs *rs);
/* Send a control message; needs ctrl_free_wr. -errno: st has failed. */
int roost_rs_ctrl_send(struct roost_rs_stream *st, enum roost_rs_ctrl ctrl);

/* send.c */
ssize_t roost_rs_stream_send(struct roost_rs *rs, const struct iovec *iov,
			     int nb_iov, int flags, const struct sockaddr *to,
			     socklen_t to_length);
/* lock held. True if there are room, a credit and a buffer of the peer's for at
 * least one byte.
 */
bool roost_rs_stream_can_send(struct roost_rs_stream *st);
/* lock held. True if can_send, with enough room to be called writable. */
bool roost_rs_stream_is_writable(struct roost_rs_stream *st);
/*
 * send_lock held. Get length_bytes of the ring, which are free, as one or two
 * pieces. Returns their number. The caller takes the bytes by lowering
 * send_free_bytes.
 */
int roost_rs_ring_take(struct roost_rs_stream *st, uint32_t length_bytes,
		       struct ibv_sge sges[2]);

/* A position in a vector. */
struct roost_rs_cursor {
	const struct iovec *iov;
	int nb_iov;
	size_t offset;
};
size_t roost_rs_iov_bytes(const struct iovec *iov, int nb_iov);
void roost_rs_cursor_read(struct roost_rs_cursor *cursor, void *to,
			  size_t length_bytes);
void roost_rs_cursor_write(struct roost_rs_cursor *cursor, const void *from,
			   size_t length_bytes);

/* recv.c */
ssize_t roost_rs_stream_recv(struct roost_rs *rs, const struct iovec *iov,
			     int nb_iov, int flags,
			     struct sockaddr_storage *from);

/* shutdown.c */
int roost_rs_stream_shutdown(struct roost_rs *rs, int how);
void roost_rs_stream_close(struct roost_rs *rs);
/* lock held: keepalives from now on. */
void roost_rs_stream_keepalive_start(struct roost_rs_stream *st);
/* Sends a keepalive; for the timer. */
void roost_rs_stream_keepalive(struct roost_rs *rs);

/* iomap.c */
off_t roost_rs_map_add(struct roost_rs_stream *st, void *addr,
		       size_t length_bytes, int prot, off_t offset);
int roost_rs_map_remove(struct roost_rs_stream *st, const void *addr,
			size_t length_bytes);
void roost_rs_map_free_all(struct roost_rs_stream *st);
/* send_lock and lock held: announces queued maps to the peer. */
int roost_rs_map_flush(struct roost_rs_stream *st, bool nonblock);
ssize_t roost_rs_map_write(struct roost_rs_stream *st, const void *from,
			   size_t length_bytes, uint64_t offset, int flags);

#endif
