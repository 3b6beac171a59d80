/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot: which QP sends next. No allocation but mbufs, no system call, log or
 * lock.
 *
 * A QP that has something to send is in a ready list of the queue that its next
 * frame leaves by: once for its requests and once for the answers that it owes.
 * The lists are served one QP after the other, a burst each, until the queue is
 * full or the iteration has sent its budget; the next iteration goes on there.
 * While there is more work than one iteration can do, the three phases and the
 * queues take turns at being first.
 */

#include <limits.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/ahead.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/sched/worker_priv.h"

void roost_ready_init(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);

	for (unsigned int i = 0; i < RTE_DIM(s->ready); i++)
		TAILQ_INIT(&s->ready[i].qps);
}

/* Bit set of the queues with a non-empty list of this phase. */
static uint32_t waiting(const struct roost_worker *w, unsigned int phase)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return s->waiting >> ROOST_READY(phase, 0) & ROOST_PHASE_MASK;
}

/* ---- lists ------------------------------------------------------------ */

/* A QP stores the number of its list plus 1; 0: in no list. */
static uint8_t note(unsigned int list)
{
	return (uint8_t)(list + 1);
}

static unsigned int noted(uint8_t place)
{
	return place - 1u;
}

static const struct roost_send_wqe *request_at(struct roost_qp *qp,
					       uint32_t index)
{
	return roost_queue_at(&qp->sq, index);
}

/* Each datagram has a path of its own. */
static unsigned int request_list(struct roost_qp *qp)
{
	const struct roost_path *path = &qp->path;
	uint32_t next = qp->req.send_index;

	if (qp->type == ROOST_QPT_UD &&
	    next != atomic_load_explicit(&qp->sq.head, memory_order_acquire))
		path = roost_ah_path(request_at(qp, next)->ud.ah);
	return ROOST_READY(ROOST_PHASE_REQUESTS, roost_path_queue(path));
}

void roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int list;

	if (qp->send_place != 0)
		return;
	list = request_list(qp);
	qp->send_place = note(list);
	s->waiting |= 1u << list;
	TAILQ_INSERT_TAIL(&s->ready[list].qps, qp, send_link);
}

static void want_answer(struct roost_worker *w, struct roost_qp *qp,
			unsigned int phase)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int list = ROOST_READY(phase, roost_path_queue(&qp->path));

	qp->answer_place = note(list);
	s->waiting |= 1u << list;
	TAILQ_INSERT_TAIL(&s->ready[list].qps, qp, ack_link);
}

void roost_worker_want_ack(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->answer_place == 0)
		want_answer(w, qp, ROOST_PHASE_ACKS);
}

/* Rest of the burst of the list's first QP. */
static uint32_t first_burst(const struct roost_ready_list *list)
{
	return list->burst_left != 0 ? list->burst_left : ROOST_QP_BURST_PKTS;
}

/* Remove the QP from its list of requests. */
static inline void leave_requests(struct roost_worker *w, unsigned int i,
				  struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_ready_list *list = &s->ready[i];

	if (TAILQ_FIRST(&list->qps) == qp)
		list->burst_left = 0;
	qp->send_place = 0;
	TAILQ_REMOVE(&list->qps, qp, send_link);
	if (TAILQ_EMPTY(&list->qps))
		s->waiting &= ~(1u << i);
}

static inline void leave_answers(struct roost_worker *w, unsigned int i,
				 struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);
	struct roost_ready_list *list = &s->ready[i];
	bool first = TAILQ_FIRST(&list->qps) == qp;

	if (first)
		list->burst_left = 0;
	if (list->last_due == qp) {
		list->last_due =
			first ? NULL : TAILQ_PREV(qp, roost_qp_list, ack_link);
		if (!list->last_due)
			s->due &= ~(1u << i);
	}
	qp->answer_place = 0;
	TAILQ_REMOVE(&list->qps, qp, ack_link);
	if (TAILQ_EMPTY(&list->qps))
		s->waiting &= ~(1u << i);
}

void roost_worker_keep_turn(struct roost_worker *w, struct roost_qp *qp,
			    uint32_t burst_left)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int list = request_list(qp);

	if (qp->send_place != 0)
		leave_requests(w, noted(qp->send_place), qp);
	qp->send_place = note(list);
	s->waiting |= 1u << list;
	TAILQ_INSERT_HEAD(&s->ready[list].qps, qp, send_link);
	s->ready[list].burst_left = burst_left;
}

/* As roost_worker_keep_turn(), for responses. */
static void keep_answering(struct roost_worker *w, struct roost_qp *qp,
			   uint32_t burst_left)
{
	struct roost_sched *s = roost_sched_of(w);
	unsigned int list =
		ROOST_READY(ROOST_PHASE_RESPONSES, roost_path_queue(&qp->path));

	qp->answer_place = note(list);
	s->waiting |= 1u << list;
	TAILQ_INSERT_HEAD(&s->ready[list].qps, qp, ack_link);
	s->ready[list].burst_left = burst_left;
}

