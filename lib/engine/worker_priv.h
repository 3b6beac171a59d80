/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_WORKER_PRIV_H
#define ROOST_ENGINE_WORKER_PRIV_H

/*
 * Inside of the worker; for lib/engine only. All fields belong to the holder
 * of the turn unless they say otherwise.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/cq_priv.h"
#include "lib/engine/dev_priv.h"
#include "lib/engine/steer.h"
#include "lib/engine/timer.h"
#include "lib/engine/worker.h"
#include "lib/wire/drop.h"

struct rte_mbuf;
struct rte_ring;
struct roost_mw;
struct roost_path;
struct roost_qp;

/* Frames that are received at a time. */
#define ROOST_RX_BURST 32u
/* Frames that wait for the port; more are not made until it takes them. */
#define ROOST_TXQ_LEN 64u
/* Frames to ourselves within one iteration and the next. */
#define ROOST_LOOPBACK_LEN 256u

struct roost_frame_queue {
	uint16_t len; /* of frames that it takes */
	uint16_t count;
	struct rte_mbuf *frames[ROOST_LOOPBACK_LEN];
	/* Of frames; those for a port are sealed on their way out. All zeros
	 * from count on.
	 */
	struct roost_unsealed unsealed[ROOST_LOOPBACK_LEN];
};

/* The smallest page; where pages are larger, the turn cannot be zeroed. */
#define ROOST_WORKER_PAGE_BYTES 4096

struct roost_worker {
	struct roost_dev *dev;
	unsigned int index; /* in dev->workers */
	/* Of the thread that has the turn: set by roost_mbuf_begin(). */
	unsigned int lcore_id;
	struct roost_steer *steer; /* NULL: there is no other worker */
	uint64_t now_ns; /* of this iteration; the last one's between */
	TAILQ_HEAD(roost_qp_list, roost_qp)
	send_qps; /* have requests that may go now */
	/* The last of ack_qps whose answer is due in this iteration; NULL:
	 * none. Those behind it owe theirs since this iteration only.
	 */
	struct roost_qp *last_due;
	struct roost_qp_list ack_qps; /* owe an answer */
	TAILQ_HEAD(, roost_cq_part) dirty_cqs;
	struct roost_event_batch held_events; /* empty between turns */
	struct roost_frame_queue txq[ROOST_DEV_PORTS_MAX];
	struct roost_frame_queue loopback;
	bool raw_stood_back;      /* frames of raw did, for those of QPs */
	uint32_t nb_inflight_qps; /* QPs with unacknowledged packets */
	/* QPs that may migrate (ROOST_MIG_ARMED). */
	LIST_HEAD(, roost_qp) armed_qps;
	struct roost_mw *window; /* that a packet accesses; NULL: none, or
				  * nobody else can change it */
	struct roost_dev_counters counters;
	struct roost_timer_wheel timers;

	/* In pages of its own: a child of a fork finds it zeroed, and never
	 * gets the turn.
	 */
	struct {
		_Atomic bool is_free;
		_Atomic uint32_t wanted; /* threads in turn_take; any thread */
	} turn __attribute__((aligned(ROOST_WORKER_PAGE_BYTES)));

	/* QPs whose doorbell was rung, newest first; pushed by any thread,
	 * taken as a whole. A list and not an rte_ring, because a ring must
	 * be as long as there may ever be QPs.
	 */
	_Atomic(struct roost_qp *) doorbells
		__attribute__((aligned(ROOST_WORKER_PAGE_BYTES)));
	struct rte_ring *raw; /* struct raw_frame; enqueue: any thread */
};

int roost_worker_create(struct roost_dev *dev, unsigned int index,
			struct roost_worker **worker);
void roost_worker_destroy(struct roost_worker *w);

/* The QP has posted requests, or the like: look at it. Any thread. */
void roost_worker_ring(struct roost_worker *w, struct roost_qp *qp);
/* Put a QP that has posted requests where its state wants it: in send_qps, or
 * its requests are flushed.
 */
