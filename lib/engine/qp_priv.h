/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_QP_PRIV_H
#define ROOST_ENGINE_QP_PRIV_H

/*
 * Inside of queue pairs; for lib/engine only.
 *
 * A queue is a ring of fixed slots with free-running indices. The application
 * side owns the slots between the published head and the free end, under the
 * queue's lock; the worker owns those before, holding the turn.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/cq_priv.h"
#include "lib/engine/dev_priv.h"
#include "lib/engine/qp.h"
#include "lib/engine/spin.h"
#include "lib/engine/timer.h"
#include "lib/wire/frame.h"

/* Packets of one QP that may be unacknowledged at a time. */
#define ROOST_WINDOW_PKTS 256
/* In a long message every so many packets ask for an acknowledgement, so that
 * the window keeps open.
 */
#define ROOST_ACKREQ_PKTS 64
/* Packets of one QP before the next QP has its turn. */
#define ROOST_QP_BURST_PKTS 32u

struct roost_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm_be;
	uint32_t len_bytes;
	uint32_t nb_sges; /* 0 when inline */
	uint8_t opcode;   /* enum roost_wr_opcode */
	uint8_t flags;    /* enum roost_send_flags */
	/* Set when its first packet is made. */
	struct roost_psn first_psn;
	struct roost_psn last_psn;
	union {
		struct roost_sge sges[0];
		uint8_t inline_data[0];
	};
};

struct roost_recv_wqe {
	uint64_t wr_id;
	uint32_t nb_sges;
	uint32_t len_bytes; /* room in all sges */
	struct roost_sge sges[];
};

struct roost_queue {
	uint8_t *slots;
	uint32_t stride_bytes;
	uint32_t mask;         /* slots - 1 */
	_Atomic uint32_t head; /* published; release, pairs with the worker */
	_Atomic uint32_t tail; /* worker: slots before are free again */
	uint32_t added;        /* under lock: head to be */
	struct roost_spin lock;
};

static inline void *roost_queue_at(const struct roost_queue *q, uint32_t index)
{
	return q->slots + (size_t)(index & q->mask) * q->stride_bytes;
}

/* The way to the peer. Written by modify, holding the turn. */
struct roost_path {
	struct roost_hdr_template template;
	struct roost_gid sgid;
	struct roost_gid dgid;
	struct roost_neigh *neigh; /* reference; NULL for a loopback path */
	uint64_t mac_gen;          /* what the template holds */
	uint8_t port_index;
	bool loopback; /* dgid is an address of this port */
	bool valid;
};

/* Requester: our requests to the peer. Holder of the turn. */
struct roost_requester {
	struct roost_psn next_psn;           /* of the next packet made */
	struct roost_psn end_psn;            /* behind all ever made */
	struct roost_psn oldest_unacked_psn; /* == end_psn: none */
	uint32_t send_index;                 /* WQE of next_psn */
	uint32_t started_index; /* behind the last WQE that has PSNs */
	struct roost_timer timer;
	uint64_t timeout_ns; /* 0: never */
	uint8_t retry_left;
	uint8_t rnr_left;
	bool rnr_wait; /* the timer ends an RNR wait */
	/* WQE at fault_index cannot be sent: it fails with fault_status once
	 * all before it are acknowledged.
	 */
	bool fault;
	uint8_t fault_status; /* enum roost_wc_status */
	uint32_t fault_index;
	bool inflight; /* counted in worker.nb_inflight_qps */
};

/* Responder: the peer's requests to us. Holder of the turn. */
struct roost_responder {
	struct roost_psn expected_psn;
	uint32_t msn;          /* 24 bits: completed requests */
	uint32_t offset_bytes; /* of the message that is coming in */
	uint8_t in_op;         /* enum roost_op of it; NONE: between two */
	uint8_t behind;        /* enum roost_drop: expected_psn was NAKed, and
				* what comes behind it is dropped for this;
				* NONE: not NAKed */
	bool comm_est;         /* COMM_EST was raised */
	/* The answer that is owed. One slot is enough: it is cumulative. */
	bool owed;
	uint8_t owed_syndrome;
	struct roost_psn owed_psn;
};

struct roost_qp {
	/* Hot, written at create and modify. */
	uint32_t qpn;
	_Atomic uint32_t state; /* enum roost_qp_state */
	uint8_t type;           /* enum roost_qp_type */
	bool sq_sig_all;
	uint16_t pkey;
	uint32_t mtu_bytes;
	uint32_t dest_qpn;
	struct roost_dev *dev;
	struct roost_pd *pd;
	struct roost_cq *send_cq;
	struct roost_cq *recv_cq;
	struct roost_requester req;
	struct roost_responder resp;
	struct roost_path path;

	struct roost_queue sq;
	struct roost_queue rq;

