/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: an iteration makes no allocation except mbufs, no system call except for
 * events, no log, and takes no lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/core/ahead.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/sched/tap_priv.h"
#include "lib/engine/sched/worker_priv.h"
#include "lib/event/process.h"
#include "lib/event/ring.h"

/* A burst of this many packets is a stream and not a request with a reply: its
 * sender waits for room in its window, so acknowledgements are sent at once.
 */
#define STREAM_PKTS 8u

static int create(struct roost_dev *dev, unsigned int index,
		  struct roost_worker **worker)
{
	struct roost_sched *s;
	struct roost_worker *w;
	int ret;

	s = aligned_alloc(ROOST_WORKER_PAGE_BYTES, sizeof(*s));
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	w = &s->worker;
	ret = roost_tx_open(w);
	if (ret) {
		free(s);
		return ret;
	}
	roost_process_clear(&w->turn, ROOST_WORKER_PAGE_BYTES);
	atomic_store(&w->turn.word, ROOST_TURN_FREE);
	w->dev = dev;
	w->transport = dev->transport;
	w->settle = roost_worker_publish_cqs;
	w->index = index;
	LIST_INIT(&w->armed_qps);
	roost_ready_init(w);
	TAILQ_INIT(&s->flush_qps);
	TAILQ_INIT(&w->dirty_cqs);
	TAILQ_INIT(&w->held_events);
	w->flush_left = ROOST_FLUSH_ALL;
	roost_timer_wheel_init(&w->timers, 0);
	if (index == 0 && dev->pool &&
	    dev->pool->pool_config == &roost_worker_pools)
		w->own_mbufs = (struct rte_mempool_cache){
			.size = ROOST_MBUF_CACHE,
			.flushthresh = ROOST_MBUF_CACHE * 3 / 2,
		};
	*worker = w;
	return 0;
}

static void destroy(struct roost_worker *w)
{
	roost_tx_close(w);
	rte_mempool_cache_flush(&w->own_mbufs, w->dev->pool);
	roost_steer_destroy(w);
	roost_store_fini(&w->store);
	roost_process_keep(&w->turn, ROOST_WORKER_PAGE_BYTES);
	free(roost_sched_of(w));
}

void roost_workers_destroy(struct roost_dev *dev)
{
	while (dev->nb_workers > 0)
		destroy(dev->workers[--dev->nb_workers]);
}

int roost_workers_create(struct roost_dev *dev, unsigned int n)
{
	int ret;

	do {
		ret = create(dev, dev->nb_workers,
			     &dev->workers[dev->nb_workers]);
		if (ret) {
			roost_workers_destroy(dev);
			return ret;
		}
	} while (++dev->nb_workers < n);
	ret = dev->nb_workers > 1 ? roost_steer_create(dev) : 0;
	if (ret)
		roost_workers_destroy(dev);
	return ret;
}

bool roost_worker_turn_release(struct roost_worker *w)
{
	roost_worker_turn_leave(w);
	return roost_worker_has_work(w);
}

/* ---- pending work ----------------------------------------------------- */

void roost_worker_ring(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_qp *first;

	if (atomic_exchange(&qp->doorbell_rung, true))
		return;
	first = atomic_load_explicit(&s->doorbells, memory_order_relaxed);
	do {
		atomic_store_explicit(&qp->doorbell_next, first,
				      memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&s->doorbells, &first, qp));
}

void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp)
{
	enum roost_qp_state state = roost_qp_state_get(qp);

	if (state == ROOST_QPS_ERR || state == ROOST_QPS_SQE)
		w->transport->flush(w, qp);
	else
		roost_worker_want_send(w, qp);
}

/* Reverse a part of the taken doorbells, so that they are answered oldest first
 * within each part of ROOST_BELL_BUDGET.
 */
static struct roost_qp *take_bells(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_qp *qp, *oldest = NULL;
	bool cold = roost_ahead_pays(w);

	for (unsigned int n = 0; n < ROOST_BELL_BUDGET; n++) {
		qp = s->rung;
		if (!qp)
			break;
		if (cold)
			roost_ahead_qp(qp, ROOST_LINES_LIST);
		s->rung = atomic_load_explicit(&qp->doorbell_next,
					       memory_order_relaxed);
		atomic_store_explicit(&qp->doorbell_next, oldest,
				      memory_order_relaxed);
		oldest = qp;
	}
	return oldest;
}

/* Answer up to ROOST_BELL_BUDGET doorbells: look at their QPs. Returns how
 * many; 0: there are none.
 */
static unsigned int answer_doorbells(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_qp *qp, *next;
	unsigned int n = 0;

	if (!s->rung) {
		if (!atomic_load_explicit(&s->doorbells, memory_order_relaxed))
			return 0;
		s->rung = atomic_exchange(&s->doorbells, NULL);
	}
	for (qp = take_bells(w); qp != NULL; qp = next, n++) {
		next = atomic_load_explicit(&qp->doorbell_next,
					    memory_order_relaxed);
		/* Before the queues are read: a later post rings again. */
		atomic_exchange(&qp->doorbell_rung, false);
		roost_worker_look_at(w, qp);
	}
	return n;
}

