/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_QP_H
#define ROOST_QP_H

/*
 * Queue pairs (IBTA 10.3, 11.2.4): life cycle and posting.
 *
 * Any number of application threads may post (one lock per queue). Posting
 * copies the request and rings the worker's doorbell, and does nothing else.
 * The worker sends it: the worker's thread, the caller in
 * roost_device_send_end() or roost_device_help_cq() (roost/roost.h), or
 * roost_loop_run() (roost/loop.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/mr.h>
#include <roost/types.h>
#include <roost/wq.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_ah;
struct roost_cq;
struct roost_ctx;
struct roost_pd;
struct roost_qp;
struct roost_srq;
struct roost_xrcd;

struct roost_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
};

struct roost_qp_init {
	enum roost_qp_type type;
	struct roost_cq *send_cq;
	struct roost_cq *recv_cq;
	struct roost_qp_cap cap; /* out: real values, never smaller */
	struct roost_srq *srq;   /* NULL: the QP has a receive queue */
	struct roost_xrcd *xrcd; /* XRC_TGT only */
	/* UD, RAW: datagrams go to the WQs of this table, and the QP has
	 * neither a receive queue nor a recv_cq. NULL: none. RAW: they do in
	 * every state.
	 */
	struct roost_ind_table *ind_table;
	struct roost_hash hash; /* picks the WQ of ind_table */
	bool sq_sig_all;
	bool block_self_mcast;         /* UD: drop its own multicasts */
	uint16_t max_tso_header_bytes; /* RAW: of ROOST_WR_TSO; 0: none */
	uint8_t store_flags; /* RAW without ind_table: enum roost_store_flags */
	void *owner;         /* readers of its async events get this */
};

/*
 * Create a QP in state RESET. pd: NULL for an XRC target, which uses the PDs of
 * its SRQs. Returns 0; -EINVAL (cap beyond the limits, no CQ, members that the
 * type does not have, objects of another context), -EOPNOTSUPP (type; RAW on a
 * port that a daemon shares), -ENOMEM.
 */
int roost_qp_create(struct roost_ctx *ctx, struct roost_pd *pd,
		    struct roost_qp_init *init, struct roost_qp **qp);
/* Destroy the QP. Returns 0, or -EBUSY while it is in a multicast group. Waits
 * for the acks of its async events, never for the network. *async_acked, if not
 * NULL, gets the number of acks over all time.
 */
int roost_qp_destroy(struct roost_qp *qp, uint64_t *async_acked);
/* The number of the QP (QPN), which never changes. */
uint32_t roost_qp_num(const struct roost_qp *qp);
/* The present state. */
enum roost_qp_state roost_qp_state(const struct roost_qp *qp);

/* Which members of roost_qp_attr count. Bits as in verbs.h. */
enum roost_qp_attr_mask {
	ROOST_QP_STATE = 1 << 0,
	ROOST_QP_CUR_STATE = 1 << 1,
	ROOST_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	ROOST_QP_ACCESS_FLAGS = 1 << 3,
	ROOST_QP_PKEY_INDEX = 1 << 4,
	ROOST_QP_PORT = 1 << 5,
	ROOST_QP_QKEY = 1 << 6,
	ROOST_QP_AV = 1 << 7,
	ROOST_QP_PATH_MTU = 1 << 8,
	ROOST_QP_TIMEOUT = 1 << 9,
	ROOST_QP_RETRY_CNT = 1 << 10,
	ROOST_QP_RNR_RETRY = 1 << 11,
	ROOST_QP_RQ_PSN = 1 << 12,
	ROOST_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	ROOST_QP_ALT_PATH = 1 << 14,
	ROOST_QP_MIN_RNR_TIMER = 1 << 15,
	ROOST_QP_SQ_PSN = 1 << 16,
	ROOST_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	ROOST_QP_PATH_MIG_STATE = 1 << 18,
	ROOST_QP_CAP = 1 << 19,
	ROOST_QP_DEST_QPN = 1 << 20,
	ROOST_QP_RATE_LIMIT = 1 << 25,
};

