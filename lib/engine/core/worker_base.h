/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_WORKER_BASE_H
#define ROOST_ENGINE_CORE_WORKER_BASE_H

/*
 * The worker as all of lib/engine sees it: its turn, its time, its completions,
 * events and counters, and the budget of the current iteration. The scheduler
 * decides which QP is next; its struct roost_sched begins with this one
 * (lib/engine/sched/worker_priv.h). All fields belong to the holder of the turn
 * unless their comment says otherwise.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include <rte_mempool.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/flight.h"
#include "lib/engine/core/trouble.h"
#include "lib/engine/core/hold.h"
#include "lib/engine/core/slots.h"
#include "lib/engine/core/timer.h"
#include "lib/engine/core/transport.h"
#include "lib/engine/core/turn.h"
#include <roost/drop.h>

struct roost_mw;
struct roost_qp;
struct roost_tap;

/* The smallest page size. On a system with larger pages, fork(2) cannot zero
 * the turn.
 */
#define ROOST_WORKER_PAGE_BYTES 4096

/* See roost_worker.turn. */
#define ROOST_TURN_FREE 1u

/* flush_left outside of an iteration: no bound. */
#define ROOST_FLUSH_ALL UINT32_MAX

/* Frames that are received at a time. */
#define ROOST_RX_BURST 32u

/* Fill level of a queue of outgoing frames. */
struct roost_tx_fill {
	uint16_t len; /* capacity in frames */
	uint16_t count;
	uint16_t sniffed; /* the first ones, which sniffers have had */
	/* Its frames, count of them, and what is to be sealed on the way out:
	 * unsealed[i] belongs to frames[i], and is zero from count on.
	 */
	struct rte_mbuf **frames;
	struct roost_unsealed *unsealed;
};

/* Headers that the worker has seen, and who they are for. */
struct roost_seen {
	struct roost_frame_known known;
	unsigned int from; /* the port, and ROOST_LOOPED */
	/* The destination is an address of the port, as of this generation of
	 * the GID tables (roost_dev.gid_gen).
	 */
	bool is_own;
	uint32_t gid_gen;
};

/* Places for them; a power of two. */
#define ROOST_SEEN_MAX 8u

struct roost_worker {
	struct roost_dev *dev;
	const struct roost_transport *transport; /* the device's */
	const struct roost_tap *tap;             /* NULL: none */
	unsigned int index;                      /* in dev->workers */
	/* lcore of the thread that holds the turn; set by roost_mbuf_begin().
	 */
	unsigned int lcore_id;
	/* Its cache of the device's pool; NULL: none. Set with it. */
	struct rte_mempool_cache *mbufs;
	uint64_t now_ns; /* of this iteration; between iterations, of the last
			  * one */
	/* Rest of the budgets of the iteration. */
	int tx_left; /* frames, in the current phase */
	uint32_t flush_left;
	bool no_mbufs;     /* an allocation failed */
	uint8_t last_drop; /* enum roost_drop: the reason of the last drop */
	/* There are receive completions whose acknowledgements the ports have
	 * not taken: nothing is published until they have.
	 */
	bool acks_first;
	struct roost_cqe lost_cqe; /* written instead of one without room */
	/* Publish those completions all the same. The scheduler's, who held
	 * them back.
	 */
	void (*settle)(struct roost_worker *w);
	/* One for each port; ROOST_TX_LOOPBACK: loopback frames. */
	struct roost_tx_fill txq[ROOST_TX_QUEUES];
	TAILQ_HEAD(, roost_cq_part) dirty_cqs;
	struct roost_event_batch held_events; /* empty between turns */
	uint32_t pace_phase; /* of the last QP that began (transport/pace.c) */
	/* QPs that may migrate (ROOST_MIG_ARMED). */
	LIST_HEAD(, roost_qp) armed_qps;
	struct roost_mw *window; /* locked window that a packet accesses; NULL:
				  * none, or no other worker can change it */
	struct roost_dev_counters counters;
	struct roost_last_drop last_drops[ROOST_DROPS_MAX]; /* by reason */
	struct roost_seen seen[ROOST_SEEN_MAX];
	uint64_t stray_at_ns; /* when to punt a frame of another VLAN again */
	struct roost_store store;
	struct roost_trouble untold; /* of QPs that the store has none for */
	LIST_HEAD(, roost_share) shares[ROOST_SHARE_BUCKETS];
	struct roost_timer_wheel timers;
	/* See core/mbuf.h; size 0: not used. */
	struct rte_mempool_cache own_mbufs;
	/* Free mbufs of one pool, whose slots the sender has again: see
	 * roost_mbuf_put_spent(). None between turns.
	 */
	struct rte_mbuf *spent[ROOST_RX_BURST];
	uint32_t nb_spent;
	struct roost_slots idle_slots; /* of send queues */

	/* In a page of its own: a child of fork(2) finds it zeroed, and never
	 * gets the turn.
	 */
	struct {
		/* ROOST_TURN_FREE, and the number of turns that ended, times
		 * two.
		 */
		_Atomic uint32_t word;
		_Atomic uint32_t wanted; /* threads in turn_take; any thread */
	} turn __attribute__((aligned(ROOST_WORKER_PAGE_BYTES)));
};

static inline void roost_worker_drop(struct roost_worker *w,
				     enum roost_drop reason)
{
	w->counters.drops[reason]++;
	w->last_drop = (uint8_t)reason;
}

/* ---- publish.c --- */

/* Publish the completions that were pushed to CQs. If a CQ was overrun, raise
 * CQ_ERR, move every QP on it to ERR with QP_FATAL and every WQ with WQ_FATAL,
 * and raise SRQ_ERR for every XRC SRQ. Then raise the async events that were
 * held back. Every thread that may have completed a request or raised an event
 * calls this before it releases the turn.
 */
void roost_worker_publish(struct roost_worker *w);
/* As roost_worker_publish(), for all workers. Holder of all turns. */
void roost_dev_publish(struct roost_dev *dev);
/* Publish the completions only: the only events raised are completion events.
 */
void roost_worker_publish_cqs(struct roost_worker *w);

/* ---- async.c --- */

/* Raise an async event of an object, once all completions from before it can be
 * polled. Holder of the turn; if the object is shared with other workers, the
 * caller excludes them.
 */
void roost_async_raise(struct roost_worker *w,
		       struct roost_event_source *source,
		       enum roost_async_event type);
/* To be called when the worker's completions are published: raise the events
 * that it held back, or leave them in late.events, if other workers may hold
 * back completions from before them. Holder of the turn.
 */
void roost_async_tell(struct roost_worker *w);
/* Raise those: everything is published. Holder of all turns. */
void roost_async_tell_late(struct roost_dev *dev);
/* As roost_dev_turns_pass(), and every event that was raised before, in
 * whatever turn, is in its channel: for an object that raises no more.
 */
void roost_async_pass(struct roost_dev *dev);
/* Before the device has anything. */
void roost_async_init(struct roost_dev *dev);

/* ---- overrun.c --- */

/* Fail the users of an overrun CQ, now or soon. Holder of a turn. */
void roost_overrun_tell(struct roost_dev *dev, struct roost_cq *cq);
/* Before the device has anything. */
void roost_overruns_init(struct roost_dev *dev);

#endif
