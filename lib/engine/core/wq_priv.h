/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_WQ_PRIV_H
#define ROOST_ENGINE_CORE_WQ_PRIV_H

/*
 * Inside of receive work queues; for lib/engine only.
 */

#include <stdatomic.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/queue.h"
#include <roost/wq.h>

struct roost_frame;
struct roost_pkt;
struct roost_qp;
struct roost_worker;

struct roost_wq {
	struct roost_pd *pd;
	struct roost_worker *worker; /* "the turn" below is the turn of this
				      * worker */
	struct roost_cq *cq;
	struct roost_queue queue;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t num;
	_Atomic uint32_t state; /* enum roost_wq_state; holder of the turn */
	_Atomic uint32_t refs;  /* places in tables */
	/* Completions from before a RESET may be in the CQ. Set by the holder
	 * of the turn.
	 */
	_Atomic bool unclean;
	uint8_t store_flags; /* enum roost_store_flags; holder of the turn */
	uint8_t error;       /* in ERR: the reason, enum
			      * roost_qp_error_code */
	LIST_ENTRY(roost_wq) cq_link; /* in cq->wqs */
	struct roost_event_source async;
};

struct roost_ind_table {
	struct roost_ctx *ctx;
	_Atomic uint32_t refs; /* QPs */
	uint32_t mask;         /* entries - 1 */
	struct roost_wq *wqs[];
};

/* What a hash may see of a datagram or a frame. */
struct roost_hashed {
	const uint8_t *src_ip, *dst_ip; /* 4 or 16 bytes */
	uint16_t src_port, dst_port;
	uint8_t ip_version; /* 4, 6; 0: no addresses */
	uint8_t l4;         /* IPPROTO_TCP, IPPROTO_UDP; 0: no ports */
};

/* The WQ that a datagram or a frame goes to. Holder of the turn. */
struct roost_wq *roost_ind_table_pick(const struct roost_ind_table *table,
				      const struct roost_hash *hash,
				      const struct roost_hashed *hashed);
/* The oldest receive WQE, or NULL: none is posted, or the WQ is not RDY.
 * Holder of the turn.
 */
const struct roost_recv_wqe *roost_wq_wqe(const struct roost_wq *wq);
/* Complete the WQE of roost_wq_wqe(); this function fills in the members of cqe
 * that describe the WQ. Holder of the turn.
 */
void roost_wq_complete(struct roost_worker *w, struct roost_wq *wq,
		       struct roost_cqe *cqe);
/* Move the WQ to ERR because of an error: all posted requests complete flushed,
 * and WQ_FATAL is raised. Idempotent. Holder of the turn.
 */
void roost_wq_fail(struct roost_worker *w, struct roost_wq *wq,
		   enum roost_qp_error_code code);

#endif
