/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: sends frames to peers. No allocation, log or lock; a system call only to
 * wake a peer that sleeps.
 */

#include <string.h>
#include <sys/socket.h>

#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "pmd_glue/channel/channel_priv.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/process/clock.h"

#define BURST 32u

/* What becomes of a frame. */
enum outcome {
	OUTCOME_PUBLISHED,
	OUTCOME_DROPPED, /* and counted */
	OUTCOME_WAITS,   /* backpressure */
};

/* ---- slots that come back ---------------------------------------------------
 */

/* The oldest n frames are ours again. */
static void free_oldest(struct roost_shm_channel *ch, struct seat *s,
			uint32_t n)
{
	struct rte_mbuf *mbufs[BURST];

	while (n > 0) {
		uint32_t some = RTE_MIN(n, BURST), nb = 0;

		for (uint32_t i = 0; i < some; i++) {
			struct rte_mbuf *mbuf = rte_pktmbuf_prefree_seg(
				roost_shm_pool_mbuf(ch->tx_pool,
						    roost_shm_out_slot(&s->out,
								       i)));

			if (mbuf)
				mbufs[nb++] = mbuf;
		}
		rte_mempool_put_bulk(roost_shm_pool_mempool(ch->tx_pool),
				     (void **)mbufs, nb);
		roost_shm_out_free(&s->out, some);
		n -= some;
	}
}

void roost_shm_tx_collect(struct roost_shm_channel *ch, uint32_t seat)
{
	struct seat *s = &ch->seats[seat];
	uint32_t n = roost_shm_out_collect(&s->out);

	if (n > 0)
		free_oldest(ch, s, n);
	else if (unlikely(s->out.fault != ROOST_SHM_OK))
		seat_break(ch, seat);
	if (roost_shm_out_pending(&s->out) == 0)
		ch->pending &= ~seat_bit(seat);
}

void roost_shm_tx_discard(struct roost_shm_channel *ch, uint32_t seat)
{
	struct seat *s = &ch->seats[seat];

	if (!ch->ends)
		roost_shm_out_withdraw(&s->out);
	free_oldest(ch, s, roost_shm_out_pending(&s->out));
	ch->pending &= ~seat_bit(seat);
}

uint32_t roost_shm_tx_pending(struct roost_shm_channel *ch, uint32_t seat)
{
	roost_shm_tx_collect(ch, seat);
	return roost_shm_out_pending(&ch->seats[seat].out);
}

/* ---- room
 * --------------------------------------------------------------------- */

static bool has_room(const struct roost_shm_channel *ch, const struct seat *s)
{
	const uint32_t pending = roost_shm_out_pending(&s->out);

	if (pending >= s->out.ring_len)
		return false;
	return pending < ch->share ||
	       roost_shm_pool_nb_free(ch->tx_pool) > ch->reserve;
}

/* Does a peer without room read? It does as long as the last
 * ROOST_SHM_PROGRESS_PKTS frames took less than the channel's patience.
 */
static bool is_reading(struct seat *s)
{
	const uint64_t now_ns = roost_now_ns();

	if (s->blocked_since_ns == 0 ||
	    s->out.freed - s->blocked_at >= ROOST_SHM_PROGRESS_PKTS) {
		s->blocked_since_ns = now_ns;
		s->blocked_at = s->out.freed;
	}
	return now_ns - s->blocked_since_ns < s->peer.patience_ns;
}

/* ---- one frame
 * ------------------------------------------------------------------ */

static void publish(struct roost_shm_channel *ch, uint32_t seat,
		    const struct rte_mbuf *mbuf)
{
	struct seat *s = &ch->seats[seat];

	roost_shm_out_publish(&s->out, roost_shm_pool_number(ch->tx_pool, mbuf),
			      mbuf->pkt_len);
	s->counters.tx_pkts++;
	s->counters.tx_bytes += mbuf->pkt_len;
	ch->pending |= seat_bit(seat);
	ch->rung |= seat_bit(seat);
}

