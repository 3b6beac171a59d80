/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/core/flight.h"

#include <rte_common.h>

#include "lib/engine/core/probe.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

static_assert(sizeof(struct roost_flight_entry) == 16,
	      "six of them are 96 bytes of each QP");

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

void roost_flight_state(struct roost_qp *qp, uint8_t by)
{
	struct roost_flight_entry *e = oldest(qp->states, ROOST_FLIGHT_STATES);
	uint64_t now_ns = now_of(qp);

	ROOST_PROBE(qp_state, qp->qpn, roost_qp_state_get(qp), by);
	/* Of several at one time, the order must stay. */
	for (unsigned int i = 0; i < ROOST_FLIGHT_STATES; i++)
		if (qp->states[i].at_ns >= now_ns)
			now_ns = qp->states[i].at_ns + 1;
	*e = (struct roost_flight_entry){
		.at_ns = now_ns,
		.value = by,
		.count = 1,
		.kind = ROOST_FLIGHT_STATE,
		.arg = (uint8_t)roost_qp_state_get(qp),
	};
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
