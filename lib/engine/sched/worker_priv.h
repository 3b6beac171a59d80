/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_WORKER_PRIV_H
#define ROOST_ENGINE_SCHED_WORKER_PRIV_H

/*
 * Inside of the worker; for lib/engine only. All fields belong to the holder
 * of the turn unless they say otherwise.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/sched/steer.h"
#include "lib/engine/sched/timer.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/drop.h"

struct rte_mbuf;
struct rte_ring;
struct roost_mw;
struct roost_path;
struct roost_qp;

/* Frames that are received at a time. */
#define ROOST_RX_BURST 32u
/*
 * What one iteration does at the most, whatever there is to be done; the rest
 * waits for the next one (doc/threads.md, "An iteration is short").
 */
/* Frames of requests and responses; one of ROOST_TX_LARGE_BYTES counts for two,
 * so that it is no more than 128 KiB.
 */
#define ROOST_DATA_BUDGET 64
#define ROOST_TX_LARGE_BYTES 2048u
#define ROOST_ACK_BUDGET 64
#define ROOST_RAW_BUDGET 64u
/* QPs that are looked at for something to send, and requests that are begun
 * there.
 */
#define ROOST_STEP_BUDGET 192
#define ROOST_BELL_BUDGET 128u
/* Timers that expire, or are moved in the wheel. */
#define ROOST_TIMER_BUDGET 64u
/* Requests that are flushed. Who is no iteration has no bound. */
#define ROOST_FLUSH_BUDGET 256u
#define ROOST_FLUSH_ALL UINT32_MAX
/* A port that takes no more is looked at again after this. */
#define ROOST_PORT_RETRY_NS 50000u

/* From so many QPs of a worker on, little of one is in the cache when it is
 * needed. To get it there takes as long as so many frames, which is what a QP
 * counts for at least.
 */
#define ROOST_QPS_COLD 256u
#define ROOST_COLD_FRAMES 2

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

/* What QPs are listed for. */
enum roost_phase {
	ROOST_PHASE_ACKS,      /* they owe an answer */
	ROOST_PHASE_RESPONSES, /* it is due, and there are responses in it */
	ROOST_PHASE_REQUESTS,  /* they have requests that may go now */
	ROOST_PHASES,
};

TAILQ_HEAD(roost_qp_list, roost_qp);

/* QPs that want to send the same kind by the same queue. */
struct roost_lane {
	struct roost_qp_list qps;
	/* Packets that the first one may still send in its burst, which the end
	 * of the room or of the iteration has cut; 0: as many as any QP.
	 */
	uint32_t burst_left;
	/* ACKS: the last QP whose answer is due in this iteration; NULL: none.
	 * Those behind it owe theirs since this iteration only.
	 */
	struct roost_qp *last_due;
};

/* Where a lane stands in worker.lanes, and its bit in worker.waiting. */
#define ROOST_LANE_SHIFT 2
#define ROOST_LANE(phase, queue) ((phase) << ROOST_LANE_SHIFT | (queue))
#define ROOST_PHASE_MASK ((1u << (1 << ROOST_LANE_SHIFT)) - 1) /* of ACKS */
_Static_assert(ROOST_PHASE_ACKS == 0, "lanes of ACKS are queues");
_Static_assert(ROOST_TX_QUEUES <= 1 << ROOST_LANE_SHIFT, "a place for each");

/* What an iteration left behind. */
enum roost_left {
	ROOST_LEFT_NOTHING,
	ROOST_LEFT_BLOCKED, /* until a port takes frames, or there are mbufs */
	ROOST_LEFT_MORE,    /* that the next one can do */
};

struct roost_worker {
	struct roost_dev *dev;
	unsigned int index; /* in dev->workers */
	/* Of the thread that has the turn: set by roost_mbuf_begin(). */
	unsigned int lcore_id;
	struct roost_steer *steer; /* NULL: there is no other worker */
	uint64_t now_ns;  /* of this iteration; the last one's between */
	uint32_t waiting; /* lanes that are not empty: 1 << ROOST_LANE() */
	uint32_t due;     /* lanes of ACKS that have a last_due */
	/* Who comes first: moved on with each iteration that leaves something
	 * behind.
	 */
	uint8_t first_phase;
	uint8_t first_queue;
	bool timers_left; /* the last iteration did not run all */
	bool no_mbufs;    /* it had none */
	/* Of what the iteration may still do. */
	int tx_left;    /* frames, in the phase that is going on */
	int steps_left; /* see ROOST_STEP_BUDGET */
	uint32_t flush_left;
	_Atomic uint32_t left; /* enum roost_left; read by any thread */
	struct roost_lane lanes[ROOST_LANE(ROOST_PHASES, 0)];
	struct roost_qp_list flush_qps; /* not flushed to the end */
	/* Doorbells that were taken and not answered; newest first. */
	struct roost_qp *rung;
	TAILQ_HEAD(, roost_cq_part) dirty_cqs;
	struct roost_event_batch held_events; /* empty between turns */
	/* Of each port; and of frames to ourselves, ROOST_TX_LOOPBACK. */
	struct roost_frame_queue txq[ROOST_TX_QUEUES];
	bool raw_stood_back;      /* frames of raw did, for those of QPs */
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
/* Put a QP that has posted requests where its state wants it: in a lane, or
 * its requests are flushed.
 */
void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp);
/* Answer doorbells, up to ROOST_BELL_BUDGET: their QPs are looked at then.
 * Returns how many; 0: there are none.
 */
unsigned int roost_worker_answer_doorbells(struct roost_worker *w);
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

/* ---- lanes.c ---------------------------------------------------------- */

void roost_lanes_init(struct roost_worker *w);
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
/* What is owed until now is due. Where worker.waiting says that nothing is, no
 * call is needed.
 */
#define ROOST_LANES_OWING ROOST_PHASE_MASK
void roost_lanes_due(struct roost_worker *w);
/* Is anything due, or may go? */
static inline bool roost_lanes_have_work(const struct roost_worker *w)
{
	return (w->due | w->waiting >> ROOST_LANE(1, 0)) != 0;
}
/* Queue that, if there is any. Returns the number of packets. */
unsigned int roost_lanes_send(struct roost_worker *w);
/* What of it is left, if there is any; the end of an iteration. */
enum roost_left roost_lanes_left(struct roost_worker *w);
/* Out of all lists. */
void roost_lanes_unlink(struct roost_worker *w, struct roost_qp *qp);

/* ---- tx.c --- */

/* The queues of a new worker. Returns 0 or -ENOMEM. */
int roost_tx_open(struct roost_worker *w);
void roost_tx_close(struct roost_worker *w);
/* Has a queue no room for one more frame, even if the port is asked? */
bool roost_tx_stays_full(struct roost_worker *w, unsigned int queue);
static inline bool roost_tx_has_room(struct roost_worker *w, unsigned int queue)
{
	return w->txq[queue].count < w->txq[queue].len ||
	       !roost_tx_stays_full(w, queue);
}
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

/* In mbuf->port, beside the port: we sent it, it was on no wire. */
#define ROOST_LOOPED 0x8000u

/* One received frame, checked in the order of doc/protocol.md. Takes it. from:
 * the port, and ROOST_LOOPED.
 */
void roost_rx_frame(struct roost_worker *w, unsigned int from,
		    struct rte_mbuf *mbuf);

static inline void roost_worker_drop(struct roost_worker *w,
				     enum roost_drop reason)
{
	w->counters.drops[reason]++;
}

#endif
