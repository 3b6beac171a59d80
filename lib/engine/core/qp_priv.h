/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_QP_PRIV_H
#define ROOST_ENGINE_CORE_QP_PRIV_H

/*
 * Inside of queue pairs: their data. Their protocol is in lib/engine/transport.
 * For lib/engine only.
 */

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/flight.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/pacer.h"
#include "lib/engine/core/path.h"
#include <roost/qp.h>
#include "lib/engine/core/queue.h"
#include "lib/engine/core/timer.h"
#include "lib/engine/core/trouble.h"
#include <roost/wq.h>
#include "lib/wire/frame.h"

/* Bounds of the congestion window: packets of one QP in flight as long as none
 * is lost, and after any number of losses.
 */
#define ROOST_CWND_MAX_PKTS 256
#define ROOST_CWND_MIN_PKTS 1
/* A long message asks for an acknowledgement at the end of each part of the
 * window, so that the window never closes and moves on in small steps.
 */
#define ROOST_CWND_PARTS 8
/* A longer READ is sent as several requests, its parts. The PSNs in use must
 * stay within half of the PSN space (IBTA 9.7.3.1), and 2^31 bytes in packets
 * of 256 bytes take that whole half.
 */
#define ROOST_READ_MAX_SHIFT 16u
#define ROOST_READ_MAX_PKTS (1u << ROOST_READ_MAX_SHIFT)
/* Probes in a row; the time before each is twice that before the last. The
 * last one is sent 50 s after the packet that was lost, or later: until then an
 * outage of any length costs at most as much again.
 */
#define ROOST_PROBES_MAX 20u
/* So many count after progress, and none after a sample. */
#define ROOST_PROBES_KEPT 4u
/* Which timer (roost_timer.kind). */
enum roost_timer_kind {
	ROOST_REQ_TIMER_RETRY,
	ROOST_REQ_TIMER_PACE,
	ROOST_TIMER_SHARE, /* of a struct roost_share */
};

/* Room of a request for data inside its cache line: one SGE, or as many bytes
 * of inline data, or the operands of an atomic.
 */
#define ROOST_WQE_NEAR_BYTES 16u
/* SGEs or inline data are in spill, not in near. */
#define ROOST_WQE_SPILLED 0x80u

/*
 * One cache line, because a long queue that is seldom used is not in the cache.
 * Data that does not fit in near lies in the slot's part of roost_qp.spill:
 * further SGEs and inline data, all SGEs of an atomic, a bind; SGEs and header
 * of TSO.
 */
