/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_CQ_PRIV_H
#define ROOST_ENGINE_CORE_CQ_PRIV_H

/*
 * Inside of completion queues; for lib/engine only.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <roost/cq.h>
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/spin.h"

struct roost_qp;
struct roost_srq;
struct roost_worker;
struct roost_wq;

enum roost_cq_armed {
	ROOST_CQ_UNARMED,
	ROOST_CQ_ARMED_SOLICITED,
	ROOST_CQ_ARMED_ANY,
};

/* One worker's unpublished part of a CQ. */
struct roost_cq_part {
	TAILQ_ENTRY(roost_cq_part) dirty_link;
	struct roost_cq *cq;
	_Atomic bool dirty; /* in the worker's list: publish at the end */
	bool open;      /* dirty, and no other worker has users: entries need no
			 * lock. Holder of the worker's turn */
	uint32_t first; /* while dirty: the first entry that it pushed */
};

/*
 * While all users of a CQ belong to one worker, the turn of that worker is
 * enough to produce entries. A CQ that workers share has a lock for producing,
 * held for one entry. An entry may be published only after the worker that
 * pushed it has finished with the request, because the thread that polls it may
 * post to the slot again. Entries are published in order, so the unpublished
 * entries of one worker hold back the later entries of others until that worker
 * publishes.
 */
struct roost_cq {
	/* Producer: the holder of the turn, and of produce_lock if shared. */
	struct roost_cqe *ring __attribute__((aligned(64)));
	uint32_t mask;     /* entries - 1 */
	uint32_t produced; /* entries written, not all published */
	/* By workers. Writer: under users_lock. The worker that was alone has
	 * seen it before the second one has a user, and it ends in the turn of
	 * the only one left.
	 */
	_Atomic bool shared;
	bool solicited;      /* not shared: an unpublished entry is solicited */
	bool ignore_overrun; /* entries without room are lost; constant */
	bool withheld; /* shared: entries are held back for a worker that has
			* not published; under produce_lock */
	_Atomic bool overrun;       /* an entry had no room: no more are
				     * added */
	_Atomic bool overrun_told;  /* all entries with room are published,
				     * CQ_ERR was raised, the QPs are in ERR */
	_Atomic uint32_t published; /* pairs with poll's acquire */
	_Atomic uint32_t armed;     /* enum roost_cq_armed */
	/* The end of the entries that were published with a solicited one. */
	_Atomic uint32_t solicited_end;
	/* When the last event was raised: published, and shown. */
	_Atomic uint32_t told_end, told_shown;
	struct roost_cq_part parts[ROOST_DEV_WORKERS_MAX]; /* by worker */
	struct roost_spin produce_lock;
	_Atomic uint32_t workers; /* bit set of workers that have users here;
				   * writer: under users_lock */
	uint32_t nb_users[ROOST_DEV_WORKERS_MAX]; /* of each worker, XRC SRQs
						   * of the CQ among them;
						   * under users_lock */
	/* Writer: under users_lock, holder of the user's turn, or of the first
	 * worker's for an SRQ.
	 */
	LIST_HEAD(, roost_qp) senders;   /* their sends complete here */
	LIST_HEAD(, roost_qp) receivers; /* their receives do */
	LIST_HEAD(, roost_wq) wqs;       /* and those of these */
	LIST_HEAD(, roost_srq) srqs;     /* XRC SRQs that complete here */
	/* Under dev->overruns.lock. */
	bool in_overruns;
	LIST_ENTRY(roost_cq) overrun_link;

	/* Consumers. */
	struct roost_spin lock __attribute__((aligned(64)));
	_Atomic pthread_t poller; /* thread between poll_begin and poll_end; 0:
				   * none */
	_Atomic uint32_t consumed;
	/* Entries before this one are known to the application: consumed, or
	 * shown since poll_begin.
	 */
	_Atomic uint32_t shown;
	/* The same as a place: completions that were added at places before
	 * this one are known. It differs from shown while the next entry is one
	 * that was moved (cq_clean.c).
	 */
	_Atomic uint32_t shown_place;
	uint32_t nb_moved; /* so many entries from shown on were moved */

