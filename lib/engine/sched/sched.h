/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_SCHED_H
#define ROOST_ENGINE_SCHED_SCHED_H

/*
 * The scheduler as the transport sees it: a QP wants to send, wants to answer,
 * fills a frame, ends. What the scheduler calls in turn is struct
 * roost_transport. Timers are set in worker.timers.
 *
 * Thread: the holder of the turn, but for what says "any".
 */

#include <rte_branch_prediction.h>

#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/path.h"
#include "lib/engine/core/worker_base.h"

/* ---- doorbells (worker.c) --- */

/* The QP has posted requests, or the like: look at it. Thread: any. */
void roost_worker_ring(struct roost_worker *w, struct roost_qp *qp);
/* Put a QP that has posted requests where its state wants it: in a list, or
 * its requests are flushed.
 */
void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp);
/* Take the QP out of the lists and the timer wheel. */
void roost_worker_unlink_qp(struct roost_worker *w, struct roost_qp *qp);
/* The same, and its doorbell too: its memory goes away. */
void roost_worker_forget_qp(struct roost_worker *w, struct roost_qp *qp);

/* ---- who sends (ready.c) --- */

void roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp);
/* The QP could go on, and was cut short: it stays the first one, and may send
 * so many packets more before the next one has its turn.
 */
void roost_worker_keep_turn(struct roost_worker *w, struct roost_qp *qp,
			    uint32_t burst_left);
void roost_worker_want_ack(struct roost_worker *w, struct roost_qp *qp);
/* Send what a QP that is listed owes its peer, before a request of its: as far
 * as there is room, and half a burst of responses.
 */
void roost_worker_answer(struct roost_worker *w, struct roost_qp *qp);
/* Send what the QP owes its peer, now: it will not owe anything again. */
void roost_worker_settle(struct roost_worker *w, struct roost_qp *qp);
/* Is the QP flushed to the end? If not, the next iteration goes on with it. */
void roost_worker_flush_later(struct roost_worker *w, struct roost_qp *qp,
			      bool later);

/* ---- a frame to fill (tx.c) --- */

/* Has a queue no room for one more frame, even if the port is asked? */
bool roost_tx_stays_full(struct roost_worker *w, unsigned int queue);
static inline bool roost_tx_has_room(struct roost_worker *w, unsigned int queue)
{
	return w->txq[queue].count < w->txq[queue].len ||
	       !roost_tx_stays_full(w, queue);
}

/* An mbuf for one more frame on the path; NULL: none is to be made now, as the
 * iteration has sent enough, the queue has no room, or there is no mbuf.
 */
static inline struct rte_mbuf *roost_tx_mbuf(struct roost_worker *w,
					     const struct roost_path *path)
{
	struct rte_mbuf *mbuf;

	if (w->tx_left <= 0 || !roost_tx_has_room(w, roost_path_queue(path)))
		return NULL;
	mbuf = roost_mbuf_alloc(w);
	if (likely(mbuf != NULL))
		return mbuf;
	w->no_mbufs = true;
	roost_worker_drop(w, ROOST_DROP_NO_BUFFER);
	return NULL;
}

/* Queue a frame, which is as long as with its ICRC; there is room. Takes it.
 * sealed: it has it.
 */
void roost_tx_queue(struct roost_worker *w, const struct roost_path *path,
		    struct rte_mbuf *frame, bool sealed);
/* Send a sealed RoCEv2 frame, to ourselves where loopback says so; else as
 * roost_worker_send_frame(). Kicks the worker. Thread: any.
 */
int roost_worker_send_roce(struct roost_worker *w, uint8_t port_num,
			   struct rte_mbuf *frame, bool loopback);

#endif