void roost_ready_unlink(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);

	if (qp->send_place != 0)
		leave_requests(w, noted(qp->send_place), qp);
	if (qp->answer_place != 0)
		leave_answers(w, noted(qp->answer_place), qp);
	if (qp->flushing)
		TAILQ_REMOVE(&s->flush_qps, qp, flush_link);
	qp->flushing = false;
}

void roost_worker_flush_later(struct roost_worker *w, struct roost_qp *qp,
			      bool later)
{
	struct roost_sched *s = roost_sched_of(w);

	if (qp->flushing)
		TAILQ_REMOVE(&s->flush_qps, qp, flush_link);
	qp->flushing = later;
	if (later)
		TAILQ_INSERT_TAIL(&s->flush_qps, qp, flush_link);
}

void roost_ready_due(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	uint32_t queues = waiting(w, ROOST_PHASE_ACKS);

	s->due = queues;
	for (; queues != 0; queues &= queues - 1) {
		struct roost_ready_list *list =
			&s->ready[__builtin_ctz(queues)];

		list->last_due = TAILQ_LAST(&list->qps, roost_qp_list);
	}
}

/* ---- sending ---------------------------------------------------------- */

/* A QP that left a list of answers sends up to burst responses, and its
 * acknowledgement behind them. If it owes more then, it goes back into a list.
 */
static void answer(struct roost_worker *w, struct roost_qp *qp,
		   unsigned int burst)
{
	if (w->transport->answer(w, qp, &burst) || qp->answer_place != 0)
		return;
	if (qp->resp.nb_rd_atomics_pending == 0)
		want_answer(w, qp, ROOST_PHASE_ACKS);
	else if (burst == 0)
		want_answer(w, qp, ROOST_PHASE_RESPONSES);
	else
		keep_answering(w, qp, burst);
}

void roost_worker_answer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_sched *s = roost_sched_of(w);

	/* Responses without end leave room for the QP's requests. */
	if (qp->resp.nb_rd_atomics_pending != 0 &&
	    s->first_phase == ROOST_PHASE_REQUESTS)
		return;
	leave_answers(w, noted(qp->answer_place), qp);
	answer(w, qp, ROOST_QP_BURST_PKTS / 2);
}

/* True if the first QP of a list may send. */
static bool may_go(struct roost_worker *w, unsigned int queue)
{
	struct roost_sched *s = roost_sched_of(w);

	return w->tx_left > 0 && s->steps_left > 0 && !w->no_mbufs &&
	       roost_tx_has_room(w, queue);
}

/* Send the answers that are due. A QP that owes responses moves to the list of
 * responses.
 */
static inline void send_acks(struct roost_worker *w, unsigned int queue)
{
	struct roost_sched *s = roost_sched_of(w);
	const unsigned int i = ROOST_READY(ROOST_PHASE_ACKS, queue);
	struct roost_ready_list *list = &s->ready[i];

	while (list->last_due && may_go(w, queue)) {
		struct roost_qp *qp = TAILQ_FIRST(&list->qps);

		s->steps_left--;
		leave_answers(w, i, qp);
		if (qp->resp.nb_rd_atomics_pending != 0)
			want_answer(w, qp, ROOST_PHASE_RESPONSES);
		else
			answer(w, qp, 0);
	}
}

/* tx_left: as of before a QP had its turn. */
static inline void charge(struct roost_worker *w, bool cold, int tx_left)
{
	if (cold)
		w->tx_left = RTE_MIN(w->tx_left, tx_left - ROOST_COLD_FRAMES);
}

static void send_responses(struct roost_worker *w, unsigned int queue)
{
	struct roost_sched *s = roost_sched_of(w);
	const unsigned int i = ROOST_READY(ROOST_PHASE_RESPONSES, queue);
	struct roost_ready_list *list = &s->ready[i];
	bool cold = roost_ahead_pays(w);
	struct roost_qp *qp;

	while ((qp = TAILQ_FIRST(&list->qps)) != NULL && may_go(w, queue)) {
		uint32_t burst = first_burst(list);
		int tx_left = w->tx_left;

		s->steps_left--;
		leave_answers(w, i, qp);
		answer(w, qp, burst);
		charge(w, cold, tx_left);
	}
}

static inline void send_requests(struct roost_worker *w, unsigned int queue)
{
	struct roost_sched *s = roost_sched_of(w);
	const unsigned int i = ROOST_READY(ROOST_PHASE_REQUESTS, queue);
	struct roost_ready_list *list = &s->ready[i];
	bool cold = roost_ahead_pays(w);
	struct roost_qp *qp;

	if (cold && !TAILQ_EMPTY(&list->qps))
		roost_ahead_first(TAILQ_FIRST(&list->qps));
	while ((qp = TAILQ_FIRST(&list->qps)) != NULL && may_go(w, queue)) {
		uint32_t burst = first_burst(list);
		int tx_left = w->tx_left;

		leave_requests(w, i, qp);
		roost_ahead_requests(TAILQ_FIRST(&list->qps));
		s->steps_left -= 1 + (int)w->transport->transmit(w, qp, burst);
		charge(w, cold, tx_left);
	}
}

