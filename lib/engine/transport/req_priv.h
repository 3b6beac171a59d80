/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_REQ_PRIV_H
#define ROOST_ENGINE_TRANSPORT_REQ_PRIV_H

/*
 * Inside of the requester: what its files share. Holder of the turn.
 *
 * req.c            which packet is next, and may it go now
 * req_build.c      its bytes
 * req_local.c      requests without packets: LOCAL_INV, BIND_MW
 * req_receive.c    which of the next three an answer is for
 * req_ack.c        what acknowledges: progress, completion, going back
 * req_nak.c        what refuses or is missing: NAKs, timeouts
 * req_score.c      which packets were received, are lost or were sent again
 * req_repeat.c     reports of what the peer holds; probes
 * req_rd_atomic.c  responses that bring data: READ, atomics
 * req_answers.c    those that come behind one that is missing
 * qp_error.c       what is noted of a failure
 *
 * req_timer.c      how long to wait for an answer
 */

#include "lib/engine/cc/cc.h"
#include "lib/engine/cc/rtt.h"
#include "lib/engine/transport/qp_priv.h"

/* Set the retransmission timer for what is next: a probe, or the timeout. */
void roost_req_set_timer(struct roost_worker *w, struct roost_qp *qp);
/* Set or cancel it after the oldest unacknowledged packet changed. */
void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp);

/* The part of a message that one packet carries. */
struct roost_req_piece {
	struct roost_psn psn;
	uint32_t offset_bytes;
	uint32_t len_bytes;  /* payload of this packet */
	uint32_t left_bytes; /* of the message, from offset on */
	struct roost_psn next_psn;
	uint8_t opcode;    /* enum roost_opcode */
	bool last;         /* the last packet of the WQE */
	bool is_rd_atomic; /* the response carries the payload */
};

/* Write the frame of a piece at buf. Returns the length with the ICRC, 0: an
 * SGE of the WQE is wrong. *sealed: the ICRC is filled in.
 */
size_t roost_req_build(struct roost_qp *qp, const struct roost_send_wqe *wqe,
		       const struct roost_path *path,
		       const struct roost_req_piece *piece, bool ackreq,
		       uint8_t *buf, bool *sealed);

/* ---- req_only.c ------------------------------------------------------- */

enum roost_only {
	ROOST_ONLY_OTHER, /* not a plain request of one packet */
	ROOST_ONLY_LATER, /* there is no room for a frame now */
	ROOST_ONLY_SENT,
};
/* Make and queue the packets of the WQEs from send_index on, as long as they
 * are plain requests of one packet, and most of them at most. The first one may
 * go, and the others as far as their fences let them. *n grows by the number of
 * packets. Returns why it ended there.
 */
enum roost_only roost_req_only(struct roost_worker *w, struct roost_qp *qp,
			       unsigned int most, unsigned int *n);

/* Packets in flight. */
static inline int32_t roost_req_flight_pkts(const struct roost_requester *req)
{
	return roost_psn_diff(req->next_psn, req->oldest_unacked_psn) -
	       req->spared_pkts;
}

/* ---- req_score.c ------------------------------------------------------ */

/* Nothing is known of the packets from psn on. */
void roost_score_begin(struct roost_score *score, struct roost_psn psn);
/* The one of the QP. Returns NULL: the worker's store has none. */
struct roost_score *roost_score_open(struct roost_worker *w,
				     struct roost_qp *qp);
/* The peer has this packet. top_psn is up to date. */
void roost_score_received(struct roost_worker *w, struct roost_qp *qp,
			  struct roost_score *score, struct roost_psn psn);
void roost_score_raise_top(struct roost_score *score, struct roost_psn psn);
void roost_score_raise_front(struct roost_score *score);
/* Packets behind which others have arrived: which are lost? limit_psn: all
 * before it.
 */
void roost_score_judge(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_score *score, struct roost_psn limit_psn);
/* oldest_unacked_psn has changed. Returns false: the score says nothing more.
 */
bool roost_score_advance(struct roost_worker *w, struct roost_qp *qp,
			 struct roost_score *score);
/* The first lost packet. Returns false: there is none. */
bool roost_score_first_lost(const struct roost_score *score,
			    struct roost_psn *psn);
/* The packets from psn to next_psn are in flight again. */
void roost_score_sent_again(struct roost_worker *w, struct roost_qp *qp,
			    struct roost_score *score, struct roost_psn psn,
			    struct roost_psn next_psn);
/* Nothing says that this packet is lost, but it is sent again. */
void roost_score_probe(struct roost_qp *qp, struct roost_score *score,
		       struct roost_psn psn);

/* ---- req_repeat.c ----------------------------------------------------- */

/* Has the score's settle_at_ns come? score may be NULL. */
bool roost_req_settle(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_score *score);
/* The probe timeout: send the first packet again and the last one, whose
 * answers say what is missing. Returns false when the QP has to go back.
 */
bool roost_req_probe(struct roost_worker *w, struct roost_qp *qp);

/* ---- req_answers.c ---------------------------------------------------- */

/* A response came behind one that is missing. Returns false: the QP has to go
 * back.
 */
bool roost_req_keep(struct roost_worker *w, struct roost_qp *qp,
		    const struct roost_pkt *pkt);
/* The peer has executed all requests before psn, and a response is missing.
 * Returns as above.
 */
bool roost_req_passed(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_psn psn);
/* Called while req.keeps. Returns the kept response that is next, which is the
 * caller's, or NULL; *psn: its PSN, or the first one that is missing.
 */