struct roost_send_wqe {
	/* Set when the first packet of the request is made. A local operation
	 * has the PSN of the packet before it: it is done when that packet is
	 * acknowledged. Posting does not write these members: the first word is
	 * the place of the completion then (roost_queue_place()).
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
	bool responded;  /* RD/atomic: the whole response has come */
	union {
		struct {
			uint64_t va;
			uint32_t rkey;
			uint8_t flush_type;
			uint8_t flush_level;
			/* RD/atomic: its parts have 1 << part_shift packets,
			 * the last one what is left. Set with first_psn.
			 */
			uint8_t part_shift;
		} remote;
		struct {
			struct roost_ah *ah; /* a reference */
			uint32_t qpn;
			uint32_t qkey;
		} ud;
		struct {
			uint16_t header_bytes; /* in spill, behind the SGEs */
			uint16_t mss_bytes;
		} tso;
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

/* Meaning of struct roost_qp.alt. */
enum roost_alt {
	ROOST_ALT_NONE,
	ROOST_ALT_LOADED, /* the alternate path */
	ROOST_ALT_PAST,   /* the primary path before the last migration: its
			   * packets are taken as long as no alternate path is
			   * loaded */
};

/* The path of roost_mig.alt. */
struct roost_alt_path {
	struct roost_path path;
	struct roost_av av; /* ROOST_ALT_LOADED: the program's */
};

/* Path migration (mig.c). Holder of the turn. */
struct roost_mig {
	uint8_t state;     /* enum roost_mig_state */
	uint8_t alt;       /* enum roost_alt */
	bool refused;      /* PATH_MIG_ERR was raised since REARM */
	uint16_t alt_pkey; /* of roost_qp.alt */
};

/* Selective repeat, of our requests. */
enum roost_selective {
	ROOST_SELECTIVE_OFF,     /* the peer goes back N, or this device does */
	ROOST_SELECTIVE_OFFERED, /* no answer has come */
	ROOST_SELECTIVE_ON,
};

/* A congestion window: how many packets may be in flight, and what its
 * algorithm knows (lib/engine/cc/cc.h).
 */
struct roost_cwnd {
	uint16_t pkts; /* from ROOST_CWND_MIN_PKTS to max_pkts */
	uint16_t max_pkts;
	uint16_t ssthresh_pkts; /* slow start below it */
	uint16_t acked_pkts;    /* since congestion avoidance raised pkts */
	/* Acknowledged since the last reduction. */
	uint16_t since_loss_pkts, since_mark_pkts;
	uint8_t nb_close_losses; /* in a row, with less than a window between */
};

/* Requester: our requests to the peer. Holder of the turn. */
struct roost_requester {
	struct roost_psn next_psn;           /* of the next packet to be made */
	struct roost_psn end_psn;            /* behind the last packet that was
					      * made */
	struct roost_psn oldest_unacked_psn; /* == end_psn: none */
	uint32_t send_index;                 /* WQE of next_psn */
	uint32_t started_index; /* behind the last WQE that has PSNs */
	struct roost_cwnd cwnd; /* of this QP alone */
	uint8_t retry_left;
	uint8_t rnr_left;
	bool rnr_wait : 1;     /* the timer ends an RNR wait */
	bool response_gap : 1; /* went back for a response that is missing,
				* and nothing has come since */
	/* WQE at fault_index cannot be sent: it fails with fault_code once
	 * all before it are acknowledged.
	 */
	bool fault : 1;
	bool lost : 1;         /* roost_qp.score has packets to send again */
	bool keeps : 1;        /* roost_qp.answers is there */
	bool pieced : 1;       /* parts of answers were asked for again */
	uint8_t nb_rd_atomics; /* RD/atomics, and parts of READs, before
				* next_psn that are not answered: limited by
				* max_rd_atomic */
	/* Packets between oldest_unacked_psn and next_psn that are not in
	 * flight: received, or lost and not sent again yet.
	 */
	uint16_t spared_pkts;
	uint8_t selective; /* enum roost_selective */
	/* The round-trip time (lib/engine/cc/rtt.h). */
	uint8_t nb_probes;  /* since the last sample; see ROOST_PROBES_KEPT */
	uint8_t fault_code; /* enum roost_qp_error_code */
	struct roost_psn rtt_psn;
	uint64_t rtt_sent_ns; /* of rtt_psn; 0: none is being measured */
	uint32_t srtt_ns;     /* smoothed; this, the next two and
			       * rtt_min_ns are valid */
	uint32_t rttvar_ns;   /* while pto_ns is not 0 */
	uint32_t rtt_last_ns;
	uint32_t pto_ns;        /* probe timeout; 0: there was no sample */
	uint64_t timeout_ns;    /* 0: never */
	uint64_t timeout_at_ns; /* while the timer is set, but for RNR waits */
	struct roost_timer timer;
	uint32_t rtt_min_ns;
	uint32_t fault_index;
};

/*
 * The record of an RD/atomic request: the answer, so that a duplicate gets the
 * same answer, and how far the answer has been sent.
 */
struct roost_resp_rd_atomic {
	struct roost_psn first_psn; /* of the request and its answer */
	struct roost_psn last_psn;
	struct roost_psn next_psn; /* of the answer's next packet */
	/* Of a READ: the answer goes on here when what was asked for again
	 * meanwhile is sent, to resume_bytes; 0: nothing was.
	 */
	struct roost_psn resume_psn;
	uint64_t va;               /* of first_psn */
	uint64_t orig;             /* atomics: the value before the operation */
	const struct roost_pd *pd; /* the PD that rkey must belong to */
	uint32_t rkey;
	uint32_t resume_bytes;
	uint32_t len_bytes;
	uint32_t end_bytes; /* of the current answer: end of the last requested
			     * range */
	uint32_t msn;       /* after the request was executed */
	uint8_t op;         /* enum roost_op of the request */
	bool pending;       /* packets from next_psn on are owed */
	bool begun;         /* at least one of them was sent */
	bool answered;      /* the whole answer was sent once */
};
static_assert(sizeof(struct roost_resp_rd_atomic) == 64, "one cache line");

/* Responder: the peer's requests to us. Holder of the turn. */
struct roost_responder {
	struct roost_psn expected_psn;
	uint32_t msn;           /* 24 bits: completed requests */
	uint32_t offset_bytes;  /* of the incoming message */
	uint32_t dma_len_bytes; /* incoming WRITE: DMA length of its RETH */
	uint64_t va;            /* incoming WRITE */
	uint32_t rkey;
	uint8_t in_op;  /* enum roost_op of the incoming message; NONE: between
			 * two */
	uint8_t behind; /* enum roost_drop: expected_psn was NAKed, and packets
			 * behind it are dropped for this reason; NONE: not
			 * NAKed */
	bool comm_est : 1;  /* COMM_EST was raised */
	bool selective : 1; /* the peer offers selective repeat */
	bool holds : 1;     /* roost_qp.shelf is there */
	bool report : 1;    /* a report of it is owed */
	/* The answer that is owed. One slot is enough, because acknowledgements
	 * are cumulative.
	 */
	bool owed;
	struct roost_psn owed_psn;
	uint8_t owed_syndrome;
	uint8_t nb_rd_atomics_pending;
	const struct roost_pd *pd; /* of the current request: the QP's PD, or
				    * that of the SRQ that an XRC packet
				    * names */
	/* Ring of the last RD/atomic requests, oldest at rd_atomic_first:
	 * max_dest_rd_atomic of them, plus requests that were not answered yet
	 * when max_dest_rd_atomic was lowered. NULL: none was ever allowed.
	 */
	struct roost_resp_rd_atomic *rd_atomics;
	/* The SRQ that roost_qp.taken is from; NULL: no WQE of one is in use.
	 */
	struct roost_srq *recv_srq;
	uint8_t rd_atomic_room; /* of the ring */
	uint8_t rd_atomic_size; /* max_dest_rd_atomic */
	uint8_t rd_atomic_first;
	uint8_t nb_rd_atomics;
	uint8_t nb_wrong_keys; /* UC: since RESET */
	uint8_t ended; /* syndrome of the NAK to the request at expected_psn,
			* which brought the QP to ERR; 0: no request did */
};

/* The windows that a QP has together with others (transport/share_priv.h). */
enum roost_share_kind {
	ROOST_SHARE_SENDS, /* requests, but READs, to the same address */
	ROOST_SHARE_READS, /* answers to READs, from anywhere */
	ROOST_SHARE_KINDS,
};

struct roost_share_member {
	struct roost_share *share; /* or NULL */
	uint32_t round;            /* the share counts pkts of it since then */
	uint16_t pkts;
};

/* Attributes as the program has set them: of roost_qp_attr, what is nowhere
 * else. What each packet reads comes first.
 */
struct roost_qp_kept {
	uint32_t access; /* enum roost_access */
	uint32_t rate_limit_kbps;
	uint32_t qkey;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	bool en_sqd_async_notify;
	uint8_t path_mtu; /* enum roost_mtu */
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint32_t sq_psn; /* of the first request */
	struct roost_av av;
};

struct roost_srq;
struct roost_taken;
struct roost_ah;

/*
 * Members stand in the order of use, in cache lines of 64 bytes: a device has
 * thousands of QPs, and few of them are in the cache when a packet for them
 * comes. A sender of small messages needs ten lines, a receiver of WRITEs six.
 */
struct roost_qp {
	/* Line 0: written at create and modify, except the places in lists. */
	uint32_t qpn;
	_Atomic uint32_t state; /* enum roost_qp_state */
	uint8_t type;           /* enum roost_qp_type */
	bool sq_sig_all;
	bool block_self_mcast;
	bool drain_asked; /* SQ_DRAINED is wanted; only leaving SQD withdraws
			   * that */
	uint32_t mtu_bytes;
	uint32_t dest_qpn;
	uint16_t pkey;
	uint8_t send_place;   /* ready list of send_link; 0: none */
	uint8_t answer_place; /* ready list of ack_link; 0: none */
	struct roost_dev *dev;
	struct roost_worker *worker; /* never changes; "the turn" is its turn */
	struct roost_pd *pd;         /* NULL: XRC target */
	struct roost_cq *send_cq;    /* NULL: XRC target */
	struct roost_cq *recv_cq;
	/* Line 1: written by posting threads. */
	struct roost_queue sq;
	uint32_t spill_bytes;
	_Atomic bool doorbell_rung; /* any thread */
	bool dying; /* removed from its CQs; writer: holder of the turn */
	uint16_t max_tso_header_bytes; /* RAW; written at create */
	_Atomic(struct roost_qp *) doorbell_next;
	/* Lines 2 to 4: the primary path, and the responder's state, which
	 * requests from there change.
	 */
	struct roost_path path;
	struct roost_responder resp;
	/* Line 5: the rest of it, and the worker's lists. */
	TAILQ_ENTRY(roost_qp) send_link;
	TAILQ_ENTRY(roost_qp) ack_link;
	/* Lines 6 to 8: the requester's, and the windows that it shares. */
	struct roost_requester req __attribute__((aligned(64)));
	uint32_t asked_pkts; /* answers to READs before req.next_psn that have
			      * not come */
	struct roost_psn resumed_psn;  /* PSN that req went back to last */
	struct roost_share *waits_for; /* in its list waiting; or NULL */
	struct roost_share_member shares[ROOST_SHARE_KINDS];
	struct roost_score *score;     /* what came of our requests; or NULL */
	struct roost_answers *answers; /* responses behind gaps; or NULL */
	/* Line 9: the attributes that a packet needs. */
	struct roost_mig mig __attribute__((aligned(64)));
	bool cc_limited;  /* pacer->dcqcn.rate_kbps is not 0 */
	bool pace_held;   /* it has waited since it last was in time */
	bool req_limited; /* its requests are (transport/pace_priv.h) */
	bool flushing;    /* not flushed to the end: in worker.flush_qps */
	bool unclean;     /* completions from before a RESET may be in its CQs;
			   * under modify_lock */
	struct roost_spin modify_lock; /* one modify at a time */
	struct roost_qp_cap cap;
	struct roost_qp_kept attr;
	/* Cold; here is room. */
	/* Of the slots of sq, each spill_bytes; NULL: no request has needed it.
	 * Writer: under the lock of sq.
	 */
	uint8_t *spill;
	struct roost_shelf *shelf; /* requests that came early; or NULL */
	struct roost_pacer *pacer; /* NULL: it has had no limit */
	uint32_t nb_flows;         /* RAW: rules; under dev->flow_lock */
	uint16_t reorder_pkts;  /* so many may overtake one that is not lost */
	uint8_t reorder_rounds; /* losses since one was late only */
	uint8_t store_flags;    /* RAW: enum roost_store_flags */
	/* Receives. */
	struct roost_queue rq __attribute__((aligned(64)));
	struct roost_srq *srq;             /* NULL: it has its own RQ */
	struct roost_ind_table *ind_table; /* UD: receives go there; or NULL */

