/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per frame to the port. No allocation, system call, log or
 * lock but in add and fini.
 */
#include "apps/roostd/switch/fair.h"

#include <errno.h>
#include <stdlib.h>

/* Of weight 1. Not below the largest frame of common MTUs, so that a round
 * visits each client once.
 */
#define QUANTUM_BYTES 4608u
#define NS_PER_S 1000000000u
/* A token bucket holds what comes in this time, and two large frames. */
#define BURST_NS 10000000u
#define BURST_MIN_BYTES 18432u

int roost_fair_init(struct roost_fair *fair, uint32_t nb_queues)
{
	fair->nb_queues = nb_queues;
	fair->queues = calloc(nb_queues, sizeof(fair->queues[0]));
	if (!fair->queues)
		return -ENOMEM;
	TAILQ_INIT(&fair->active);
	TAILQ_INIT(&fair->waiting);
	fair->ready_at_ns = UINT64_MAX;
	return 0;
}

void roost_fair_fini(struct roost_fair *fair)
{
	for (uint32_t i = 0; i < fair->nb_queues; i++)
		free(fair->queues[i]);
	free(fair->queues);
}

/* ---- lists --------------------------------------------------------------- */

static void activate(struct roost_fair *fair, struct roost_fair_queue *q)
{
	q->state = ROOST_FAIR_ACTIVE;
	q->had_quantum = false;
	TAILQ_INSERT_TAIL(&fair->active, q, link);
}

static void leave_list(struct roost_fair *fair, struct roost_fair_queue *q)
{
	if (q->state == ROOST_FAIR_ACTIVE)
		TAILQ_REMOVE(&fair->active, q, link);
	else if (q->state == ROOST_FAIR_WAITING)
		TAILQ_REMOVE(&fair->waiting, q, link);
	q->state = ROOST_FAIR_IDLE;
}

/* The round goes on with the next one. */
static void to_the_end(struct roost_fair *fair, struct roost_fair_queue *q)
{
	TAILQ_REMOVE(&fair->active, q, link);
	TAILQ_INSERT_TAIL(&fair->active, q, link);
	q->had_quantum = false;
}

/* ---- clients ------------------------------------------------------------- */

int roost_fair_add(struct roost_fair *fair, uint32_t client, uint32_t weight,
		   uint64_t rate_bytes_per_s, uint64_t now_ns)
{
	struct roost_fair_queue *q = fair->queues[client];

	if (!q)
		q = fair->queues[client] = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = (struct roost_fair_queue){
		.client = client,
		.weight = weight,
		.rate_bytes_per_s = rate_bytes_per_s,
		.tokens_at_ns = now_ns,
	};
	return 0;
}

/* Who waits for the rate of before tries again. */
void roost_fair_change(struct roost_fair *fair, uint32_t client,
		       uint32_t weight, uint64_t rate_bytes_per_s,
		       uint64_t now_ns)
{
	struct roost_fair_queue *q = fair->queues[client];

	if (q->rate_bytes_per_s == 0)
		q->tokens_at_ns = now_ns;
	q->weight = weight;
	q->rate_bytes_per_s = rate_bytes_per_s;
	if (q->state != ROOST_FAIR_WAITING)
		return;
	leave_list(fair, q);
	if (q->nb > 0)
		activate(fair, q);
}

static void *take(struct roost_fair *fair, struct roost_fair_queue *q)
{
	void *handle = q->frames[q->first].handle;

	q->first = (q->first + 1) % ROOST_FAIR_QUEUE_LEN;
	q->nb--;
	fair->nb_kept--;
	fair->nb_busy -= q->nb == 0;
	return handle;
}

void *roost_fair_flush(struct roost_fair *fair, uint32_t client)
{
	struct roost_fair_queue *q = fair->queues[client];

	if (!q)
		return NULL;
	leave_list(fair, q);
	if (q->nb > 0)
		return take(fair, q);
	free(q);
	fair->queues[client] = NULL;
	return NULL;
}

static void wait_until(struct roost_fair *fair, struct roost_fair_queue *q,
		       uint64_t ready_ns)
{
	q->state = ROOST_FAIR_WAITING;
	q->deficit_bytes = 0;
	q->ready_at_ns = ready_ns;
	TAILQ_INSERT_TAIL(&fair->waiting, q, link);
	if (ready_ns < fair->ready_at_ns)
		fair->ready_at_ns = ready_ns;
}

void roost_fair_move(struct roost_fair *from, struct roost_fair *to,
		     uint32_t client, uint64_t ready_ns)
{
	struct roost_fair_queue *q = from->queues[client];

	leave_list(from, q);
	from->queues[client] = NULL;
	from->nb_kept -= q->nb;
	from->nb_busy -= q->nb > 0;
	to->queues[client] = q;
	to->nb_kept += q->nb;
	to->nb_busy += q->nb > 0;
	q->round = 0;
	wait_until(to, q, ready_ns);
}

