/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_QP_PRIV_H
#define ROOST_ENGINE_TRANSPORT_QP_PRIV_H

/*
 * Inside of queue pairs; for lib/engine only.
 */

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/mr_priv.h"
#include <roost/qp.h>
#include "lib/engine/core/queue.h"
#include "lib/engine/sched/timer.h"
#include <roost/wq.h>
#include "lib/wire/frame.h"

/* Packets of one QP that may be unacknowledged at a time, as long as nothing is
 * lost, and the least that losses bring it down to.
 */
#define ROOST_WINDOW_PKTS 256
#define ROOST_WINDOW_MIN_PKTS 4
/* A long message asks for an acknowledgement with each part of a window: it
 * keeps open, and goes on in steps that are small beside it.
 */
#define ROOST_WINDOW_PARTS 8
/* A longer READ goes as several requests, each begun when the one before it is
 * answered. The PSNs that are in use must stay within half of their circle
 * (IBTA 9.7.3.1), and 2^31 bytes in packets of 256 are all of that half.
 */
#define ROOST_READ_MAX_PKTS 65536u
/* So often it is asked early in a row; each time waits twice as long. */
#define ROOST_REQ_EARLY_MAX 12u
/* Which of a requester's timers (roost_timer.kind). */
enum roost_req_timer_kind {
	ROOST_REQ_TIMER_RETRY,
	ROOST_REQ_TIMER_PACE,
};

/* Packets of one QP before the next QP has its turn. */
#define ROOST_QP_BURST_PKTS 32u

/* What a request has behind its head that fits there: an SGE, or as much inline
 * data, or the operands of an atomic.
 */
#define ROOST_WQE_NEAR_BYTES 16u
/* SGEs and inline data are not near. */
#define ROOST_WQE_SPILLED 0x80u

/*
 * A cache line: a queue of many requests, seldom used, is read from far away.
 * What is longer than near lies in the slot's part of roost_qp.spill: more SGEs
 * and inline data, all SGEs of an atomic, a bind.
 */
struct roost_send_wqe {
	/* Set when its first packet is made. A local operation has the PSN of
	 * the packet before it: done when that is acknowledged. No post writes
	 * these: the first word is the place of the completion then
	 * (roost_queue_place()).
	 */
	struct roost_psn first_psn;
	struct roost_psn last_psn;
	uint64_t wr_id;
	uint32_t imm_be; /* ImmDt; the rkey of SEND_INV and LOCAL_INV */
	uint32_t len_bytes;
	uint32_t xrc_srqn;
	uint8_t nb_sges; /* 0 when inline */
	uint8_t opcode;  /* enum roost_wr_opcode */
	uint8_t flags;   /* enum roost_send_flags, and ROOST_WQE_SPILLED */
	bool fetched;    /* FETCH: the whole response has come */
	union {
		struct {
			uint64_t va;
			uint32_t rkey;
			uint8_t flush_type;
			uint8_t flush_level;
		} remote;
		struct {
			struct roost_ah *ah; /* a reference */
			uint32_t qpn;
			uint32_t qkey;
		} ud;
	};
	union {
		uint8_t near[ROOST_WQE_NEAR_BYTES];
		struct {
			uint64_t swap_add;
			uint64_t compare;
		} atomic;
	};
};
static_assert(sizeof(struct roost_send_wqe) == 64 &&
		      offsetof(struct roost_send_wqe, first_psn) == 0,
	      "one cache line, which begins with what no post writes");

/* The way to the peer. Written by modify, holding the turn. */
struct roost_path {
	struct roost_hdr_template template;
	struct roost_gid sgid;
	struct roost_gid dgid;
	/* Reference; the port's own for a group, NULL for a loopback path. */
	struct roost_neigh *neigh;
	uint64_t mac_gen; /* of neigh, as the template has it */
	uint8_t port_index;
	uint8_t to_index; /* loopback: the port that has dgid */
	bool loopback;    /* dgid is an address of this device */
	bool multicast;   /* dgid is a group */
	bool valid;
	const struct roost_neigh *own; /* the port's */
};