struct roost_qp_attr {
	uint32_t access; /* enum roost_access */
	uint32_t rate_limit_kbps;
	uint32_t qkey;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* 0..31 */
	uint8_t port_num;
	uint8_t timeout;   /* 0..31: 4.096 us * 2^timeout, 0: never */
	uint8_t retry_cnt; /* 0..7 */
	uint8_t rnr_retry; /* 0..7; 7: for ever */
	bool en_sqd_async_notify;
	bool sq_draining;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	enum roost_qp_state state;
	enum roost_qp_state cur_state;
	enum roost_mtu path_mtu;
	enum roost_mig_state path_mig_state;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qpn;
	struct roost_qp_cap cap;
	struct roost_av av;
	struct roost_av alt_av;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
};

/*
 * Change state and attributes; table of IBTA 11.2.4.2. May resolve the
 * neighbour of a new address vector, and then blocks for the network.
 * Returns 0; -EINVAL (transition, mask or value not allowed: nothing is
 * changed), -EHOSTUNREACH, -ETIMEDOUT (address vector), -EOPNOTSUPP, -ENOMEM,
 * -EIO (the device is gone: only ERR and RESET are left).
 */
int roost_qp_modify(struct roost_qp *qp, const struct roost_qp_attr *attr,
		    uint32_t mask);
/* Read all attributes, and the values that the QP was created with. */
void roost_qp_query(struct roost_qp *qp, struct roost_qp_attr *attr,
		    struct roost_qp_init *init);

/* ---- posting to a queue pair -------------------------------------------- */

/* Data of one request. */
#define ROOST_TSO_MAX_BYTES (1u << 18)
#define ROOST_TSO_MAX_HEADER_BYTES 512u

/* Segmentation (TSO): each segment has mss_bytes of data, the last one what is
 * left, and this header before it, from Ethernet to TCP. Lengths, checksums,
 * the IPv4 identification, sequence number and flags are the segment's.
 */
struct roost_tso {
	const void *header;
	uint16_t header_bytes;
	uint16_t mss_bytes;
};

struct roost_send_wr {
	uint64_t wr_id;
	const struct roost_sge *sges;
	uint32_t nb_sges;
	enum roost_wr_opcode opcode;
	uint32_t flags;  /* enum roost_send_flags */
	uint32_t imm_be; /* *_IMM: wire order; SEND_INV: the rkey */
	/* WRITE, READ, atomics, FLUSH. */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
	uint32_t flush_len_bytes;
	uint8_t flush_type;  /* IBTA A19: bit 0 global visibility, bit 1
			      * persistence */
	uint8_t flush_level; /* 0 range, 1 whole region */
	/* UD. */
	struct roost_ah *ah;
	uint32_t dest_qpn;
	uint32_t qkey; /* top bit set: the QP's own */
	/* XRC. */
	uint32_t xrc_srqn;
	struct roost_mw_bind bind; /* BIND_MW */
	struct roost_tso tso;      /* TSO */
};

struct roost_recv_wr {
	uint64_t wr_id;
	const struct roost_sge *sges;
	uint32_t nb_sges;
};

/*
 * Post a list of requests: begin takes the queue's lock; add copies a request,
 * its sges and inline data; end publishes all of them, rings the doorbell once
 * and unlocks.
 * Returns (add) 0; -ENOMEM (queue full, or no memory); -EINVAL (state, opcode
 * for the type, too many sges, inline too long, length beyond 2^31, unknown
 * flag, no header of TCP).
 */
void roost_qp_send_begin(struct roost_qp *qp);
int roost_qp_send_add(struct roost_qp *qp, const struct roost_send_wr *wr);
void roost_qp_send_end(struct roost_qp *qp);
/* Forget everything added since begin, and unlock (wr_abort). */
void roost_qp_send_abort(struct roost_qp *qp);

/* Post receive requests: begin, add and end as above.
 * Returns (add) 0, -ENOMEM, -EINVAL (state RESET, sges).
 */
void roost_qp_recv_begin(struct roost_qp *qp);
int roost_qp_recv_add(struct roost_qp *qp, const struct roost_recv_wr *wr);
void roost_qp_recv_end(struct roost_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