void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp);
/* Take all rung doorbells: their QPs are looked at then. */
unsigned int roost_worker_answer_doorbells(struct roost_worker *w);
void roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp);
void roost_worker_want_ack(struct roost_worker *w, struct roost_qp *qp);
/* Send what a QP of ack_qps owes its peer, as far as there is room. */
void roost_worker_answer(struct roost_worker *w, struct roost_qp *qp);
/* Send what the QP owes its peer, now: it will not owe anything again. */
void roost_worker_settle(struct roost_worker *w, struct roost_qp *qp);
/* Take the QP out of the lists and the timer wheel. */
void roost_worker_unlink_qp(struct roost_worker *w, struct roost_qp *qp);
/* The same, and its doorbell too: its memory goes away. */
void roost_worker_forget_qp(struct roost_worker *w, struct roost_qp *qp);
/* Publish what was pushed to CQs; a CQ that was overrun gets CQ_ERR, every QP
 * on it goes to ERR with QP_FATAL, every WQ with WQ_FATAL, and every XRC SRQ
 * gets SRQ_ERR. Then raise the async events that were held back. Before the
 * turn is released by anyone who may have completed or raised something.
 */
void roost_worker_publish(struct roost_worker *w);
/* The same for all workers. Holder of all turns. */
void roost_dev_publish(struct roost_dev *dev);
/* The first half of it: nothing is raised yet but completion events. */
void roost_worker_publish_cqs(struct roost_worker *w);

/* ---- async.c --- */

/* Raise an async event of an object: once all completions of before it can be
 * polled. Holder of the turn; who shares the object with other workers excludes
 * them.
 */
void roost_async_raise(struct roost_worker *w,
		       struct roost_event_source *source,
		       enum roost_async_event type);
/* What the worker completed is published: tell what it held back, or leave it
 * to who has all turns. Holder of the turn.
 */
void roost_async_tell(struct roost_worker *w);
/* Tell what was left. Holder of all turns, who has published nothing less. */
void roost_async_tell_late(struct roost_dev *dev);
/* Before the device has anything. */
void roost_async_init(struct roost_dev *dev);

/* ---- overrun.c --- */

/* What follows from an overrun, now or soon. Holder of a turn. */
void roost_overrun_tell(struct roost_dev *dev, struct roost_cq *cq);
/* The CQ goes away. Holder of all turns. */
void roost_overrun_forget(struct roost_cq *cq);
/* Before the device has anything. */
void roost_overruns_init(struct roost_dev *dev);

/* ---- tx.c --- */

/* The queues of a new worker. Returns 0 or -ENOMEM. */
int roost_tx_open(struct roost_worker *w);
void roost_tx_close(struct roost_worker *w);
/* Room for one more frame on the path? Where not, make none. */
bool roost_tx_room(struct roost_worker *w, const struct roost_path *path);
/* Queue a frame, which is as long as with its ICRC; there is room. Takes it.
 * sealed: it has it.
 */
void roost_tx_queue(struct roost_worker *w, const struct roost_path *path,
		    struct rte_mbuf *frame, bool sealed);
/* Hand the port what it takes. */
void roost_tx_flush(struct roost_worker *w, unsigned int port_index);
/* Queue what roost_worker_send_frame() and _send_roce() have left for us.
 * Returns how many frames.
 */
unsigned int roost_tx_raw_frames(struct roost_worker *w);

/* Send a sealed RoCEv2 frame from any thread, to ourselves where loopback says
 * so; else as roost_worker_send_frame(). Kicks the worker.
 */
int roost_worker_send_roce(struct roost_worker *w, uint8_t port_num,
			   struct rte_mbuf *frame, bool loopback);

/* One received frame, checked in the order of doc/protocol.md. Takes it. */
void roost_rx_frame(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf *mbuf);

static inline void roost_worker_drop(struct roost_worker *w,
				     enum roost_drop reason)
{
	w->counters.drops[reason]++;
}

#endif