/* What struct roost_qp.alt_path is. */
enum roost_alt {
	ROOST_ALT_NONE,
	ROOST_ALT_LOADED, /* the alternate path */
	ROOST_ALT_PAST,   /* the primary path of before the last migration:
			   * heard as long as no alternate is loaded */
};

/* Path migration (mig.c). Holder of the turn. */
struct roost_mig {
	uint8_t state;     /* enum roost_mig_state */
	uint8_t alt;       /* enum roost_alt */
	bool refused;      /* PATH_MIG_ERR was raised since REARM */
	uint16_t alt_pkey; /* of alt_path */
	LIST_ENTRY(roost_qp) armed_link; /* while ARMED */
};

/* Requester: our requests to the peer. Holder of the turn. */
struct roost_requester {
	struct roost_psn next_psn;           /* of the next packet made */
	struct roost_psn end_psn;            /* behind all ever made */
	struct roost_psn oldest_unacked_psn; /* == end_psn: none */
	uint32_t send_index;                 /* WQE of next_psn */
	uint32_t started_index; /* behind the last WQE that has PSNs */
	/* The window: up to window_goal it grows by what is acknowledged, from
	 * there on by a part for each window_acked that is a whole one.
	 */
	uint32_t window_pkts;
	uint8_t retry_left;
	uint8_t rnr_left;
	bool rnr_wait;       /* the timer ends an RNR wait */
	bool fetch_gap;      /* went back for a response that is missing,
			      * and nothing has come since */
	uint8_t nb_fetching; /* FETCH requests before send_index that are
			      * not complete: limited by max_rd_atomic */
	/* WQE at fault_index cannot be sent: it fails with fault_code once
	 * all before it are acknowledged.
	 */
	bool fault;
	bool inflight; /* counted in worker.nb_inflight_qps */
	/* How long answers take (req_timer.c): when rtt_psn was sent, 0: none
	 * is being measured; mean and deviation, the last one and the shortest;
	 * when to ask again, 0: none of these is known; and how often that was
	 * done since it became known.
	 */
	uint8_t nb_early;
	uint64_t rtt_sent_ns;
	struct roost_psn rtt_psn;
	uint32_t rtt_ns;
	uint32_t rtt_var_ns;
	uint32_t rtt_last_ns;
	uint32_t rtt_min_ns;
	uint32_t early_ns;
	uint64_t timeout_ns;    /* 0: never */
	uint64_t timeout_at_ns; /* while the timer is set, but for RNR waits */
	struct roost_timer timer;

	/* Cold: of rate limits, and after losses. */
	struct roost_timer pace_timer;
	uint64_t pace_ns; /* rate limit: no packet goes before this */
	uint32_t window_goal_pkts;
	uint32_t window_acked_pkts;
	/* Acknowledged since the last loss, as far as a window; and losses in
	 * a row before which it was less.
	 */
	uint16_t quiet_pkts;
	uint8_t nb_close_losses;
	uint8_t fault_code; /* enum roost_qp_error_code */
	uint32_t fault_index;
};

/*
 * A READ, atomic or the like that the peer asked for: what was answered, so
 * that a duplicate is answered the same, and how far the answer has gone.
 */
struct roost_resp_fetch {
	struct roost_psn first_psn; /* of the request and its answer */
	struct roost_psn last_psn;
	struct roost_psn next_psn; /* of the answer's next packet */
	uint64_t va;               /* of first_psn */
	uint64_t orig;             /* atomics: what was there before */
	uint32_t rkey;
	const struct roost_pd *pd; /* whose memory rkey may name */
	uint32_t len_bytes;
	uint32_t end_bytes; /* of the answer in hand: what was asked for last */
	uint32_t msn;       /* after it was executed */
	uint8_t op;         /* enum roost_op of the request */
	bool pending;       /* packets from next_psn on are owed */
	bool begun;         /* one of them has gone */
	bool answered;      /* the whole answer has gone once */
};

