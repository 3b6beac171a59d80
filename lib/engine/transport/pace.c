/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot for QPs with a limit: no allocation, system call, log or lock. */

#include <rte_common.h>

#include "lib/engine/cc/dcqcn.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/transport/pace_priv.h"

/* A QP that waited makes up for so much of the time for which the worker let it
 * wait longer.
 */
#define SLACK_NS 100000u

struct roost_pacer *roost_qp_pacer(struct roost_qp *qp)
{
	struct roost_pacer *pacer = qp->pacer;

	if (pacer)
		return pacer;
	pacer = roost_pacer_get(&qp->worker->store);
	if (!pacer)
		return NULL;
	pacer->timer.kind = ROOST_REQ_TIMER_PACE;
	pacer->qp = qp;
	qp->pacer = pacer;
	return pacer;
}

void roost_qp_pacer_end(struct roost_qp *qp)
{
	if (qp->pacer)
		roost_pacer_put(&qp->worker->store, qp->pacer);
	qp->pacer = NULL;
}

static uint32_t dcqcn_kbps(const struct roost_qp *qp)
{
	return qp->pacer ? qp->pacer->dcqcn.rate_kbps : 0;
}

/* What has a window needs no rate: doc/congestion.md, "Reaction point". */
static uint32_t requests_kbps(const struct roost_qp *qp)
{
	const struct roost_port *port = &qp->dev->ports[qp->path.port_index];

	return roost_qp_is_reliable(qp) && port->ecn.dcqcn == 0
		       ? 0
		       : dcqcn_kbps(qp);
}

void roost_pace_set(struct roost_qp *qp)
{
	qp->cc_limited = dcqcn_kbps(qp) != 0;
	qp->req_limited =
		qp->attr.rate_limit_kbps != 0 || requests_kbps(qp) != 0;
}

void roost_pace_reset(struct roost_qp *qp)
{
	if (qp->pacer) {
		qp->pacer->pace_ns = 0;
		qp->pacer->cc_pace_ns = 0;
		roost_dcqcn_reset(&qp->pacer->dcqcn);
	}
	roost_pace_set(qp);
}

static uint64_t interval_ns(size_t len_bytes, uint32_t rate_kbps)
{
	return len_bytes * 8 * 1000000 / rate_kbps;
}

/* It did not wait before its packet. */
static bool begins(const struct roost_qp *qp, uint64_t pace_ns)
{
	return pace_ns < qp->worker->now_ns && !qp->pace_held;
}

/* When may the packet go that follows one of len_bytes? pace_ns: the same of
 * the packet before. A silence gives no credit.
 */
static uint64_t next_ns(const struct roost_qp *qp, uint64_t pace_ns,
			size_t len_bytes, uint32_t rate_kbps)
{
	uint64_t now_ns = qp->worker->now_ns;
	uint64_t least_ns = now_ns < SLACK_NS ? 0 : now_ns - SLACK_NS;

	if (begins(qp, pace_ns))
		least_ns = now_ns;
	return RTE_MAX(pace_ns, least_ns) + interval_ns(len_bytes, rate_kbps);
}

/* QPs that begin together would go on together: each has a longer first
 * interval, by another part of it. Multiples of the golden ratio are spread
 * evenly.
 */
static void advance(struct roost_worker *w, const struct roost_qp *qp,
		    uint64_t *pace_ns, size_t len_bytes, uint32_t rate_kbps)
{
	bool first = begins(qp, *pace_ns);
	uint32_t phase;

	*pace_ns = next_ns(qp, *pace_ns, len_bytes, rate_kbps);
	if (!first)
		return;
	w->pace_phase += 0x9e3779b9u;
	phase = w->pace_phase + (w->index << 28); /* up to 16 workers */
	*pace_ns += interval_ns(len_bytes, rate_kbps) * (phase >> 16) >> 16;
}

void roost_pace_note(struct roost_worker *w, struct roost_qp *qp,
		     size_t len_bytes, bool is_answer)
{
	const struct roost_port *port = &w->dev->ports[qp->path.port_index];
	uint32_t own_kbps = is_answer ? 0 : qp->attr.rate_limit_kbps;
	struct roost_pacer *pacer = qp->pacer;
	uint32_t cc_kbps;

	/* First: a rate from before a silence is not the one of now. */
	if (pacer->dcqcn.rate_kbps != 0 && port->ecn.roce_rp_enable == 0)
		roost_dcqcn_reset(&pacer->dcqcn);
	else if (pacer->dcqcn.rate_kbps != 0)
		roost_dcqcn_on_sent(&pacer->dcqcn, &port->ecn, port->speed_mbps,
				    len_bytes, w->now_ns);
	roost_pace_set(qp);
	if (own_kbps != 0)
		advance(w, qp, &pacer->pace_ns, len_bytes, own_kbps);
	cc_kbps = is_answer ? pacer->dcqcn.rate_kbps : requests_kbps(qp);
	if (cc_kbps != 0)
		advance(w, qp, &pacer->cc_pace_ns, len_bytes, cc_kbps);
	if (RTE_MAX(own_kbps != 0 ? pacer->pace_ns : 0,
		    cc_kbps != 0 ? pacer->cc_pace_ns : 0) > w->now_ns)
		qp->pace_held = false;
}

bool roost_pace_is_last(const struct roost_qp *qp)
{
	uint32_t own_kbps = qp->attr.rate_limit_kbps;
	uint32_t cc_kbps = requests_kbps(qp);
	uint64_t own_ns = 0, cc_ns = 0;

	if (own_kbps != 0)
		own_ns = next_ns(qp, qp->pacer->pace_ns, qp->mtu_bytes,
				 own_kbps);
	if (cc_kbps != 0)
		cc_ns = next_ns(qp, qp->pacer->cc_pace_ns, qp->mtu_bytes,
				cc_kbps);
	return RTE_MAX(own_ns, cc_ns) > qp->worker->now_ns;
}

/* One timer for requests and answers: the earlier of the two. */
static bool hold(struct roost_worker *w, struct roost_qp *qp, uint64_t until_ns)
{
	struct roost_timer *timer = &qp->pacer->timer;

	if (until_ns <= w->now_ns)
		return false;
	qp->pace_held = true;
	if (!roost_timer_is_set(timer) || timer->deadline_ns > until_ns)
		roost_timer_set(&w->timers, timer, until_ns);
	return true;
}

bool roost_pace_hold(struct roost_worker *w, struct roost_qp *qp)
{
	uint64_t own_ns =
		qp->attr.rate_limit_kbps != 0 ? qp->pacer->pace_ns : 0;
	uint64_t cc_ns = requests_kbps(qp) != 0 ? qp->pacer->cc_pace_ns : 0;

	return hold(w, qp, RTE_MAX(own_ns, cc_ns));
}

bool roost_pace_hold_answer(struct roost_worker *w, struct roost_qp *qp)
{
	if (dcqcn_kbps(qp) == 0 || w->flush_left == ROOST_FLUSH_ALL ||
	    roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return false;
	return hold(w, qp, qp->pacer->cc_pace_ns);
}