	/* Cold. */
	struct roost_alt_path *alt; /* mig.alt: its meaning; NULL: none was
				     * ever loaded */
	union {
		struct {
			struct roost_hash *hash; /* UD, RAW: of ind_table */
			/* UD: memberships; locks: as for groups. */
			LIST_HEAD(, roost_mcast) mcasts;
		};
		/* Connected QPs, while mig.state is ARMED. */
		LIST_ENTRY(roost_qp) armed_link;
	};
	LIST_ENTRY(roost_qp) all_link; /* dev->all.qps */
	struct roost_event_source async;
	struct roost_taken *taken; /* NULL: it has no SRQ, and is no XRC_TGT */
	union {
		TAILQ_ENTRY(roost_qp) flush_link;
		/* In RTS and SQD, which have nothing to flush. */
		TAILQ_ENTRY(roost_qp) share_link;
	};
	LIST_ENTRY(roost_qp) send_cq_link; /* in send_cq->senders */
	LIST_ENTRY(roost_qp) recv_cq_link; /* in recv_cq->receivers */
	struct roost_flight_change states[ROOST_FLIGHT_STATES];
	struct roost_trouble *trouble; /* NULL: nothing went wrong */
};
static_assert(sizeof(struct roost_qp) == 17 * 64,
	      "a piece of the arena has an odd number of lines");
#define ROOST_QP_LINE(member) (offsetof(struct roost_qp, member) / 64)
static_assert(ROOST_QP_LINE(recv_cq) == 0 && ROOST_QP_LINE(sq) == 1 &&
		      ROOST_QP_LINE(doorbell_next) == 1,
	      "lines 0 and 1");
static_assert(offsetof(struct roost_qp, path) == 2 * 64 &&
		      ROOST_QP_LINE(resp.owed_syndrome) == 4 &&
		      ROOST_QP_LINE(ack_link) == 5,
	      "lines 2 to 5");
static_assert(offsetof(struct roost_qp, req) == 6 * 64 &&
		      ROOST_QP_LINE(req.timer.kind) == 7 &&
		      ROOST_QP_LINE(score) == 8,
	      "lines 6 to 8");
static_assert(offsetof(struct roost_qp, mig) == 9 * 64 &&
		      ROOST_QP_LINE(attr.rnr_retry) == 9,
	      "line 9");

static inline size_t roost_qp_spill_size(const struct roost_qp *qp)
{
	return ((size_t)qp->sq.mask + 1) * qp->spill_bytes;
}

/* The part of spill that belongs to the slot of wqe. */
static inline void *roost_wqe_spill(const struct roost_qp *qp,
				    const struct roost_send_wqe *wqe)
{
	size_t slot =
		(size_t)(wqe - (const struct roost_send_wqe *)(const void *)
				       roost_queue_slots(&qp->sq));

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

/* port.c: a QP whose service has no path MTU takes what its port allows; does
 * nothing to others. Holder of the turn.
 */
void roost_qp_renew_mtu(struct roost_qp *qp);

/* enum roost_qp_error_code of the last error. */
static inline uint8_t roost_qp_error_code(const struct roost_qp *qp)
{
	return qp->trouble ? qp->trouble->error.code : ROOST_QPE_NONE;
}

static inline bool roost_qp_is_reliable(const struct roost_qp *qp)
{
	return !((1u << ROOST_QPT_UC | 1u << ROOST_QPT_UD |
		  1u << ROOST_QPT_RAW) &
		 1u << qp->type);
}

/* True if packets of requests are not acknowledged. */
static inline bool roost_req_has_unacked(const struct roost_qp *qp)
{
	return !roost_psn_eq(qp->req.oldest_unacked_psn, qp->req.end_psn);
}

/* In SQD: true if a request that has begun is not done. */
static inline bool roost_req_is_draining(const struct roost_qp *qp)
{
	return roost_req_has_unacked(qp) ||
	       qp->req.send_index != qp->req.started_index;
}

#endif