/* Responder: the peer's requests to us. Holder of the turn. */
struct roost_responder {
	struct roost_psn expected_psn;
	uint32_t msn;           /* 24 bits: completed requests */
	uint32_t offset_bytes;  /* of the message that is coming in */
	uint32_t dma_len_bytes; /* WRITE coming in: what its RETH said */
	uint64_t va;            /* WRITE coming in */
	uint32_t rkey;
	uint8_t in_op;  /* enum roost_op of it; NONE: between two */
	uint8_t behind; /* enum roost_drop: expected_psn was NAKed, and
			 * what comes behind it is dropped for this;
			 * NONE: not NAKed */
	bool comm_est;  /* COMM_EST was raised */
	/* The answer that is owed. One slot is enough: it is cumulative. */
	bool owed;
	struct roost_psn owed_psn;
	uint8_t owed_syndrome;
	uint8_t nb_fetches_pending;
	const struct roost_pd *pd; /* of the request in hand: the QP's, or that
				    * of the SRQ that an XRC packet names */
	/* Ring of the last requests that fetch, oldest at fetch_first; as
	 * many as max_dest_rd_atomic, and those beyond it that are not
	 * answered yet when it was lowered. NULL: never any were allowed.
	 */
	struct roost_resp_fetch *fetches;
	/* The SRQ that the WQE in recv_copy is from; NULL: none is in use. */
	struct roost_srq *recv_srq;
	uint8_t fetch_room; /* of the ring */
	uint8_t fetch_size; /* max_dest_rd_atomic */
	uint8_t fetch_first;
	uint8_t nb_fetches;
	uint8_t nb_wrong_keys; /* UC: since RESET */
	uint8_t ended; /* NAK to the request at expected_psn, which brought the
			* QP to ERR; 0: none did */
};

struct roost_srq;
struct roost_xrcd;
struct roost_ah;

/*
 * In the order of use, in cache lines of 64 bytes: a device has thousands of
 * these, and few of them are in the cache when a packet is for them. A sender
 * of small messages needs nine lines, a receiver of WRITEs six.
 */
struct roost_qp {
	/* 0: written at create and modify, but for the places in lists. */
	uint32_t qpn;
	_Atomic uint32_t state; /* enum roost_qp_state */
	uint8_t type;           /* enum roost_qp_type */
	bool sq_sig_all;
	bool block_self_mcast;
	bool drain_asked; /* SQ_DRAINED is wanted; nothing but leaving SQD
			   * withdraws that */
	uint32_t mtu_bytes;
	uint32_t dest_qpn;
	uint16_t pkey;
	uint8_t send_place;   /* in the worker's lists by send_link; 0: none */
	uint8_t answer_place; /* by ack_link */
	struct roost_dev *dev;
	struct roost_worker *worker; /* whose turn "the turn" is; for life */
	struct roost_pd *pd;         /* NULL: XRC target */
	struct roost_cq *send_cq;    /* NULL: XRC target */
	struct roost_cq *recv_cq;
	/* 1: what posting threads write. */
	struct roost_queue sq;
	uint32_t spill_bytes;
	_Atomic bool doorbell_rung; /* any thread */
	_Atomic(struct roost_qp *) doorbell_next;
	/* 2 to 4: the primary path, and what requests from there change. */
	struct roost_path path;
	struct roost_responder resp;
	/* 5: and the worker's lists. */
	TAILQ_ENTRY(roost_qp) send_link;
	TAILQ_ENTRY(roost_qp) ack_link;
	/* 6 and 7. */
	struct roost_requester req __attribute__((aligned(64)));
	uint8_t *spill; /* of the slots of sq, each spill_bytes */
	/* 9: what of the attributes a packet asks for. */
	struct roost_mig mig __attribute__((aligned(64)));
	struct roost_qp_cap cap;
	struct roost_qp_attr attr;
	/* Receives. */
	struct roost_queue rq __attribute__((aligned(64)));
	struct roost_srq *srq;             /* NULL: it has its own RQ */
	struct roost_ind_table *ind_table; /* UD: receives go there; or NULL */

