/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_RESP_PRIV_H
#define ROOST_ENGINE_TRANSPORT_RESP_PRIV_H

/*
 * Inside of the responder: what its files share. Holder of the turn.
 *
 * resp.c            the chain of stages, and what each fault means
 * resp_only.c       the plain request of one packet, in one go
 * resp_hold.c       requests that came early
 * resp_recv.c       where a message lands: RQ, SRQ, XRC SRQ; its completion
 * resp_exec.c       what a request does: SEND, WRITE, atomics, invalidation
 * resp_rd_atomic.c  requests with a response: their record, replay and packets
 * resp_why.c        what a request needs, and which check refused it
 * ack.c             acknowledgements
 */

#include "lib/engine/core/hold.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/transport/qp_priv.h"

enum roost_fault {
	ROOST_FAULT_NONE,
	ROOST_FAULT_GAP,       /* ahead of the expected PSN */
	ROOST_FAULT_DUPLICATE, /* behind it */
	ROOST_FAULT_RNR,       /* no receive WQE */
	/* An invalid request: */
	ROOST_FAULT_ORDER,       /* first, middle, last */
	ROOST_FAULT_NOT_ALLOWED, /* refused by the QP's access flags */
	ROOST_FAULT_LENGTH,
	ROOST_FAULT_OPERAND,  /* alignment, reserved kinds of FLUSH */
	ROOST_FAULT_TOO_MANY, /* more than max_dest_rd_atomic */
	ROOST_FAULT_XRC_SRQ,  /* no SRQ of that number in the domain */
	/* No access: */
	ROOST_FAULT_ACCESS,     /* key, PD, range, access of the memory */
	ROOST_FAULT_INVALIDATE, /* no window of this QP */
	/* Errors of this end: */
	ROOST_FAULT_TOO_LONG,  /* the message is longer than the receive WQE */
	ROOST_FAULT_RECV_PROT, /* the receive WQE's own memory is wrong */
	ROOST_FAULT_CQ,        /* no room for its completion: CQ overrun
				* (XRC) */
	ROOST_FAULT_COUNT,
};

/* Number of requests with a wrong key that a UC QP drops; the last of them
 * brings it to ERR.
 */
#define ROOST_UC_WRONG_KEYS_MAX 16u

/* Record that the packet brings the QP to ERR, or fails its receive, before
 * that happens (qp_error.c). syndrome: of the NAK for it; 0: none.
 */
void roost_resp_blame(struct roost_worker *w, struct roost_qp *qp,
		      enum roost_qp_error_code code, uint8_t syndrome,
		      const struct roost_pkt *pkt) __attribute__((cold));
/* As roost_resp_blame(), for a READ whose memory is gone. */
void roost_rd_atomic_blame(struct roost_worker *w, struct roost_qp *qp,
			   const struct roost_resp_rd_atomic *rd_atomic)
	__attribute__((cold));
/* The QP is in ERR because of the request at psn: that request gets a NAK, now
 * and whenever the peer repeats it.
 */
void roost_resp_end(struct roost_worker *w, struct roost_qp *qp,
		    uint8_t syndrome, struct roost_psn psn);

/* Execute the requests that came early, as far as none before them is missing;
 * many at a time wait for the next iteration. Called while resp.holds.
 */
void roost_resp_go_on(struct roost_worker *w, struct roost_qp *qp);

/* ---- resp_only.c ------------------------------------------------------ */

/* Execute the request at expected_psn, if it is a plain one of one packet.
 * Returns false: it is not, or it cannot be executed; nothing has changed then.
 */
bool roost_resp_only(struct roost_worker *w, struct roost_qp *qp,
		     const struct roost_pkt *pkt);

/* ---- resp_hold.c ------------------------------------------------------ */

/* Hold a request that came early; psns: how many it takes. Returns false when
 * it is not held: the device does not do so, or there is no room.
 */
bool roost_resp_hold(struct roost_worker *w, struct roost_qp *qp,
		     const struct roost_pkt *pkt, uint32_t psns);
/* Is the request at expected_psn held? */
bool roost_resp_holds_next(const struct roost_qp *qp);
/* The requests before expected_psn were executed: forget those that are held.
 */
void roost_resp_catch_up(struct roost_worker *w, struct roost_qp *qp);
/* Take it, and forget all before it. The caller executes it and gives it back
 * to the worker's store. NULL: it is not held.
 */
struct roost_held *roost_resp_take_next(struct roost_worker *w,
					struct roost_qp *qp);
/* The peer can repeat selectively: it gets a report. Called while resp.holds.
 */
void roost_resp_owe_report(struct roost_worker *w, struct roost_qp *qp);
/* Write the payload of a report. Returns its length, at most
 * ROOST_REPORT_MAX_BITS / 8.
 */
size_t roost_resp_report(const struct roost_qp *qp, uint8_t *to);

/* ---- resp_recv.c ------------------------------------------------------ */

