/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: a burst of frames for many QPs. No allocation, system call, log or lock.
 */

#include <rte_mbuf.h>

#include "lib/engine/core/ahead.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/transport/rx_priv.h"

/* Of the BTH: the word that has the destination QPN. */
#define QPN_WORD_OFFSET 4u

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

/* Where the BTH of a frame should be, and its word with the QPN. */
struct guess {
	size_t offset;
	uint32_t word;
};

static inline uint32_t word_at(const uint8_t *data, size_t offset)
{
	uint32_t word;

	memcpy(&word, data + offset + QPN_WORD_OFFSET, sizeof(word));
	return word;
}

/* Frames of one QP mostly follow each other, and have the same headers. */
static inline bool is_alike(const struct guess *last,
			    const struct rte_mbuf *pkt)
{
	return rte_pktmbuf_data_len(pkt) >= last->offset + ROOST_BTH_LEN &&
	       word_at(rte_pktmbuf_mtod(pkt, const uint8_t *), last->offset) ==
		       last->word;
}

/* As prefetch_qp(), of a frame; the guess becomes that of this frame. */
static const struct roost_queue *prefetch_of(struct roost_worker *w,
					     struct guess *guess,
					     const struct rte_mbuf *pkt)
{
	const uint8_t *data = rte_pktmbuf_mtod(pkt, const uint8_t *);
	const uint8_t *bth =
		roost_frame_guess_bth(data, rte_pktmbuf_data_len(pkt));

	if (!bth)
		return NULL;
	guess->offset = (size_t)(bth - data);
	guess->word = word_at(data, guess->offset);
	return prefetch_qp(w, bth);
}

/* The QP of the first frame, which is that of the guess, was prefetched. */
static void receive_ahead(struct roost_worker *w, unsigned int port_index,
			  struct rte_mbuf **pkts, unsigned int n,
			  struct guess *guess)
{
	const struct roost_queue *queues[ROOST_RX_BURST];

	for (unsigned int i = 0; i < n; i++)
		queues[i] = is_alike(guess, pkts[i])
				    ? NULL
				    : prefetch_of(w, guess, pkts[i]);
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n && queues[i + 1] != NULL)
			roost_ahead_slot(
				queues[i + 1],
				atomic_load_explicit(&queues[i + 1]->tail,
						     memory_order_relaxed));
		roost_rx_frame(w, port_index, pkts[i]);
	}
}

bool roost_rx_ahead(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n)
{
	struct guess guess = { .offset = UINT16_MAX };
	unsigned int i;

	for (i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
	prefetch_of(w, &guess, pkts[0]);
	/* QPs that take turns are not all at a power of two and at the end. */
	for (i = 1; i < n && is_alike(&guess, pkts[i]);)
		i *= 2;
	if (i >= n && is_alike(&guess, pkts[n - 1]))
		return false;
	receive_ahead(w, port_index, pkts, n, &guess);
	return true;
}
