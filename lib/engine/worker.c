/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: an iteration makes no allocation but mbufs, no system call but what
 * events cost, no log, and takes no lock.
 */

#include <errno.h>
#include <stddef.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/mbuf.h"
#include "lib/engine/mcast_priv.h"
#include "lib/engine/worker_priv.h"
#include "lib/event/process.h"

/* So many packets at once are a stream and no conversation: who sends them
 * waits for room in its window, and what they are answered with is not held
 * back.
 */
#define STREAM_PKTS 8u

int roost_worker_create(struct roost_dev *dev, unsigned int index,
			struct roost_worker **worker)
{
	struct roost_worker *w;
	int rc;

	w = roost_process_memory(sizeof(*w),
				 offsetof(struct roost_worker, turn),
				 ROOST_WORKER_PAGE_BYTES);
	if (w == NULL)
		return -ENOMEM;
	rc = roost_tx_open(w);
	if (rc != 0) {
		roost_process_memory_free(w, sizeof(*w));
		return rc;
	}
	atomic_store(&w->turn.is_free, true);
	w->dev = dev;
	w->index = index;
	LIST_INIT(&w->armed_qps);
	TAILQ_INIT(&w->send_qps);
	TAILQ_INIT(&w->ack_qps);
	TAILQ_INIT(&w->dirty_cqs);
	TAILQ_INIT(&w->held_events);
	roost_timer_wheel_init(&w->timers, 0);
	*worker = w;
	return 0;
}

void roost_worker_destroy(struct roost_worker *w)
{
	roost_tx_close(w);
	roost_steer_destroy(w);
	roost_process_memory_free(w, sizeof(*w));
}

/* ---- what is to be done ----------------------------------------------- */

void roost_worker_ring(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_qp *first;

	if (atomic_exchange(&qp->doorbell_rung, true))
		return;
	first = atomic_load_explicit(&w->doorbells, memory_order_relaxed);
	do {
		atomic_store_explicit(&qp->doorbell_next, first,
				      memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&w->doorbells, &first, qp));
}

void roost_worker_look_at(struct roost_worker *w, struct roost_qp *qp)
{
	enum roost_qp_state state = roost_qp_state_get(qp);

	if (state == ROOST_QPS_ERR || state == ROOST_QPS_SQE)
		roost_qp_flush(w, qp);
	else
		roost_worker_want_send(w, qp);
}

unsigned int roost_worker_answer_doorbells(struct roost_worker *w)
{
	struct roost_qp *qp, *next, *oldest = NULL;
	unsigned int n = 0;

	if (atomic_load_explicit(&w->doorbells, memory_order_relaxed) == NULL)
		return 0;
	/* Newest first: turn the list around. */
	qp = atomic_exchange(&w->doorbells, NULL);
	for (; qp != NULL; qp = next) {
		next = atomic_load_explicit(&qp->doorbell_next,
					    memory_order_relaxed);
		atomic_store_explicit(&qp->doorbell_next, oldest,
				      memory_order_relaxed);
		oldest = qp;
	}
	for (qp = oldest; qp != NULL; qp = next, n++) {
		next = atomic_load_explicit(&qp->doorbell_next,
					    memory_order_relaxed);
		/* Before its queues are read: what is posted from here on
		 * rings again.
		 */
		atomic_exchange(&qp->doorbell_rung, false);
		roost_worker_look_at(w, qp);
	}
	return n;
}

void roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->in_send_list)
		return;
	qp->in_send_list = true;
	TAILQ_INSERT_TAIL(&w->send_qps, qp, send_link);
}

void roost_worker_want_ack(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->in_ack_list)
		return;
	qp->in_ack_list = true;
	TAILQ_INSERT_TAIL(&w->ack_qps, qp, ack_link);
}

static void leave_send_list(struct roost_worker *w, struct roost_qp *qp)
{
	qp->in_send_list = false;
	TAILQ_REMOVE(&w->send_qps, qp, send_link);
}