void roost_worker_unlink_qp(struct roost_worker *w, struct roost_qp *qp)
{
	roost_ready_unlink(w, qp);
	roost_timer_remove(&w->timers, &qp->req.timer);
	if (qp->pacer)
		roost_timer_remove(&w->timers, &qp->pacer->timer);
}

void roost_worker_forget_qp(struct roost_worker *w, struct roost_qp *qp)
{
	while (atomic_load(&qp->doorbell_rung) && answer_doorbells(w) != 0)
		;
	roost_worker_unlink_qp(w, qp);
}

static bool has_bells(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return s->rung || atomic_load_explicit(&s->doorbells,
					       memory_order_relaxed) != NULL;
}

bool roost_worker_has_work(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return atomic_load_explicit(&s->doorbells, memory_order_relaxed) !=
		       NULL ||
	       !roost_ring_is_empty(s->raw) ||
	       (s->steer && roost_steer_has_work(w));
}

bool roost_worker_has_looped(const struct roost_worker *w)
{
	return w->txq[ROOST_TX_LOOPBACK].count != 0;
}

bool roost_worker_has_more(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	if (s->waiting != 0 || s->rung || w->acks_first ||
	    !TAILQ_EMPTY(&s->flush_qps) || roost_worker_has_work(w))
		return true;
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (w->txq[p].count != 0)
			return true;
	return roost_worker_has_looped(w);
}

uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);
	uint64_t next_ns = roost_timer_wheel_next_ns(&w->timers);

	switch (atomic_load_explicit(&s->left, memory_order_relaxed)) {
	case ROOST_LEFT_MORE:
		return RTE_MIN(next_ns, w->now_ns);
	case ROOST_LEFT_BLOCKED:
		return RTE_MIN(next_ns,
			       w->now_ns + (w->dev->is_still
						    ? ROOST_PORT_STILL_NS
						    : ROOST_PORT_RETRY_NS));
	default:
		return next_ns;
	}
}

bool roost_worker_is_due_before(struct roost_worker *w, uint64_t ns)
{
	roost_timer_wheel_drop_cancelled(&w->timers, ns);
	return roost_worker_next_deadline_ns(w) < ns;
}

bool roost_worker_has_left(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return atomic_load_explicit(&s->left, memory_order_relaxed) ==
	       ROOST_LEFT_MORE;
}

/* ---- the iteration ---------------------------------------------------- */

/* Returns how many frames of the burst are this worker's. */
static uint16_t sort(struct roost_worker *w, unsigned int port_index,
		     struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept;

	for (uint16_t i = 0; i < n; i++)
		pkts[i]->port = (uint16_t)port_index;
	kept = roost_steer_burst(w, pkts, n);
	w->counters.handed_pkts += (uint64_t)(n - kept);
	return kept;
}

static unsigned int receive(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct rte_mbuf *pkts[ROOST_RX_BURST];
	unsigned int work = 0;

	for (unsigned int p = 0; p < w->dev->nb_ports; p++) {
		struct roost_frame_io *io = &w->dev->ports[p].frame_io;
		uint16_t n;

		if (w->index >= io->nb_queues)
			continue;
		n = io->rx_burst(io->ctx, (uint16_t)w->index, pkts,
				 ROOST_RX_BURST);
		if (n == 0)
			continue;
		work += n;
		w->counters.queue_pkts += n;
		if (s->steer)
			n = sort(w, p, pkts, n);
		if (unlikely(w->tap != NULL))
			roost_tap_receive(w, p, pkts, n);
		else
			w->transport->receive(w, p, pkts, n);
	}
	return work;
}

/* Receive loopback frames that were queued before this call; their answers wait
 * for the next call.
 */
static unsigned int receive_loopback(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct rte_mbuf *pkts[ROOST_RX_BURST];
	struct roost_frame_queue *q = &s->txq[ROOST_TX_LOOPBACK];
	struct roost_tx_fill *fill = &w->txq[ROOST_TX_LOOPBACK];
	uint16_t n =
		fill->count < ROOST_RX_BURST ? fill->count : ROOST_RX_BURST;
	unsigned int work = n;

	/* Loopback frames are never lost. */
	if (s->steer && !roost_steer_has_room(w))
		return 0;
	memcpy(pkts, q->frames, n * sizeof(pkts[0]));
	fill->count = (uint16_t)(fill->count - n);
	memmove(q->frames, q->frames + n, fill->count * sizeof(q->frames[0]));
	for (uint16_t i = 0; i < n; i++)
		pkts[i]->port |= ROOST_LOOPED;
	if (s->steer)
		n = roost_steer_burst(w, pkts, n);
	if (unlikely(w->tap != NULL))
		roost_tap_receive_each(w, pkts, n);
	else
		w->transport->receive_each(w, pkts, n);
	return work;
}