/* ---- rates --------------------------------------------------------------- */

static void add_tokens(struct roost_fair_queue *q, uint64_t now_ns)
{
	const uint64_t least = (uint64_t)BURST_MIN_BYTES * NS_PER_S;
	const uint64_t most = q->rate_bytes_per_s * BURST_NS > least
				      ? q->rate_bytes_per_s * BURST_NS
				      : least;
	uint64_t time_ns = now_ns - q->tokens_at_ns;

	q->tokens_at_ns = now_ns;
	/* Longer than any bucket takes to fill: no overflow below. */
	if (time_ns > most / q->rate_bytes_per_s)
		time_ns = most / q->rate_bytes_per_s + 1;
	q->tokens += time_ns * q->rate_bytes_per_s;
	if (q->tokens > most)
		q->tokens = most;
}

static uint64_t cost(const struct roost_fair_queue *q)
{
	return q->frames[q->first].len_bytes + ROOST_FAIR_WIRE_BYTES;
}

/* False: it waits for its rate, and is no longer in the round. */
static bool has_tokens(struct roost_fair *fair, struct roost_fair_queue *q,
		       uint64_t now_ns)
{
	const uint64_t needs = cost(q) * NS_PER_S;

	if (q->rate_bytes_per_s == 0)
		return true;
	add_tokens(q, now_ns);
	if (q->tokens >= needs)
		return true;
	leave_list(fair, q);
	wait_until(fair, q,
		   now_ns + (needs - q->tokens) / q->rate_bytes_per_s + 1);
	return false;
}

static void wake_ready(struct roost_fair *fair, uint64_t now_ns)
{
	struct roost_fair_queue *q, *next;

	if (now_ns < fair->ready_at_ns)
		return;
	fair->ready_at_ns = UINT64_MAX;
	for (q = TAILQ_FIRST(&fair->waiting); q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (q->ready_at_ns <= now_ns) {
			leave_list(fair, q);
			if (q->nb > 0)
				activate(fair, q);
		} else if (q->ready_at_ns < fair->ready_at_ns) {
			fair->ready_at_ns = q->ready_at_ns;
		}
	}
}

/* ---- the round ----------------------------------------------------------- */

void roost_fair_push(struct roost_fair *fair, uint32_t client, void *handle,
		     uint32_t len_bytes)
{
	struct roost_fair_queue *q = fair->queues[client];
	const uint32_t at = (q->first + q->nb) % ROOST_FAIR_QUEUE_LEN;

	q->frames[at].handle = handle;
	q->frames[at].len_bytes = len_bytes;
	fair->nb_busy += q->nb == 0;
	fair->nb_kept++;
	q->nb++;
	if (q->state == ROOST_FAIR_IDLE) {
		q->deficit_bytes = 0;
		activate(fair, q);
	}
}

/* Its turn begins, in the round of before if it had no quantum in it yet. */
static bool may_begin(struct roost_fair *fair, struct roost_fair_queue *q,
		      uint64_t now_ns)
{
	struct roost_step *step = &fair->step;

	if (q->round == step->round && !roost_step_next(step, now_ns))
		return false;
	q->round = step->round;
	return true;
}

void *roost_fair_head(struct roost_fair *fair, uint64_t now_ns,
		      uint32_t *client, uint32_t *len_bytes)
{
	struct roost_fair_queue *q;

	wake_ready(fair, now_ns);
	while ((q = TAILQ_FIRST(&fair->active)) != NULL) {
		if (!q->had_quantum) {
			if (__builtin_expect(fair->step.all != NULL, 0) &&
			    !may_begin(fair, q, now_ns))
				return NULL;
			q->deficit_bytes += (uint64_t)QUANTUM_BYTES * q->weight;
			q->had_quantum = true;
		}
		if (q->deficit_bytes < cost(q)) {
			to_the_end(fair, q);
			continue;
		}
		if (!has_tokens(fair, q, now_ns))
			continue;
		*client = q->client;
		*len_bytes = q->frames[q->first].len_bytes;
		return q->frames[q->first].handle;
	}
	return NULL;
}

void roost_fair_pop(struct roost_fair *fair)
{
	struct roost_fair_queue *q = TAILQ_FIRST(&fair->active);

	q->deficit_bytes -= cost(q);
	if (q->rate_bytes_per_s != 0)
		q->tokens -= cost(q) * NS_PER_S;
	take(fair, q);
	if (q->nb == 0)
		leave_list(fair, q);
}