struct roost_held *roost_req_take_kept(struct roost_qp *qp,
				       struct roost_psn *psn);
/* oldest_unacked_psn has changed. */
void roost_req_keeps_advance(struct roost_worker *w, struct roost_qp *qp);
/* The probe timeout, at an RD/atomic: ask again for what is missing of its
 * first part. Returns false when the QP has to go back.
 */
bool roost_req_probe_answers(struct roost_worker *w, struct roost_qp *qp);

/* req_receive.c: take what is kept and is next, up to a bound. Called while
 * req.keeps.
 */
void roost_req_keeps_next(struct roost_worker *w, struct roost_qp *qp);

/* Execute a local operation. Returns the error, or NONE. */
enum roost_qp_error_code roost_req_local(struct roost_qp *qp,
					 const struct roost_send_wqe *wqe);

/* Record the reason why the oldest WQE fails, before it completes. pkt: as for
 * roost_req_fail().
 */
void roost_req_blame(struct roost_worker *w, struct roost_qp *qp,
		     enum roost_qp_error_code code, const struct roost_pkt *pkt)
	__attribute__((cold));
/* The peer made progress: reset the retry counters and the timer. */
void roost_req_progress(struct roost_worker *w, struct roost_qp *qp);
/*
 * The peer acknowledged all PSNs before psn. Complete the requests before psn,
 * up to the first RD/atomic whose response has not come, and restart. kind: of
 * the packets that are acknowledged by it. Returns false when such an RD/atomic
 * stopped it: the response at oldest_unacked_psn is missing then.
 */
bool roost_req_advance(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_share_kind kind, struct roost_psn psn);
/* The response at oldest_unacked_psn is missing: retransmit the request, once.
 */
void roost_req_response_gap(struct roost_worker *w, struct roost_qp *qp);
/* READ responses and atomic acknowledgements. */
void roost_req_response_receive(struct roost_worker *w, struct roost_qp *qp,
				const struct roost_pkt *pkt);
/* Process any NAK for psn; all PSNs before it are acknowledged already. */
void roost_req_nak(struct roost_worker *w, struct roost_qp *qp,
		   const struct roost_pkt *pkt, bool progress);

static inline struct roost_send_wqe *roost_req_wqe(struct roost_qp *qp,
						   uint32_t index)
{
	return roost_queue_at(&qp->sq, index);
}

static inline uint32_t roost_req_tail(const struct roost_qp *qp)
{
	return atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
}

/* The WQE whose packets include psn, which is not acknowledged; started_index
 * when psn is behind all. PSNs are counted from the oldest one: the last one of
 * a message of 2^31 bytes may be more than half of the circle ahead of psn.
 */
static inline uint32_t roost_req_index_of(struct roost_qp *qp,
					  struct roost_psn psn)
{
	/* A local operation has the PSN of the packet before it. */
	uint32_t begin = qp->req.oldest_unacked_psn.v - 1;
	uint32_t at = roost_psn_sub(psn, begin).v;
	uint32_t low = roost_req_tail(qp), high = qp->req.started_index;

	while (low != high) {
		uint32_t mid = low + (high - low) / 2;

		if (roost_psn_sub(roost_req_wqe(qp, mid)->last_psn, begin).v <
		    at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The PSN behind the part of a READ that psn is in, or behind the whole READ. A
 * retransmission keeps the parts as they are, because the responder has a
 * record of each of them.
 */
static inline struct roost_psn
roost_req_read_part_end(const struct roost_send_wqe *wqe, struct roost_psn psn)
{
	uint32_t at = (uint32_t)roost_psn_diff(psn, wqe->first_psn);
	uint32_t count =
		(uint32_t)roost_psn_diff(wqe->last_psn, wqe->first_psn) + 1;
	uint32_t end = ((at >> wqe->remote.part_shift) + 1)
		       << wqe->remote.part_shift;

	return roost_psn_add(wqe->first_psn, end < count ? end : count);
}

/* The first PSN of that part. */
static inline struct roost_psn
roost_req_read_part(const struct roost_send_wqe *wqe, struct roost_psn psn)
{
	uint32_t at = (uint32_t)roost_psn_diff(psn, wqe->first_psn);

	return roost_psn_sub(psn, at & ((1u << wqe->remote.part_shift) - 1));
}

/* True if a part begins at psn. */
static inline bool roost_req_at_read_part(const struct roost_send_wqe *wqe,
					  struct roost_psn psn)
{
	uint32_t at = (uint32_t)roost_psn_diff(psn, wqe->first_psn);

	return (at & ((1u << wqe->remote.part_shift) - 1)) == 0;
}

static inline bool roost_req_is_rd_atomic(const struct roost_send_wqe *wqe)
{
	return roost_wqe_info(wqe)->kind == ROOST_WR_KIND_RD_ATOMIC;
}

/* An RD/atomic was sent, or the parts of a READ from psn to next_psn were. */
static inline void roost_req_count_asked(struct roost_qp *qp,
					 const struct roost_send_wqe *wqe,
					 struct roost_psn psn,
					 struct roost_psn next_psn)
{
	uint32_t first = (uint32_t)roost_psn_diff(psn, wqe->first_psn);
	uint32_t nb = (uint32_t)roost_psn_diff(next_psn, psn);
	uint8_t shift = wqe->remote.part_shift;

	qp->req.nb_rd_atomics +=
		(uint8_t)(((first + nb - 1) >> shift) - (first >> shift) + 1);
	if (wqe->opcode == ROOST_WR_READ)
		qp->asked_pkts += nb;
}

#endif
