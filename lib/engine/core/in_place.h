/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_IN_PLACE_H
#define ROOST_ENGINE_CORE_IN_PLACE_H

/*
 * Frames that are received in place: a port may leave a RoCEv2 frame in memory
 * that its sender can still write. The mbuf has a private copy of the first
 * bytes, all headers of the frame among them, and its private area says where
 * the whole frame is. data_len is the length of the copy, pkt_len that of the
 * frame, and there is one segment.
 *
 * The engine reads headers from the copy alone, each check, decision, operand
 * and GRH. From the frame it reads the payload and the ICRC. A sender that
 * writes into a frame after it sent it changes its own payload, and nothing
 * depends on it. The ICRC proves that the frame is as it was sent, and not who
 * sent it: a sender can make a valid one for any header. So it may be computed
 * over the frame as it is now, without the copy.
 *
 * Hot. Thread: who owns the mbuf.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

/* The private area of the mbufs of such a pool. */
struct roost_in_place {
	const uint8_t *frame; /* the whole frame, if it is in place */
	/* Set to true when the mbuf is freed; NULL: nothing is held. */
	atomic_bool *done;
	/* Who sent it, by a number of the port's: struct roost_frame_io says
	 * whether such a sender may send from a QPN. 0: any may.
	 */
	uint32_t from;
};

/* pool_config of mempools whose mbufs have such a private area points to it. */
extern const uint8_t roost_in_place_pools;

/* Is the frame of a received mbuf in place? No driver makes an mbuf of one
 * segment that is shorter than its packet.
 */
static inline bool roost_is_in_place(const struct rte_mbuf *mbuf)
{
	return mbuf->pkt_len > mbuf->data_len && mbuf->nb_segs == 1 &&
	       mbuf->pool->pool_config == &roost_in_place_pools;
}

/* The whole frame of an mbuf for which roost_is_in_place(). */
static inline const uint8_t *roost_in_place_frame(struct rte_mbuf *mbuf)
{
	const struct roost_in_place *p = rte_mbuf_to_priv(mbuf);

	return p->frame;
}

/* The sender of a received mbuf of such a pool. */
static inline uint32_t roost_in_place_from(struct rte_mbuf *mbuf)
{
	const struct roost_in_place *p = rte_mbuf_to_priv(mbuf);

	return p->from;
}

/* The frame is not read any more: its sender may have the slot again. Of an
 * mbuf of such a pool; nobody else refers to it.
 */
static inline void roost_in_place_let_go(struct rte_mbuf *mbuf)
{
	struct roost_in_place *p = rte_mbuf_to_priv(mbuf);

	if (!p->done)
		return;
	/* Pairs with the acquire of who gives the slot to the sender. */
	atomic_store_explicit(p->done, true, memory_order_release);
	p->done = NULL;
}

#endif
