/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_QP_PRIV_H
#define ROOST_ENGINE_TRANSPORT_QP_PRIV_H

/*
 * Functions for queue pairs that the files of lib/engine/transport share.
 * Holder of the turn, unless a function says otherwise.
 */

#include "lib/engine/core/qp_priv.h"

/* The service of each QP type; enum roost_service. */
extern const uint8_t roost_qp_services[ROOST_QPT_COUNT];

/* The opcode with the service bits of this QP; opcode: one of RC, or one
 * without service bits.
 */
static inline uint8_t roost_qp_opcode(const struct roost_qp *qp, uint8_t opcode)
{
	return (uint8_t)(roost_qp_services[qp->type] << 5 | (opcode & 0x1f));
}

/* Requests that are answered with more than an acknowledgement. */
static inline bool roost_op_is_rd_atomic(uint8_t op)
{
	return op != ROOST_OP_SEND && op != ROOST_OP_WRITE;
}

/* ---- modify (qp_modify.c) --------------------------------------------- */

/* True if the table allows this change with this mask. */
bool roost_qp_modify_allowed(enum roost_qp_type type, enum roost_qp_state from,
			     enum roost_qp_state to, uint32_t mask);

/* Release the AHs of datagrams that were posted and will not be sent. */
void roost_qp_drop_ahs(struct roost_qp *qp);

/* ---- requester (req_priv.h) ------------------------------------------- */

void roost_req_reset(struct roost_qp *qp, struct roost_psn first_psn);
/* Make and queue up to burst packets. Returns how many; a QP that could go on
 * goes back into the ready list.
 */
unsigned int roost_req_transmit(struct roost_worker *w, struct roost_qp *qp,
				unsigned int burst);
/* A response from the peer. */
void roost_req_receive(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt);
/* A report from the peer. Returns why it is dropped, or NONE. */
enum roost_drop roost_req_report(struct roost_worker *w, struct roost_qp *qp,
				 const struct roost_pkt *pkt);
/* Local ACK timeout code to time: 4.096 us * 2^code, 0: never. */
static inline uint64_t roost_req_timeout_ns(uint8_t code)
{
	return code == 0 ? 0 : 4096ull << code;
}
void roost_req_timer(struct roost_worker *w, struct roost_qp *qp);
/* See roost_port_set_still(). */
void roost_req_go_on(struct roost_worker *w, struct roost_qp *qp);
/* Forget what is known of packets in flight, and drop responses that came
 * early.
 */
void roost_req_forget(struct roost_worker *w, struct roost_qp *qp);
void roost_req_let_go(struct roost_worker *w, struct roost_qp *qp);
/* Go back: the next packet made is the one of psn, which is unacknowledged. */
void roost_req_go_back(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn);
/* The oldest WQE fails, with the status that belongs to code; the QP goes to
 * ERR. pkt: the answer that says so, or NULL.
 */
void roost_req_fail(struct roost_worker *w, struct roost_qp *qp,
		    enum roost_qp_error_code code, const struct roost_pkt *pkt);
/* Fail the request that cannot be sent, once it is the oldest. */
void roost_req_check_fault(struct roost_worker *w, struct roost_qp *qp);
/* In SQD with no packet in flight: raise SQ_DRAINED if it was asked for. */
void roost_req_check_drained(struct roost_worker *w, struct roost_qp *qp);

/* ---- responder (resp_priv.h) ------------------------------------------ */

void roost_resp_reset(struct roost_qp *qp, struct roost_psn expected_psn);
/* Drop the answers that the QP owes the peer; the QP sends no other. Holder of
 * the turn.
 */
void roost_resp_silence(struct roost_worker *w, struct roost_qp *qp);
void roost_resp_receive(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt);
/* Drop the requests that came early. */
void roost_resp_let_go(struct roost_worker *w, struct roost_qp *qp);
/* A request to a QP that an earlier request brought to ERR (resp.ended). */
void roost_resp_repeat(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt);
/* Owe the peer an answer; sent at the end of the iteration. */
void roost_ack_owe(struct roost_worker *w, struct roost_qp *qp,
		   uint8_t syndrome, struct roost_psn psn);
/* Send the answers that are owed, at most *burst packets of responses; *burst
 * gets the rest of it. Returns false when something is left.
 */
bool roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
		    unsigned int *burst);

/* ---- completion and errors (flush.c) ---------------------------------- */

/* The WQE at index is done: push its completion, if it gets one. The caller
 * moves tail afterwards.
 */
void roost_complete_send(struct roost_worker *w, struct roost_qp *qp,
			 uint32_t index, enum roost_wc_status status);
/* Move the QP to ERR: all posted requests complete flushed; the reason was
 * noted before (qp_error.c). event: enum roost_async_event to raise, or a
 * negative number for none. Idempotent.
 */
void roost_qp_to_err(struct roost_worker *w, struct roost_qp *qp, int event);
/* Move an unreliable QP whose send failed to SQE: only its send queue is in
 * error.
 */
void roost_qp_to_sqe(struct roost_worker *w, struct roost_qp *qp);
/* Complete all requests of a QP in ERR, or the sends of a QP in SQE. An
 * iteration does a part of them, and the next iteration goes on.
 */
void roost_qp_flush(struct roost_worker *w, struct roost_qp *qp);

/* ---- what went wrong (qp_error.c) ------------------------------------- */

/* The way to the peer begins with a port that is down. */
static inline bool roost_qp_port_is_down(const struct roost_qp *qp)
{
	return !qp->path.loopback &&
	       qp->dev->ports[qp->path.port_index].state != ROOST_PORT_ACTIVE;
}

/* Count an error or a recovery, for the worker and for the QP. */
#define roost_count(w, qp, field)                                              \
	((void)((w)->counters.field++, roost_qp_trouble(qp)->counters.field++))

/* Record the reason of the failed completion or the move to ERR that follows.
 * Returns the record, for the caller to fill in the rest.
 */
struct roost_qp_error *roost_qp_blame(struct roost_worker *w,
				      struct roost_qp *qp,
				      enum roost_qp_error_code code)
	__attribute__((cold));
/* Move the QP to ERR for a reason that no request caused; event as above.
 * Idempotent.
 */
void roost_qp_end(struct roost_qp *qp, enum roost_qp_error_code code,
		  int event);

/* ---- the table of send opcodes (wr.c) --------------------------------- */

enum roost_wr_kind {
	ROOST_WR_KIND_MESSAGE,   /* packets with payload; an ACK completes it */
	ROOST_WR_KIND_RD_ATOMIC, /* one packet; its response completes it */
	ROOST_WR_KIND_LOCAL,     /* no packet */
};

struct roost_wr_info {
	uint8_t qp_types;  /* bit set of 1 << enum roost_qp_type */
	uint8_t kind;      /* enum roost_wr_kind */
	uint8_t wc_opcode; /* enum roost_wc_opcode */
	uint8_t response;  /* RD/atomic: enum roost_op of the response */
	uint8_t len_bytes; /* the only length allowed; 0: any */
	/* Opcodes on the wire, without service bits; RD/atomics have `only`
	 * alone.
	 */
	uint8_t first, middle, last, only;
};

/* A row that is no opcode has qp_types 0. */
extern const struct roost_wr_info roost_wr_infos[ROOST_WR_OPCODE_COUNT];

/* The row of a posted request, whose opcode was checked. */
static inline const struct roost_wr_info *
roost_wqe_info(const struct roost_send_wqe *wqe)
{
	return &roost_wr_infos[wqe->opcode];
}

#endif
