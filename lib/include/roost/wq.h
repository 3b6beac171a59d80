/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WQ_H
#define ROOST_WQ_H

/*
 * Receive work queues and the tables that spread datagrams over them.
 *
 * A WQ is a receive queue with a number, a CQ and a state of its own. A UD or a
 * raw packet QP that was created with a table has no receive queue: each
 * datagram or frame goes to the WQ that the hash of its addresses and ports
 * picks. An error of a WQ stops
 * that WQ, and neither the QP nor the other WQs.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_cq;
struct roost_ctx;
struct roost_ind_table;
struct roost_pd;
struct roost_recv_wr;
struct roost_wq;

#define ROOST_IND_TABLE_LOG_MAX 9u
#define ROOST_TOEPLITZ_KEY_BYTES 40u

enum roost_wq_state {
	ROOST_WQS_RESET, /* empty; nothing can be posted */
	ROOST_WQS_RDY,
	ROOST_WQS_ERR, /* what is posted completes flushed */
	ROOST_WQS_COUNT,
};

/* How a RAW QP without a table, or a WQ of one, stores a frame. Bits. */
enum roost_store_flags {
	ROOST_STORE_STRIP_CVLAN = 1 << 0, /* without an outer 802.1Q tag, which
					   * the completion has */
	ROOST_STORE_FCS = 1 << 1, /* with its FCS (Ethernet's CRC-32) behind,
				   * computed; byte_len counts it */
};
#define ROOST_STORE_KNOWN (ROOST_STORE_STRIP_CVLAN | ROOST_STORE_FCS)

struct roost_wq_init {
	uint32_t max_wr; /* out: the real size, never smaller */
	uint32_t max_sge;
	struct roost_cq *cq;
	void *owner;         /* readers of its async events get this */
	uint8_t store_flags; /* enum roost_store_flags; no effect on UD */
};

/* Create a WQ in state RESET. Returns 0, -EINVAL (limits, no CQ, flags),
 * -ENOMEM.
 */
int roost_wq_create(struct roost_pd *pd, struct roost_wq_init *init,
		    struct roost_wq **wq);
/* Destroy the WQ. Returns 0, or -EBUSY while a table has it. Waits for the acks
 * of its async events; *async_acked, if not NULL, gets their number over all
 * time.
 */
int roost_wq_destroy(struct roost_wq *wq, uint64_t *async_acked);
/* The number that its completions carry as qpn. */
uint32_t roost_wq_num(const struct roost_wq *wq);
/* The present state. */
enum roost_wq_state roost_wq_state(const struct roost_wq *wq);

/* Change the state: from any state to RESET or ERR; from RESET or RDY to RDY.
 * Returns 0, or -EINVAL (transition not allowed; nothing has changed).
 */
int roost_wq_modify(struct roost_wq *wq, enum roost_wq_state to);
/* Store later frames so: those flags of mask. Returns 0, or -EINVAL (others
 * than ROOST_STORE_KNOWN).
 */
int roost_wq_set_store_flags(struct roost_wq *wq, uint8_t flags, uint8_t mask);

/* Post receive requests: begin, add and end as for a QP (roost_qp_recv_add()).
 * Returns (add) 0, -ENOMEM, -EINVAL (state, sges).
 */
void roost_wq_recv_begin(struct roost_wq *wq);
int roost_wq_recv_add(struct roost_wq *wq, const struct roost_recv_wr *wr);
void roost_wq_recv_end(struct roost_wq *wq);

/* ---- indirection tables of receive WQs ---------------------------------- */

/* Fields of a datagram that are hashed, in this order. Bits as in verbs.h. */
enum roost_hash_fields {
	ROOST_HASH_SRC_IPV4 = 1 << 0,
	ROOST_HASH_DST_IPV4 = 1 << 1,
	ROOST_HASH_SRC_IPV6 = 1 << 2,
	ROOST_HASH_DST_IPV6 = 1 << 3,
	ROOST_HASH_SRC_PORT_TCP = 1 << 4, /* RAW */
	ROOST_HASH_DST_PORT_TCP = 1 << 5, /* RAW */
	ROOST_HASH_SRC_PORT_UDP = 1 << 6,
	ROOST_HASH_DST_PORT_UDP = 1 << 7,
};
#define ROOST_HASH_TCP (ROOST_HASH_SRC_PORT_TCP | ROOST_HASH_DST_PORT_TCP)
#define ROOST_HASH_UDP (ROOST_HASH_SRC_PORT_UDP | ROOST_HASH_DST_PORT_UDP)
#define ROOST_HASH_KNOWN                                                       \
	(ROOST_HASH_SRC_IPV4 | ROOST_HASH_DST_IPV4 | ROOST_HASH_SRC_IPV6 |     \
	 ROOST_HASH_DST_IPV6 | ROOST_HASH_TCP | ROOST_HASH_UDP)

/* A Toeplitz hash; with fields 0, every datagram goes to the first WQ. */
struct roost_hash {
	uint32_t fields; /* enum roost_hash_fields */
	uint8_t key[ROOST_TOEPLITZ_KEY_BYTES];
};

/*
 * Create a table of 2^log_size WQs of this context. The array is copied; a WQ
 * may be in it many times. Returns 0, -EINVAL (size), -ENOMEM.
 */
int roost_ind_table_create(struct roost_ctx *ctx, struct roost_wq *const *wqs,
			   uint32_t log_size, struct roost_ind_table **table);
/* Destroy a table. Returns 0, or -EBUSY while a QP uses it. */
int roost_ind_table_destroy(struct roost_ind_table *table);

#ifdef __cplusplus
}
#endif

#endif
