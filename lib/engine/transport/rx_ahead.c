/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: a burst of frames for many QPs. No allocation, system call, log or lock.
 */

#include <rte_mbuf.h>

#include "lib/engine/core/ahead.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/transport/rx_priv.h"

/* Prefetch the cache lines of the QP that a frame needs, without reading them.
 * Returns the queue whose oldest request the frame needs then; NULL: none, or
 * not known.
 */
static const struct roost_queue *prefetch_qp(struct roost_worker *w,
					     const uint8_t *bth)
{
	const struct roost_opcode_info *op = &roost_opcodes[bth[0]];
	const struct roost_qp *qp =
		roost_idmap_get(&w->dev->qps, roost_bth_dest_qpn(bth));

	if (!qp)
		return NULL;
	if (op->flags & ROOST_OPF_RESPONSE) {
		roost_ahead_qp(qp, ROOST_LINES_SEND);
		return &qp->sq;
	}
	roost_ahead_qp(qp, ROOST_LINES_RECEIVE);
	if (op->op != ROOST_OP_SEND)
		return NULL;
	rte_prefetch0(&qp->rq);
	return &qp->rq;
}

void roost_rx_ahead(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n)
{
	const struct roost_queue *queues[ROOST_RX_BURST];
	uint32_t qpn = 0;

	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *bth =
			roost_frame_guess_bth(rte_pktmbuf_mtod(pkts[i],
							       const void *),
					      rte_pktmbuf_data_len(pkts[i]));

		queues[i] = NULL;
		/* Frames of one QP mostly follow each other. */
		if (!bth || roost_bth_dest_qpn(bth) == qpn)
			continue;
		qpn = roost_bth_dest_qpn(bth);
		queues[i] = prefetch_qp(w, bth);
	}
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n && queues[i + 1] != NULL)
			roost_ahead_slot(
				queues[i + 1],
				atomic_load_explicit(&queues[i + 1]->tail,
						     memory_order_relaxed));
		roost_rx_frame(w, port_index, pkts[i]);
	}
}
