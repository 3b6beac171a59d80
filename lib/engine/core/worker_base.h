/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_WORKER_BASE_H
#define ROOST_ENGINE_CORE_WORKER_BASE_H

/*
 * The worker as all of lib/engine sees it: its turn, its time, what it
 * completes, raises and counts, and what the iteration in hand may still do.
 * Which QP is next is the scheduler's, whose struct roost_sched begins with
 * this one (lib/engine/sched/worker_priv.h). All fields belong to the holder of
 * the turn unless they say otherwise.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/timer.h"
#include "lib/engine/core/transport.h"
#include "lib/engine/core/turn.h"
#include "lib/wire/drop.h"

struct roost_mw;
struct roost_qp;

/* The smallest page; where pages are larger, the turn cannot be zeroed. */
#define ROOST_WORKER_PAGE_BYTES 4096

/* flush_left: who is no iteration has no bound. */
#define ROOST_FLUSH_ALL UINT32_MAX

/* How full a queue of frames is that leave the worker. */
struct roost_tx_fill {
	uint16_t len; /* of frames that it takes */
	uint16_t count;
};

struct roost_worker {
	struct roost_dev *dev;
	const struct roost_transport *transport; /* the device's */
	unsigned int index;                      /* in dev->workers */
	/* Of the thread that has the turn: set by roost_mbuf_begin(). */
	unsigned int lcore_id;
	uint64_t now_ns; /* of this iteration; the last one's between */
	/* Of what the iteration may still do. */
	int tx_left; /* frames, in the phase that is going on */
	uint32_t flush_left;
	bool no_mbufs; /* there was none */
	/* Of each port; and of frames to ourselves, ROOST_TX_LOOPBACK. */
	struct roost_tx_fill txq[ROOST_TX_QUEUES];
	TAILQ_HEAD(, roost_cq_part) dirty_cqs;
	struct roost_event_batch held_events; /* empty between turns */
	uint32_t nb_inflight_qps; /* QPs with unacknowledged packets */
	/* QPs that may migrate (ROOST_MIG_ARMED). */
	LIST_HEAD(, roost_qp) armed_qps;
	struct roost_mw *window; /* that a packet accesses; NULL: none, or
				  * nobody else can change it */
	struct roost_dev_counters counters;
	uint64_t stray_at_ns; /* when to punt a frame of another VLAN again */
	struct roost_timer_wheel timers;

	/* In a page of its own: a child of a fork finds it zeroed, and never
	 * gets the turn.
	 */
	struct {
		_Atomic bool is_free;
		_Atomic uint32_t wanted; /* threads in turn_take; any thread */
	} turn __attribute__((aligned(ROOST_WORKER_PAGE_BYTES)));
};

static inline void roost_worker_drop(struct roost_worker *w,
				     enum roost_drop reason)
{
	w->counters.drops[reason]++;
}

/* ---- publish.c --- */

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

#endif
