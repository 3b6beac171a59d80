/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Requests that came early. They are copied, and have no effect: neither on
 * memory nor on keys, receives or completions. When the packets before them
 * have come they are executed in the order of their PSNs, by the same checks as
 * all others (resp.c), once. Whoever sends them again meanwhile, as a requester
 * does that goes back N, sends duplicates.
 *
 * Hot while packets are lost: no allocation but from the worker's store, no
 * lock.
 */

#include <endian.h>
#include <string.h>

#include <rte_common.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/resp_priv.h"

static struct roost_shelf *open_shelf(struct roost_worker *w,
				      struct roost_qp *qp)
{
	if (qp->shelf)
		return qp->shelf;
	qp->shelf = roost_shelf_get(&w->store);
	if (!qp->shelf)
		return NULL;
	qp->shelf->base_psn = qp->resp.expected_psn;
	qp->shelf->top_psn = qp->resp.expected_psn;
	qp->resp.holds = true;
	return qp->shelf;
}

static void close_shelf(struct roost_worker *w, struct roost_qp *qp)
{
	roost_shelf_put(&w->store, qp->shelf);
	qp->shelf = NULL;
	qp->resp.holds = false;
	qp->resp.report = false;
}

static struct roost_held **place_of(struct roost_shelf *shelf,
				    struct roost_psn psn)
{
	return &shelf->held[psn.v % ROOST_SPAN_PKTS];
}

static void discard(struct roost_worker *w, struct roost_shelf *shelf,
		    struct roost_psn psn)
{
	struct roost_held **place = place_of(shelf, psn);

	roost_bit_clear(shelf->have, psn);
	if (!*place)
		return;
	roost_held_put(&w->store, *place);
	*place = NULL;
	shelf->nb_held--;
}

void roost_resp_let_go(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_shelf *shelf = qp->shelf;

	if (!shelf)
		return;
	for (uint32_t i = 0; shelf->nb_held > 0 && i < ROOST_SPAN_PKTS; i++)
		discard(w, shelf, roost_psn_add(shelf->base_psn, i));
	close_shelf(w, qp);
}

static bool put(struct roost_worker *w, struct roost_shelf *shelf,
		const struct roost_pkt *pkt)
{
	struct roost_held *held = roost_held_get(&w->store);

	if (!held)
		return false;
	held->pkt = *pkt;
	held->pkt.payload = held->payload;
	memcpy(held->payload, pkt->payload, pkt->payload_len_bytes);
	*place_of(shelf, pkt->psn) = held;
	shelf->nb_held++;
	return true;
}

/* The PSNs of the answer to a READ are its own, too. */
static void mark(struct roost_shelf *shelf, struct roost_psn psn, uint32_t psns)
{
	for (uint32_t i = 0; i < psns; i++)
		roost_bit_set(shelf->have, roost_psn_add(psn, i));
	psn = roost_psn_add(psn, psns);
	if (roost_psn_diff(psn, shelf->top_psn) > 0)
		shelf->top_psn = psn;
}

bool roost_resp_hold(struct roost_worker *w, struct roost_qp *qp,
		     const struct roost_pkt *pkt, uint32_t psns)
{
	uint32_t ahead =
		(uint32_t)roost_psn_diff(pkt->psn, qp->resp.expected_psn);
	struct roost_shelf *shelf;

	if (!w->dev->selective_repeat ||
	    qp->resp.behind == ROOST_DROP_RNR_WAIT ||
	    ahead >= ROOST_SPAN_PKTS ||
	    pkt->payload_len_bytes > ROOST_HELD_PAYLOAD_MAX)
		return false;
	shelf = open_shelf(w, qp);
	if (!shelf)
		return false;
	if (roost_bit_test(shelf->have, pkt->psn)) {
		roost_count(w, qp, duplicates);
		return true;
	}
	if (!put(w, shelf, pkt)) {
		if (shelf->nb_held == 0)
			close_shelf(w, qp);
		return false;
	}
	mark(shelf, pkt->psn, RTE_MIN(psns, ROOST_SPAN_PKTS - ahead));
	roost_count(w, qp, held_pkts);
	return true;
}

void roost_resp_catch_up(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_shelf *shelf = qp->shelf;
	uint32_t passed;

	if (!shelf)
		return;
	passed = (uint32_t)roost_psn_diff(qp->resp.expected_psn,
					  shelf->base_psn);
	for (uint32_t i = 0; i < passed && i < ROOST_SPAN_PKTS; i++)
		discard(w, shelf, roost_psn_add(shelf->base_psn, i));
	shelf->base_psn = qp->resp.expected_psn;
	if (shelf->nb_held == 0)
		close_shelf(w, qp);
}

bool roost_resp_holds_next(const struct roost_qp *qp)
{
	return qp->shelf && *place_of(qp->shelf, qp->resp.expected_psn);
}

struct roost_held *roost_resp_take_next(struct roost_worker *w,
					struct roost_qp *qp)
{
	struct roost_held **place, *held;

	roost_resp_catch_up(w, qp);
	if (!roost_resp_holds_next(qp))
		return NULL;
	place = place_of(qp->shelf, qp->resp.expected_psn);
	held = *place;
	*place = NULL;
	qp->shelf->nb_held--;
	return held;
}

void roost_resp_owe_report(struct roost_worker *w, struct roost_qp *qp)
{
	qp->resp.report = true;
	roost_worker_want_ack(w, qp);
}

size_t roost_resp_report(const struct roost_qp *qp, uint8_t *to)
{
	const struct roost_shelf *shelf = qp->shelf;
	struct roost_psn psn = roost_psn_add(qp->resp.expected_psn, 1);
	size_t len = 0;

	do {
		uint32_t word = htole32(roost_bits_at(shelf->have, psn));

		memcpy(to + len, &word, sizeof(word));
		len += sizeof(word);
		psn = roost_psn_add(psn, 32);
	} while (roost_psn_diff(shelf->top_psn, psn) > 0 &&
		 len < ROOST_REPORT_MAX_BITS / 8);
	return len;
}