	struct roost_ctx *ctx;
	uint32_t handle;
	LIST_ENTRY(roost_cq) all_link; /* dev->all.cqs */
	/* Under users_lock: an XRC SRQ completes here, or did. */
	bool of_xrc;
	LIST_ENTRY(roost_cq) xrc_link; /* dev->xrc_cqs */
	_Atomic uint32_t refs;         /* users */
	struct roost_event_source comp;
	struct roost_event_source async;
};

static inline bool roost_cq_is_shared(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->shared, memory_order_relaxed);
}

static inline bool roost_cq_is_dirty(const struct roost_cq *cq,
				     unsigned int worker)
{
	return atomic_load_explicit(&cq->parts[worker].dirty,
				    memory_order_relaxed);
}

/* Add one completion; roost_worker_publish() makes it visible. A CQ without
 * room is overrun, and its QPs fail when the worker publishes. Holder of the
 * turn. Returns its place, for roost_cq_is_polled(); for a completion that was
 * lost, a place that counts as polled.
 */
uint32_t roost_cq_push(struct roost_worker *w, struct roost_cq *cq,
		       const struct roost_cqe *cqe);
/* A place that counts as polled. */
static inline uint32_t roost_cq_no_entry(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->shown_place, memory_order_relaxed) - 1;
}

/* True if the entry was polled. Acquire: everything before the poll is visible
 * too. A place that is so old that the entry numbers have wrapped around may
 * seem not polled for a while.
 */
static inline bool roost_cq_is_polled(const struct roost_cq *cq, uint32_t entry)
{
	/* The oldest entry may have moved by ROOST_CQE_MAX. */
	return entry - atomic_load_explicit(&cq->shown_place,
					    memory_order_acquire) >=
	       2 * ROOST_CQE_MAX;
}

/* True if this thread is between poll_begin and poll_end of the CQ. */
static inline bool roost_cq_polled_by_us(const struct roost_cq *cq)
{
	return atomic_load_explicit(&cq->poller, memory_order_relaxed) ==
	       pthread_self();
}

/* Publish the entries that the worker pushed, and raise a completion event if
 * the CQ is armed. part is clean afterwards. Holder of the turn.
 */
void roost_cq_publish(struct roost_cq *cq, struct roost_cq_part *part);

/* The CQ gets, or loses, a user that belongs to that worker: before it
 * completes anything here, or after. Under users_lock; the caller holds no
 * turn.
 */
void roost_cq_join(struct roost_cq *cq, unsigned int worker);
void roost_cq_leave(struct roost_cq *cq, unsigned int worker);
/* The same for an XRC SRQ, to which QPs of any worker may complete. */
void roost_cq_join_all(struct roost_cq *cq);
void roost_cq_leave_all(struct roost_cq *cq);

/* What a worker has pushed and published can be polled afterwards, even if
 * other workers withheld it: they publish what they have. The caller holds no
 * turn.
 */
void roost_cq_settle(struct roost_cq *cq);

/* ---- entries that were moved --- */

/* In the ring: an entry's vendor_err has the code in its low bits, and above
 * them by how many places the entry was moved, ROOST_CQE_MAX at most.
 */
#define ROOST_CQE_MOVED_SHIFT 8

static inline uint32_t roost_cqe_moved(const struct roost_cqe *cqe)
{
	return cqe->vendor_err >> ROOST_CQE_MOVED_SHIFT;
}

static inline uint32_t roost_cqe_code(const struct roost_cqe *cqe)
{
	return cqe->vendor_err & ((1u << ROOST_CQE_MOVED_SHIFT) - 1);
}

/* The entries before next are known to the application. Consumers are locked
 * out.
 */
static inline void roost_cq_set_shown(struct roost_cq *cq, uint32_t next)
{
	uint32_t place = next;

	if (__builtin_expect(cq->nb_moved != 0, 0))
		place -= roost_cqe_moved(&cq->ring[next & cq->mask]);
	atomic_store_explicit(&cq->shown, next, memory_order_release);
	atomic_store_explicit(&cq->shown_place, place, memory_order_release);
}

/* ---- cq_clean.c --- */

/* Remove the object's completions that no poll has shown. The object completes
 * nothing any more, and its worker has published. Returns false: another thread
 * polls a CQ of the object, and some may be left. The caller holds no turn.
 */
bool roost_qp_clean_cqs(struct roost_qp *qp);
bool roost_wq_clean_cq(struct roost_wq *wq);

#endif
