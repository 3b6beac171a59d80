/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames of a worker with a tap. */

#include <rte_mbuf.h>

#include "lib/engine/core/flow.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/tap.h"
#include "lib/engine/sched/tap_priv.h"
#include "lib/engine/sched/worker_priv.h"

void roost_dev_set_tap(struct roost_dev *dev, const struct roost_tap *tap)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		roost_worker_turn_take(dev->workers[i]);
		dev->workers[i]->tap = tap;
		roost_worker_turn_leave(dev->workers[i]);
	}
	roost_flow_set_shown(dev, tap != NULL);
}

bool roost_tap_is_from(struct roost_worker *worker, uint32_t qpn,
		       uint32_t dest_qpn, const struct roost_gid *dgid)
{
	const struct roost_qp *qp = roost_idmap_get(&worker->dev->qps, qpn);

	return qp && qp->worker == worker && qp->type != ROOST_QPT_UD &&
	       qp->dest_qpn == dest_qpn && roost_gid_eq(&qp->path.dgid, dgid);
}

static void show_received(struct roost_worker *w, unsigned int from,
			  struct rte_mbuf *mbuf, bool each)
{
	const struct roost_tap *tap = w->tap;
	const struct roost_tap_frame frame = {
		.worker = w,
		.mbuf = mbuf,
		.port_index = from & ROOST_PORT_MASK,
		.way = from & ROOST_LOOPED ? ROOST_TAP_LOOPED
					   : ROOST_TAP_RECEIVED,
		.again = from & ROOST_AGAIN,
	};
	struct roost_tap_mark mark;

	tap->begin(tap, &frame, &mark);
	w->last_drop = ROOST_DROP_NONE;
	if (each)
		w->transport->receive_each(w, &mbuf, 1);
	else
		w->transport->receive(w, from, &mbuf, 1);
	tap->end(tap, &mark, &frame, w->last_drop);
}

void roost_tap_receive(struct roost_worker *w, unsigned int port_index,
		       struct rte_mbuf **pkts, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		show_received(w, port_index, pkts[i], false);
}

void roost_tap_receive_each(struct roost_worker *w, struct rte_mbuf **pkts,
			    unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		show_received(w, pkts[i]->port, pkts[i], true);
}

void roost_tap_lose(struct roost_worker *w, struct rte_mbuf **pkts,
		    unsigned int n, enum roost_drop drop)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct roost_tap_frame frame = {
			.worker = w,
			.mbuf = pkts[i],
			.port_index = pkts[i]->port & ROOST_PORT_MASK,
		};
		struct roost_tap_mark mark;

		w->tap->begin(w->tap, &frame, &mark);
		w->tap->end(w->tap, &mark, &frame, drop);
	}
}

void roost_tap_send(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct roost_tap_frame frame = {
			.worker = w,
			.mbuf = pkts[i],
			.port_index = port_index,
			.way = ROOST_TAP_SENT,
			.again = pkts[i]->port & ROOST_AGAIN,
		};
		struct roost_tap_mark mark;

		/* The port did not take it the last time, or it is lent. */
		if (pkts[i]->port & ROOST_SHOWN)
			continue;
		pkts[i]->port |= ROOST_SHOWN;
		w->tap->begin(w->tap, &frame, &mark);
		w->tap->end(w->tap, &mark, &frame, ROOST_DROP_NONE);
	}
}
