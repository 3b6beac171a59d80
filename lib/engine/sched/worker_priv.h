/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_WORKER_PRIV_H
#define ROOST_ENGINE_SCHED_WORKER_PRIV_H

/*
 * Inside of the scheduler; for lib/engine/sched only, and for tests. All fields
 * belong to the holder of the turn unless their comment says otherwise.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <sys/queue.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/sched/steer.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/frame.h"

struct rte_mbuf;
struct rte_ring;
struct roost_qp;

/*
 * Bounds of one iteration; the work beyond a bound waits for the next iteration
 * (doc/threads.md, "An iteration is short").
 */
/* Frames of requests and responses; a frame of ROOST_TX_LARGE_BYTES or more
 * counts as two, so that the total is at most 128 KiB.
 */
#define ROOST_DATA_BUDGET 64
#define ROOST_ACK_BUDGET 64
#define ROOST_RAW_BUDGET 64u
/* QPs that are looked at for something to send, and requests that are started
 * there.
 */
#define ROOST_STEP_BUDGET 192
#define ROOST_BELL_BUDGET 128u
/* Timers that expire, or are moved in the wheel. */
#define ROOST_TIMER_BUDGET 64u
/* Requests that are flushed; ROOST_FLUSH_ALL outside of an iteration. */
#define ROOST_FLUSH_BUDGET 256u
/* Time until a port that took no more frames is offered frames again. */
#define ROOST_PORT_RETRY_NS 50000u
/* The same while all ports stand still (roost_port_set_still()). */
#define ROOST_PORT_STILL_NS 1000000u

/* Packets of one QP before the next QP has its turn. */
#define ROOST_QP_BURST_PKTS 32u

/* Loading a cold QP into the cache (core/ahead.h) costs as much as sending this
 * many frames, so a QP counts for at least this many.
 */
#define ROOST_COLD_FRAMES 2

/* Frames that wait for the port; the worker makes no more until the port takes
 * some.
 */
#define ROOST_TXQ_LEN 64u
/* Loopback frames within one iteration and the next. */
#define ROOST_LOOPBACK_LEN 256u

struct roost_frame_queue {
	struct rte_mbuf *frames[ROOST_LOOPBACK_LEN];
	/* unsealed[i] belongs to frames[i]; frames for a port are sealed on
	 * their way out. All zeros from count on.
	 */
	struct roost_unsealed unsealed[ROOST_LOOPBACK_LEN];
};

/* Why a QP is in a ready list. */
enum roost_phase {
	ROOST_PHASE_ACKS,      /* the QP owes an answer */
	ROOST_PHASE_RESPONSES, /* an answer is due, with responses in it */
	ROOST_PHASE_REQUESTS,  /* the QP has requests that may go now */
	ROOST_PHASES,
};

TAILQ_HEAD(roost_qp_list, roost_qp);

/* QPs that want to send in the same phase by the same queue. */
struct roost_ready_list {
	struct roost_qp_list qps;
	/* Packets that the first QP may still send in its burst, after the end
	 * of the room or of the iteration cut the burst; 0: a whole burst.
	 */
	uint32_t burst_left;
	/* ACKS: the last QP whose answer is due in this iteration; NULL: none.
	 * The QPs behind it owe their answers since this iteration only.
	 */
	struct roost_qp *last_due;
};

/* Index of a list in ready, and of its bit in waiting. */
#define ROOST_READY_SHIFT 2
#define ROOST_READY(phase, queue) ((phase) << ROOST_READY_SHIFT | (queue))
#define ROOST_PHASE_MASK ((1u << (1 << ROOST_READY_SHIFT)) - 1) /* of ACKS */
_Static_assert(ROOST_PHASE_ACKS == 0, "lists of ACKS are queues");
_Static_assert(ROOST_TX_QUEUES <= 1 << ROOST_READY_SHIFT, "a place for each");

/* What an iteration left behind. */
enum roost_left {
	ROOST_LEFT_NOTHING,
	ROOST_LEFT_BLOCKED, /* until a port takes frames, or there are mbufs */
	ROOST_LEFT_MORE,    /* that the next iteration can do */
};

struct roost_sched {
	struct roost_worker worker; /* first: the one is found by the other */
	struct roost_steer *steer;  /* NULL: there is no other worker */
	uint32_t waiting; /* lists that are not empty: 1 << ROOST_READY() */
	uint32_t due;     /* lists of ACKS that have a last_due */
	/* Ports that have to take acknowledgements, and nothing else before:
	 * receive completions wait for them (roost_worker.acks_first).
	 */
	uint32_t behind;
	/* The phase and queue that come first; changed after each iteration
	 * that leaves work behind.
	 */
	uint8_t first_phase;
	uint8_t first_queue;
	bool timers_left;      /* the last iteration did not run all */
	int steps_left;        /* see ROOST_STEP_BUDGET */
	_Atomic uint32_t left; /* enum roost_left; read by any thread */
	struct roost_ready_list ready[ROOST_READY(ROOST_PHASES, 0)];
	struct roost_qp_list flush_qps; /* not flushed to the end */
	/* QPs whose doorbells were taken and not answered yet; newest first. */
	struct roost_qp *rung;
	/* worker.txq says how full each is. */
	struct roost_frame_queue txq[ROOST_TX_QUEUES];
	bool raw_stood_back; /* raw frames waited, so that QPs could send */

	/* QPs whose doorbell was rung, newest first; pushed by any thread,
	 * taken as a whole. A list and not an rte_ring, because a ring would
	 * need an entry for every QP that the device can have.
	 */
	_Atomic(struct roost_qp *) doorbells
		__attribute__((aligned(ROOST_WORKER_PAGE_BYTES)));
	struct rte_ring *raw; /* struct raw_frame; enqueue: any thread */
};
_Static_assert(offsetof(struct roost_sched, worker) == 0,
	       "roost_sched_of() is no more than a cast");

static inline struct roost_sched *roost_sched_of(struct roost_worker *w)
{
	return (struct roost_sched *)(void *)w;
}

static inline const struct roost_sched *
roost_sched_of_const(const struct roost_worker *w)
{
	return (const struct roost_sched *)(const void *)w;
}

/* ---- ready.c ---------------------------------------------------------- */

void roost_ready_init(struct roost_worker *w);
/* Make every answer that is owed now due. No call is needed if
 * roost_sched.waiting says that none is owed.
 */
#define ROOST_READY_OWING ROOST_PHASE_MASK
void roost_ready_due(struct roost_worker *w);
/* True if an answer is due, or a request may go. */
static inline bool roost_ready_have_work(const struct roost_sched *s)
{
	return (s->due | s->waiting >> ROOST_READY(1, 0)) != 0;
}
/* Queue the frames of due answers and of requests that may go. Returns the
 * number of packets.
 */
unsigned int roost_ready_send(struct roost_worker *w);
/* What roost_ready_send() left; called at the end of an iteration. */
enum roost_left roost_ready_left(struct roost_worker *w);
/* Remove the QP from all ready lists. */
void roost_ready_unlink(struct roost_worker *w, struct roost_qp *qp);

/* ---- tx.c --- */

/* The queues of a new worker. Returns 0 or -ENOMEM. */
int roost_tx_open(struct roost_worker *w);
void roost_tx_close(struct roost_worker *w);
/* Hand the port as many queued frames as it takes. */
void roost_tx_flush(struct roost_worker *w, unsigned int port_index);
/* Queue the frames of roost_worker_send_frame() and roost_worker_send_roce().
 * Returns how many frames.
 */
unsigned int roost_tx_raw_frames(struct roost_worker *w);

#endif
