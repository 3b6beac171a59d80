/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_SRQ_H
#define ROOST_SRQ_H

/*
 * Shared receive queues (IBTA 10.2.9), and XRC domains (Annex A14).
 *
 * An XRC SRQ has a number of its own, which peers put into their packets, and
 * a CQ; a basic one completes to the CQ of the QP that took the WQE.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_cq;
struct roost_ctx;
struct roost_pd;
struct roost_recv_wr;
struct roost_srq;
struct roost_xrcd;

/* Open a new domain. Returns 0, -ENOMEM. */
int roost_xrcd_open(struct roost_ctx *ctx, struct roost_xrcd **xrcd);
/* Open the domain that `with` is an opening of; `with` may belong to any
 * context of the device. The domain lives until its last opening is closed.
 * Returns 0, -ENOMEM.
 */
int roost_xrcd_share(struct roost_ctx *ctx, struct roost_xrcd *with,
		     struct roost_xrcd **xrcd);
/* Close an opening of a domain. Returns 0, or -EBUSY while a QP or SRQ uses
 * this opening.
 */
int roost_xrcd_close(struct roost_xrcd *xrcd);

struct roost_srq_init {
	uint32_t max_wr; /* out: the real size, never smaller */
	uint32_t max_sge;
	struct roost_xrcd *xrcd; /* NULL: a basic SRQ */
	struct roost_cq *cq;     /* XRC only */
	void *owner;             /* readers of its async events get this */
};

/* Create an SRQ. Returns 0, -EINVAL (limits, XRC without CQ, objects of another
 * context), -ENOMEM.
 */
int roost_srq_create(struct roost_pd *pd, struct roost_srq_init *init,
		     struct roost_srq **srq);
/* Destroy the SRQ. Returns 0, or -EBUSY while a QP uses it. Waits for the acks
 * of its async events; *async_acked, if not NULL, gets their number over all
 * time.
 */
int roost_srq_destroy(struct roost_srq *srq, uint64_t *async_acked);
/* The number of an XRC SRQ; 0 for a basic one. */
uint32_t roost_srq_num(const struct roost_srq *srq);

/*
 * Raise SRQ_LIMIT_REACHED once when fewer than limit WQEs are left; 0 disarms.
 * Returns 0, -EINVAL (more than the queue has).
 */
int roost_srq_set_limit(struct roost_srq *srq, uint32_t limit);
/* Set the size to max_wr WQEs, and the limit to *limit (NULL: unchanged).
 * Returns 0; -EINVAL (too many, fewer than are posted, or fewer than the limit:
 * nothing is changed), -ENOMEM.
 */
int roost_srq_resize(struct roost_srq *srq, uint32_t max_wr,
		     const uint32_t *limit);
/* The size in WQEs, the number of sges of each, and the limit (0: none). */
void roost_srq_query(struct roost_srq *srq, uint32_t *max_wr, uint32_t *max_sge,
		     uint32_t *limit);

/* Post receive requests: begin, add and end as for a QP (roost_qp_recv_add()).
 * Returns (add) 0, -ENOMEM, -EINVAL (sges).
 */
void roost_srq_recv_begin(struct roost_srq *srq);
int roost_srq_recv_add(struct roost_srq *srq, const struct roost_recv_wr *wr);
void roost_srq_recv_end(struct roost_srq *srq);

#ifdef __cplusplus
}
#endif

#endif
