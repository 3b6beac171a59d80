/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: receives frames from all peers. No allocation, system call, log or lock.
 */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "lib/engine/core/in_place.h"
#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/channel/channel_priv.h"

#define BURST 32u
#define QP1 1u

/* Fields of headers, as lib/wire/parse.c reads them. */
#define IPV4_PROTO 9u
#define IPV6_NEXT 6u
#define UDP_DST 2u
#define PROTO_UDP 17u

_Static_assert(ROOST_FRAME_OVERHEAD_MAX <= HEADER_BYTES,
	       "all headers of a frame are in the copy");

/* ---- one frame
 * --------------------------------------------------------------- */

/* Is it a RoCEv2 frame that the engine parses within the headers, and whose
 * payload is neither a MAD nor for anybody else? hdr: HEADER_BYTES of it.
 */
static bool may_be_in_place(const uint8_t *hdr)
{
	const uint8_t *bth = roost_frame_guess_bth(hdr, HEADER_BYTES);
	const uint8_t *udp, *l3;
	bool ipv6;

	if (!bth)
		return false;
	udp = bth - ROOST_UDP_LEN;
	ipv6 = roost_be16_get(hdr + 12) == 0x86dd ||
	       roost_be16_get(hdr + 16) == 0x86dd;
	l3 = udp - (ipv6 ? ROOST_IPV6_LEN : ROOST_IPV4_LEN);
	return l3[ipv6 ? IPV6_NEXT : IPV4_PROTO] == PROTO_UDP &&
	       roost_be16_get(udp + UDP_DST) == ROOST_UDP_PORT &&
	       roost_bth_dest_qpn(bth) > QP1;
}

static void set_mbuf(struct rte_mbuf *mbuf, uint16_t port, uint32_t len_bytes,
		     uint16_t data_bytes)
{
	mbuf->data_off = 0;
	mbuf->port = port;
	mbuf->ol_flags = 0;
	mbuf->packet_type = 0;
	mbuf->vlan_tci = 0;
	mbuf->pkt_len = len_bytes;
	mbuf->data_len = data_bytes;
}

static void set_in_place(struct rte_mbuf *mbuf, const uint8_t *frame,
			 atomic_bool *done, uint32_t from)
{
	struct roost_in_place *p = rte_mbuf_to_priv(mbuf);

	p->frame = frame;
	p->done = done;
	p->from = from;
}

/* A frame that cannot stay where it is, as a whole. NULL: no mbuf is free. */
static struct rte_mbuf *copy_whole(struct roost_shm_channel *ch,
				   const uint8_t *frame, uint32_t len_bytes,
				   uint32_t from)
{
	struct rte_mbuf *mbuf;

	if (roost_shm_pool_take(ch->rx_whole_pool, &mbuf, 1) != 0)
		return NULL;
	memcpy(rte_pktmbuf_mtod(mbuf, void *), frame, len_bytes);
	set_mbuf(mbuf, ch->port, len_bytes, (uint16_t)len_bytes);
	set_in_place(mbuf, NULL, NULL, from);
	return mbuf;
}

/* Fill mbuf from the frame in a slot of the peer. done: where to note that the
 * frame is not read any more. Returns mbuf, another one for a frame that needs
 * more room, or NULL; mbuf was then freed.
 */
static struct rte_mbuf *receive(struct roost_shm_channel *ch, struct seat *s,
				const struct roost_shm_entry *entry,
				atomic_bool *done, struct rte_mbuf *mbuf)
{
	const uint8_t *frame = roost_shm_slot(&s->peer.memory, entry->slot) +
			       ROOST_SHM_HEADROOM;
	uint8_t *copy = rte_pktmbuf_mtod(mbuf, uint8_t *);

	if (entry->len_bytes <= COPY_BYTES) {
		memcpy(copy, frame, entry->len_bytes);
		set_mbuf(mbuf, ch->port, entry->len_bytes, entry->len_bytes);
		set_in_place(mbuf, NULL, NULL, s->peer.from);
		atomic_store_explicit(done, true, memory_order_relaxed);
		return mbuf;
	}
	memcpy(copy, frame, HEADER_BYTES);
	if (likely(may_be_in_place(copy))) {
		set_mbuf(mbuf, ch->port, entry->len_bytes, HEADER_BYTES);
		atomic_store_explicit(done, false, memory_order_relaxed);
		set_in_place(mbuf, frame, done, s->peer.from);
		s->counters.rx_in_place_pkts++;
		return mbuf;
	}
	set_in_place(mbuf, NULL, NULL, s->peer.from);
	rte_mbuf_raw_free(mbuf);
	mbuf = copy_whole(ch, frame, entry->len_bytes, s->peer.from);
	atomic_store_explicit(done, true, memory_order_relaxed);
	return mbuf;
}