static unsigned int run_timers(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int left = ROOST_TIMER_BUDGET, n = 0;
	struct roost_timer *timer;

	while ((timer = roost_timer_wheel_expired(&w->timers, w->now_ns,
						  &left)) != NULL) {
		w->transport->expire(w, timer);
		n++;
	}
	s->timers_left = left == 0;
	return n;
}

/* Go on with QPs that are not flushed to the end. */
static void flush(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_qp *qp;

	while (w->flush_left > 0 && (qp = TAILQ_FIRST(&s->flush_qps)) != NULL)
		w->transport->flush(w, qp);
}

/* Usually there is nothing to publish. */
static inline void publish(struct roost_worker *w)
{
	if (!TAILQ_EMPTY(&w->dirty_cqs) || !TAILQ_EMPTY(&w->held_events))
		roost_worker_publish(w);
}

/* What the next iteration has to do. */
static inline enum roost_left look_back(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	enum roost_left left = ROOST_LEFT_NOTHING;

	if (roost_ready_have_work(s))
		left = roost_ready_left(w);
	else
		s->first_phase = ROOST_PHASE_ACKS;
	if (left == ROOST_LEFT_NOTHING && w->acks_first)
		left = ROOST_LEFT_BLOCKED;
	if (s->timers_left || s->rung || roost_worker_has_looped(w) ||
	    !TAILQ_EMPTY(&s->flush_qps))
		return ROOST_LEFT_MORE;
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (left == ROOST_LEFT_NOTHING && w->txq[p].count != 0)
			return ROOST_LEFT_BLOCKED;
	return left;
}

/*
 * What a program has received it may act upon, even by its end: a receive
 * completion is published when the port has the acknowledgement, so that no
 * peer waits for one from a program that is gone. Ports that send nothing for
 * now hold nothing back, nor do events, which other threads wait for.
 */
static __rte_noinline void publish_acked(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);

	s->behind = 0;
	w->acks_first = false;
	for (unsigned int p = 0; p < w->dev->nb_ports; p++) {
		if (w->dev->ports[p].state != ROOST_PORT_ACTIVE)
			continue;
		if (w->txq[p].count != 0 || (s->due >> p & 1) != 0)
			s->behind |= 1u << p;
		else if (s->steer && roost_steer_is_lending(w, p))
			w->acks_first = true;
	}
	w->acks_first |= s->behind != 0;
	if (!w->acks_first || !TAILQ_EMPTY(&w->held_events))
		roost_worker_publish(w);
}

/* Send due answers and requests that may go, and publish. Returns the number of
 * packets.
 */
static inline unsigned int send_out(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int work = roost_ready_have_work(s) ? roost_ready_send(w) : 0;

	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (w->txq[p].count != 0)
			roost_tx_flush(w, p);
	if (w->acks_first)
		publish_acked(w);
	else
		publish(w);
	w->flush_left = ROOST_FLUSH_ALL;
	atomic_store_explicit(&s->left, look_back(w), memory_order_relaxed);
	return work;
}

/*
 * Answers wait for the next iteration, so that there is one for all that comes
 * until then, unless packets come as a stream, or a program waits for a receive
 * completion.
 */
unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int work;

	w->now_ns = now_ns;
	w->flush_left = ROOST_FLUSH_BUDGET;
	roost_mbuf_begin(w);
	if (s->waiting & ROOST_READY_OWING)
		roost_ready_due(w);
	work = receive(w);
	if (s->steer)
		work += roost_steer_receive(w);
	if (w->txq[ROOST_TX_LOOPBACK].count != 0)
		work += receive_loopback(w);
	roost_mbuf_put_spent(w);
	if (work >= STREAM_PKTS || w->acks_first)
		roost_ready_due(w);
	work += run_timers(w);
	/* Most polls find nothing. */
	if (work == 0 && !roost_worker_has_more(w)) {
		w->flush_left = ROOST_FLUSH_ALL;
		atomic_store_explicit(&s->left, ROOST_LEFT_NOTHING,
				      memory_order_relaxed);
		return 0;
	}
	flush(w);
	if (has_bells(w))
		work += answer_doorbells(w);
	if (!roost_ring_is_empty(s->raw))
		work += roost_tx_raw_frames(w);
	/* The application may go on while the port is written to. */
	if (!w->acks_first)
		publish(w);
	return work + send_out(w);
}

unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int work;

	w->now_ns = now_ns;
	w->flush_left = ROOST_FLUSH_BUDGET;
	roost_mbuf_begin(w);
	if (s->waiting & ROOST_READY_OWING)
		roost_ready_due(w);
	work = has_bells(w) ? answer_doorbells(w) : 0;
	if (!roost_ring_is_empty(s->raw))
		work += roost_tx_raw_frames(w);
	return work + send_out(w);
}