/* Is the frame in a slot, where the peers expect it? */
static bool is_in_slot(struct roost_shm_channel *ch,
		       const struct rte_mbuf *mbuf)
{
	return mbuf->pool == roost_shm_pool_mempool(ch->tx_pool) &&
	       mbuf->data_off == ROOST_SHM_HEADROOM && mbuf->nb_segs == 1;
}

/* A frame in another memory, copied into a slot. NULL: longer than a slot,
 * or no slot is free.
 */
static struct rte_mbuf *copy_to_slot(struct roost_shm_channel *ch,
				     const struct rte_mbuf *mbuf,
				     struct roost_shm_counters *counters)
{
	const uint32_t len = mbuf->pkt_len;
	struct rte_mbuf *copy;
	const void *from;
	void *to;

	if (len > roost_shm_frame_max_bytes(&ch->memory.shape))
		return NULL;
	copy = rte_pktmbuf_alloc(roost_shm_pool_mempool(ch->tx_pool));
	if (!copy)
		return NULL;
	to = rte_pktmbuf_mtod(copy, void *);
	/* From several segments, straight to its place. */
	from = rte_pktmbuf_read(mbuf, 0, len, to);
	if (from != to)
		memcpy(to, from, len);
	copy->data_len = (uint16_t)len;
	copy->pkt_len = len;
	counters->tx_copied_pkts++;
	return copy;
}

/* Takes the frame, unless it waits. */
static enum outcome send_to(struct roost_shm_channel *ch, uint32_t seat,
			    struct rte_mbuf *mbuf)
{
	struct seat *s = &ch->seats[seat];
	struct rte_mbuf *copy;

	if (unlikely(!has_room(ch, s))) {
		roost_shm_tx_collect(ch, seat);
		if (!has_room(ch, s) && is_reading(s))
			return OUTCOME_WAITS;
		/* A peer that broke the rules has left ch->open. */
		if (!has_room(ch, s) || !(ch->open & seat_bit(seat))) {
			s->counters.tx_unread_pkts++;
			rte_pktmbuf_free(mbuf);
			return OUTCOME_DROPPED;
		}
	}
	if (unlikely(!is_in_slot(ch, mbuf))) {
		copy = copy_to_slot(ch, mbuf, &s->counters);
		rte_pktmbuf_free(mbuf);
		if (!copy)
			return OUTCOME_DROPPED;
		mbuf = copy;
	}
	publish(ch, seat, mbuf);
	return OUTCOME_PUBLISHED;
}

/* ---- bursts
 * ---------------------------------------------------------------------- */

static enum outcome send_frame(struct roost_shm_channel *ch, uint32_t seat,
			       struct rte_mbuf *mbuf)
{
	if (likely(seat < ROOST_SHM_SEATS_MAX && (ch->open & seat_bit(seat)) &&
		   mbuf->data_len >= ROOST_ETH_LEN))
		return send_to(ch, seat, mbuf);
	ch->lost.tx_no_peer_pkts++;
	rte_pktmbuf_free(mbuf);
	return OUTCOME_DROPPED;
}

/* If the peer's own queue is full of rings, it will wake. */
static void ring(struct seat *s)
{
	const char token = 0;

	s->counters.rings++;
	(void)!send(s->peer.doorbell, &token, sizeof(token),
		    MSG_DONTWAIT | MSG_NOSIGNAL);
}

uint16_t roost_shm_tx_burst(struct roost_shm_channel *ch, const uint32_t *seats,
			    struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++)
		if (send_frame(ch, seats ? seats[i] : ch->default_seat,
			       pkts[i]) == OUTCOME_WAITS)
			break;
	for (; ch->rung != 0; ch->rung &= ch->rung - 1) {
		struct seat *s = &ch->seats[__builtin_ctzll(ch->rung)];

		if (roost_shm_must_ring(s->sleeps, &s->rung))
			ring(s);
	}
	return i;
}
