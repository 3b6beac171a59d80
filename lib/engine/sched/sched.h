/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_SCHED_H
#define ROOST_ENGINE_SCHED_SCHED_H

/*
 * The scheduler's functions for the transport: a QP wants to send, wants to
 * answer, fills a frame, ends. The scheduler calls the transport by struct
 * roost_transport. Timers are set in worker.timers.
 *
 * Thread: the holder of the turn, unless a function says "any".
 */

#include <rte_branch_prediction.h>

#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/path.h"
#include "lib/engine/core/worker_base.h"

/* ---- doorbells (worker.c) --- */

/* Ring the doorbell: the QP has posted requests, or other work for the worker.
 * Thread: any.
 */
void roost_worker_ring(struct roost_worker *w, struct roost_qp *qp);
/* Act on a QP that has posted requests: put the QP into a ready list or flush
 * its requests, as its state demands.
 */
void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp);
/* Take the QP out of the lists and the timer wheel. */
void roost_worker_unlink_qp(struct roost_worker *w, struct roost_qp *qp);
/* As roost_worker_unlink_qp(), and remove its doorbell too: the caller frees
 * the QP's memory.
 */
void roost_worker_forget_qp(struct roost_worker *w, struct roost_qp *qp);

/* ---- ready lists (ready.c) --- */

void roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp);
/* The QP had more to send when its burst was cut: it stays first in its ready
 * list, and may send burst_left more packets before the next QP.
 */
void roost_worker_keep_turn(struct roost_worker *w, struct roost_qp *qp,
			    uint32_t burst_left);
void roost_worker_want_ack(struct roost_worker *w, struct roost_qp *qp);
/* Send the responses and the ACK that a listed QP owes its peer, before a
 * request of the QP: as far as there is room, and at most half a burst of
 * responses.
 */
void roost_worker_answer(struct roost_worker *w, struct roost_qp *qp);
/* Send the responses and the ACK that the QP owes its peer, now: the QP will
 * owe none again.
 */
void roost_worker_settle(struct roost_worker *w, struct roost_qp *qp);
/* later: the QP is not flushed to the end, and the next iteration goes on with
 * it.
 */
void roost_worker_flush_later(struct roost_worker *w, struct roost_qp *qp,
			      bool later);

/* ---- a frame to fill (tx.c) --- */

/* A frame of this length or more counts as two in tx_left. */
#define ROOST_TX_LARGE_BYTES 2048u

/* True if the queue has no room for one more frame, even after the port was
 * offered its frames.
 */
bool roost_tx_stays_full(struct roost_worker *w, unsigned int queue);
static inline bool roost_tx_has_room(struct roost_worker *w, unsigned int queue)
{
	return w->txq[queue].count < w->txq[queue].len ||
	       !roost_tx_stays_full(w, queue);
}

/* An mbuf for one more frame on the path. NULL: send no frame now, because the
 * iteration has sent its budget, the queue has no room, or the pool is empty.
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

/* Queue a frame; the queue has room. Takes the frame. Its length includes the
 * ICRC. sealed: the ICRC is filled in.
 */
void roost_tx_queue(struct roost_worker *w, const struct roost_path *path,
		    struct rte_mbuf *frame, bool sealed);
/* As roost_tx_queue(), of a frame that is not sealed. */
static __rte_always_inline void
roost_tx_queue_plain(struct roost_worker *w, const struct roost_path *path,
		     struct rte_mbuf *frame)
{
	struct roost_tx_fill *fill = &w->txq[path->port_index];

	if (unlikely(path->loopback || path->multicast)) {
		roost_tx_queue(w, path, frame, false);
		return;
	}
	w->tx_left -= 1 + (frame->pkt_len >= ROOST_TX_LARGE_BYTES);
	w->counters.tx_pkts++;
	w->counters.tx_bytes += frame->pkt_len;
	frame->port = path->port_index;
	fill->unsealed[fill->count] = roost_frame_unsealed(&path->template);
	fill->frames[fill->count++] = frame;
}
/* steer.c: give a frame to another worker of the device, which receives it
 * (receive_each of struct roost_transport). Takes the frame; it is lost if that
 * worker is far behind.
 */
void roost_worker_pass(struct roost_worker *w, unsigned int to,
		       struct rte_mbuf *frame);
/* Send a sealed RoCEv2 frame. loopback: to this device itself; else as
 * roost_worker_send_frame(). Kicks the worker. Thread: any.
 */
int roost_worker_send_roce(struct roost_worker *w, uint8_t port_num,
			   struct rte_mbuf *frame, bool loopback);

#endif