	/* Worker's lists. */
	TAILQ_ENTRY(roost_qp) send_link;
	TAILQ_ENTRY(roost_qp) ack_link;
	bool in_send_list;
	bool in_ack_list;
	bool drain_asked; /* SQD: raise SQ_DRAINED when drained */
	/* Doorbell; any thread. */
	_Atomic(struct roost_qp *) doorbell_next;
	_Atomic bool doorbell_rung;

	/* Cold. */
	pthread_mutex_t modify_lock; /* one modify at a time */
	struct roost_qp_attr attr;
	struct roost_qp_cap cap;
	void *owner;
	struct roost_event_source async;
	struct roost_cq_user send_user;
	struct roost_cq_user recv_user;
};

static inline enum roost_qp_state roost_qp_state_get(const struct roost_qp *qp)
{
	return (enum roost_qp_state)atomic_load_explicit(&qp->state,
							 memory_order_acquire);
}

/* ---- modify (qp_modify.c) --------------------------------------------- */

/* Does the table allow this change with this mask? */
bool roost_qp_modify_allowed(enum roost_qp_type type, enum roost_qp_state from,
			     enum roost_qp_state to, uint32_t mask);

/* ---- path (path.c) ---------------------------------------------------- */

/*
 * Make the path for av: find the source address, resolve the neighbour (this
 * may block), fill the template. Not holding the turn.
 * Returns 0, -EINVAL, -EHOSTUNREACH, -ETIMEDOUT.
 */
int roost_path_resolve(struct roost_dev *dev, const struct roost_av *av,
		       uint32_t qpn, uint32_t dest_qpn,
		       struct roost_path *path);
void roost_path_release(struct roost_dev *dev, struct roost_path *path);
/* The neighbour moved? Then the template gets its new MAC. */
static inline void roost_path_refresh(struct roost_path *path)
{
	uint64_t mac_gen;
	uint8_t mac[6];

	if (path->neigh == NULL)
		return;
	mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
				       memory_order_acquire);
	if (mac_gen == path->mac_gen || mac_gen == 0)
		return;
	path->mac_gen = mac_gen;
	roost_neigh_mac(mac_gen, mac);
	roost_hdr_template_set_dst_mac(&path->template, mac);
}

/* ---- requester (req.c, req_ack.c, req_retry.c) ------------------------ */

void roost_req_reset(struct roost_qp *qp, struct roost_psn first_psn);
/* Make and queue up to a burst of packets. Returns how many; the QP stays in
 * the worker's list while it could go on.
 */
unsigned int roost_req_transmit(struct roost_worker *w, struct roost_qp *qp);
/* A response from the peer. */
void roost_req_receive(struct roost_worker *w, struct roost_qp *qp,
		       const struct roost_pkt *pkt);
void roost_req_timer(struct roost_worker *w, struct roost_qp *qp);
/* Go back: the next packet made is the one of psn, which is unacknowledged. */
void roost_req_go_back(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn);
/* The oldest WQE fails with status; the QP goes to ERR. */
void roost_req_fail(struct roost_worker *w, struct roost_qp *qp,
		    enum roost_wc_status status);
/* All before psn is acknowledged: complete it, restart timer and counters. */
void roost_req_advance(struct roost_worker *w, struct roost_qp *qp,
		       struct roost_psn psn);
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

/* ---- responder (resp.c, ack.c) ---------------------------------------- */

void roost_resp_reset(struct roost_qp *qp, struct roost_psn expected_psn);
void roost_resp_receive(struct roost_worker *w, struct roost_qp *qp,
			const struct roost_pkt *pkt);
/* Owe the peer an answer; sent at the end of the iteration. */
void roost_ack_owe(struct roost_worker *w, struct roost_qp *qp,
		   uint8_t syndrome, struct roost_psn psn);
/* Send what is owed. Returns false when there is no room or no mbuf. */
bool roost_ack_send(struct roost_worker *w, struct roost_qp *qp);

/* ---- completion and errors (flush.c) ---------------------------------- */

void roost_complete_send(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_send_wqe *wqe,
			 enum roost_wc_status status);
/* To ERR: everything posted completes flushed. event: enum roost_async_event
 * to raise, or a negative number for none. Idempotent.
 */
void roost_qp_to_err(struct roost_worker *w, struct roost_qp *qp, int event);
/* Complete what was posted to a QP in ERR. */
void roost_qp_flush(struct roost_worker *w, struct roost_qp *qp);

/* ---- the table of send opcodes (wr.c) --------------------------------- */

struct roost_wr_info {
	uint8_t qp_types;  /* bit set of 1 << enum roost_qp_type */
	uint8_t wc_opcode; /* enum roost_wc_opcode */
	/* Opcode on the wire, service bits left out. */
	uint8_t first, middle, last, only;
	bool has_imm;
};

/* NULL: no such opcode. */
const struct roost_wr_info *roost_wr_info(enum roost_wr_opcode opcode);

#endif
