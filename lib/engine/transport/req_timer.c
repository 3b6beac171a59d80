/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot: how long to wait for an answer. No allocation, system call, log or lock.
 *
 * The local ACK timeout is the time that a peer has to show that it is alive;
 * programs choose 67 ms or more. A loss is certain much earlier: if answers
 * took 10 us so far, an answer that is not there after ten times that will not
 * come. The peer sends nothing by itself when a packet that it has NAKed is
 * lost again, nor when the last packet, or its ACK, is lost. So the requester
 * probes it early, at growing intervals and with few packets (adaptive
 * retransmission). A probe does not use up retry_cnt: IBTA 9.7.6.1.3 still says
 * when the timeout does, and when the QP fails.
 *
 * The first interval is the probe timeout, PTO (lib/engine/cc/rtt.h). It
 * doubles with each probe, also over a timeout: whoever comes back is found
 * within as much time as it was away. Progress leaves four of the doublings,
 * and a new round-trip time none.
 */

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/transport/req_priv.h"

void roost_req_set_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	uint64_t deadline_ns = req->timeout_at_ns;

	if (req->rnr_wait || req->timeout_ns == 0)
		return;
	if (req->pto_ns != 0 && req->nb_probes < ROOST_PROBES_MAX)
		deadline_ns =
			RTE_MIN(deadline_ns, w->now_ns + ((uint64_t)req->pto_ns
							  << req->nb_probes));
	if (unlikely(qp->score != NULL) && qp->score->settle_at_ns != 0)
		deadline_ns = RTE_MIN(deadline_ns, qp->score->settle_at_ns);
	if (unlikely(req->keeps) && qp->answers->score.settle_at_ns != 0)
		deadline_ns =
			RTE_MIN(deadline_ns, qp->answers->score.settle_at_ns);
	roost_timer_set(&w->timers, &req->timer, deadline_ns);
}

void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;

	if (req->rnr_wait)
		return;
	roost_timer_cancel(&req->timer);
	req->timeout_at_ns = w->now_ns + req->timeout_ns;
	if (roost_req_has_unacked(qp))
		roost_req_set_timer(w, qp);
}
