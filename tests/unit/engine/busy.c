/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/engine/busy.h"

#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/worker.h"
#include "lib/engine/transport/req_priv.h"

bool worker_is_busy(struct roost_worker *w)
{
	bool busy = roost_worker_has_more(w);
	struct roost_qp *qp;

	pthread_mutex_lock(&w->dev->all.lock);
	LIST_FOREACH(qp, &w->dev->all.qps, all_link) {
		const enum roost_qp_state state = roost_qp_state_get(qp);

		busy |= qp->worker == w && roost_req_has_unacked(qp) &&
			(state == ROOST_QPS_RTS || state == ROOST_QPS_SQD);
	}
	pthread_mutex_unlock(&w->dev->all.lock);
	return busy;
}
