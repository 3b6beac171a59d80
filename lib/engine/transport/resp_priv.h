/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_RESP_PRIV_H
#define ROOST_ENGINE_TRANSPORT_RESP_PRIV_H

/*
 * Inside of the responder: what its files share. Holder of the turn.
 *
 * resp.c            the chain of stages, and what each fault means
 * resp_recv.c       where a message lands: RQ, SRQ, XRC SRQ; its completion
 * resp_exec.c       what a request does: SEND, WRITE, atomics, invalidation
 * resp_rd_atomic.c  requests with a response: their record, replay and packets
 * ack.c             acknowledgements
 */

#include "lib/engine/transport/qp_priv.h"

enum roost_fault {
	ROOST_FAULT_NONE,
	ROOST_FAULT_GAP,       /* ahead of the expected PSN */
	ROOST_FAULT_DUPLICATE, /* behind it */
	ROOST_FAULT_RNR,       /* no receive WQE */
	/* An invalid request: */
	ROOST_FAULT_ORDER,       /* first, middle, last */
	ROOST_FAULT_NOT_ALLOWED, /* by the QP's access flags */
	ROOST_FAULT_LENGTH,
	ROOST_FAULT_OPERAND,  /* alignment, reserved kinds of FLUSH */
	ROOST_FAULT_TOO_MANY, /* more than max_dest_rd_atomic */
	ROOST_FAULT_XRC_SRQ,  /* the domain has none of that number */
	/* No access: */
	ROOST_FAULT_ACCESS,     /* key, PD, range, access of the memory */
	ROOST_FAULT_INVALIDATE, /* no window of this QP */
	/* Of our own: */
	ROOST_FAULT_TOO_LONG,  /* the message is longer than the receive WQE */
	ROOST_FAULT_RECV_PROT, /* the receive WQE's own memory is wrong */
	ROOST_FAULT_CQ,        /* it could not complete: CQ overrun (XRC) */
	ROOST_FAULT_COUNT,
};

/* Requests with a wrong key that a UC QP drops; the last of them ends it. */
#define ROOST_UC_WRONG_KEYS_MAX 16u

/* Note that the packet ends the QP, or its receive, before it does
 * (qp_error.c). syndrome: of the NAK that says so; 0: none.
 */
void roost_resp_blame(struct roost_worker *w, struct roost_qp *qp,
		      enum roost_qp_error_code code, uint8_t syndrome,
		      const struct roost_pkt *pkt) __attribute__((cold));
/* The same of a READ whose memory is gone. */
void roost_rd_atomic_blame(struct roost_worker *w, struct roost_qp *qp,
			   const struct roost_resp_rd_atomic *rd_atomic)
	__attribute__((cold));
/* The QP is in ERR, for the request at psn: that is NAKed, now and whenever it
 * comes again.
 */
void roost_resp_end(struct roost_worker *w, struct roost_qp *qp,
		    uint8_t syndrome, struct roost_psn psn);

/* ---- resp_recv.c ------------------------------------------------------ */

/*
 * The receive WQE in use by the message, or the next one, which then is in
 * use until roost_recv_complete(); NULL: none is posted.
 */
const struct roost_recv_wqe *roost_recv_wqe(struct roost_qp *qp,
					    const struct roost_pkt *pkt);
/* The one that is in use. */
static inline const struct roost_recv_wqe *
roost_recv_wqe_in_use(const struct roost_qp *qp)
{
	if (qp->resp.recv_srq != NULL)
		return qp->recv_copy;
	return roost_queue_at(&qp->rq,
			      atomic_load_explicit(&qp->rq.tail,
						   memory_order_relaxed));
}
/* Where that WQE completes to, and whose memory it names. */
struct roost_cq *roost_recv_cq(struct roost_qp *qp);
const struct roost_pd *roost_recv_pd(struct roost_qp *qp);
/* Complete the WQE in use. pkt: the last packet of the message. */
void roost_recv_complete(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt,
			 enum roost_wc_status status);

/* ---- resp_exec.c ------------------------------------------------------ */

/* Is the request allowed, and are its lengths right? No side effects. */
enum roost_fault roost_resp_check(struct roost_qp *qp,
				  const struct roost_pkt *pkt);
/* Do it. */
enum roost_fault roost_resp_execute(struct roost_worker *w, struct roost_qp *qp,
				    const struct roost_pkt *pkt);

/* ---- ud.c ------------------------------------------------------------- */

/* A datagram. */
void roost_ud_receive(struct roost_worker *w, struct roost_qp *qp,
		      const struct roost_frame *frame,
		      const struct roost_pkt *pkt);

/* ---- resp_rd_atomic.c ------------------------------------------------- */

/*
 * max_dest_rd_atomic is new: n. ring: room for n records, from calloc(), where
 * n is more than there is room for; else NULL. What is on record stays. Takes
 * ring; returns the one that is not used any more, to be freed.
 */
struct roost_resp_rd_atomic *
roost_rd_atomic_resize(struct roost_qp *qp, struct roost_resp_rd_atomic *ring,
		       uint8_t n);
/* Is there a slot for one more? Else the peer exceeds what was agreed on. */
bool roost_rd_atomic_has_room(struct roost_qp *qp);
/* Record a request that was executed; its answer is owed. */
void roost_rd_atomic_add(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt, uint64_t orig);
/* A duplicate: owe the answer again, as far as it is on record. Returns false
 * when it is not.
 */
bool roost_rd_atomic_replay(struct roost_worker *w, struct roost_qp *qp,
			    const struct roost_pkt *pkt);
/* How many PSNs the answer takes. */
uint32_t roost_rd_atomic_psns(const struct roost_qp *qp,
			      const struct roost_pkt *pkt);
/* Send what is owed, in order, up to *burst packets, which is what is left of
 * it then. Returns false when something is left.
 */
bool roost_rd_atomic_send(struct roost_worker *w, struct roost_qp *qp,
			  unsigned int *burst);

#endif
