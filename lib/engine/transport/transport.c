/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The transport as the scheduler and the objects call it. */

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/qp_priv.h"
#include "lib/engine/transport/raw_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/transport/rx_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/transport/transport.h"

/* The rate of the QP allows the next packet. */
static void go_on_sending(struct roost_worker *w, struct roost_qp *qp)
{
	roost_worker_want_send(w, qp);
	if (qp->resp.owed || qp->resp.nb_rd_atomics_pending != 0)
		roost_worker_want_ack(w, qp);
}

static void expire(struct roost_worker *w, struct roost_timer *timer)
{
	if (timer->kind == ROOST_REQ_TIMER_PACE)
		go_on_sending(w, ((struct roost_pacer *)RTE_PTR_SUB(
					  timer,
					  offsetof(struct roost_pacer, timer)))
					 ->qp);
	else if (timer->kind == ROOST_REQ_TIMER_RETRY)
		roost_req_timer(w, RTE_PTR_SUB(timer, offsetof(struct roost_qp,
							       req.timer)));
	else
		roost_share_timer(w, RTE_PTR_SUB(timer,
						 offsetof(struct roost_share,
							  timer)));
}

static bool answer(struct roost_worker *w, struct roost_qp *qp,
		   unsigned int *burst)
{
	/* Requests that came early, and are next now. */
	if (unlikely(qp->resp.holds) && roost_resp_holds_next(qp))
		roost_resp_go_on(w, qp);
	return roost_ack_send(w, qp, burst);
}

static void lose(struct roost_qp *qp, enum roost_qp_error_code code)
{
	roost_qp_end(qp, code, -1);
	roost_resp_silence(qp->worker, qp);
}

static void go_on(struct roost_qp *qp)
{
	if (roost_qp_is_reliable(qp))
		roost_req_go_on(qp->worker, qp);
}

const struct roost_transport roost_transport = {
	.receive = roost_rx_burst,
	.receive_each = roost_rx_each,
	.transmit = roost_req_transmit,
	.answer = answer,
	.sniff = roost_raw_sniff,
	.expire = expire,
	.flush = roost_qp_flush,
	.end = roost_qp_end,
	.lose = lose,
	.go_on = go_on,
	.port_down = roost_mig_port_down,
};
