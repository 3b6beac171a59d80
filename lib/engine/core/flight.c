/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/core/flight.h"

#include <rte_common.h>

#include "lib/engine/core/probe.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

static_assert(sizeof(struct roost_flight_change) == 8,
	      "six of them are 48 bytes of each QP");

#define AT_MASK (UINT64_MAX >> 8)

/* By roost_flight_change.by. */
/* clang-format off */
static const uint8_t codes[] = {
	ROOST_QPE_NONE,
#define X(code, ...) (code),
	ROOST_QP_ERRORS(X)
#undef X
};
/* clang-format on */
static_assert(RTE_DIM(codes) <= 1u << 5 && ROOST_QPS_COUNT <= 1u << 3,
	      "bits of roost_flight_change");

static struct roost_flight_entry *oldest(struct roost_flight_entry *entries,
					 unsigned int nb)
{
	struct roost_flight_entry *old = entries;

	for (unsigned int i = 1; i < nb; i++)
		if (entries[i].at_ns < old->at_ns)
			old = &entries[i];
	return old;
}

/* The time of an entry that is not empty. */
static uint64_t now_of(const struct roost_qp *qp)
{
	return RTE_MAX(qp->worker->now_ns, 1u);
}

struct roost_trouble *roost_qp_trouble(struct roost_qp *qp)
{
	struct roost_worker *w = qp->worker;

	if (!qp->trouble && !qp->dying)
		qp->trouble = roost_trouble_get(&w->store);
	return qp->trouble ? qp->trouble : &w->untold;
}

void roost_qp_trouble_end(struct roost_qp *qp)
{
	if (qp->trouble)
		roost_trouble_put(&qp->worker->store, qp->trouble);
	qp->trouble = NULL;
}

void roost_flight_note(struct roost_qp *qp, enum roost_flight_kind kind,
		       uint8_t arg, uint32_t value)
{
	struct roost_flight_entry *events = roost_qp_trouble(qp)->events;
	struct roost_flight_entry *e = NULL;
	uint16_t count = 0;

	ROOST_PROBE(fault, qp->qpn, kind, arg, value);
	for (unsigned int i = 0; i < ROOST_FLIGHT_EVENTS && !e; i++)
		if (events[i].kind == kind && events[i].arg == arg)
			e = &events[i];
	if (e)
		count = e->count;
	else
		e = oldest(events, ROOST_FLIGHT_EVENTS);
	*e = (struct roost_flight_entry){
		.at_ns = now_of(qp),
		.value = value,
		.count = count == UINT16_MAX ? count : (uint16_t)(count + 1),
		.kind = (uint8_t)kind,
		.arg = arg,
	};
}

/* Of the times with the same low bits the last one, up to a while from now. */
static uint64_t time_of(const struct roost_qp *qp,
			const struct roost_flight_change *c)
{
	const uint64_t end_ns = now_of(qp) + (1ull << 40);

	return c->at_ns == 0 ? 0 : end_ns - ((end_ns - c->at_ns) & AT_MASK);
}

void roost_flight_states(const struct roost_qp *qp,
			 struct roost_flight_entry entries[ROOST_FLIGHT_STATES])
{
	for (unsigned int i = 0; i < ROOST_FLIGHT_STATES; i++) {
		const struct roost_flight_change *c = &qp->states[i];

		entries[i] = (struct roost_flight_entry){ 0 };
		if (c->at_ns != 0)
			entries[i] = (struct roost_flight_entry){
				.at_ns = time_of(qp, c),
				.value = codes[c->by],
				.count = 1,
				.kind = ROOST_FLIGHT_STATE,
				.arg = c->state,
			};
	}
}

void roost_flight_state(struct roost_qp *qp, uint8_t by)
{
	struct roost_flight_change *c = qp->states;
	uint64_t now_ns = now_of(qp);
	unsigned int index = 0;

	ROOST_PROBE(qp_state, qp->qpn, roost_qp_state_get(qp), by);
	for (unsigned int i = 0; i < ROOST_FLIGHT_STATES; i++) {
		uint64_t at_ns = time_of(qp, &qp->states[i]);

		if (at_ns < time_of(qp, c))
			c = &qp->states[i];
		/* Of several at one time, the order must stay. */
		if (at_ns >= now_ns)
			now_ns = at_ns + 1;
	}
	while (codes[index] != by)
		index++;
	now_ns += (now_ns & AT_MASK) == 0; /* not empty */
	c->at_ns = now_ns & AT_MASK;
	c->state = roost_qp_state_get(qp) & 7u;
	c->by = index & 31u;
}

void roost_flight_drop_at(struct roost_qp *qp, const struct roost_frame *frame,
			  const struct roost_pkt *pkt, enum roost_drop reason)
{
	uint32_t value = reason == ROOST_DROP_PKEY   ? pkt->pkey
			 : reason == ROOST_DROP_QKEY ? pkt->qkey
						     : pkt->psn.v;

	ROOST_PROBE(packet_dropped, qp->qpn, reason, pkt->psn.v);
	qp->worker->last_drops[reason] = (struct roost_last_drop){
		.at_ns = now_of(qp),
		.qpn = qp->qpn,
		.value = value,
		.sgid = frame->sgid,
	};
	roost_flight_note(qp, ROOST_FLIGHT_DROP, (uint8_t)reason, value);
}

/* What the packet says of itself. Before the check of the ICRC and after its
 * failure nothing is certain; of a frame that was broken on the way most is
 * right all the same. pkt is parsed behind these checks only.
 */
static const struct roost_pkt *named_by(const struct roost_frame *frame,
					const struct roost_pkt *pkt,
					enum roost_drop reason,
					struct roost_pkt *room)
{
	if (reason >= ROOST_DROP_QPN_ZERO)
		return pkt;
	if (reason != ROOST_DROP_ICRC ||
	    roost_pkt_parse(frame, room) != ROOST_DROP_NONE)
		return NULL;
	return room;
}

void roost_flight_drop(struct roost_worker *w, const struct roost_frame *frame,
		       const struct roost_pkt *pkt, enum roost_drop reason)
{
	struct roost_qp *qp = NULL;
	struct roost_pkt room;

	pkt = named_by(frame, pkt, reason, &room);
	if (pkt)
		qp = roost_idmap_get(&w->dev->qps, pkt->dest_qpn);
	if (qp && qp->worker == w) {
		roost_flight_drop_at(qp, frame, pkt, reason);
		return;
	}
	ROOST_PROBE(packet_dropped, pkt ? pkt->dest_qpn : 0, reason,
		    pkt ? pkt->psn.v : 0);
	w->last_drops[reason] = (struct roost_last_drop){
		.at_ns = RTE_MAX(w->now_ns, 1u),
		.qpn = pkt ? pkt->dest_qpn : 0,
		.value = pkt ? pkt->psn.v : 0,
		.sgid = frame->sgid,
	};
}

unsigned int roost_flight_sort(const struct roost_flight_entry *entries,
			       unsigned int nb,
			       struct roost_flight_entry *sorted)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nb; i++) {
		unsigned int at = n;

		if (entries[i].kind == ROOST_FLIGHT_NONE)
			continue;
		for (; at > 0 && sorted[at - 1].at_ns > entries[i].at_ns; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = entries[i];
		n++;
	}
	return n;
}