	/* Cold. */
	struct roost_psn resumed_psn; /* where req went back to last */
	struct roost_path alt_path;   /* mig.alt says what it is */
	struct roost_hash hash;
	struct roost_ctx *ctx;
	LIST_ENTRY(roost_qp) all_link; /* dev->all.qps */
	bool dying;                    /* it is in no CQ any more; all turns */
	pthread_mutex_t modify_lock;   /* one modify at a time */
	LIST_HEAD(, roost_mcast) mcasts; /* its places in groups; as these */
	void *owner;
	struct roost_event_source async;
	struct roost_xrcd *xrcd;          /* XRC_TGT */
	struct roost_recv_wqe *recv_copy; /* the WQE taken from an SRQ; NULL:
					   * it never takes one */
	LIST_ENTRY(roost_qp) taker_link;  /* while resp.recv_srq is set */
	bool flushing; /* not flushed to the end: in worker.flush_qps */
	TAILQ_ENTRY(roost_qp) flush_link;
	struct roost_cq_user send_user;
	struct roost_cq_user recv_user;
	/* Written when something goes wrong only. */
	struct roost_qp_error error;
	struct roost_qp_counters counters;
};
#define ROOST_QP_LINE(member) (offsetof(struct roost_qp, member) / 64)
static_assert(ROOST_QP_LINE(recv_cq) == 0 && ROOST_QP_LINE(sq) == 1 &&
		      ROOST_QP_LINE(doorbell_next) == 1,
	      "lines 0 and 1");
static_assert(offsetof(struct roost_qp, path) == 2 * 64 &&
		      ROOST_QP_LINE(resp.owed_syndrome) == 4 &&
		      ROOST_QP_LINE(ack_link) == 5,
	      "lines 2 to 5");
static_assert(offsetof(struct roost_qp, req) == 6 * 64 &&
		      ROOST_QP_LINE(req.timer.kind) == 7,
	      "lines 6 and 7");
static_assert(offsetof(struct roost_qp, mig) == 9 * 64 &&
		      ROOST_QP_LINE(attr.rnr_retry) == 9,
	      "line 9");
static_assert(offsetof(struct roost_qp, error) >
		      offsetof(struct roost_qp, resumed_psn),
	      "cold");

/* What the slot of wqe has in spill. */
static inline void *roost_wqe_spill(const struct roost_qp *qp,
				    const struct roost_send_wqe *wqe)
{
	size_t slot = (size_t)(wqe - (struct roost_send_wqe *)qp->sq.slots);

	return qp->spill + slot * qp->spill_bytes;
}

/* SGEs, or inline data. */
static inline const void *roost_wqe_data(const struct roost_qp *qp,
					 const struct roost_send_wqe *wqe)
{
	return wqe->flags & ROOST_WQE_SPILLED ? roost_wqe_spill(qp, wqe)
					      : wqe->near;
}

static inline enum roost_qp_state roost_qp_state_get(const struct roost_qp *qp)
{
	return (enum roost_qp_state)atomic_load_explicit(&qp->state,
							 memory_order_acquire);
}

static inline bool roost_qp_is_reliable(const struct roost_qp *qp)
{
	return qp->type != ROOST_QPT_UC && qp->type != ROOST_QPT_UD;
}

/* Which service a QP of a type speaks; enum roost_service. */
extern const uint8_t roost_qp_services[ROOST_QPT_COUNT];

/* An opcode of RC, or one without its service, as this QP says it. */
static inline uint8_t roost_qp_opcode(const struct roost_qp *qp, uint8_t opcode)
{
	return (uint8_t)(roost_qp_services[qp->type] << 5 | (opcode & 0x1f));
}

/* Requests that are answered with more than an acknowledgement. */
static inline bool roost_op_is_fetch(uint8_t op)
{
	return op != ROOST_OP_SEND && op != ROOST_OP_WRITE;
}