static void leave_ack_list(struct roost_worker *w, struct roost_qp *qp)
{
	if (w->last_due == qp)
		w->last_due = TAILQ_PREV(qp, roost_qp_list, ack_link);
	qp->in_ack_list = false;
	TAILQ_REMOVE(&w->ack_qps, qp, ack_link);
}

void roost_worker_unlink_qp(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->in_send_list)
		leave_send_list(w, qp);
	if (qp->in_ack_list)
		leave_ack_list(w, qp);
	roost_timer_remove(&w->timers, &qp->req.timer);
	roost_timer_remove(&w->timers, &qp->req.pace_timer);
	if (qp->req.inflight) {
		qp->req.inflight = false;
		w->nb_inflight_qps--;
	}
}

void roost_worker_forget_qp(struct roost_worker *w, struct roost_qp *qp)
{
	roost_worker_answer_doorbells(w);
	roost_worker_unlink_qp(w, qp);
}

bool roost_worker_has_work(const struct roost_worker *w)
{
	return atomic_load_explicit(&w->doorbells, memory_order_relaxed) !=
		       NULL ||
	       !rte_ring_empty(w->raw) ||
	       (w->steer != NULL && roost_steer_has_work(w));
}

/* Is there anything to do that neither a frame nor a timer brings? */
static bool has_more(const struct roost_worker *w)
{
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (w->txq[p].count != 0)
			return true;
	return w->loopback.count != 0 || !TAILQ_EMPTY(&w->send_qps) ||
	       !TAILQ_EMPTY(&w->ack_qps) || roost_worker_has_work(w);
}

bool roost_worker_is_busy(const struct roost_worker *w)
{
	return w->nb_inflight_qps != 0 || has_more(w);
}

uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w)
{
	return roost_timer_wheel_next_ns(&w->timers);
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
	struct rte_mbuf *pkts[ROOST_RX_BURST];
	unsigned int work = 0;

	for (unsigned int p = 0; p < w->dev->nb_ports; p++) {
		struct roost_port_io *io = &w->dev->ports[p].io;
		uint16_t n;

		if (w->index >= io->nb_queues)
			continue;
		n = io->rx_burst(io->ctx, (uint16_t)w->index, pkts,
				 ROOST_RX_BURST);
		if (n == 0)
			continue;
		work += n;
		w->counters.queue_pkts += n;
		if (w->steer != NULL)
			n = sort(w, p, pkts, n);
		for (uint16_t i = 0; i < n; i++) {
			if (i + 1 < n)
				rte_prefetch0(
					rte_pktmbuf_mtod(pkts[i + 1], void *));
			roost_rx_frame(w, p, pkts[i]);
		}
	}
	return work;
}

/* Frames to ourselves that were queued before; their answers wait for the
 * next round.
 */
static unsigned int receive_loopback(struct roost_worker *w)
{
	struct rte_mbuf *pkts[ROOST_RX_BURST];
	struct roost_frame_queue *q = &w->loopback;
	uint16_t n = q->count < ROOST_RX_BURST ? q->count : ROOST_RX_BURST;
	unsigned int work = n;

	/* Nothing is lost on the way to ourselves. */
	if (w->steer != NULL && !roost_steer_has_room(w))
		return 0;
	memcpy(pkts, q->frames, n * sizeof(pkts[0]));
	q->count = (uint16_t)(q->count - n);
	memmove(q->frames, q->frames + n, q->count * sizeof(q->frames[0]));
	if (w->steer != NULL)
		n = roost_steer_burst(w, pkts, n);
	for (uint16_t i = 0; i < n; i++)
		roost_rx_frame(w, pkts[i]->port, pkts[i]);
	return work;
}

static unsigned int run_timers(struct roost_worker *w)
{
	struct roost_timer *timer;
	unsigned int n = 0;

	while ((timer = roost_timer_wheel_expired(&w->timers, w->now_ns)) !=
	       NULL) {
		if (timer->kind == ROOST_REQ_TIMER_PACE)
			roost_worker_want_send(
				w,
				RTE_PTR_SUB(timer, offsetof(struct roost_qp,
							    req.pace_timer)));
		else
			roost_req_timer(w, RTE_PTR_SUB(timer,
						       offsetof(struct roost_qp,
								req.timer)));
		n++;
	}
	return n;
}

