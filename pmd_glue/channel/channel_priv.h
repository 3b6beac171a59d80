/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_CHANNEL_PRIV_H
#define ROOST_PMD_GLUE_CHANNEL_CHANNEL_PRIV_H

/*
 * The state of a channel; for channel.c, rx.c and tx.c only. Thread: as in
 * channel.h.
 */

#include <stdatomic.h>

#include "pmd_glue/channel/channel.h"
#include "pmd_glue/channel/pool.h"

/* Frames up to this length are copied, and their slots are free at once. */
#define COPY_BYTES 192u
/* What is copied of longer ones: more than all headers. */
#define HEADER_BYTES 128u
/* Received frames that the engine works on at the same time. */
#define RX_MBUFS 1024u
#define RX_WHOLE_MBUFS 128u
/* Of frames that are kept, so many may be longer than COPY_BYTES. */
#define KEPT_WHOLE_MAX 1024u

enum seat_state {
	SEAT_FREE,
	SEAT_RESERVED,
	SEAT_OPEN,
	SEAT_LEFT, /* frames in place are still used */
};

struct seat {
	struct roost_shm_in in;
	struct roost_shm_out out;
	const _Atomic uint64_t *sleeps; /* in the peer's memory */
	uint64_t rung;                  /* see roost_shm_must_ring() */
	/* By position modulo ring_len of the peer: the frame is not read any
	 * more. Set by who frees its mbuf, with release.
	 */
	atomic_bool *done;
	/* Patience began when the peer had consumed up to blocked_at; 0 ns: it
	 * did not.
	 */
	uint64_t blocked_since_ns;
	uint32_t blocked_at;
	/* Nothing is received before what the default peer's ring had when the
	 * first frame came: up to position follows_to, once follows_begun.
	 */
	bool follows;
	bool follows_begun;
	uint32_t follows_to;
	enum seat_state state;
	struct roost_shm_peer peer;
	struct roost_shm_counters counters;
};

struct roost_shm_channel {
	struct roost_shm_memory memory;
	struct roost_shm_pool *tx_pool;       /* on our slots */
	struct roost_shm_pool *rx_pool;       /* COPY_BYTES each */
	struct roost_shm_pool *rx_whole_pool; /* a whole frame each */
	uint64_t open;    /* bit set of seats in SEAT_OPEN */
	uint64_t pending; /* of seats with frames that were not consumed */
	uint64_t rung;    /* of seats to which this burst published */
	bool ends;        /* see roost_shm_channel_end() */
	/* Of seats to be told by roost_shm_next_broken(). */
	_Atomic uint64_t broken;
	uint32_t share;   /* slots that each peer may always have */
	uint32_t reserve; /* slots that are kept for shares */
	uint32_t next_rx; /* seat from which the next burst receives first */
	uint32_t default_seat; /* or ROOST_SHM_NO_SEAT */
	uint64_t patience_ns;
	uint16_t port;
	int epoll_fd;
	struct roost_shm_counters lost; /* of no seat */
	struct seat seats[ROOST_SHM_SEATS_MAX];
};

_Static_assert(ROOST_SHM_SEATS_MAX <= 64, "a seat has a bit");

static inline uint64_t seat_bit(uint32_t seat)
{
	return UINT64_C(1) << seat;
}

/* No frame goes to a peer that broke the rules or comes from it any more. */
static inline void seat_break(struct roost_shm_channel *ch, uint32_t seat)
{
	if (!(ch->open & seat_bit(seat)))
		return;
	ch->open &= ~seat_bit(seat);
	atomic_fetch_or_explicit(&ch->broken, seat_bit(seat),
				 memory_order_relaxed);
	if (ch->default_seat == seat)
		ch->default_seat = ROOST_SHM_NO_SEAT;
}

/* Take the slots back that the peer has consumed. */
void roost_shm_tx_collect(struct roost_shm_channel *ch, uint32_t seat);

/* Take all slots back: the peer does not count any more. */
void roost_shm_tx_discard(struct roost_shm_channel *ch, uint32_t seat);

/* Give the slots back to the peer whose frames are not read any more. */
void roost_shm_rx_give(struct seat *s);

#endif