/* ---- one peer
 * ----------------------------------------------------------------- */

void roost_shm_rx_give(struct seat *s)
{
	const uint32_t held = s->in.taken - s->in.given;
	uint32_t n = 0;

	/* Pairs with the release of who freed the mbuf (pool.c). */
	while (n < held &&
	       atomic_load_explicit(
		       &s->done[(s->in.given + n) & (s->in.ring_len - 1)],
		       memory_order_acquire))
		n++;
	if (n > 0)
		roost_shm_in_give(&s->in, n);
}

static void prefetch(const struct seat *s, const struct roost_shm_entry *e,
		     uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *frame =
			roost_shm_slot(&s->peer.memory, e[i].slot) +
			ROOST_SHM_HEADROOM;

		rte_prefetch0(frame);
		rte_prefetch0(frame + RTE_CACHE_LINE_MIN_SIZE);
	}
}

static uint32_t receive_from(struct roost_shm_channel *ch, struct seat *s,
			     struct rte_mbuf **pkts, uint32_t n)
{
	struct roost_shm_entry entries[BURST];
	uint32_t at = s->in.taken, nb = 0;

	if (s->in.taken != s->in.given)
		roost_shm_rx_give(s);
	n = roost_shm_in_take(&s->in, entries, RTE_MIN(n, BURST));
	if (n == 0)
		return 0;
	prefetch(s, entries, n);
	if (roost_shm_pool_take(ch->rx_pool, pkts, n) != 0) {
		for (uint32_t i = 0; i < n; i++)
			atomic_store_explicit(
				&s->done[(at + i) & (s->in.ring_len - 1)], true,
				memory_order_relaxed);
		s->counters.rx_no_mbuf_pkts += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf =
			receive(ch, s, &entries[i],
				&s->done[(at + i) & (s->in.ring_len - 1)],
				pkts[i]);

		if (unlikely(!mbuf)) {
			s->counters.rx_no_mbuf_pkts++;
			continue;
		}
		s->counters.rx_bytes += mbuf->pkt_len;
		pkts[nb++] = mbuf;
	}
	s->counters.rx_pkts += nb;
	return nb;
}

/* May frames of the peer be received now? See "Order" in channel.h. */
static bool is_next(const struct roost_shm_channel *ch, struct seat *s)
{
	const struct roost_shm_in *first;

	if (!roost_shm_in_is_due(&s->in))
		return false;
	if (ch->default_seat != ROOST_SHM_NO_SEAT) {
		first = &ch->seats[ch->default_seat].in;
		if (!s->follows_begun)
			s->follows_to = first->taken + first->ring_len;
		s->follows_begun = true;
		if (roost_shm_in_is_due(first) &&
		    (int32_t)(s->follows_to - first->taken) > 0)
			return false;
	}
	s->follows = false;
	return true;
}

/* ---- all peers
 * ----------------------------------------------------------------- */

/* The seats from first on, and then those before it. */
static uint64_t turned(uint64_t seats, uint32_t first)
{
	return first == 0 ? seats : seats >> first | seats << (64 - first);
}

uint16_t roost_shm_rx_burst(struct roost_shm_channel *ch,
			    struct rte_mbuf **pkts, uint16_t n)
{
	const uint32_t first = ch->next_rx;
	uint32_t nb = 0;

	for (uint64_t seats = ch->pending; seats != 0; seats &= seats - 1)
		roost_shm_tx_collect(ch, (uint32_t)__builtin_ctzll(seats));
	for (uint64_t seats = turned(ch->open, first); seats != 0 && nb < n;
	     seats &= seats - 1) {
		uint32_t i = ((uint32_t)__builtin_ctzll(seats) + first) % 64;
		struct seat *s = &ch->seats[i];

		if (unlikely(s->follows) && !is_next(ch, s))
			continue;
		nb += receive_from(ch, s, pkts + nb, n - nb);
		if (unlikely(s->in.fault != ROOST_SHM_OK))
			seat_break(ch, i);
		ch->next_rx = (i + 1) % 64;
	}
	return (uint16_t)nb;
}

/* ---- frames that are kept
 * ------------------------------------------------------- */

struct rte_mbuf *roost_shm_keep(struct roost_shm_channel *ch,
				struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy;

	if (!roost_is_in_place(mbuf))
		return mbuf;
	copy = copy_whole(ch, roost_in_place_frame(mbuf), mbuf->pkt_len,
			  roost_in_place_from(mbuf));
	if (copy)
		/* What was checked is what is kept. */
		memcpy(rte_pktmbuf_mtod(copy, void *),
		       rte_pktmbuf_mtod(mbuf, const void *), mbuf->data_len);
	rte_pktmbuf_free(mbuf);
	return copy;
}