void roost_worker_answer(struct roost_worker *w, struct roost_qp *qp)
{
	leave_ack_list(w, qp);
	if (!roost_ack_send(w, qp))
		roost_worker_want_ack(w, qp);
}

static unsigned int transmit(struct roost_worker *w)
{
	struct roost_qp *last = TAILQ_LAST(&w->send_qps, roost_qp_list);
	struct roost_qp *qp, *next;
	unsigned int n = 0;

	/* Each QP once; those that could go on are put behind last. */
	for (qp = TAILQ_FIRST(&w->send_qps); qp != NULL; qp = next) {
		next = qp == last ? NULL : TAILQ_NEXT(qp, send_link);
		leave_send_list(w, qp);
		n += roost_req_transmit(w, qp);
	}
	return n;
}

/* Each QP that is due once; those that owe more are put behind the others.
 * Returns the number of packets.
 */
static unsigned int answer(struct roost_worker *w)
{
	uint64_t before = w->counters.tx_pkts;

	while (w->last_due != NULL)
		roost_worker_answer(w, TAILQ_FIRST(&w->ack_qps));
	return (unsigned int)(w->counters.tx_pkts - before);
}

void roost_worker_settle(struct roost_worker *w, struct roost_qp *qp)
{
	roost_mbuf_begin(w);
	if (!qp->in_ack_list || !roost_ack_send(w, qp))
		return;
	leave_ack_list(w, qp);
	roost_tx_flush(w, qp->path.port_index);
}

void roost_worker_publish_cqs(struct roost_worker *w)
{
	struct roost_cq_part *part;

	while ((part = TAILQ_FIRST(&w->dirty_cqs)) != NULL) {
		struct roost_cq *cq = part->cq;

		TAILQ_REMOVE(&w->dirty_cqs, part, dirty_link);
		roost_cq_publish(cq, part);
		if (cq->overrun && !cq->overrun_told)
			roost_overrun_tell(w->dev, cq);
	}
}

void roost_worker_publish(struct roost_worker *w)
{
	roost_worker_publish_cqs(w);
	roost_async_tell(w);
}

/* What is due and what may go. Returns the number of packets. */
static unsigned int send_out(struct roost_worker *w)
{
	unsigned int work = answer(w);

	work += transmit(w);
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		roost_tx_flush(w, p);
	roost_worker_publish(w);
	return work;
}

/*
 * Answers wait for the next iteration, unless packets come as a stream. A
 * program that polls gets the message first, and its reply, if it has one, and
 * our acknowledgement leave in one burst; so a peer does not hold an
 * acknowledgement from a program that died before it could reply.
 */
unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns)
{
	unsigned int work;

	w->now_ns = now_ns;
	roost_mbuf_begin(w);
	w->last_due = TAILQ_LAST(&w->ack_qps, roost_qp_list);
	work = receive(w);
	if (w->steer != NULL)
		work += roost_steer_receive(w);
	if (w->loopback.count != 0)
		work += receive_loopback(w);
	if (work >= STREAM_PKTS)
		w->last_due = TAILQ_LAST(&w->ack_qps, roost_qp_list);
	work += run_timers(w);
	/* A program that polls finds nothing, most of the time. */
	if (work == 0 && !has_more(w))
		return 0;
	work += roost_worker_answer_doorbells(w);
	work += roost_tx_raw_frames(w);
	/* The application may go on while the port is written to. */
	roost_worker_publish(w);
	return work + send_out(w);
}

unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns)
{
	unsigned int work;

	w->now_ns = now_ns;
	roost_mbuf_begin(w);
	w->last_due = TAILQ_LAST(&w->ack_qps, roost_qp_list);
	work = roost_worker_answer_doorbells(w);
	return work + send_out(w);
}
