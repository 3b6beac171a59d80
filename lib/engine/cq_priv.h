/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CQ_PRIV_H
#define ROOST_ENGINE_CQ_PRIV_H

/*
 * Inside of completion queues; for lib/engine only.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/cq.h"
#include "lib/engine/dev_priv.h"
#include "lib/engine/spin.h"

struct roost_qp;
struct roost_srq;
struct roost_worker;
struct roost_wq;

enum roost_cq_armed {
	ROOST_CQ_UNARMED,
	ROOST_CQ_ARMED_SOLICITED,
	ROOST_CQ_ARMED_ANY,
};

/* A place in the list of those that complete to a CQ; one of the two. */
struct roost_cq_user {
	struct roost_qp *qp;
	struct roost_wq *wq;
	LIST_ENTRY(roost_cq_user) link;
};

struct roost_cq {
	/* Producer: the holder of the turn. */
	struct roost_cqe *ring __attribute__((aligned(64)));
	uint32_t mask;       /* entries - 1 */
	uint32_t produced;   /* entries written, not all published */
	bool dirty;          /* in the worker's list: publish at the end */
	bool solicited;      /* one of the unpublished entries is */
	bool ignore_overrun; /* what has no room is lost; set at create */
	bool overrun;        /* an entry had no room: no more come */
	TAILQ_ENTRY(roost_cq) dirty_link;
	LIST_HEAD(, roost_cq_user) users; /* QPs and WQs that complete here */
	LIST_HEAD(, roost_srq) srqs;      /* XRC SRQs that do */
	_Atomic uint32_t published;       /* pairs with poll's acquire */
	_Atomic uint32_t armed;           /* enum roost_cq_armed */
	_Atomic bool overrun_told; /* all that had room is published, CQ_ERR
				    * was raised, the QPs are in ERR */

	/* Consumers. */
	struct roost_spin lock __attribute__((aligned(64)));
	_Atomic uint32_t consumed;
	/* Entries before this one are known to the application: consumed, or
	 * shown since poll_begin.
	 */
	_Atomic uint32_t shown;

	struct roost_ctx *ctx;
	uint32_t handle;
	LIST_ENTRY(roost_cq) all_link; /* dev->all.cqs */
	_Atomic uint32_t refs;         /* users */
	struct roost_event_source comp;
	struct roost_event_source async;
};

/* Add one completion; roost_worker_publish() shows it. A CQ without room is
 * overrun, and its QPs fail when the worker publishes. Holder of the turn.
 * Returns its place, for roost_cq_is_polled(); of one that was lost, a place
 * that is polled.
 */
uint32_t roost_cq_push(struct roost_worker *w, struct roost_cq *cq,
		       const struct roost_cqe *cqe);
/* A place that is polled. */
static inline uint32_t roost_cq_no_entry(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->shown, memory_order_relaxed) - 1;
}

/* Was the entry polled? Acquire: so was all that the poll said. A place so old
 * that the numbers have come around may seem not to be; it passes.
 */
static inline bool roost_cq_is_polled(const struct roost_cq *cq, uint32_t entry)
{
	return entry - atomic_load_explicit(&cq->shown, memory_order_acquire) >=
	       ROOST_CQE_MAX;
}

/* Make what was pushed visible, raise what is armed. Holder of the turn. */
void roost_cq_publish(struct roost_cq *cq);

#endif
