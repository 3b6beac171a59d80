/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SRQ_PRIV_H
#define ROOST_ENGINE_CORE_SRQ_PRIV_H

/*
 * Inside of shared receive queues; for lib/engine only.
 */

#include "lib/engine/core/qp_priv.h"
#include <roost/srq.h>

/* Shared by all openings of one domain. */
struct roost_xrc_domain {
	_Atomic uint32_t openings;
};

struct roost_xrcd {
	struct roost_ctx *ctx;
	struct roost_xrc_domain *domain;
	_Atomic uint32_t refs; /* QPs and SRQs made with this opening */
};

/* What a QP that receives from SRQs has besides. */
struct roost_taken {
	LIST_ENTRY(roost_taken) link; /* while resp.recv_srq is set */
	struct roost_qp *qp;
	struct roost_xrcd *xrcd; /* XRC_TGT; else NULL */
	/* The one in use, with its SGEs. */
	struct roost_recv_wqe wqe;
};

struct roost_srq {
	struct roost_pd *pd;
	struct roost_xrcd *xrcd;
	struct roost_cq *cq; /* XRC; NULL: the QP's */
	struct roost_queue queue;
	bool shared; /* there are several workers; set at create */
	/* If shared: around taking a WQE, and the list of takers. */
	struct roost_spin take_lock;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t num; /* XRC; 0: none */
	uint32_t handle;
	LIST_ENTRY(roost_srq) all_link; /* dev->all.srqs */
	_Atomic uint32_t limit;         /* 0: not armed */
	_Atomic uint32_t refs;          /* QPs */
	/* QPs that have a WQE of this SRQ in use. Writer: holder of the turn
	 * and of take_lock. An XRC SRQ may be destroyed while
	 * QPs use its WQEs.
	 */
	LIST_HEAD(, roost_taken) takers;
	LIST_ENTRY(roost_srq) cq_link; /* XRC: in cq->srqs */
	struct roost_event_source async;
};

/* The XRC SRQ of a number, or NULL. Holder of the turn. */
struct roost_srq *roost_srq_find(struct roost_dev *dev, uint32_t num);
/* Move the oldest WQE to the QP's copy, and add the QP to the takers. Returns
 * false when no WQE is posted. Holder of the QP's turn.
 */
bool roost_srq_take(struct roost_srq *srq, struct roost_qp *qp);
/* Remove the QP from the takers. Holder of the QP's turn. */
void roost_srq_release(struct roost_srq *srq, struct roost_qp *qp);

/* A QP of the worker that has a WQE of the SRQ in use; NULL: none. Holder of
 * the turn.
 */
struct roost_qp *roost_srq_taker(struct roost_srq *srq,
				 const struct roost_worker *w);

/* Forget the WQE of an SRQ that is in use, if there is one. Holder of the turn.
 */
static inline void roost_recv_release(struct roost_qp *qp)
{
	if (!qp->resp.recv_srq)
		return;
	roost_srq_release(qp->resp.recv_srq, qp);
	qp->resp.recv_srq = NULL;
}

#endif