/*
 * The receive WQE that the message uses. If it uses none, the next WQE, which
 * is in use until roost_recv_complete(); NULL: none is posted.
 */
const struct roost_recv_wqe *roost_recv_wqe(struct roost_qp *qp,
					    const struct roost_pkt *pkt);
/* The WQE that is in use. */
static inline const struct roost_recv_wqe *
roost_recv_wqe_in_use(const struct roost_qp *qp)
{
	if (qp->resp.recv_srq)
		return &qp->taken->wqe;
	return roost_queue_at(&qp->rq,
			      atomic_load_explicit(&qp->rq.tail,
						   memory_order_relaxed));
}
/* The CQ that this WQE completes to, and the PD of its memory. */
static inline struct roost_cq *roost_recv_cq(struct roost_qp *qp)
{
	const struct roost_srq *srq = qp->resp.recv_srq;

	return srq && srq->cq ? srq->cq : qp->recv_cq;
}

static inline const struct roost_pd *roost_recv_pd(struct roost_qp *qp)
{
	return qp->resp.recv_srq != NULL ? qp->resp.recv_srq->pd : qp->pd;
}

static inline uint8_t roost_datagram_sl(const struct roost_pkt *pkt)
{
	return pkt->ipv6 ? ROOST_WC_SL_IPV6 : ROOST_WC_SL_IPV4;
}

/* Complete the WQE in use. pkt: the last packet of the message. */
void roost_recv_complete(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt,
			 enum roost_wc_status status);
/* The same for a frame of a raw packet QP; fills in what *cqe has of the QP and
 * the WQE.
 */
void roost_recv_complete_raw(struct roost_worker *w, struct roost_qp *qp,
			     struct roost_cqe *cqe);

/* ---- resp_exec.c ------------------------------------------------------ */

/* Check that the request is allowed and its lengths are right. No side effects.
 */
enum roost_fault roost_resp_check(struct roost_qp *qp,
				  const struct roost_pkt *pkt);
/* Execute the request. */
enum roost_fault roost_resp_execute(struct roost_worker *w, struct roost_qp *qp,
				    const struct roost_pkt *pkt);

/* FIRST and MIDDLE packets carry a full path MTU and no pad; a LAST is not
 * empty; no packet carries more than the path MTU.
 */
static inline bool roost_packet_length_ok(const struct roost_qp *qp,
					  const struct roost_pkt *pkt)
{
	uint32_t len = pkt->payload_len_bytes;

	if (!(pkt->info->flags & ROOST_OPF_LAST))
		return len == qp->mtu_bytes && pkt->pad_bytes == 0;
	if (!(pkt->info->flags & ROOST_OPF_FIRST))
		return len > 0 && len <= qp->mtu_bytes;
	return len <= qp->mtu_bytes;
}

/* ---- resp_why.c ------------------------------------------------------- */

/* Bits of a FLUSH's placement type (IBTA A19.4.1). */
#define ROOST_FLUSH_GLOBAL 1u
#define ROOST_FLUSH_PERSISTENT 2u

/* The access that the request needs. */
uint32_t roost_resp_access(const struct roost_pkt *pkt);
/* Which of the checks behind an error refused the request. */
enum roost_why roost_resp_why(struct roost_qp *qp,
			      enum roost_qp_error_code code,
			      const struct roost_pkt *pkt)
	__attribute__((cold));

/* ---- ud.c ------------------------------------------------------------- */

/* Receive a datagram. */
void roost_ud_receive(struct roost_worker *w, struct roost_qp *qp,
		      const struct roost_frame *frame,
		      const struct roost_pkt *pkt);

/* ---- resp_rd_atomic.c ------------------------------------------------- */

/*
 * Set max_dest_rd_atomic to n. ring: zeroed room for n records, from calloc(),
 * if n is more than the present room; else NULL. Existing records stay. Takes
 * ring; returns the ring that is no longer used, for the caller to free.
 */
struct roost_resp_rd_atomic *
roost_rd_atomic_resize(struct roost_qp *qp, struct roost_resp_rd_atomic *ring,
		       uint8_t n);
/* True if there is a slot for one more record. If not, the peer exceeds
 * max_dest_rd_atomic.
 */
bool roost_rd_atomic_has_room(struct roost_qp *qp);
/* Record a request that was executed; its answer is owed. */
void roost_rd_atomic_add(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt, uint64_t orig);
/* A duplicate: owe the answer again, as far as it is on record. Returns false
 * when it is not on record.
 */
bool roost_rd_atomic_replay(struct roost_worker *w, struct roost_qp *qp,
			    const struct roost_pkt *pkt);
/* The number of PSNs that the answer takes. */
uint32_t roost_rd_atomic_psns(const struct roost_qp *qp,
			      const struct roost_pkt *pkt);
/* Send the answers that are owed, in order, up to *burst packets; *burst gets
 * the rest of it. Returns false when something is left.
 */
bool roost_rd_atomic_send(struct roost_worker *w, struct roost_qp *qp,
			  unsigned int *burst);

#endif