static void send_by(struct roost_worker *w, unsigned int phase, uint32_t queues)
{
	for (; queues != 0; queues &= queues - 1) {
		unsigned int queue = (unsigned int)__builtin_ctz(queues);

		if (phase == ROOST_PHASE_ACKS)
			send_acks(w, queue);
		else if (phase == ROOST_PHASE_RESPONSES)
			send_responses(w, queue);
		else
			send_requests(w, queue);
	}
}

/* Send up to budget frames of a phase. Returns the rest of the budget. */
static int send_phase(struct roost_worker *w, unsigned int phase, int budget)
{
	struct roost_sched *s = roost_sched_of(w);
	uint32_t queues = waiting(w, phase) &
			  (phase == ROOST_PHASE_ACKS ? ~0u : ~s->behind);
	uint32_t first = queues & ~0u << s->first_queue;

	w->tx_left = budget;
	send_by(w, phase, first);
	send_by(w, phase, queues & ~first);
	return w->tx_left;
}

/* The queues with frames that could be sent now if the queues had room. */
static uint32_t wanted(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return s->due | ((waiting(w, ROOST_PHASE_RESPONSES) |
			  waiting(w, ROOST_PHASE_REQUESTS)) &
			 ~s->behind);
}

/* Responses and requests share the budget of an iteration: if both wait, the
 * phase that comes first leaves half of the budget to the other.
 */
static void send_all(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	int data_left = ROOST_DATA_BUDGET, half;
	unsigned int phase = s->first_phase;

	for (unsigned int i = 0; i < ROOST_PHASES; i++, phase++) {
		if (phase == ROOST_PHASES)
			phase = 0;
		if (waiting(w, phase) == 0)
			continue;
		if (phase == ROOST_PHASE_ACKS) {
			send_phase(w, phase, ROOST_ACK_BUDGET);
			continue;
		}
		half = data_left == ROOST_DATA_BUDGET &&
				       waiting(w, ROOST_PHASE_RESPONSES) != 0 &&
				       waiting(w, ROOST_PHASE_REQUESTS) != 0
			       ? ROOST_DATA_BUDGET / 2
			       : 0;
		data_left = half + send_phase(w, phase, data_left - half);
	}
}

unsigned int roost_ready_send(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	const uint32_t of_port = 1u << ROOST_READY(ROOST_PHASE_REQUESTS, 0);
	uint64_t before = w->counters.tx_pkts;

	s->steps_left = ROOST_STEP_BUDGET;
	w->no_mbufs = false;
	w->tx_left = ROOST_DATA_BUDGET;
	/* The two usual cases: only requests by the first port's queue, or only
	 * acknowledgements.
	 */
	if (s->waiting == of_port && !s->behind) {
		send_requests(w, 0);
	} else if (s->waiting == 1u << ROOST_READY(ROOST_PHASE_ACKS, 0)) {
		w->tx_left = ROOST_ACK_BUDGET;
		send_acks(w, 0);
		if (waiting(w, ROOST_PHASE_RESPONSES) != 0)
			send_phase(w, ROOST_PHASE_RESPONSES, ROOST_DATA_BUDGET);
	} else {
		send_all(w);
	}
	return (unsigned int)(w->counters.tx_pkts - before);
}

enum roost_left roost_ready_left(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	uint32_t queues = wanted(w);

	s->first_phase = (uint8_t)((s->first_phase + 1) % ROOST_PHASES);
	s->first_queue = (uint8_t)((s->first_queue + 1) % ROOST_TX_QUEUES);
	for (; queues != 0 && !w->no_mbufs; queues &= queues - 1)
		if (roost_tx_has_room(w, (unsigned int)__builtin_ctz(queues)))
			return ROOST_LEFT_MORE;
	return ROOST_LEFT_BLOCKED;
}

void roost_worker_settle(struct roost_worker *w, struct roost_qp *qp)
{
	unsigned int burst = ROOST_QP_BURST_PKTS;
	int tx_left = w->tx_left;
	bool sent;

	roost_mbuf_begin(w);
	if (qp->answer_place == 0)
		return;
	/* An iteration may come here for each frame and timer, so it sends one
	 * frame at a time; a QP that owes more stays listed.
	 */
	w->tx_left = w->flush_left == ROOST_FLUSH_ALL ? INT_MAX : 1;
	sent = w->transport->answer(w, qp, &burst);
	w->tx_left = tx_left;
	if (!sent)
		return;
	if (qp->answer_place != 0)
		leave_answers(w, noted(qp->answer_place), qp);
	roost_tx_flush(w, qp->path.port_index);
}
