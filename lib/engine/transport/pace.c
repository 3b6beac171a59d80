/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot for QPs with a limit: no allocation, system call, log or lock. */

#include <rte_common.h>

#include "lib/engine/cc/dcqcn.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/transport/pace_priv.h"

/* A rate limit holds on average over this time; a QP that was silent for longer
 * may not send more because of it.
 */
#define SLACK_NS 100000u

/* What has a window needs no rate: doc/congestion.md, "Reaction point". */
static uint32_t requests_kbps(const struct roost_qp *qp)
{
	const struct roost_port *port = &qp->dev->ports[qp->path.port_index];

	return roost_qp_is_reliable(qp) && port->ecn.dcqcn == 0
		       ? 0
		       : qp->dcqcn.rate_kbps;
}

void roost_pace_set(struct roost_qp *qp)
{
	uint32_t own_kbps = qp->attr.rate_limit_kbps;
	uint32_t cc_kbps = requests_kbps(qp);

	qp->cc_limited = qp->dcqcn.rate_kbps != 0;
	if (own_kbps != 0 && cc_kbps != 0)
		qp->rate_kbps = RTE_MIN(own_kbps, cc_kbps);
	else
		qp->rate_kbps = own_kbps != 0 ? own_kbps : cc_kbps;
}

/* When may the packet go that follows one of len_bytes? */
static uint64_t next_ns(const struct roost_qp *qp, size_t len_bytes,
			uint32_t rate_kbps)
{
	uint64_t now_ns = qp->worker->now_ns;
	uint64_t from_ns = now_ns < SLACK_NS ? 0 : now_ns - SLACK_NS;

	return RTE_MAX(qp->req.pace_ns, from_ns) +
	       len_bytes * 8 * 1000000 / rate_kbps;
}

void roost_pace_note(struct roost_worker *w, struct roost_qp *qp,
		     size_t len_bytes, bool is_answer)
{
	const struct roost_port *port = &w->dev->ports[qp->path.port_index];
	uint32_t rate_kbps;

	/* First: a rate from before a silence is not the one of now. */
	if (qp->dcqcn.rate_kbps != 0 && port->ecn.roce_rp_enable == 0)
		roost_dcqcn_reset(&qp->dcqcn);
	else if (qp->dcqcn.rate_kbps != 0)
		roost_dcqcn_on_sent(&qp->dcqcn, &port->ecn, port->speed_mbps,
				    len_bytes, w->now_ns);
	roost_pace_set(qp);
	rate_kbps = is_answer ? qp->dcqcn.rate_kbps : qp->rate_kbps;
	if (rate_kbps != 0)
		qp->req.pace_ns = next_ns(qp, len_bytes, rate_kbps);
}

bool roost_pace_is_last(const struct roost_qp *qp)
{
	return next_ns(qp, qp->mtu_bytes, qp->rate_kbps) > qp->worker->now_ns;
}

bool roost_pace_hold(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->pace_ns <= w->now_ns)
		return false;
	if (!roost_timer_is_set(&req->pace_timer))
		roost_timer_set(&w->timers, &req->pace_timer, req->pace_ns);
	return true;
}

bool roost_pace_hold_answer(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->dcqcn.rate_kbps == 0 || w->flush_left == ROOST_FLUSH_ALL ||
	    roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return false;
	return roost_pace_hold(w, qp);
}