/* ---- modify (qp_modify.c) --------------------------------------------- */

/* Does the table allow this change with this mask? */
bool roost_qp_modify_allowed(enum roost_qp_type type, enum roost_qp_state from,
			     enum roost_qp_state to, uint32_t mask);

/* Datagrams that were posted and will not be sent let go of their AHs. */
void roost_qp_drop_ahs(struct roost_qp *qp);

/* ---- path (path.c) ---------------------------------------------------- */

/*
 * Make the path for av: find the source address, resolve the neighbour (this
 * may block), fill the template. Not holding the turn.
 * Returns 0, -EINVAL, -EIO (the device is gone), -EHOSTUNREACH, -ETIMEDOUT.
 */
int roost_path_resolve(struct roost_dev *dev, const struct roost_av *av,
		       uint32_t qpn, uint32_t dest_qpn,
		       struct roost_path *path);
void roost_path_release(struct roost_dev *dev, struct roost_path *path);
/* mac_gen is another one: the template gets the MACs as they are. */
void roost_path_renew(struct roost_path *path, uint64_t mac_gen);
/* Which queue its frames leave by. */
static inline unsigned int roost_path_queue(const struct roost_path *path)
{
	return path->loopback ? ROOST_TX_LOOPBACK : path->port_index;
}

/* Did the neighbour move, or we ourselves? */
static inline void roost_path_refresh(struct roost_path *path)
{
	uint64_t mac_gen;

	if (path->neigh == NULL)
		return;
	mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
				       memory_order_acquire);
	if (mac_gen != path->mac_gen && mac_gen != 0)
		roost_path_renew(path, mac_gen);
}

/* The same for one frame, where the path is not this worker's alone. */
void roost_path_renew_frame(const struct roost_path *path, uint64_t mac_gen,
			    uint8_t *frame);
static inline void roost_path_readdress(const struct roost_path *path,
					uint8_t *frame)
{
	uint64_t mac_gen;

	if (path->neigh == NULL)
		return;
	mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
				       memory_order_acquire);
	if (mac_gen != path->mac_gen && mac_gen != 0)
		roost_path_renew_frame(path, mac_gen, frame);
}

/* ---- requester (req.c, req_ack.c, req_retry.c) ------------------------ */

void roost_req_reset(struct roost_qp *qp, struct roost_psn first_psn);
/* Make and queue up to burst packets. Returns how many; the QP goes back into
 * the worker's list while it could go on.
 */
unsigned int roost_req_transmit(struct roost_worker *w, struct roost_qp *qp,
				unsigned int burst);
/* A response from the peer. */
void roost_req_receive(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt);
void roost_req_timer(struct roost_worker *w, struct roost_qp *qp);
/* Go back: the next packet made is the one of psn, which is unacknowledged. */
void roost_req_go_back(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn);
/* The oldest WQE fails, with the status that belongs to code; the QP goes to
 * ERR. pkt: the answer that says so, or NULL.
 */
void roost_req_fail(struct roost_worker *w, struct roost_qp *qp,
		    enum roost_qp_error_code code, const struct roost_pkt *pkt);
/* Set, or cancel, the retransmission timer after something changed. */
void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp);
/* Fail what cannot be sent, once it is the oldest. */
void roost_req_check_fault(struct roost_worker *w, struct roost_qp *qp);
/* SQD, and nothing is in flight: raise SQ_DRAINED if it was asked for. */
void roost_req_check_drained(struct roost_worker *w, struct roost_qp *qp);
/* Local ACK timeout code to time: 4.096 us * 2^code, 0: never. */
static inline uint64_t roost_req_timeout_ns(uint8_t code)
{
	return code == 0 ? 0 : 4096ull << code;
}
static inline bool roost_req_has_unacked(const struct roost_qp *qp)
{
	return !roost_psn_eq(qp->req.oldest_unacked_psn, qp->req.end_psn);
}
/* In SQD: is a request that has begun not done? */
static inline bool roost_req_is_draining(const struct roost_qp *qp)
{
	return roost_req_has_unacked(qp) ||
	       qp->req.send_index != qp->req.started_index;
}

