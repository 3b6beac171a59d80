/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot: how long to wait for an answer. No allocation, system call, log or lock.
 *
 * The local ACK timeout is what a peer is given to be alive; programs choose
 * 67 ms or more. What is lost is lost long before: an answer that took 10 us
 * so far, and is not there after ten times that, will not come. The peer says
 * nothing by itself when a packet that it has NAKed is lost again, nor when
 * the last packet, or its ACK, is. So it is asked again, early, at growing
 * distances and with few packets, until its time is up (adaptive
 * retransmission). That is no try in the sense of retry_cnt: when the timeout
 * counts as one, and when the QP fails, stays what IBTA 9.7.6.1.3 says.
 *
 * The estimate is that of RFC 6298, from packets that were sent once only; what
 * was asked early keeps its longer distance until there is a new one.
 */

#include <rte_common.h>

#include "lib/engine/cc/req_timer.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

/* No sooner than this: threads that share a core make each other wait. */
#define EARLY_MIN_NS 100000u
#define RTT_MAX_NS (1u << 29)

void roost_req_rtt_sample(struct roost_worker *w, struct roost_requester *req)
{
	uint32_t rtt_ns = (uint32_t)RTE_MIN(w->now_ns - req->rtt_sent_ns + 1,
					    (uint64_t)RTT_MAX_NS);
	uint32_t off_ns;

	req->rtt_sent_ns = 0;
	req->nb_early = 0;
	if (req->early_ns == 0) {
		req->rtt_ns = rtt_ns;
		req->rtt_var_ns = rtt_ns / 2;
		req->rtt_min_ns = rtt_ns;
	} else {
		off_ns = rtt_ns > req->rtt_ns ? rtt_ns - req->rtt_ns
					      : req->rtt_ns - rtt_ns;
		req->rtt_var_ns += off_ns / 4 - req->rtt_var_ns / 4;
		req->rtt_ns += rtt_ns / 8 - req->rtt_ns / 8;
	}
	req->rtt_last_ns = rtt_ns;
	req->rtt_min_ns = RTE_MIN(req->rtt_min_ns, rtt_ns);
	req->early_ns =
		RTE_MAX(req->rtt_ns + 4 * req->rtt_var_ns, EARLY_MIN_NS);
}

void roost_req_set_timer(struct roost_worker *w, struct roost_requester *req)
{
	uint64_t deadline_ns = req->timeout_at_ns;

	if (req->rnr_wait || req->timeout_ns == 0)
		return;
	if (req->early_ns != 0 && req->nb_early < ROOST_REQ_EARLY_MAX)
		deadline_ns = RTE_MIN(deadline_ns,
				      w->now_ns + ((uint64_t)req->early_ns
						   << req->nb_early));
	roost_timer_set(&w->timers, &req->timer, deadline_ns);
}

void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	bool inflight = roost_req_has_unacked(qp);

	if (inflight != req->inflight) {
		req->inflight = inflight;
		w->nb_inflight_qps += inflight ? 1u : -1u;
	}
	if (req->rnr_wait)
		return;
	roost_timer_cancel(&req->timer);
	req->timeout_at_ns = w->now_ns + req->timeout_ns;
	if (inflight)
		roost_req_set_timer(w, req);
}