/* ---- responder (resp.c, ack.c) ---------------------------------------- */

void roost_resp_reset(struct roost_qp *qp, struct roost_psn expected_psn);
/* What it owes the peer is not sent, nor anything again. Holder of the turn. */
void roost_resp_silence(struct roost_worker *w, struct roost_qp *qp);
/* Forget the WQE of an SRQ that is in use, if there is one. Holder of the turn.
 */
void roost_recv_let_go(struct roost_qp *qp);
void roost_resp_receive(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt);
/* A request to a QP that another one brought to ERR (resp.ended). */
void roost_resp_repeat(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt);
/* Owe the peer an answer; sent at the end of the iteration. */
void roost_ack_owe(struct roost_worker *w, struct roost_qp *qp,
		   uint8_t syndrome, struct roost_psn psn);
/* Send what is owed, of responses up to *burst, which is what is left of it
 * then. Returns false when something is left.
 */
bool roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
		    unsigned int *burst);

/* ---- completion and errors (flush.c) ---------------------------------- */

/* The WQE at index is done: its entry, if it gets one. Move tail then. */
void roost_complete_send(struct roost_worker *w, struct roost_qp *qp,
			 uint32_t index, enum roost_wc_status status);
/* To ERR: everything posted completes flushed, for the reason that was noted
 * before (qp_error.c). event: enum roost_async_event
 * to raise, or a negative number for none. Idempotent.
 */
void roost_qp_to_err(struct roost_worker *w, struct roost_qp *qp, int event);
/* An unreliable QP whose send failed: only its send queue is in error. */
void roost_qp_to_sqe(struct roost_worker *w, struct roost_qp *qp);
/* Complete what was posted to a QP in ERR, or the sends of one in SQE. An
 * iteration does so in parts, the next one goes on.
 */
void roost_qp_flush(struct roost_worker *w, struct roost_qp *qp);

/* ---- what went wrong (qp_error.c) ------------------------------------- */

/* Something happened that does not while all goes well. */
#define roost_count(w, qp, field)                                              \
	((void)((w)->counters.field++, (qp)->counters.field++))

/* The reason for what comes next, a failed completion or ERR. Returns the
 * record, for the rest to be filled in.
 */
struct roost_qp_error *roost_qp_blame(struct roost_worker *w,
				      struct roost_qp *qp,
				      enum roost_qp_error_code code)
	__attribute__((cold));
/* To ERR for a reason that is no request's; event as above. Idempotent. */
void roost_qp_end(struct roost_qp *qp, enum roost_qp_error_code code,
		  int event);

/* ---- the table of send opcodes (wr.c) --------------------------------- */

enum roost_wr_kind {
	ROOST_WR_KIND_MESSAGE, /* packets with payload; an ACK completes it */
	ROOST_WR_KIND_FETCH,   /* one packet; its response completes it */
	ROOST_WR_KIND_LOCAL,   /* no packet */
};

struct roost_wr_info {
	uint8_t qp_types;  /* bit set of 1 << enum roost_qp_type */
	uint8_t kind;      /* enum roost_wr_kind */
	uint8_t wc_opcode; /* enum roost_wc_opcode */
	uint8_t response;  /* FETCH: enum roost_op of what comes back */
	uint8_t len_bytes; /* the only length allowed; 0: any */
	/* Opcode on the wire, service bits left out; FETCH has only only. */
	uint8_t first, middle, last, only;
};

/* Those that are no opcodes have no qp_types. */
extern const struct roost_wr_info roost_wr_infos[ROOST_WR_OPCODE_COUNT];

/* Of a request that was posted: its opcode was checked. */
static inline const struct roost_wr_info *
roost_wqe_info(const struct roost_send_wqe *wqe)
{
	return &roost_wr_infos[wqe->opcode];
}

#endif
